"""Output folders of runs: locking, atomic replacement, and the run record ``run.json``.

There are two kinds:

* **Replaced** (:func:`out_folder`), for runs that cannot be resumed: results are written to a temporary folder beside
  ``--out``, which replaces it if the run succeeds. A run that fails or is killed leaves the old folder unchanged.
* **In place** (:func:`record_run`), for long runs that can be resumed: ``run.json`` says ``"running"`` until the end,
  and the same command resumes after a kill.

In both cases the folder is locked against other processes (:func:`sole_writer`).

>>> import tempfile
>>> from isoglot.core.files import read_json, write_text
>>> with tempfile.TemporaryDirectory() as place:
...     with out_folder(f"{place}/out", command="isoglot doctor", seed=7) as run:
...         write_text(run.folder / "hello.txt", "hello")
...     record = read_json(f"{place}/out/run.json")
>>> record["status"], list(record["outputs"])
('finished', ['hello.txt'])
"""

from __future__ import annotations

import os
import platform
import shlex
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Required, TypedDict, Unpack

from isoglot.core.artifact import is_stored
from isoglot.core.errors import ConfigError, IsoglotError, StorageError, one_line
from isoglot.core.files import (
    file_hash,
    is_pipe,
    is_special,
    read_json,
    real_path,
    storage_error,
    writable_folder,
    write_json,
)
from isoglot.core.folders import built_aside, link_file
from isoglot.core.optional import versions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from filelock import BaseFileLock

    from isoglot.core.config import Config

RECORD = "run.json"


# --- the lock ---

_HELD: dict[Path, int] = {}  # outputs locked by this process, with the thread
_WAIT = 0.05  # seconds: a lock file that its holder is just removing is tried again


@contextmanager
def sole_writer(out: str | Path) -> Iterator[None]:
    """Lock a file or folder against other writers for the duration of the block.

    The lock is a ``filelock.FileLock`` on ``.NAME.lock`` beside the output. The system releases it when the process
    ends, however it ends; a lock file left by a killed process has no effect. The thread that holds the lock may enter
    again. Under ``torchrun`` rank 0 holds the lock for all ranks. There is no locking where the system or the disk does
    not support it, or for ``/dev/stdout`` and other special files.

    Raises:
        StorageError: Another process, or another thread of this one, is writing there.
    """
    target = real_path(out)
    mine = threading.get_ident()
    if _HELD.get(target) == mine or os.environ.get("RANK", "0") != "0" or is_special(out):
        yield
        return
    if target in _HELD:
        raise _taken(out)
    made: list[Path] = []
    with suppress(OSError):
        made = [folder for folder in target.parents if not folder.exists()]
    lock = _acquired(target.parent / f".{target.name}.lock", out)
    _HELD[target] = mine
    try:
        yield
    finally:
        del _HELD[target]
        if lock is not None:
            with suppress(OSError):
                Path(lock.lock_file).unlink()  # while it is held: the next process creates a new one
            lock.release()
        for folder in made:
            with suppress(OSError):  # not there, or not empty
                folder.rmdir()


def _acquired(path: Path, out: str | Path) -> BaseFileLock | None:
    """The lock; None where locks are not supported."""
    from filelock import FileLock, Timeout

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, mode=0o666, thread_local=False)
        lock.acquire(timeout=_WAIT, poll_interval=_WAIT / 4)
    except Timeout as error:
        raise _taken(out) from error
    except OSError:
        return None
    return lock


def _taken(out: str | Path) -> StorageError:
    return StorageError("another process is writing there", "wait for it, or name another --out", "locked", file=out)


# --- the process ---


def end_process(code: int) -> NoReturn:
    """End this process with an exit code; as one of torchrun's, without finalizing the interpreter.

    A thread of gloo that releases a tensor needs the interpreter. If that is being finalized, the thread ends inside
    C++ and the process aborts, so torchrun reports a finished run as failed.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


# --- the record ---


def command_line() -> str:
    """The command line of this process."""
    named = Path(sys.argv[0]).stem in ("isoglot", "__main__")
    return shlex.join(["isoglot", *sys.argv[1:]] if named else sys.argv)


@dataclass(kw_only=True)
class RunRecord:
    """Record of a run; every field but ``folder`` and ``out`` is a key of ``run.json``."""

    folder: Path  # where the run writes: ``out``, or a temporary folder beside it
    out: Path  # the folder that the user named
    seed: int
    command: str = field(default_factory=command_line)
    status: str = "running"
    error: str | None = None
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    wall_seconds: float = 0.0
    device: str | None = None
    config: dict[str, Any] | None = None
    # Checkpoints that were loaded, by folder: best or last, step, dev perplexity
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    # By path in the folder; of a replaced folder, all files
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=versions)
    platform: str = field(default_factory=platform.platform)

    def begin(self, inputs: Iterable[str | Path]) -> None:
        """Write the record and add the input files."""
        self.write()
        for path in inputs:
            self.add_input(path)

    def add_input(self, path: str | Path) -> None:
        """Record size and SHA-256 of an input file; pipes, which can be read only once, are skipped."""
        if not is_pipe(path):
            self.inputs[str(path)] = _facts(path)

    def add_output(self, path: str | Path) -> None:
        """Record size and SHA-256 of an output file."""
        inside = Path(path).is_relative_to(self.folder)
        self.outputs[Path(path).relative_to(self.folder).as_posix() if inside else str(path)] = _facts(path)

    def place(self, path: Path) -> Path:
        """Where to write a file so that it ends up at the path that the user named."""
        inside = real_path(path).is_relative_to(real_path(self.out))
        return self.folder / real_path(path).relative_to(real_path(self.out)) if inside else path

    def shown(self, path: Path) -> Path:
        """Where a written file will be in the end."""
        return self.out / path.relative_to(self.folder) if path.is_relative_to(self.folder) else path

    def write(self) -> None:
        """Write ``run.json``.

        Raises:
            StorageError: It cannot be written.
        """
        content = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("folder", "out")}
        write_json(self.folder / RECORD, content)


def _facts(path: str | Path) -> dict[str, Any]:
    return {"sha256": file_hash(path), "bytes": Path(path).stat().st_size}


class RunFacts(TypedDict, total=False):
    """Facts about a run that are known before it starts."""

    command: str  # the command line. Default: that of this process
    seed: Required[int]  # the random seed
    config: Config | None  # the validated config
    device: str | None  # the name of the device
    models: dict[str, dict[str, Any]]  # checkpoints that the run loads, by folder


def _record(folder: Path, out: str | Path, facts: RunFacts) -> RunRecord:
    config = facts.get("config")
    about: dict[str, Any] = {**facts, "config": None if config is None else config.model_dump(mode="json")}
    return RunRecord(folder=folder, out=Path(out), **about)


@contextmanager
def record_run(
    folder: str | Path, *, inputs: Iterable[str | Path] = (), **facts: Unpack[RunFacts]
) -> Iterator[RunRecord]:
    """Lock a folder that is written in place, and keep its ``run.json``.

    Args:
        folder: The output folder; created if missing, checked to be writable at once.
        inputs: Files that the run reads.
        **facts: See :class:`RunFacts`.

    Raises:
        StorageError: The folder cannot be written to, or another process is writing there.
    """
    with sole_writer(folder):
        start = time.monotonic()
        run = _record(writable_folder(folder), folder, facts)
        try:
            run.begin(inputs)
            yield run
            if run.status == "running":
                run.status = "finished"
        except BaseException as error:
            run.status = "interrupted" if isinstance(error, (KeyboardInterrupt, SystemExit)) else "failed"
            run.error = one_line(str(error)) or type(error).__name__
            raise
        finally:
            run.wall_seconds = round(time.monotonic() - start, 3)
            run.write()


@contextmanager
def out_folder(
    out: str | Path,
    *,
    inputs: Iterable[str | Path] = (),
    writes: Iterable[str] | None = None,
    **facts: Unpack[RunFacts],
) -> Iterator[RunRecord]:
    """Provide a temporary folder that replaces the output folder if the block succeeds.

    The block writes to ``run.folder``; every file there is recorded in ``run.json``. An existing folder is
    replaced only if a run wrote every file in it, so that no file of the user is removed.

    Args:
        out: The output folder.
        inputs: Files that the run reads.
        writes: Names of the files it will write, if they depend on its input, such as a text per language: an earlier
            run is then replaced only by one that writes them again, compared up to the first dot of each name.
        **facts: See :class:`RunFacts`.

    Raises:
        ConfigError: There is a folder that may not be replaced.
        StorageError: The folder cannot be written, or another process is writing there.
    """
    target, read = real_path(out), list(inputs)
    with sole_writer(out):
        check_replaceable(out, read, writes)
        with built_aside(target) as scratch:
            start = time.monotonic()
            run = _record(scratch, out, facts)
            try:
                run.begin(read)
                yield run
                for path in sorted(path for path in scratch.rglob("*") if path.is_file() and path != scratch / RECORD):
                    run.add_output(path)
                if run.status == "running":
                    run.status = "finished"
                run.wall_seconds = round(time.monotonic() - start, 3)
                run.write()
            except IsoglotError as error:
                if error.file is not None:  # the path that the user named
                    error.file = str(run.shown(Path(error.file)))
                raise


def read_record(folder: Path) -> dict[str, Any] | None:
    """Read the ``run.json`` of a folder; None if there is none.

    Raises:
        IsoglotError: It is damaged.
    """
    if not (folder / RECORD).is_file():
        return None
    try:
        found = read_json(folder / RECORD)
    except IsoglotError as error:
        error.remedy = "name another --out, or remove it"
        raise
    return found if isinstance(found, dict) else {}


def record_outputs(folder: Path, paths: Iterable[Path]) -> None:
    """Add files that were written into the folder of a run later to its ``run.json``, if there is one.

    Raises:
        IsoglotError: The record is damaged, or another process is writing there.
    """
    with sole_writer(folder):
        record = read_record(folder)
        if record is not None:
            record.setdefault("outputs", {}).update({one.relative_to(folder).as_posix(): _facts(one) for one in paths})
            write_json(folder / RECORD, record)


def check_replaceable(out: str | Path, inputs: Iterable[str | Path] = (), writes: Iterable[str] | None = None) -> None:
    """Check that replacing a folder loses nothing that the user may want to keep.

    Args:
        out: The folder; it may be missing or empty.
        inputs: Files that the run reads.
        writes: As for :func:`out_folder`.

    Raises:
        ConfigError: A file in it was not written by a run, is an input, or would not be written again; or it is the
            current folder.
        StorageError: It is not a folder, or cannot be read.
    """
    target = real_path(out)
    if not target.exists():
        return
    if not target.is_dir():
        raise StorageError("a file is in the way of a folder", "name another folder", "not-a-folder", file=out)
    read = {real_path(path): str(path) for path in inputs}
    if Path.cwd().is_relative_to(target):
        problem = f"{out} is the current folder, which would be replaced"
        raise ConfigError(problem, "name a folder inside it", "current-folder")
    files = sorted(path for path in target.rglob("*") if path.is_symlink() or not path.is_dir())
    record = read_record(target) or {}
    known = record.get("outputs")
    stems = {name.partition(".")[0] for name in writes or ()}
    for path in files:
        name = path.relative_to(target).as_posix()
        facts = known.get(name) if isinstance(known, dict) else None
        if path in read:
            problem = f"{read[path]} is an input and would be replaced"
            raise ConfigError(problem, "name another --out", "would-overwrite")
        if name != RECORD and (path.is_symlink() or facts != _facts(path)):
            problem = f"{out} holds {name}, which was changed or was not written by a run"
            raise ConfigError(problem, "move it elsewhere, or name another --out", "would-overwrite")
        if writes is not None and name != RECORD and name.partition(".")[0] not in stems:
            problem = f"{out} holds {name} of an earlier run, which this run does not write"
            raise ConfigError(problem, "name another --out", "would-overwrite")


# --- rewritten folders ---


@contextmanager
def written_together(target: Path, *, stale: Collection[str] = ()) -> Iterator[Path]:
    """Provide a temporary folder that replaces the target in one step if the block succeeds.

    Other files of an existing folder, such as a README.md, are kept.

    Args:
        target: The folder; created if missing.
        stale: Files of an existing folder that are removed unless they are written again.

    Raises:
        ConfigError: It is the current folder.
        StorageError: It cannot be written to, or another process is writing there.
    """
    place = real_path(target)
    if place.is_dir() and Path.cwd().is_relative_to(place):
        problem = f"{target} is the current folder, which would be replaced"
        raise ConfigError(problem, "name it from elsewhere", "current-folder")
    with sole_writer(target), built_aside(place) as scratch:
        try:
            yield scratch
            for path in sorted(place.rglob("*")):
                name = path.relative_to(place).as_posix()
                if (path.is_dir() and not path.is_symlink()) or name in stale or os.path.lexists(scratch / name):
                    continue
                (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                link_file(path, scratch / name)
        except OSError as error:
            raise storage_error(error, target, doing="write to this folder") from error


@contextmanager
def renewed_folder(folder: str | Path, index: str, *, stale: Collection[str] = ()) -> Iterator[Path]:
    """Provide the folder to write an artifact to whose index is written last.

    A folder without an index is never read, so the first save needs no temporary folder.

    Args:
        folder: The folder; created if missing.
        index: The name of the index; a folder that has one is replaced as in :func:`written_together`.
        stale: Files of an existing folder that are removed unless they are written again.

    Raises:
        ConfigError: It has an index and is the current folder.
        StorageError: It cannot be written to, or another process is writing there.
    """
    target = writable_folder(folder)
    if not is_stored(target / index):
        with sole_writer(target):
            yield target
        return
    with written_together(target, stale=stale) as scratch:
        yield scratch

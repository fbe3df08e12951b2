"""The folder of a run: who may write to it, how it appears, and ``run.json``, which says what ran.

There are two kinds:

* **Built aside** (:func:`out_folder`), for work that is done in one go: the results are written to a folder beside
  ``--out`` and take its place when the work has ended well. A run that fails or is killed leaves what was there before.
* **In place** (:func:`record_run`), for long work that can be resumed: the folder holds a journal, ``run.json`` says
  ``"running"`` until the end, and the same command goes on after a kill.

Either way no second process may write to the folder meanwhile (:func:`sole_writer`).

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
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

_HELD: dict[Path, int] = {}  # what this process writes to, and in which thread
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
    return StorageError(
        "another process is writing there", remedy="wait for it, or name another --out", code="storage.locked", file=out
    )


# --- the record ---


@dataclass(kw_only=True)
class RunRecord:
    """What is known of a run so far; every field but ``folder`` and ``out`` is a key of ``run.json``."""

    folder: Path
    """Where the run has to write; built aside, it is not yet where the user asked for."""
    out: Path
    """Where the user asked for."""
    command: str
    seed: int
    status: str = "running"
    error: str | None = None
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    wall_seconds: float = 0.0
    device: str | None = None
    config: dict[str, Any] | None = None
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Weights of training runs that were opened, by folder: best or last, step, dev perplexity."""
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By their path in the folder; built aside, all there are."""
    versions: dict[str, str] = field(default_factory=versions)
    platform: str = field(default_factory=platform.platform)

    def add_input(self, path: str | Path) -> None:
        """Record a file that the run reads: its size and SHA-256; but no pipe, which can be read only once."""
        if not is_pipe(path):
            self.inputs[str(path)] = _facts(path)

    def add_output(self, path: str | Path) -> None:
        """Record a file that the run wrote: its size and SHA-256."""
        inside = Path(path).is_relative_to(self.folder)
        self.outputs[Path(path).relative_to(self.folder).as_posix() if inside else str(path)] = _facts(path)

    def place(self, path: Path) -> Path:
        """Where to write a file that is to be at a path, in the user's words."""
        inside = real_path(path).is_relative_to(real_path(self.out))
        return self.folder / real_path(path).relative_to(real_path(self.out)) if inside else path

    def shown(self, path: Path) -> Path:
        """Where a file that was written will be, in the user's words."""
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


def _given(
    command: str, seed: int, config: Config | None, device: str | None, models: dict[str, dict[str, Any]] | None
) -> dict[str, Any]:
    """What is known of a run before it begins."""
    settings = None if config is None else config.model_dump(mode="json")
    return {"command": command, "seed": seed, "config": settings, "device": device, "models": models or {}}


@contextmanager
def record_run(
    folder: str | Path,
    *,
    command: str,
    seed: int,
    config: Config | None = None,
    device: str | None = None,
    models: dict[str, dict[str, Any]] | None = None,
    inputs: Iterable[str | Path] = (),
) -> Iterator[RunRecord]:
    """Keep ``run.json`` in a folder that is written in place, while the block runs and no other process writes there.

    Args:
        folder: Where the run's results go; made if missing, refused at once if it cannot be written.
        command: What the user typed.
        seed: The run's seed.
        config: The whole config, as validated.
        device: The device in words.
        models: Weights of training runs that it opens, by folder.
        inputs: Files that it reads.

    Raises:
        StorageError: The folder cannot be written to, or another process is writing there.
    """
    facts = _given(command, seed, config, device, models)
    with sole_writer(folder):
        start = time.monotonic()
        run = RunRecord(folder=writable_folder(folder), out=Path(folder), **facts)
        try:
            run.write()
            for path in inputs:
                run.add_input(path)
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
    command: str,
    seed: int,
    config: Config | None = None,
    device: str | None = None,
    models: dict[str, dict[str, Any]] | None = None,
    inputs: Iterable[str | Path] = (),
    writes: Iterable[str] | None = None,
) -> Iterator[RunRecord]:
    """Build the folder of a run aside; when the block ends well, it takes the place of an earlier run, if there is one.

    The block writes to ``run.folder``. Every file there is recorded in ``run.json``. An earlier folder is replaced only
    if a run wrote every file in it: nothing of the user's is removed.

    Args:
        out: Where the folder is to be.
        command: What the user typed.
        seed: The run's seed.
        config: The whole config, as validated.
        device: The device in words.
        models: Weights of training runs that it opens, by folder.
        inputs: Files that the run reads.
        writes: Names of the files it will write, where they come from its input, such as a text for each language:
            then an earlier run is replaced only by one that writes them again, up to the first dot of each name.

    Raises:
        ConfigError: There is a folder that must not be replaced.
        StorageError: The folder cannot be written, or another process is writing there.
    """
    facts = _given(command, seed, config, device, models)
    target, read = real_path(out), list(inputs)
    with sole_writer(out):
        check_replaceable(out, read, writes)
        with built_aside(target) as scratch:
            start = time.monotonic()
            run = RunRecord(folder=scratch, out=Path(out), **facts)
            try:
                run.write()
                for path in read:
                    run.add_input(path)
                yield run
                for path in sorted(path for path in scratch.rglob("*") if path.is_file() and path != scratch / RECORD):
                    run.add_output(path)
                if run.status == "running":
                    run.status = "finished"
                run.wall_seconds = round(time.monotonic() - start, 3)
                run.write()
            except IsoglotError as error:
                if error.file is not None:  # in the user's words
                    error.file = str(run.shown(Path(error.file)))
                raise


def read_record(folder: Path) -> dict[str, Any] | None:
    """What ``run.json`` in a folder says; None where there is none.

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


def check_replaceable(out: str | Path, inputs: Iterable[str | Path] = (), writes: Iterable[str] | None = None) -> None:
    """Refuse to replace a folder where anything would be lost that a user may want to keep.

    Args:
        out: The folder; one that is not there, or is empty, can be had.
        inputs: Files that the run reads.
        writes: As for :func:`out_folder`.

    Raises:
        ConfigError: A file in it is not as a run wrote it, is about to be read, or would not be written
            again; or the folder is the one that the user is in.
        StorageError: It is no folder, or cannot be read.
    """
    target = real_path(out)
    if not target.exists():
        return
    if not target.is_dir():
        raise StorageError(
            "a file is in the way of a folder", remedy="name another folder", code="storage.not-a-folder", file=out
        )
    read = {real_path(path): str(path) for path in inputs}
    if Path.cwd().is_relative_to(target):
        raise ConfigError(
            f"{out} is the current folder, which would be replaced",
            remedy="name a folder in it",
            code="config.current-folder",
        )
    files = sorted(path for path in target.rglob("*") if path.is_symlink() or not path.is_dir())
    record = read_record(target) or {}
    known = record.get("outputs")
    stems = {name.partition(".")[0] for name in writes or ()}
    for path in files:
        name = path.relative_to(target).as_posix()
        facts = known.get(name) if isinstance(known, dict) else None
        if path in read:
            raise ConfigError(
                f"{read[path]} would be replaced while it is read",
                remedy="name another --out",
                code="config.would-overwrite",
            )
        if name != RECORD and (path.is_symlink() or facts != _facts(path)):
            raise ConfigError(
                f"{out} holds {name}, which is not as an earlier run wrote it",
                remedy="move it elsewhere, or name another --out",
                code="config.would-overwrite",
            )
        if writes is not None and name != RECORD and name.partition(".")[0] not in stems:
            raise ConfigError(
                f"{out} holds {name} of an earlier run, which this one does not write again",
                remedy="name another --out",
                code="config.would-overwrite",
            )


# --- folders that are written again ---


@contextmanager
def written_together(target: Path, *, stale: Collection[str] = ()) -> Iterator[Path]:
    """A folder to write to, which takes the place of an earlier one in one step when the block ends well.

    Files of the user in the earlier one, such as a README.md, come along.

    Args:
        target: Made if missing.
        stale: Files of ours in the earlier one that go if none of them is written again.

    Raises:
        ConfigError: It is the folder that the user is in.
        StorageError: It cannot be written to, or another process is writing there.
    """
    place = real_path(target)
    if place.is_dir() and Path.cwd().is_relative_to(place):
        raise ConfigError(
            f"{target} is the current folder, which would be replaced",
            remedy="name it from elsewhere",
            code="config.current-folder",
        )
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
    """Where to write the files of a folder whose index is written last: there, or aside if one is there already.

    A folder without its index is not opened by anybody, so a first save needs no second folder.

    Args:
        folder: Made if missing.
        index: The name of the index; a folder that has it is replaced as :func:`written_together` does.
        stale: Files of ours in the earlier folder that go if none of them is written again.

    Raises:
        ConfigError: It has an index and is the folder that the user is in.
        StorageError: It cannot be written to, or another process is writing there.
    """
    target = writable_folder(folder)
    if not is_stored(target / index):
        with sole_writer(target):
            yield target
        return
    with written_together(target, stale=stale) as scratch:
        yield scratch

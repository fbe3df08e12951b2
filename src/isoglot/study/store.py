"""The store of a study: one folder per step, which appears whole or not at all.

::

    steps/KEY/step.json       what ran: kind, settings, input keys, hashes of the payload, time, versions
    steps/KEY/numbers.json    the numbers that were measured, if any
    steps/KEY/…               the rest of the payload: a vocabulary, shards, an encoder …
    steps/.KEY.work/          the payload and scratch files of an attempt that runs or was interrupted
    steps/.KEY.owner          which process computes the step now (:mod:`isoglot.study.step_owner`)
    attempts/KEY.jsonl        attempts that failed, with the reason

Several processes, on one machine or on many with a common disk, may use one store: a step has one owner at a time.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.errors import CorruptFileError, StorageError, one_line
from isoglot.core.files import file_hash, storage_error, writable_folder
from isoglot.core.folders import put_folder, restore_folder
from isoglot.core.optional import versions
from isoglot.core.progress import Say, say_nothing
from isoglot.study.numbers import Number, Numbers
from isoglot.study.step_owner import StepTakenError, owned, owner_of
from isoglot.study.steps import KINDS, Paused, Step, Work, canonical, kind_function

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoglot.core.progress import Progress

STEPS, ATTEMPTS, RECORD, NUMBERS = "steps", "attempts", "step.json", "numbers.json"
PACKED = "packed"
"""Folder of the packed copy of an encoder, in the folder of its step."""
_AGAIN = "remove the folder, and the step is computed again"
_FORM = {"key": str, "kind": str, "settings": dict, "inputs": {...: str}, "payload": {...: str}, "dropped": [str]}


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """An attempt at a step that failed, a line of ``attempts/KEY.jsonl``."""

    started: str
    seconds: float
    error: str


class Store:
    """The steps of a study on disk.

    Args:
        root: The study's folder.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self.steps = self.root / STEPS
        self.attempts_folder = self.root / ATTEMPTS
        self._numbers: dict[str, tuple[tuple[int, int], Numbers]] = {}

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    def folder(self, key: str) -> Path:
        """Folder of a step's payload, which may not exist yet."""
        return self.steps / key

    def _work(self, key: str) -> Path:
        return self.steps / f".{key}.work"

    def scratch(self, key: str) -> Path:
        """Folder of checkpoints and logs of an attempt that runs or was interrupted."""
        return self._work(key) / "scratch"

    # --- what is there ---

    def record(self, key: str) -> dict[str, Any] | None:
        """Content of ``step.json``; None if the step is not done.

        Raises:
            CorruptFileError: It was altered.
        """
        path = self.folder(key) / RECORD
        return read_sealed(path, _FORM, remedy=_AGAIN) if path.exists() else None

    def is_done(self, key: str) -> bool:
        """Whether the step was computed; heavy files may have been removed since."""
        return (self.folder(key) / RECORD).exists()

    def is_whole(self, key: str) -> bool:
        """Whether the step was computed and its payload is all there."""
        record = self.record(key)
        return record is not None and not record["dropped"]

    def is_begun(self, key: str) -> bool:
        """Whether an attempt is running, or has left files to resume from."""
        return self._work(key).exists()

    def owner(self, key: str) -> str | None:
        """Machine and process that compute the step now; None if none does."""
        return owner_of(self.folder(key))

    def numbers(self, key: str) -> Numbers:
        """The numbers that a step measured; none if it is not done. A file that has not changed is read once.

        Raises:
            CorruptFileError: They were altered.
        """
        path = self.folder(key) / NUMBERS
        try:
            facts = path.stat()
        except FileNotFoundError:
            return Numbers()
        stamp = facts.st_mtime_ns, facts.st_size
        known = self._numbers.get(key)
        if known is None or known[0] != stamp:
            found = read_sealed(path, {"numbers": [dict]}, remedy=_AGAIN)
            known = self._numbers[key] = stamp, Numbers(Number.from_json(one) for one in found["numbers"])
        return known[1]

    def failures(self, key: str) -> list[Attempt]:
        """Attempts at a step that failed, oldest first."""
        try:
            lines = (self.attempts_folder / f"{key}.jsonl").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            with suppress(ValueError, TypeError):  # a line that a kill cut short
                found.append(Attempt(**json.loads(line)))
        return found

    def check(self, key: str, *, only: str | None = None) -> None:
        """Verify that a step's payload, or one file of it, is what was written.

        Raises:
            CorruptFileError: A file was altered or is missing.
        """
        record = self.record(key) or {"payload": {}, "dropped": []}
        for name, sha256 in record["payload"].items():
            path = self.folder(key) / name
            if name in record["dropped"] or only not in (None, name):
                continue
            if not path.is_file() or file_hash(path) != sha256:
                problem = "is not what was written" if path.is_file() else "is missing"
                raise CorruptFileError(f"{name} of step {key} {problem}", _AGAIN, file=path)

    # --- computing ---

    def run(
        self,
        step: Step,
        *,
        device: str = "auto",
        processes: int = 1,
        deadline: float | None = None,
        progress: Progress,
        say: Say = say_nothing,
        cache: dict[Any, Any] | None = None,
    ) -> dict[str, Any]:
        """Compute a step, unless it is there, and return its record.

        Raises:
            IsoglotError: The step cannot be computed; the attempt is recorded.
            Paused: The deadline has come.
            StepTakenError: Another process is computing it.
        """
        if step.key != step.present_key and not self.is_whole(step.key):
            problem = f"step {step.key} was planned by another version of isoglot, which computed something else"
            remedy = "plan it again by isoglot study run, or use that version"
            raise StorageError(problem, remedy, "changed", file=self.root)
        with owned(self.folder(step.key)):
            if self.is_whole(step.key):  # another process was quicker
                return self.record(step.key) or {}
            started, clock = _now(), time.monotonic()
            try:
                work = writable_folder(self._work(step.key))
                shutil.rmtree(work / "payload", ignore_errors=True)
                numbers = kind_function(step.kind)(
                    Work(
                        settings=step.settings,
                        execution=step.execution,
                        inputs=self._inputs(step),
                        folder=writable_folder(work / "payload"),
                        scratch=writable_folder(work / "scratch"),
                        device=device,
                        processes=processes,
                        deadline=deadline,
                        progress=progress,
                        say=say,
                        cache={} if cache is None else cache,
                    )
                )
                if numbers:
                    rows = [number.as_json() for number in numbers]
                    write_sealed(work / "payload" / NUMBERS, {"numbers": rows}, indented=False)
                about = {"started": started, "seconds": round(time.monotonic() - clock, 3), "device": device}
                return self._finish(step, work, about)
            except Paused:
                raise
            except Exception as error:
                reason = one_line(str(error)) or type(error).__name__
                self.add_failure(step.key, reason, started=started, seconds=time.monotonic() - clock)
                raise

    def _inputs(self, step: Step) -> dict[str, Path]:
        found = {}
        for name, one in step.inputs.items():
            if isinstance(one, Step):
                if not self.is_whole(one.key):
                    problem = f"input {name} of {step.title or step.key} is not there"
                    remedy = "run the study, which makes it"
                    raise StorageError(problem, remedy, "not-found")
                found[name] = self.folder(one.key)
            else:
                found[name] = _checked_file(one.path, one.sha256)
        return found

    def _finish(self, step: Step, work: Path, about: Mapping[str, Any]) -> dict[str, Any]:
        """Write the record and give the folder its name, in one step."""
        payload = work / "payload"
        files = sorted(path for path in payload.rglob("*") if path.is_file())
        hashes = {path.relative_to(payload).as_posix(): file_hash(path) for path in files}
        record = {
            "key": step.key,
            "kind": step.kind,
            "version": KINDS[step.kind].version,
            "title": step.title,
            "settings": json.loads(canonical(step.settings)),
            "inputs": {name: one.key for name, one in step.inputs.items()},
            "payload": hashes,
            "payload_sha256": hashlib.sha256(canonical(hashes).encode()).hexdigest(),
            "dropped": [],
            **about,
            "versions": versions(),
            "platform": platform.platform(),
        }
        write_sealed(payload / RECORD, record)
        self._put(payload, step.key)
        return record

    def _put(self, payload: Path, key: str) -> None:
        """Move a folder to the place of a step, replacing one whose heavy files were removed."""
        try:
            restore_folder(self.folder(key))  # a kill may have left the old one aside, where names cannot be exchanged
            put_folder(payload, self.folder(key))
        except OSError as error:
            raise storage_error(error, self.folder(key), doing="write") from error
        shutil.rmtree(payload.parent, ignore_errors=True)

    def add_failure(self, key: str, reason: str, *, started: str | None = None, seconds: float = 0.0) -> None:
        """Record an attempt that failed, which began now unless ``started`` is given; a full disk is ignored."""
        attempt = Attempt(started=started or _now(), seconds=round(seconds, 3), error=reason)
        with suppress(OSError, StorageError):
            path = writable_folder(self.attempts_folder) / f"{key}.jsonl"
            with path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(asdict(attempt), ensure_ascii=False) + "\n")

    # --- disk space and copies ---

    def drop(self, step: Step) -> None:
        """Remove the heavy files of a step; its record and numbers stay."""
        with owned(self.folder(step.key)):
            record = self.record(step.key)
            if record is None:
                return
            gone = sorted({*record["dropped"], *(name for name in record["payload"] if _is_in(name, step.heavy))})
            if gone != record["dropped"]:
                # The record first: a kill in between leaves files that nobody reads, which the next call removes, and
                # never a record of files that are gone.
                write_sealed(self.folder(step.key) / RECORD, {**record, "dropped": gone})
            for place in self.heavy_files(step):
                if place.is_file():
                    place.unlink()
                else:
                    shutil.rmtree(place, ignore_errors=True)

    def pack(self, step: Step) -> None:
        """Write a packed copy of a step's encoder beside it, if it has one; it opens like any encoder.

        Weights are rounded to about 5.7 bits, so the copy is no payload: steps that need the encoder train it again.
        """
        from isoglot.study.kinds.pretrain import ENCODER

        encoder, target = self.folder(step.key) / ENCODER, self.folder(step.key) / PACKED
        if not encoder.exists() or target.exists():
            return
        from isoglot.model.folder import open_encoder, read_about
        from isoglot.steer.language_files import export_packed

        with owned(self.folder(step.key)):
            export_packed(open_encoder(encoder), target, about=read_about(encoder))

    def heavy_files(self, step: Step) -> list[Path]:
        """Heavy files and folders of a step that are there."""
        return [path for path in (self.folder(step.key) / name for name in step.heavy) if path.exists()]

    def sweep(self) -> None:
        """Remove files that killed processes left behind, of steps that are done."""
        for path in (*self.steps.glob(".*.work"), *self.steps.glob(".*.owner"), *self.steps.glob(".*.lock")):
            key = path.name[1:].rpartition(".")[0]
            with suppress(StepTakenError):
                if path.exists() and self.owner(key) is None:
                    with owned(self.folder(key)):  # whose lock and owner go when it ends
                        if self.is_whole(key):
                            shutil.rmtree(self._work(key), ignore_errors=True)

    def merge(self, other: Store, *, keep: Literal["all", "results"] = "all") -> list[str]:
        """Copy steps of another store that are not here, or not whole; returns their keys.

        Args:
            other: Where to copy from.
            keep: What is copied: all there is, or records and numbers alone.

        Raises:
            CorruptFileError: A file of the other store is not what was written there.
            StorageError: It cannot be read or written.
        """
        copied = []
        for path in sorted(other.steps.glob("*/step.json")):
            key = path.parent.name
            theirs = other.record(key)
            dropped = keep == "results" or (theirs is not None and theirs["dropped"])
            if theirs is None or self.is_whole(key) or (self.is_done(key) and dropped):
                continue
            other.check(key, only=NUMBERS if keep == "results" else None)
            with owned(self.folder(key)):
                work = writable_folder(self._work(key))
                shutil.rmtree(work / "payload", ignore_errors=True)
                if keep == "results":
                    _copy_results(path.parent, work / "payload", theirs)
                else:
                    shutil.copytree(path.parent, work / "payload")
                self._put(work / "payload", key)
            copied.append(key)
        return copied

    def keys(self) -> list[str]:
        """Keys of all steps that are done."""
        return sorted(path.parent.name for path in self.steps.glob(f"*/{RECORD}"))


def _copy_results(source: Path, target: Path, record: Mapping[str, Any]) -> None:
    """Copy the record and the numbers of a step; all else counts as removed, a folder as one."""
    kept = {name: sha256 for name, sha256 in record["payload"].items() if name == NUMBERS}
    gone = {name.partition("/")[0] for name in (*record["payload"], *record["dropped"])} - set(kept)
    write_sealed(writable_folder(target) / RECORD, {**record, "payload": kept, "dropped": sorted(gone)})
    if kept:
        shutil.copyfile(source / NUMBERS, target / NUMBERS)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _is_in(name: str, places: Iterable[str]) -> bool:
    return any(name == place or name.startswith(f"{place}/") for place in places)


_CHECKED: dict[tuple[str, int, int], str] = {}
_NOT_CONTENT = (".md", ".h5", ".msgpack", ".ot", ".onnx")  # notes, and weights in formats that are not read


def source_hash(path: str | Path) -> str:
    """SHA-256 of a file, or of the names and contents of a folder's files; computed once for what does not change.

    Raises:
        StorageError: It cannot be read.
    """
    folder = Path(path)
    if folder.is_dir():
        files = sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())
        kept = [one for one in files if not one.endswith(_NOT_CONTENT) and not f"/{one}".count("/.")]
        return hashlib.sha256(canonical({one: source_hash(folder / one) for one in kept}).encode()).hexdigest()
    try:
        facts = Path(path).stat()
    except OSError as error:
        raise storage_error(error, path, doing="read") from error
    at = str(path), facts.st_size, facts.st_mtime_ns
    if at not in _CHECKED:
        _CHECKED[at] = file_hash(path)
    return _CHECKED[at]


def _checked_file(path: str, sha256: str) -> Path:
    if source_hash(path) != sha256:
        what = "folder" if Path(path).is_dir() else "file"
        problem = f"the {what} has changed since the study was planned"
        remedy = "restore it, or plan a new study"
        raise StorageError(problem, remedy, "changed", file=path)
    return Path(path)

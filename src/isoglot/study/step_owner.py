"""Ownership of a step: a lock on this machine, and a file with a heartbeat that other machines see.

The lock of the system (``flock``) ends with its process, however that ends, but shared disks of clusters often do not
show it to other nodes. So the owner of a step also writes ``.KEY.owner`` beside the step's folder and touches it every
few seconds. A file of this machine means nothing without its lock; one of another machine counts until its
heartbeat is old.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import StorageError
from isoglot.core.files import this_machine
from isoglot.core.run import sole_writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BEAT = 10.0
"""Seconds between two heartbeats."""
STALE = 90.0
"""Age in seconds at which a heartbeat of another machine no longer counts."""


class StepTakenError(StorageError):
    """Another process is computing the step."""

    code = "storage.locked"


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Keep every other process, of this machine or another, from computing a step while the block lasts.

    Args:
        folder: The step's folder, which need not exist.

    Raises:
        StepTakenError: Another process is computing it.
    """
    file = _file(folder)
    with ExitStack() as stack:
        try:
            stack.enter_context(sole_writer(folder))
        except StorageError as error:
            raise _taken(folder) from error
        token = _claim(folder, file)
        stop = threading.Event()
        heartbeat = threading.Thread(target=_beat, args=(file, stop), daemon=True)
        heartbeat.start()
        try:
            yield
        finally:
            stop.set()
            heartbeat.join()
            if _read(file).get("token") == token:
                file.unlink(missing_ok=True)


def owner_of(folder: Path) -> str | None:
    """Machine and process that compute a step; None if none does."""
    file = _file(folder)
    if not file.exists():
        return None
    about = _read(file)
    if about.get("machine") == this_machine():
        return str(about.get("where")) if _is_locked(folder) else None
    return str(about.get("where", "another machine")) if _is_alive(file, about) else None


def _claim(folder: Path, file: Path) -> str:
    """Write the owner's file; returns a token that tells this claim from others."""
    token = secrets.token_hex(8)
    about = {"token": token, "machine": this_machine(), "pid": os.getpid(), "where": _where()}
    while True:
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            # The lock is ours: an owner on this machine is gone.
            about_other = _read(file)
            if about_other.get("machine") != this_machine() and _is_alive(file, about_other):
                raise _taken(folder) from None
            file.unlink(missing_ok=True)
            continue
        except OSError:  # a disk that is full or not writable: the step itself will fail with that error
            return token
        with os.fdopen(handle, "w", encoding="utf-8") as out, suppress(OSError):
            out.write(json.dumps(about))
        return token


def _beat(file: Path, stop: threading.Event) -> None:
    while not stop.wait(BEAT):
        with suppress(OSError):
            os.utime(file)


def _is_alive(file: Path, about: dict[str, Any]) -> bool:
    """Whether the owner on another machine is alive; an empty file is being written, or its writer was killed."""
    return _age(file) < (STALE if about else BEAT)


def _age(file: Path) -> float:
    """Seconds since the last heartbeat by the clock of the disk, which may differ from that of this machine."""
    probe = file.with_name(f".{secrets.token_hex(4)}.clock")
    try:
        probe.touch()
        now = probe.stat().st_mtime
        probe.unlink(missing_ok=True)
        return now - file.stat().st_mtime
    except FileNotFoundError:  # the owner is done
        return STALE
    except OSError:
        return 0.0


def _is_locked(folder: Path) -> bool:
    try:
        with sole_writer(folder):
            return False
    except StorageError:
        return True


def _read(file: Path) -> dict[str, Any]:
    """Content of the file; empty if it is gone or being written."""
    with suppress(OSError, ValueError):
        found = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return {}


def _where() -> str:
    job = os.environ.get("SLURM_JOB_ID")
    if job and "SLURM_ARRAY_JOB_ID" in os.environ:
        job = f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ.get('SLURM_ARRAY_TASK_ID', '0')}"
    return f"{platform.node()}, job {job}" if job else f"{platform.node()}, process {os.getpid()}"


def _file(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.owner")


def _taken(folder: Path) -> StepTakenError:
    return StepTakenError(
        f"another process is computing the step: {owner_of(folder) or 'it has just begun'}",
        remedy="wait for it",
        file=folder,
    )

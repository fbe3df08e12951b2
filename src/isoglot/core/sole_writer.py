"""One process at a time writes to a place: a second one is refused before it touches anything.

The lock is the system's (``flock``) on ``.NAME.lock`` beside what is written. It ends with the process, however that
ends; the file goes with the work, and one that a killed process left means nothing.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def sole_writer(out: str | Path) -> Iterator[None]:
    """Keep other processes from writing to a file or folder while the block lasts.

    Processes that ``torchrun`` started share a run: the first of them stands for all. Where the system or the disk has
    no locks, nothing is kept out; of a place that cannot be written to the block has to complain.

    Raises:
        StorageError: Another process is writing there.
    """
    target = Path(out).resolve()
    lock = target.parent / f".{target.name}.lock"
    made: list[Path] = []
    with suppress(OSError):
        made = [folder for folder in target.parents if not folder.exists()]
    handle = _taken(lock, out) if os.environ.get("RANK", "0") == "0" else None
    try:
        yield
    finally:
        if handle is not None:
            with suppress(OSError):
                lock.unlink()  # while it is held: whoever takes it next makes a new one
            os.close(handle)
        for folder in made:
            with suppress(OSError):  # not there, or not empty
                folder.rmdir()


def _taken(lock: Path, out: str | Path) -> int | None:
    """The lock as an open file; None where there are none."""
    try:
        import fcntl

        lock.parent.mkdir(parents=True, exist_ok=True)
        while True:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(handle).st_nlink:
                    return handle
            except OSError:
                os.close(handle)
                raise
            os.close(handle)  # who had it has removed it since: the name is another's, or free
    except BlockingIOError as error:
        raise StorageError(
            "another process is writing there", remedy="wait for it, or name another --out", file=out
        ) from error
    except (ImportError, OSError):
        return None

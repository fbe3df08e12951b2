"""Atomic replacement of folders: built under a temporary name, then renamed in one step."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from isoglot.core.files import flush_to_disk, keep_mode, storage_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from isoglot.core.errors import StorageError

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@contextmanager
def built_aside(target: Path) -> Iterator[Path]:
    """Provide an empty folder that replaces the target if the block succeeds.

    If the process is killed, the target is either the old folder or the new one. Leftovers of a killed process are
    removed first, so the caller must hold the lock: see :func:`isoglot.core.run.sole_writer`.

    Raises:
        StorageError: The folder cannot be written.
    """
    scratch, _ = _aside(target)
    try:
        restore_folder(target)
        if target.exists() and not target.is_dir():
            raise NotADirectoryError
        scratch.mkdir(parents=True)
    except OSError as error:
        raise _beside(error, target) from error
    try:
        yield scratch
        try:
            put_folder(scratch, target)
        except OSError as error:
            raise storage_error(error, target, doing="write") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)  # the old folder, or an unfinished new one


def replace_folder(target: Path, fill: Callable[[Path], object]) -> None:
    """Replace a folder, if it exists, by one that a function fills.

    Raises:
        StorageError: It cannot be written.
    """
    with built_aside(target) as scratch:
        try:
            fill(scratch)
        except OSError as error:
            raise storage_error(error, target, doing="write") from error


def restore_folder(target: Path) -> None:
    """Clean up after a killed process; the folder is then either the old one or the new one."""
    scratch, old = _aside(target)
    if old.exists() and not target.exists():
        old.rename(target)
    for rest in (scratch, old):
        shutil.rmtree(rest, ignore_errors=True)


def remove_folder(path: Path) -> None:
    """Remove a folder atomically: it is renamed first."""
    scratch, _ = _aside(path)
    with suppress(OSError):
        shutil.rmtree(scratch, ignore_errors=True)
        path.rename(scratch)
        shutil.rmtree(scratch)


def link_file(path: str | Path, place: str | Path) -> None:
    """Create a hard link to a file, or a copy where the disk does not support links."""
    try:
        os.link(path, place, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, place, follow_symlinks=False)


def link_folder(folder: Path, place: Path) -> None:
    """Link the files of a folder into a new folder."""
    shutil.copytree(folder, place, copy_function=link_file)


def sweep(folder: Path) -> None:
    """Remove leftovers of killed processes from a folder of folders."""
    for rest in (*folder.glob(".*.new"), *folder.glob(".*.old")):
        shutil.rmtree(rest, ignore_errors=True)


def _aside(target: Path) -> tuple[Path, Path]:
    return target.with_name(f".{target.name}.new"), target.with_name(f".{target.name}.old")


def _beside(error: OSError, target: Path) -> StorageError:
    found = storage_error(error, target, doing="create a folder beside this one")
    if target.is_dir():
        found.remedy = f"name a folder inside it: {target / 'run'}"
    return found


def put_folder(scratch: Path, target: Path) -> None:
    """Rename a folder to its target, in one step where the system can exchange two names, else in two.

    An existing target is removed, or keeps the temporary name.
    """
    for path in sorted(scratch.rglob("*")):
        flush_to_disk(path)
    flush_to_disk(scratch)
    if not target.exists():
        scratch.rename(target)
    else:
        keep_mode(target, scratch)
        if not _exchanged(scratch, target):
            _, old = _aside(target)
            target.rename(old)
            scratch.rename(target)
            shutil.rmtree(old, ignore_errors=True)
    flush_to_disk(target.parent)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False if that is not possible."""
    exchange = _exchange()
    return (
        exchange is not None
        and exchange(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0
    )


@cache
def _exchange() -> Any:  # noqa: ANN401 - a function of C
    """``renameat2`` of Linux, which Python does not provide."""
    if not sys.platform.startswith("linux"):
        return None
    with suppress(OSError, AttributeError):
        return ctypes.CDLL(None, use_errno=True).renameat2
    return None

"""Folders that appear whole: built under another name beside their place, then put there in one step."""

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
    """Give an empty folder to fill; when the block ends well, it takes the place of the target, if there is one.

    Whenever the process dies, the target is the old folder or the new one. What a killed process left is removed first,
    so the caller must know that no other process is at work: see :func:`isoglot.core.run.sole_writer`.

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
        shutil.rmtree(scratch, ignore_errors=True)  # the old folder, or what did not become the new one


def replace_folder(target: Path, fill: Callable[[Path], object]) -> None:
    """Put a folder that a function fills in the place of another, if any.

    Raises:
        StorageError: It cannot be written.
    """
    with built_aside(target) as scratch:
        try:
            fill(scratch)
        except OSError as error:
            raise storage_error(error, target, doing="write") from error


def restore_folder(target: Path) -> None:
    """Remove what a killed process left beside a folder; the folder is as it was before or after."""
    scratch, old = _aside(target)
    if old.exists() and not target.exists():
        old.rename(target)
    for rest in (scratch, old):
        shutil.rmtree(rest, ignore_errors=True)


def remove_folder(path: Path) -> None:
    """Remove a folder so that no half of it is ever seen under its name."""
    scratch, _ = _aside(path)
    with suppress(OSError):
        shutil.rmtree(scratch, ignore_errors=True)
        path.rename(scratch)
        shutil.rmtree(scratch)


def link_file(path: str | Path, place: str | Path) -> None:
    """Give a file a second name; where the disk cannot do that, a copy."""
    try:
        os.link(path, place, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, place, follow_symlinks=False)


def link_folder(folder: Path, place: Path) -> None:
    """Give the files of a folder second names in another, which must not exist."""
    shutil.copytree(folder, place, copy_function=link_file)


def sweep(folder: Path) -> None:
    """Remove what killed processes left in a folder of folders."""
    for rest in (*folder.glob(".*.new"), *folder.glob(".*.old")):
        shutil.rmtree(rest, ignore_errors=True)


def _aside(target: Path) -> tuple[Path, Path]:
    return target.with_name(f".{target.name}.new"), target.with_name(f".{target.name}.old")


def _beside(error: OSError, target: Path) -> StorageError:
    found = storage_error(error, target, doing="make a folder beside this one")
    if target.is_dir():
        found.remedy = f"name a folder in it: {target / 'run'}"
    return found


def put_folder(scratch: Path, target: Path) -> None:
    """Give a folder its name, in one step where the system can exchange two names, else in two.

    A folder that had the name is removed, or is left under the first one's.
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
    """Whether two names could be exchanged in one step."""
    exchange = _exchange()
    return (
        exchange is not None
        and exchange(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0
    )


@cache
def _exchange() -> Any:  # noqa: ANN401 - a function of C
    """``renameat2`` of Linux, which Python does not offer."""
    if not sys.platform.startswith("linux"):
        return None
    with suppress(OSError, AttributeError):
        return ctypes.CDLL(None, use_errno=True).renameat2
    return None

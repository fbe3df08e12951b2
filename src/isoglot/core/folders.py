"""Folders that are whole or not there."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from isoglot.core.files import flush_to_disk, storage_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def replace_folder(target: Path, fill: Callable[[Path], object]) -> None:
    """Put a folder in the place of another, if any: filled under a temporary name, then renamed.

    Between the two renames of a replacement the old one is under ``.NAME.old``; :func:`restore_folder` brings it back.

    Raises:
        StorageError: It cannot be written.
    """
    scratch, old = _aside(target)
    try:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        fill(scratch)
        for path in sorted(scratch.rglob("*")):
            flush_to_disk(path)
        flush_to_disk(scratch)
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
            target.rename(old)
        scratch.rename(target)
        flush_to_disk(target.parent)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise storage_error(error, target, doing="write") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)  # what did not become the folder must not fill the disk


def restore_folder(target: Path) -> None:
    """Undo what a replacement that was cut short has left; every name is as it was before or after."""
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


def sweep(folder: Path) -> None:
    """Remove what writes that were cut short have left in a folder."""
    for rest in (*folder.glob(".*.new"), *folder.glob(".*.old")):
        shutil.rmtree(rest, ignore_errors=True)


def _aside(target: Path) -> tuple[Path, Path]:
    return target.with_name(f".{target.name}.new"), target.with_name(f".{target.name}.old")

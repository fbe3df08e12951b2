"""A folder that an export writes: new, empty or an earlier export, and it gets all of its files or none."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import IsoglotError, StorageError
from isoglot.core.files import real_path, storage_error
from isoglot.core.folders import built_aside
from isoglot.core.run import sole_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator


def without_folders(about: Any) -> Any:  # noqa: ANN401 - what JSON holds
    r"""The same with names for absolute paths: where a file lay on one machine means nothing on another.

    >>> without_folders({"texts": ["/home/me/en.txt", "de.txt"], "tokenizer": "C:\\models\\bert", "step": 7})
    {'texts': ['en.txt', 'de.txt'], 'tokenizer': 'bert', 'step': 7}
    """
    if isinstance(about, dict):
        return {key: without_folders(value) for key, value in about.items()}
    if isinstance(about, list | tuple):
        return [without_folders(value) for value in about]
    for kind in (PurePosixPath, PureWindowsPath):
        if isinstance(about, str) and kind(about).is_absolute() and kind(about).name:
            return kind(about).name
    return about


def free_folder(folder: str | Path, is_earlier: Callable[[Path], bool]) -> Path:
    """The folder, refused if something is in it that is no earlier export.

    Args:
        folder: Where an export is to be written.
        is_earlier: Whether a folder with something in it is an earlier export; an error of ours says it is not.

    Raises:
        StorageError: It is none, or the folder cannot be read.
    """
    target = Path(folder)
    try:
        if not target.is_dir() or not any(target.iterdir()):
            return target
    except OSError as error:
        raise storage_error(error, folder, doing="write to this folder") from error
    try:
        known = is_earlier(target)
    except (IsoglotError, TypeError):
        known = False
    if not known:
        raise StorageError(
            "there is something in this folder, and it is no earlier export",
            remedy="name a new folder or an empty one",
            file=folder,
        )
    return target


@contextmanager
def written_together(target: Path, *, stale: Collection[str] = ()) -> Iterator[Path]:
    """A folder to write an export to, which takes the place of an earlier one in one step when the block ends well.

    Files of the user in the earlier one, such as a README.md, come along.

    Args:
        target: Made if missing.
        stale: Files of an earlier export that go if this one has none of them.

    Raises:
        StorageError: It cannot be written to, or another process is writing there.
    """
    with sole_writer(target), built_aside(real_path(target)) as scratch:
        try:
            yield scratch
            for path in sorted(real_path(target).rglob("*")):
                place = scratch / path.relative_to(real_path(target))
                if path.is_dir() and not path.is_symlink():
                    continue
                if not place.exists() and path.relative_to(real_path(target)).as_posix() not in stale:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    _linked(path, place)
        except OSError as error:
            raise storage_error(error, target, doing="write to this folder") from error


def _linked(path: Path, place: Path) -> None:
    """The same file under another name; where the disk has no such thing, a copy."""
    try:
        os.link(path, place, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, place, follow_symlinks=False)

"""A folder that an export writes: new, empty or an earlier export."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import IsoglotError, StorageError
from isoglot.core.files import storage_error

if TYPE_CHECKING:
    from collections.abc import Callable


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
            code="storage.not-replaceable",
            file=folder,
        )
    return target

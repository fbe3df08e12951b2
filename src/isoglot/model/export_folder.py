"""A folder that an export writes: new, empty or an earlier export, and it gets all of its files or none."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import IsoglotError, StorageError
from isoglot.core.files import storage_error

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
def written_together(target: Path, *, index: str, stale: Collection[str] = ()) -> Iterator[Path]:
    """A folder beside the target to write to first: a full disk leaves the target as it was. Then all is put in place.

    The index comes last, after what is stale went: until all is there, the folder does not tell of the new export, and
    it still counts as an earlier one, so that exporting again renews it.

    Args:
        target: Made if missing.
        index: The file that tells of the others.
        stale: Files of an earlier export that go if this one has none of them.

    Raises:
        StorageError: It cannot be written to.
    """
    target = target.absolute()
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        scratch.mkdir(parents=True)
        yield scratch
        if target.is_dir():
            _move(scratch, target, index=index, stale=stale)
        else:
            scratch.rename(target)
    except OSError as error:
        raise storage_error(error, target, doing="write to this folder") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _move(scratch: Path, target: Path, *, index: str, stale: Collection[str]) -> None:
    gone = [name for name in stale if not (scratch / name).exists()]
    files = sorted(path for path in scratch.rglob("*") if path.is_file() and path != scratch / index)
    for path in files:
        place = target / path.relative_to(scratch)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, place)  # noqa: PTH105 - as in core.files
    for name in gone:
        (target / name).unlink(missing_ok=True)
    os.replace(scratch / index, target / index)  # noqa: PTH105

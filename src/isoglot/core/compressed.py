"""Files that may be stored compressed: ``tokenizer.json``, or in its place ``tokenizer.json.zst``.

Hashes are those of the content, so either form stands for the other. The same content gives the same bytes.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

from isoglot.core.errors import CorruptFileError, InputError
from isoglot.core.files import check_content, parse_json, read_bytes, read_json, write_bytes

Compression = Literal["none", "zstd"]
"""``none``: files as they are; ``zstd``: each with ``.zst`` behind its name, for what has to be small."""

ENDING = ".zst"
_LEVEL = 19  # of 22; from here on more memory gains nothing for files of a megabyte
_LARGEST = 64 * 2**20  # bytes that any compressed file may expand to
_LARGEST_RATIO = 64  # times its size, for those that are larger
_PART = 1 << 12  # compressed bytes at a time: what a part expands to is in memory before it is counted
_REMEDY = "the file was cut short or altered: make it again or fetch it again"


def compressed(data: bytes, *, level: int = _LEVEL) -> bytes:
    """The bytes as one Zstandard frame with a checksum."""
    import zstandard

    return zstandard.ZstdCompressor(level=level, write_checksum=True).compress(data)


def expanded(data: bytes, path: str | Path) -> bytes:
    """What was compressed; ``path`` is for the message.

    Raises:
        CorruptFileError: It is not one whole frame, or one that expands to far more than any file of ours.
    """
    import zstandard

    most = max(_LARGEST, _LARGEST_RATIO * len(data))
    frame = zstandard.ZstdDecompressor().decompressobj()
    parts: list[bytes] = []
    size = 0
    try:
        for start in range(0, len(data), _PART):
            parts.append(frame.decompress(data[start : start + _PART]))
            size += len(parts[-1])
            if size > most:
                raise CorruptFileError(
                    f"{len(data):,} bytes that expand to more than {most:,}", remedy=_REMEDY, file=path
                )
    except zstandard.ZstdError as error:
        raise CorruptFileError("no whole Zstandard frame", remedy=_REMEDY, file=path) from error
    if not frame.eof or frame.unused_data:
        raise CorruptFileError("no whole Zstandard frame", remedy=_REMEDY, file=path)
    return b"".join(parts)


def both_forms(*names: str) -> list[str]:
    """The names that files may have: as they are, and compressed.

    >>> both_forms("counts.npy")
    ['counts.npy', 'counts.npy.zst']
    """
    return [form for name in names for form in (name, name + ENDING)]


def is_stored(path: str | Path) -> bool:
    """Whether the file is there, as it is or compressed."""
    return Path(path).exists() or _small(path).exists()


def store_bytes(path: str | Path, data: bytes, compression: Compression = "none") -> Path:
    """Write the content atomically in one of the two forms, and remove the other; returns the file.

    Raises:
        StorageError: It cannot be written.
    """
    plain, small = Path(path), _small(path)
    written, other = (plain, small) if compression == "none" else (small, plain)
    write_bytes(written, data if compression == "none" else compressed(data))
    other.unlink(missing_ok=True)
    return written


def stored_bytes(path: str | Path, *, sha256: str | None = None) -> bytes:
    """The content of a file, whichever form it has; with ``sha256`` given, only if that is its hash.

    Raises:
        CorruptFileError: The content is not what was written.
        StorageError: The file cannot be read.
    """
    if Path(path).exists() or not _small(path).exists():
        return read_bytes(path, sha256=sha256)
    data = expanded(read_bytes(_small(path)), _small(path))
    if sha256 is not None:
        check_content(_small(path), found=hashlib.sha256(data).hexdigest(), expected=sha256, size=len(data))
    return data


def stored_json(path: str | Path) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """The value in a JSON file, whichever form it has.

    Raises:
        CorruptFileError: The compressed file is damaged, or no JSON.
        InputError: Malformed JSON; the message has line and column.
        StorageError: The file cannot be read.
    """
    if Path(path).exists() or not _small(path).exists():
        return read_json(path)
    try:
        return parse_json(stored_bytes(path), _small(path))
    except InputError as error:
        raise CorruptFileError("no JSON inside", remedy=_REMEDY, file=_small(path)) from error


def _small(path: str | Path) -> Path:
    path = Path(path)
    return path.with_name(path.name + ENDING)

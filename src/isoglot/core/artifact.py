"""Saving and loading: every file that isoglot writes carries a hash of its content, which is checked on reading.

* **JSON** (the index of a folder, a journal, the identity of a run): ``content_sha256`` is the SHA-256 of everything
  else in the file, as canonical JSON. An index also has ``kind`` and ``format``, and the hashes of the files beside it.
* **Arrays** are one safetensors file. Its metadata has, as JSON under ``isoglot``, ``kind``, ``format``, ``facts``
  (metadata of the caller), ``sha256``, which covers these, the names, types and shapes, and the data, and
  ``header_sha256``, which covers the same without the data.

Any of these files may be stored compressed, ``tokenizer.json`` as ``tokenizer.json.zst``. Hashes are those of the
content, so both forms are equivalent. The same content gives the same bytes.

The schema of a JSON file is called a form: a type, a union of types, a tuple of allowed values, a dict of required
keys, ``{...: form}`` for a dict with arbitrary keys, or ``[form]`` for a list.

>>> check_form({"size": 3, "files": {"a": "00"}}, {"size": int, "files": {...: str}}, "index.json", remedy="")
>>> check_form({"size": 3}, {"size": int, "files": {...: str}}, "index.json", remedy="build them again")
Traceback (most recent call last):
isoglot.core.errors.CorruptFileError: index.json: no 'files' in it; build them again
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from isoglot.core.errors import CorruptFileError, InputError, shown
from isoglot.core.files import (
    as_json,
    atomic_file,
    begin_to_read,
    check_content,
    parse_json,
    read_bytes,
    read_json,
    storage_error,
    writable_folder,
    write_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import torch

SEAL = "content_sha256"
_MISSING = object()
_ALTERED = "the file was truncated or altered: create it again or download it again"


# --- JSON ---


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Add the hash of the content.

    >>> sealed({"size": 3})["content_sha256"][:12]
    '5437a864e4e7'
    """
    return {**content, SEAL: _digest(content)}


def _digest(content: Mapping[str, Any]) -> str:
    # Through JSON once, because tuples and numeric keys are read back as something else.
    plain = json.loads(json.dumps({key: value for key, value in content.items() if key != SEAL}))
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_sealed(
    path: str | Path, content: Mapping[str, Any], *, compression: Compression = "none", indented: bool = True
) -> Path:
    """Write a dict as JSON with its hash; returns the path, which ends in ``.zst`` if it is compressed.

    Raises:
        StorageError: It cannot be written.
    """
    whole = sealed(content)
    data = as_json(whole) if indented else (json.dumps(whole) + "\n").encode()
    return store_bytes(path, data, compression)


def read_sealed(path: str | Path, form: Any = dict, *, remedy: str) -> dict[str, Any]:  # noqa: ANN401 - as check_form
    """Read what :func:`write_sealed` wrote and check its hash.

    Args:
        path: The file.
        form: Its schema.
        remedy: How to create it again.

    Raises:
        CorruptFileError: It was altered, or does not match the schema.
        InputError: It is not JSON.
        StorageError: It cannot be read.
    """
    found = stored_json(path)
    if not isinstance(found, dict):
        raise CorruptFileError(f"the content is {shown(found)}, not an object", remedy, file=path)
    if found.get(SEAL) != _digest(found):
        raise CorruptFileError(f"the content does not match its {SEAL}", remedy, "hash", file=path)
    check_form(found, form, path, remedy=remedy)
    return {key: value for key, value in found.items() if key != SEAL}


def write_index(
    path: str | Path, kind: str, version: int, content: Mapping[str, Any], *, compression: Compression = "none"
) -> Path:
    """Write the index of a folder: what is in it, and the hashes of its files.

    Raises:
        StorageError: It cannot be written.
    """
    return write_sealed(path, {"kind": kind, "format": version, **content}, compression=compression)


def read_index_file(path: Path, form: dict[Any, Any], *, version: int, what: str, remedy: str) -> dict[str, Any]:
    """Read an index, compressed or not.

    Args:
        path: The file.
        form: Its schema, without ``kind`` and ``format``.
        version: The ``format`` that is supported.
        what: The expected ``kind``.
        remedy: How to create it again.

    Raises:
        CorruptFileError: It was altered, or does not match the schema.
        InputError: It is not an index of that kind and format.
        StorageError: It cannot be read.
    """
    found = stored_json(path)
    if not isinstance(found, dict) or (found.get("kind"), found.get("format")) != (what, version):
        raise InputError(f"not {what} of format {version}", remedy, "unknown-format", file=path)
    return read_sealed(path, form, remedy=remedy)


def check_form(value: Any, form: Any, path: str | Path | None, *, remedy: str) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Check a value that was read from a file against a schema.

    Raises:
        CorruptFileError: A key is missing or has an invalid value; the message has the first one.
    """
    for key, wrong in _misfits(value, form, ""):
        named = repr(key) if key else "the content"
        problem = f"no {named} in it" if wrong is _MISSING else f"{named} cannot be {shown(wrong)}"
        raise CorruptFileError(problem, remedy, file=path)


def _is_of(value: Any, form: Any) -> bool:  # noqa: ANN401 - as check_form
    """Whether a value is one of a tuple or of a type; a bool is not an integer in JSON."""
    if isinstance(form, tuple):
        return value in form
    return isinstance(value, form) and not (form is int and isinstance(value, bool))


def _misfits(value: Any, form: Any, key: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - as check_form
    inner: list[tuple[Any, Any]] = []
    if isinstance(form, dict) and isinstance(value, dict):
        inner = [(name, each) for name, each in form.items() if name is not ...]
        inner += [(name, form[...]) for name in value if ... in form]
    elif isinstance(form, list) and isinstance(value, list):
        inner = [(number, form[0]) for number in range(len(value))]
        value = dict(enumerate(value))
    elif isinstance(form, dict | list) or not _is_of(value, form):
        yield key, value
    for name, each in inner:
        yield from _misfits(value.get(name, _MISSING), each, f"{key}.{name}".lstrip("."))


# --- arrays ---

FORMAT = 1
_KEY = "isoglot"
_LONGEST_HEADER = 100_000_000  # bytes; safetensors has the same limit
_CHUNK = 1 << 20


def array_path(path: str | Path, name: str) -> Path:
    """The path itself if it ends in ``.safetensors``, else the file of that name in the folder."""
    path = Path(path)
    return path if path.suffix == ".safetensors" else path / name


def save_arrays(
    path: str | Path, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | Mapping[str, torch.Tensor]
) -> None:
    """Write arrays to a safetensors file; creates its folder if it is missing.

    Args:
        path: The file.
        kind: What the arrays are.
        facts: Metadata, as JSON values.
        arrays: NumPy arrays, or tensors on any device.

    Raises:
        StorageError: It cannot be written.
    """
    data = _serialized(arrays)
    begin = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:begin])
    digest = array_digest(kind, facts, entries)
    digest.update(memoryview(data)[begin:])
    header = array_header(kind, facts, entries, digest.hexdigest())
    writable_folder(Path(path).parent)
    with atomic_file(path) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.write(memoryview(data)[begin:])


def _serialized(arrays: Mapping[str, Any]) -> bytes:
    import numpy as np

    if all(isinstance(array, np.ndarray) for array in arrays.values()):
        from safetensors.numpy import save

        return save({name: np.asarray(array, order="C") for name, array in arrays.items()})
    from safetensors.torch import save as save_tensors

    return save_tensors({name: tensor.detach().cpu().contiguous() for name, tensor in arrays.items()})


def load_arrays(path: str | Path, kind: str, *, remedy: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the facts and the arrays that :func:`save_arrays` wrote.

    Args:
        path: The file.
        kind: The expected kind.
        remedy: How to get such a file.

    Raises:
        CorruptFileError: The file was truncated or altered.
        InputError: It was not written by isoglot, or is of another kind or format.
        StorageError: It cannot be read.
    """
    from safetensors.numpy import load

    facts, data = _checked(path, kind, remedy=remedy)
    return facts, load(data)


def load_tensors(path: str | Path, kind: str, *, remedy: str) -> dict[str, torch.Tensor]:
    """Read the arrays that :func:`save_arrays` wrote as tensors on the CPU.

    Raises:
        CorruptFileError: The file was truncated or altered.
        InputError: It was not written by isoglot, or is of another kind or format.
        StorageError: It cannot be read.
    """
    from safetensors.torch import load

    return load(_checked(path, kind, remedy=remedy)[1])


def _checked(path: str | Path, kind: str, *, remedy: str) -> tuple[dict[str, Any], bytes]:
    begin_to_read(path)
    try:
        with Path(path).open("rb") as file:
            facts, _, _ = check_arrays(file, path, kind, remedy=remedy)
            file.seek(0)
            return facts, file.read()
    except OSError as error:
        raise storage_error(error, path, doing="read") from error


def check_arrays(
    file: IO[bytes], path: str | Path, kind: str, *, remedy: str, numbers: bool = True
) -> tuple[dict[str, Any], dict[str, dict[str, Any]], int]:
    """Check an open safetensors file in chunks.

    Args:
        file: The file, at its beginning.
        path: Its path, for error messages.
        kind: The expected kind.
        remedy: How to get such a file.
        numbers: Whether to hash the data, too; if not, only the header and the size are checked.

    Returns:
        The facts; type, shape and offsets of each array; and the position of the data.

    Raises:
        CorruptFileError: The file was truncated or altered.
        InputError: It was not written by isoglot, or is of another kind or format.
    """
    damaged = CorruptFileError("the content does not match its hash", _ALTERED, "hash", file=path)
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= min(_LONGEST_HEADER, size - 8):
        raise CorruptFileError("not a complete safetensors file", _ALTERED, file=path)
    wrong = InputError(f"no {kind} of format {FORMAT}", remedy, "unknown-format", file=path)
    try:
        entries = parse_json(file.read(length), path)
        about = parse_json(entries.pop("__metadata__")[_KEY], path)
        found = about["kind"], about["format"]
        facts, sha256, header_sha256 = about["facts"], about["sha256"], about["header_sha256"]
    except InputError as error:
        raise damaged from error
    except (KeyError, TypeError, AttributeError) as error:
        raise wrong from error
    if found != (kind, FORMAT):
        raise wrong
    digest = array_digest(kind, facts, entries)
    # Files too large to be hashed on every read have at least their header checked.
    if digest.hexdigest() != header_sha256:
        raise damaged
    end = max((each["data_offsets"][1] for each in entries.values()), default=0)
    if size != 8 + length + end:
        raise CorruptFileError(f"{size:,} bytes where {8 + length + end:,} were written", _ALTERED, "size", file=path)
    if numbers:
        while part := file.read(_CHUNK):
            digest.update(part)
        if digest.hexdigest() != sha256:
            raise damaged
    return facts, entries, 8 + length


def array_digest(kind: str, facts: Mapping[str, Any], entries: Mapping[str, Any]) -> hashlib._Hash:
    """The hash of everything but the data, to be updated with the data."""
    about = {"kind": kind, "format": FORMAT, "facts": facts, "arrays": entries}
    return hashlib.sha256(_digest(about).encode())


def array_header(kind: str, facts: Mapping[str, Any], entries: Mapping[str, Any], sha256: str) -> bytes:
    """The header of a safetensors file, padded so that the data is aligned."""
    about = {"kind": kind, "format": FORMAT, "sha256": sha256}
    about["header_sha256"] = array_digest(kind, facts, entries).hexdigest()
    metadata = json.dumps({**about, "facts": facts}, ensure_ascii=False)
    text = json.dumps({"__metadata__": {_KEY: metadata}, **entries}, ensure_ascii=False)
    data = text.encode("utf-8", "backslashreplace")
    return data.ljust(len(data) + -len(data) % 64)


# --- compression ---

Compression = Literal["none", "zstd"]
"""``none``: files are not compressed; ``zstd``: compressed, with ``.zst`` appended to the name."""

ENDING = ".zst"
_LEVEL = 19  # of 22; higher levels gain nothing for files of a megabyte
_LARGEST = 64 * 2**20  # bytes that any compressed file may expand to
_LARGEST_RATIO = 64  # larger files may expand to this many times their size
_PART = 1 << 12  # compressed bytes at a time: a chunk is in memory before its size is checked


def compressed(data: bytes, *, level: int = _LEVEL) -> bytes:
    """Compress to one Zstandard frame with a checksum."""
    import zstandard

    return zstandard.ZstdCompressor(level=level, write_checksum=True).compress(data)


def expanded(data: bytes, path: str | Path) -> bytes:
    """Decompress; ``path`` is for the error message.

    Raises:
        CorruptFileError: It is not one complete frame, or expands to far more than any file of isoglot.
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
                raise CorruptFileError(f"{len(data):,} bytes that expand to more than {most:,}", _ALTERED, file=path)
    except zstandard.ZstdError as error:
        raise CorruptFileError("not one complete Zstandard frame", _ALTERED, file=path) from error
    if not frame.eof or frame.unused_data:
        raise CorruptFileError("not one complete Zstandard frame", _ALTERED, file=path)
    return b"".join(parts)


def both_forms(*names: str) -> list[str]:
    """The names of files, each uncompressed and compressed.

    >>> both_forms("counts.npy")
    ['counts.npy', 'counts.npy.zst']
    """
    return [form for name in names for form in (name, name + ENDING)]


def is_stored(path: str | Path) -> bool:
    """Whether the file exists, compressed or not."""
    return Path(path).exists() or _compressed_path(path).exists()


def store_bytes(path: str | Path, data: bytes, compression: Compression = "none") -> Path:
    """Write a file atomically, compressed or not, and remove the other form; returns the path.

    Raises:
        StorageError: It cannot be written.
    """
    plain, small = Path(path), _compressed_path(path)
    written, other = (plain, small) if compression == "none" else (small, plain)
    write_bytes(written, data if compression == "none" else compressed(data))
    other.unlink(missing_ok=True)
    return written


def stored_bytes(path: str | Path, *, sha256: str | None = None) -> bytes:
    """Read a file, compressed or not, and check its hash if ``sha256`` is given.

    Raises:
        CorruptFileError: The hash differs.
        StorageError: The file cannot be read.
    """
    if Path(path).exists() or not _compressed_path(path).exists():
        return read_bytes(path, sha256=sha256)
    data = expanded(read_bytes(_compressed_path(path)), _compressed_path(path))
    if sha256 is not None:
        check_content(_compressed_path(path), found=hashlib.sha256(data).hexdigest(), expected=sha256, size=len(data))
    return data


def stored_json(path: str | Path) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Read a JSON file, compressed or not.

    Raises:
        CorruptFileError: The compressed file is damaged, or is not JSON.
        InputError: Malformed JSON; the message has line and column.
        StorageError: The file cannot be read.
    """
    if Path(path).exists() or not _compressed_path(path).exists():
        return read_json(path)
    try:
        return parse_json(stored_bytes(path), _compressed_path(path))
    except InputError as error:
        raise CorruptFileError("the content is not JSON", _ALTERED, file=_compressed_path(path)) from error


def _compressed_path(path: str | Path) -> Path:
    path = Path(path)
    return path.with_name(path.name + ENDING)

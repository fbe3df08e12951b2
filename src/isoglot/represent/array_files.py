"""Named arrays with a header on disk, written in place and out of order, complete or absent.

Two layouts, by the suffix of the path::

    vectors.safetensors      one file; the header is JSON under the key "isoglot" of its metadata
    vectors/                 a folder: NAME.npy for each array, and representations.json, written last

During writing, a journal lists the parts that are on disk, so that an interrupted run can be resumed. Its first line is
the header: a run with another header starts over.
"""

from __future__ import annotations

import json
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from isoglot.core.artifact import array_digest, array_header, check_arrays, read_index_file, write_index
from isoglot.core.errors import ConfigError, CorruptFileError, StorageError, shown
from isoglot.core.files import (
    check_file,
    file_hash,
    inside,
    move_into_place,
    note_read,
    read_bytes,
    storage_error,
    writable_folder,
)
from isoglot.text.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

Header = dict[str, Any]
Check = Literal["hashes", "sizes"]
"""What to verify on opening: all hashes, or only headers and sizes, which takes no time."""

INDEX = "representations.json"
FORMAT = 1
KIND = "representations"
_JOURNAL = "journal.jsonl"
_ROOM = 256  # bytes of a safetensors header left free for the counts that are known only at the end; a multiple of 64
_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}
_CHUNK = 1 << 20
_REMEDY = "name a file or folder made by isoglot encode"
_UNFINISHED = "the run is unfinished: continue it with --resume, or make it again"


class ArrayShape(NamedTuple):
    """Type (``F32`` or ``I64``) and dimensions of an array."""

    kind: str
    sides: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Size on disk."""
        return int(np.prod(self.sides, dtype=np.int64)) * _TYPES[self.kind].itemsize


class ArrayWriter:
    """Writer of arrays, with a journal for resuming.

    Args:
        path: A name that ends in ``.safetensors``, or a folder.
        shapes: Arrays by name; integer arrays come first in a file, for alignment.
        header: Metadata; only a run with the same header can be resumed.
        resume: Continue an unfinished run of the same header, if there is one.

    Raises:
        StorageError: The path cannot be written to, or the disk is full.
    """

    def __init__(
        self, path: str | Path, shapes: Mapping[str, ArrayShape], header: Header, *, resume: bool = False
    ) -> None:
        self.path = Path(path)
        self.one_file = self.path.suffix == ".safetensors"
        self.shapes = dict(sorted(shapes.items(), key=lambda item: item[1].kind != "I64"))
        self.header = json.loads(json.dumps(header))
        writable_folder(self.path.parent if self.one_file else self.path)
        beside = self.path.with_name(f".{self.path.name}")
        self.data = beside.with_name(f"{beside.name}.partial") if self.one_file else self.path
        self.journal = beside.with_name(f"{beside.name}.{_JOURNAL}") if self.one_file else self.path / _JOURNAL
        self.room = len(array_header(KIND, self.header, _entries(self.shapes), "0" * 64)) + _ROOM
        self.done: list[Header] = self._finished_parts() if resume else []
        try:
            if not self.done:
                self._begin()
            self.arrays = {name: self._map(name) for name in self.shapes}
        except OSError as error:
            self.discard()
            raise storage_error(error, self.path, doing="write") from error

    def _begin(self) -> None:
        self.journal.unlink(missing_ok=True)
        if not self.one_file:
            (self.path / INDEX).unlink(missing_ok=True)
        for target, size in self._files().items():
            _allocate(target, size)
        if not self.one_file:
            for name, shape in self.shapes.items():
                with (self.path / f"{name}.npy").open("r+b") as file:
                    file.write(_npy_header(shape))
        self._note(self.header)

    def _files(self) -> dict[Path, int]:
        """Files of the arrays and their sizes."""
        if self.one_file:
            return {self.data: self.room + 8 + sum(shape.bytes for shape in self.shapes.values())}
        return {self.path / f"{name}.npy": len(_npy_header(shape)) + shape.bytes for name, shape in self.shapes.items()}

    def _map(self, name: str) -> np.ndarray:
        shape = self.shapes[name]
        if not self.one_file:
            array: np.ndarray = np.load(self.path / f"{name}.npy", mmap_mode="r+", allow_pickle=False)
            return array
        return _mapped(self.data, shape, self.room + 8 + _starts(self.shapes)[name], "r+")

    def _finished_parts(self) -> list[Header]:
        """Parts listed in the journal, if it belongs to this run and the files are complete.

        An incomplete last line is removed, so that the next entry begins a new line.
        """
        try:
            text = self.journal.read_bytes()
            lines = text[: text.rfind(b"\n") + 1]
            os.truncate(self.journal, len(lines))
            found = [json.loads(line) for line in lines.splitlines()]
        except (OSError, ValueError, RecursionError):
            return []
        if not found:
            return []
        check_same(self.path, found[0], self.header)
        # A shorter file would be filled up with zeros when it is mapped.
        whole = all(file.exists() and file.stat().st_size == size for file, size in self._files().items())
        return found[1:] if whole else []

    def mark(self, facts: Header) -> None:
        """Record that a part is finished: its numbers are flushed first, then the journal entry is written."""
        for array in self.arrays.values():
            if isinstance(array, np.memmap):
                array.flush()
        self._note(facts)
        self.done.append(facts)

    def _note(self, facts: Header) -> None:
        with self.journal.open("ab") as file:
            file.write(json.dumps(facts).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def finish(self, header: Header) -> None:
        """Write the header and move the arrays to their final name."""
        for array in self.arrays.values():
            if isinstance(array, np.memmap):
                array.flush()
        self.arrays = {}
        if self.one_file:
            self._give_header(header)
            move_into_place(self.data, self.path)
        else:
            arrays = {
                name: {"type": shape.kind, "shape": list(shape.sides), "sha256": file_hash(self.path / f"{name}.npy")}
                for name, shape in self.shapes.items()
            }
            write_index(self.path / INDEX, KIND, FORMAT, {**header, "arrays": arrays})
        self.journal.unlink(missing_ok=True)

    def _give_header(self, header: Header) -> None:
        """Hash the content of the single file and write its header into the reserved space."""
        entries = _entries(self.shapes)
        digest = array_digest(KIND, header, entries)
        with self.data.open("r+b") as file:
            file.seek(8 + self.room)
            while part := file.read(_CHUNK):
                digest.update(part)
            text = array_header(KIND, header, entries, digest.hexdigest())
            if len(text) > self.room:
                raise StorageError("the header exceeds its reserved space", "make it again", file=self.path)
            file.seek(0)
            file.write(struct.pack("<Q", self.room) + text.ljust(self.room))
            file.flush()
            os.fsync(file.fileno())

    def discard(self) -> None:
        """Remove unfinished files."""
        self.arrays = {}
        for file in [*self._files(), self.journal]:
            with suppress(OSError):
                file.unlink()


def check_same(path: Path, found: Header, wanted: Header) -> None:
    """Check that existing arrays were made with the same settings; the encoder's name does not matter.

    Raises:
        ConfigError: A setting differs; the message names it.
    """
    for key, value in wanted.items():
        if key != "name" and found.get(key) != value and not (key == "provenance" and _same_origin(found, wanted)):
            problem = f"{path} was made with {key} {shown(found.get(key), 40)}, not {shown(value, 40)}"
            raise ConfigError(problem, "choose another --out, or start over without --resume", "other-settings")


def _same_origin(found: Header, wanted: Header) -> bool:
    """Whether two headers have the same provenance, however it was packed."""
    one, other = (Provenance.from_packed(header.get("provenance", ""), "header") for header in (found, wanted))
    return one == other


def read_arrays(path: str | Path, check: Check = "hashes") -> tuple[Header, dict[str, np.ndarray]]:
    """Header and arrays, memory-mapped and read-only.

    Raises:
        CorruptFileError: A file is damaged.
        InputError: The file or folder holds something else.
        StorageError: It does not exist, or is unfinished.
    """
    path = Path(path)
    if path.is_dir():
        return _read_folder(path, check)
    if not path.exists():
        writing = path.with_name(f".{path.name}.{_JOURNAL}").exists()
        problem = "no such file or folder"
        raise StorageError(problem, _UNFINISHED if writing else "make it with isoglot encode", "not-found", file=path)
    note_read(path)
    with path.open("rb") as file:
        header, entries, begin = check_arrays(file, path, KIND, remedy=_REMEDY, numbers=check == "hashes")
    return header, {
        name: _mapped(path, ArrayShape(each["dtype"], tuple(each["shape"])), begin + each["data_offsets"][0], "r")
        for name, each in entries.items()
    }


def _read_folder(path: Path, check: Check) -> tuple[Header, dict[str, np.ndarray]]:
    if not (path / INDEX).exists():
        remedy = _UNFINISHED if (path / _JOURNAL).exists() else "make it with isoglot encode"
        raise StorageError(f"no {INDEX} in this folder", remedy, "not-found", file=path)
    form = {"arrays": {...: {"type": tuple(_TYPES), "shape": [int], "sha256": str}}}
    header = read_index_file(path / INDEX, form, version=FORMAT, what=KIND, remedy=_REMEDY)
    del header["kind"]
    arrays = {}
    for name, facts in header.pop("arrays").items():
        shape = ArrayShape(facts["type"], tuple(facts["shape"]))
        file = inside(path, f"{name}.npy")
        _check_size(file, len(_npy_header(shape)) + shape.bytes)
        if check == "hashes":
            check_file(file, sha256=facts["sha256"])
        arrays[name] = _mapped(file, shape, len(_npy_header(shape)), "r")
    return header, arrays


def _check_size(path: Path, size: int) -> None:
    found = path.stat().st_size if path.exists() else len(read_bytes(path))  # raises: the file is missing
    if found != size:
        remedy = "it was truncated or altered: make it again or download it again"
        raise CorruptFileError(f"the file has {found:,} bytes instead of {size:,}", remedy, "size", file=path)


def _entries(shapes: Mapping[str, ArrayShape]) -> dict[str, dict[str, Any]]:
    """Entries of a safetensors header."""
    starts = _starts(shapes)
    return {
        name: {
            "dtype": shape.kind,
            "shape": list(shape.sides),
            "data_offsets": [starts[name], starts[name] + shape.bytes],
        }
        for name, shape in shapes.items()
    }


def _starts(shapes: Mapping[str, ArrayShape]) -> dict[str, int]:
    starts, at = {}, 0
    for name, shape in shapes.items():
        starts[name] = at
        at += shape.bytes
    return starts


def _npy_header(shape: ArrayShape) -> bytes:
    import io

    buffer = io.BytesIO()
    facts = {"descr": _TYPES[shape.kind].str, "fortran_order": False, "shape": shape.sides}
    np.lib.format.write_array_header_1_0(buffer, facts)
    return buffer.getvalue()


def _mapped(path: Path, shape: ArrayShape, at: int, mode: str) -> np.ndarray:
    if not shape.bytes:
        return np.zeros(shape.sides, dtype=_TYPES[shape.kind])
    return np.memmap(path, dtype=_TYPES[shape.kind], mode=mode, offset=at, shape=shape.sides)  # type: ignore[call-overload,no-any-return]


def _allocate(path: Path, size: int) -> None:
    """Create a file with its disk space reserved: a full disk is then an error now and not a crash later."""
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
        else:  # pragma: no cover - macOS
            for start in range(0, size, 1 << 24):
                file.write(bytes(min(1 << 24, size - start)))

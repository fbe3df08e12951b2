"""Matrices of vectors in files of other tools, read and written in blocks: NumPy, safetensors, Parquet and FAISS.

The first bytes of a file decide what it is. All but Parquet are a header and then the rows as they are in memory; of
FAISS that is ``IndexFlatL2`` and ``IndexFlatIP`` (``faiss/impl/index_write.cpp``), for which FAISS is not needed.

Shape legend: ``N`` rows, ``D`` columns, ``B`` rows of a block, ``P`` rows that are asked for.
"""

from __future__ import annotations

import io
import json
import os
import struct
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch

from isoglot.core.errors import ConfigError, InputError, StorageError, check_name, nearest_name, shown
from isoglot.core.files import atomic_file, note_read, storage_error
from isoglot.core.optional import import_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Format = Literal["npy", "safetensors", "parquet", "faiss"]
BLOCK = 8192
"""Rows of a block: 12 MB at 384 columns."""

_SAFETENSORS = {"F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64}
_NUMPY = {torch.float16: "<f2", torch.float32: "<f4", torch.float64: "<f8"}
_FAISS = struct.Struct("<4siqqqBiQ")  # kind, D, N, two unused numbers, is trained, metric, N times D
_FAISS_METRICS = {b"IxFI": 0, b"IxF2": 1}  # inner product, squared distance


class Block(NamedTuple):
    """Consecutive rows of a file: their vectors and, for Parquet, the record batch with the other columns."""

    vectors_BD: torch.Tensor
    batch: Any = None


@dataclass(frozen=True, kw_only=True)
class MatrixFile:
    """What a file of vectors holds.

    Attributes:
        path: The file.
        format: Its format.
        rows: N.
        width: D.
        dtype: Type of the numbers.
        name: Name of the tensor or the column.
        begin: Position of the first row in the file.
        inner_product: For FAISS: whether it searches by inner product, not by distance.
        schema: For Parquet: the schema.
    """

    path: Path
    format: Format
    rows: int
    width: int
    dtype: torch.dtype = torch.float32
    name: str = "vectors"
    begin: int = 0
    inner_product: bool = True
    schema: Any = None

    @property
    def bytes(self) -> int:
        """Size of the vectors."""
        return self.rows * self.width * self.dtype.itemsize

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        """All rows in order.

        Raises:
            InputError: A row of a Parquet file is missing or has another width.
        """
        if self.format == "parquet":
            yield from self._parquet_blocks(size)
            return
        with self.path.open("rb") as file:
            file.seek(self.begin)
            for start in range(0, self.rows, size):
                count = min(size, self.rows - start) * self.width * self.dtype.itemsize
                numbers = torch.from_numpy(np.fromfile(file, np.uint8, count))
                yield Block(numbers.view(self.dtype).view(-1, self.width))

    def _parquet_blocks(self, size: int) -> Iterator[Block]:
        # Row groups may be larger than the memory, so nothing is read ahead.
        with import_part("pyarrow.parquet").ParquetFile(self.path, buffer_size=1 << 20, pre_buffer=False) as file:
            start = 0
            for batch in file.iter_batches(size):
                column = batch.column(self.name)
                lengths_B = column.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
                wrong = np.flatnonzero(lengths_B != self.width)
                numbers = column.flatten()
                if len(wrong) or numbers.null_count:
                    place = (
                        f"row {start + wrong[0]} does not have"
                        if len(wrong)
                        else f"a row from {start} on lacks some of"
                    )
                    remedy = "remove such rows (rows count from 0)"
                    raise InputError(f"{place} {self.width} numbers", remedy, "ragged", file=self.path)
                start += len(batch)
                yield Block(torch.tensor(numbers.to_numpy(zero_copy_only=False)).view(-1, self.width), batch)

    def take(self, rows_P: np.ndarray) -> torch.Tensor:
        """Some rows as float32, in the order asked for (P × D).

        Raises:
            InputError: There is no such row.
        """
        last = int(rows_P.max())
        if last >= self.rows:
            remedy = "name rows of this file; they count from 0"
            raise InputError(f"row {last} is asked for, of {self.rows:,}", remedy, "out-of-range", file=self.path)
        taken_PD = torch.empty(len(rows_P), self.width)
        order_P = np.argsort(rows_P, kind="stable")
        first = start = 0
        for block in self.blocks():
            stop = start + len(block.vectors_BD)
            end = first + int(np.searchsorted(rows_P[order_P[first:]], stop))
            chosen = order_P[first:end]
            taken_PD[chosen] = block.vectors_BD[rows_P[chosen] - start].float()
            first, start = end, stop
            if start > last:
                break
        return taken_PD

    def like(self, path: Path, width: int, format: Format | None = None) -> MatrixFile:  # noqa: A002 - as the field
        """Description of a file for as many rows of another width, in this format or another.

        The type stays the same where the format has it: FAISS has float32 only, NumPy and Parquet no bfloat16.
        """
        kind = format or self.format
        has_type = kind == "safetensors" or (kind != "faiss" and self.dtype in _NUMPY)
        dtype = self.dtype if has_type else torch.float32
        if kind == self.format:
            return replace(self, path=path, width=width, dtype=dtype)
        return MatrixFile(path=path, format=kind, rows=self.rows, width=width, dtype=dtype)


# --- reading ---


def open_matrix(path: str | Path, name: str | None = None) -> MatrixFile:
    """Find out what a file of vectors holds; rows are read later.

    Args:
        path: An ``.npy`` with one matrix, a safetensors or Parquet file, or a flat FAISS index.
        name: The tensor or the column, if there are several of vectors.

    Raises:
        ConfigError: There is no such tensor or column, or none is named and there are several.
        InputError: It has none of these formats, or no vectors.
        StorageError: It cannot be read, or was truncated.
    """
    path = Path(path).expanduser()
    note_read(path)
    try:
        with path.open("rb") as file:
            start = file.read(8)
            file.seek(0)
            if start.startswith(b"\x93NUMPY"):
                found = _open_npy(file, path)
            elif start.startswith(b"PAR1"):
                found = _open_parquet(path, name)
            elif start.startswith(b"I"):
                found = _open_faiss(file, path)
            else:
                found = _open_safetensors(file, path, name)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise storage_error(error, path, doing="read") from error
    if not found.rows or not found.width:
        raise InputError("no vectors", "give a row for each document", "empty", file=path)
    if found.format != "parquet" and size < found.begin + found.bytes:
        raise _damaged(path, "the file ends before its last row")
    return found


def _damaged(path: Path, problem: str) -> StorageError:
    return StorageError(problem, "it was truncated or altered: write it again or copy it again", file=path)


def _open_npy(file: IO[bytes], path: Path) -> MatrixFile:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of Python 2
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, is_fortran, dtype = read(file)
    except (ValueError, SyntaxError, TokenError, TypeError, MemoryError, RecursionError) as error:
        # NumPy parses the header as a Python literal, so a damaged one can raise any of these.
        raise _damaged(path, "not a complete NumPy array") from error
    known = {np.dtype(code): kind for kind, code in _NUMPY.items()}
    if dtype not in known or len(shape) != 2 or is_fortran:
        order = " in Fortran order" if is_fortran else ""
        raise _no_vectors(path, f"an array of {shown(str(dtype))} with shape {shown(shape)}{order}")
    rows, width = shape
    return MatrixFile(path=path, format="npy", rows=rows, width=width, dtype=known[dtype], begin=file.tell())


def _no_vectors(path: Path, problem: str) -> InputError:
    return InputError(problem, "give float32 or float16, a row for each document, in C order", "type", file=path)


def _open_safetensors(file: IO[bytes], path: Path, name: str | None) -> MatrixFile:
    problem = "neither NumPy, safetensors, Parquet nor a flat FAISS index"
    unknown = InputError(problem, "save the vectors with numpy.save", "unknown-format", file=path)
    length = int.from_bytes(file.read(8), "little")
    if length > os.fstat(file.fileno()).st_size:
        raise unknown
    try:
        entries = json.loads(file.read(length))
        entries.pop("__metadata__", None)
        known: dict[str, tuple[Any, ...]] = {
            key: (_SAFETENSORS[each["dtype"]], *map(int, each["shape"]), *map(int, each["data_offsets"]))
            for key, each in entries.items()
            if each["dtype"] in _SAFETENSORS and len(each["shape"]) == 2
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise unknown from error
    chosen = _chosen(path, "tensor", name, list(known))
    dtype, rows, width, begin, end = known[chosen]
    if min(rows, width, begin) < 0 or rows * width * dtype.itemsize != end - begin:
        raise _damaged(path, f"tensor {shown(chosen)} does not fit into its place")
    return MatrixFile(
        path=path, format="safetensors", rows=rows, width=width, dtype=dtype, name=chosen, begin=8 + length + begin
    )


def _chosen(path: Path, what: str, name: str | None, known: list[str]) -> str:
    """The tensor or column that is named, or the only one."""
    if not known:
        raise _no_vectors(path, f"no {what} has vectors")
    if name is not None:
        check_name(f"{what} of {path}", name, known)
    elif len(known) > 1:
        remedy = nearest_name("", known)
        raise ConfigError(f"{path} has {len(known)} {what}s with vectors and none is named", remedy, "missing-option")
    return name or known[0]


def _open_faiss(file: IO[bytes], path: Path) -> MatrixFile:
    head = file.read(_FAISS.size)
    if head[:4] not in _FAISS_METRICS:
        problem = f"a FAISS index of kind {shown(head[:4].decode('latin-1'))}, not IndexFlatL2 or IndexFlatIP"
        remedy = "with faiss: numpy.save('old.npy', index.reconstruct_n(0, index.ntotal))"
        raise InputError(problem, remedy, "unknown-format", file=path)
    if len(head) < _FAISS.size:
        raise _damaged(path, "the file ends before its last row")
    kind, width, rows, *_, numbers = _FAISS.unpack(head)
    if width < 0 or rows < 0 or numbers != rows * width:
        raise _damaged(path, f"a FAISS index of {rows} x {width} with {numbers} numbers")
    return MatrixFile(
        path=path, format="faiss", rows=rows, width=width, begin=_FAISS.size, inner_product=kind == b"IxFI"
    )


def _open_parquet(path: Path, name: str | None) -> MatrixFile:
    arrow, parquet = import_part("pyarrow"), import_part("pyarrow.parquet")
    kinds = {arrow.float16(): torch.float16, arrow.float32(): torch.float32, arrow.float64(): torch.float64}
    try:
        with parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            dtypes = {field.name: kinds.get(getattr(field.type, "value_type", None)) for field in schema}
            chosen = _chosen(path, "column", name, [each for each, dtype in dtypes.items() if dtype is not None])
            first = next((batch.column(0)[0].as_py() for batch in file.iter_batches(1, columns=[chosen])), None)
    except arrow.ArrowException as error:
        raise _damaged(path, "not a complete Parquet file") from error
    return MatrixFile(
        path=path,
        format="parquet",
        rows=rows,
        width=len(first or ()),
        dtype=dtypes[chosen] or torch.float32,
        name=chosen,
        schema=schema,
    )


# --- writing ---


def write_matrix(target: MatrixFile, blocks: Iterable[Block]) -> None:
    """Write blocks of rows to a file, which appears when it is complete; a block is written while the next is computed.

    Args:
        target: The file, as :meth:`MatrixFile.like` describes it.
        blocks: Rows in order, of the type and width of the target; with record batches if it has a schema.

    Raises:
        StorageError: It cannot be written.
    """
    with atomic_file(target.path) as file, ThreadPoolExecutor(1) as thread:
        write, finish = _parquet_writer(target, file) if target.format == "parquet" else _raw_writer(target, file)
        before: Future[None] = thread.submit(lambda: None)
        for block in blocks:
            before.result()
            before = thread.submit(write, block)
        before.result()
        finish()


Writer = tuple["Callable[[Block], None]", "Callable[[], None]"]


def _raw_writer(target: MatrixFile, file: IO[bytes]) -> Writer:
    file.write(_header(target))

    def write(block: Block) -> None:
        file.write(block.vectors_BD.contiguous().view(torch.uint8).numpy().data)

    return write, lambda: None


def _header(target: MatrixFile) -> bytes:
    shape = (target.rows, target.width)
    if target.format == "npy":
        buffer = io.BytesIO()
        facts = {"descr": _NUMPY[target.dtype], "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(buffer, facts)
        return buffer.getvalue()
    if target.format == "faiss":
        kind = b"IxFI" if target.inner_product else b"IxF2"
        unused = 1 << 20  # what faiss writes there
        return _FAISS.pack(
            kind, target.width, target.rows, unused, unused, 1, _FAISS_METRICS[kind], target.rows * target.width
        )
    code = next(code for code, dtype in _SAFETENSORS.items() if dtype == target.dtype)
    text = json.dumps({target.name: {"dtype": code, "shape": shape, "data_offsets": [0, target.bytes]}}).encode()
    text = text.ljust(-(-len(text) // 8) * 8)  # tensors begin at a multiple of 8
    return struct.pack("<Q", len(text)) + text


def _parquet_writer(target: MatrixFile, file: IO[bytes]) -> Writer:
    arrow, parquet = import_part("pyarrow"), import_part("pyarrow.parquet")
    field = arrow.field(target.name, arrow.list_(arrow.from_numpy_dtype(_NUMPY[target.dtype]), target.width))
    schema = target.schema or arrow.schema([field])
    place = schema.get_field_index(target.name)
    if not arrow.types.is_fixed_size_list(schema.field(place).type):  # a list of any length stays one
        field = arrow.field(target.name, schema.field(place).type)
    schema = schema.set(place, field)
    others = [name for name in schema.names if name != target.name]
    writer = parquet.ParquetWriter(file, schema, use_dictionary=others, write_statistics=others)

    def write(block: Block) -> None:
        numbers = arrow.array(block.vectors_BD.reshape(-1).numpy())
        vectors = arrow.FixedSizeListArray.from_arrays(numbers, target.width).cast(field.type)
        columns = [vectors if name == target.name else block.batch.column(name) for name in schema.names]
        writer.write_batch(arrow.record_batch(columns, schema=schema))

    return write, writer.close

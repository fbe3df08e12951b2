"""Vectors from files: what ``isoglot encode`` made, a NumPy matrix, or words as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoglot.core.errors import InputError, StorageError
from isoglot.core.files import note_read, storage_error
from isoglot.represent.representations import Representations
from isoglot.retrieve.layers import Side
from isoglot.text.provenance import provenance_of
from isoglot.text.vectors import read_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.text.provenance import Provenance


def read_side(path: str | Path, *, layers: Literal["all"] | Sequence[int] = "all", limit: int | None = None) -> Side:
    """The vectors of a file, by layer where it has layers.

    Args:
        path: A ``.safetensors`` or a folder from ``isoglot encode``, an ``.npy`` with a matrix (N × D) or one for each
            layer (L × N × D), or a ``.vec``.
        layers: Which layers, where there are several; -1 is the last.
        limit: Only the first so many rows.

    Raises:
        ConfigError: There is no such layer.
        InputError: The file holds something else, or nothing.
        StorageError: It cannot be read.
    """
    path = Path(path)
    rows = slice(limit)
    if path.suffix == ".npy":
        matrices = _read_npy(path)
        depth = len(matrices) - 1
        wanted = range(len(matrices)) if layers == "all" or len(matrices) == 1 else layers
        found = Representations(dict(enumerate(matrices)), {"depth": depth})
        kept: dict[int | None, np.ndarray] = {layer % (depth + 1): found[layer][rows] for layer in wanted}
        return Side(name=path.name, layers=kept if depth else {None: matrices[0][rows]})
    if not path.is_dir() and path.suffix != ".safetensors":
        table = read_vectors(path, limit=limit)
        if not table.words:
            raise InputError("there are no vectors", remedy="write a word and its numbers a line", file=path)
        return Side(name=path.name, layers={None: table.matrix_ND}, items=table.words)
    found = Representations.open(path)
    depth = int(found.header.get("depth", max(found.layers)))
    wanted = found.layers if layers == "all" else [layer % (depth + 1) if layer < 0 else layer for layer in layers]
    words = found.words
    return Side(
        name=path.name,
        layers={layer: found[layer][rows] for layer in wanted},
        items=None if words is None else words[rows],
        header=found.header,
    )


def vectors_provenance(path: str | Path) -> Provenance:
    """What the vectors of a file were learned from: what ``isoglot encode`` wrote says so, others by a record.

    Raises:
        CorruptFileError: The record is damaged, or the file has changed since it was written.
        StorageError: It cannot be read.
    """
    path = Path(path)
    if path.is_dir() or path.suffix == ".safetensors":
        return Representations.open(path).provenance
    return provenance_of(path)


def _read_npy(path: Path) -> list[np.ndarray]:
    """The matrices in a file, one or one for each layer."""
    try:
        note_read(path)
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise storage_error(error, path, doing="read") from error
    except (ValueError, EOFError) as error:
        raise StorageError("no whole NumPy array of numbers", remedy="write it with numpy.save", file=path) from error
    if array.dtype.kind != "f" or array.dtype.itemsize > 8 or array.ndim not in (2, 3) or 0 in array.shape:
        raise InputError(
            f"an array of {array.dtype} with the shape {array.shape}",
            remedy="give float32, a row for each item: N x D, or layers x N x D",
            file=path,
        )
    return [array] if array.ndim == 2 else list(array)

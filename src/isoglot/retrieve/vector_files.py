"""Vectors from files: output of ``isoglot encode``, a NumPy matrix, or word vectors as text."""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from isoglot.core.errors import InputError, StorageError, cut, shown
from isoglot.core.files import note_read, storage_error
from isoglot.represent import embedding_rows
from isoglot.represent.representations import Representations
from isoglot.retrieve.layer_scores import VectorSet
from isoglot.retrieve.leaks import training_provenance
from isoglot.static.vectors_of_words import check_vec
from isoglot.text.formats.word_vectors import read_vectors, write_vectors
from isoglot.text.provenance import Provenance, provenance_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.model import EncoderLike


def read_side(
    path: str | Path, *, layers: Literal["all"] | Sequence[int] = "all", limit: int | None = None
) -> VectorSet:
    """Read the vectors of a file, by layer if it has layers.

    Args:
        path: A ``.safetensors`` file or folder of ``isoglot encode``, an ``.npy`` with one matrix (N × D) or one per
            layer (L × N × D), or a ``.vec``.
        layers: Layer numbers, if there are several; -1 is the last.
        limit: Maximum number of rows.

    Returns:
        The vectors of every layer, with the name of the file.

    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/layers.npy", np.ones((3, 5, 4)))
    ...     read_side(f"{folder}/layers.npy", layers=[0, -1], limit=4)
    VectorSet('layers.npy', 4 rows, layers 0, 2)

    Raises:
        ConfigError: The layer does not exist.
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
        return VectorSet(name=path.name, layers=kept if depth else {None: matrices[0][rows]})
    if not path.is_dir() and path.suffix != ".safetensors":
        table = read_vectors(path, limit=limit)
        if not table.words:
            raise InputError("no vectors", "write one word and its numbers per line", "empty", file=path)
        return VectorSet(name=path.name, layers={None: table.matrix_ND}, items=table.words)
    found = Representations.open(path)
    depth = int(found.header.get("depth", max(found.layers)))
    wanted = found.layers if layers == "all" else [layer % (depth + 1) if layer < 0 else layer for layer in layers]
    words = found.words
    return VectorSet(
        name=path.name,
        layers={layer: found[layer][rows] for layer in wanted},
        items=None if words is None else words[rows],
        header=found.header,
    )


def vectors_provenance(path: str | Path) -> Provenance:
    """Provenance of the vectors in a file: recorded in files of ``isoglot encode``, in a file beside others.

    Raises:
        CorruptFileError: The record is damaged, or the file has changed since it was written.
        StorageError: It cannot be read.
    """
    path = Path(path)
    if path.is_dir() or path.suffix == ".safetensors":
        return Representations.open(path).provenance
    return provenance_of(path)


def write_embeddings(
    encoder: EncoderLike,
    out: Path,
    words: Sequence[str] | None = None,
    language: str | None = None,
    *,
    name: str = "",
) -> dict[str, Any]:
    """Write the rows of an embedding matrix that are whole words as a ``.vec`` file, and return facts about it.

    Args:
        encoder: Any encoder.
        out: The file.
        words: Only these words. Default: all of the language.
        language: Their language.
        name: Name of the encoder.

    Raises:
        ConfigError: The file does not end in ``.vec``.
        InputError: No word is one subword.
        StorageError: The file cannot be written.
    """
    check_vec(out)
    found = embedding_rows(encoder, words, language)
    write_vectors(out, found.words, found.vectors_ND, provenance=training_provenance([encoder]))
    return {
        "out": str(out),
        "model": name,
        "pool": "embeddings",
        "language": language,
        "words": len(found.words),
        "hidden_size": int(found.vectors_ND.shape[1]),
        "asked": None if words is None else len(words),
    }


def _read_npy(path: Path) -> list[np.ndarray]:
    """Matrices of a file, one or one per layer, memory-mapped."""
    note_read(path)
    try:
        with path.open("rb") as file:
            shape, is_fortran, dtype = _npy_header(file)
            begin, size = file.tell(), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise storage_error(error, path, doing="read") from error
    except (ValueError, SyntaxError, TokenError, TypeError, MemoryError, RecursionError) as error:
        # NumPy parses the header as a Python literal, so damage can raise anything.
        raise _not_whole(path) from error
    if dtype.kind != "f" or dtype.itemsize > 8 or len(shape) not in (2, 3) or min(shape) < 1:
        raise InputError(
            f"an array of {cut(str(dtype), 80)} with shape {shown(shape)}",
            "give float32, a row for each item: N x D, or layers x N x D",
            "type",
            file=path,
        )
    if math.prod(shape) * dtype.itemsize > size - begin:
        raise _not_whole(path)
    array = np.memmap(path, dtype, mode="r", offset=begin, shape=shape, order="F" if is_fortran else "C")
    return [array] if array.ndim == 2 else list(array)


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, Fortran order and type, in the two formats that numpy.save writes."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(version)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about headers written by Python 2, or damaged ones that look so
        return read(file)


def _not_whole(path: Path) -> StorageError:
    return StorageError("not a complete NumPy array of numbers", "write it with numpy.save", file=path)

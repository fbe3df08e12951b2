"""Token stream: the frequent subwords of all shards, numbered by frequency.

Shape legend: ``N`` subwords of the stream, ``S`` segments (documents or sentences), ``V`` subwords that have vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.errors import InputError
from isoglot.core.files import storage_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from isoglot.static.config import Boundary
    from isoglot.vocab import Shards, Vocabulary

_CHUNK = 2**22  # ids that are looked up together


@dataclass(frozen=True)
class Stream:
    """Text to train static vectors on.

    Attributes:
        tokens_N: Numbers of the subwords; rare subwords are removed without a gap, as in word2vec and GloVe.
        starts_S: Offsets of segments, and the end (S + 1).
        ids_V: The id of each number in the vocabulary.
        counts_V: The count of each number.
    """

    tokens_N: np.ndarray
    starts_S: np.ndarray
    ids_V: np.ndarray
    counts_V: np.ndarray

    def __len__(self) -> int:
        return len(self.tokens_N)

    def segments(self, longest: int) -> Iterator[np.ndarray]:
        """Yield the segments that are not empty, cut into parts of at most ``longest`` tokens."""
        for start, stop in zip(self.starts_S[:-1].tolist(), self.starts_S[1:].tolist(), strict=True):
            for first in range(start, stop, longest):
                yield self.tokens_N[first : min(first + longest, stop)]

    def parts(self, longest: int) -> int:
        """Number of parts that :meth:`segments` yields."""
        return int((-(-np.diff(self.starts_S) // longest)).sum())


def frequent(shards: Mapping[str, Shards], vocabulary: Vocabulary, min_count: int = 1) -> np.ndarray:
    """Counts of the subwords of a vocabulary; 0 for rare subwords and special tokens.

    Args:
        shards: The shards of each language.
        vocabulary: The vocabulary they were built with.
        min_count: Minimum count of a subword over all languages.

    Raises:
        InputError: No subword is frequent enough.
    """
    streams = [one.ids() for one in shards.values()]
    counts = np.zeros(len(vocabulary), dtype=np.int64)
    for ids in streams:
        for start in range(0, len(ids), _CHUNK):
            counts += np.bincount(ids[start : start + _CHUNK], minlength=len(counts))
    counts[list(vocabulary.special.values())] = 0
    counts[counts < min_count] = 0
    if not counts.any():
        text = f"no subword occurs {min_count} times in the {sum(map(len, streams)):,} of the shards"
        raise InputError(text, "give more text, or --set min_count=1", "too-few")
    return counts


def read_stream(
    shards: Mapping[str, Shards], counts: np.ndarray, *, boundary: Boundary = "document", file: Path | None = None
) -> Stream:
    """Concatenate the training text of all languages.

    Args:
        shards: The shards of each language.
        counts: Counts of the subwords (:func:`frequent`).
        boundary: Whether a segment is a document or a sentence.
        file: File for the stream, four bytes a subword; None: in memory.

    Raises:
        StorageError: The file cannot be written, or the disk is full.
    """
    kept = np.flatnonzero(counts)
    ids_V = kept[np.argsort(-counts[kept], kind="stable")]
    number = np.full(len(counts), -1, dtype=np.int32)
    number[ids_V] = np.arange(len(ids_V), dtype=np.int32)
    starts = [np.zeros(1, dtype=np.int64)]
    parts = _numbered(shards, number, boundary, starts)
    tokens_N = np.concatenate(list(parts)) if file is None else _on_disk(parts, file)
    return Stream(tokens_N, np.concatenate(starts), ids_V, counts[ids_V])


def _numbered(
    shards: Mapping[str, Shards], number: np.ndarray, boundary: Boundary, starts: list[np.ndarray]
) -> Iterator[np.ndarray]:
    """Yield the numbers of the stream in chunks, and append the ends of segments to ``starts``."""
    filled = 0
    for one in shards.values():
        ids = one.ids()
        ends = np.cumsum(one.sentence_lengths(), dtype=np.int64)
        if boundary == "document":
            ends = np.concatenate([[0], ends])[np.cumsum(one.document_lengths(), dtype=np.int64)]
        for start in range(0, len(ids), _CHUNK):
            numbers = number[ids[start : start + _CHUNK]]
            there = numbers >= 0
            before = np.concatenate([[0], np.cumsum(there)])
            inside = ends[np.searchsorted(ends, start, "right") : np.searchsorted(ends, start + len(numbers), "right")]
            starts.append(filled + before[inside - start])
            filled += int(before[-1])
            yield numbers[there]


def _on_disk(parts: Iterable[np.ndarray], path: Path) -> np.ndarray:
    """Write all chunks to a file and memory-map it; writing to a map would crash on a full disk."""
    try:
        with path.open("wb") as file:
            for part in parts:
                file.write(part.data)
    except OSError as error:
        path.unlink(missing_ok=True)  # incomplete, and the run record needs the space
        raise storage_error(error, path, doing="write") from error
    return np.memmap(path, np.int32, "r")

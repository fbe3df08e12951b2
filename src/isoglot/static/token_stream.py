"""The subwords of all shards as one stream, those without a vector left out, numbered from the most frequent on.

Shape legend: ``N`` subwords of the stream, ``S`` segments (documents or sentences), ``V`` subwords that have vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.files import storage_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from isoglot.static.config import Boundary
    from isoglot.vocab import Shards, Vocabulary

_PIECE = 2**22  # ids that are looked up together


@dataclass(frozen=True)
class Stream:
    """What vectors are learned from.

    Attributes:
        tokens_N: The numbers of the subwords; what was left out leaves no gap, as in word2vec and GloVe.
        starts_S: Where segments begin, and the end (S + 1).
        ids_V: The id of each number in the vocabulary.
        counts_V: How often each occurs.
    """

    tokens_N: np.ndarray
    starts_S: np.ndarray
    ids_V: np.ndarray
    counts_V: np.ndarray

    def __len__(self) -> int:
        return len(self.tokens_N)

    def segments(self, longest: int) -> Iterator[np.ndarray]:
        """The segments that have a token, cut into parts of so many at most."""
        for start, stop in zip(self.starts_S[:-1].tolist(), self.starts_S[1:].tolist(), strict=True):
            for first in range(start, stop, longest):
                yield self.tokens_N[first : min(first + longest, stop)]

    def parts(self, longest: int) -> int:
        """How many parts :meth:`segments` gives."""
        return int((-(-np.diff(self.starts_S) // longest)).sum())


def check_shards(shards: Mapping[str, Shards], vocabulary: Vocabulary) -> None:
    """Refuse shards of another language or vocabulary.

    Raises:
        ConfigError: There are none, or some are not what they are said to be.
    """
    if not shards:
        raise ConfigError("there are no shards", remedy="name some: --shards en=DIR", code="config.missing-data")
    for code, one in shards.items():
        if one.language != code:
            raise ConfigError(
                f"{one.folder}: shards of {one.language}, named {code}",
                remedy=f"write --shards {one.language}=…",
                code="config.other-language",
            )
        one.check_vocabulary(vocabulary)


def frequent(shards: Mapping[str, Shards], vocabulary: Vocabulary, min_count: int = 1) -> np.ndarray:
    """How often each piece of the vocabulary occurs; 0 for those that get no vector.

    Args:
        shards: The shards of each language.
        vocabulary: What they were made with.
        min_count: How often a subword must occur in all languages together; special tokens are left out.

    Raises:
        InputError: Nothing is left.
    """
    streams = [one.ids() for one in shards.values()]
    counts = np.zeros(len(vocabulary), dtype=np.int64)
    for ids in streams:
        for start in range(0, len(ids), _PIECE):
            counts += np.bincount(ids[start : start + _PIECE], minlength=len(counts))
    counts[list(vocabulary.special.values())] = 0
    counts[counts < min_count] = 0
    if not counts.any():
        text = f"no subword occurs {min_count} times in the {sum(map(len, streams)):,} of the shards"
        raise InputError(text, remedy="give more text, or --set min_count=1", code="input.too-few")
    return counts


def read_stream(
    shards: Mapping[str, Shards], counts: np.ndarray, *, boundary: Boundary = "document", file: Path | None = None
) -> Stream:
    """The training text of all languages, one after the other.

    Args:
        shards: The shards of each language.
        counts: How often each piece occurs, as :func:`frequent` has it.
        boundary: What a segment is.
        file: Where the stream is kept, four bytes a subword; None: in memory.

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
    """The numbers of the stream, some at a time; where segments end is put into ``starts``."""
    filled = 0
    for one in shards.values():
        ids = one.ids()
        ends = np.cumsum(one.sentence_lengths(), dtype=np.int64)
        if boundary == "document":
            ends = np.concatenate([[0], ends])[np.cumsum(one.document_lengths(), dtype=np.int64)]
        for start in range(0, len(ids), _PIECE):
            numbers = number[ids[start : start + _PIECE]]
            there = numbers >= 0
            before = np.concatenate([[0], np.cumsum(there)])
            inside = ends[np.searchsorted(ends, start, "right") : np.searchsorted(ends, start + len(numbers), "right")]
            starts.append(filled + before[inside - start])
            filled += int(before[-1])
            yield numbers[there]


def _on_disk(parts: Iterable[np.ndarray], path: Path) -> np.ndarray:
    """All of them in a file, mapped into memory: written first, for a full disk under a map ends the process."""
    try:
        with path.open("wb") as file:
            for part in parts:
                file.write(part.data)
    except OSError as error:
        path.unlink(missing_ok=True)  # it is worth nothing, and the record needs room
        raise storage_error(error, path, doing="write") from error
    return np.memmap(path, np.int32, "r")

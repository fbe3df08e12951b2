"""Bitext as integers: concatenated word ids, and the pairs of word types that co-occur.

Memory: 4 bytes per word of either side, 4 bytes per cell (a word paired with a word of the other side), of which a word
has at most ``longest``, and 4 bytes per pair of types that co-occur; during training, 32 more. It grows linearly with
the number of sentence pairs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from isoglot.align.words.em_loops import index_cells
from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Pair = tuple[Sequence[str], Sequence[str]]


@dataclass(kw_only=True)
class PairCounts:
    """Numbers of usable and unusable sentence pairs."""

    pairs: int = 0
    """Total."""
    blank: int = 0
    """Pairs without words on either side."""
    one_sided: int = 0
    """Pairs with words on one side only."""
    overlong: int = 0
    """Pairs with more words on a side than allowed."""

    @property
    def used(self) -> int:
        """Pairs that can be aligned."""
        return self.pairs - self.blank - self.one_sided - self.overlong

    def usable(self, source: Sequence[str], target: Sequence[str], longest: int) -> bool:
        """Count a pair and return whether it can be aligned."""
        self.pairs += 1
        if not source or not target:
            self.blank += not source and not target
            self.one_sided += bool(source) != bool(target)
            return False
        long = max(len(source), len(target)) > longest
        self.overlong += long
        return not long

    def check_any(self, longest: int) -> None:
        """Check that any pair can be aligned.

        Raises:
            InputError: None can; the message has the counts.
        """
        remedy = "give sentences with their translations"
        if not self.pairs:
            raise InputError("no sentence pairs", remedy, "empty")
        if not self.used:
            raise InputError(
                f"none of {self.pairs} sentence pairs can be aligned: {self.blank} blank, {self.one_sided} one-sided, "
                f"{self.overlong} over {longest} words",
                remedy,
                "no-match",
            )

    def facts(self) -> dict[str, int]:
        """The counts as JSON."""
        return {**asdict(self), "used": self.used}


class WordIndex:
    """Word types by number, in order of occurrence.

    Args:
        known: Word types that already have a number.
        case: Whether case counts.
    """

    def __init__(self, known: Iterable[str] = (), *, case: str = "lower") -> None:
        self.numbers = {word: number for number, word in enumerate(known)}
        self.lower = case == "lower"

    def __len__(self) -> int:
        return len(self.numbers)

    def flat(self, sentences: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of all words, concatenated, and sentence offsets."""
        starts = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum([len(words) for words in sentences], out=starts[1:])
        every: Iterable[str] = chain.from_iterable(sentences)
        numbers = self.numbers
        if self.lower:
            every = (word.lower() for word in every)
        ids = np.fromiter((numbers.setdefault(word, len(numbers)) for word in every), np.int32, count=int(starts[-1]))
        return ids, starts


@dataclass(frozen=True, eq=False, kw_only=True)
class IndexedBitext:
    """Sentence pairs as integers; see :func:`isoglot.align.words.em_loops.index_cells`."""

    source: np.ndarray
    source_starts: np.ndarray
    target: np.ndarray
    target_starts: np.ndarray
    cells: np.ndarray
    cell_starts: np.ndarray
    rows: np.ndarray
    """Offsets of the slots of each source type."""
    columns: np.ndarray
    """Target type of each slot."""

    @classmethod
    def of(cls, pairs: Sequence[Pair], source_words: WordIndex, target_words: WordIndex) -> IndexedBitext:
        """Index pairs with words on both sides; new words get numbers."""
        source, source_starts = source_words.flat([pair[0] for pair in pairs])
        target, target_starts = target_words.flat([pair[1] for pair in pairs])
        cells, cell_starts, rows, columns = index_cells(
            source, source_starts, target, target_starts, len(source_words), len(target_words)
        )
        return cls(
            source=source,
            source_starts=source_starts,
            target=target,
            target_starts=target_starts,
            cells=cells,
            cell_starts=cell_starts,
            rows=rows,
            columns=columns,
        )

    @property
    def row_of(self) -> np.ndarray:
        """Source type of each slot."""
        return np.repeat(np.arange(len(self.rows) - 1, dtype=np.int32), np.diff(self.rows))

    @property
    def longest(self) -> int:
        """Number of words of the longest sentence of either side, at least 1."""
        return int(max(np.diff(self.source_starts).max(initial=1), np.diff(self.target_starts).max(initial=1)))

    @property
    def bytes(self) -> int:
        """Memory use."""
        arrays = (self.source, self.target, self.cells, self.cell_starts, self.rows, self.columns)
        return sum(array.nbytes for array in arrays)

"""Bitext as numbers: word ids end to end, and which pairs of words meet in some sentence pair.

Memory: 4 bytes a word of either side, 4 bytes a cell (a word beside a word of the other side), of which a word has at
most ``longest``, and 4 bytes a pair of types that meet; while it is learned from, 32 more. All of it grows with the
number of sentence pairs and no faster.
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
    """What the sentence pairs of a bitext were."""

    pairs: int = 0
    """All of them."""
    blank: int = 0
    """Pairs without a word on either side."""
    one_sided: int = 0
    """Pairs with words on one side only."""
    overlong: int = 0
    """Pairs with more words on a side than are allowed."""

    @property
    def used(self) -> int:
        """Those that can be aligned."""
        return self.pairs - self.blank - self.one_sided - self.overlong

    def usable(self, source: Sequence[str], target: Sequence[str], longest: int) -> bool:
        """Count a pair; whether it can be aligned."""
        self.pairs += 1
        if not source or not target:
            self.blank += not source and not target
            self.one_sided += bool(source) != bool(target)
            return False
        long = max(len(source), len(target)) > longest
        self.overlong += long
        return not long

    def check_any(self, longest: int) -> None:
        """Refuse a bitext of which nothing can be aligned.

        Raises:
            InputError: With what its pairs are.
        """
        remedy = "give sentences with their translations"
        if not self.pairs:
            raise InputError("there are no sentence pairs", remedy=remedy, code="input.empty")
        if not self.used:
            raise InputError(
                f"none of {self.pairs} sentence pairs can be aligned: {self.blank} blank, {self.one_sided} one-sided, "
                f"{self.overlong} over {longest} words",
                remedy=remedy,
                code="input.no-match",
            )

    def facts(self) -> dict[str, int]:
        """The counts as JSON holds them."""
        return {**asdict(self), "used": self.used}


class WordIndex:
    """Word types by number, in the order they come.

    Args:
        known: Those that have a number already.
        case: Whether case counts.
    """

    def __init__(self, known: Iterable[str] = (), *, case: str = "lower") -> None:
        self.numbers = {word: number for number, word in enumerate(known)}
        self.lower = case == "lower"

    def __len__(self) -> int:
        return len(self.numbers)

    def flat(self, sentences: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of all words end to end, and where each sentence begins (and the last ends)."""
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
    """Sentence pairs as numbers; see :func:`isoglot.align.words.em_loops.index_cells`."""

    source: np.ndarray
    source_starts: np.ndarray
    target: np.ndarray
    target_starts: np.ndarray
    cells: np.ndarray
    cell_starts: np.ndarray
    rows: np.ndarray
    """Where the slots of each source type begin."""
    columns: np.ndarray
    """The target type of each slot."""

    @classmethod
    def of(cls, pairs: Sequence[Pair], source_words: WordIndex, target_words: WordIndex) -> IndexedBitext:
        """The pairs, each with words on both sides; new words get numbers."""
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
        """The source type of each slot."""
        return np.repeat(np.arange(len(self.rows) - 1, dtype=np.int32), np.diff(self.rows))

    @property
    def longest(self) -> int:
        """The words of the longest sentence of either side, at least 1."""
        return int(max(np.diff(self.source_starts).max(initial=1), np.diff(self.target_starts).max(initial=1)))

    @property
    def bytes(self) -> int:
        """What it takes up."""
        arrays = (self.source, self.target, self.cells, self.cell_starts, self.rows, self.columns)
        return sum(array.nbytes for array in arrays)

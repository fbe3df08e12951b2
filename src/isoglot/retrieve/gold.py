"""Gold pairs of rows: one to one, or many to many as in a dictionary.

Shape legend: ``P`` pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Gold:
    """Correct pairs (row of X, row of Y), unique and sorted.

    >>> gold = Gold.from_pairs([(0, 0), (0, 1), (2, 1)])
    >>> gold.sources.tolist(), gold.targets.tolist(), len(gold)
    ([0, 2], [0, 1], 3)
    >>> gold.turned().pairs_P2.tolist()
    [[0, 0], [1, 0], [1, 2]]
    """

    pairs_P2: np.ndarray

    @classmethod
    def one_to_one(cls, rows: int) -> Gold:
        """Row i of X belongs to row i of Y, as in parallel text."""
        return cls(np.repeat(np.arange(rows, dtype=np.int64)[:, None], 2, axis=1))

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[int, int]] | np.ndarray) -> Gold:
        """Gold from pairs in any order; duplicates count once.

        Raises:
            InputError: There are no pairs, or a row number is negative.
        """
        pairs_P2 = np.asarray(pairs if isinstance(pairs, np.ndarray) else list(pairs), dtype=np.int64)
        if pairs_P2.ndim != 2 or pairs_P2.shape[1] != 2 or len(pairs_P2) == 0:
            raise InputError(f"the gold has shape {pairs_P2.shape}", "give at least one pair of rows", "shape")
        if pairs_P2.min() < 0:
            raise InputError(f"the gold has row {pairs_P2.min()}", "rows count from 0", "out-of-range")
        return cls(np.unique(pairs_P2, axis=0))

    def __len__(self) -> int:
        return len(self.pairs_P2)

    def __repr__(self) -> str:
        return f"Gold({len(self):,} pairs)"

    @property
    def sources(self) -> np.ndarray:
        """Rows of X that have a correct answer."""
        return np.unique(self.pairs_P2[:, 0])

    @property
    def targets(self) -> np.ndarray:
        """Rows of Y that are a correct answer."""
        return np.unique(self.pairs_P2[:, 1])

    def turned(self) -> Gold:
        """Gold of the reverse direction."""
        return Gold.from_pairs(self.pairs_P2[:, ::-1])

    def check(self, rows_X: int, rows_Y: int) -> None:
        """Check that the pairs fit the matrices and are as :meth:`from_pairs` returns them.

        Raises:
            InputError: A pair is out of range (the message names it), or the pairs are not unique and sorted.
        """
        pairs_P2 = self.pairs_P2
        if pairs_P2.ndim != 2 or pairs_P2.shape[1] != 2 or not len(pairs_P2) or pairs_P2.dtype.kind not in "iu":
            raise InputError(
                f"the gold is {pairs_P2.shape} of {pairs_P2.dtype}", "make it with Gold.from_pairs", "type"
            )
        beyond = ((pairs_P2 < 0) | (pairs_P2 >= (rows_X, rows_Y))).any(axis=1)
        if beyond.any():
            pair = tuple(pairs_P2[beyond.argmax()].tolist())
            raise InputError(
                f"the gold pair {shown(pair)} is out of range for {rows_X} and {rows_Y} rows",
                "rows count from 0",
                "out-of-range",
            )
        more_X, more_Y = np.diff(pairs_P2.astype(np.int64), axis=0).T
        if not ((more_X > 0) | ((more_X == 0) & (more_Y > 0))).all():
            raise InputError("the gold is not sorted and unique", "make it with Gold.from_pairs", "duplicate")

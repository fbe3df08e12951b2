"""A few shapes that hold all batches, so that few have to be recorded, with as little padding as so few allow.

>>> widths([10, 10, 11, 30, 31, 90], most=3)
[16, 32, 96]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoglot.transfer.stored_rows import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.transfer.stored_rows import StoredRows

MOST = 8
"""Shapes of a language's batches, each of which is recorded for itself. In batches of 32 of isoglot-mini's pieces, the
tokens of WikiAnn and of UD English-EWT become 1.38 and 1.27 times as many with padding; 1.70 and 1.75 with three
shapes, 1.35 and 1.24 with as many as there are."""
_STEP = 8  # what tensor cores like


def widths(sizes: Sequence[int] | np.ndarray, *, most: int = MOST) -> list[int]:
    """So many widths at most, multiples of 8, that hold all sizes with the fewest columns in all.

    Exact, by dynamic programming over the multiples of 8 that occur.

    Args:
        sizes: Of the rows.
        most: How many widths.
    """
    found_U, counts_U = np.unique(-(-np.asarray(sizes) // _STEP) * _STEP, return_counts=True)
    before = np.concatenate([[0], np.cumsum(counts_U)])  # rows narrower than each
    # cost[i]: of the first i different sizes with the widths so far; chosen: where the last width's sizes begin.
    cost = np.where(np.arange(len(found_U) + 1) > 0, np.inf, 0.0)
    history: list[np.ndarray] = []
    for _ in range(min(most, len(found_U))):
        options = cost[:, None] + (before[None, 1:] - before[:, None]) * found_U[None, :].astype(float)
        options[np.arange(len(found_U) + 1)[:, None] > np.arange(len(found_U))[None, :]] = np.inf
        history.append(options.argmin(axis=0))
        cost = np.concatenate([[0.0], options.min(axis=0)])
    chosen, end = [], len(found_U)
    for begins in reversed(history):
        if end == 0:
            break
        chosen.append(int(found_U[end - 1]))
        end = int(begins[end - 1])
    return sorted(chosen)


class Shapes:
    """The shapes of one language's batches.

    Args:
        stored: The rows.
        rows: Of a batch.
        tokens: Of a batch, instead.
        most: How many shapes.
    """

    def __init__(self, stored: StoredRows, *, rows: int, tokens: int | None, most: int = MOST) -> None:
        sizes = stored.sizes[: len(stored)]
        self.stored = stored
        self.all: list[Shape] = []
        for width in widths(sizes, most=most):
            places = int(stored.widths[: len(stored)][sizes <= width].max())
            places = places if places == 1 else -(-places // _STEP) * _STEP
            size = min(width, stored.length)
            most_rows = rows if tokens is None else max(1, tokens // size)
            self.all.append(Shape(min(most_rows, len(stored)), size, places))

    def of(self, numbers: Sequence[int]) -> Shape:
        """The shape that holds some rows."""
        longest = int(self.stored.sizes[np.asarray(numbers)].max())
        return next(shape for shape in self.all if longest <= shape.tokens)

    def width(self, size: int) -> int:
        """What a row of so many tokens is padded to."""
        return next(shape.tokens for shape in self.all if size <= shape.tokens)

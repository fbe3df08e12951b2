"""Representational similarity analysis, RSA: do both spaces rank the pairs of items alike? (Kriegeskorte et al. 2008).

Shape legend: ``N`` items, ``D`` columns of X, ``P`` pairs of items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoglot.align.rows import unit
from isoglot.compare.declaration import Measure, unchanged_by
from isoglot.compare.kernel_alignment import SAMPLED
from isoglot.compare.pairs import above_diagonal, in_range, paired
from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from isoglot.align.rows import Array

_DECIMALS = 12  # dissimilarities that differ by less are equal: that is how far rounding goes


def rsa(X: Array, Y: Array) -> float:
    """Spearman's correlation of the dissimilarities of all pairs of items in X with those in Y.

    Two items are as dissimilar as 1 - r, r the correlation of their rows. Only the order of the dissimilarities counts.

    Raises:
        InputError: The rows will not do, a row is of one number, or all pairs of a side are equally dissimilar.
    """
    ranks = []
    for name, rows_ND in zip("XY", paired(X, Y), strict=True):
        ranks_P = average_ranks(dissimilarities(rows_ND, name))
        ranks_P -= ranks_P.mean()
        if not bool(ranks_P.any()):
            raise InputError(
                f"all pairs of rows of {name} are equally dissimilar", remedy="give more items, or more columns"
            )
        ranks.append(ranks_P / ranks_P.norm())
    return max(-1.0, min(1.0, float(ranks[0] @ ranks[1])))


def dissimilarities(rows_ND: torch.Tensor, name: str) -> torch.Tensor:
    """1 - r of every pair of rows once, r the correlation of two rows over the columns.

    Raises:
        InputError: A row is of one number.
    """
    # The first column goes first: of a row of one number nothing is left, not even rounding.
    level_ND = in_range(rows_ND)
    level_ND = level_ND - level_ND[:, :1]
    flat_N = ~level_ND.any(dim=1)
    if bool(flat_N.any()):
        raise InputError(
            f"row {int(flat_N.nonzero()[0])} of {name} has the same number in every column and no correlation",
            remedy="leave it out, with the row it is paired with (rows count from 0)",
        )
    level_ND = unit(level_ND)
    even_ND = unit(level_ND - level_ND.mean(dim=1, keepdim=True))
    similar_NN = even_ND @ even_ND.T
    return above_diagonal(similar_NN).neg_().add_(1).round_(decimals=_DECIMALS)


def average_ranks(values_P: torch.Tensor) -> torch.Tensor:
    """The ranks from 1; equal values share the mean of the ranks they take up.

    >>> average_ranks(torch.tensor([3.0, 1.0, 3.0, 2.0])).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    sorted_P, order_P = values_P.sort()
    _, counts = torch.unique_consecutive(sorted_P, return_counts=True)
    last = counts.cumsum(dim=0)
    shared = last.double() - (counts - 1) / 2
    ranks_P = torch.empty_like(values_P, dtype=torch.float64)
    ranks_P[order_P] = shared.repeat_interleave(counts)
    return ranks_P


RSA = Measure(
    name="rsa",
    title="RSA",
    meaning="Whether both spaces rank the pairs of items alike, from the most similar to the most dissimilar.",
    function=rsa,
    invariances=unchanged_by("scaling", "permutation"),
    bounds=(-1.0, 1.0),
    rows=SAMPLED,
)

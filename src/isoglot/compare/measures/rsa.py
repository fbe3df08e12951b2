"""Representational similarity analysis (RSA): whether both spaces rank pairs of items alike (Kriegeskorte et al. 2008).

Shape legend: ``N`` items, ``D`` columns of X, ``P`` pairs of items.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from isoglot.compare.measures.cka import SAMPLED
from isoglot.compare.measures.measure import Halves, Measure, above_diagonal, in_range, paired, unchanged_by
from isoglot.core.arrays import Array, unit
from isoglot.core.errors import InputError

_DECIMALS = 12  # dissimilarities that differ by less are equal up to rounding


def rsa(X: Array, Y: Array) -> float:
    """Spearman correlation of the dissimilarities of all pairs of items in X with those in Y.

    The dissimilarity of two items is 1 - r, r the correlation of their rows. Only the order of the dissimilarities
    counts.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.

    Returns:
        From -1 to 1; 1 for the same order of dissimilarities.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> round(rsa(X, 3 * X), 6)
    1.0

    Raises:
        InputError: The rows are invalid, a row is constant, or all pairs of one side are equally dissimilar.
    """
    X_ND, Y_NE = paired(X, Y)
    return ranked_alike(RankedPairs.of(X_ND, "X"), RankedPairs.of(Y_NE, "Y"))


@dataclass(frozen=True)
class RankedPairs:
    """Pairs of items of one space, ranked by dissimilarity.

    Attributes:
        name: Name of the space in error messages.
        items_2P: The two items of every possible pair.
        sorted_P: Dissimilarities of the remaining pairs, lowest first.
        pairs_P: Pair of each.
        ranks_P: For every possible pair its rank minus the mean, with norm 1; 0 for those left out.
    """

    name: str
    items_2P: torch.Tensor
    sorted_P: torch.Tensor
    pairs_P: torch.Tensor
    ranks_P: torch.Tensor

    @classmethod
    def of(cls, rows_ND: torch.Tensor, name: str) -> RankedPairs:
        """Pairs of a space.

        Raises:
            InputError: A row is constant, or all pairs are equally dissimilar.
        """
        values_P = dissimilarities(rows_ND, name)
        order_P = _order(values_P)
        items_2P = torch.triu_indices(len(rows_ND), len(rows_ND), 1, device=rows_ND.device)
        return cls._ranked(name, items_2P, values_P[order_P], order_P)

    @classmethod
    def _ranked(cls, name: str, items_2P: torch.Tensor, sorted_P: torch.Tensor, pairs_P: torch.Tensor) -> RankedPairs:
        own_P = _ranks_in_order(sorted_P)
        own_P -= own_P.mean()
        if not bool(own_P.any()):
            problem = f"all pairs of rows of {name} are equally dissimilar"
            raise InputError(problem, "give more items, or more columns", "constant")
        ranks_P = torch.zeros(items_2P.shape[1], dtype=torch.float64, device=sorted_P.device)
        ranks_P[pairs_P] = own_P / own_P.norm()
        return cls(name, items_2P, sorted_P, pairs_P, ranks_P)

    def without(self, rows_G: torch.Tensor) -> RankedPairs:
        """The same without some items; the rest stays sorted."""
        kept_N = torch.ones(int(self.items_2P[1, -1]) + 1, dtype=torch.bool, device=rows_G.device)
        kept_N[rows_G] = False
        kept_P = (kept_N[self.items_2P[0]] & kept_N[self.items_2P[1]])[self.pairs_P].nonzero()[:, 0]
        return self._ranked(self.name, self.items_2P, self.sorted_P[kept_P], self.pairs_P[kept_P])

    @cached_property
    def square(self) -> torch.Tensor:
        """Ranks as a symmetric matrix of items × items."""
        items = int(self.items_2P[1, -1]) + 1
        ranks_NN = torch.zeros(items, items, dtype=torch.float64, device=self.ranks_P.device)
        ranks_NN[self.items_2P[0], self.items_2P[1]] = self.ranks_P
        return ranks_NN + ranks_NN.T


def ranked_alike(own: RankedPairs, other: RankedPairs) -> float:
    """Spearman correlation of two rankings of the same pairs."""
    return max(-1.0, min(1.0, float(own.ranks_P @ other.ranks_P)))


def ranked_shuffled(own: RankedPairs, other: RankedPairs, order_N: torch.Tensor) -> float:
    """The same with the items of the other space permuted."""
    moved_NN = other.square.index_select(0, order_N).index_select(1, order_N)
    return max(-1.0, min(1.0, float(own.square.view(-1) @ moved_NN.view(-1)) / 2))


def dissimilarities(rows_ND: torch.Tensor, name: str) -> torch.Tensor:
    """Dissimilarity 1 - r of every pair of rows, r the correlation of two rows over the columns.

    Raises:
        InputError: A row is constant.
    """
    # Subtracting the first column leaves exactly zero of a constant row.
    level_ND = in_range(rows_ND)
    level_ND = level_ND - level_ND[:, :1]
    flat_N = ~level_ND.any(dim=1)
    if bool(flat_N.any()):
        problem = f"row {int(flat_N.nonzero()[0])} of {name} is constant and has no correlation"
        raise InputError(problem, "remove it and the row it is paired with (rows count from 0)", "zero-row")
    level_ND = unit(level_ND)
    even_ND = unit(level_ND - level_ND.mean(dim=1, keepdim=True))
    similar_NN = even_ND @ even_ND.T
    return above_diagonal(similar_NN).neg_().add_(1).round_(decimals=_DECIMALS)


def _ranks_in_order(sorted_P: torch.Tensor) -> torch.Tensor:
    """Ranks of sorted values from 1; equal values share the mean of their ranks."""
    _, counts = torch.unique_consecutive(sorted_P, return_counts=True)
    shared: torch.Tensor = counts.cumsum(dim=0).double() - (counts - 1) / 2
    return shared if len(shared) == len(sorted_P) else shared.repeat_interleave(counts)


def _order(values_P: torch.Tensor) -> torch.Tensor:
    """Permutation that sorts the values; NumPy is three times as fast on a CPU."""
    if values_P.device.type == "cpu":
        return torch.from_numpy(np.argsort(values_P.numpy()))
    return values_P.argsort()


RSA = Measure(
    name="rsa",
    title="RSA",
    meaning="Whether both spaces rank the pairs of items alike, from the most similar to the most dissimilar.",
    formula=(
        r"\operatorname{corr}(\operatorname{rank} a, \operatorname{rank} b), \quad a_{ij} = 1 -"
        r" \operatorname{corr}(x_i, x_j), \; i < j"
    ),
    use="Where only the order of similarities should count; usual in neuroscience.",
    function=rsa,
    invariances=unchanged_by("scaling", "permutation"),
    bounds=(-1.0, 1.0),
    rows=SAMPLED,
    halves=Halves(of=RankedPairs.of, alike=ranked_alike, shuffled=ranked_shuffled),
)

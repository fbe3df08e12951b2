"""Canonical correlations: how far the same directions, in whatever mixture of columns, are in both spaces.

Both spaces are first made of directions that do not correlate and have variance 1, so that a direction counts as much
as any other, however little of the space varies along it. Plain CCA is the mean over all of them
(:func:`mean_canonical_correlation`; Hotelling 1936). Two ways to deal with directions that hardly vary:

- :func:`svcca` keeps the directions with 99 % of the variance and takes the plain mean (Raghu et al. 2017).
- :func:`pwcca` keeps all and weights each by how much of X it accounts for (Morcos et al. 2018).

N items span no more than N - 1 directions, so at least D + E - (N - 1) correlations are 1 whatever the items are: give
more items than both sides have columns together (N > D + E, or 2 D of two spaces of one width), better several times as
many.

Shape legend: ``N`` items, ``D`` columns of X, ``E`` columns of Y, ``R`` and ``S`` directions kept of X and Y, ``C``
canonical directions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.compare.measures.declaration import Measure, unchanged_by
from isoglot.compare.measures.paired_rows import in_range, paired, refuse_equal_rows
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.core.arrays import Array

KEPT = 0.99


class Basis(NamedTuple):
    """The directions a space varies along."""

    rows_ND: torch.Tensor
    """the space, centered"""
    directions_NR: torch.Tensor
    """the items along them: columns of length 1 at right angles, those of most variance first"""
    spread_R: torch.Tensor
    """the singular values"""


def mean_canonical_correlation(X: Array, Y: Array) -> float:
    """Mean canonical correlation over all directions: as many as the narrower space has.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order; N should be above D + E.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> round(mean_canonical_correlation(X, X @ np.array([[2.0, 0, 1], [0, 1, 5], [0, 0, 3]]) - 7), 6)
    1.0

    Raises:
        InputError: The rows will not do, or all of a side are the same.
    """
    own, other = bases_of(X, Y)
    return float(correlations(own.directions_NR, other.directions_NR)[1].mean())


def svcca(X: Array, Y: Array, *, kept: float = KEPT) -> float:
    """The mean canonical correlation of the directions with most of the variance.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        kept: The share of the variance (of the squared singular values) that the kept directions have.

    Raises:
        ConfigError: ``kept`` is no share.
        InputError: The rows will not do, or all of a side are the same.
    """
    if not 0 < kept <= 1:
        raise ConfigError(
            f"kept = {kept} is no share of the variance",
            remedy=f"give a number up to 1, such as {KEPT}",
            code="config.invalid-value",
        )
    bases = []
    for basis in bases_of(X, Y):
        share_R = basis.spread_R.square().cumsum(dim=0) / basis.spread_R.square().sum()
        bases.append(basis.directions_NR[:, : int((share_R < kept).sum()) + 1])
    return float(correlations(*bases)[1].mean())


def pwcca(X: Array, Y: Array) -> float:
    """The mean canonical correlation, each weighted by how much of X its direction accounts for.

    X weights: a canonical direction h of X, of length 1 over the items, has the weight Σ_j |⟨h, x_j⟩| over the centered
    columns x_j of X. So ``pwcca(X, Y)`` is not ``pwcca(Y, X)``, and turning X changes the weights.

    Args:
        X: N × D, whose columns give the weights.
        Y: N × E, the same items in the same order.

    Raises:
        InputError: The rows will not do, or all of a side are the same.
    """
    own, other = bases_of(X, Y)
    turn_RC, correlations_C = correlations(own.directions_NR, other.directions_NR)
    variates_NC = own.directions_NR @ turn_RC
    weights_C = (variates_NC.T @ own.rows_ND).abs().sum(dim=1)
    return min(1.0, float(weights_C @ correlations_C / weights_C.sum()))


def bases_of(X: Array, Y: Array) -> tuple[Basis, Basis]:
    """The directions of both spaces; those that are only the rounding of the numbers given are left out."""
    bases = []
    for name, given, rows_ND in zip("XY", (X, Y), paired(X, Y), strict=True):
        rows_ND = in_range(rows_ND)  # noqa: PLW2901
        refuse_equal_rows(rows_ND, name)
        shifted_ND = rows_ND - rows_ND[0]
        centered_ND = shifted_ND - shifted_ND.mean(dim=0)
        U_NR, spread_R, _ = torch.linalg.svd(centered_ND, full_matrices=False)
        # Numbers up to 1, each rounded by up to eps: a matrix of such errors has no larger singular value.
        double = given.dtype in (np.float64, torch.float64)
        floor = torch.finfo(torch.float64 if double else torch.float32).eps * sum(side**0.5 for side in rows_ND.shape)
        rank = max(1, int((spread_R > floor).sum()))
        bases.append(Basis(centered_ND, U_NR[:, :rank], spread_R[:rank]))
    return bases[0], bases[1]


def correlations(directions_NR: torch.Tensor, others_NS: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """How to turn the directions of X into canonical ones (R × C), and their correlations (C), the highest first."""
    turn_RC, values_C, _ = torch.linalg.svd(directions_NR.T @ others_NS, full_matrices=False)
    return turn_RC, values_C.clamp(max=1.0)


CCA = Measure(
    name="cca",
    title="CCA",
    meaning=(
        "The mean canonical correlation of the two spaces; all directions count alike, those that hardly vary too."
        " Give more items than both spaces have columns together: with fewer, some are 1 by counting alone."
    ),
    function=mean_canonical_correlation,
    invariances=unchanged_by("invertible", "translation"),
    rows_beyond_columns=True,
)
SVCCA = Measure(
    name="svcca",
    title="SVCCA",
    meaning=(
        "How well the directions with 99 % of the variance of either space can be found in the other, on average;"
        " near 1 for anything where the items are few beside the columns."
    ),
    function=svcca,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
)
PWCCA = Measure(
    name="pwcca",
    title="PWCCA",
    meaning=(
        "How well the directions of the first space can be found in the second, those that matter most to the first"
        " weighing most; near 1 for anything where the items are few beside the columns."
    ),
    function=pwcca,
    invariances=unchanged_by("scaling", "translation", "permutation"),
    symmetric=False,
    rows_beyond_columns=True,
)

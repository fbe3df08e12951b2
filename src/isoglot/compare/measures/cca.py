"""Correlations of directions (CCA and variants), and of single columns (ANC, Del & Fishel 2022).

Canonical correlations tell how far both spaces contain the same directions, as any linear combination of columns.

Both spaces are whitened first, so that every direction counts the same, however little varies along it. Plain CCA is
the mean over all directions (:func:`mean_canonical_correlation`; Hotelling 1936). Two ways to treat directions of low
variance:

- :func:`svcca` keeps the directions with 99 % of the variance and takes the mean (Raghu et al. 2017).
- :func:`pwcca` keeps all and weights each by how much of X it accounts for (Morcos et al. 2018).

N items span at most N - 1 directions, so at least D + E - (N - 1) correlations are 1 whatever the items are: use more
items than both sides have columns together (N > D + E), better several times as many.

Shape legend: ``N`` items, ``D`` columns of X, ``E`` columns of Y, ``R`` and ``S`` directions kept of X and Y, ``C``
canonical directions.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from isoglot.compare.measures.measure import Measure, in_range, paired, refuse_equal_rows, unchanged_by
from isoglot.core.arrays import Array, to_tensor
from isoglot.core.errors import ConfigError, InputError

KEPT = 0.99


class Basis(NamedTuple):
    """Directions along which a space varies."""

    rows_ND: torch.Tensor
    """the space, centered"""
    directions_NR: torch.Tensor
    """orthonormal columns of item scores, highest variance first"""
    spread_R: torch.Tensor
    """singular values"""


def mean_canonical_correlation(X: Array, Y: Array) -> float:
    """Mean canonical correlation over all directions, as many as the narrower space has.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order; N should exceed D + E.

    Returns:
        From 0 to 1; 1 for spaces that are linear functions of each other.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> round(mean_canonical_correlation(X, X @ np.array([[2.0, 0, 1], [0, 1, 5], [0, 0, 3]]) - 7), 6)
    1.0

    Raises:
        InputError: The rows are invalid, or those of one side are all equal.
    """
    own, other = bases_of(X, Y)
    return float(correlations(own.directions_NR, other.directions_NR)[1].mean())


def svcca(X: Array, Y: Array, *, kept: float = KEPT) -> float:
    """Mean canonical correlation of the directions with most of the variance.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        kept: Share of the variance (of the squared singular values) in the kept directions.

    Returns:
        From 0 to 1.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> round(svcca(X, 2 * X), 6)
    1.0

    Raises:
        ConfigError: ``kept`` is not in (0, 1].
        InputError: The rows are invalid, or those of one side are all equal.
    """
    if not 0 < kept <= 1:
        raise ConfigError(f"kept = {kept} is not in (0, 1]", f"give a number up to 1, such as {KEPT}", "invalid-value")
    bases = []
    for basis in bases_of(X, Y):
        share_R = basis.spread_R.square().cumsum(dim=0) / basis.spread_R.square().sum()
        bases.append(basis.directions_NR[:, : int((share_R < kept).sum()) + 1])
    return float(correlations(*bases)[1].mean())


def pwcca(X: Array, Y: Array) -> float:
    """Mean canonical correlation, each weighted by how much of X its direction accounts for.

    A canonical direction h of X, of length 1 over the items, has the weight Σ_j ``|⟨h, x_j⟩|`` over the centered
    columns x_j of X. So ``pwcca(X, Y)`` is not ``pwcca(Y, X)``, and rotating X changes the weights.

    Args:
        X: N × D, whose columns give the weights.
        Y: N × E, the same items in the same order.

    Returns:
        From 0 to 1.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> round(pwcca(X, X @ np.diag([1.0, 2, 3, 4, 5])), 6)
    1.0

    Raises:
        InputError: The rows are invalid, or those of one side are all equal.
    """
    own, other = bases_of(X, Y)
    turn_RC, correlations_C = correlations(own.directions_NR, other.directions_NR)
    variates_NC = own.directions_NR @ turn_RC
    weights_C = (variates_NC.T @ own.rows_ND).abs().sum(dim=1)
    return min(1.0, float(weights_C @ correlations_C / weights_C.sum()))


def bases_of(X: Array, Y: Array) -> tuple[Basis, Basis]:
    """Directions of both spaces, without those that are only rounding."""
    bases = []
    for name, given, rows_ND in zip("XY", (X, Y), paired(X, Y), strict=True):
        rows_ND = in_range(rows_ND)  # noqa: PLW2901
        refuse_equal_rows(rows_ND, name)
        shifted_ND = rows_ND - rows_ND[0]
        centered_ND = shifted_ND - shifted_ND.mean(dim=0)
        U_NR, spread_R, _ = torch.linalg.svd(centered_ND, full_matrices=False)
        # Entries up to 1 with errors up to eps: a matrix of such errors has no larger singular value.
        single = to_tensor(given).dtype in (torch.float16, torch.bfloat16, torch.float32)
        floor = torch.finfo(torch.float32 if single else torch.float64).eps * sum(side**0.5 for side in rows_ND.shape)
        rank = max(1, int((spread_R > floor).sum()))
        bases.append(Basis(centered_ND, U_NR[:, :rank], spread_R[:rank]))
    return bases[0], bases[1]


def correlations(directions_NR: torch.Tensor, others_NS: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rotation of the directions of X to canonical ones (R × C), and their correlations (C), highest first."""
    turn_RC, values_C, _ = torch.linalg.svd(directions_NR.T @ others_NS, full_matrices=False)
    return turn_RC, values_C.clamp(max=1.0)


CCA = Measure(
    name="cca",
    title="CCA",
    meaning=(
        "Mean canonical correlation; all directions count the same, even those of low variance. Use more items than"
        " both spaces have columns together: with fewer, some correlations are 1 by construction."
    ),
    formula=(
        r"\frac{1}{C} \sum_{c=1}^{C} \rho_c, \quad \rho = \text{singular values of } Q_X^\top Q_Y, \quad Q_X ="
        r" \text{orthonormal basis of the columns of } \tilde X"
    ),
    use="To ask whether both spaces hold the same information linearly, however they weight it; needs many items.",
    function=mean_canonical_correlation,
    invariances=unchanged_by("invertible", "translation"),
    rows_beyond_columns=True,
)
SVCCA = Measure(
    name="svcca",
    title="SVCCA",
    meaning=(
        "Mean canonical correlation of the directions with 99 % of the variance; near 1 for any spaces with few items"
        " relative to the columns."
    ),
    formula=(
        r"\frac{1}{C} \sum_{c=1}^{C} \rho_c, \quad \rho = \text{singular values of } U_X^\top U_Y, \quad U_X ="
        r" \text{left singular vectors of } \tilde X \text{ with 99 \% of the variance}"
    ),
    use="As CCA, where directions of low variance are noise; not with few items.",
    function=svcca,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
)
PWCCA = Measure(
    name="pwcca",
    title="PWCCA",
    meaning=(
        "Mean canonical correlation, weighted by how much of the first space a direction accounts for; near 1 for any"
        " spaces with few items relative to the columns."
    ),
    formula=(
        r"\frac{\sum_c \alpha_c \rho_c}{\sum_c \alpha_c}, \quad \alpha_c = \sum_j \lvert h_c^\top \tilde x_j \rvert,"
        r" \quad h_c = \text{canonical direction of } X, \; \tilde x_j = \text{column of } \tilde X"
    ),
    use="As CCA, where the directions that X uses should count more; not with few items.",
    function=pwcca,
    invariances=unchanged_by("scaling", "translation", "permutation"),
    symmetric=False,
    rows_beyond_columns=True,
)


def anc(X: Array, Y: Array) -> float:
    """Correlation of each column of X with the same column of Y over the items, mean over columns.

    Signed, as the authors compute it. For two languages in one model, whose columns are the same neurons. A column that
    is constant in both spaces is left out; one that is constant in one of them counts as 0.

    Args:
        X: N × D.
        Y: N × D, the same items in the same order.

    Returns:
        From -1 to 1; 1 where every column of Y is an increasing linear function of that column of X.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> round(anc(X, 2 * X + 1), 6), round(anc(X, -X), 6)
    (1.0, -1.0)

    Raises:
        InputError: The rows are invalid, the spaces have different widths, or the rows of one side are all equal.
    """
    X_ND, Y_ND = paired(X, Y)
    if X_ND.shape[1] != Y_ND.shape[1]:
        remedy = "give two spaces of the same neurons, or use a measure that allows different columns, such as cka"
        raise InputError(f"X has {X_ND.shape[1]} columns and Y {Y_ND.shape[1]}", remedy, "shape")
    refuse_equal_rows(X_ND, "X")
    refuse_equal_rows(Y_ND, "Y")
    X_ND, Y_ND = _standardized(X_ND), _standardized(Y_ND)
    varies_D = X_ND.any(dim=0) | Y_ND.any(dim=0)
    return max(-1.0, min(1.0, float((X_ND * Y_ND).sum() / varies_D.sum())))


def _standardized(X_ND: torch.Tensor) -> torch.Tensor:
    """Columns with mean 0 and length 1; constant columns become zeros."""
    shifted_ND = _over_largest(_over_largest(X_ND) - _over_largest(X_ND)[0])
    centered_ND = shifted_ND - shifted_ND.mean(dim=0)
    length_D: torch.Tensor = centered_ND.norm(dim=0)
    return centered_ND / torch.where(length_D > 0, length_D, 1.0)


def _over_largest(X_ND: torch.Tensor) -> torch.Tensor:
    largest_D = X_ND.abs().amax(dim=0)
    return X_ND / torch.where(largest_D > 0, largest_D, 1.0)


ANC = Measure(
    name="anc",
    title="ANC",
    meaning="Mean correlation of each neuron of one space with the same neuron of the other.",
    formula=r"\frac{1}{D} \sum_{d=1}^{D} \operatorname{corr}(x_{\cdot d}, y_{\cdot d})",
    use="For two languages in one encoder: whether the same neurons respond to the same sentences.",
    function=anc,
    invariances=unchanged_by("scaling", "translation"),
    bounds=(-1.0, 1.0),
    widths="same",
)

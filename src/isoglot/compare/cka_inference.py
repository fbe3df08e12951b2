"""CKA with its null distribution and a confidence interval.

**Null** (permutation test): CKA with the pairs of items shuffled. Shuffling the rows of Y reorders L = YYᵀ and keeps
its norm, so a shuffle changes only one inner product, ⟨K, L⟩. With many items in random order, shifting Y by s rows
against X is a shuffle like any other, and the products of all N - 1 shifts are one circular correlation, at the cost
of about ten single shuffles.

**Interval** (bootstrap). Resampling N items with replacement naively makes an item that was drawn twice its own perfect
neighbor on both sides, which raises CKA. Here two draws of the same item are not a pair: the similarity of items i and
j is weighted by how often i and j were drawn, that of an item with itself (absent from the debiased form) by how often
it was drawn. K and L keep their original centering, which is exact to first order. A nominal 95 % interval then covers
the population value in 92 to 97 % of simulated cases with planted structure (``tests/compare/test_judged.py``). For
unrelated spaces it is 1.6 times too wide in simulation; use the null there.

**Subsamples.** Linear CKA of many subsets of the items at once, for the jackknife and for intervals: half of the items
drawn without replacement vary around the value of all items as much as that value varies around the truth (delete-half
jackknife, Shao & Wu 1989).

**Jackknife.** :func:`half_width` is that of the confidence interval of any smooth function of the items, from its
values without each tenth of them. It covers sampling of items only, not the seed of the encoders' training.

Shape legend: ``N`` items, ``D`` and ``E`` columns, ``R`` resamples or subsamples, ``F`` frequencies.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from isoglot.compare.measures.cka import FORMS, Form, kernel_product, u_centered
from isoglot.compare.measures.measure import FEWEST_ROWS, centered, centered_pair, paired, refuse_vanished, unit_norm
from isoglot.core.errors import ConfigError, check_name, check_range
from isoglot.core.rng import random_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.core.arrays import Array

ROWS, DRAWS, LEVEL = 2000, 200, 0.95
MOST_ROWS = 10_000  # items × items: 800 MB per matrix
FEWEST_DRAWS = 20  # the 95th percentile of fewer is their maximum
FEW = 128
"""With fewer items every shuffle is drawn separately: a shuffle keeps one item in place on average, a shift none."""

_VANISHED = 1e-13  # of ‖K‖²: only rounding is left of a self-similarity


@dataclass(frozen=True, kw_only=True, slots=True)
class CkaEstimate:
    """CKA of two spaces with its confidence interval and null distribution.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(40, 4))
    >>> estimate = judge(X, X, draws=20)
    >>> estimate.above_chance, estimate.rows, estimate.form
    (True, 40, 'debiased')
    """

    form: Form
    """which of the three forms"""
    value: float
    """CKA of the rows as paired"""
    low: float
    """lower end of the confidence interval"""
    high: float
    """upper end of the confidence interval"""
    null_mean: float
    """mean over shuffled pairs"""
    null_high: float
    """95th percentile over shuffled pairs"""
    p: float
    """p-value of the permutation test"""
    expected_null: float
    """expectation of ``null_mean`` in closed form: far from 0 in the biased forms, 0 in the debiased one"""
    level: float
    """confidence level of the interval"""
    rows: int
    """number of items used"""
    of: int
    """number of items given"""
    draws: int
    """number of shuffles for the null and of resamples for the interval"""

    @property
    def above_chance(self) -> bool:
        """Whether the value is above the 95th percentile of the null."""
        return self.value > self.null_high

    def as_dict(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return asdict(self)


def judge(
    X: Array,
    Y: Array,
    *,
    form: Form = "debiased",
    rows: int = ROWS,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
) -> CkaEstimate:
    """CKA of two spaces, with a permutation test and a bootstrap interval.

    The interval of the debiased form is about the population of items; those of the biased forms, whose values depend
    on the number of items, about other samples of the same size.

    >>> X, noise = np.random.default_rng(0).normal(size=(2, 300, 20))
    >>> estimate = judge(X, X + noise)
    >>> estimate.low < 0.5 < estimate.high, round(estimate.p, 3), estimate.expected_null
    (True, 0.005, 0.0)
    >>> judge(X, noise, form="centered").above_chance
    False

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        form: Which CKA: ``paper``, ``centered`` or ``debiased``.
        rows: Maximum number of items; a larger set is sampled.
        draws: Number of shuffles for the null and of resamples for the interval.
        level: Confidence level of the interval.
        seed: Random seed.

    Returns:
        The value with its interval and the p-value of the permutation test.

    Raises:
        ConfigError: An option is out of range.
        InputError: The rows are invalid.
    """
    check_name("form of CKA", form, FORMS)
    check_range("rows", rows, FEWEST_ROWS, MOST_ROWS)
    check_range("draws", draws, FEWEST_DRAWS)
    if not 0 < level < 1:
        raise ConfigError(f"level = {level} is not between 0 and 1", "set one such as 0.95", "invalid-value")
    X_ND, Y_NE = paired(X, Y)
    count = len(X_ND)
    if count > rows:
        drawn = random_stream(seed, "compare", "rows").choice(count, size=rows, replace=False)
        chosen = torch.from_numpy(np.sort(drawn)).to(X_ND.device)
        X_ND, Y_NE = X_ND[chosen], Y_NE[chosen]
    K_NN, L_NN = kernels(X_ND, Y_NE, form)
    value = max(-1.0, min(1.0, float((K_NN * L_NN).sum())))
    expected = 0.0 if form == "debiased" else expected_product(K_NN, L_NN)
    K_NN, L_NN = K_NN.float(), L_NN.float()  # seven digits are enough for resampling
    null = shuffled(K_NN, L_NN, draws, random_stream(seed, "compare", "null"))
    low, high = interval(K_NN, L_NN, draws, level, random_stream(seed, "compare", "interval"))
    return CkaEstimate(
        form=form,
        value=value,
        low=low,
        high=high,
        null_mean=float(null.mean()),
        null_high=float(np.quantile(null, 0.95)),
        p=float((1 + (null >= value).sum()) / (1 + draws)),
        expected_null=expected,
        level=level,
        rows=len(X_ND),
        of=count,
        draws=draws,
    )


def kernels(X: Array, Y: Array, form: Form) -> tuple[torch.Tensor, torch.Tensor]:
    """K and L in a form of CKA, N × N with Frobenius norm 1: their inner product is CKA.

    Raises:
        InputError: The rows are invalid, or one side has no similarities to compare.
    """
    if form == "paper":
        sides = [unit_norm(side, name) for side, name in zip(paired(X, Y), "XY", strict=True)]
    else:
        sides = list(centered_pair(X, Y))
    found = []
    for side, name in zip(sides, "XY", strict=True):
        kernel_NN = side @ side.T
        size = kernel_NN.norm()
        if form == "debiased":
            kernel_NN = u_centered(kernel_NN)
            refuse_vanished(float(kernel_NN.norm() / size) ** 2, 1.0, name, _VANISHED)
        found.append(kernel_NN.div_(kernel_NN.norm()))
    return found[0], found[1]


# --- permutation test ---


def shuffled(K_NN: torch.Tensor, L_NN: torch.Tensor, draws: int, rng: np.random.Generator) -> np.ndarray:
    """⟨K, L⟩ for random permutations of the items of L; K and L are symmetric."""
    N = len(K_NN)
    values: list[float] = []
    while len(values) < draws:
        order = torch.from_numpy(rng.permutation(N)).to(L_NN.device)
        if N < FEW:
            values.append(float((K_NN * _reordered(L_NN, order)).sum()))
            continue
        shifted_N = shifted_products(_reordered(K_NN, order), _reordered(L_NN, order)).cpu().numpy()
        # At most half of the shifts: for two equal sides, shifts by s and by -s are the same.
        wanted = min(draws - len(values), N // 2)
        values += shifted_N[1 + rng.choice(N - 1, size=wanted, replace=False)].tolist()
    return np.array(values)


def shifted_products(K_NN: torch.Tensor, L_NN: torch.Tensor) -> torch.Tensor:
    """Σ K[i, j] L[i + s, j + s] for every s from 0 to N - 1, indices modulo N; K and L are symmetric.

    A shift only rotates the d-th circular diagonal, so each d contributes a circular correlation; diagonals -d mirror
    diagonals d.
    """
    N = len(K_NN)
    times_D = torch.full((N // 2 + 1, 1), 2.0, dtype=K_NN.dtype, device=K_NN.device)
    times_D[0] = 1  # the main diagonal is its own mirror image, as is the one at N / 2
    if N % 2 == 0:
        times_D[-1] = 1
    K_DF, L_DF = (torch.fft.rfft(_diagonals(kernel_NN)) for kernel_NN in (K_NN, L_NN))
    products_N: torch.Tensor = torch.fft.irfft((K_DF.conj_physical_().mul_(L_DF) * times_D).sum(dim=0), n=N)
    return products_N


def expected_product(K_NN: torch.Tensor, L_NN: torch.Tensor) -> float:
    """Mean of ⟨K, L⟩ over all permutations.

    A diagonal entry is paired with every diagonal entry equally often, and so are those off the diagonal. For centered
    matrices, whose entries sum to 0, this is tr K tr L / (N - 1).
    """
    N = len(K_NN)
    traces = [float(kernel_NN.trace()) for kernel_NN in (K_NN, L_NN)]
    rests = [float(kernel_NN.sum()) - trace for kernel_NN, trace in zip((K_NN, L_NN), traces, strict=True)]
    return traces[0] * traces[1] / N + rests[0] * rests[1] / (N * (N - 1))


def _diagonals(kernel_NN: torch.Tensor) -> torch.Tensor:
    """Row d holds the entries [i, i + d], indices modulo N, for d up to N / 2."""
    N = len(kernel_NN)
    half = N // 2 + 1
    around = torch.cat([kernel_NN, kernel_NN[:, :half]], dim=1)
    return around.as_strided((half, N), (1, N + half + 1))


def _reordered(kernel_NN: torch.Tensor, order_N: torch.Tensor) -> torch.Tensor:
    return kernel_NN.index_select(0, order_N).index_select(1, order_N)


# --- bootstrap ---


def interval(
    K_NN: torch.Tensor, L_NN: torch.Tensor, draws: int, level: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Percentile interval over bootstrap resamples."""
    low, high = np.quantile(resampled(K_NN, L_NN, draws, rng), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def resampled(K_NN: torch.Tensor, L_NN: torch.Tensor, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Cosine of K and L for bootstrap resamples of the items in which no item is its own neighbor."""
    N = len(K_NN)
    drawn_RN = torch.from_numpy(rng.multinomial(N, np.full(N, 1 / N), size=draws)).to(K_NN)
    cross_R, own_R, other_R = (
        _resampled_product(A_NN * B_NN, drawn_RN) for A_NN, B_NN in ((K_NN, L_NN), (K_NN, K_NN), (L_NN, L_NN))
    )
    norm_R = own_R.sqrt() * other_R.sqrt()
    valid_R = norm_R > 0  # with very few items, a resample may consist of a single one
    values_R: np.ndarray = (cross_R[valid_R] / norm_R[valid_R]).clamp(-1, 1).cpu().numpy()
    return values_R if len(values_R) else np.array([-1.0, 1.0])


def _resampled_product(product_NN: torch.Tensor, drawn_RN: torch.Tensor) -> torch.Tensor:
    """Σ of the products of the items drawn; two draws of the same item are not a pair."""
    N = len(product_NN)
    diagonal_N = product_NN.diagonal().clone()
    pairs_R = ((drawn_RN @ product_NN.fill_diagonal_(0)) * drawn_RN).sum(dim=1)
    # The product of the counts of two items is 1 - 1 / N on average; float64, so that equal sides have a cosine of 1.
    return pairs_R.double() * (N / (N - 1)) + (drawn_RN @ diagonal_N).double()


# --- subsamples ---


class SubsampledCKA(NamedTuple):
    """CKA of every subsample (R) in the three forms."""

    paper: np.ndarray
    centered: np.ndarray
    debiased: np.ndarray


def subsampled_cka(X: Array, Y: Array, members_RN: np.ndarray) -> SubsampledCKA:
    """Linear CKA of several subsets of the rows.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        members_RN: Which rows are in each subsample (boolean or 0 and 1); at least 4 in each.

    Raises:
        InputError: The rows are invalid.
    """
    return _cosines(_subsampled_products(X, Y, members_RN))


def leave_out_cka(X: Array, Y: Array, groups: Sequence[np.ndarray]) -> SubsampledCKA:
    """Linear CKA of all rows, then of the rows without each group: the replicates of a jackknife.

    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> leave_out_cka(X, 2 * X, [np.arange(5)]).debiased.round(6).tolist()
    [1.0, 1.0]

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        groups: Row numbers of each group.

    Raises:
        InputError: The rows are invalid, or those of one side are all equal once a group is left out.
    """
    members_RN = np.ones((1 + len(groups), len(X)), dtype=bool)
    for number, group in enumerate(groups, start=1):
        members_RN[number, group] = False
    found = _subsampled_products(X, Y, members_RN)
    for products in found.values():
        for name, own_R in (("X", products.own), ("Y", products.other)):
            for left, kept in zip(own_R.tolist(), members_RN.sum(axis=1).tolist(), strict=True):
                refuse_vanished(left, float(own_R[0]), f"{name} (of {kept} rows)", _VANISHED)
    return _cosines(found)


class _Products(NamedTuple):
    """⟨K, L⟩, ⟨K, K⟩ and ⟨L, L⟩ of every subsample (R)."""

    cross: torch.Tensor
    own: torch.Tensor
    other: torch.Tensor


def _subsampled_products(X: Array, Y: Array, members_RN: np.ndarray) -> dict[Form, _Products]:
    sides = dict(zip("XY", paired(X, Y), strict=True))
    members = torch.as_tensor(members_RN, dtype=torch.float64, device=sides["X"].device)
    found = {}
    for form in FORMS:
        prepare = unit_norm if form == "paper" else centered
        kernels = [rows @ rows.T for rows in (prepare(side, name) for name, side in sides.items())]
        if form == "debiased":
            kernels = [kernel_NN.fill_diagonal_(0) for kernel_NN in kernels]
        rows = [(members @ kernel_NN) * members for kernel_NN in kernels]
        found[form] = _Products(
            *(
                kernel_product(
                    form,
                    members.sum(1),
                    ((members @ (kernels[a] * kernels[b])) * members).sum(1),
                    (rows[a] * rows[b]).sum(1),
                    rows[a].sum(1),
                    rows[b].sum(1),
                )
                for a, b in ((0, 1), (0, 0), (1, 1))
            )
        )
    return found


def _cosines(found: dict[Form, _Products]) -> SubsampledCKA:
    return SubsampledCKA(
        **{
            form: (cross / (own * other).clamp_min(1e-300).sqrt()).clamp(-1, 1).cpu().numpy()
            for form, (cross, own, other) in found.items()
        }
    )


# --- jackknife ---

GROUPS = 10
"""Groups of sentences that are left out one at a time."""
FEWEST = 4 * GROUPS
"""With fewer sentences there is no interval."""
_T_95 = 2.262  # 97.5th percentile of Student's t with GROUPS - 1 degrees of freedom


def groups_of(count: int, seed: int = 0) -> list[np.ndarray]:
    """Row numbers of each group, drawn at random; no groups where there are too few rows."""
    if count < FEWEST:
        return []
    return np.array_split(random_stream(seed, "jackknife").permutation(count), GROUPS)


def half_width(replicates: Sequence[float]) -> float:
    """Half the width of the 95 % interval, from the values without each group.

    >>> round(half_width([0.9, 1.0, 1.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 3)
    0.303
    """
    count = len(replicates)
    middle = sum(replicates) / count
    return float(_T_95 * ((count - 1) / count * sum((value - middle) ** 2 for value in replicates)) ** 0.5)

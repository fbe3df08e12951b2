"""What CKA is by chance: the value when the items of one side no longer go with those of the other.

Shuffling the rows of Y reorders L = YYᵀ and leaves its norm alone: all that a shuffle changes is one sum of products,
⟨K, L⟩. Of many items in random order, moving Y by s rows against X is a shuffle as good as any, and the sums of all
N - 1 moves together are one circular correlation, for about the price of ten shuffles done one by one.

Shape legend: ``N`` items, ``D`` steps beside the diagonal, ``F`` frequencies.

Linear CKA in many subsamples of the items at once, for intervals.

Half of the items, drawn without replacement, vary as much around the value of all items as that value varies around
the truth (the delete-half jackknife, Shao & Wu 1989), and no item comes twice, which would look like similarity.

Shape legend: ``N`` items, ``D`` columns, ``R`` subsamples.

CKA with what is needed to believe it: what chance would give, and how far other items would move it.

**Null.** The same with the pairs of items shuffled (:mod:`isoglot.compare.cka_inference`).

**Interval.** A bootstrap draws N items with replacement. Done naively, an item drawn twice is its own perfect neighbor
on both sides, and CKA goes up. Here two draws of one item are no pair: the similarity of two items i and j counts as
often as i was drawn times as j was, that of an item to itself (which the debiased form leaves out) as often as it was
drawn, not that squared. K and L stay centered as they were, which makes no difference of first order. A nominal 95 %
interval then holds the value of all items there could be in 92 to 97 % of simulated cases with planted structure
(``tests/compare/test_judged.py``). Of unrelated spaces it is too wide, 1.6 times in simulation: look at the null there.

Shape legend: ``N`` items, ``R`` draws, ``D`` and ``E`` columns.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from isoglot.compare.measures.cka import check_form, u_centered
from isoglot.compare.measures.paired_rows import FEWEST_ROWS, centered_pair, paired, refuse_vanished, unit_norm
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import SILENT
from isoglot.core.rng import random_stream

if TYPE_CHECKING:
    from isoglot.compare.measures.cka import Form
    from isoglot.core.arrays import Array
    from isoglot.core.progress import Progress
    from isoglot.represent import Representations

FEW = 128
"""Of fewer items every shuffle is drawn by itself: a shuffle leaves one item in its place on average, a move none."""

_VANISHED = 1e-13  # of ‖K‖²: what is left of a self-similarity is its rounding


def kernels(X: Array, Y: Array, form: Form) -> tuple[torch.Tensor, torch.Tensor]:
    """K and L in a form of CKA, N × N with Frobenius norm 1: the sum of their products is CKA.

    Raises:
        InputError: The rows will not do, or nothing is left of a side to compare.
    """
    if form == "paper":
        rows = paired(X, Y)
        sides = [unit_norm(side, name) for side, name in zip(rows, "XY", strict=True)]
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


def shuffled(K_NN: torch.Tensor, L_NN: torch.Tensor, draws: int, chance: np.random.Generator) -> np.ndarray:
    """⟨K, L⟩ for so many shuffles of the items of L; K and L are symmetric."""
    N = len(K_NN)
    values: list[float] = []
    if N < FEW:
        for _ in range(draws):
            order = torch.from_numpy(chance.permutation(N)).to(L_NN.device)
            values.append(float((K_NN * _reordered(L_NN, order)).sum()))
        return np.array(values)
    while len(values) < draws:
        order = torch.from_numpy(chance.permutation(N)).to(L_NN.device)
        moved_N = moved_products(_reordered(K_NN, order), _reordered(L_NN, order)).cpu().numpy()
        # Half of the moves at most: of two equal sides, moving forth and back are the same.
        wanted = min(draws - len(values), N // 2)
        values += moved_N[1 + chance.choice(N - 1, size=wanted, replace=False)].tolist()
    return np.array(values)


def moved_products(K_NN: torch.Tensor, L_NN: torch.Tensor) -> torch.Tensor:
    """Σ K[i, j] L[i + s, j + s] for every s from 0 to N - 1, counted around; K and L are symmetric.

    The entries that are d beside the diagonal stay so and are only turned around, so that each d is a circular
    correlation; those d to the other side are their mirror image.
    """
    N = len(K_NN)
    times_D = torch.full((N // 2 + 1, 1), 2.0, dtype=K_NN.dtype, device=K_NN.device)
    times_D[0] = 1  # the diagonal is its own mirror image, as is the one half way around
    if N % 2 == 0:
        times_D[-1] = 1
    K_DF, L_DF = (torch.fft.rfft(_diagonals(kernel_NN)) for kernel_NN in (K_NN, L_NN))
    products_N: torch.Tensor = torch.fft.irfft((K_DF.conj_physical_().mul_(L_DF) * times_D).sum(dim=0), n=N)
    return products_N


def expected_product(K_NN: torch.Tensor, L_NN: torch.Tensor) -> float:
    """The mean of ⟨K, L⟩ over all shuffles.

    An entry on the diagonal meets any entry there as often as any other, and so outside it. Of centered matrices, whose
    entries sum to 0, that is tr K tr L / (N - 1).
    """
    N = len(K_NN)
    traces = [float(kernel_NN.trace()) for kernel_NN in (K_NN, L_NN)]
    rests = [float(kernel_NN.sum()) - trace for kernel_NN, trace in zip((K_NN, L_NN), traces, strict=True)]
    return traces[0] * traces[1] / N + rests[0] * rests[1] / (N * (N - 1))


def _diagonals(kernel_NN: torch.Tensor) -> torch.Tensor:
    """Row d has the entries [i, i + d], counted around, for d up to N / 2."""
    N = len(kernel_NN)
    half = N // 2 + 1
    around = torch.cat([kernel_NN, kernel_NN[:, :half]], dim=1)
    return around.as_strided((half, N), (1, N + half + 1))


def _reordered(kernel_NN: torch.Tensor, order_N: torch.Tensor) -> torch.Tensor:
    return kernel_NN.index_select(0, order_N).index_select(1, order_N)


class SubsampledCKA(NamedTuple):
    """CKA in every subsample, R numbers each: as Wu et al. (2020) print it, centered, and debiased."""

    paper: np.ndarray
    centered: np.ndarray
    debiased: np.ndarray


def subsampled_cka(X: Array, Y: Array, members_RN: np.ndarray) -> SubsampledCKA:
    """Linear CKA of some of the rows, for several choices of rows.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        members_RN: Which rows are in each subsample, as true and false or 1 and 0; at least 4 in each.

    Raises:
        InputError: The rows cannot be compared.
    """
    X_ND, Y_NE = (rows.double() / rows.double().square().sum(1).mean().sqrt() for rows in paired(X, Y))
    members = torch.as_tensor(members_RN, dtype=torch.float64, device=X_ND.device)
    kernels = X_ND @ X_ND.T, Y_NE @ Y_NE.T
    pairs = ((0, 1), (0, 0), (1, 1))
    found = []
    for products in (_plain, _centered, _unbiased):
        cross, own, other = (products(kernels[one], kernels[two], members) for one, two in pairs)
        found.append((cross / (own * other).clamp_min(1e-300).sqrt()).cpu().numpy())
    return SubsampledCKA(*found)


def _plain(K_NN: torch.Tensor, L_NN: torch.Tensor, members_RN: torch.Tensor) -> torch.Tensor:
    """⟨K, L⟩ over the members of each subsample."""
    return ((members_RN @ (K_NN * L_NN)) * members_RN).sum(1)


def _sums(
    K_NN: torch.Tensor, L_NN: torch.Tensor, members_RN: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Members, ⟨K1, L1⟩, and the sums of all entries of K and of L, in each subsample."""
    rows_K, rows_L = ((members_RN @ each) * members_RN for each in (K_NN, L_NN))
    return members_RN.sum(1), (rows_K * rows_L).sum(1), rows_K.sum(1), rows_L.sum(1)


def _centered(K_NN: torch.Tensor, L_NN: torch.Tensor, members_RN: torch.Tensor) -> torch.Tensor:
    """⟨HKH, L⟩: the kernels of rows without their mean."""
    count, rows, all_K, all_L = _sums(K_NN, L_NN, members_RN)
    return _plain(K_NN, L_NN, members_RN) - 2 / count * rows + all_K * all_L / count**2


def _unbiased(K_NN: torch.Tensor, L_NN: torch.Tensor, members_RN: torch.Tensor) -> torch.Tensor:
    """The unbiased estimate of HSIC (Song et al. 2012, equation 5), but for a factor of the number of members."""
    K_NN, L_NN = (each - torch.diag(each.diag()) for each in (K_NN, L_NN))
    count, rows, all_K, all_L = _sums(K_NN, L_NN, members_RN)
    return _plain(K_NN, L_NN, members_RN) + all_K * all_L / ((count - 1) * (count - 2)) - 2 / (count - 2) * rows


ROWS, DRAWS, LEVEL = 2000, 200, 0.95
MOST_ROWS = 10_000  # items × items: 800 MB a matrix
FEWEST_DRAWS = 20  # the 95th percentile of fewer is their largest


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A value of CKA with its interval and its null."""

    form: Form
    """which of the three forms it is"""
    value: float
    """of the rows as they are paired"""
    low: float
    """where the interval begins: with other items of the same kind, as many, the value would hardly be lower"""
    high: float
    """where it ends"""
    null_mean: float
    """the mean over shuffled pairs"""
    null_high: float
    """the 95th percentile over shuffled pairs: what chance reaches once in twenty times"""
    p: float
    """how likely chance is to reach the value"""
    expected_null: float
    """what ``null_mean`` is on average, by formula: far from 0 in the biased forms, 0 in the debiased one"""
    level: float
    """the share of cases in which such an interval holds what it is about"""
    rows: int
    """items it was computed on"""
    of: int
    """items there were"""
    draws: int
    """shuffles for the null, and resamplings for the interval"""

    @property
    def above_chance(self) -> bool:
        """Whether the value is above what chance reaches once in twenty times."""
        return self.value > self.null_high

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
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
) -> Judged:
    """CKA of two spaces, with the null of shuffled pairs and an interval.

    The interval of the debiased form is about all items there could be; those of the biased forms, whose values depend
    on how many items there are, about other samples of as many.

    >>> X, noise = np.random.default_rng(0).normal(size=(2, 300, 20))
    >>> found = judge(X, X + noise)
    >>> found.low < 0.5 < found.high, round(found.p, 3), found.expected_null
    (True, 0.005, 0.0)
    >>> judge(X, noise, form="centered").above_chance
    False

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        form: Which CKA: ``paper``, ``centered`` or ``debiased``.
        rows: The most items it is computed on; of more, as many are drawn.
        draws: Shuffles for the null, and resamplings for the interval.
        level: The share of cases in which the interval is to hold the value.
        seed: Decides which items, shuffles and resamplings.

    Raises:
        ConfigError: No such form, or a number that will not do.
        InputError: The rows will not do.
    """
    _check(form, rows, draws, level)
    X_ND, Y_NE = paired(X, Y)
    count = len(X_ND)
    if count > rows:
        drawn = random_stream(seed, "compare", "rows").choice(count, size=rows, replace=False)
        chosen = torch.from_numpy(np.sort(drawn)).to(X_ND.device)
        X_ND, Y_NE = X_ND[chosen], Y_NE[chosen]
    K_NN, L_NN = kernels(X_ND, Y_NE, form)
    value = max(-1.0, min(1.0, float((K_NN * L_NN).sum())))
    expected = 0.0 if form == "debiased" else expected_product(K_NN, L_NN)
    K_NN, L_NN = K_NN.float(), L_NN.float()  # seven digits are enough for what is drawn
    null = shuffled(K_NN, L_NN, draws, random_stream(seed, "compare", "null"))
    low, high = interval(K_NN, L_NN, draws, level, random_stream(seed, "compare", "interval"))
    return Judged(
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


def judge_layers(
    one: Representations,
    other: Representations,
    *,
    form: Form = "debiased",
    rows: int = ROWS,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
    progress: Progress = SILENT,
) -> dict[int, Judged]:
    """:func:`judge` for every layer that both have, on the same items; options are its own.

    Raises:
        ConfigError: No such form, a number that will not do, or no layer in common.
        InputError: The rows will not do.
    """
    layers = [layer for layer in one.layers if layer in other.layers]
    if not layers:
        raise ConfigError(
            f"layers {list(one.layers)} and {list(other.layers)} have none in common",
            remedy="extract the same layers of both",
        )
    found = {}
    with progress.task("judge layers", total=len(layers), unit="layers") as task:
        for layer in layers:
            try:
                found[layer] = judge(
                    one[layer], other[layer], form=form, rows=rows, draws=draws, level=level, seed=seed
                )
            except InputError as error:
                raise InputError(f"layer {layer}: {error.problem}", remedy=error.remedy, code=error.code) from error
            task.advance()
    return found


def interval(
    K_NN: torch.Tensor, L_NN: torch.Tensor, draws: int, level: float, chance: np.random.Generator
) -> tuple[float, float]:
    """Between which values the middle share of all resamplings lies."""
    values_R = resampled(K_NN, L_NN, draws, chance)
    low, high = np.quantile(values_R, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def resampled(K_NN: torch.Tensor, L_NN: torch.Tensor, draws: int, chance: np.random.Generator) -> np.ndarray:
    """The cosine of K and L for so many resamplings of the items, in which no item is its own neighbor."""
    N = len(K_NN)
    drawn_RN = torch.from_numpy(chance.multinomial(N, np.full(N, 1 / N), size=draws)).to(K_NN)
    cross_R, own_R, other_R = (
        _resampled_product(A_NN * B_NN, drawn_RN) for A_NN, B_NN in ((K_NN, L_NN), (K_NN, K_NN), (L_NN, L_NN))
    )
    norm_R = own_R.sqrt() * other_R.sqrt()
    told_R = norm_R > 0  # of very few items, a resampling may hold one alone, which has nothing to be compared with
    values_R: np.ndarray = (cross_R[told_R] / norm_R[told_R]).clamp(-1, 1).cpu().numpy()
    return values_R if len(values_R) else np.array([-1.0, 1.0])


def _resampled_product(product_NN: torch.Tensor, drawn_RN: torch.Tensor) -> torch.Tensor:
    """Σ of the products of the items drawn; two draws of the same item are no pair."""
    N = len(product_NN)
    diagonal_N = product_NN.diagonal().clone()
    pairs_R = ((drawn_RN @ product_NN.fill_diagonal_(0)) * drawn_RN).sum(dim=1)
    # The draws of two items, multiplied, are 1 - 1 / N on average; in float64, so that equal sides have a cosine of 1.
    return pairs_R.double() * (N / (N - 1)) + (drawn_RN @ diagonal_N).double()


def _check(form: str, rows: int, draws: int, level: float) -> None:
    check_form(form)
    if not FEWEST_ROWS <= rows <= MOST_ROWS:
        raise ConfigError(f"rows={rows}", remedy=f"compare {FEWEST_ROWS} to {MOST_ROWS:,} items")
    if draws < FEWEST_DRAWS:
        raise ConfigError(f"draws={draws}", remedy=f"draw at least {FEWEST_DRAWS} times")
    if not 0 < level < 1:
        raise ConfigError(f"level={level}", remedy="give a share such as 0.95")

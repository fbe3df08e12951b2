"""What CKA is by chance: the value when the items of one side no longer go with those of the other.

Shuffling the rows of Y reorders L = YYᵀ and leaves its norm alone: all that a shuffle changes is one sum of products,
⟨K, L⟩. Of many items in random order, moving Y by s rows against X is a shuffle as good as any, and the sums of all
N - 1 moves together are one circular correlation, for about the price of ten shuffles done one by one.

Shape legend: ``N`` items, ``D`` steps beside the diagonal, ``F`` frequencies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from isoglot.compare.kernel_alignment import u_centered
from isoglot.compare.pairs import centered_pair, paired, refuse_vanished, unit_norm

if TYPE_CHECKING:
    from isoglot.align.rows import Array
    from isoglot.compare.forms import Form

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

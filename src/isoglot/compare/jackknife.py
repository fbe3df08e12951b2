"""How much a number hangs on the sentences it was measured on: measured again without each tenth of them.

It works for any number that does not jump with a sentence more or less, and it says nothing of what else could have
come out differently, such as the training of the encoders.

Linear CKA of some rows, and of all but each group of them, from one pair of kernel matrices.

With a group of rows gone, the products and the row sums that the three forms are made of lose what the group had in
them; nothing is multiplied again. So ten values more cost little beside the one.

Shape legend: ``N`` items, ``D`` and ``E`` columns, ``G`` rows of a group, ``M`` rows that are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from isoglot.compare.measures.cka import FORMS, Form
from isoglot.compare.measures.paired_rows import centered, paired, unit_norm
from isoglot.core.errors import InputError
from isoglot.core.rng import random_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isoglot.core.arrays import Array

GROUPS = 10
"""Groups of sentences that are left out one at a time."""
FEWEST = 4 * GROUPS
"""Fewer sentences have no interval."""
_T_95 = 2.262  # Student's t with as many degrees of freedom as groups less one


def groups_of(count: int, seed: int = 0) -> list[np.ndarray]:
    """The row numbers of each group, drawn at random; none where there are too few rows."""
    import numpy as np

    if count < FEWEST:
        return []
    return np.array_split(random_stream(seed, "jackknife").permutation(count), GROUPS)


def half_width(replicates: Sequence[float]) -> float:
    """Half of the 95 % interval of a number that is known without each group.

    >>> round(half_width([0.9, 1.0, 1.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 3)
    0.303
    """
    count = len(replicates)
    middle = sum(replicates) / count
    return float(_T_95 * ((count - 1) / count * sum((value - middle) ** 2 for value in replicates)) ** 0.5)


class LeftOut(NamedTuple):
    """The three forms of all rows, and of the rows without each group."""

    values: dict[Form, float]
    without: dict[Form, list[float]]


def linear_forms(X: Array, Y: Array, groups: Sequence[np.ndarray] = ()) -> LeftOut:
    """CKA in three forms.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> found = linear_forms(X, 2 * X, [np.arange(5)])
    >>> round(found.values["debiased"], 6), round(found.without["paper"][0], 6)
    (1.0, 1.0)

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        groups: Row numbers of each group.

    Raises:
        InputError: The rows will not do, or all of a side are the same, with a group or without it.
    """
    X_ND, Y_NE = paired(X, Y)
    raw = _Kernels(unit_norm(X_ND, "X"), unit_norm(Y_NE, "Y"))
    moved = _Kernels(centered(X_ND, "X"), centered(Y_NE, "Y"))
    kernels: dict[Form, _Kernels] = {"paper": raw, "centered": moved, "debiased": moved.without_diagonal()}
    parts = [torch.from_numpy(group).to(X_ND.device) for group in groups]
    return LeftOut(
        {form: kernels[form].alike(form, None) for form in FORMS},
        {form: [kernels[form].alike(form, part) for part in parts] for form in FORMS},
    )


class _Kernels:
    """K = XXᵀ and L = YYᵀ, and what CKA needs of them."""

    def __init__(self, X_ND: torch.Tensor, Y_NE: torch.Tensor) -> None:
        self._set(X_ND @ X_ND.T, Y_NE @ Y_NE.T)

    def _set(self, K_NN: torch.Tensor, L_NN: torch.Tensor) -> None:
        self.both = (K_NN, L_NN)
        self.products = {(a, b): self.both[a] * self.both[b] for a, b in ((0, 1), (0, 0), (1, 1))}
        self.totals = {pair: float(product_NN.sum()) for pair, product_NN in self.products.items()}
        self.sums = [kernel_NN.sum(dim=1) for kernel_NN in self.both]

    def without_diagonal(self) -> _Kernels:
        other = object.__new__(_Kernels)
        other._set(*(kernel_NN.clone().fill_diagonal_(0) for kernel_NN in self.both))
        return other

    def alike(self, form: Form, group_G: torch.Tensor | None) -> float:
        """CKA of the rows that are not in the group."""
        sums = self.sums
        count = len(sums[0])
        if group_G is not None:
            sums = [each - kernel_NN[:, group_G].sum(dim=1) for each, kernel_NN in zip(sums, self.both, strict=True)]
            for each in sums:
                each[group_G] = 0
            count -= len(group_G)
        products = {pair: self._product(form, pair, sums, count, group_G) for pair in self.totals}
        for side, name in enumerate("XY"):
            if products[side, side] <= 1e-13 * self.totals[side, side]:
                raise InputError(
                    f"{name} has no similarities left to compare in {count} rows", remedy="give items that differ"
                )
        cosine: float = products[0, 1] / (products[0, 0] ** 0.5 * products[1, 1] ** 0.5)
        return max(-1.0, min(1.0, cosine))

    def _product(
        self, form: Form, pair: tuple[int, int], sums: Sequence[torch.Tensor], count: int, group_G: torch.Tensor | None
    ) -> float:
        inner = self.totals[pair]
        if group_G is not None:
            rows_GN = self.products[pair][group_G]
            inner += float(rows_GN[:, group_G].sum()) - 2 * float(rows_GN.sum())
        if form == "paper":
            return inner
        one, other = (sums[side] for side in pair)
        means, whole = float(one @ other), float(one.sum() * other.sum())
        if form == "centered":
            return inner - 2 * means / count + whole / count**2
        return inner - 2 * means / (count - 2) + whole / ((count - 1) * (count - 2))

"""Procrustes distance: the difference in shape after an optimal rotation (Williams et al. 2021; Ding et al. 2021).

Shape legend: ``N`` items, ``D`` columns of X, ``E`` columns of Y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from isoglot.compare.measures.declaration import Halves, Measure, unchanged_by
from isoglot.compare.measures.paired_rows import centered, narrowed, paired

if TYPE_CHECKING:
    from isoglot.core.arrays import Array

_SMALL = 1e-3  # of 1 - cosine: above it, the angle is as precise as the cosine


def procrustes_distance(X: Array, Y: Array) -> float:
    """Angle between two spaces, centered and with Frobenius norm 1, after the optimal rotation of X onto Y.

    The angular distance arccos ‖XᵀY‖_*, in radians: 0 for the same shape, π/2 for spaces without a common direction. It
    is a metric. The narrower space is padded with zeros.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.

    Returns:
        An angle in radians, from 0 to π / 2.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    >>> bool(procrustes_distance(X, X @ turn) < 1e-3)
    True

    Raises:
        InputError: The rows are invalid, or those of one side are all equal.
    """
    X_ND, Y_NE = paired(X, Y)
    return angle(CenteredShape.of(X_ND, "X"), CenteredShape.of(Y_NE, "Y"))


@dataclass(frozen=True)
class CenteredShape:
    """A space with mean 0 and Frobenius norm 1, in at most N columns."""

    name: str
    rows_ND: torch.Tensor

    @classmethod
    def of(cls, rows_ND: torch.Tensor, name: str) -> CenteredShape:
        """Centered shape of a space.

        Raises:
            InputError: All rows are equal.
        """
        return cls(name, narrowed(centered(rows_ND, name)))

    def without(self, rows_G: torch.Tensor) -> CenteredShape:
        """The same without some items."""
        left_N = torch.ones(len(self.rows_ND), dtype=torch.bool, device=rows_G.device)
        left_N[rows_G] = False
        return CenteredShape.of(self.rows_ND[left_N], self.name)


def angle(own: CenteredShape, other: CenteredShape) -> float:
    """Angle between two shapes after the optimal rotation."""
    X_ND, Y_NE = sorted((own.rows_ND, other.rows_ND), key=lambda side: side.shape[1])
    product_DE = X_ND.T @ Y_NE
    left = 1 - float(torch.linalg.svdvals(product_DE).sum())
    if left > _SMALL:
        chord = math.sqrt(2 * left)
    else:  # the cosine of a small angle is 1 up to rounding: use the chord
        U_DD, _, Vt_DE = torch.linalg.svd(product_DE, full_matrices=False)
        chord = float((X_ND @ (U_DD @ Vt_DE) - Y_NE).norm())
    return min(2 * math.asin(min(chord / 2, 1.0)), math.pi / 2)


def angle_shuffled(own: CenteredShape, other: CenteredShape, order_N: torch.Tensor) -> float:
    """The same with the items of the other shape permuted."""
    return angle(own, CenteredShape(other.name, other.rows_ND[order_N]))


PROCRUSTES = Measure(
    name="procrustes",
    title="Procrustes angle",
    meaning="How far apart the spaces are in shape once one is turned onto the other, as an angle in radians.",
    formula=(
        r"\arccos \frac{\lVert \tilde X^\top \tilde Y \rVert_*}{\lVert \tilde X \rVert_F \, \lVert \tilde Y \rVert_F}"
    ),
    use="Where a metric is needed, for clustering or averaging spaces, or how well a rotation can align them.",
    function=procrustes_distance,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    kind="distance",
    ideal=0.0,
    bounds=(0.0, math.pi / 2),
    halves=Halves(of=CenteredShape.of, alike=angle, shuffled=angle_shuffled),
)

"""How far two spaces are in shape once one is turned onto the other (Williams et al. 2021; Ding et al. 2021).

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

_SMALL = 1e-3  # of 1 less the cosine: above it, the angle is as sure as the cosine


def procrustes_distance(X: Array, Y: Array) -> float:
    """The angle between two spaces, both centered and of Frobenius norm 1, once X is turned onto Y as well as can be.

    The angular distance arccos ‖XᵀY‖_*, in radians: 0 for the same shape, π/2 for spaces without a direction in common.
    It is a metric: the way over a third space is never shorter. The narrower space is filled up with zeros.

    Raises:
        InputError: The rows will not do, or all of a side are the same.
    """
    X_ND, Y_NE = paired(X, Y)
    return angle(CenteredShape.of(X_ND, "X"), CenteredShape.of(Y_NE, "Y"))


@dataclass(frozen=True)
class CenteredShape:
    """A space with mean 0 and Frobenius norm 1, in as few columns as its rows can need."""

    name: str
    rows_ND: torch.Tensor

    @classmethod
    def of(cls, rows_ND: torch.Tensor, name: str) -> CenteredShape:
        """The shape of a space.

        Raises:
            InputError: All rows are the same.
        """
        return cls(name, narrowed(centered(rows_ND, name)))

    def without(self, rows_G: torch.Tensor) -> CenteredShape:
        """The same of all items but some."""
        left_N = torch.ones(len(self.rows_ND), dtype=torch.bool, device=rows_G.device)
        left_N[rows_G] = False
        return CenteredShape.of(self.rows_ND[left_N], self.name)


def angle(own: CenteredShape, other: CenteredShape) -> float:
    """The angle between two shapes once one is turned onto the other."""
    X_ND, Y_NE = sorted((own.rows_ND, other.rows_ND), key=lambda side: side.shape[1])
    product_DE = X_ND.T @ Y_NE
    left = 1 - float(torch.linalg.svdvals(product_DE).sum())
    if left > _SMALL:
        chord = math.sqrt(2 * left)
    else:  # the cosine of a small angle is 1 up to rounding
        U_DD, _, Vt_DE = torch.linalg.svd(product_DE, full_matrices=False)
        chord = float((X_ND @ (U_DD @ Vt_DE) - Y_NE).norm())
    return min(2 * math.asin(min(chord / 2, 1.0)), math.pi / 2)


def angle_shuffled(own: CenteredShape, other: CenteredShape, order_N: torch.Tensor) -> float:
    """The same with the items of the other in another order."""
    return angle(own, CenteredShape(other.name, other.rows_ND[order_N]))


PROCRUSTES = Measure(
    name="procrustes",
    title="Procrustes angle",
    meaning="How far apart the spaces are in shape once one is turned onto the other, as an angle in radians.",
    function=procrustes_distance,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    kind="distance",
    ideal=0.0,
    bounds=(0.0, math.pi / 2),
    halves=Halves(of=CenteredShape.of, alike=angle, shuffled=angle_shuffled),
)

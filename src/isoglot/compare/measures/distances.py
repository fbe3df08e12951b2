"""Distance correlation: whether items that are far apart in one space are so in the other (Székely et al. 2007).

Shape legend: ``N`` items, ``D`` columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from isoglot.compare.measures.declaration import Halves, Measure, unchanged_by
from isoglot.compare.measures.paired_rows import centered, narrowed, paired, refuse_equal_rows

if TYPE_CHECKING:
    from isoglot.core.arrays import Array

DISTANCE_ROWS = 2000  # distances are computed without matrix products, which would round those of close items


def distance_correlation(X: Array, Y: Array) -> float:
    """Correlation of the distances in X with those in Y, each minus the means of its row and column.

    It is 0 in the limit of many items if and only if the spaces are independent, and 1 for the same shape. With few
    items and many columns it is close to 1 for any two spaces.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.

    Returns:
        From 0 to 1; 1 where the distances are proportional.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> round(distance_correlation(X, 3 * X), 6)
    1.0

    Raises:
        InputError: The rows are invalid, or those of one side are all equal.
    """
    X_ND, Y_NE = paired(X, Y)
    return distances_alike(CenteredDistances.of(X_ND, "X"), CenteredDistances.of(Y_NE, "Y"))


def distances(rows_ND: torch.Tensor, name: str) -> torch.Tensor:
    """Euclidean distances of all rows (N × N) from each other, up to scale.

    Raises:
        InputError: All rows are equal.
    """
    rows_ND = narrowed(centered(rows_ND, name))
    return torch.cdist(rows_ND, rows_ND, compute_mode="donot_use_mm_for_euclid_dist")


@dataclass(frozen=True)
class CenteredDistances:
    """Distances of a space, and the same without the means of rows and columns, with Frobenius norm 1."""

    name: str
    distances_NN: torch.Tensor
    centered_NN: torch.Tensor

    @classmethod
    def of(cls, rows_ND: torch.Tensor, name: str) -> CenteredDistances:
        """Centered distances of a space.

        Raises:
            InputError: All rows are equal.
        """
        return cls._of(distances(rows_ND, name), name)

    @classmethod
    def _of(cls, distances_NN: torch.Tensor, name: str) -> CenteredDistances:
        refuse_equal_rows(distances_NN, name)
        mean_N = distances_NN.mean(dim=0)
        centered_NN = distances_NN - mean_N - mean_N[:, None] + mean_N.mean()
        return cls(name, distances_NN, centered_NN / centered_NN.norm())

    def without(self, rows_G: torch.Tensor) -> CenteredDistances:
        """The same without some items."""
        left_N = torch.ones(len(self.distances_NN), dtype=torch.bool, device=rows_G.device)
        left_N[rows_G] = False
        return self._of(self.distances_NN[left_N][:, left_N], self.name)


def distances_alike(own: CenteredDistances, other: CenteredDistances) -> float:
    """Distance correlation of two spaces."""
    product = float(own.centered_NN.flatten() @ other.centered_NN.flatten())
    return math.sqrt(min(max(product, 0.0), 1.0))


def distances_shuffled(own: CenteredDistances, other: CenteredDistances, order_N: torch.Tensor) -> float:
    """The same with the items of the other space permuted."""
    moved_NN = other.centered_NN[order_N][:, order_N]
    return distances_alike(own, CenteredDistances(other.name, other.distances_NN, moved_NN))


DISTANCE_CORRELATION = Measure(
    name="distance-correlation",
    title="Distance correlation",
    meaning="Whether items that are far apart in one space are far apart in the other.",
    formula=(
        r"\sqrt{\frac{\langle A, B \rangle}{\lVert A \rVert_F \, \lVert B \rVert_F}}, \quad A = H a H, \quad a_{ij} ="
        r" \lVert x_i - x_j \rVert"
    ),
    use="Where the relation of the spaces may be nonlinear; not with few items and many columns.",
    function=distance_correlation,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    rows=DISTANCE_ROWS,
    halves=Halves(of=CenteredDistances.of, alike=distances_alike, shuffled=distances_shuffled),
)

"""Measures by distances: distance correlation, Procrustes distance and the Gromov-Wasserstein distance.

- Distance correlation: whether items that are far apart in one space are so in the other (Székely et al. 2007).
- Procrustes distance: the difference in shape after an optimal rotation (Williams et al. 2021; Ding et al. 2021).
- Gromov-Wasserstein distance: how far distances differ under the best matching of the items (Mémoli 2011; for
  embeddings of two languages Alvarez-Melis & Jaakkola 2018). Items are matched by their distances to the others alone,
  so isometric copies are at distance 0 in whatever order. Euclidean distances are conditionally negative definite, so
  the loss is concave in the coupling (Maron & Lipman 2018): some optimal coupling is a permutation, and a Frank-Wolfe
  step goes from one permutation to the next, by an assignment that POT (Flamary et al. 2021) solves. The problem is
  NP-hard: the value is that of a local optimum, an upper bound. The given pairing is among the starts; of those tried,
  it led to the lowest value wherever the spaces had much in common (docs/LOG.md).

Shape legend: ``N`` items, ``D`` columns of X, ``E`` columns of Y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np
import torch

from isoglot.compare.measures.measure import (
    Halves,
    Measure,
    centered,
    narrowed,
    paired,
    refuse_equal_rows,
    unchanged_by,
)
from isoglot.core.optional import import_part

if TYPE_CHECKING:
    from isoglot.core.arrays import Array


# --- distance correlation ---


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


# --- Procrustes distance ---


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


# --- Gromov-Wasserstein distance ---


TRANSPORT_ROWS = 500  # an assignment costs about N³


def gromov_wasserstein(X: Array, Y: Array) -> float:
    """Gromov-Wasserstein distance of order 2: 0 if one space is the other rotated, translated, scaled or reordered.

    The distances of each space are divided by their root mean square, and all items have the same weight. The lowest
    value of three starts is returned: items matched as given, by their mean distance from the others, and by all of
    their distances in order (the first and third lower bounds of Mémoli 2011).

    Args:
        X: N × D.
        Y: N × E, the same items in the same order; in another order the value may be higher, but not if it is 0.

    Returns:
        0 or more; 0 for the same distances.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> round(gromov_wasserstein(X, 2 * X[::-1] + 1), 6)
    0.0

    Raises:
        InputError: The rows are invalid, or those of one side are all equal.
        MissingPartError: POT is not installed.
    """
    own_NN, other_NN = (np.asarray(distances(side, name).cpu()) for side, name in zip(paired(X, Y), "XY", strict=True))
    own_NN, other_NN = own_NN / sqrt((own_NN**2).mean()), other_NN / sqrt((other_NN**2).mean())
    in_order = np.sort(own_NN, axis=1) @ np.sort(other_NN, axis=1).T
    on_average = np.outer(own_NN.mean(axis=1), other_NN.mean(axis=1))
    starts = (np.arange(len(own_NN)), _assigned(in_order), _assigned(on_average))
    return sqrt(min(_descend(own_NN, other_NN, start) for start in starts))


def _descend(own_NN: np.ndarray, other_NN: np.ndarray, order_N: np.ndarray) -> float:
    """Mean squared difference of the distances at the local optimum that a matching leads to."""
    best = inf
    while (loss := float(((own_NN - other_NN[order_N][:, order_N]) ** 2).mean())) < best:
        best, order_N = loss, _assigned(own_NN @ other_NN[order_N])
    return best


def _assigned(gain_NN: np.ndarray) -> np.ndarray:
    """The item of Y for every item of X, each once, with the largest total gain."""
    plan_NN: np.ndarray = import_part("ot").emd([], [], gain_NN.max() - gain_NN)
    order_N: np.ndarray = plan_NN.argmax(axis=1)
    return order_N


GROMOV_WASSERSTEIN = Measure(
    name="gromov-wasserstein",
    title="Gromov-Wasserstein distance",
    meaning="How far the distances between items differ under the best matching of items that is found.",
    formula=(
        r"\min_{\pi} \sqrt{\frac{1}{N^2} \sum_{i,j} (a_{ij} - b_{\pi(i) \pi(j)})^2}, \quad a_{ij} = \frac{\lVert x_i -"
        r" x_j \rVert}{\sqrt{\operatorname{mean}_{kl} \lVert x_k - x_l \rVert^2}}, \quad \pi = \text{permutation of"
        " the items}"
    ),
    use="To ask whether two spaces are isometric whichever item is which; an upper bound, since the search is local.",
    function=gromov_wasserstein,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    kind="distance",
    ideal=0.0,
    bounds=(0.0, sqrt(2)),
    rows=TRANSPORT_ROWS,
    library="ot",
)

"""How far two spaces are in shape once one is turned onto the other (Williams et al. 2021; Ding et al. 2021).

Shape legend: ``N`` items, ``D`` columns of X, ``E`` columns of Y.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from isoglot.compare.declaration import Measure, unchanged_by
from isoglot.compare.pairs import centred_pair, narrowed

if TYPE_CHECKING:
    from isoglot.align.rows import Array


def procrustes_distance(X: Array, Y: Array) -> float:
    """The angle between two spaces, both centred and of Frobenius norm 1, once X is turned onto Y as well as can be.

    The angular distance arccos ‖XᵀY‖_*, in radians: 0 for the same shape, π/2 for spaces without a direction in common.
    It is a metric: the way over a third space is never shorter. The narrower space is filled up with zeros.

    Raises:
        InputError: The rows will not do, or all of a side are the same.
    """
    X_ND, Y_NE = (narrowed(side) for side in centred_pair(X, Y))
    if X_ND.shape[1] > Y_NE.shape[1]:
        X_ND, Y_NE = Y_NE, X_ND
    U_DD, _, Vt_DE = torch.linalg.svd(X_ND.T @ Y_NE, full_matrices=False)
    # By the chord: the cosine of a small angle is 1 up to rounding.
    chord = float((X_ND @ (U_DD @ Vt_DE) - Y_NE).norm())
    return min(2 * math.asin(min(chord / 2, 1.0)), math.pi / 2)


PROCRUSTES = Measure(
    name="procrustes",
    title="Procrustes angle",
    meaning="How far apart the spaces are in shape once one is turned onto the other, as an angle in radians.",
    function=procrustes_distance,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    kind="distance",
    ideal=0.0,
    bounds=(0.0, math.pi / 2),
)

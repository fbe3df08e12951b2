"""Orthogonal Procrustes: the rotation (or reflection) that brings X closest to Y (Schönemann 1966).

Shape legend: ``N`` pairs, ``D`` columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from isoglot.align.maps.estimator import MatrixMap, matrix_learned
from isoglot.align.maps.pair_moments import MomentMap
from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from isoglot.align.maps.pair_moments import PairMoments
    from isoglot.core.arrays import Array


@dataclass(eq=False, kw_only=True)
class Procrustes(MomentMap, MatrixMap):
    """The orthogonal matrix W that minimizes ‖XW − Y‖: W = UVᵀ where UΣVᵀ is the SVD of XᵀY.

    Lengths and angles are preserved. It neither centers nor scales: put :class:`Center` or
    :class:`IterativeNormalization` before it with :class:`Steps`.

    Learns ``W_`` (D × D) and ``singular_values_`` (D) of XᵀY over N: where they are zero, the pairs do not determine
    the rotation.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> quarter_turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> np.allclose(Procrustes().fit(X, X @ quarter_turn).W_, quarter_turn)
    True
    """

    singular_values_: Array = field(init=False, repr=False)

    def _solve(self, moments: PairMoments) -> dict[str, Any]:
        product_DD = moments.product("xy")
        if product_DD.shape[0] != product_DD.shape[1]:
            widths = " columns and Y ".join(map(str, product_DD.shape))
            raise InputError(
                f"X has {widths}",
                remedy="Procrustes needs the same number of columns; LeastSquares does not",
                code="input.shape",
            )
        W_DD, values_D = rotation(product_DD)
        return matrix_learned(W_DD) | {"singular_values_": values_D / moments.count}

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND @ self._tensor("W_", rows_ND).T


def rotation(product_DD: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """UVᵀ and the singular values of XᵀY; with orthonormal rows or columns if the widths differ."""
    U_DD, values_D, Vt_DD = torch.linalg.svd(product_DD, full_matrices=False)
    return U_DD @ Vt_DD, values_D

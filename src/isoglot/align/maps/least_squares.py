"""Unconstrained linear maps: least squares and ridge regression.

Both solve the normal equations in float64, so moments accumulated in batches suffice; that costs half the digits for an
ill-conditioned X, for which a penalty is advisable anyway.

Shape legend: ``N`` pairs, ``D`` columns of X, ``E`` columns of Y.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch

from isoglot.align.maps.estimator import MatrixMap, bounds, matrix_learned
from isoglot.align.maps.pair_moments import PairMoments, moments_of_pairs, root_powers

if TYPE_CHECKING:
    from isoglot.core.progress import Progress


@dataclass(eq=False, kw_only=True)
class _LinearMap(MatrixMap):
    same_width: ClassVar[bool] = False

    def fit_moments(self, moments: PairMoments) -> Self:
        """Fit to moments accumulated in batches; learned attributes are torch tensors, float64."""
        self.check_options()
        W_DE = self._solve(moments)
        self._keep(matrix_learned(W_DE), W_DE)
        return self

    def _learn(
        self, rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor, progress: Progress
    ) -> dict[str, Any]:
        return matrix_learned(self._solve(moments_of_pairs(rows_ND, others_ME, pairs_P2)))

    @abstractmethod
    def _solve(self, moments: PairMoments) -> torch.Tensor:
        """W, D × E."""


@dataclass(eq=False, kw_only=True)
class LeastSquares(_LinearMap):
    """The matrix W that minimizes ‖XW − Y‖ (Mikolov et al. 2013); the one of minimum norm if there are many.

    There is no intercept: put :class:`Center` before it with :class:`Steps`. X and Y may have different widths; with E
    ≥ D and a W of full rank ``inverse_transform`` inverts ``transform``.
    """

    def _solve(self, moments: PairMoments) -> torch.Tensor:
        (inverse_DD,) = root_powers(moments.product("xx"), -1.0)
        return inverse_DD @ moments.product("xy")


@dataclass(eq=False, kw_only=True)
class Ridge(_LinearMap):
    """Ridge regression: minimizes ‖XW − Y‖² + penalty · ‖W‖².

    Args:
        penalty: Weight of ‖W‖² against the sum of squared errors over all pairs.
    """

    penalty: float = field(default=1.0, metadata=bounds(above=0))

    def _solve(self, moments: PairMoments) -> torch.Tensor:
        gram_DD = moments.product("xx")
        gram_DD = gram_DD + self.penalty * torch.eye(len(gram_DD), dtype=gram_DD.dtype, device=gram_DD.device)
        W_DE: torch.Tensor = torch.linalg.solve(gram_DD, moments.product("xy"))
        return W_DE

"""Unconstrained linear maps: least squares and ridge regression.

Both solve the normal equations in float64, so moments accumulated in batches suffice; that costs half the digits for an
ill-conditioned X, for which a penalty is advisable anyway.

Shape legend: ``N`` pairs, ``D`` columns of X, ``E`` columns of Y.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from isoglot.align.maps.estimator import MatrixMap, bounds, matrix_learned
from isoglot.align.maps.pair_moments import MomentMap, root_powers

if TYPE_CHECKING:
    from isoglot.align.maps.pair_moments import PairMoments


@dataclass(eq=False, kw_only=True)
class LeastSquares(MomentMap, MatrixMap):
    """The matrix W that minimizes ‖XW − Y‖ (Mikolov et al. 2013); the one of minimum norm if there are many.

    There is no intercept: put :class:`Center` before it with :class:`Steps`. X and Y may have different widths; with E
    ≥ D and a W of full rank ``inverse_transform`` inverts ``transform``.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> Y = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> bool(np.allclose(LeastSquares().fit(X, Y).transform(X), Y, atol=0.05))
    True
    """

    same_width: ClassVar[bool] = False

    def _solve(self, moments: PairMoments) -> dict[str, Any]:
        (inverse_DD,) = root_powers(moments.product("xx"), -1.0)
        return matrix_learned(inverse_DD @ moments.product("xy"))


@dataclass(eq=False, kw_only=True)
class Ridge(MomentMap, MatrixMap):
    """Ridge regression: minimizes ‖XW − Y‖² + penalty · ‖W‖².

    Args:
        penalty: Weight of ‖W‖² against the sum of squared errors over all pairs.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> Y = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> bool(np.allclose(Ridge(penalty=0.1).fit(X, Y).transform(X), Y, atol=0.05))
    True
    """

    same_width: ClassVar[bool] = False

    penalty: float = field(default=1.0, metadata=bounds(above=0))

    def _solve(self, moments: PairMoments) -> dict[str, Any]:
        gram_DD = moments.product("xx")
        gram_DD = gram_DD + self.penalty * torch.eye(len(gram_DD), dtype=gram_DD.dtype, device=gram_DD.device)
        return matrix_learned(torch.linalg.solve(gram_DD, moments.product("xy")))

"""Normalization steps before a map: centering, unit length, both at once (Zhang et al. 2019), and whitening.

Shape legend: ``N`` rows, ``D`` columns, ``R`` rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch

from isoglot.align.maps.closed_form import PairMoments, penalized, rank
from isoglot.align.maps.estimator import Step, bounds
from isoglot.core.arrays import Array, exact, unit
from isoglot.core.errors import InputError


@dataclass(eq=False, kw_only=True)
class Center(Step):
    """Subtract the mean. Learns ``mean_`` (D).

    >>> import numpy as np
    >>> Center().fit_transform(np.array([[1.0, 2], [3, 4]])).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """

    mean_: Array = field(init=False, repr=False)

    def _learn(self, rows_ND: torch.Tensor) -> dict[str, Any]:
        return {"mean_": exact(rows_ND).mean(dim=0)}

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND - self._tensor("mean_", rows_ND)

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND + self._tensor("mean_", rows_ND)

    def _deviation(self, rows_ND: torch.Tensor) -> float:
        return float(rows_ND.mean(dim=0).norm())


@dataclass(eq=False, kw_only=True)
class UnitLength(Step):
    """Scale every row to length 1. ``inverse_transform`` cannot restore lengths and leaves rows unchanged.

    >>> import numpy as np
    >>> UnitLength().fit_transform(np.array([[3.0, 4]])).tolist()
    [[0.6, 0.8]]
    """

    needs_direction: ClassVar[bool] = True

    def _learn(self, rows_ND: torch.Tensor) -> dict[str, Any]:
        return {}

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return unit(rows_ND)

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND

    def _deviation(self, rows_ND: torch.Tensor) -> float:
        return float((rows_ND.norm(dim=1) - 1).abs().max())


@dataclass(eq=False, kw_only=True)
class IterativeNormalization(Step):
    """Unit length and zero mean at once, by alternating the two until both hold (Zhang et al. 2019).

    An orthogonal map rotates about the origin and preserves lengths, so it fits best if both spaces have zero mean and
    unit length. The paper uses five rounds; convergence can take more.

    ``inverse_transform`` restores the direction of every row exactly, with length 1.

    Args:
        tolerance: Converged when the lengths of centered rows are within this of 1.
        rounds: Maximum number of rounds.

    Learns ``means_`` (R × D), subtracted in each round; ``rounds_``; and ``residual_``, the remaining deviation of
    lengths from 1 (above ``tolerance`` if it did not converge: three unit vectors on a line cannot have zero mean).

    >>> import numpy as np
    >>> X = IterativeNormalization().fit_transform(np.random.default_rng(0).normal(size=(50, 3)) + 5)
    >>> bool(np.allclose(X.mean(0), 0, atol=1e-3) and np.allclose(np.linalg.norm(X, axis=1), 1, atol=1e-3))
    True
    """

    needs_direction: ClassVar[bool] = True

    tolerance: float = field(default=1e-5, metadata=bounds(above=0))
    rounds: int = field(default=200, metadata=bounds(least=1))

    means_: Array = field(init=False, repr=False)
    rounds_: int = field(init=False, repr=False)
    residual_: float = field(init=False, repr=False)

    def _learn(self, rows_ND: torch.Tensor) -> dict[str, Any]:
        means: list[torch.Tensor] = []
        residual = float("inf")
        current_ND = exact(rows_ND)
        while residual > self.tolerance and len(means) < self.rounds:
            current_ND = unit(current_ND)
            means.append(current_ND.mean(dim=0))
            current_ND = current_ND - means[-1]
            lengths_N = current_ND.norm(dim=1)
            if lengths_N.min() < 1e-9:
                raise InputError(
                    f"row {int(lengths_N.argmin())} of X equals the mean, so that it has no direction",
                    "give more distinct rows" if len(rows_ND) < 3 else "remove it",
                    "zero-row",
                )
            residual = float((lengths_N - 1).abs().max())
        return {"means_": torch.stack(means), "rounds_": len(means), "residual_": residual}

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        for mean_D in self._tensor("means_", rows_ND):
            rows_ND = unit(rows_ND) - mean_D
        return rows_ND

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        # The last round is u − m with ‖u‖ = 1. In earlier rounds the next one lost a length s: u = s·z + m, and ‖u‖ = 1
        # is a quadratic in s with one positive root, since ‖m‖ < 1.
        *before, last = self._tensor("means_", rows_ND)
        rows_ND = rows_ND + last
        for mean_D in reversed(before):
            rows_ND = unit(rows_ND)
            along_N1 = (rows_ND @ mean_D)[:, None]
            scale_N1 = (along_N1**2 + 1 - mean_D @ mean_D).sqrt() - along_N1
            rows_ND = scale_N1 * rows_ND + mean_D
        return rows_ND

    def _deviation(self, rows_ND: torch.Tensor) -> float:
        lengths = float((rows_ND.norm(dim=1) - 1).abs().max())
        return max(lengths, float(rows_ND.mean(dim=0).norm()))


WhiteningKind = Literal["zca", "pca"]


@dataclass(eq=False, kw_only=True)
class Whiten(Step):
    """Centered rows times a root of the inverse covariance: the covariance becomes the identity.

    Args:
        kind: ``zca``: the symmetric root C^(−½), closest to the original columns; ``pca``: columns become principal
            components, highest variance first.
        penalty: Added to the variance of every column, as a fraction of the mean variance; needed with fewer rows than
            columns.

    Learns ``mean_`` (D), ``W_`` (D × D) and ``inverse_`` (D × D).

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) @ np.diag([1.0, 2, 3])
    >>> np.cov(Whiten().fit_transform(X).T, bias=True).round(3).diagonal().tolist()
    [1.0, 1.0, 1.0]
    """

    kind: WhiteningKind = field(default="zca", metadata=bounds(choices=("zca", "pca")))
    penalty: float = field(default=0.0, metadata=bounds(least=0))

    mean_: Array = field(init=False, repr=False)
    W_: Array = field(init=False, repr=False)
    inverse_: Array = field(init=False, repr=False)

    def _learn(self, rows_ND: torch.Tensor) -> dict[str, Any]:
        moments = PairMoments().update(rows_ND, rows_ND)
        covariance_DD = penalized(moments.covariance("xx"), self.penalty)
        width, found = len(covariance_DD), rank(covariance_DD)
        if found < width:
            raise InputError(
                f"{len(rows_ND)} rows of X span {found} of {width} directions",
                "give more rows, or a penalty",
                "too-few",
            )
        values_D, vectors_DD = torch.linalg.eigh(covariance_DD)
        values_D, vectors_DD = values_D.flip(0), vectors_DD.flip(1)
        W_DD, inverse_DD = vectors_DD * values_D**-0.5, (vectors_DD * values_D**0.5).T
        if self.kind == "zca":
            W_DD, inverse_DD = W_DD @ vectors_DD.T, vectors_DD @ inverse_DD
        return {"mean_": moments.means["x"], "W_": W_DD, "inverse_": inverse_DD}

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return (rows_ND - self._tensor("mean_", rows_ND)) @ self._tensor("W_", rows_ND)

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND @ self._tensor("inverse_", rows_ND) + self._tensor("mean_", rows_ND)

    def _deviation(self, rows_ND: torch.Tensor) -> float:
        centered_ND = rows_ND - rows_ND.mean(dim=0)
        covariance_DD = centered_ND.T @ centered_ND / len(rows_ND)
        eye_DD = torch.eye(len(covariance_DD), dtype=covariance_DD.dtype, device=covariance_DD.device)
        return float((covariance_DD - eye_DD).abs().max())

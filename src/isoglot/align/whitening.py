"""Whitening: columns without correlation, each of variance 1; and the way back.

Shape legend: ``N`` rows, ``D`` columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch

from isoglot.align.estimator import Step, bounds
from isoglot.align.moments import PairMoments, penalised, rank
from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from isoglot.align.rows import Array

WhiteningKind = Literal["zca", "pca"]


@dataclass(eq=False, kw_only=True)
class Whiten(Step):
    """Centered rows times a root of the inverse covariance: the covariance becomes the identity.

    Args:
        kind: ``zca``: the symmetric root C^(−½), nearest to the columns as they are; ``pca``: the columns become the
            principal directions, the widest first.
        penalty: Added to the variance of every column, as a share of their mean variance; needed with fewer rows than
            columns.

    Learns ``mean_`` (D), ``W_`` (D × D) and ``inverse_`` (D × D).
    """

    kind: WhiteningKind = field(default="zca", metadata=bounds(choices=("zca", "pca")))
    penalty: float = field(default=0.0, metadata=bounds(least=0))

    mean_: Array = field(init=False, repr=False)
    W_: Array = field(init=False, repr=False)
    inverse_: Array = field(init=False, repr=False)

    def _learn(self, rows_ND: torch.Tensor) -> dict[str, Any]:
        moments = PairMoments().update(rows_ND, rows_ND)
        covariance_DD = penalised(moments.covariance("xx"), self.penalty)
        width, found = len(covariance_DD), rank(covariance_DD)
        if found < width:
            raise InputError(
                f"{len(rows_ND)} rows of X span {found} of {width} directions", remedy="give more rows, or a penalty"
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

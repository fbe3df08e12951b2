"""Steps before a map: centering, unit length, and both at once (Zhang et al. 2019).

Shape legend: ``N`` rows, ``D`` columns, ``R`` rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from isoglot.align.estimator import Step, bounds
from isoglot.align.rows import Array, exact, unit
from isoglot.core.errors import InputError


@dataclass(eq=False, kw_only=True)
class Center(Step):
    """The mean becomes zero. Learns ``mean_`` (D)."""

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
    """Every row has length 1. The length is lost: ``inverse_transform`` leaves the rows as they are."""

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
    """Unit length and zero mean together: the two in turn until both hold (Zhang et al. 2019).

    An orthogonal map turns about the origin and keeps lengths, so it fits best where both spaces have their mean there
    and all lengths equal. Five rounds are the paper's; until both hold, it can take more.

    ``inverse_transform`` gives back the direction of every row exactly, with length 1: only the length is lost.

    Args:
        tolerance: Both hold when the lengths of centered rows are within this of 1.
        rounds: The most rounds.

    Learns ``means_`` (R × D), what each round subtracts; ``rounds_``; and ``residual_``, how far the lengths still are
    from 1 (above ``tolerance`` where it did not get there: no set of three unit vectors on a line has mean zero).
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
                    f"row {int(lengths_N.argmin())} of X lies on the mean, and has no direction left",
                    remedy="give more rows, and none of them the same" if len(rows_ND) < 3 else "leave it out",
                )
            residual = float((lengths_N - 1).abs().max())
        return {"means_": torch.stack(means), "rounds_": len(means), "residual_": residual}

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        for mean_D in self._tensor("means_", rows_ND):
            rows_ND = unit(rows_ND) - mean_D
        return rows_ND

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        # The last round is u − m with ‖u‖ = 1. In those before, the next round lost a length s: u = s·z + m, and
        # ‖u‖ = 1 is a quadratic in s with one positive root, since ‖m‖ < 1.
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

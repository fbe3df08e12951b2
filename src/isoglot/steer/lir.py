"""Language information removal (Yang et al. 2021): every language loses its own strongest directions.

The paper takes the singular vectors of the rows of a language as they are, not centered: the first is nearly the
direction of its mean, and all of it goes, what is common to the languages too.

Shapes: ``N`` rows, ``D`` columns, ``K`` languages, ``R`` directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from isoglot.align.estimator import bounds
from isoglot.core.errors import InputError
from isoglot.steer.eraser import Eraser

if TYPE_CHECKING:
    from isoglot.align.rows import Array
    from isoglot.steer.eraser import Spread


@dataclass(eq=False, kw_only=True)
class LIR(Eraser):
    """Rows without the top singular directions of their language: ``x − C C' x``; the language must be known.

    Args:
        rank: How many directions a language loses; the paper's 1.

    Learns ``directions_`` (K × R × D), orthonormal in each language.
    """

    needs_language: ClassVar[bool] = True

    rank: int = field(default=1, metadata=bounds(least=1))

    directions_: Array = field(init=False, repr=False)

    def _learn(self, spread: Spread) -> dict[str, Any]:
        width = spread.means_KD.shape[1]
        if self.rank > width:
            raise InputError(f"{self.rank} directions of rows with {width} columns", remedy=f"give {width} or less")
        found = []
        for count, mean_D, covariance_DD in zip(spread.counts_K, spread.means_KD, spread.covariances, strict=True):
            # The rows' singular vectors are the eigenvectors of X'X / n: the covariance, with the mean put back.
            moment_DD = covariance_DD * ((count - 1).clamp(min=1) / count) + torch.outer(mean_D, mean_D)
            _, vectors_DD = torch.linalg.eigh(moment_DD)
            found.append(vectors_DD[:, -self.rank :].flip(1).T)
        return {"directions_": torch.stack(found)}

    def _apply(self, rows_ND: torch.Tensor, which_N: torch.Tensor | None) -> torch.Tensor:
        directions_KRD = self._tensor("directions_", rows_ND)
        assert which_N is not None  # noqa: S101 - for the type checker
        erased_ND = rows_ND.clone()
        for number in which_N.unique().tolist():
            basis_RD, its = directions_KRD[number], (which_N == number).to(rows_ND.device)
            erased_ND[its] = rows_ND[its] - rows_ND[its] @ basis_RD.T @ basis_RD
        return erased_ND

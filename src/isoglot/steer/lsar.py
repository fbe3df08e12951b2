"""Low-rank subspace of the languages' means, projected out (Xie et al. 2022).

The paper writes the matrix of the means as one common vector and a few directions at right angles to it,
M ≈ c 1' + S G' with c ⊥ S, found by two singular value decompositions with a new center between them. The columns of
the first approximation lie on one affine plane; the new center is its point nearest to the origin, and moves no
direction of the plane. So the second decomposition turns the basis inside the subspace, and the subspace is that of the
first: the top directions of the centered means.

Shapes: ``N`` rows, ``D`` columns, ``K`` languages, ``R`` directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from isoglot.align.estimator import bounds
from isoglot.core.errors import InputError
from isoglot.steer.eraser import Eraser

if TYPE_CHECKING:
    from isoglot.align.rows import Array
    from isoglot.steer.eraser import Spread


@dataclass(eq=False, kw_only=True)
class LSAR(Eraser):
    """Rows without the subspace in which the languages' means differ: ``x − S S' x``; no language need be known.

    Args:
        rank: Of the subspace; by default one less than there are languages, all of it.

    Learns ``basis_`` (R × D), orthonormal, the widest first; ``common_`` (D), what all means share: the point of their
    plane nearest to the origin, at right angles to the basis.
    """

    rank: int | None = field(default=None, metadata=bounds(least=1))

    basis_: Array = field(init=False, repr=False)
    common_: Array = field(init=False, repr=False)

    def _learn(self, spread: Spread) -> dict[str, Any]:
        most = min(len(spread.languages) - 1, spread.means_KD.shape[1])
        rank = most if self.rank is None else self.rank
        if rank > most:
            raise InputError(
                f"rank {rank} of the means of {len(spread.languages)} languages", remedy=f"give {most} or less"
            )
        center_D = spread.means_KD.mean(dim=0)
        _, values_R, basis_RD = torch.linalg.svd(spread.means_KD - center_D, full_matrices=False)
        there_R = values_R[:rank] > 1e-12 * values_R[0].clamp(min=1e-300)  # equal means span nothing
        basis_RD = basis_RD[:rank][there_R]
        return {"basis_": basis_RD, "common_": center_D - center_D @ basis_RD.T @ basis_RD}

    def _apply(self, rows_ND: torch.Tensor, which_N: torch.Tensor | None) -> torch.Tensor:
        basis_RD = self._tensor("basis_", rows_ND)
        return rows_ND - rows_ND @ basis_RD.T @ basis_RD

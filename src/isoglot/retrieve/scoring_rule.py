"""How the product of two rows becomes a score.

Every method has one of two forms, so that one blocked search serves all: the product plus a shift of the column
(nearest neighbor, CSLS, inverted softmax, distance margin, Euclidean), or the product divided by a mean (ratio margin).

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``P`` single entries, ``B`` × ``C`` a block of the N × M products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoglot.retrieve.matrix_product import multiply

if TYPE_CHECKING:
    import torch

FLOOR = 1e-6  # lower bound of a mean similarity, for ratios


@dataclass(frozen=True, kw_only=True)
class ScoringRule:
    """A score: ``factor · (product + shift of the column) / mean + offset of the row``, float64 throughout.

    Args:
        factor: Scale of the final score.
        shift_M: Added to the product; None for none.
        offset_N: Added at the end, without effect on the order in a row; None for none.
        means_N: With ``means_M``: the product is divided by the average of the two.
        means_M: As above.
        kept_NS: Keys of the best products of every row, without the shift, if a search has already found them.
    """

    factor: float = 1.0
    shift_M: torch.Tensor | None = None
    offset_N: torch.Tensor | None = None
    means_N: torch.Tensor | None = None
    means_M: torch.Tensor | None = None
    kept_NS: torch.Tensor | None = None

    def of_rows(self, rows: torch.Tensor) -> ScoringRule:
        """The rule for some rows of X as queries, in that order."""
        offset_N, means_N, kept_NS = (
            None if side is None else side[rows] for side in (self.offset_N, self.means_N, self.kept_NS)
        )
        return replace(self, offset_N=offset_N, means_N=means_N, kept_NS=kept_NS)

    def operands(self, X_ND: torch.Tensor, Y_MD: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Matrices to multiply: with a shift, one more column on either side, ones and the shift.

        The product then includes the shift without another pass over the block; zeros pad the width to a multiple of
        16.
        """
        if self.shift_M is None:
            return X_ND, Y_MD
        width = X_ND.shape[1]
        wide = -(-(width + 1) // 16) * 16
        X_NW, Y_MW = X_ND.new_zeros(len(X_ND), wide), Y_MD.new_zeros(len(Y_MD), wide)
        X_NW[:, :width], Y_MW[:, :width] = X_ND, Y_MD
        X_NW[:, width], Y_MW[:, width] = 1.0, self.shift_M.float()
        return X_NW, Y_MW

    def block(
        self, X_BD: torch.Tensor, Y_CD: torch.Tensor, rows: slice, columns: slice, out: torch.Tensor
    ) -> torch.Tensor:
        """Block of float32 values that order every row as the final score does, from parts of the operands."""
        block_BC = out[: len(X_BD) * len(Y_CD)].view(len(X_BD), len(Y_CD))
        multiply(X_BD, Y_CD, block_BC)
        if self.means_N is not None and self.means_M is not None:
            mean_BC = self.means_N[rows, None].float() / 2 + self.means_M[columns].float() / 2
            block_BC.div_(mean_BC.clamp_(min=FLOOR))
        return block_BC

    def order(self, products: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """The values of :meth:`block` in float64, for single entries."""
        values = products if self.shift_M is None else products + self.shift_M[columns]
        if self.means_N is not None and self.means_M is not None:
            values = values / ((self.means_N[rows] + self.means_M[columns]) / 2).clamp(min=FLOOR)
        return values

    def final(self, order: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Score in float32, from the value that orders."""
        values = order if self.factor == 1 else self.factor * order
        return (values if self.offset_N is None else values + self.offset_N[rows]).float() + 0.0  # -0.0 is 0.0

    def tolerance(self, X_BD: torch.Tensor, longest_Y: float, rows: slice | torch.Tensor) -> torch.Tensor:
        """Error bound of float32 in each row of :meth:`block`: that of a sum of D products."""
        size_B: torch.Tensor = X_BD.norm(dim=1).double() * longest_Y
        if self.shift_M is not None:
            size_B = size_B + float(self.shift_M.abs().max())
        error_B = size_B * (X_BD.shape[1] + 8) * 2.0**-24
        if self.means_N is not None and self.means_M is not None:
            smallest_B = (self.means_N[rows] + float(self.means_M.min())) / 2
            error_B = error_B / smallest_B.clamp(min=FLOOR) * 4
        return error_B

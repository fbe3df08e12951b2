"""What linear CKA needs to know of two layers, as sums over items: they add up, and can be moved to another origin.

Sums of squares lose digits where the rows are far from the origin, so each layer's rows are counted from a point near
their mean, its *shift*. Moving the origin afterwards is exact algebra: to join sums that were made about two points,
to have them about the mean (centered CKA), or about zero (CKA as printed).

Shape legend: ``D`` columns of the one layer, ``E`` of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from isoglot.compare.forms import Form


class LayerSums(NamedTuple):
    """Of the rows x of one layer."""

    rows: int
    """how many"""
    sum_D: torch.Tensor
    """Σ x"""
    squares: torch.Tensor
    """Σ |x|²"""

    def to(self, device: torch.device) -> LayerSums:
        """A copy on a device."""
        return LayerSums(self.rows, self.sum_D.to(device, copy=True), self.squares.to(device, copy=True))

    def moved(self, by_D: torch.Tensor) -> LayerSums:
        """The same of x + by."""
        far = by_D @ by_D
        squares = self.squares + 2 * (self.sum_D @ by_D) + self.rows * far
        return LayerSums(self.rows, self.sum_D + self.rows * by_D, squares)


class PairSums(NamedTuple):
    """Of the rows x of one layer and the rows y of another that go with them."""

    cross_DE: torch.Tensor
    """Σ x yᵀ"""
    x_by_y_D: torch.Tensor
    """Σ |y|² x"""
    y_by_x_E: torch.Tensor
    """Σ |x|² y"""
    squares: torch.Tensor
    """Σ |x|² |y|²"""

    def to(self, device: torch.device) -> PairSums:
        """The same on a device."""
        return PairSums(*(part.to(device) for part in self))

    def moved(self, x: LayerSums, y: LayerSums, by_D: torch.Tensor, by_E: torch.Tensor) -> PairSums:
        """The same of x + by and y + by, where ``x`` and ``y`` are the layers' sums before they are moved.

        |x + b|² = |x|² + 2 b·x + |b|², multiplied out.
        """
        x_moved, y_moved = x.moved(by_D), y.moved(by_E)
        far_x, far_y = by_D @ by_D, by_E @ by_E
        cross_D = self.cross_DE @ by_E
        return PairSums(
            self.cross_DE + torch.outer(x.sum_D, by_E) + torch.outer(by_D, y_moved.sum_D),
            self.x_by_y_D + 2 * cross_D + far_y * x.sum_D + y_moved.squares * by_D,
            self.y_by_x_E + 2 * (by_D @ self.cross_DE) + far_x * y.sum_D + x_moved.squares * by_E,
            self._squares_moved(x, y, by_D, by_E, cross_D),
        )

    def _squares_moved(
        self, x: LayerSums, y: LayerSums, by_D: torch.Tensor, by_E: torch.Tensor, cross_D: torch.Tensor
    ) -> torch.Tensor:
        far_x, far_y = by_D @ by_D, by_E @ by_E
        squares = self.squares + 2 * (by_E @ self.y_by_x_E + by_D @ self.x_by_y_D) + 4 * (by_D @ cross_D)
        squares = squares + far_y * (x.moved(by_D).squares - x.rows * far_x)
        return squares + far_x * y.moved(by_E).squares

    def products(self, x: LayerSums, y: LayerSums, zero_D: torch.Tensor, zero_E: torch.Tensor) -> dict[Form, float]:
        """⟨K, L⟩ in the three forms; ``zero`` is where the rows are counted from.

        The debiased one is N (N - 3) times the unbiased estimate of HSIC (Song et al. 2012). Rows of centered kernel
        matrices sum to zero, so that without their diagonal they sum to minus the squared lengths.
        """
        N = x.rows
        mean_D, mean_E = x.sum_D / N, y.sum_D / N
        centered_DE = torch.addr(self.cross_DE, x.sum_D, mean_E, alpha=-1)
        centered = centered_DE.flatten() @ centered_DE.flatten()
        squares = self._squares_moved(x, y, -mean_D, -mean_E, self.cross_DE @ -mean_E)
        taken = squares * N / (N - 2) - x.moved(-mean_D).squares * y.moved(-mean_E).squares / ((N - 1) * (N - 2))
        mean_D, mean_E = mean_D + zero_D, mean_E + zero_E
        far = N * (mean_D @ mean_D) * N * (mean_E @ mean_E)
        paper = centered + 2 * N * (mean_D @ (centered_DE @ mean_E)) + far
        return {"paper": float(paper), "centered": float(centered), "debiased": float(centered - taken)}

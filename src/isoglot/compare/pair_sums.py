"""What linear CKA needs to know of two layers, as sums over items: they add up, and can be moved to another origin.

Sums of squares lose digits where the rows are far from the origin, so each layer's rows are counted from a point near
their mean, its *shift*. Moving the origin afterwards is exact algebra: to join sums that were made about two points,
to have them about the mean (centred CKA), or about zero (CKA as printed).

Shape legend: ``D`` columns of the one layer, ``E`` of the other.
"""

from __future__ import annotations

from typing import NamedTuple

import torch


class LayerSums(NamedTuple):
    """Of the rows x of one layer."""

    rows: int
    """how many"""
    sum_D: torch.Tensor
    """Σ x"""
    squares: torch.Tensor
    """Σ |x|²"""

    def to(self, device: torch.device) -> LayerSums:
        """The same on a device."""
        return LayerSums(self.rows, self.sum_D.to(device), self.squares.to(device))

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
        far_x, far_y = by_D @ by_D, by_E @ by_E
        x_moved, y_moved = x.moved(by_D), y.moved(by_E)
        squares = self.squares + 2 * (by_E @ self.y_by_x_E + by_D @ self.x_by_y_D) + 4 * (by_D @ self.cross_DE @ by_E)
        squares = squares + far_y * (x_moved.squares - x.rows * far_x) + far_x * y_moved.squares
        return PairSums(
            self.cross_DE + torch.outer(x.sum_D, by_E) + torch.outer(by_D, y_moved.sum_D),
            self.x_by_y_D + 2 * (self.cross_DE @ by_E) + far_y * x.sum_D + y_moved.squares * by_D,
            self.y_by_x_E + 2 * (by_D @ self.cross_DE) + far_x * y.sum_D + x_moved.squares * by_E,
            squares,
        )


def product_without_diagonal(pair: PairSums, x: LayerSums, y: LayerSums) -> torch.Tensor:
    """N (N - 3) times the unbiased estimate of HSIC (Song et al. 2012), from sums about the mean.

    The rows of centred kernel matrices sum to zero, so without their diagonal they sum to minus the squared lengths.
    """
    N = x.rows
    taken = pair.squares * N / (N - 2) - x.squares * y.squares / ((N - 1) * (N - 2))
    return pair.cross_DE.square().sum() - taken

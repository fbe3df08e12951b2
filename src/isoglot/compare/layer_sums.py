"""Sufficient statistics of linear CKA: sums over items that can be moved to another origin.

Sums of squares lose digits where the rows are far from the origin, so each layer's rows are counted from a point near
their mean, its *shift*. Moving the origin afterwards is exact algebra: to center the sums (centered CKA), or to have
them about zero (CKA as printed).

Shape legend: ``B`` rows of a batch or chunk, ``D`` columns of a layer, ``E`` of the other, ``S`` columns of all layers
of a side, ``L`` layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.compare.measures.cka import Form, debiased_product
from isoglot.core.arrays import Array, take_rows, to_matrix
from isoglot.core.errors import ConfigError, check_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.represent import Representations


class LayerSums(NamedTuple):
    """Sums over the rows x of one layer."""

    rows: int
    """number of rows"""
    sum_D: torch.Tensor
    """Σ x"""
    squares: torch.Tensor
    """Σ |x|²"""

    def moved(self, by_D: torch.Tensor) -> LayerSums:
        """Sums of x + by."""
        far = by_D @ by_D
        squares = self.squares + 2 * (self.sum_D @ by_D) + self.rows * far
        return LayerSums(self.rows, self.sum_D + self.rows * by_D, squares)


class PairSums(NamedTuple):
    """Sums over the rows x of one layer and the paired rows y of another."""

    cross_DE: torch.Tensor
    """Σ x yᵀ"""
    x_by_y_D: torch.Tensor
    """Σ |y|² x"""
    y_by_x_E: torch.Tensor
    """Σ |x|² y"""
    squares: torch.Tensor
    """Σ |x|² |y|²"""

    def _squares_moved(self, x: LayerSums, y: LayerSums, by_D: torch.Tensor, by_E: torch.Tensor) -> torch.Tensor:
        """Σ |x|² |y|² of x + by and y + by: |x + b|² = |x|² + 2 b·x + |b|², multiplied out."""
        far_x, far_y, cross_D = by_D @ by_D, by_E @ by_E, self.cross_DE @ by_E
        squares = self.squares + 2 * (by_E @ self.y_by_x_E + by_D @ self.x_by_y_D) + 4 * (by_D @ cross_D)
        squares = squares + far_y * (x.moved(by_D).squares - x.rows * far_x)
        return squares + far_x * y.moved(by_E).squares

    def products(self, x: LayerSums, y: LayerSums, zero_D: torch.Tensor, zero_E: torch.Tensor) -> dict[Form, float]:
        """⟨K, L⟩ in the three forms of linear CKA; ``zero`` is the shift the rows are counted from."""
        N = x.rows
        mean_D, mean_E = x.sum_D / N, y.sum_D / N
        centered_DE = torch.addr(self.cross_DE, x.sum_D, mean_E, alpha=-1)
        centered = centered_DE.flatten() @ centered_DE.flatten()
        lengths = self._squares_moved(x, y, -mean_D, -mean_E)
        debiased = debiased_product(N, centered, lengths, x.moved(-mean_D).squares, y.moved(-mean_E).squares)
        mean_D, mean_E = mean_D + zero_D, mean_E + zero_E
        far = N * (mean_D @ mean_D) * N * (mean_E @ mean_E)
        paper = centered + 2 * N * (mean_D @ (centered_DE @ mean_E)) + far
        return {"paper": float(paper), "centered": float(centered), "debiased": float(debiased)}


CHUNK = 4096
"""Rows multiplied at a time: more take memory, fewer take time."""

FEW = 512  # chunks of fewer rows are multiplied in float64: cheap, and rounding would show
BLOCK = 128  # columns of a symmetric product at a time: 7 / 12 of the work for 768 columns


class SideSums:
    """Layers of one side of a comparison: a chunk of their rows side by side, and each layer's sums with itself."""

    def __init__(self, name: str, layers: Sequence[int]) -> None:
        self.name = name
        self.layers = tuple(layers)
        if not self.layers or len(set(self.layers)) != len(self.layers):
            problem = f"invalid layers {list(self.layers)} of {name}"
            raise ConfigError(problem, "give at least one, and none twice", "invalid-value")
        self.widths: dict[int, int] = {}
        """number of columns of each layer, once known"""
        self.columns: list[slice] = []
        """columns of each layer among all"""
        self.waiting_BS: torch.Tensor | None = None
        """buffer for a chunk of rows"""

    def take(self, batch: Mapping[int, Array] | Representations) -> dict[int, torch.Tensor]:
        """Checked rows of each layer."""
        missing = [layer for layer in self.layers if layer not in batch]
        if missing:
            problem = f"the batch has no layer {missing[0]} of {self.name}"
            raise ConfigError(problem, "give every batch all layers", "unknown-layer")
        taken = {layer: _checked(batch[layer], f"layer {layer} of {self.name}") for layer in self.layers}
        counts = {f"layer {layer} of {self.name}": len(rows_BD) for layer, rows_BD in taken.items()}
        check_counts("rows", counts, "give each layer the same items")
        for layer, width in self.widths.items():
            if taken[layer].shape[1] != width:
                raise ConfigError(
                    f"layer {layer} of {self.name} has {taken[layer].shape[1]} columns, and {width} in earlier batches",
                    "use one fitter for each pair of encoders",
                    "other-size",
                )
        return taken

    def make_sums(self, widths: dict[int, int], device: torch.device) -> None:
        """Initialize the sums."""
        self.widths = widths
        ends = np.cumsum([widths[layer] for layer in self.layers]).tolist()
        self.columns = [slice(end - widths[layer], end) for layer, end in zip(self.layers, ends, strict=True)]
        self.total = ends[-1]
        self.shift_S = zeros(device, self.total)
        self.shifted = False
        self._sum_S = zeros(device, self.total)
        self._squares_L = zeros(device, len(self.layers))
        self._own = [zeros(device, width, width) for width in (widths[layer] for layer in self.layers)]
        self._by_length_S = zeros(device, self.total)
        self._fourth_L = zeros(device, len(self.layers))

    def make_room(self, rows: int, dtype: torch.dtype, device: torch.device) -> None:
        """Allocate a chunk."""
        self.waiting_BS = torch.empty(rows, self.total, dtype=dtype, device=device)

    def put(self, at: int, layers: dict[int, torch.Tensor]) -> None:
        """Copy rows into the chunk, minus the shift if it is known."""
        assert self.waiting_BS is not None  # noqa: S101 - for the type checker
        for columns, rows_BD in zip(self.columns, layers.values(), strict=True):
            place_BD = self.waiting_BS[at : at + len(rows_BD), columns]
            place_BD.copy_(rows_BD)
            if self.shifted:
                place_BD -= self.shift_S[columns].to(place_BD.dtype)

    def chunk(self, count: int) -> torch.Tensor:
        """Waiting rows minus the shift, which is the mean of the first chunk."""
        assert self.waiting_BS is not None  # noqa: S101 - as above
        rows_BS = self.waiting_BS[:count]
        if not self.shifted:
            self.shift_S, self.shifted = rows_BS.mean(dim=0).double(), True
            rows_BS -= self.shift_S.to(rows_BS.dtype)
        return rows_BS.double() if count < FEW else rows_BS

    def lengths(self, rows_BS: torch.Tensor) -> torch.Tensor:
        """|x|² of each row in each layer."""
        return torch.stack([rows_BS[:, columns].square().sum(dim=1) for columns in self.columns], dim=1)

    def add_own(self, rows_BS: torch.Tensor, lengths_BL: torch.Tensor, scratch: Scratch) -> None:
        """Add to the sums of each layer alone and with itself; of symmetric products only the upper triangle."""
        self._sum_S += rows_BS.sum(dim=0)
        self._squares_L += lengths_BL.sum(dim=0)
        self._fourth_L += lengths_BL.square().sum(dim=0)
        for place, columns in enumerate(self.columns):
            layer_BD = rows_BS[:, columns]
            self._by_length_S[columns] += lengths_BL[:, place] @ layer_BD
            width = layer_BD.shape[1]
            product_DD = scratch.place(width, width, layer_BD)
            for start in range(0, width, BLOCK):
                columns_BD = layer_BD[:, start : start + BLOCK]
                torch.mm(columns_BD.T, layer_BD[:, start:], out=product_DD[start : start + BLOCK, start:])
            scratch.add(self._own[place], product_DD)

    def layer(self, place: int, count: int) -> LayerSums:
        """Sums of a layer alone."""
        return LayerSums(count, self._sum_S[self.columns[place]], self._squares_L[place])

    def own(self, place: int) -> PairSums:
        """Sums of a layer with itself."""
        above_DD = self._own[place].triu()
        by_length_D = self._by_length_S[self.columns[place]]
        return PairSums(above_DD + above_DD.triu(1).T, by_length_D, by_length_D, self._fourth_L[place])

    def shift_of(self, place: int) -> torch.Tensor:
        """Shift of a layer."""
        return self.shift_S[self.columns[place]]


def zeros(device: torch.device, *shape: int) -> torch.Tensor:
    """Zero-initialized float64 sums."""
    return torch.zeros(shape, dtype=torch.float64, device=device)


class Scratch:
    """Reused buffers for products that are soon added to sums: allocating new memory takes time."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int, torch.dtype], torch.Tensor] = {}

    def place(self, rows: int, columns: int, like: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A buffer, on the device of ``like`` and of its type unless given."""
        key = (rows, columns, dtype or like.dtype)
        if key not in self._places:
            self._places[key] = torch.zeros(rows, columns, dtype=key[2], device=like.device)
        return self._places[key]

    def add(self, sums: torch.Tensor, product: torch.Tensor) -> None:
        """Add a product to float64 sums; float32 is converted first, which is faster than mixing the types."""
        if product.dtype != sums.dtype:
            product = self.place(product.shape[0], product.shape[1], product, sums.dtype).copy_(product)
        sums += product


def _checked(X: Array, name: str) -> torch.Tensor:
    """:func:`isoglot.core.arrays.take_rows`, which examines single numbers only if their sum is not finite."""
    matrix_BD = to_matrix(X, name)
    rows_BD = matrix_BD.to(take_rows(matrix_BD[:1], name).dtype)
    return rows_BD if bool(torch.isfinite(rows_BD.sum())) else take_rows(rows_BD, name)

"""Centered kernel alignment, CKA: whether two spaces find the same items alike (Kornblith et al. 2019).

The similarities of all items to each other, K = XXᵀ in one space and L = YYᵀ in the other, are themselves compared as
two long vectors, by their cosine. Three linear forms stand side by side:

- :func:`paper_cka`: as Wu et al. (2020) print it, the rows as they are. What all items have in common counts as
  similarity, so two spaces that are far from the origin come out alike whatever they hold.
- :func:`cka`: the rows centered first. Biased: with few items and many columns, noise looks alike too.
- :func:`cka` with ``debiased=True``: every HSIC (K·L, K·K, L·L) is replaced by its unbiased estimate (Song et al.
  2012), which leaves out each item's similarity to itself. 0 on average for unrelated spaces, sometimes below.

K and L need never exist: ⟨XXᵀ, YYᵀ⟩ = ‖XᵀY‖²_F. What is cheaper is done, columns × columns or items × items.

Shape legend: ``N`` items, ``D`` columns of X, ``E`` columns of Y.

The three linear forms of CKA by name, and all three of every pair of layers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch

from isoglot.compare.measures.declaration import Measure, unchanged_by
from isoglot.compare.measures.paired_rows import (
    above_diagonal,
    centered,
    centered_pair,
    paired,
    refuse_vanished,
    unit_norm,
)
from isoglot.core.errors import ConfigError, nearest_name, shown

if TYPE_CHECKING:
    import numpy as np

    from isoglot.core.arrays import Array

BANDWIDTH = 0.8  # of the median distance, the best of those tried by Kornblith et al. (2019)
SAMPLED = 5000  # rows for what needs items × items: 200 MB a matrix

_VANISHED = 1e-13  # of ‖K‖²: what is left of a difference of sums is its rounding
_VANISHED_EACH = 1e-24  # the same where every entry is known by itself
_CANCELLED = 1e-14  # of |x|² + |y|²: a distance that is only rounding

Space = Literal["features", "items"]


class Products(NamedTuple):
    """Sums of the products of two kernel matrices, entry by entry: of one with the other, and of each with itself."""

    cross: float
    own: float
    other: float


def cka(X: Array, Y: Array, debiased: bool = False) -> float:
    """Linear CKA of centered rows: 1 where one space is the other turned, scaled or moved.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        debiased: Take the unbiased estimate of every HSIC: 0 on average for unrelated spaces.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 100, 400))
    >>> [round(cka(X, Y, debiased), 1) for Y in (X, noise) for debiased in (False, True)]
    [1.0, 1.0, 0.8, 0.0]

    Raises:
        InputError: The rows will not do, or all of a side are the same; debiased, also where nothing is left of a side
            without the items' similarity to themselves, as with one item that differs from all others.
    """
    X_ND, Y_NE = centered_pair(X, Y)
    plain = products(X_ND, Y_NE, cheaper(X_ND, Y_NE))
    if not debiased:
        return cosine(plain)
    left = without_diagonal(plain, X_ND, Y_NE)
    for name, before, after in (("X", plain.own, left.own), ("Y", plain.other, left.other)):
        refuse_vanished(after, before, name, _VANISHED)
    return cosine(left)


def paper_cka(X: Array, Y: Array) -> float:
    """CKA as Wu et al. (2020) print it: ‖YᵀX‖²_F / (‖XᵀX‖_F ‖YᵀY‖_F), the rows not centered.

    What all rows have in common counts: two unrelated spaces far from the origin have a value near 1.

    Raises:
        InputError: The rows will not do, or a side is all zeros.
    """
    X_ND, Y_NE = paired(X, Y)
    X_ND, Y_NE = unit_norm(X_ND, "X"), unit_norm(Y_NE, "Y")
    return cosine(products(X_ND, Y_NE, cheaper(X_ND, Y_NE)))


def rbf_cka(X: Array, Y: Array, *, bandwidth: float = BANDWIDTH, debiased: bool = False) -> float:
    """CKA of Gaussian kernels: do the two spaces find the same items near? Far ones weigh little.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        bandwidth: The width of the kernel, as a share of the median distance between two items of that space.
        debiased: Take the unbiased estimate of every HSIC.

    Raises:
        ConfigError: The bandwidth is not above 0.
        InputError: The rows will not do; as with :func:`cka`.
    """
    if not 0 < bandwidth < float("inf"):
        raise ConfigError(f"a bandwidth of {bandwidth}", remedy=f"give a number above 0, such as {BANDWIDTH}")
    sides = []
    for name, rows in zip("XY", paired(X, Y), strict=True):
        kernel_NN = gaussian_kernel(centered(rows, name), bandwidth)
        size = float(kernel_NN.square().sum())
        kernel_NN = u_centered(kernel_NN) if debiased else double_centered(kernel_NN)
        refuse_vanished(float(kernel_NN.square().sum()), size, name, _VANISHED_EACH)
        sides.append(kernel_NN)
    return cosine(kernel_products(*sides))


def cheaper(X_ND: torch.Tensor, Y_NE: torch.Tensor) -> Space:
    """Where the three products of a CKA take fewer multiplications: between columns, or between items."""
    (N, D), E = X_ND.shape, Y_NE.shape[1]
    return "features" if D * D + E * E + D * E <= N * (D + E) else "items"


def products(X_ND: torch.Tensor, Y_NE: torch.Tensor, space: Space) -> Products:
    """The products of K = XXᵀ and L = YYᵀ; between columns as ⟨XXᵀ, YYᵀ⟩ = ‖XᵀY‖²_F, which is the same."""
    if space == "items":
        return kernel_products(X_ND @ X_ND.T, Y_NE @ Y_NE.T)
    pairs = ((X_ND, Y_NE), (X_ND, X_ND), (Y_NE, Y_NE))
    return Products(*(float((A.T @ B).square().sum()) for A, B in pairs))


def kernel_products(K_NN: torch.Tensor, L_NN: torch.Tensor) -> Products:
    """The products of two kernel matrices."""
    return Products(*(float((A * B).sum()) for A, B in ((K_NN, L_NN), (K_NN, K_NN), (L_NN, L_NN))))


def without_diagonal(plain: Products, X_ND: torch.Tensor, Y_NE: torch.Tensor) -> Products:
    """N (N - 3) times the unbiased estimate of HSIC (Song et al. 2012, eq. 5), from products of centered rows.

    Neither K's nor L's diagonal is in it. Their rows sum to zero, so that without the diagonal they sum to minus the
    squared lengths, and two of the three terms of the estimate need nothing else.
    """
    N = len(X_ND)
    lengths_N, others_N = X_ND.square().sum(dim=1), Y_NE.square().sum(dim=1)
    pairs = ((lengths_N, others_N), (lengths_N, lengths_N), (others_N, others_N))
    taken = (float(a @ b) * N / (N - 2) - float(a.sum() * b.sum()) / ((N - 1) * (N - 2)) for a, b in pairs)
    return Products(*(product - part for product, part in zip(plain, taken, strict=True)))


def gaussian_kernel(X_ND: torch.Tensor, bandwidth: float) -> torch.Tensor:
    """exp(-d² / 2σ²) - 1 of all pairs of rows, σ the bandwidth times the median distance.

    Centering takes any constant off, so that 1 is taken off where it can be without rounding.
    """
    squares_NN = squared_distances(X_ND)
    # More than half the pairs may be of equal items: then the median of the others.
    pairs = above_diagonal(squares_NN)
    median = pairs.median()
    if not bool(median > 0):
        median = pairs[pairs > 0].median()
    return torch.expm1(squares_NN.div_(-2 * bandwidth**2 * median))


def squared_distances(X_ND: torch.Tensor) -> torch.Tensor:
    """The squared distances of all pairs of rows; 0 on the diagonal and for equal rows."""
    squares_N = X_ND.square().sum(dim=1)
    sizes_NN = squares_N[:, None] + squares_N
    distances_NN = torch.addmm(sizes_NN, X_ND, X_ND.T, alpha=-2)
    distances_NN.masked_fill_(distances_NN < sizes_NN.mul_(_CANCELLED), 0)
    return distances_NN.fill_diagonal_(0)


def double_centered(kernel_NN: torch.Tensor) -> torch.Tensor:
    """HKH: a kernel matrix whose rows and columns sum to zero."""
    means_N = kernel_NN.mean(dim=0)
    return kernel_NN - means_N - means_N[:, None] + means_N.mean()


def u_centered(kernel_NN: torch.Tensor) -> torch.Tensor:
    """The kernel matrix without its diagonal, its rows summing to zero without it (Székely & Rizzo 2014).

    The sum of the products of two such matrices is N (N - 3) times the unbiased HSIC; being an inner product, it keeps
    debiased CKA between -1 and 1.
    """
    N = len(kernel_NN)
    open_NN = kernel_NN.clone().fill_diagonal_(0)
    sums_N = open_NN.sum(dim=0)
    open_NN -= (sums_N / (N - 2)) + (sums_N / (N - 2))[:, None] - sums_N.sum() / ((N - 1) * (N - 2))
    return open_NN.fill_diagonal_(0)


def cosine(parts: Products) -> float:
    """The cosine of two matrices; what rounding puts beyond 1 is taken off."""
    return max(-1.0, min(1.0, parts.cross / math.sqrt(parts.own) / math.sqrt(parts.other)))


PAPER_CKA = Measure(
    name="paper-cka",
    title="CKA as printed",
    meaning="Whether both spaces find the same items alike, what all items have in common included (Wu et al. 2020).",
    function=paper_cka,
    invariances=unchanged_by("orthogonal", "scaling"),
)
CKA = Measure(
    name="cka",
    title="CKA",
    meaning="Whether both spaces find the same items alike; too high where there are few items and many columns.",
    function=cka,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
)


def _debiased_cka(X: Array, Y: Array) -> float:
    return cka(X, Y, debiased=True)


DEBIASED_CKA = Measure(
    name="debiased-cka",
    title="CKA, debiased",
    meaning="Whether both spaces find the same items alike; 0 on average where they are unrelated.",
    function=_debiased_cka,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    bounds=(-1.0, 1.0),
)
RBF_CKA = Measure(
    name="rbf-cka",
    title="CKA, Gaussian kernel",
    meaning="Whether both spaces find the same items near; how far the far ones are hardly counts.",
    function=rbf_cka,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    rows=SAMPLED,
)


Form = Literal["paper", "centered", "debiased"]
FORMS: dict[Form, str] = {
    "paper": "as Wu et al. (2020) print it: rows as they are",
    "centered": "rows centered; too high where there are few rows and many columns",
    "debiased": "the unbiased estimate: 0 on average for unrelated rows",
}
"""The three linear forms of CKA, with a line of meaning each."""


def check_form(name: str) -> None:
    """Refuse a form of CKA that there is not.

    Raises:
        ConfigError: There is none of that name; the message has the nearest.
    """
    if name not in FORMS:
        raise ConfigError(f"no form of CKA {shown(name)}", remedy=nearest_name(name, FORMS), code="config.unknown-name")


@dataclass(frozen=True, eq=False, kw_only=True)
class CKAGrid:
    """How alike each layer of one encoder is to each of another, in three forms: rows are layers of X, columns of Y."""

    layers_x: tuple[int, ...]
    layers_y: tuple[int, ...]
    count: int
    """items it was computed on"""
    paper: np.ndarray
    """as Wu et al. (2020) print it: rows as they are"""
    centered: np.ndarray
    """rows centered; too high where there are few rows and many columns"""
    debiased: np.ndarray
    """the unbiased estimate: 0 on average for unrelated rows"""

    def form(self, name: Form) -> np.ndarray:
        """One of the three.

        Raises:
            ConfigError: There is no such form.
        """
        check_form(name)
        values: np.ndarray = getattr(self, name)
        return values

    def diagonal(self, name: Form = "debiased") -> dict[int, float]:
        """The values of each layer with the layer of the same number."""
        values = self.form(name)
        return {
            layer: float(values[self.layers_x.index(layer), self.layers_y.index(layer)])
            for layer in self.layers_x
            if layer in self.layers_y
        }

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "layers_x": list(self.layers_x),
            "layers_y": list(self.layers_y),
            "count": self.count,
            **{name: self.form(name).tolist() for name in FORMS},
        }

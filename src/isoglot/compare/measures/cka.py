"""Centered kernel alignment (CKA): whether two spaces consider the same items similar (Kornblith et al. 2019).

The similarities of all items to each other, K = XXᵀ in one space and L = YYᵀ in the other, are compared by their cosine
as two long vectors. There are three linear forms:

- ``paper`` (:func:`paper_cka`): as printed by Wu et al. (2020), rows not centered. What all items have in common counts
  as similarity, so two spaces far from the origin score high whatever they contain.
- ``centered`` (:func:`cka`): rows centered first. Biased upward with few items and many columns.
- ``debiased`` (:func:`cka` with ``debiased=True``): every HSIC (⟨K, L⟩, ⟨K, K⟩, ⟨L, L⟩) is replaced by its unbiased
  estimate (Song et al. 2012), which leaves out the diagonals. 0 on average for unrelated spaces, sometimes below.

All of them come from one formula, :func:`kernel_product`: here from rows in memory, in
:mod:`isoglot.compare.layer_sums` from streamed sums, in :mod:`isoglot.compare.cka_inference` from subsamples.
K and L need never exist: ⟨XXᵀ, YYᵀ⟩ = ‖XᵀY‖²_F, so the cheaper of columns × columns and items × items is computed.

Shape legend: ``N`` items, ``D`` columns of X, ``E`` columns of Y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import torch

from isoglot.compare.measures.measure import (
    Measure,
    above_diagonal,
    centered,
    centered_pair,
    paired,
    refuse_vanished,
    unchanged_by,
    unit_norm,
)
from isoglot.core.errors import ConfigError, check_name

if TYPE_CHECKING:
    import numpy as np

    from isoglot.core.arrays import Array

BANDWIDTH = 0.8  # of the median distance, the best of those tried by Kornblith et al. (2019)
SAMPLED = 5000  # rows for measures that need items × items: 200 MB per matrix

_VANISHED = 1e-13  # of ‖K‖²: only the rounding of a difference of sums is left
_VANISHED_EACH = 1e-24  # the same where every entry is known by itself
_ROUNDING = 1e-14  # of |x|² + |y|²: a distance that is only rounding

Space = Literal["features", "items"]
NumberT = TypeVar("NumberT", float, torch.Tensor)

Form = Literal["paper", "centered", "debiased"]
FORMS: dict[Form, str] = {
    "paper": "as printed by Wu et al. (2020): rows not centered",
    "centered": "rows centered; biased upward with few rows and many columns",
    "debiased": "unbiased estimate: 0 on average for unrelated rows",
}
"""The three linear forms of CKA and their meaning."""


class Products(NamedTuple):
    """Inner products of two kernel matrices: of one with the other, and of each with itself."""

    cross: float
    own: float
    other: float


def kernel_product(
    form: Form, count: NumberT | int, inner: NumberT, row_sums: NumberT, total_x: NumberT, total_y: NumberT
) -> NumberT:
    """⟨K, L⟩ in a form of linear CKA, from sums over the entries of two kernel matrices.

    Args:
        form: Which form; for ``debiased``, all sums are without the diagonals.
        count: N, the number of items.
        inner: Σᵢⱼ Kᵢⱼ Lᵢⱼ.
        row_sums: Σᵢ (Σⱼ Kᵢⱼ)(Σⱼ Lᵢⱼ).
        total_x: Σᵢⱼ Kᵢⱼ.
        total_y: Σᵢⱼ Lᵢⱼ.

    Returns:
        The plain sum, the sum of the double-centered matrices, or N (N - 3) times the unbiased HSIC (Song et al. 2012,
        equation 5).
    """
    if form == "paper":
        return inner
    if form == "centered":
        return inner - 2 * row_sums / count + total_x * total_y / count**2
    return inner - 2 * row_sums / (count - 2) + total_x * total_y / ((count - 1) * (count - 2))


def debiased_product(count: int, inner: NumberT, lengths: NumberT, total_x: NumberT, total_y: NumberT) -> NumberT:
    """⟨K, L⟩ in the debiased form, from sums over centered rows.

    The rows of centered kernel matrices sum to zero, so without the diagonal they sum to minus the squared lengths.

    Args:
        count: N, the number of items.
        inner: ⟨K, L⟩ of the centered rows.
        lengths: Σᵢ |xᵢ|² |yᵢ|².
        total_x: Σᵢ |xᵢ|².
        total_y: Σᵢ |yᵢ|².
    """
    return kernel_product("debiased", count, inner - lengths, lengths, -total_x, -total_y)


def cka(X: Array, Y: Array, debiased: bool = False) -> float:
    """Linear CKA of centered rows: 1 where one space is the other rotated, scaled or translated.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        debiased: Use the unbiased estimate of every HSIC: 0 on average for unrelated spaces.

    Returns:
        From 0 to 1; the debiased form may be slightly negative.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 100, 400))
    >>> [round(cka(X, Y, debiased), 1) for Y in (X, noise) for debiased in (False, True)]
    [1.0, 1.0, 0.8, 0.0]

    Raises:
        InputError: The rows are invalid, or those of one side are all equal; debiased, also where nothing is left of a
            side without the diagonal, as when a single item differs from all others.
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
    """CKA as printed by Wu et al. (2020): ‖YᵀX‖²_F / (‖XᵀX‖_F ‖YᵀY‖_F), rows not centered.

    What all rows have in common counts: two unrelated spaces far from the origin score near 1.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.

    Returns:
        From 0 to 1.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> round(paper_cka(X, 2 * X), 6)
    1.0

    Raises:
        InputError: The rows are invalid, or one side is all zeros.
    """
    X_ND, Y_NE = paired(X, Y)
    X_ND, Y_NE = unit_norm(X_ND, "X"), unit_norm(Y_NE, "Y")
    return cosine(products(X_ND, Y_NE, cheaper(X_ND, Y_NE)))


def rbf_cka(X: Array, Y: Array, *, bandwidth: float = BANDWIDTH, debiased: bool = False) -> float:
    """CKA of Gaussian kernels, which compares the neighborhoods of items; distant items count little.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        bandwidth: Width of the kernel, as a fraction of the median distance between two items of that space.
        debiased: Use the unbiased estimate of every HSIC.

    Returns:
        From 0 to 1; 1 for the same distances up to a factor.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> round(rbf_cka(X, 2 * X), 6)
    1.0

    Raises:
        ConfigError: The bandwidth is not positive.
        InputError: The rows are invalid; as for :func:`cka`.
    """
    if not 0 < bandwidth < float("inf"):
        problem = f"bandwidth = {bandwidth} is not positive"
        raise ConfigError(problem, f"set a positive number, such as {BANDWIDTH}", "invalid-value")
    sides = []
    for name, rows in zip("XY", paired(X, Y), strict=True):
        kernel_NN = gaussian_kernel(centered(rows, name), bandwidth)
        size = float(kernel_NN.square().sum())
        kernel_NN = u_centered(kernel_NN) if debiased else double_centered(kernel_NN)
        refuse_vanished(float(kernel_NN.square().sum()), size, name, _VANISHED_EACH)
        sides.append(kernel_NN)
    return cosine(kernel_products(*sides))


def cheaper(X_ND: torch.Tensor, Y_NE: torch.Tensor) -> Space:
    """Which needs fewer multiplications for the three products of a CKA: columns × columns or items × items."""
    (N, D), E = X_ND.shape, Y_NE.shape[1]
    return "features" if D * D + E * E + D * E <= N * (D + E) else "items"


def products(X_ND: torch.Tensor, Y_NE: torch.Tensor, space: Space) -> Products:
    """Inner products of K = XXᵀ and L = YYᵀ; ⟨XXᵀ, YYᵀ⟩ = ‖XᵀY‖²_F."""
    if space == "items":
        return kernel_products(X_ND @ X_ND.T, Y_NE @ Y_NE.T)
    pairs = ((X_ND, Y_NE), (X_ND, X_ND), (Y_NE, Y_NE))
    return Products(*(float((A.T @ B).square().sum()) for A, B in pairs))


def kernel_products(K_NN: torch.Tensor, L_NN: torch.Tensor) -> Products:
    """Inner products of two kernel matrices."""
    return Products(*(float((A * B).sum()) for A, B in ((K_NN, L_NN), (K_NN, K_NN), (L_NN, L_NN))))


def without_diagonal(plain: Products, X_ND: torch.Tensor, Y_NE: torch.Tensor) -> Products:
    """Products in the debiased form, from those of centered rows; see :func:`debiased_product`."""
    lengths_N, others_N = X_ND.square().sum(dim=1), Y_NE.square().sum(dim=1)
    pairs = ((lengths_N, others_N), (lengths_N, lengths_N), (others_N, others_N))
    return Products(
        *(
            debiased_product(len(X_ND), inner, float(a @ b), float(a.sum()), float(b.sum()))
            for inner, (a, b) in zip(plain, pairs, strict=True)
        )
    )


def gaussian_kernel(X_ND: torch.Tensor, bandwidth: float) -> torch.Tensor:
    """exp(-d² / 2σ²) - 1 for all pairs of rows, where σ is the bandwidth times the median distance.

    Centering removes any constant, so 1 is subtracted here, where it costs no digits.
    """
    squares_NN = squared_distances(X_ND)
    # More than half of the pairs may be equal items: then the median of the others.
    pairs = above_diagonal(squares_NN)
    median = pairs.median()
    if not bool(median > 0):
        median = pairs[pairs > 0].median()
    return torch.expm1(squares_NN.div_(-2 * bandwidth**2 * median))


def squared_distances(X_ND: torch.Tensor) -> torch.Tensor:
    """Squared distances of all pairs of rows; exactly 0 on the diagonal and for equal rows."""
    squares_N = X_ND.square().sum(dim=1)
    sizes_NN = squares_N[:, None] + squares_N
    distances_NN = torch.addmm(sizes_NN, X_ND, X_ND.T, alpha=-2)
    distances_NN.masked_fill_(distances_NN < sizes_NN.mul_(_ROUNDING), 0)
    return distances_NN.fill_diagonal_(0)


def double_centered(kernel_NN: torch.Tensor) -> torch.Tensor:
    """HKH: the kernel matrix with rows and columns that sum to zero."""
    means_N = kernel_NN.mean(dim=0)
    return kernel_NN - means_N - means_N[:, None] + means_N.mean()


def u_centered(kernel_NN: torch.Tensor) -> torch.Tensor:
    """U-centered kernel matrix: zero diagonal, rows that sum to zero (Székely & Rizzo 2014).

    The inner product of two such matrices is N (N - 3) times the unbiased HSIC, which keeps debiased CKA between -1
    and 1.
    """
    N = len(kernel_NN)
    open_NN = kernel_NN.clone().fill_diagonal_(0)
    sums_N = open_NN.sum(dim=0)
    open_NN -= (sums_N / (N - 2)) + (sums_N / (N - 2))[:, None] - sums_N.sum() / ((N - 1) * (N - 2))
    return open_NN.fill_diagonal_(0)


def cosine(parts: Products) -> float:
    """Cosine of two matrices, clipped to [-1, 1]."""
    return max(-1.0, min(1.0, parts.cross / math.sqrt(parts.own) / math.sqrt(parts.other)))


PAPER_CKA = Measure(
    name="paper-cka",
    title="CKA as printed",
    meaning="Whether both spaces consider the same items similar; rows are not centered (Wu et al. 2020).",
    formula=r"\frac{\lVert Y^\top X \rVert_F^2}{\lVert X^\top X \rVert_F \, \lVert Y^\top Y \rVert_F}",
    use=(
        "To reproduce Wu et al. (2020); otherwise the centered forms, which a common offset of all rows does not raise."
    ),
    function=paper_cka,
    invariances=unchanged_by("orthogonal", "scaling"),
)
CKA = Measure(
    name="cka",
    title="CKA",
    meaning="Whether both spaces consider the same items similar; biased upward with few items and many columns.",
    formula=(
        r"\frac{\lVert \tilde Y^\top \tilde X \rVert_F^2}{\lVert \tilde X^\top \tilde X \rVert_F \, \lVert \tilde"
        r" Y^\top \tilde Y \rVert_F}"
    ),
    use="To compare with published values, on several times as many items as columns.",
    function=cka,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
)


DEBIASED_CKA = Measure(
    name="debiased-cka",
    title="CKA, debiased",
    meaning="Whether both spaces consider the same items similar; 0 on average for unrelated spaces.",
    formula=(
        r"\frac{\langle \tilde K, \tilde L \rangle}{\lVert \tilde K \rVert_F \, \lVert \tilde L \rVert_F}, \quad"
        r" \tilde K_{i \ne j} = K_{ij} - \frac{k_i + k_j}{N - 2} + \frac{\sum_l k_l}{(N - 1)(N - 2)}, \quad k_i ="
        r" \sum_{j \ne i} K_{ij}, \quad K = X X^\top"
    ),
    use="As a first choice: values are comparable over numbers of items and columns.",
    function=partial(cka, debiased=True),
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    bounds=(-1.0, 1.0),
)
RBF_CKA = Measure(
    name="rbf-cka",
    title="CKA, Gaussian kernel",
    meaning="Whether both spaces have the same items close to each other; large distances hardly count.",
    formula=(
        r"\frac{\langle HKH, HLH \rangle}{\lVert HKH \rVert_F \, \lVert HLH \rVert_F}, \quad K_{ij} = \exp"
        r" \frac{-\lVert x_i - x_j \rVert^2}{2 \sigma^2}, \quad \sigma = 0.8 \operatorname{median}_{i<j} \lVert x_i -"
        r" x_j \rVert"
    ),
    use="Where outliers or a few directions of large variance decide linear CKA.",
    function=rbf_cka,
    invariances=unchanged_by("orthogonal", "scaling", "translation"),
    rows=SAMPLED,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class CKAGrid:
    """CKA of each layer of one encoder (rows) with each layer of another (columns), in three forms.

    >>> import numpy as np
    >>> from isoglot.compare import CKAFitter
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 50, 4))
    >>> grid = CKAFitter([0, 1], [0, 1]).update({0: X, 1: noise}, {0: X + noise, 1: noise}).result()
    >>> round(grid.diagonal("debiased")[1], 6), grid.form("paper").shape
    (1.0, (2, 2))
    """

    layers_x: tuple[int, ...]
    """layers of the first encoder, the rows"""
    layers_y: tuple[int, ...]
    """layers of the second encoder, the columns"""
    count: int
    """number of items"""
    paper: np.ndarray = field(repr=False)
    """as printed by Wu et al. (2020): rows not centered"""
    centered: np.ndarray = field(repr=False)
    """rows centered; biased upward with few rows and many columns"""
    debiased: np.ndarray = field(repr=False)
    """unbiased estimate: 0 on average for unrelated rows"""

    def form(self, name: Form) -> np.ndarray:
        """Values of one of the three forms.

        Raises:
            ConfigError: There is no such form.
        """
        check_name("form of CKA", name, FORMS)
        values: np.ndarray = getattr(self, name)
        return values

    def diagonal(self, name: Form = "debiased") -> dict[int, float]:
        """Value of each layer with the layer of the same number."""
        values = self.form(name)
        return {
            layer: float(values[self.layers_x.index(layer), self.layers_y.index(layer)])
            for layer in self.layers_x
            if layer in self.layers_y
        }

    def as_dict(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return {
            "layers_x": list(self.layers_x),
            "layers_y": list(self.layers_y),
            "count": self.count,
            **{name: self.form(name).tolist() for name in FORMS},
        }

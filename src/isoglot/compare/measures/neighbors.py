"""Nearest neighbors: mutual neighbors (Huh et al. 2024), and similarity of neighborhood graphs (Søgaard et al. 2018).

Shape legend: ``N`` items, ``D`` columns of X, ``K`` neighbors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from isoglot.compare.measures.cka import SAMPLED
from isoglot.compare.measures.measure import Halves, Measure, in_range, paired, refuse_equal_rows, unchanged_by
from isoglot.core.arrays import Array, refuse_zeros
from isoglot.core.errors import ConfigError, InputError, check_range
from isoglot.retrieve.methods import nearest

NEIGHBORS = 10
ENERGY = 0.9
SPECTRAL_ROWS = 2000  # eigenvalues of N × N cost N³
SPARE = 4  # times as many are found, enough where a tenth of the items is left out


def mutual_knn(X: Array, Y: Array, *, k: int = NEIGHBORS) -> float:
    """Share of an item's k nearest neighbors in X that are among its k nearest in Y, mean over items.

    Neighbors are by cosine; an item is not its own neighbor, and ties are broken by order. Unrelated spaces share
    k / (N - 1) of the neighbors.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        k: Number of neighbors.

    Returns:
        From 0 to 1; k / (N - 1) for unrelated spaces.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> mutual_knn(X, -X, k=5), mutual_knn(X, noise, k=5) < 0.3
    (1.0, True)

    Raises:
        ConfigError: ``k`` is below 1.
        InputError: The rows are invalid, one is all zeros, those of one side are all equal, or there are fewer than k +
            2.
    """
    X_ND, Y_NE = paired(X, Y)
    return shared_neighbors(Nearest.of(X_ND, "X", k), Nearest.of(Y_NE, "Y", k))


@dataclass(frozen=True)
class Nearest:
    """Nearest other items of every item of one space.

    Attributes:
        name: Name of the space in error messages.
        rows_ND: The space.
        items_N: Number of each row, by which other items refer to it.
        nearest_NS: Nearest other items, nearest first: more than K, for when some are left out.
        k: Number of neighbors that count.
    """

    name: str
    rows_ND: torch.Tensor
    items_N: torch.Tensor
    nearest_NS: torch.Tensor
    k: int

    @classmethod
    def of(cls, rows_ND: torch.Tensor, name: str, k: int = NEIGHBORS) -> Nearest:
        """Neighbors in a space; errors as for :func:`mutual_knn`."""
        nearest_NS = nearest_others(rows_ND, max(k, min(SPARE * k, len(rows_ND) - 2)), name)
        return cls(name, rows_ND, torch.arange(len(rows_ND), device=rows_ND.device), nearest_NS, k)

    def without(self, rows_G: torch.Tensor) -> Nearest:
        """The same without some items: the next nearest take their places."""
        left_N = torch.ones(len(self.items_N), dtype=torch.bool, device=rows_G.device)
        left_N[rows_G] = False
        rows_ND, items_N, nearest_NS = self.rows_ND[left_N], self.items_N[left_N], self.nearest_NS[left_N]
        good_NS = left_N[nearest_NS]
        chosen_NS = good_NS & (good_NS.cumsum(dim=1) <= self.k)
        if int(chosen_NS.sum()) == len(items_N) * self.k:
            nearest_NS = nearest_NS[chosen_NS].view(len(items_N), self.k)
        else:
            nearest_NS = items_N[nearest_others(rows_ND, self.k, self.name)]
        return replace(self, rows_ND=rows_ND, items_N=items_N, nearest_NS=nearest_NS)


def shared_neighbors(own: Nearest, other: Nearest) -> float:
    """Share of neighbors in one space that are neighbors in the other."""
    return _shared(own.nearest_NS[:, : own.k], other.nearest_NS[:, : other.k])


def shared_shuffled(own: Nearest, other: Nearest, order_N: torch.Tensor) -> float:
    """The same with the items of the other space permuted."""
    return _shared(own.nearest_NS[:, : own.k], order_N.argsort()[other.nearest_NS[order_N, : other.k]])


def _shared(own_NK: torch.Tensor, other_NK: torch.Tensor) -> float:
    return float((own_NK[:, :, None] == other_NK[:, None]).any(dim=2).double().mean())


def nearest_others(rows_ND: torch.Tensor, k: int, name: str) -> torch.Tensor:
    """The k nearest other rows of every row by cosine, N × K, nearest first.

    Raises:
        ConfigError: ``k`` is below 1.
        InputError: A row is all zeros, all are equal, or there are fewer than k + 2.
    """
    check_range("k", k, 1)
    if len(rows_ND) < k + 2:
        problem = f"{len(rows_ND)} items are too few for {k} neighbors"
        raise InputError(problem, f"give at least {k + 2} items, or a smaller k", "too-few")
    refuse_equal_rows(rows_ND, name)
    refuse_zeros(rows_ND, name)
    rows_ND = in_range(rows_ND)
    found = torch.as_tensor(nearest(rows_ND, rows_ND, k + 1).indices_NK)
    # Among duplicates a row may not be its own nearest: then the last neighbor is dropped.
    is_self = found == torch.arange(len(rows_ND), device=found.device)[:, None]
    is_self[:, -1] |= ~is_self.any(dim=1)
    return found[~is_self].view(len(rows_ND), k)


MUTUAL_KNN = Measure(
    name="mutual-knn",
    title="Mutual nearest neighbors",
    meaning="The share of an item's 10 nearest neighbors that are the same in both spaces.",
    formula=(
        r"\frac{1}{N} \sum_{i=1}^{N} \frac{\lvert \mathcal N_k^X(i) \cap \mathcal N_k^Y(i) \rvert}{k}, \quad k = 10,"
        r" \quad \mathcal N_k = \text{nearest by cosine}"
    ),
    use="Where neighbors are what counts, as in retrieval; compare values at the same number of items only.",
    function=mutual_knn,
    invariances=unchanged_by("orthogonal", "scaling"),
    fewest=NEIGHBORS + 2,
    rows=SAMPLED,
    halves=Halves(of=Nearest.of, alike=shared_neighbors, shuffled=shared_shuffled),
)


def spectral_similarity(X: Array, Y: Array, *, k: int = NEIGHBORS, energy: float = ENERGY) -> float:
    """Eigenvector similarity of Søgaard et al. (2018), a distance: 0 for the same graph, without an upper bound.

    In each space an edge joins two items if one is among the k nearest of the other, by cosine. The measure is the sum
    of squared differences of the largest eigenvalues of the graphs' Laplacians, as many as make up 90 % of the sum in
    the space that needs fewer. It grows with the number of items.

    It ignores which item is which: permuting the rows of one space changes nothing. So it needs no parallel items, and
    does not tell whether the right ones are close.

    Args:
        X: N × D.
        Y: N × E.
        k: Number of neighbors.
        energy: Share of the sum of the eigenvalues that is compared.

    Returns:
        0 or more; 0 for the same neighborhood graph.

    >>> import numpy as np
    >>> X, noise = np.random.default_rng(0).normal(size=(2, 60, 5))
    >>> round(spectral_similarity(X, 2 * X), 6)
    0.0

    Raises:
        ConfigError: ``k`` is below 1, or ``energy`` is not in (0, 1].
        InputError: The rows are invalid, one is all zeros, those of one side are all equal, or there are fewer than k +
            2.
    """
    if not 0 < energy <= 1:
        problem = f"energy = {energy} is not in (0, 1]"
        raise ConfigError(problem, f"give a number up to 1, such as {ENERGY}", "invalid-value")
    own_N, other_N = (
        laplacian_spectrum(nearest_others(rows_ND, k, name)) for name, rows_ND in zip("XY", paired(X, Y), strict=True)
    )
    count = min(int((side.cumsum(dim=0) < energy * side.sum()).sum()) + 1 for side in (own_N, other_N))
    return float((own_N[:count] - other_N[:count]).square().sum())


def laplacian_spectrum(neighbors_NK: torch.Tensor) -> torch.Tensor:
    """Eigenvalues of degree - adjacency, largest first; an edge joins items if either is a neighbor of the other."""
    count = len(neighbors_NK)
    edges_NN = torch.zeros(count, count, dtype=torch.float64, device=neighbors_NK.device)
    edges_NN.scatter_(1, neighbors_NK, 1.0)
    edges_NN = torch.maximum(edges_NN, edges_NN.T)
    values_N: torch.Tensor = torch.linalg.eigvalsh(edges_NN.sum(dim=1).diag() - edges_NN)
    return values_N.flip(0).clamp(min=0)


SPECTRAL = Measure(
    name="spectral",
    title="Spectral distance",
    meaning="How far the graphs of nearest neighbors differ as graphs, whichever item is which.",
    formula=(
        r"\sum_{i=1}^{m} (\lambda_i - \mu_i)^2, \quad \lambda, \mu = \text{largest eigenvalues of the Laplacians of"
        r" both graphs, } m \text{ with 90 \% of their sum}"
    ),
    use=(
        "Without parallel items, to ask whether a map without supervision can work; not to tell which items correspond."
    ),
    function=spectral_similarity,
    invariances=unchanged_by("orthogonal", "scaling"),
    kind="distance",
    ideal=0.0,
    bounds=(0.0, float("inf")),
    pairs=False,
    fewest=NEIGHBORS + 2,
    rows=SPECTRAL_ROWS,
)

"""Spectral similarity: whether the neighborhood graphs of two spaces are similar, whatever the items.

Reference: Søgaard et al. (2018). Shape legend: ``N`` items, ``D`` columns of X, ``K`` neighbors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoglot.compare.measures.declaration import Measure, unchanged_by
from isoglot.compare.measures.neighbors import NEIGHBORS, nearest_others
from isoglot.compare.measures.paired_rows import paired
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.core.arrays import Array

ENERGY = 0.9
SAMPLED = 2000  # eigenvalues of N × N cost N³


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

    Raises:
        ConfigError: ``k`` is below 1, or ``energy`` is not in (0, 1].
        InputError: The rows are invalid, one is all zeros, those of one side are all equal, or there are fewer than k +
            2.
    """
    if not 0 < energy <= 1:
        raise ConfigError(
            f"energy = {energy} is not in (0, 1]",
            remedy=f"give a number up to 1, such as {ENERGY}",
            code="config.invalid-value",
        )
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
    function=spectral_similarity,
    invariances=unchanged_by("orthogonal", "scaling"),
    kind="distance",
    ideal=0.0,
    bounds=(0.0, float("inf")),
    pairs=False,
    fewest=NEIGHBORS + 2,
    rows=SAMPLED,
)

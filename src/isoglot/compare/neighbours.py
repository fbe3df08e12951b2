"""Mutual nearest neighbours: do the items have the same neighbours in both spaces? (Huh et al. 2024).

Shape legend: ``N`` items, ``D`` columns of X, ``K`` neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoglot.align.rows import refuse_zeros
from isoglot.compare.declaration import Measure, unchanged_by
from isoglot.compare.kernel_alignment import SAMPLED
from isoglot.compare.pairs import in_range, paired, refuse_equal_rows
from isoglot.core.errors import ConfigError, InputError
from isoglot.retrieve.methods import nearest

if TYPE_CHECKING:
    from isoglot.align.rows import Array

NEIGHBOURS = 10


def mutual_knn(X: Array, Y: Array, *, k: int = NEIGHBOURS) -> float:
    """The share of an item's k nearest neighbours in X that are among its k nearest in Y, on average over the items.

    Nearest by the cosine; an item is no neighbour of its own, and among equally near ones the first comes first. Spaces
    that have nothing to do with each other share k / (N - 1) of the neighbours.

    Args:
        X: N × D.
        Y: N × E, the same items in the same order.
        k: How many neighbours.

    Raises:
        ConfigError: ``k`` is below 1.
        InputError: The rows will not do, one is all zeros, all of a side are the same, or there are too few to have k
            neighbours and others.
    """
    own_NK, other_NK = (nearest_others(rows_ND, k, name) for name, rows_ND in zip("XY", paired(X, Y), strict=True))
    member_NN = torch.zeros(len(own_NK), len(own_NK), dtype=torch.bool, device=own_NK.device)
    member_NN.scatter_(1, other_NK, value=True)
    return float(member_NN.gather(1, own_NK).double().mean())


def nearest_others(rows_ND: torch.Tensor, k: int, name: str) -> torch.Tensor:
    """The k nearest of every row among the others by the cosine, N × K, the nearest first.

    Raises:
        ConfigError: ``k`` is below 1.
        InputError: A row is all zeros, all are the same, or there are fewer than k + 2.
    """
    if k < 1:
        raise ConfigError(f"k is {k}", remedy="ask for at least 1 neighbour")
    if len(rows_ND) < k + 2:
        raise InputError(
            f"{len(rows_ND)} items are too few to tell {k} neighbours from others",
            remedy=f"give at least {k + 2} items, or a smaller k",
        )
    refuse_equal_rows(rows_ND, name)
    refuse_zeros(rows_ND, name)
    rows_ND = in_range(rows_ND)
    found = torch.as_tensor(nearest(rows_ND, rows_ND, k + 1).indices_NK)
    # Among its duplicates a row need not come first, nor at all: then the last is one too many.
    is_self = found == torch.arange(len(rows_ND), device=found.device)[:, None]
    is_self[:, -1] |= ~is_self.any(dim=1)
    return found[~is_self].view(len(rows_ND), k)


MUTUAL_KNN = Measure(
    name="mutual-knn",
    title="Mutual nearest neighbours",
    meaning="The share of an item's 10 nearest neighbours that are the same in both spaces.",
    function=mutual_knn,
    invariances=unchanged_by("orthogonal", "scaling"),
    fewest=NEIGHBOURS + 2,
    rows=SAMPLED,
)

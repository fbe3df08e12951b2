"""Search and ranks where all products fit in memory: made once in float64, then every method and direction reads them.

The plain twin of :mod:`isoglot.retrieve.search` and :mod:`isoglot.retrieve.search`, and the faster one for a few
thousand rows, where going back to single entries takes longer than the products.

Shape legend: ``N`` queries, ``M`` answers, ``D`` hidden size, ``K`` asked for, ``P`` pairs to rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoglot.retrieve.search import Top, indices_of, keys_of, values_of

if TYPE_CHECKING:
    from isoglot.retrieve.scoring_rule import Rule

MOST = 2**22
"""Products at most, 32 MB: of 2,000 rows with 2,000."""


def products(X_ND: torch.Tensor, Y_MD: torch.Tensor) -> torch.Tensor:
    """X Yᵀ in float64."""
    return X_ND.double() @ Y_MD.double().T


def scores(products_NM: torch.Tensor, rule: Rule) -> torch.Tensor:
    """Every score of a rule, float32."""
    rows_N1, columns_M = (torch.arange(size, device=products_NM.device) for size in products_NM.shape)
    rows_N1 = rows_N1[:, None]
    return rule.final(rule.order(products_NM, rows_N1, columns_M), rows_N1)


def best(scores_NM: torch.Tensor, k: int) -> Top:
    """The ``min(k, M)`` best columns of every row; among equals the lower first."""
    keys_NM = keys_of(scores_NM, torch.arange(scores_NM.shape[1], device=scores_NM.device))
    k = min(k, scores_NM.shape[1])
    keys_NK = keys_NM.amax(dim=1, keepdim=True) if k == 1 else keys_NM.topk(k, dim=1).values
    return Top(indices_of(keys_NK), values_of(keys_NK))


def places(scores_NM: torch.Tensor, pairs_P2: torch.Tensor) -> torch.Tensor:
    """For each pair, the place of its column among all columns of its row, from 1; among equals the lower first."""
    rows_P, right_P = pairs_P2.T
    found_PM = scores_NM[rows_P]
    own_P1 = scores_NM[rows_P, right_P][:, None]
    earlier_PM = torch.arange(scores_NM.shape[1], device=scores_NM.device) < right_P[:, None]
    before_P: torch.Tensor = ((found_PM > own_P1) | ((found_PM == own_P1) & earlier_PM)).sum(dim=1)
    return before_P + 1

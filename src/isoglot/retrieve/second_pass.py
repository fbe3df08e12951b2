"""The choice of CSLS without all products again: the first pass, for the means, already saw them.

It kept the S best products of every row. Let ``c`` be the K-th best of those with their shifts. A column that was not
kept has a product no greater than the least kept, so it can be chosen only if its shift makes up for what the least
kept lacks of ``c``. With the columns in the order of their shifts those are a prefix, short for most rows and empty for
many; only it is multiplied again. Every bound leaves room for rounding, so that the result is that of all products.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``D`` hidden size, ``K`` asked for, ``S`` kept, ``B`` × ``C`` a block.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from isoglot.core.progress import SILENT
from isoglot.retrieve.best import Best, Top, indices_of, keys_of, settled, values_of
from isoglot.retrieve.multiply import multiply
from isoglot.retrieve.rows import full_precision

if TYPE_CHECKING:
    from isoglot.core.progress import Progress
    from isoglot.retrieve.rule import Rule


def search_again(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    k: int,
    rule: Rule,
    shift_M: torch.Tensor,
    kept_NS: torch.Tensor,
    *,
    shape: tuple[int, int],
    progress: Progress = SILENT,
) -> Top:
    """The ``k`` best columns of every row by a rule with a shift.

    Args:
        X_ND: The rows.
        Y_MD: The columns.
        k: How many, fewer than S unless S is M.
        rule: With a shift and no means.
        shift_M: That shift.
        kept_NS: The keys of the S best products of every row, without the shift.
        shape: Rows and columns of a block.
        progress: Shows rows done.
    """
    falling_M, order_M = shift_M.sort(descending=True)
    rank_M = torch.empty_like(order_M)
    rank_M[order_M] = torch.arange(len(order_M), device=order_M.device)
    longest = float(Y_MD.norm(dim=1).max())
    columns_NS = indices_of(kept_NS)
    keys_NS = keys_of(values_of(kept_NS) + shift_M.float()[columns_NS], rank_M[columns_NS])
    keys_NS = keys_NS.sort(dim=1, descending=True).values
    need_N = _prefixes(X_ND, k, rule, kept_NS, keys_NS, falling_M, longest)
    rows_N = need_N.argsort()
    X_NW, Y_MW = replace(rule, shift_M=falling_M).operands(X_ND, Y_MD[order_M])
    height = min(max(1, shape[0] // 4), len(X_ND))  # few, for they share the longest prefix
    out = torch.empty(height * min(shape[1], len(Y_MD)), device=X_ND.device)
    with full_precision(), progress.task("neighbors", total=len(X_ND), unit="rows") as task:
        task.advance(int((need_N == 0).sum()))
        for first in range(int((need_N == 0).sum()), len(rows_N), height):
            rows_B = rows_N[first : first + height]
            best = Best(keys_NS[rows_B])
            rank_BS, X_BW = indices_of(best.keys), X_NW[rows_B]
            need = int(need_N[rows_B[-1]])
            for left in range(0, need, shape[1]):
                width = min(shape[1], need - left)
                block_BC = out[: len(rows_B) * width].view(len(rows_B), width)
                multiply(X_BW, Y_MW[left : left + width], block_BC)
                line, slot = ((rank_BS >= left) & (rank_BS < left + width)).nonzero(as_tuple=True)
                block_BC[line, rank_BS[line, slot] - left] = -torch.inf  # kept from the start: no second time
                best.take(slice(0, len(rows_B)), block_BC, left, axis=1)
            keys_NS[rows_B] = best.keys
            task.advance(len(rows_B))
        keys_NS = keys_of(values_of(keys_NS), order_M[indices_of(keys_NS)])
        return settled(X_ND, Y_MD, torch.arange(len(X_ND), device=X_ND.device), keys_NS, k, rule, longest)


def _prefixes(
    X_ND: torch.Tensor,
    k: int,
    rule: Rule,
    kept_NS: torch.Tensor,
    keys_NS: torch.Tensor,
    falling_M: torch.Tensor,
    longest: float,
) -> torch.Tensor:
    """How many columns of every row, by falling shift, may hold one of the K best that was not kept."""
    if kept_NS.shape[1] == len(falling_M):
        return torch.zeros(len(X_ND), dtype=torch.int64, device=X_ND.device)
    lacking_N = values_of(keys_NS[:, k - 1]).double() - values_of(kept_NS[:, -1]).double()
    # The product of either pass may be off by one tolerance; a third makes room for the rounding of the score.
    lacking_N -= 3 * rule.tolerance(X_ND, longest, slice(None))
    return torch.searchsorted(-falling_M, -lacking_N, right=True)

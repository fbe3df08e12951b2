"""A dictionary from two spaces that are already near each other: neighbors by CSLS, mutual or a little at random.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``P`` pairs, ``D`` columns, ``K`` neighbors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from isoglot.retrieve.best import Best, indices_of, values_of
from isoglot.retrieve.blocked import block_shape, blocks
from isoglot.retrieve.rows import full_precision, paired_rows
from isoglot.retrieve.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

_ENTRIES = 2**24  # similarities at a time, 64 MB
_WHOLE = 2**25  # similarities that are kept: of 5,000 rows with 6,000, 128 MB
_MISSED = 1e-2  # how often the row's best kept entry may lie beyond the neighbors that are looked at


@dataclass(frozen=True, slots=True)
class Induced:
    """Pairs that were found, P × 2, and how near they are: the mean cosine of every row to its best neighbor."""

    pairs_P2: torch.Tensor
    nearness: float


def mutual_pairs(x_ND: torch.Tensor, y_MD: torch.Tensor, *, neighborhood: int) -> Induced:
    """The rows that are each other's best by CSLS (Conneau et al. 2018)."""
    x_ND, y_MD = paired_rows(x_ND, y_MD, unit=True)
    forward_N1, backward_M1 = (each.indices for each in _both_ways(x_ND, y_MD, 1, neighborhood))
    rows_N1 = torch.arange(len(x_ND), device=x_ND.device)[:, None]
    mutual_N = (backward_M1[forward_N1[:, 0]] == rows_N1)[:, 0]
    pairs_P2 = torch.cat([rows_N1, forward_N1], dim=1)[mutual_N]
    return Induced(pairs_P2, _nearness(x_ND, y_MD, forward_N1))


def random_pairs(
    x_ND: torch.Tensor, y_MD: torch.Tensor, *, neighborhood: int, keep: float, chance: torch.Generator
) -> Induced:
    """Every row with its best by CSLS, in both directions, each entry of the similarities kept with a probability.

    Artetxe et al. (2018) draw which entries of the matrix are kept, set the others to 0, and take the best of each row.
    The best kept one is the r-th best of all with probability keep · (1 − keep)^r, so r is all that need be drawn. A
    row whose best kept entry is below 0 is left out, for any entry that was not kept would be as good.
    """
    x_ND, y_MD = paired_rows(x_ND, y_MD, unit=True)
    count = 1 if keep >= 1 else math.ceil(math.log(_MISSED) / math.log1p(-keep))
    forward, backward = _both_ways(x_ND, y_MD, count, neighborhood)
    pairs_P2 = torch.cat([_drawn(forward, keep, chance), _drawn(backward, keep, chance).flip(1)])
    near = _nearness(x_ND, y_MD, forward.indices), _nearness(y_MD, x_ND, backward.indices)
    return Induced(pairs_P2, (near[0] + near[1]) / 2)


def _both_ways(x_ND: torch.Tensor, y_MD: torch.Tensor, count: int, neighborhood: int) -> tuple[Top, Top]:
    """The best of Y for every row of X by CSLS, best first, and the other way round.

    Values are cosines less half the mean of the answer's neighborhood: CSLS but for what a row has in common.

    Similarities are multiplied once for both directions, and once for both steps where they fit in memory; else a block
    at a time, twice.
    """
    whole = len(x_ND) * len(y_MD) <= _WHOLE
    shape = (len(x_ND), len(y_MD)) if whole else block_shape(x_ND.device)
    rule = Rule()
    with full_precision():
        made = list(blocks(x_ND, y_MD, rule, shape)) if whole else None
        rows, columns = _best(made or blocks(x_ND, y_MD, rule, shape), x_ND, y_MD, neighborhood)
        shift_N, shift_M = (each.values.mean(dim=1) / -2 for each in (rows, columns))
        return _best(made or blocks(x_ND, y_MD, rule, shape), x_ND, y_MD, count, (shift_N, shift_M))


def _best(
    blocks_BC: Iterable[tuple[slice, slice, torch.Tensor]],
    x_ND: torch.Tensor,
    y_MD: torch.Tensor,
    count: int,
    shifts: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[Top, Top]:
    """The highest products of every row, the columns shifted, and of every column, the rows shifted; best first."""
    best_N, best_M = (
        Best.none(len(lines), min(count, len(others)), x_ND.device) for lines, others in ((x_ND, y_MD), (y_MD, x_ND))
    )
    for rows, columns, block_BC in blocks_BC:
        along_BC, across_BC = block_BC, block_BC
        if shifts is not None:
            # The second step is the last use of a block.
            along_BC, across_BC = block_BC + shifts[1][columns], block_BC.add_(shifts[0][rows, None])
        best_N.take(rows, along_BC, columns.start, axis=1)
        best_M.take(columns, across_BC, rows.start, axis=0)
    in_rows, in_columns = (Top(values_of(best.keys), indices_of(best.keys)) for best in (best_N, best_M))
    return in_rows, in_columns


class Top(NamedTuple):
    """The best of every row, best first."""

    values: torch.Tensor
    indices: torch.Tensor


def top(x_ND: torch.Tensor, y_MD: torch.Tensor, count: int, mean_M: torch.Tensor | None = None) -> Top:
    """The highest of product − mean / 2 in every row.

    A plain top-k over a few rows at a time instead of the room retrieve's search: this is repeated and need not settle
    ties.
    """
    shift_M = x_ND.new_zeros(len(y_MD)) if mean_M is None else mean_M / -2
    count = min(count, len(y_MD))
    with full_precision():
        found = [
            torch.addmm(shift_M, block_BD, y_MD.T).topk(count, dim=1)
            for block_BD in x_ND.split(max(1, _ENTRIES // len(y_MD)))
        ]
    return Top(torch.cat([top.values for top in found]), torch.cat([top.indices for top in found]))


def _drawn(found: Top, keep: float, chance: torch.Generator) -> torch.Tensor:
    """Each row with the best neighbor that was kept, if that is above 0; with all kept, every row."""
    rows_N1 = torch.arange(len(found.indices), device=found.indices.device)[:, None]
    if keep >= 1:
        return torch.cat([rows_N1, found.indices[:, :1]], dim=1)
    draws_N1 = torch.rand(len(rows_N1), 1, generator=chance, dtype=torch.float64)
    rank_N1 = (torch.log1p(-draws_N1) / math.log1p(-keep)).long()
    beyond_N1 = (rank_N1 >= found.indices.shape[1]).to(rows_N1.device)
    rank_N1 = rank_N1.clamp(max=found.indices.shape[1] - 1).to(rows_N1.device)
    above_N = ((found.values.gather(1, rank_N1) > 0) & ~beyond_N1)[:, 0]
    pairs_N2 = torch.cat([rows_N1, found.indices.gather(1, rank_N1)], dim=1)
    return pairs_N2[above_N] if above_N.any() else pairs_N2


def _nearness(x_ND: torch.Tensor, y_MD: torch.Tensor, best_NK: torch.Tensor) -> float:
    return float((x_ND * y_MD[best_NK[:, 0]]).sum(dim=1).double().mean())

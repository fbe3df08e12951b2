"""A dictionary from two spaces that are already near each other: neighbors by CSLS, mutual or a little at random.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``P`` pairs, ``D`` columns, ``K`` neighbors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from isoglot.retrieve.rows import full_precision, paired_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    of rows at a time, twice.
    """
    blocks_BM: Iterable[torch.Tensor] = _Products(x_ND, y_MD)
    if len(x_ND) * len(y_MD) <= _WHOLE:
        blocks_BM = list(blocks_BM)
    rows, columns = _best(blocks_BM, neighborhood)
    mean_N, mean_M = (each.values.mean(dim=1) for each in (rows, columns))
    return _best(blocks_BM, count, mean_N / -2, mean_M / -2)


class _Products:
    """X Yᵀ a block of rows at a time, computed anew each time it is gone through."""

    def __init__(self, x_ND: torch.Tensor, y_MD: torch.Tensor) -> None:
        self.x_ND, self.y_MD = x_ND, y_MD

    def __iter__(self) -> Iterator[torch.Tensor]:
        for rows_BD in self.x_ND.split(max(1, _ENTRIES // len(self.y_MD))):
            with full_precision():
                product_BM = rows_BD @ self.y_MD.T
            yield product_BM


def _best(
    blocks_BM: Iterable[torch.Tensor],
    count: int,
    shift_N: torch.Tensor | None = None,
    shift_M: torch.Tensor | None = None,
) -> tuple[Top, Top]:
    """The highest entries of every row, the columns shifted, and of every column, the rows shifted; best first."""
    rows: list[Top] = []
    columns: Top | None = None
    first = 0
    for block_BM in blocks_BM:
        last = first + len(block_BM)
        rows.append(_highest(block_BM if shift_M is None else block_BM + shift_M, count))
        block_MB = block_BM.T.contiguous()  # a copy, along whose rows a search is twice as fast
        new = _highest(block_MB if shift_N is None else block_MB.add_(shift_N[first:last]), count)
        new = Top(new.values, new.indices + first)
        columns = new if columns is None else _merged(columns, new, count)
        first = last
    assert columns is not None  # noqa: S101 - for the type checker: there are rows
    return Top(torch.cat([each.values for each in rows]), torch.cat([each.indices for each in rows])), columns


def _highest(values_LW: torch.Tensor, count: int) -> Top:
    if count == 1:
        return Top(*values_LW.max(dim=1, keepdim=True))
    return Top(*values_LW.topk(min(count, values_LW.shape[1]), dim=1))


def _merged(one: Top, other: Top, count: int) -> Top:
    """The best of two lists for every line; of equals, those of the first."""
    best = _highest(torch.cat([one.values, other.values], dim=1), count)
    return Top(best.values, torch.cat([one.indices, other.indices], dim=1).gather(1, best.indices))


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

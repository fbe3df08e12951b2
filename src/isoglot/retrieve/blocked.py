"""The best entries of every row of X Yᵀ (and of every column), block by block: the whole matrix never exists.

A block of products is one matrix multiplication. What is left of it is small: the maximum of each group of 16 entries
is compared with the worst entry a row still keeps, and only groups above it are looked into. A few more entries are
kept than asked for; those are computed again in float64, so that order, ties (the lower index first) and scores do not
depend on the size of a block, the number of threads or the device. Where rounding could hide a better entry, as among
many duplicates, the whole row is computed again.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``D`` width, ``K`` asked for, ``B`` × ``C`` a block, ``S`` kept,
``L`` lines (rows or columns) with ``W`` entries in this block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from isoglot.core.progress import SILENT
from isoglot.retrieve.rows import full_precision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoglot.core.progress import Progress
    from isoglot.retrieve.rule import Rule

GROUP = 8
SPARE = 4  # entries kept beyond K
_GATHERED = 2**16  # numbers that are computed again at a time: in a core's own cache
_LOWEST = -(2**63)
_LARGEST_INDEX = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Top:
    """The K best columns of every row, best first, and their scores."""

    indices_NK: torch.Tensor
    scores_NK: torch.Tensor


def block_shape(device: torch.device) -> tuple[int, int]:
    """Rows and columns of a block: 32 MB stay in a CPU's cache, 1 GB keeps a GPU busy."""
    return (2048, 4096) if device.type == "cpu" else (8192, 32768)


def blocks(
    X_ND: torch.Tensor, Y_MD: torch.Tensor, rule: Rule, shape: tuple[int, int]
) -> Iterator[tuple[slice, slice, torch.Tensor]]:
    """Every block, row by row; its memory is used again for the next."""
    height, width = min(shape[0], len(X_ND)), min(shape[1], len(Y_MD))
    out = torch.empty(height * width, device=X_ND.device)
    X_ND, Y_MD = rule.operands(X_ND, Y_MD)
    for top in range(0, len(X_ND), height):
        rows = slice(top, min(top + height, len(X_ND)))
        for left in range(0, len(Y_MD), width):
            columns = slice(left, min(left + width, len(Y_MD)))
            yield rows, columns, rule.block(X_ND[rows], Y_MD[columns], rows, columns, out)


def search(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    k: int,
    rule: Rule,
    *,
    shape: tuple[int, int] | None = None,
    progress: Progress = SILENT,
) -> Top:
    """The ``min(k, M)`` best columns of every row."""
    return _search(X_ND, Y_MD, k, rule, "rows", shape, progress)[0]


def search_both(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    k: int,
    rule: Rule,
    *,
    shape: tuple[int, int] | None = None,
    progress: Progress = SILENT,
) -> tuple[Top, Top]:
    """The best columns of every row and the best rows of every column, for the multiplications of one search.

    The rule must be symmetric: no shift, offset or mean.
    """
    return _search(X_ND, Y_MD, k, rule, "both", shape, progress)


def _search(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    k: int,
    rule: Rule,
    sides: Literal["rows", "both"],
    shape: tuple[int, int] | None,
    progress: Progress,
) -> tuple[Top, Top]:
    places, tops = torch.arange(len(X_ND), device=X_ND.device), []
    longest = float(Y_MD.norm(dim=1).max())
    row_k, column_k = min(k, len(Y_MD)), min(k, len(X_ND))
    best = _Best(0, 1, X_ND.device)
    across = _Best(len(Y_MD) if sides == "both" else 0, min(column_k + SPARE, len(X_ND)), X_ND.device)
    with full_precision(), progress.task("neighbours", total=len(X_ND), unit="rows") as task:
        for rows, columns, block_BC in blocks(X_ND, Y_MD, rule, shape or block_shape(X_ND.device)):
            if columns.start == 0:
                best = _Best(len(block_BC), min(row_k + SPARE, len(Y_MD)), X_ND.device)
            best.take(slice(0, len(block_BC)), block_BC, columns.start, axis=1)
            if sides == "both":
                across.take(columns, block_BC, rows.start, axis=0)
            if columns.stop == len(Y_MD):
                tops.append(_settled(X_ND, Y_MD, places[rows], best.keys, row_k, rule, longest))
                task.advance(len(block_BC))
        other = Top(places[:0], places[:0])
        if sides == "both":
            lines = torch.arange(len(Y_MD), device=X_ND.device)
            other = _settled(Y_MD, X_ND, lines, across.keys, column_k, rule, float(X_ND.norm(dim=1).max()))
    return Top(torch.cat([top.indices_NK for top in tops]), torch.cat([top.scores_NK for top in tops])), other


class _Best:
    """The best S entries of every line so far, as keys: sorting them sorts by value, then by lower index."""

    def __init__(self, lines: int, keep: int, device: torch.device) -> None:
        self.keys = torch.full((lines, keep), _LOWEST, dtype=torch.int64, device=device)

    def take(self, lines: slice, block_BC: torch.Tensor, first: int, axis: Literal[0, 1]) -> None:
        """Take in a block; ``axis`` is the one along which a line runs, ``first`` the index of its first entry."""
        entries = block_BC.shape[axis]
        whole = entries // GROUP * GROUP
        if whole:
            self._take(self.keys[lines], block_BC.narrow(axis, 0, whole), first, axis, GROUP)
        if whole < entries:
            self._take(self.keys[lines], block_BC.narrow(axis, whole, entries - whole), first + whole, axis, 1)

    @staticmethod
    def _take(keys_LS: torch.Tensor, block_BC: torch.Tensor, first: int, axis: Literal[0, 1], group: int) -> None:
        keep, stride = keys_LS.shape[1], block_BC.shape[axis] // group
        # A group is every stride-th entry: its maximum is then one of whole vectors, several times as fast.
        highest = block_BC.unflatten(axis, (group, stride)).amax(dim=axis)
        highest = highest if axis else highest.T.contiguous()
        if int(keys_LS[0, -1]) == _LOWEST:  # not full yet: S groups have a maximum this high, hence S entries
            bar_L = highest.topk(keep, dim=1).values[:, -1] if stride >= keep else highest.new_full((1,), -torch.inf)
            bar_L = bar_L.expand(len(highest))
        else:  # a later entry must be better than the worst kept: among equals the lower index wins
            bar_L = torch.nextafter(_values(keys_LS[:, -1]), highest.new_tensor(torch.inf))
        line, place = (highest >= bar_L[:, None]).nonzero(as_tuple=True)
        if len(line) == 0:
            return
        # The entries of those groups, by their place in memory.
        step_line, step_place = block_BC.stride(1 - axis), block_BC.stride(axis)
        members = torch.arange(group, device=line.device) * (stride * step_place)
        places = (line * step_line + place * step_place)[:, None] + members
        extent = (block_BC.shape[0] - 1) * block_BC.stride(0) + block_BC.shape[1]
        opened = block_BC.as_strided((extent,), (1,)).take(places)
        hit, member = (opened >= bar_L[line, None]).nonzero(as_tuple=True)
        line = line[hit]
        new = _keys(opened[hit, member], first + member * stride + place[hit])
        count_L = torch.bincount(line, minlength=len(keys_LS))
        active = count_L.nonzero()[:, 0]
        compact_L = (count_L > 0).cumsum(0) - 1
        position = torch.arange(len(line), device=line.device) - (count_L.cumsum(0) - count_L)[line]
        merged = keys_LS.new_full((len(active), keep + int(count_L.max())), _LOWEST)
        merged[:, :keep] = keys_LS[active]
        merged[compact_L[line], keep + position] = new
        keys_LS[active] = merged.topk(keep, dim=1).values


def _keys(values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Value and index as one integer: a greater value is greater, and among equal values the lower index."""
    bits = (values + 0.0).view(torch.int32)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (ordered.long() << 32) | (_LARGEST_INDEX - indices)


def _values(keys: torch.Tensor) -> torch.Tensor:
    ordered = (keys >> 32).int()
    return (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).view(torch.float32)


def _indices(keys: torch.Tensor) -> torch.Tensor:
    return _LARGEST_INDEX - (keys & _LARGEST_INDEX)


def _settled(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    lines_L: torch.Tensor,
    keys_LS: torch.Tensor,
    k: int,
    rule: Rule,
    longest: float,
) -> Top:
    """The K best of what was kept, in float64; where that may not hold the best, of the whole row."""
    rough_LS, kept = _values(keys_LS), keys_LS.shape[1]
    span = slice(int(lines_L[0]), int(lines_L[-1]) + 1)
    sure_L = rough_LS[:, k - 1].double() - 2 * rule.tolerance(X_ND[span], longest, span)
    unsure_L = (rough_LS[:, -1] >= sure_L) if kept < len(Y_MD) else torch.zeros_like(sure_L, dtype=torch.bool)
    close_L = (rough_LS[:, k] >= sure_L) if kept > k else torch.zeros_like(unsure_L)
    final_LK = torch.empty(len(lines_L), k, dtype=torch.int64, device=X_ND.device)
    candidates_LS = _indices(keys_LS)
    for chosen_L, width in ((~close_L, k), (close_L & ~unsure_L, kept)):
        for part in chosen_L.nonzero()[:, 0].split(max(1, _GATHERED // (width * X_ND.shape[1]))):
            columns_PW = candidates_LS[part, :width]
            rows_P1 = lines_L[part, None]
            products = torch.bmm(
                Y_MD.index_select(0, columns_PW.flatten()).view(-1, width, X_ND.shape[1]).double(),
                X_ND[lines_L[part]].double()[:, :, None],
            )[:, :, 0]
            scores_PW = rule.final(rule.order(products, rows_P1, columns_PW), rows_P1)
            final_LK[part] = _keys(scores_PW, columns_PW).topk(k, dim=1).values
    for part in unsure_L.nonzero()[:, 0].split(max(1, 2**22 // len(Y_MD))):
        final_LK[part] = _whole_rows(X_ND, Y_MD, lines_L[part], k, rule)
    return Top(_indices(final_LK), _values(final_LK))


def _whole_rows(X_ND: torch.Tensor, Y_MD: torch.Tensor, lines_P: torch.Tensor, k: int, rule: Rule) -> torch.Tensor:
    """The keys of the K best columns of a few rows, all in float64."""
    rows_P1, keys = lines_P[:, None], []
    for columns_C in torch.arange(len(Y_MD), device=X_ND.device).split(2**16):
        products = X_ND[lines_P].double() @ Y_MD[columns_C].double().T
        keys.append(_keys(rule.final(rule.order(products, rows_P1, columns_C[None]), rows_P1), columns_C[None]))
    return torch.cat(keys, dim=1).topk(k, dim=1).values

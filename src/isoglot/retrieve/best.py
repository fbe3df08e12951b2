"""The best entries of many lines (rows or columns), block by block, and the exact K of them at the end.

What is left of a block of products is small: the maximum of each group of 8 entries is compared with the worst entry a
line still keeps, and only groups above it are looked into. On the CPU, where numba is installed, the loops of
:mod:`isoglot.retrieve.best_loops` do the same in a third of the time. A few more entries are kept than asked for; those
are computed again in float64, so that order, ties (the lower index first) and scores do not depend on the size of a
block, the number of threads or the device. Where rounding could hide a better entry, as among many duplicates, the
whole row is computed again.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``D`` hidden size, ``K`` asked for, ``B`` × ``C`` a block, ``S`` kept,
``L`` lines with ``W`` entries in this block, ``P`` a part of the lines.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from isoglot.core.compiled import COMPILED

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.retrieve.rule import Rule

GROUP = 8
_GATHERED = 2**18  # numbers that are gathered at a time: they stay in a cache
_LOWEST = -(2**63)
_LARGEST_INDEX = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Top:
    """The K best columns of every row, best first, and their scores; perhaps the keys of all that were kept."""

    indices_NK: torch.Tensor
    scores_NK: torch.Tensor
    kept_NS: torch.Tensor | None = None


class Best:
    """The best S entries of every line so far, as keys: sorting them sorts by value, then by lower index."""

    def __init__(self, keys_LS: torch.Tensor) -> None:
        self.keys = keys_LS

    @classmethod
    def none(cls, lines: int, keep: int, device: torch.device) -> Best:
        """Nothing yet."""
        return cls(torch.full((lines, keep), _LOWEST, dtype=torch.int64, device=device))

    def take(self, lines: slice, block_BC: torch.Tensor, first: int, axis: Literal[0, 1]) -> None:
        """Take in a block; ``axis`` is the one along which a line runs, ``first`` the index of its first entry."""
        if COMPILED and block_BC.device.type == "cpu":
            self._take_compiled(self.keys[lines], block_BC, first, axis)
            return
        entries = block_BC.shape[axis]
        whole = entries // GROUP * GROUP
        if whole:
            self._take(self.keys[lines], block_BC.narrow(axis, 0, whole), first, axis, GROUP)
        if whole < entries:
            self._take(self.keys[lines], block_BC.narrow(axis, whole, entries - whole), first + whole, axis, 1)

    @staticmethod
    def _take_compiled(keys_LS: torch.Tensor, block_BC: torch.Tensor, first: int, axis: Literal[0, 1]) -> None:
        from isoglot.retrieve.best_loops import take_columns, take_rows  # numba takes half a second to import

        def part(lines: slice) -> None:
            if axis:
                take_rows(keys_LS[lines].numpy(), block_BC[lines].numpy(), first)
            else:
                take_columns(keys_LS[lines].numpy(), block_BC[:, lines].numpy(), first)

        _by_threads(part, len(keys_LS))

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
            bar_L = torch.nextafter(values_of(keys_LS[:, -1]), highest.new_tensor(torch.inf))
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
        new = keys_of(opened[hit, member], first + member * stride + place[hit])
        count_L = torch.bincount(line, minlength=len(keys_LS))
        active = count_L.nonzero()[:, 0]
        compact_L = (count_L > 0).cumsum(0) - 1
        position = torch.arange(len(line), device=line.device) - (count_L.cumsum(0) - count_L)[line]
        merged = keys_LS.new_full((len(active), keep + int(count_L.max())), _LOWEST)
        merged[:, :keep] = keys_LS[active]
        merged[compact_L[line], keep + position] = new
        keys_LS[active] = merged.topk(keep, dim=1).values


def _by_threads(work: Callable[[slice], None], lines: int) -> None:
    """Do the work of all lines, in as many threads as torch has."""
    size = max(1, -(-lines // torch.get_num_threads()))
    parts = [slice(first, first + size) for first in range(0, lines, size)]
    if len(parts) == 1:
        work(parts[0])
        return
    with ThreadPoolExecutor(len(parts)) as pool:
        deque(pool.map(work, parts), maxlen=0)


def keys_of(values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Value and index as one integer: a greater value is greater, and among equal values the lower index."""
    bits = (values + 0.0).view(torch.int32)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (ordered.long() << 32) | (_LARGEST_INDEX - indices)


def values_of(keys: torch.Tensor) -> torch.Tensor:
    """The values in keys."""
    ordered = (keys >> 32).int()
    return (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).view(torch.float32)


def indices_of(keys: torch.Tensor) -> torch.Tensor:
    """The indices in keys."""
    return _LARGEST_INDEX - (keys & _LARGEST_INDEX)


def settled(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    lines_L: torch.Tensor,
    keys_LS: torch.Tensor,
    k: int,
    rule: Rule,
    longest: float,
) -> Top:
    """The K best of what was kept, in float64; where that may not hold the best, of the whole row."""
    rough_LS, kept = values_of(keys_LS), keys_LS.shape[1]
    span = slice(int(lines_L[0]), int(lines_L[-1]) + 1)
    sure_L = rough_LS[:, k - 1].double() - 2 * rule.tolerance(X_ND[span], longest, span)
    unsure_L = (rough_LS[:, -1] >= sure_L) if kept < len(Y_MD) else torch.zeros_like(sure_L, dtype=torch.bool)
    close_L = (rough_LS[:, k] >= sure_L) if kept > k else torch.zeros_like(unsure_L)
    final_LK = torch.empty(len(lines_L), k, dtype=torch.int64, device=X_ND.device)
    candidates_LS = indices_of(keys_LS)
    for chosen_L, width in ((~close_L, k), (close_L & ~unsure_L, kept)):
        if not bool(chosen_L.any()):
            continue
        columns_PW, rows_P = candidates_LS[chosen_L, :width], lines_L[chosen_L]
        products_PW = _products(X_ND, Y_MD, rows_P, columns_PW)
        scores_PW = rule.final(rule.order(products_PW, rows_P[:, None], columns_PW), rows_P[:, None])
        final_LK[chosen_L] = keys_of(scores_PW, columns_PW).topk(k, dim=1).values
    unsure_U = unsure_L.nonzero()[:, 0]
    for part in unsure_U.split(max(1, 2**22 // len(Y_MD))) if len(unsure_U) else ():
        final_LK[part] = _whole_rows(X_ND, Y_MD, lines_L[part], k, rule)
    return Top(indices_of(final_LK), values_of(final_LK))


def _products(X_ND: torch.Tensor, Y_MD: torch.Tensor, rows_P: torch.Tensor, columns_PW: torch.Tensor) -> torch.Tensor:
    """Single entries of X Yᵀ in float64, a few rows at a time: what is gathered for them stays in a cache."""
    if COMPILED and X_ND.device.type == "cpu":
        from isoglot.retrieve import best_loops

        X, Y = (tensor.contiguous().numpy() for tensor in (X_ND, Y_MD))
        out_PW = torch.empty(columns_PW.shape, dtype=torch.float64)
        rows, columns, out = rows_P.numpy(), columns_PW.numpy(), out_PW.numpy()
        _by_threads(lambda part: best_loops.products(X, Y, rows[part], columns[part], out[part]), len(rows))
        return out_PW
    width, products = columns_PW.shape[1], []
    at_once = max(1, _GATHERED // (width * X_ND.shape[1]))
    for part_B, columns_BW in zip(rows_P.split(at_once), columns_PW.split(at_once), strict=True):
        Y_BWD = Y_MD.index_select(0, columns_BW.flatten()).view(-1, width, X_ND.shape[1]).double()
        X_B1D = X_ND.index_select(0, part_B).double()[:, None]
        products.append(torch.matmul(X_B1D, Y_BWD.transpose(1, 2))[:, 0])
    return torch.cat(products)


def _whole_rows(X_ND: torch.Tensor, Y_MD: torch.Tensor, lines_P: torch.Tensor, k: int, rule: Rule) -> torch.Tensor:
    """The keys of the K best columns of a few rows, all in float64."""
    rows_P1, keys = lines_P[:, None], []
    for columns_C in torch.arange(len(Y_MD), device=X_ND.device).split(2**16):
        products = X_ND[lines_P].double() @ Y_MD[columns_C].double().T
        keys.append(keys_of(rule.final(rule.order(products, rows_P1, columns_C[None]), rows_P1), columns_C[None]))
    return torch.cat(keys, dim=1).topk(k, dim=1).values

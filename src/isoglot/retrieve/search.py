"""Exact nearest-neighbor search: the best entries of every row (and column) of a score matrix that is never stored.

Scores are computed block by block, one matrix multiplication each (:func:`blocks`), and merged into the best entries of
every line, a row or a column (:class:`TopEntries`): the maximum of each group of 8 entries is compared with the worst
entry a line still keeps, and only groups above it are examined. On the CPU with numba, :mod:`search_loops` does the
same in a third of the time; where the processor is much faster in bfloat16, most products are (:class:`SearchPlan`).

A few more entries are kept than asked for and rescored in float64 (:func:`exact_top`), so that order, ties (the lower
index first) and scores do not depend on block size, precision of the blocks, number of threads or device. Where
rounding could hide a better entry, as among many duplicates, the whole row is recomputed.

CSLS and the margins need neighborhoods first; the products kept by that first pass spare the second one most of its
multiplications (:func:`_second_pass`). The ``dense_*`` functions are the plain twin for matrices small enough to store,
and faster for them.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``D`` hidden size, ``K`` neighbors, ``B`` × ``C`` a block, ``S`` kept
entries, ``L`` lines of a block, ``P`` some of the lines or pairs, ``W`` candidates of a line, ``E`` single entries.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import torch

from isoglot.core.arrays import full_precision
from isoglot.core.optional import COMPILED
from isoglot.core.progress import SILENT, Progress
from isoglot.retrieve.matrix_product import ROUNDING, multiply, multiply_rounded, rounding_errors, rounding_pays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


GROUP = 8
SPARE = 4  # least number of entries kept beyond K; more would shorten a second pass but lengthen the first
_SPARES = (SPARE, 16, 64)
DENSE = 2**22
"""Largest score matrix that is stored, 32 MB: 2,000 rows by 2,000."""
FLOOR = 1e-6  # lower bound of a mean similarity, for ratios
_SCREENED = 2**32
"""Multiplications of a search from which on it may start with bfloat16 products: a tenth of a second in float32."""
_MORE = 16
"""Entries kept then beyond the others: the more, the fewer rows have to be searched again."""
_SAMPLE = 64  # lines that are tried first
_EXACT = 2**15  # entries compared in float64 at a time
_GATHERED = 2**18  # numbers gathered at a time: they stay in the cache
_LOWEST = -(2**63)
_LARGEST_INDEX = 2**32 - 1


@dataclass(frozen=True, slots=True)
class TopK:
    """The K best columns of every row, best first, with their scores; optionally the keys of all kept candidates."""

    indices_NK: torch.Tensor
    scores_NK: torch.Tensor
    kept_NS: torch.Tensor | None = None


@dataclass(frozen=True, kw_only=True)
class ScoringRule:
    """A score: ``factor · (product + shift of the column) / mean + offset of the row``, float64 throughout.

    Every method has one of two forms, so that one blocked search serves all: the product plus a shift of the column
    (nearest neighbor, CSLS, inverted softmax, distance margin, Euclidean), or the product divided by a mean (ratio
    margin).

    Args:
        factor: Scale of the final score.
        shift_M: Added to the product; None for none.
        offset_N: Added at the end, without effect on the order in a row; None for none.
        means_N: With ``means_M``: the product is divided by the average of the two.
        means_M: As above.
        kept_NS: Keys of the best products of every row, without the shift, if a search has already found them.
    """

    factor: float = 1.0
    shift_M: torch.Tensor | None = None
    offset_N: torch.Tensor | None = None
    means_N: torch.Tensor | None = None
    means_M: torch.Tensor | None = None
    kept_NS: torch.Tensor | None = None

    def of_rows(self, rows: torch.Tensor) -> ScoringRule:
        """The rule for some rows of X as queries, in that order."""
        offset_N, means_N, kept_NS = (
            None if side is None else side[rows] for side in (self.offset_N, self.means_N, self.kept_NS)
        )
        return replace(self, offset_N=offset_N, means_N=means_N, kept_NS=kept_NS)

    def operands(self, X_ND: torch.Tensor, Y_MD: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Matrices to multiply: with a shift, one more column on either side, ones and the shift.

        The product then includes the shift without another pass over the block; zeros pad the width to a multiple of
        16.
        """
        if self.shift_M is None:
            return X_ND, Y_MD
        width = X_ND.shape[1]
        wide = -(-(width + 1) // 16) * 16
        X_NW, Y_MW = X_ND.new_zeros(len(X_ND), wide), Y_MD.new_zeros(len(Y_MD), wide)
        X_NW[:, :width], Y_MW[:, :width] = X_ND, Y_MD
        X_NW[:, width], Y_MW[:, width] = 1.0, self.shift_M.float()
        return X_NW, Y_MW

    def block(
        self,
        X_BD: torch.Tensor,
        Y_CD: torch.Tensor,
        rows: slice,
        columns: slice,
        out: torch.Tensor,
        *,
        rounded: bool = False,
    ) -> torch.Tensor:
        """Block of float32 values that order every row as the final score does, from parts of the operands."""
        block_BC = out[: len(X_BD) * len(Y_CD)].view(len(X_BD), len(Y_CD))
        (multiply_rounded if rounded else multiply)(X_BD, Y_CD, block_BC)
        if self.means_N is not None and self.means_M is not None:
            mean_BC = self.means_N[rows, None].float() / 2 + self.means_M[columns].float() / 2
            block_BC.div_(mean_BC.clamp_(min=FLOOR))
        return block_BC

    def order(self, products: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """The values of :meth:`block` in float64, for single entries."""
        values = products if self.shift_M is None else products + self.shift_M[columns]
        if self.means_N is not None and self.means_M is not None:
            values = values / ((self.means_N[rows] + self.means_M[columns]) / 2).clamp(min=FLOOR)
        return values

    def final(self, order: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Score in float32, from the value that orders."""
        values = order if self.factor == 1 else self.factor * order
        return (values if self.offset_N is None else values + self.offset_N[rows]).float() + 0.0  # -0.0 is 0.0

    def tolerance(self, X_BD: torch.Tensor, longest_Y: float, rows: slice | torch.Tensor) -> torch.Tensor:
        """Error bound of float32 in each row of :meth:`block`: that of a sum of D products."""
        size_B: torch.Tensor = X_BD.norm(dim=1).double() * longest_Y
        if self.shift_M is not None:
            size_B = size_B + float(self.shift_M.abs().max())
        error_B = size_B * (X_BD.shape[1] + 8) * 2.0**-24
        if self.means_N is not None and self.means_M is not None:
            smallest_B = (self.means_N[rows] + float(self.means_M.min())) / 2
            error_B = error_B / smallest_B.clamp(min=FLOOR) * 4
        return error_B


# --- search ---


def search(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    k: int,
    rule: ScoringRule,
    *,
    shape: tuple[int, int] | None = None,
    progress: Progress = SILENT,
) -> TopK:
    """The ``min(k, M)`` best columns of every row, exactly."""
    shift_M, kept_NS = rule.shift_M, rule.kept_NS
    if shift_M is not None and kept_NS is not None and kept_NS.shape[1] >= min(k + SPARE, len(Y_MD)):
        k, shape = min(k, len(Y_MD)), shape or block_shape(X_ND.device)
        return _second_pass(X_ND, Y_MD, k, rule, shift_M, kept_NS, shape=shape, progress=progress)
    return _search(X_ND, Y_MD, k, rule, "rows", shape, progress)[0]


def search_both(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    k: int,
    rule: ScoringRule,
    *,
    shape: tuple[int, int] | None = None,
    progress: Progress = SILENT,
) -> tuple[TopK, TopK]:
    """The best columns of every row and the best rows of every column, from one pass of multiplications.

    The rule must be symmetric: no shift, offset or mean. The result includes the kept candidates.
    """
    return _search(X_ND, Y_MD, k, rule, "both", shape, progress)


def _search(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    k: int,
    rule: ScoringRule,
    sides: Literal["rows", "both"],
    shape: tuple[int, int] | None,
    progress: Progress,
) -> tuple[TopK, TopK]:
    places, tops, kept = torch.arange(len(X_ND), device=X_ND.device), [], []
    shape, longest = shape or block_shape(X_ND.device), float(Y_MD.norm(dim=1).max())
    row_k, column_k = min(k, len(Y_MD)), min(k, len(X_ND))
    plan = SearchPlan(X_ND, Y_MD, k, rule, sides, shape)
    best = TopEntries.empty(0, 1, X_ND.device)
    across = TopEntries.empty(len(Y_MD) if sides == "both" else 0, plan.keep(1), X_ND.device)
    with full_precision(), progress.task("neighbors", total=len(X_ND), unit="rows") as task:
        for rows, columns, block_BC in blocks(X_ND, Y_MD, rule, shape, rounded=plan.rounds):
            if columns.start == 0:
                best = TopEntries.empty(len(block_BC), plan.keep(0), X_ND.device)
            best.merge(slice(0, len(block_BC)), block_BC, columns.start, axis=1)
            if sides == "both":
                across.merge(columns, block_BC, rows.start, axis=0)
            if columns.stop == len(Y_MD):
                keys_BS = plan.settle(0, places[rows], best.keys)
                tops.append(exact_top(X_ND, Y_MD, places[rows], keys_BS, row_k, rule, longest))
                kept += [keys_BS] if sides == "both" else []
                task.advance(len(block_BC))
        other = TopK(places[:0], places[:0])
        if sides == "both":
            lines = torch.arange(len(Y_MD), device=X_ND.device)
            keys_MS = plan.settle(1, lines, across.keys)
            other = exact_top(Y_MD, X_ND, lines, keys_MS, column_k, rule, float(X_ND.norm(dim=1).max()))
            other = replace(other, kept_NS=keys_MS)
    indices_NK, scores_NK = (torch.cat([getattr(top, name) for top in tops]) for name in ("indices_NK", "scores_NK"))
    return TopK(indices_NK, scores_NK, torch.cat(kept) if kept else None), other


class SearchPlan:
    """How many entries every line keeps, and whether the search starts in bfloat16: chosen on a sample of lines.

    How far a rounded product may be off is known, in float32 as in bfloat16. A line has its best entries for certain if
    the worst one it kept is further below them than that. Vectors that nearly all point the same way, as of many
    encoders, need more entries for this; where most lines would still be in doubt, as among duplicates, more are
    of no use.

    bfloat16 is used where the processor is much faster in it. A line then keeps ``_MORE`` entries beyond the others,
    which are rescored in float64; the few that are in doubt are searched again in float32 (:meth:`settle`).

    Args:
        X_ND: Query rows.
        Y_MD: Candidate rows.
        k: Number of neighbors.
        rule: The score; with a shift or means, bfloat16 is not used.
        sides: Whether the best rows of columns are searched as well.
        shape: Rows and columns of a block.
    """

    def __init__(
        self,
        X_ND: torch.Tensor,
        Y_MD: torch.Tensor,
        k: int,
        rule: ScoringRule,
        sides: Literal["rows", "both"],
        shape: tuple[int, int],
    ) -> None:
        self._sides, self._rule, self._shape = (X_ND, Y_MD), rule, shape
        self._lengths = tuple(side.norm(dim=1).double() for side in self._sides)
        used: tuple[Literal[0, 1], ...] = (0,) if sides == "rows" else (0, 1)
        samples = [(side, *self._sample(side, k + _SPARES[-1] + _MORE)) for side in used]
        self._keep = k + max(_SPARES, key=lambda spare: self._sure(samples, k, spare) - spare / 2000)
        multiplications = len(X_ND) * len(Y_MD) * X_ND.shape[1]
        plain = rule.shift_M is None and rule.means_N is None
        self.rounds = plain and multiplications >= _SCREENED and rounding_pays(X_ND.shape[1], X_ND.device)
        if self.rounds:
            self._off = tuple(rounding_errors(side).double() for side in self._sides)
            self.rounds = self._sure_in_bfloat16(samples) > 0.75

    def _sample(self, side: Literal[0, 1], most: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Some lines and their best values."""
        X_ND, Y_MD = self._sides[side], self._sides[1 - side]
        lines_L = torch.linspace(0, len(X_ND) - 1, min(_SAMPLE, len(X_ND)), device=X_ND.device).long()
        ((_, _, block_LM),) = blocks(X_ND[lines_L], Y_MD, self._rule.of_rows(lines_L), (_SAMPLE, len(Y_MD)))
        return lines_L, block_LM.topk(min(most, len(Y_MD)), dim=1).values.double()

    def _sure(self, samples: list[tuple[Literal[0, 1], torch.Tensor, torch.Tensor]], k: int, spare: int) -> float:
        """The share of lines that have their ``k`` best for certain in float32, the lesser one of both sides."""
        shares = [1.0]
        for side, lines_L, best_LT in samples:
            if k + spare < len(self._sides[1 - side]):
                longest, rule = float(self._lengths[1 - side].max()), self._rule.of_rows(lines_L)
                error_L = rule.tolerance(self._sides[side][lines_L], longest, slice(0, len(lines_L)))
                sure_L = best_LT[:, k + spare - 1] + 2 * error_L < best_LT[:, k - 1]
                shares.append(float(sure_L.double().mean()))
        return min(shares)

    def _sure_in_bfloat16(self, samples: list[tuple[Literal[0, 1], torch.Tensor, torch.Tensor]]) -> float:
        """The share of lines that would not be searched again."""
        shares = [1.0]
        for side, lines_L, best_LT in samples:
            keep = self._keep + _MORE
            if keep < len(self._sides[1 - side]):
                lowest_L = best_LT[:, keep - 1]
                sure_L = lowest_L + self._error(side, lines_L, lowest_L) < best_LT[:, self._keep - 1]
                shares.append(float(sure_L.double().mean()))
        return min(shares)

    def keep(self, side: Literal[0, 1]) -> int:
        """How many entries of every row (``side=0``) or column to keep."""
        return min(self._keep + (_MORE if self.rounds else 0), len(self._sides[1 - side]))

    def settle(self, side: Literal[0, 1], lines_L: torch.Tensor, keys_LT: torch.Tensor) -> torch.Tensor:
        """Keys of the S best entries of some rows (``side=0``) or columns, as float32 blocks would have left them."""
        X_ND, Y_MD = self._sides[side], self._sides[1 - side]
        if not self.rounds:
            return keys_LT
        columns_LT = indices_of(keys_LT)
        scores_LT = _products(X_ND, Y_MD, lines_L, columns_LT).float()
        keys_LS = keys_of(scores_LT, columns_LT).topk(min(self._keep, len(Y_MD)), dim=1).values
        if keys_LT.shape[1] == len(Y_MD):
            return keys_LS
        lowest_L = values_of(keys_LT[:, -1]).double()
        sure_L = lowest_L + self._error(side, lines_L, lowest_L) < values_of(keys_LS[:, -1]).double()
        unsure_U = (~sure_L).nonzero()[:, 0]
        if len(unsure_U):
            keys_LS[unsure_U] = self._in_float32(X_ND[lines_L[unsure_U]], Y_MD)
        return keys_LS

    def _error(self, side: Literal[0, 1], lines_L: torch.Tensor, products_L: torch.Tensor) -> torch.Tensor:
        """How far bfloat16 products of some lines, of this size or smaller, may be from the exact ones."""
        off_L, off_M, longest = self._off[side][lines_L], self._off[1 - side], float(self._lengths[1 - side].max())
        length_L = self._lengths[side][lines_L] + off_L
        inputs_L = off_L * longest + length_L * float(off_M.max())
        sums_L = length_L * longest * (self._sides[0].shape[1] + 8) * 2.0**-22
        error_L: torch.Tensor = inputs_L + sums_L + 1.01 * ROUNDING * products_L.abs()
        return error_L

    def _in_float32(self, X_UD: torch.Tensor, Y_MD: torch.Tensor) -> torch.Tensor:
        found = []
        for _, columns, block_BC in blocks(X_UD, Y_MD, self._rule, self._shape):
            if columns.start == 0:
                best = TopEntries.empty(len(block_BC), min(self._keep, len(Y_MD)), X_UD.device)
                found.append(best.keys)
            best.merge(slice(0, len(block_BC)), block_BC, columns.start, axis=1)
        return torch.cat(found)


def _second_pass(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    k: int,
    rule: ScoringRule,
    shift_M: torch.Tensor,
    kept_NS: torch.Tensor,
    *,
    shape: tuple[int, int],
    progress: Progress = SILENT,
) -> TopK:
    """The ``k`` best columns of every row by a rule with a shift, given the S best products without it.

    Let ``c`` be the K-th best of the kept products with their shifts. A column that was not kept has a product no
    greater than the least kept one, so it can be chosen only if its shift makes up for the difference to ``c``. With
    the columns sorted by shift those are a prefix, short for most rows and empty for many; only it is multiplied again.
    Every bound leaves room for rounding, so the result is that of a full search.

    Args:
        X_ND: Query rows.
        Y_MD: Candidate rows.
        k: Number of neighbors, less than S unless S is M.
        rule: A rule with a shift and no means.
        shift_M: That shift.
        kept_NS: Keys of the S best products of every row, without the shift.
        shape: Rows and columns of a block.
        progress: Progress in rows.
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
    height = min(max(1, shape[0] // 4), len(X_ND))  # few rows, because all share the longest prefix
    out = torch.empty(height * min(shape[1], len(Y_MD)), device=X_ND.device)
    with full_precision(), progress.task("neighbors", total=len(X_ND), unit="rows") as task:
        task.advance(int((need_N == 0).sum()))
        for first in range(int((need_N == 0).sum()), len(rows_N), height):
            rows_B = rows_N[first : first + height]
            best = TopEntries(keys_NS[rows_B])
            rank_BS, X_BW = indices_of(best.keys), X_NW[rows_B]
            need = int(need_N[rows_B[-1]])
            for left in range(0, need, shape[1]):
                width = min(shape[1], need - left)
                block_BC = out[: len(rows_B) * width].view(len(rows_B), width)
                multiply(X_BW, Y_MW[left : left + width], block_BC)
                line, slot = ((rank_BS >= left) & (rank_BS < left + width)).nonzero(as_tuple=True)
                block_BC[line, rank_BS[line, slot] - left] = -torch.inf  # already kept
                best.merge(slice(0, len(rows_B)), block_BC, left, axis=1)
            keys_NS[rows_B] = best.keys
            task.advance(len(rows_B))
        keys_NS = keys_of(values_of(keys_NS), order_M[indices_of(keys_NS)])
        return exact_top(X_ND, Y_MD, torch.arange(len(X_ND), device=X_ND.device), keys_NS, k, rule, longest)


def _prefixes(
    X_ND: torch.Tensor,
    k: int,
    rule: ScoringRule,
    kept_NS: torch.Tensor,
    keys_NS: torch.Tensor,
    falling_M: torch.Tensor,
    longest: float,
) -> torch.Tensor:
    """For every row, how many columns in order of falling shift may hold one of the K best that was not kept."""
    if kept_NS.shape[1] == len(falling_M):
        return torch.zeros(len(X_ND), dtype=torch.int64, device=X_ND.device)
    lacking_N = values_of(keys_NS[:, k - 1]).double() - values_of(kept_NS[:, -1]).double()
    # The products of both passes may each be off by one tolerance; a third allows for the rounding of the score.
    lacking_N -= 3 * rule.tolerance(X_ND, longest, slice(None))
    return torch.searchsorted(-falling_M, -lacking_N, right=True)


def ranks(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    pairs_P2: torch.Tensor,
    rule: ScoringRule,
    *,
    shape: tuple[int, int] | None = None,
    progress: Progress = SILENT,
) -> torch.Tensor:
    """For each pair, the rank of its column among all columns of its row, from 1.

    Entries that float32 cannot tell from the ranked one are compared in float64; among equals the lower index is first.
    """
    height, width = shape or block_shape(X_ND.device)
    longest = float(Y_MD.norm(dim=1).max())
    counts = []
    with full_precision(), progress.task("ranks", total=len(pairs_P2), unit="pairs") as task:
        for part_B2 in pairs_P2.split(height):
            rows_B, right_B = part_B2[:, 0], part_B2[:, 1]
            X_BD, own = X_ND[rows_B], rule.of_rows(rows_B)
            lines_B = torch.arange(len(rows_B), device=X_ND.device)
            truth_B = own.order((X_BD.double() * Y_MD[right_B].double()).sum(1), lines_B, right_B)
            final_B = own.final(truth_B, lines_B)
            # Blocks are float32: twice the error allows for the rounding of the bounds themselves.
            error_B = 2 * own.tolerance(X_BD, longest, slice(0, len(rows_B)))
            low_B1, high_B1 = (truth_B - error_B).float()[:, None], (truth_B + error_B).float()[:, None]
            rank_B = torch.ones_like(rows_B)
            for _, columns, block_BC in blocks(X_BD, Y_MD, own, (len(X_BD), width)):
                above_BC = block_BC > high_B1
                rank_B += above_BC.sum(1)
                line_E, column_E = ((block_BC >= low_B1) & ~above_BC).nonzero(as_tuple=True)
                column_E += columns.start
                for line, column in zip(line_E.split(_EXACT), column_E.split(_EXACT), strict=True):
                    products = (X_BD[line].double() * Y_MD[column].double()).sum(1)
                    score = own.final(own.order(products, line, column), line)
                    better = (score > final_B[line]) | ((score == final_B[line]) & (column < right_B[line]))
                    rank_B += torch.bincount(line[better], minlength=len(rank_B))
            counts.append(rank_B)
            task.advance(len(rank_B))
    return torch.cat(counts)


# --- blocks ---


def block_shape(device: torch.device) -> tuple[int, int]:
    """Rows and columns of a block: 16 MB fit the cache of a CPU, 1 GB keeps a GPU busy."""
    return (4096, 1024) if device.type == "cpu" else (8192, 32768)


def blocks(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    rule: ScoringRule,
    shape: tuple[int, int],
    *,
    rounded: bool = False,
) -> Iterator[tuple[slice, slice, torch.Tensor]]:
    """All blocks of scores, row by row; the memory of a block is reused for the next."""
    height, width = min(shape[0], len(X_ND)), min(shape[1], len(Y_MD))
    out = torch.empty(height * width, device=X_ND.device)
    X_ND, Y_MD = rule.operands(X_ND, Y_MD)
    for top in range(0, len(X_ND), height):
        rows = slice(top, min(top + height, len(X_ND)))
        for left in range(0, len(Y_MD), width):
            columns = slice(left, min(left + width, len(Y_MD)))
            yield rows, columns, rule.block(X_ND[rows], Y_MD[columns], rows, columns, out, rounded=rounded)


# --- best entries ---


class TopEntries:
    """The S best entries of every line so far, as keys that sort by value, then by lower index."""

    def __init__(self, keys_LS: torch.Tensor) -> None:
        self.keys = keys_LS

    @classmethod
    def empty(cls, lines: int, keep: int, device: torch.device) -> TopEntries:
        """No entries yet."""
        return cls(torch.full((lines, keep), _LOWEST, dtype=torch.int64, device=device))

    def merge(self, lines: slice, block_BC: torch.Tensor, first: int, axis: Literal[0, 1]) -> None:
        """Merge a block; ``axis`` is the one along which a line runs, ``first`` the index of its first entry."""
        if COMPILED and block_BC.device.type == "cpu":
            self._merge_compiled(self.keys[lines], block_BC, first, axis)
            return
        entries = block_BC.shape[axis]
        whole = entries // GROUP * GROUP
        if whole:
            self._merge(self.keys[lines], block_BC.narrow(axis, 0, whole), first, axis, GROUP)
        if whole < entries:
            self._merge(self.keys[lines], block_BC.narrow(axis, whole, entries - whole), first + whole, axis, 1)

    @staticmethod
    def _merge_compiled(keys_LS: torch.Tensor, block_BC: torch.Tensor, first: int, axis: Literal[0, 1]) -> None:
        from isoglot.retrieve.search_loops import take_columns, take_rows  # importing numba takes half a second

        def part(lines: slice) -> None:
            if axis:
                take_rows(keys_LS[lines].numpy(), block_BC[lines].numpy(), first)
            else:
                take_columns(keys_LS[lines].numpy(), block_BC[:, lines].numpy(), first)

        _by_threads(part, len(keys_LS))

    @staticmethod
    def _merge(keys_LS: torch.Tensor, block_BC: torch.Tensor, first: int, axis: Literal[0, 1], group: int) -> None:
        keep, stride = keys_LS.shape[1], block_BC.shape[axis] // group
        # A group is every stride-th entry, so that maxima are taken over whole vectors, several times as fast.
        highest = block_BC.unflatten(axis, (group, stride)).amax(dim=axis)
        highest = highest if axis else highest.T.contiguous()
        if int(keys_LS[0, -1]) == _LOWEST:  # not full yet: S groups, hence S entries, reach this bar
            bar_L = highest.topk(keep, dim=1).values[:, -1] if stride >= keep else highest.new_full((1,), -torch.inf)
            bar_L = bar_L.expand(len(highest))
        else:  # a later entry must beat the worst kept one: among equals the lower index wins
            bar_L = torch.nextafter(values_of(keys_LS[:, -1]), highest.new_tensor(torch.inf))
        line, place = (highest >= bar_L[:, None]).nonzero(as_tuple=True)
        if len(line) == 0:
            return
        # The entries of those groups, by their offset in memory.
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
    """Split the lines among as many threads as torch uses."""
    size = max(1, -(-lines // torch.get_num_threads()))
    parts = [slice(first, first + size) for first in range(0, lines, size)]
    if len(parts) == 1:
        work(parts[0])
        return
    with ThreadPoolExecutor(len(parts)) as pool:
        deque(pool.map(work, parts), maxlen=0)


def keys_of(values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Pack value and index into one integer that sorts by value, then by lower index."""
    bits = (values + 0.0).view(torch.int32)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (ordered.long() << 32) | (_LARGEST_INDEX - indices)


def values_of(keys: torch.Tensor) -> torch.Tensor:
    """Values in keys."""
    ordered = (keys >> 32).int()
    return (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).view(torch.float32)


def indices_of(keys: torch.Tensor) -> torch.Tensor:
    """Indices in keys."""
    return _LARGEST_INDEX - (keys & _LARGEST_INDEX)


def exact_top(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    lines_L: torch.Tensor,
    keys_LS: torch.Tensor,
    k: int,
    rule: ScoringRule,
    longest: float,
) -> TopK:
    """The K best of the kept candidates, rescored in float64; of the whole row where a better entry may be missing."""
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
        final_LK[part] = _whole_rows(X_ND, Y_MD, lines_L[part], k, rule, longest)
    return TopK(indices_of(final_LK), values_of(final_LK))


def _products(X_ND: torch.Tensor, Y_MD: torch.Tensor, rows_P: torch.Tensor, columns_PW: torch.Tensor) -> torch.Tensor:
    """Single entries of X Yᵀ in float64, a few rows at a time so that they stay in the cache."""
    if COMPILED and X_ND.device.type == "cpu":
        from isoglot.retrieve import search_loops

        X, Y = (tensor.contiguous().numpy() for tensor in (X_ND, Y_MD))
        out_PW = torch.empty(columns_PW.shape, dtype=torch.float64)
        rows, columns, out = rows_P.numpy(), columns_PW.numpy(), out_PW.numpy()
        _by_threads(lambda part: search_loops.products(X, Y, rows[part], columns[part], out[part]), len(rows))
        return out_PW
    width, products = columns_PW.shape[1], []
    at_once = max(1, _GATHERED // (width * X_ND.shape[1]))
    for part_B, columns_BW in zip(rows_P.split(at_once), columns_PW.split(at_once), strict=True):
        Y_BWD = Y_MD.index_select(0, columns_BW.flatten()).view(-1, width, X_ND.shape[1]).double()
        X_B1D = X_ND.index_select(0, part_B).double()[:, None]
        products.append((X_B1D * Y_BWD).sum(dim=2))  # the same for an entry, whichever are beside it
    return torch.cat(products)


def _whole_rows(
    X_ND: torch.Tensor, Y_MD: torch.Tensor, lines_P: torch.Tensor, k: int, rule: ScoringRule, longest: float
) -> torch.Tensor:
    """Keys of the K best columns of a few rows, computed in float64.

    Columns that could be among the best are rescored by :func:`_products`, as kept candidates are: matrix products may
    round equal entries differently, which would decide between duplicates.
    """
    rows_P1, X_PD = lines_P[:, None], X_ND[lines_P]
    parts = torch.arange(len(Y_MD), device=X_ND.device).split(2**16)
    order_PM = torch.cat([rule.order(X_PD.double() @ Y_MD[part].double().T, rows_P1, part[None]) for part in parts], 1)
    # Scores are float32, so the bar allows for its rounding.
    error_P = rule.tolerance(X_PD, longest, lines_P)
    bar_P = order_PM.topk(k, dim=1).values[:, -1] - 2 * error_P
    most = int((order_PM >= bar_P[:, None]).sum(dim=1).max())
    columns_PW = order_PM.topk(most, dim=1).indices
    products_PW = _products(X_ND, Y_MD, lines_P, columns_PW)
    scores_PW = rule.final(rule.order(products_PW, rows_P1, columns_PW), rows_P1)
    return keys_of(scores_PW, columns_PW).topk(k, dim=1).values


# --- dense search ---


def dense_products(X_ND: torch.Tensor, Y_MD: torch.Tensor) -> torch.Tensor:
    """X Yᵀ in float64."""
    return X_ND.double() @ Y_MD.double().T


def dense_scores(products_NM: torch.Tensor, rule: ScoringRule) -> torch.Tensor:
    """All scores of a rule, float32."""
    rows_N1, columns_M = (torch.arange(size, device=products_NM.device) for size in products_NM.shape)
    rows_N1 = rows_N1[:, None]
    return rule.final(rule.order(products_NM, rows_N1, columns_M), rows_N1)


def dense_top(scores_NM: torch.Tensor, k: int) -> TopK:
    """The ``min(k, M)`` best columns of every row; among equals the lower first."""
    keys_NM = keys_of(scores_NM, torch.arange(scores_NM.shape[1], device=scores_NM.device))
    k = min(k, scores_NM.shape[1])
    keys_NK = keys_NM.amax(dim=1, keepdim=True) if k == 1 else keys_NM.topk(k, dim=1).values
    return TopK(indices_of(keys_NK), values_of(keys_NK))


def dense_ranks(scores_NM: torch.Tensor, pairs_P2: torch.Tensor) -> torch.Tensor:
    """For each pair, the rank of its column among all columns of its row, from 1; among equals the lower first."""
    rows_P, right_P = pairs_P2.T
    found_PM = scores_NM[rows_P]
    own_P1 = scores_NM[rows_P, right_P][:, None]
    earlier_PM = torch.arange(scores_NM.shape[1], device=scores_NM.device) < right_P[:, None]
    before_P: torch.Tensor = ((found_PM > own_P1) | ((found_PM == own_P1) & earlier_PM)).sum(dim=1)
    return before_P + 1

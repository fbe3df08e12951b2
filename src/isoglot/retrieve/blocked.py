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

"""The best entries of every row of X Yᵀ (and of every column), block by block: the whole matrix never exists.

A block of products is one matrix multiplication; :mod:`isoglot.retrieve.best` keeps what is good in it. What a search
of both sides kept spares a later one with a shift many of its multiplications (:mod:`isoglot.retrieve.second_pass`).

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``D`` hidden size, ``K`` asked for, ``B`` × ``C`` a block, ``S`` kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import torch

from isoglot.core.progress import SILENT
from isoglot.retrieve.best import Best, Top, settled
from isoglot.retrieve.rows import full_precision
from isoglot.retrieve.second_pass import search_again

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoglot.core.progress import Progress
    from isoglot.retrieve.rule import Rule

SPARE = 4  # entries kept beyond K; more would shorten a second pass, but lengthen the first


def block_shape(device: torch.device) -> tuple[int, int]:
    """Rows and columns of a block: 16 MB stay in a CPU's cache, 1 GB keeps a GPU busy."""
    return (4096, 1024) if device.type == "cpu" else (8192, 32768)


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
    shift_M, kept_NS = rule.shift_M, rule.kept_NS
    if shift_M is not None and kept_NS is not None and kept_NS.shape[1] >= min(k + SPARE, len(Y_MD)):
        k, shape = min(k, len(Y_MD)), shape or block_shape(X_ND.device)
        return search_again(X_ND, Y_MD, k, rule, shift_M, kept_NS, shape=shape, progress=progress)
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

    The rule must be symmetric: no shift, offset or mean. What was kept comes with the result.
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
    places, tops, kept = torch.arange(len(X_ND), device=X_ND.device), [], []
    longest = float(Y_MD.norm(dim=1).max())
    row_k, column_k = min(k, len(Y_MD)), min(k, len(X_ND))
    best = Best.none(0, 1, X_ND.device)
    across = Best.none(len(Y_MD) if sides == "both" else 0, min(column_k + SPARE, len(X_ND)), X_ND.device)
    with full_precision(), progress.task("neighbors", total=len(X_ND), unit="rows") as task:
        for rows, columns, block_BC in blocks(X_ND, Y_MD, rule, shape or block_shape(X_ND.device)):
            if columns.start == 0:
                best = Best.none(len(block_BC), min(row_k + SPARE, len(Y_MD)), X_ND.device)
            best.take(slice(0, len(block_BC)), block_BC, columns.start, axis=1)
            if sides == "both":
                across.take(columns, block_BC, rows.start, axis=0)
            if columns.stop == len(Y_MD):
                tops.append(settled(X_ND, Y_MD, places[rows], best.keys, row_k, rule, longest))
                kept += [best.keys] if sides == "both" else []
                task.advance(len(block_BC))
        other = Top(places[:0], places[:0])
        if sides == "both":
            lines = torch.arange(len(Y_MD), device=X_ND.device)
            other = settled(Y_MD, X_ND, lines, across.keys, column_k, rule, float(X_ND.norm(dim=1).max()))
            other = replace(other, kept_NS=across.keys)
    indices_NK, scores_NK = (torch.cat([getattr(top, name) for top in tops]) for name in ("indices_NK", "scores_NK"))
    return Top(indices_NK, scores_NK, torch.cat(kept) if kept else None), other

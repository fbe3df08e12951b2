"""The rank of given entries in their row of scores, block by block.

Entries that float32 cannot tell from the one that is ranked are compared in float64; among equals the lower index is
first, as in the search.

Shape legend: ``P`` pairs of row and column, ``M`` rows of Y, ``D`` hidden size, ``B`` × ``C`` a block, ``E`` entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoglot.core.progress import SILENT
from isoglot.retrieve.blocked import block_shape, blocks
from isoglot.retrieve.rows import full_precision

if TYPE_CHECKING:
    from isoglot.core.progress import Progress
    from isoglot.retrieve.rule import Rule

_EXACT = 2**15  # entries compared in float64 at a time


def ranks(
    X_ND: torch.Tensor,
    Y_MD: torch.Tensor,
    pairs_P2: torch.Tensor,
    rule: Rule,
    *,
    shape: tuple[int, int] | None = None,
    progress: Progress = SILENT,
) -> torch.Tensor:
    """For each pair, the place of its column among all columns of its row, from 1."""
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
            # Blocks are float32: twice the error leaves room for the rounding of the bounds themselves.
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

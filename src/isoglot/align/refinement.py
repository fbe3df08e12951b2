"""Refinement of a map by the dictionary it induces itself (Conneau et al. 2018).

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``P`` pairs, ``D`` columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoglot.align.estimator import MatrixMap, bounds, matrix_learned
from isoglot.align.induction import mutual_pairs
from isoglot.align.moments import moments_of_pairs
from isoglot.align.procrustes import rotation

if TYPE_CHECKING:
    import torch

    from isoglot.align.rows import Array
    from isoglot.core.progress import Progress


@dataclass(eq=False, kw_only=True)
class Refinement(MatrixMap):
    """Procrustes on the pairs, then in turn: rows that are each other's best by CSLS, and Procrustes on those.

    Of all rounds, the map is kept under which rows of X are nearest to their best neighbors in Y, the criterion that
    needs no dictionary. X and Y are whole vocabularies, the most frequent words first; ``pairs`` a dictionary.

    Args:
        rounds: How often it is refined.
        cutoff: Only the first so many rows of X and of Y become pairs: frequent words have better vectors.
        neighborhood: The K of CSLS.

    Learns ``W_`` (D × D), ``pairs_`` (P × 2), the last dictionary, and ``nearness_``, the criterion of each map.
    """

    rounds: int = field(default=5, metadata=bounds(least=1))
    cutoff: int = field(default=15_000, metadata=bounds(least=1))
    neighborhood: int = field(default=10, metadata=bounds(least=1))

    pairs_: Array = field(init=False, repr=False)
    nearness_: tuple[float, ...] = field(init=False, repr=False)

    def _learn(
        self, rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor, progress: Progress
    ) -> dict[str, Any]:
        frequent_ND, others = rows_ND[: self.cutoff], others_ME[: self.cutoff]
        kept: list[torch.Tensor] = []
        nearness: list[float] = []
        with progress.task("refinement", total=self.rounds + 1, unit="rounds") as task:
            for _ in range(self.rounds + 1):
                W_DD = rotation(moments_of_pairs(rows_ND, others_ME, pairs_P2).product("xy"))[0]
                induced = mutual_pairs(frequent_ND @ W_DD.to(frequent_ND), others, neighborhood=self.neighborhood)
                if not kept or induced.nearness > max(nearness):
                    kept = [W_DD]
                nearness.append(induced.nearness)
                pairs_P2 = induced.pairs_P2  # never empty: the best of all entries is mutual
                task.advance()
        return matrix_learned(kept[0]) | {"pairs_": pairs_P2, "nearness_": tuple(nearness)}

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND @ self._tensor("W_", rows_ND).T

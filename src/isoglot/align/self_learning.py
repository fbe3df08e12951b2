"""Self-learning: from a few pairs to a whole dictionary and a map, in turns (Artetxe et al. 2018).

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``P`` pairs, ``D`` columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch

from isoglot.align.estimator import LearnedMap, bounds, pseudo_inverse
from isoglot.align.induction import random_pairs
from isoglot.align.moments import moments_of_pairs, product_of_pairs, rank, root_powers
from isoglot.align.procrustes import rotation
from isoglot.core.errors import InputError
from isoglot.core.seeds import derive_seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoglot.align.moments import PairMoments
    from isoglot.align.rows import Array
    from isoglot.core.progress import Progress

FinalMap = Literal["auto", "reweighted", "orthogonal"]


@dataclass(eq=False, kw_only=True)
class SelfLearning(LearnedMap):
    """A seed dictionary gives a rotation, the rotation a larger dictionary by CSLS, and so on until nothing improves.

    Early on, most entries of the similarities are left out at random, so that a poor start does not lock itself in;
    each time nothing has improved for ``patience`` rounds, ``growth`` times more are kept. These rounds are many, and
    look at the ``early`` most frequent words only. With all kept, a round depends on the one before alone, so the first
    that does not improve is the last. The same goes on with the ``cutoff`` most frequent words, and the last dictionary
    of these gives the final map, of both sides.

    X and Y are whole vocabularies, the most frequent words first, best after ``Steps([UnitLength(), Center(),
    UnitLength(), …])``; ``pairs`` is the seed: :func:`dictionary_pairs`, :func:`identical_pairs` or
    :func:`numeral_pairs`.

    Args:
        final: ``reweighted``: both spaces whitened, turned, each direction weighted by how well the two agree on it,
            and whitening undone, symmetrically; ``orthogonal``: a rotation of the source alone; ``auto``: reweighted
            where the last pairs span all directions of both spaces, as they do not after a layer norm, else orthogonal.
        reweight: The power of the agreement that each side is weighted by; a half for each is symmetric.
        keep: The share of the similarities kept at first.
        growth: What the share is multiplied by.
        patience: How many rounds without improvement are waited for while entries are left out.
        threshold: What counts as an improvement of the mean cosine to the best neighbor.
        early: Only the first so many rows of X and of Y are looked at while entries are left out.
        cutoff: Only the first so many in the last rounds.
        neighborhood: The K of CSLS.
        rounds: The most rounds, should it not come to an end.
        seed: Of the entries left out.

    Learns ``source_`` and ``target_`` (D × D), ``pairs_`` (P × 2), the last dictionary with every row's best in both
    directions, ``nearness_``, the mean cosine to the best neighbor after every round, and ``rounds_``.
    """

    final: FinalMap = field(default="auto", metadata=bounds(choices=("auto", "reweighted", "orthogonal")))
    reweight: float = field(default=0.5, metadata=bounds(least=0))
    keep: float = field(default=0.1, metadata=bounds(above=0, most=1))
    growth: float = field(default=2.0, metadata=bounds(above=1))
    patience: int = field(default=5, metadata=bounds(least=1))
    threshold: float = field(default=5e-4, metadata=bounds(least=0))
    early: int = field(default=4_000, metadata=bounds(least=1))
    cutoff: int = field(default=10_000, metadata=bounds(least=1))
    neighborhood: int = field(default=10, metadata=bounds(least=1))
    rounds: int = field(default=2000, metadata=bounds(least=1))
    seed: int = field(default=0, metadata=bounds(least=0))

    source_: Array = field(init=False, repr=False)
    target_: Array = field(init=False, repr=False)
    pairs_: Array = field(init=False, repr=False)
    nearness_: tuple[float, ...] = field(init=False, repr=False)
    rounds_: int = field(init=False, repr=False)

    def _learn(
        self, rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor, progress: Progress
    ) -> dict[str, Any]:
        chance = torch.Generator().manual_seed(derive_seed(self.seed, "self-learning"))
        nearness: list[float] = []
        with progress.task("self-learning", total=None, unit="rounds") as task:
            for keep, size in self._stages(max(len(rows_ND), len(others_ME))):
                x_ND, y_MD = rows_ND[:size], others_ME[:size]
                best, waited, patience = float("-inf"), 0, self.patience if keep < 1 else 1
                while waited < patience and len(nearness) < self.rounds:
                    W_DD = rotation(product_of_pairs(rows_ND, others_ME, pairs_P2))[0]
                    induced = random_pairs(
                        x_ND @ W_DD.to(x_ND), y_MD, neighborhood=self.neighborhood, keep=keep, chance=chance
                    )
                    pairs_P2 = induced.pairs_P2
                    nearness.append(induced.nearness)
                    waited = 0 if induced.nearness >= best + self.threshold else waited + 1
                    best = induced.nearness if not waited else best
                    task.advance()
                    task.note(f"cosine {induced.nearness:.4f}, {keep:.0%} kept of {size:,} words")
        source_DD, target_DD = self._final(moments_of_pairs(rows_ND, others_ME, pairs_P2))
        width = len(source_DD)
        return {
            "source_": source_DD,
            "target_": target_DD,
            "pairs_": pairs_P2,
            "nearness_": tuple(nearness),
            "rounds_": len(nearness),
            "widths_": (width, width, width),
        }

    def _stages(self, rows: int) -> Iterator[tuple[float, int]]:
        """The share of the similarities that is kept, and the rows that are looked at, until nothing improves."""
        cutoff = min(self.cutoff, rows)
        early, keep = min(self.early, cutoff), float(self.keep)
        while keep < 1:
            yield keep, early
            keep = keep * self.growth
        if early < cutoff:
            yield 1.0, early
        yield 1.0, cutoff

    def _final(self, moments: PairMoments) -> tuple[torch.Tensor, torch.Tensor]:
        final = self.final
        for name in () if final == "orthogonal" else ("xx", "yy"):
            width, found = len(moments.product(name)), rank(moments.product(name))
            if found < width and self.final == "reweighted":
                raise InputError(
                    f"the pairs that were found span {found} of {width} directions of {name[0].upper()}",
                    remedy="give more rows, or choose final='orthogonal'",
                )
            final = final if found == width else "orthogonal"
        if final != "orthogonal":
            return symmetric_reweighting(moments, self.reweight)
        W_DD = rotation(moments.product("xy"))[0]
        return W_DD, torch.eye(len(W_DD), dtype=W_DD.dtype, device=W_DD.device)

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND @ self._tensor("source_", rows_ND)

    def _apply_target(self, rows_ME: torch.Tensor) -> torch.Tensor:
        return rows_ME @ self._tensor("target_", rows_ME)

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND @ pseudo_inverse(self._tensor("source_", rows_ND.double())).to(rows_ND)

    def _undo_target(self, rows_ME: torch.Tensor) -> torch.Tensor:
        return rows_ME @ pseudo_inverse(self._tensor("target_", rows_ME.double())).to(rows_ME)


def symmetric_reweighting(moments: PairMoments, power: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Maps of both sides: whiten, turn to the common directions, weight each by its agreement, undo the whitening.

    The agreement of a direction is its singular value in the whitened spaces: 1 where both say the same.
    """
    white_x, colour_x = root_powers(moments.product("xx"), -0.5, 0.5)
    white_y, colour_y = root_powers(moments.product("yy"), -0.5, 0.5)
    U_DD, agreement_D, Vt_DD = torch.linalg.svd(white_x @ moments.product("xy") @ white_y)
    weight_D = agreement_D**power
    source_DD = ((white_x @ U_DD) * weight_D) @ (U_DD.T @ colour_x @ U_DD)
    target_DD = ((white_y @ Vt_DD.T) * weight_D) @ (Vt_DD @ colour_y @ Vt_DD.T)
    return source_DD, target_DD

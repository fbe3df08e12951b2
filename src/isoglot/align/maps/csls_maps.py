"""Maps fitted with CSLS neighbors: RCSLS, and maps that induce their own dictionary (refinement, self-learning).

References: Joulin et al. 2018 (RCSLS), Conneau et al. 2018 (refinement), Artetxe et al. 2018 (self-learning).

A dictionary is induced from two spaces that are already close: CSLS neighbors, mutual or with some randomness.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``P`` pairs, ``D`` columns, ``K`` neighbors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch

from isoglot.align.maps.closed_form import PairMoments, moments_of_pairs, product_of_pairs, rank, root_powers, rotation
from isoglot.align.maps.estimator import LearnedMap, MatrixMap, bounds, matrix_learned, pseudo_inverse
from isoglot.core.arrays import Array, exact, full_precision, paired_rows, unit
from isoglot.core.errors import InputError
from isoglot.core.rng import derive_seed
from isoglot.retrieve.search import ScoringRule, TopEntries, TopK, block_shape, blocks, indices_of, values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from isoglot.core.progress import Progress

_ENTRIES = 2**24  # similarities computed at a time, 64 MB
_WHOLE = 2**25  # similarities that are kept: of 5,000 rows with 6,000, 128 MB
_MISSED = 1e-2  # probability that a row's best kept entry lies beyond the neighbors examined


@dataclass(frozen=True, slots=True)
class InducedPairs:
    """Induced pairs, P × 2, and the mean cosine of every row to its best neighbor."""

    pairs_P2: torch.Tensor
    nearness: float


def mutual_pairs(x_ND: torch.Tensor, y_MD: torch.Tensor, *, neighborhood: int) -> InducedPairs:
    """Rows that are each other's best by CSLS (Conneau et al. 2018)."""
    x_ND, y_MD = paired_rows(x_ND, y_MD, unit=True)
    forward_N1, backward_M1 = (each.indices_NK for each in _both_ways(x_ND, y_MD, 1, neighborhood))
    rows_N1 = torch.arange(len(x_ND), device=x_ND.device)[:, None]
    mutual_N = (backward_M1[forward_N1[:, 0]] == rows_N1)[:, 0]
    pairs_P2 = torch.cat([rows_N1, forward_N1], dim=1)[mutual_N]
    return InducedPairs(pairs_P2, _nearness(x_ND, y_MD, forward_N1))


def random_pairs(
    x_ND: torch.Tensor, y_MD: torch.Tensor, *, neighborhood: int, keep: float, chance: torch.Generator
) -> InducedPairs:
    """Every row with its best by CSLS, in both directions, each similarity kept with probability ``keep``.

    Artetxe et al. (2018) set dropped entries of the matrix to 0 and take the best of each row. The best kept one is the
    r-th best of all with probability keep · (1 − keep)^r, so only r is drawn. A row whose best kept entry is below 0 is
    left out, since any dropped entry would be as good.
    """
    x_ND, y_MD = paired_rows(x_ND, y_MD, unit=True)
    count = 1 if keep >= 1 else math.ceil(math.log(_MISSED) / math.log1p(-keep))
    forward, backward = _both_ways(x_ND, y_MD, count, neighborhood)
    pairs_P2 = torch.cat([_drawn(forward, keep, chance), _drawn(backward, keep, chance).flip(1)])
    near = _nearness(x_ND, y_MD, forward.indices_NK), _nearness(y_MD, x_ND, backward.indices_NK)
    return InducedPairs(pairs_P2, (near[0] + near[1]) / 2)


def _both_ways(x_ND: torch.Tensor, y_MD: torch.Tensor, count: int, neighborhood: int) -> tuple[TopK, TopK]:
    """The best of Y for every row of X by CSLS, best first, and the reverse.

    Values are cosines minus half the mean of the answer's neighborhood: CSLS up to a constant per row. Similarities are
    computed once for both directions, and once for both steps if they fit in memory; else in blocks, twice.
    """
    whole = len(x_ND) * len(y_MD) <= _WHOLE
    shape = (len(x_ND), len(y_MD)) if whole else block_shape(x_ND.device)
    rule = ScoringRule()
    with full_precision():
        made = list(blocks(x_ND, y_MD, rule, shape)) if whole else None
        rows, columns = _best(made or blocks(x_ND, y_MD, rule, shape), x_ND, y_MD, neighborhood)
        shift_N, shift_M = (each.scores_NK.mean(dim=1) / -2 for each in (rows, columns))
        return _best(made or blocks(x_ND, y_MD, rule, shape), x_ND, y_MD, count, (shift_N, shift_M))


def _best(
    blocks_BC: Iterable[tuple[slice, slice, torch.Tensor]],
    x_ND: torch.Tensor,
    y_MD: torch.Tensor,
    count: int,
    shifts: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[TopK, TopK]:
    """The highest products of every row with shifted columns, and of every column with shifted rows; best first."""
    best_N, best_M = (
        TopEntries.empty(len(lines), min(count, len(others)), x_ND.device)
        for lines, others in ((x_ND, y_MD), (y_MD, x_ND))
    )
    for rows, columns, block_BC in blocks_BC:
        along_BC, across_BC = block_BC, block_BC
        if shifts is not None:
            # This is the last use of the block.
            along_BC, across_BC = block_BC + shifts[1][columns], block_BC.add_(shifts[0][rows, None])
        best_N.merge(rows, along_BC, columns.start, axis=1)
        best_M.merge(columns, across_BC, rows.start, axis=0)
    in_rows, in_columns = (TopK(indices_of(best.keys), values_of(best.keys)) for best in (best_N, best_M))
    return in_rows, in_columns


def top(x_ND: torch.Tensor, y_MD: torch.Tensor, count: int, mean_M: torch.Tensor | None = None) -> TopK:
    """The highest of product − mean / 2 in every row.

    A plain top-k over a few rows at a time instead of :mod:`isoglot.retrieve.search`: it is called repeatedly and need
    not resolve ties.
    """
    shift_M = x_ND.new_zeros(len(y_MD)) if mean_M is None else mean_M / -2
    count = min(count, len(y_MD))
    with full_precision():
        found = [
            torch.addmm(shift_M, block_BD, y_MD.T).topk(count, dim=1)
            for block_BD in x_ND.split(max(1, _ENTRIES // len(y_MD)))
        ]
    return TopK(torch.cat([top.indices for top in found]), torch.cat([top.values for top in found]))


def _drawn(found: TopK, keep: float, chance: torch.Generator) -> torch.Tensor:
    """Each row with the best neighbor that was kept, if that is above 0; with all kept, every row."""
    rows_N1 = torch.arange(len(found.indices_NK), device=found.indices_NK.device)[:, None]
    if keep >= 1:
        return torch.cat([rows_N1, found.indices_NK[:, :1]], dim=1)
    draws_N1 = torch.rand(len(rows_N1), 1, generator=chance, dtype=torch.float64)
    rank_N1 = (torch.log1p(-draws_N1) / math.log1p(-keep)).long()
    beyond_N1 = (rank_N1 >= found.indices_NK.shape[1]).to(rows_N1.device)
    rank_N1 = rank_N1.clamp(max=found.indices_NK.shape[1] - 1).to(rows_N1.device)
    above_N = ((found.scores_NK.gather(1, rank_N1) > 0) & ~beyond_N1)[:, 0]
    pairs_N2 = torch.cat([rows_N1, found.indices_NK.gather(1, rank_N1)], dim=1)
    return pairs_N2[above_N] if above_N.any() else pairs_N2


def _nearness(x_ND: torch.Tensor, y_MD: torch.Tensor, best_NK: torch.Tensor) -> float:
    return float((x_ND * y_MD[best_NK[:, 0]]).sum(dim=1).double().mean())


@dataclass(eq=False, kw_only=True)
class Refinement(MatrixMap):
    """Procrustes on the pairs, then in turn: mutual CSLS neighbors, and Procrustes on those.

    The kept map is that of the round in which rows of X are closest to their best neighbors in Y, a criterion that
    needs no dictionary. X and Y are whole vocabularies, most frequent words first; ``pairs`` a dictionary.

    Args:
        rounds: Number of refinement rounds.
        cutoff: Only the first ``cutoff`` rows of X and of Y become pairs: frequent words have better vectors.
        neighborhood: K of CSLS.

    Learns ``W_`` (D × D), ``pairs_`` (P × 2), the last dictionary, and ``nearness_``, the criterion of each map.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> Y = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> bool(np.allclose(Refinement(rounds=1).fit(X, Y).transform(X), Y, atol=0.05))
    True
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


FinalMap = Literal["auto", "reweighted", "orthogonal"]


@dataclass(eq=False, kw_only=True)
class SelfLearning(LearnedMap):
    """Alternates between a rotation fitted on a dictionary and a larger dictionary induced by CSLS, until convergence.

    Initially most similarities are dropped at random, so that a poor start does not reinforce itself; whenever nothing
    has improved for ``patience`` rounds, ``growth`` times more are kept. These rounds are many, and use the ``early``
    most frequent words only. With all kept, rounds are deterministic, so the first without improvement ends the stage.
    The last stage uses the ``cutoff`` most frequent words, and its dictionary gives the final map of both sides.

    X and Y are whole vocabularies, most frequent words first, best after ``Steps([UnitLength(), Center(), UnitLength(),
    …])``; ``pairs`` is the seed dictionary: :func:`dictionary_pairs`, :func:`identical_pairs` or :func:`numeral_pairs`.

    Args:
        final: ``reweighted``: both spaces whitened, rotated, each direction weighted by the agreement of the two, and
            de-whitened, symmetrically; ``orthogonal``: a rotation of the source only; ``auto``: reweighted if the last
            pairs span all directions of both spaces, which they do not after a layer norm, else orthogonal.
        reweight: Power of the agreement that each side is weighted by; 0.5 is symmetric.
        keep: Initial share of the similarities kept.
        growth: Factor of that share.
        patience: Rounds without improvement before the next stage, while similarities are dropped.
        threshold: Minimum improvement of the mean cosine to the best neighbor.
        early: Number of rows of X and of Y used while similarities are dropped.
        cutoff: Number of rows used in the last rounds.
        neighborhood: K of CSLS.
        rounds: Maximum number of rounds.
        seed: Random seed of the dropped similarities.

    Learns ``source_`` and ``target_`` (D × D), ``pairs_`` (P × 2), the last dictionary with every row's best in both
    directions, ``nearness_``, the mean cosine to the best neighbor after every round, and ``rounds_``.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> Y = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> SelfLearning(rounds=5).fit(X, Y, pairs=np.array([(row, row) for row in range(10)])).transform(X).shape
    (60, 4)
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
        """Share of the similarities kept, and number of rows used, stage by stage."""
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
                    f"the induced pairs span {found} of {width} directions of {name[0].upper()}",
                    "give more rows, or choose final='orthogonal'",
                    "too-few",
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
    """Maps of both sides: whiten, rotate to the common directions, weight each by its agreement, de-whiten.

    The agreement of a direction is its singular value in the whitened spaces, at most 1.
    """
    white_x, color_x = root_powers(moments.product("xx"), -0.5, 0.5)
    white_y, color_y = root_powers(moments.product("yy"), -0.5, 0.5)
    U_DD, agreement_D, Vt_DD = torch.linalg.svd(white_x @ moments.product("xy") @ white_y)
    weight_D = agreement_D**power
    source_DD = ((white_x @ U_DD) * weight_D) @ (U_DD.T @ color_x @ U_DD)
    target_DD = ((white_y @ Vt_DD.T) * weight_D) @ (Vt_DD @ color_y @ Vt_DD.T)
    return source_DD, target_DD


Constraint = Literal["none", "spectral"]

_SMALLEST_RATE = 1e-4


@dataclass(eq=False, kw_only=True)
class RCSLS(MatrixMap):
    """Gradient descent from Procrustes on the relaxed CSLS loss.

    With rows of unit length, the loss of a pair is −2 xW·y, plus the mean of xW·y' over the K nearest y' of xW, plus
    the mean of x'W·y over the K nearest x'W of y: minus its CSLS, with the cosine relaxed to a product. Neighbors come
    from all rows of X and Y, with or without a partner. A step that does not lower the loss is undone and the learning
    rate halved.

    Args:
        rounds: Maximum number of steps.
        learning_rate: Initial learning rate.
        neighborhood: K of CSLS.
        cutoff: Neighbors are searched among the first ``cutoff`` rows.
        constraint: ``none``: any matrix; ``spectral``: no singular value above 1, which makes the relaxed loss convex.

    Learns ``W_`` (D × D) and ``losses_``: that of Procrustes, then that after every accepted step.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> Y = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> RCSLS(rounds=2).fit(X, Y).score(X, Y) > 0.99
    True
    """

    rounds: int = field(default=10, metadata=bounds(least=1))
    learning_rate: float = field(default=1.0, metadata=bounds(above=0))
    neighborhood: int = field(default=10, metadata=bounds(least=1))
    cutoff: int = field(default=200_000, metadata=bounds(least=1))
    constraint: Constraint = field(default="none", metadata=bounds(choices=("none", "spectral")))

    losses_: tuple[float, ...] = field(init=False, repr=False)

    def _learn(
        self, rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor, progress: Progress
    ) -> dict[str, Any]:
        rows_ND, others_ME = unit(rows_ND), unit(others_ME)
        x_PD, y_PD = rows_ND[pairs_P2[:, 0]], others_ME[pairs_P2[:, 1]]
        around = rows_ND[: self.cutoff], others_ME[: self.cutoff]
        W_DD = rotation(moments_of_pairs(rows_ND, others_ME, pairs_P2).product("xy"))[0]
        rate = float(self.learning_rate)
        loss, slope_DD = csls_loss(W_DD, x_PD, y_PD, *around, neighborhood=self.neighborhood)
        losses = [loss]
        with progress.task("RCSLS", total=self.rounds, unit="steps") as task:
            for _ in range(self.rounds):
                if rate < _SMALLEST_RATE:
                    break
                next_DD = W_DD - rate * slope_DD
                if self.constraint == "spectral":
                    U_DD, values_D, Vt_DD = torch.linalg.svd(next_DD)
                    next_DD = (U_DD * values_D.clamp(max=1)) @ Vt_DD
                loss, next_slope_DD = csls_loss(next_DD, x_PD, y_PD, *around, neighborhood=self.neighborhood)
                if loss < losses[-1]:
                    W_DD, slope_DD = next_DD, next_slope_DD
                    losses.append(loss)
                else:
                    rate /= 2
                task.advance()
                task.note(f"loss {losses[-1]:.4f}")
        return matrix_learned(W_DD) | {"losses_": tuple(losses)}


def csls_loss(
    W_DD: torch.Tensor,
    x_PD: torch.Tensor,
    y_PD: torch.Tensor,
    rows_ND: torch.Tensor,
    others_MD: torch.Tensor,
    *,
    neighborhood: int = 10,
) -> tuple[float, torch.Tensor]:
    """Relaxed CSLS loss of a map, mean over pairs of rows of unit length, and its gradient in W.

    The neighbors are held fixed for the gradient.

    Args:
        W_DD: The map.
        x_PD: Rows of the source.
        y_PD: Their partners.
        rows_ND: All rows of the source.
        others_MD: All rows of the target.
        neighborhood: K of CSLS.
    """
    to = W_DD.to(x_PD)
    mapped_PD, mapped_ND = x_PD @ to, rows_ND @ to
    # By product instead of cosine: the relaxation.
    around_x = top(mapped_PD, others_MD, neighborhood).indices_NK
    around_y = top(y_PD, mapped_ND, neighborhood).indices_NK
    nearest_y_PD = exact(others_MD[around_x].mean(dim=1))
    nearest_x_PD = exact(rows_ND[around_y].mean(dim=1))
    x_PD, y_PD = exact(x_PD), exact(y_PD)
    slope_DD = (x_PD.T @ (nearest_y_PD - 2 * y_PD) + nearest_x_PD.T @ y_PD) / len(x_PD)
    # The loss is linear in W for given neighbors: the product of W and its gradient.
    return float((slope_DD * W_DD).sum()), slope_DD

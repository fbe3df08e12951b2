"""Maps without any pairs: vecmap's (Artetxe et al. 2018) and mini-vec2vec (Dar 2025), with a test of convergence.

Such a map always has a result, and a wrong one looks like a right one, so each is judged without gold pairs. It is
fitted again on random samples of both sides. It has converged if in most samples most mutual nearest neighbors stay
neighbors and mapped rows are closer to their neighbors than in any null space. Other rows do not count: the partner of
many is not in the sample, so there is none to keep. A null space is the target with its principal components, scaled to
unit variance, turned at random before they get their variances back: the same covariance and the same clusters, but no
longer the same shape.

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``D`` columns, ``C`` clusters, ``R`` restarts, ``A`` anchors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any, ClassVar, Self

import torch

from isoglot.align.maps.closed_form import rotation
from isoglot.align.maps.csls_maps import InducedPairs, SelfLearning, random_pairs, top
from isoglot.align.maps.estimator import LearnedMap, MatrixMap, bounds, matrix_learned
from isoglot.core.arrays import Array, full_precision, take_rows, unit
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import derive_seed

AGREE = 0.5
"""Share of mutual nearest neighbors that must stay neighbors in most samples."""


@dataclass(frozen=True, kw_only=True)
class Convergence:
    """Evidence that a map fitted without pairs is right, from fits on samples and on null spaces.

    Attributes:
        converged: Whether the median agreement is at least :data:`AGREE`, and the median nearness above every null.
        agreement: Share of mutual nearest neighbors by the map that are neighbors by the fit on the sample, in each.
        nearness: Mean cosine to the nearest neighbor in each sample.
        null: The same in each null space.
    """

    converged: bool
    agreement: tuple[float, ...]
    nearness: tuple[float, ...]
    null: tuple[float, ...]

    def __str__(self) -> str:
        return (
            f"{'converged' if self.converged else 'did not converge'}: {median(self.agreement):.0%} of mutual nearest "
            f"neighbors stay neighbors in other samples (at least {AGREE:.0%} needed), at cosine "
            f"{median(self.nearness):.3f}; null spaces reach {max(self.null):.3f}"
        )


@dataclass(eq=False, kw_only=True)
class UnsupervisedMap(LearnedMap):
    """Base of the maps that are fitted without pairs; those given to ``fit`` are ignored.

    Args:
        starts: Number of samples, and of null spaces, that convergence is judged by; with 0 it is not.
        sample: Maximum number of rows of each side in a sample, drawn from the first twice as many.
        neighborhood: K of CSLS.
        seed: Random seed.

    Learns ``agreement_``, ``sample_nearness_`` and ``null_nearness_``, from which :attr:`convergence` is judged.
    """

    needs_pairs: ClassVar[bool] = False
    trial_options: ClassVar[dict[str, Any]] = {}
    """options of the fits on samples"""

    starts: int = field(default=3, metadata=bounds(least=0))
    sample: int = field(default=2_000, metadata=bounds(least=2))
    neighborhood: int = field(default=10, metadata=bounds(least=1))
    seed: int = field(default=0, metadata=bounds(least=0))

    agreement_: tuple[float, ...] = field(init=False, repr=False)
    sample_nearness_: tuple[float, ...] = field(init=False, repr=False)
    null_nearness_: tuple[float, ...] = field(init=False, repr=False)

    @property
    def convergence(self) -> Convergence | None:
        """Whether the map has converged; None without ``starts``."""
        self._check_fitted()
        found = self.agreement_, self.sample_nearness_, self.null_nearness_
        if not self.starts:
            return None
        converged = median(found[0]) >= AGREE and median(found[1]) > max(found[2])
        return Convergence(converged=converged, agreement=found[0], nearness=found[1], null=found[2])

    def fit(self, X: Array, Y: Array, *, pairs: Array | None = None, progress: Progress = SILENT) -> Self:
        """Fit the map without pairs and judge its convergence; see :meth:`PairMap.fit`."""
        super().fit(X, Y, progress=progress)
        rows_ND = take_rows(X)
        others_MD = take_rows(Y, "Y").to(rows_ND)
        agreement, near, null = [], [], []
        with progress.task("convergence", total=2 * self.starts, unit="fits") as task:
            for start in range(self.starts):
                chance = torch.Generator().manual_seed(derive_seed(self.seed, "convergence", start))
                x_ND, y_MD = (self._sampled(side, chance) for side in (rows_ND, others_MD))
                own, found = self._neighbors(x_ND, y_MD), self._trial(start)._fitted(x_ND, y_MD)
                agreement.append(_kept(own.pairs_P2, found.pairs_P2, len(x_ND)))
                near.append(found.nearness)
                task.advance()
                null.append(self._trial(start)._fitted(x_ND, null_space(y_MD, chance)).nearness)
                task.advance()
        self.agreement_, self.sample_nearness_, self.null_nearness_ = tuple(agreement), tuple(near), tuple(null)
        return self

    def _trial(self, start: int) -> Self:
        options = {**self.trial_options, "starts": 0, "seed": derive_seed(self.seed, "start", start)}
        return self.clone().set_params(**options)

    def _fitted(self, x_ND: torch.Tensor, y_MD: torch.Tensor) -> InducedPairs:
        return self.fit(x_ND, y_MD)._neighbors(x_ND, y_MD)

    def _neighbors(self, x_ND: torch.Tensor, y_MD: torch.Tensor) -> InducedPairs:
        """Nearest neighbor of every row by CSLS, those of X first, and the mean cosine to them."""
        mapped = self.transform(x_ND), self.transform_target(y_MD)
        return random_pairs(*mapped, neighborhood=self.neighborhood, keep=1, chance=torch.Generator())

    def _sampled(self, rows_ND: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
        first = min(len(rows_ND), 2 * self.sample)
        return rows_ND[_drawn(first, min(self.sample, -(-3 * first // 4)), chance)]


def _kept(own_P2: torch.Tensor, found_P2: torch.Tensor, rows: int) -> float:
    """Share of the mutual nearest neighbors among pairs, those of X first, whose row of X has the same in others."""
    nearest_N, back_M = own_P2[:rows, 1], own_P2[rows:, 0]
    mutual_N = back_M[nearest_N] == own_P2[:rows, 0]
    kept_N = mutual_N & (nearest_N == found_P2[:rows, 1])
    return int(kept_N.sum()) / max(int(mutual_N.sum()), 1)


def _drawn(count: int, size: int, chance: torch.Generator) -> torch.Tensor:
    """Row numbers drawn without replacement."""
    return torch.randperm(count, generator=chance)[:size]


def null_space(rows_MD: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    """Rows of the same lengths and about the same covariance, whose shape is another; see above."""
    mean_D = rows_MD.double().mean(dim=0)
    U_MK, values_K, Vt_KD = torch.linalg.svd(rows_MD.double() - mean_D, full_matrices=False)
    turn_KK = torch.linalg.qr(torch.randn(len(values_K), len(values_K), generator=chance, dtype=torch.float64)).Q
    made_MD = (U_MK @ turn_KK.to(U_MK) * values_K) @ Vt_KD + mean_D
    null_MD: torch.Tensor = unit(made_MD) * rows_MD.double().norm(dim=1, keepdim=True)
    return null_MD.to(rows_MD)


@dataclass(eq=False, kw_only=True)
class Vecmap(UnsupervisedMap, SelfLearning):
    """Self-learning whose first dictionary comes from the shapes of the spaces (Artetxe et al. 2018).

    A word is described by its similarities to all others, sorted: words that mean the same have similar ones in both
    languages. The similarities are those of the root of XXᵀ, and the dictionary is that of CSLS neighbors between
    descriptions, among the ``early`` most frequent words. :class:`SelfLearning` does the rest, with the same options.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(40, 3)) ** 3
    >>> mapping = Vecmap(starts=0, patience=1).fit(X, X[:, ::-1].copy())
    >>> bool(np.allclose(mapping.transform(X), mapping.transform_target(X[:, ::-1].copy())))
    True
    """

    trial_options: ClassVar[dict[str, Any]] = {"final": "orthogonal"}

    def _learn(
        self, rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor, progress: Progress
    ) -> dict[str, Any]:
        pairs_P2 = similar_shapes(rows_ND, others_ME, self.early, self.neighborhood)
        return super()._learn(rows_ND, others_ME, pairs_P2, progress)


def similar_shapes(rows_ND: torch.Tensor, others_MD: torch.Tensor, most: int, neighborhood: int) -> torch.Tensor:
    """Pairs of rows, P × 2, whose sorted similarities to all rows of their own side are nearest by CSLS."""
    size = min(len(rows_ND), len(others_MD), most)
    described = []
    for side in (rows_ND, others_MD):
        U_ND, values_D, _ = torch.linalg.svd(side[:size], full_matrices=False)
        sorted_NN = unit(((U_ND * values_D) @ U_ND.T).sort(dim=1).values)
        described.append(sorted_NN - sorted_NN.mean(dim=0))
    return random_pairs(*described, neighborhood=neighborhood, keep=1, chance=torch.Generator()).pairs_P2


@dataclass(eq=False, kw_only=True)
class MiniVec2Vec(UnsupervisedMap, MatrixMap):
    """A rotation found by matching clusters (Dar 2025, mini-vec2vec); the rows need not be translations of each other.

    The centers of clusters of both sides are matched by their similarities (a quadratic assignment), repeatedly, and
    are then anchors: rows with similar cosines to all anchors are neighbors. Procrustes maps each row to the mean of
    its neighbors; then, in rounds, to the mean of its neighbors after the map; and last, clusters to clusters.

    For rows of zero mean and unit length: put it after ``UnitLength(), Center(), UnitLength()`` in :class:`Steps`.

    Args:
        runs: Number of clusterings that are matched.
        clusters: Number of clusters in each.
        restarts: Random starts of each assignment.
        neighbors: Number of neighbors averaged; at most a fortieth of the rows.
        rounds: Refinement rounds.
        batch: Rows drawn in each round.
        smoothing: Weight of the new matrix in each round.
        fine_clusters: Number of clusters of the last refinement; at most a quarter of the rows.
        cutoff: Maximum number of rows that are clustered and matched, drawn at random.

    Learns ``W_`` (D × D).

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(80, 4)) ** 3
    >>> mapping = MiniVec2Vec(runs=2, restarts=2, rounds=5, clusters=4, fine_clusters=10).fit(X, X[:, ::-1].copy())
    >>> mapping.transform(X).shape
    (80, 4)
    """

    runs: int = field(default=30, metadata=bounds(least=1))
    clusters: int = field(default=20, metadata=bounds(least=2))
    restarts: int = field(default=30, metadata=bounds(least=1))
    neighbors: int = field(default=50, metadata=bounds(least=1))
    rounds: int = field(default=100, metadata=bounds(least=0))
    batch: int = field(default=1_000, metadata=bounds(least=1))
    smoothing: float = field(default=0.5, metadata=bounds(above=0, most=1))
    fine_clusters: int = field(default=500, metadata=bounds(least=1))
    cutoff: int = field(default=10_000, metadata=bounds(least=2))

    def _learn(
        self, rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor, progress: Progress
    ) -> dict[str, Any]:
        chance = torch.Generator().manual_seed(derive_seed(self.seed, "mini-vec2vec"))
        x_ND, y_MD = (unit(side[_drawn(len(side), self.cutoff, chance)].float()) for side in (rows_ND, others_ME))
        neighbors = max(1, min(self.neighbors, len(y_MD) // 40))
        with full_precision(), progress.task("mini-vec2vec", total=self.runs + self.rounds + 1, unit="rounds") as task:
            anchors = []
            for _ in range(self.runs):
                anchors.append(self._matched_centers(x_ND, y_MD, chance))
                task.advance()
            own_AD, other_AD = (unit(torch.cat(side)) for side in zip(*anchors, strict=True))
            nearest_NK = top(unit(x_ND @ own_AD.T), unit(y_MD @ other_AD.T), neighbors).indices_NK
            W_DD = rotation(x_ND.T @ y_MD[nearest_NK].mean(dim=1))[0]
            for _ in range(self.rounds):
                some_BD = x_ND[_drawn(len(x_ND), self.batch, chance)]
                nearest_BK = top(unit(some_BD @ W_DD), y_MD, neighbors).indices_NK
                W_DD = self._moved(W_DD, some_BD, y_MD[nearest_BK].mean(dim=1))
                task.advance()
            fine = max(1, min(self.fine_clusters, len(x_ND) // 4, len(y_MD) // 4))
            own_CD = k_means(x_ND, x_ND[_drawn(len(x_ND), fine, chance)])
            W_DD = self._moved(W_DD, own_CD, k_means(y_MD, own_CD @ W_DD))
            task.advance()
        return matrix_learned(rotation(W_DD.double())[0])

    def _matched_centers(
        self, x_ND: torch.Tensor, y_MD: torch.Tensor, chance: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        count = min(self.clusters, len(x_ND), len(y_MD))
        own_CD, other_CD = (k_means(side, far_apart(side, count, chance)) for side in (x_ND, y_MD))
        order_C = best_assignment(_centered_gram(own_CD), _centered_gram(other_CD), self.restarts, chance)
        return own_CD, other_CD[order_C]

    def _moved(self, W_DD: torch.Tensor, x_ND: torch.Tensor, y_ND: torch.Tensor) -> torch.Tensor:
        return (1 - self.smoothing) * W_DD + self.smoothing * rotation(x_ND.T @ y_ND)[0]

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return rows_ND @ self._tensor("W_", rows_ND).T


def _centered_gram(rows_CD: torch.Tensor) -> torch.Tensor:
    rows_CD = (rows_CD - rows_CD.mean(dim=0)).double()
    return rows_CD @ rows_CD.T


def far_apart(rows_ND: torch.Tensor, count: int, chance: torch.Generator) -> torch.Tensor:
    """Rows to start k-means from, each drawn by its squared distance to the nearest before it (k-means++)."""
    chosen = [int(torch.randint(len(rows_ND), (1,), generator=chance))]
    distance_N = torch.full((len(rows_ND),), torch.inf, dtype=torch.float64)
    while len(chosen) < count:
        distance_N = distance_N.minimum((rows_ND - rows_ND[chosen[-1]]).square().sum(dim=1).cpu())
        weight_N = distance_N if bool(distance_N.any()) else torch.ones_like(distance_N)
        chosen.append(int(torch.multinomial(weight_N, 1, generator=chance)))
    return rows_ND[chosen]


def k_means(rows_ND: torch.Tensor, centers_CD: torch.Tensor, rounds: int = 100) -> torch.Tensor:
    """Centers of clusters by Lloyd's algorithm; a cluster without rows keeps its center."""
    before_N = None
    for _ in range(rounds):
        nearest_N = (centers_CD.square().sum(dim=1) - 2 * rows_ND @ centers_CD.T).argmin(dim=1)
        if before_N is not None and torch.equal(before_N, nearest_N):
            break
        before_N = nearest_N
        counts_C1 = torch.bincount(nearest_N, minlength=len(centers_CD))[:, None]
        sums_CD = torch.zeros_like(centers_CD).index_add_(0, nearest_N, rows_ND)
        centers_CD = torch.where(counts_C1 > 0, sums_CD / counts_C1.clamp(min=1), centers_CD)
    return centers_CD


def best_assignment(
    own_CC: torch.Tensor, other_CC: torch.Tensor, restarts: int, chance: torch.Generator
) -> torch.Tensor:
    """The order of ``other`` that makes the sum of products with ``own`` highest: quadratic assignment by 2-opt.

    From random orders, all at once: the swap with the highest gain, until none has any.

    Args:
        own_CC: Symmetric similarities.
        other_CC: Those to be reordered, ``other[order][:, order]``.
        restarts: Number of random orders to start from.
        chance: Random number generator.
    """
    C, every_R = len(own_CC), torch.arange(restarts)
    order_RC = torch.stack([torch.randperm(C, generator=chance) for _ in range(restarts)])
    own_CC, other_CC = own_CC.cpu(), other_CC.cpu()
    while True:
        moved_RCC = other_CC[order_RC[:, :, None], order_RC[:, None, :]]
        gain_RCC = _swap_gains(own_CC, moved_RCC)
        gain_R, swap_R = gain_RCC.flatten(1).max(dim=1)
        one_R, two_R = swap_R // C, swap_R % C
        better_R = gain_R > 1e-9 * own_CC.norm() * other_CC.norm()
        if not bool(better_R.any()):
            total_R = (own_CC * moved_RCC).sum(dim=(1, 2))
            return order_RC[int(total_R.argmax())]
        swapped_RC = order_RC.clone()
        swapped_RC[every_R, one_R], swapped_RC[every_R, two_R] = order_RC[every_R, two_R], order_RC[every_R, one_R]
        order_RC = torch.where(better_R[:, None], swapped_RC, order_RC)


def _swap_gains(own_CC: torch.Tensor, other_RCC: torch.Tensor) -> torch.Tensor:
    """Gain of Σ own · other by swapping any two items of the other."""
    products_RCC = own_CC @ other_RCC
    own_C, other_RC = own_CC.diagonal(), other_RCC.diagonal(dim1=1, dim2=2)
    along_RC = products_RCC.diagonal(dim1=1, dim2=2)
    whole_RCC = products_RCC + products_RCC.mT - along_RC[:, :, None] - along_RC[:, None, :]
    # The two items themselves: their own products change otherwise, and that between them not at all.
    first_RCC = (own_C[:, None] - own_CC) * (other_RCC - other_RC[:, :, None])
    second_RCC = (own_CC - own_C[None, :]) * (other_RC[:, None, :] - other_RCC)
    both_RCC = (own_C[:, None] - own_C[None, :]) * (other_RC[:, None, :] - other_RC[:, :, None])
    return 2 * (whole_RCC - first_RCC - second_RCC) + both_RCC

"""Sentence retrieval between two languages, by six search variants.

- ``raw``: nearest neighbor by cosine, unmodified vectors.
- ``centered``: the same with each language's mean removed.
- ``csls``: CSLS instead of cosine, unmodified vectors.
- ``centered-csls``: both.
- ``trimmed``: centered, without the two strongest directions of the two languages together; in many encoders a few
  directions dominate all cosines (Timkey & van Schijndel 2021).
- ``mapped``: centered, then one language rotated onto the other by Procrustes.

Everything that is estimated for a sentence is estimated on the other folds: means, CSLS neighborhoods, directions and
maps (:mod:`isoglot.retrieve.estimates`). The candidates are all rows of the other language in every variant, so figures
can be compared. On independent noise all variants are at chance.

Shape legend: ``N`` sentences, ``D`` hidden size, ``W`` search variants, ``F`` sentences of a fold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
import torch

from isoglot.align.maps.closed_form import rotation
from isoglot.compare.measures.measure import top_directions
from isoglot.core.arrays import exact, paired_rows
from isoglot.core.rng import random_stream
from isoglot.retrieve.estimates import Estimates, OtherText, QueryGroup, without_mean
from isoglot.retrieve.evaluation import apart_from
from isoglot.retrieve.methods import Direction, NeighborhoodPool, PairSearch
from isoglot.retrieve.metrics import Gold, hubness

if TYPE_CHECKING:
    from isoglot.retrieve.methods import Method

SearchVariant = Literal["raw", "centered", "csls", "centered-csls", "trimmed", "mapped"]
VARIANTS: tuple[SearchVariant, ...] = get_args(SearchVariant)
STRONGEST = 2
"""Number of directions that ``trimmed`` removes."""
HUBS: tuple[SearchVariant, ...] = ("raw", "csls")
"""Variants whose hubness is measured."""
_NEAREST = 10  # neighbors that hubness is measured on


class PairRetrieval(NamedTuple):
    """Whether each sentence is found (0, ½ or 1: the mean of both directions), and hubness by variant.

    ``mutual_N``: whether a sentence and its translation are nearer to each other than either is to any other sentence,
    by cosine on unmodified vectors. Its mean is MEXA (Kargaran et al. 2024).
    """

    found_WN: np.ndarray
    mutual_N: np.ndarray
    hubness: dict[SearchVariant, float]


class PairEstimates(NamedTuple):
    """Source of the means of two languages and of CSLS neighborhoods, with estimates from other text."""

    estimates: Estimates = Estimates()
    others: tuple[OtherText, OtherText] = (OtherText(), OtherText())


CROSS_FITTED = PairEstimates()


def fold_numbers(sentences: int, folds: int, *, seed: int) -> np.ndarray:
    """Assign each sentence (N) to one of equal random folds."""
    numbers_N = np.arange(sentences) % min(folds, sentences)
    return random_stream(seed, "check-up folds").permutation(numbers_N)


def find_translations(
    X: np.ndarray,
    Y: np.ndarray,
    folds_N: np.ndarray,
    *,
    means: PairEstimates = CROSS_FITTED,
    seed: int = 0,
    device: str | torch.device | None = None,
) -> PairRetrieval:
    """Search for the translation of every sentence by every variant, in both directions.

    Args:
        X: N × D, one language.
        Y: N × D, the translations, row by row.
        folds_N: The fold of each sentence.
        means: Source of means and neighborhoods.
        seed: Random seed of the directions that replace zero rows.
        device: Device to compute on.
    """
    search = _Search(len(X), means, seed, device)
    raw = search.rules(X, Y)
    for fold in np.unique(folds_N):
        own_N = folds_N == fold
        search.plain(raw, own_N, None, "raw", "csls")
        gone = search.means_of(X, Y, own_N)
        moved = np.asarray(without_mean(X, gone[0])), np.asarray(without_mean(Y, gone[1]))
        rules = search.rules(*moved)
        search.plain(rules, own_N, gone, "centered", "centered-csls")
        left = search.rules(*trimmed(*moved, own_N))
        search.keep("trimmed", own_N, (left.X_ND, left.Y_MD), (left.Y_MD, left.X_ND))
        search.keep("mapped", own_N, *mapped(rules.X_ND, rules.Y_MD, own_N))
    return search.found()


class Miss(NamedTuple):
    """A query whose nearest neighbor is not its translation.

    Attributes:
        row: Row of the query, and of its translation.
        found: Row of its nearest neighbor.
        similarity_found: Cosine with the nearest neighbor.
        similarity_right: Cosine with the translation.
        rank: Rank of the translation among all candidates, from 1.
    """

    row: int
    found: int
    similarity_found: float
    similarity_right: float
    rank: int


class Misses(NamedTuple):
    """Number of such queries, and some of them, the largest difference of similarities first."""

    total: int
    worst: list[Miss]


def find_misses(
    X: np.ndarray,
    Y: np.ndarray,
    folds_N: np.ndarray,
    *,
    way: SearchVariant,
    most: int,
    means: PairEstimates = CROSS_FITTED,
    seed: int = 0,
    device: str | torch.device | None = None,
) -> tuple[Misses, Misses]:
    """The queries that fail, from X to Y and from Y to X.

    Args:
        X: N × D, one language.
        Y: N × D, the translations, row by row.
        folds_N: The fold of each sentence.
        way: ``raw`` or ``centered``.
        most: Number of queries to keep in each direction.
        means: Source of means.
        seed: Random seed of the directions that replace zero rows.
        device: Device to compute on.
    """
    search = _Search(len(X), means, seed, device)
    both = Misses(0, []), Misses(0, [])
    for fold in np.unique(folds_N):
        own_N = folds_N == fold
        gone = search.means_of(X, Y, own_N) if way == "centered" else (np.zeros(1), np.zeros(1))
        rules = search.rules(np.asarray(without_mean(X, gone[0])), np.asarray(without_mean(Y, gone[1])))
        found = [_misses(rules, direction, np.flatnonzero(own_N), most) for direction in get_args(Direction)]
        one, other = (Misses(a.total + b.total, a.worst + b.worst) for a, b in zip(both, found, strict=True))
        both = one, other
    for one in both:
        one.worst.sort(key=lambda miss: miss.similarity_right - miss.similarity_found)
        del one.worst[most:]
    return both


def _misses(rules: PairSearch, direction: Direction, asked_F: np.ndarray, most: int) -> Misses:
    rows_F = torch.from_numpy(asked_F).to(rules.X_ND.device)
    top = rules.best("cosine", direction, 1, rows_F)
    right_F = (rules.X_ND[rows_F] * rules.Y_MD[rows_F]).sum(1)
    found_F, nearest_F = top.indices_NK[:, 0], top.scores_NK[:, 0]
    wrong_M = torch.nonzero(found_F != rows_F)[:, 0]
    kept_M = wrong_M[torch.argsort((right_F - nearest_F)[wrong_M], stable=True)[:most]]
    ranks_M = rules.ranks("cosine", direction, rows_F[kept_M, None].expand(-1, 2))
    columns = rows_F[kept_M], found_F[kept_M], nearest_F[kept_M], right_F[kept_M], ranks_M
    return Misses(len(wrong_M), [Miss(*one) for one in zip(*(column.tolist() for column in columns), strict=True)])


def trimmed(X: np.ndarray, Y: np.ndarray, own_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Remove the strongest directions of both languages together, estimated outside a fold.

    Args:
        X: N × D, without its mean.
        Y: As X.
        own_N: Mask of the sentences in the fold.
    """
    learned = torch.from_numpy(np.concatenate([X[~own_N], Y[~own_N]])).double()
    count = max(0, min(STRONGEST, min(len(learned) - 1, learned.shape[1]) - 1))
    if not count:
        return X, Y
    top_DK = top_directions(learned - learned.mean(dim=0), count).numpy()
    left = [(side - (side @ top_DK) @ top_DK.T).astype(np.float32) for side in (X, Y)]
    return left[0], left[1]


def mapped(X_ND: torch.Tensor, Y_ND: torch.Tensor, own_N: np.ndarray) -> tuple[tuple[torch.Tensor, torch.Tensor], ...]:
    """Queries and candidates from X to Y and from Y to X, after Procrustes fitted outside a fold.

    Args:
        X_ND: Centered rows of unit length.
        Y_ND: As X.
        own_N: Mask of the sentences in the fold.
    """
    kept_N = torch.from_numpy(~own_N).to(X_ND.device)
    W_DD = rotation(exact(X_ND[kept_N]).T @ exact(Y_ND[kept_N]))[0].to(X_ND.dtype)
    return (X_ND @ W_DD, Y_ND), (Y_ND @ W_DD.T, X_ND)  # a rotation is inverted by its transpose


class _Search:
    """Nearest neighbors of every sentence in both directions, filled in fold by fold."""

    def __init__(self, count: int, means: PairEstimates, seed: int, device: str | torch.device | None) -> None:
        self.gold, self.means, self.seed, self.device = Gold.one_to_one(count), means, seed, device
        self.best = {way: np.zeros((2, count, min(_NEAREST, count)), dtype=np.int64) for way in VARIANTS}
        self.nearer = np.zeros((2, count), dtype=bool)  # the nearest neighbor is strictly nearer than the second

    def rules(self, X: np.ndarray, Y: np.ndarray) -> PairSearch:
        """Similarities of rows of unit length; zero rows get a random direction."""
        sides = (directed(side, self.seed, name) for name, side in (("X", X), ("Y", Y)))
        return PairSearch(*paired_rows(*sides, unit=True, device=self.device))

    def means_of(self, X: np.ndarray, Y: np.ndarray, own_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means to remove for the sentences of a fold."""
        match self.means.estimates.means:
            case "folds":
                means = [side[~own_N].mean(axis=0, dtype=np.float64) for side in (X, Y)]
            case "own":
                means = [side.mean(axis=0, dtype=np.float64) for side in (X, Y)]
            case "given":
                means = [np.asarray(other.mean_D, dtype=np.float64) for other in self.means.others]
        return means[0], means[1]

    def plain(
        self,
        rules: PairSearch,
        own_N: np.ndarray,
        gone: tuple[np.ndarray, np.ndarray] | None,
        by_cosine: SearchVariant,
        by_csls: SearchVariant,
    ) -> None:
        """Search by cosine and by CSLS; ``gone`` are the means that were removed."""
        asked_F = torch.from_numpy(np.flatnonzero(own_N)).to(rules.X_ND.device)
        apart = rules.apart(self._apart(rules, own_N, gone))
        scored: tuple[tuple[SearchVariant, Method, PairSearch], ...] = (
            (by_cosine, "cosine", rules),
            (by_csls, "csls", apart),
        )
        for way, method, own in scored:
            for side, direction in enumerate(get_args(Direction)):
                top = own.best(method, direction, _NEAREST, asked_F)
                self.best[way][side, own_N] = top.indices_NK.cpu().numpy()
                if way == "raw":
                    self.nearer[side, own_N] = (top.scores_NK[:, 0] > top.scores_NK[:, 1]).cpu().numpy()

    def keep(self, way: SearchVariant, own_N: np.ndarray, *both: tuple[torch.Tensor, torch.Tensor]) -> None:
        """Store the nearest neighbors of the sentences of a fold, in both directions."""
        own = torch.from_numpy(own_N).to(both[0][0].device)
        for side, (queries_ND, answers_ND) in enumerate(both):
            top = PairSearch(queries_ND[own], answers_ND).best("cosine", "forward", 1)
            self.best[way][side, own_N] = top.indices_NK.cpu().numpy()

    def found(self) -> PairRetrieval:
        """Hits and hubness."""
        count = len(self.gold)
        right_N = np.arange(count)
        found = [(self.best[way][:, :, 0] == right_N).mean(axis=0) for way in VARIANTS]
        hubs = {way: float(np.mean([hubness(best_NK, count) for best_NK in self.best[way]])) for way in HUBS}
        mutual_N = (found[VARIANTS.index("raw")] == 1) & self.nearer.all(axis=0)
        return PairRetrieval(np.stack(found), mutual_N, hubs)

    def _apart(
        self, rules: PairSearch, own_N: np.ndarray, gone: tuple[np.ndarray, np.ndarray] | None
    ) -> NeighborhoodPool | None:
        sides = rules.X_ND, rules.Y_MD
        match self.means.estimates.neighborhoods:
            case "own":
                return None
            case "folds":
                return apart_from(QueryGroup(own_N, own_N), sides, self.gold)
            case "given":
                pools = [np.asarray(other.rows) for other in self.means.others]
                if gone is not None:
                    pools = [np.asarray(without_mean(*each)) for each in zip(pools, gone, strict=True)]
                others = self.rules(pools[0], pools[1])
                none_E2 = torch.zeros(0, 2, dtype=torch.int64, device=sides[0].device)
                return NeighborhoodPool((others.X_ND, others.Y_MD), (none_E2, none_E2))


def directed(rows_ND: np.ndarray, seed: int, name: str) -> np.ndarray:
    """Replace zero rows by random directions, so that they are found at chance."""
    bad_N = ~rows_ND.any(axis=1)
    if not bad_N.any():
        return rows_ND
    rows_ND = rows_ND.copy()
    rows_ND[bad_N] = random_stream(seed, "no direction", name).normal(size=(int(bad_N.sum()), rows_ND.shape[1]))
    return rows_ND

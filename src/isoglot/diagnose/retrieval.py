"""Whether the translation of each sentence is found, in six ways.

- ``raw``: the nearest by cosine, vectors as they are.
- ``centered``: the same without each language's mean.
- ``csls``: CSLS instead of cosine, vectors as they are.
- ``centered-csls``: both.
- ``trimmed``: centered, and without the two strongest directions of the two languages together; in many encoders a
  few directions are so strong that cosines see little else (Timkey & van Schijndel 2021).
- ``mapped``: centered, then one language turned onto the other by Procrustes.

Whatever is estimated for a sentence is estimated on the other folds: means, neighborhoods of CSLS, directions and maps
(:mod:`isoglot.retrieve.estimates`). The sentence is then looked for among all rows of the other language, as in the
other ways, so that figures can be compared. On independent noise all are at chance (a test holds them to that).

Shape legend: ``N`` sentences, ``D`` hidden size, ``W`` ways, ``F`` sentences of a fold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
import torch

from isoglot.align.maps.procrustes import rotation
from isoglot.compare.top_components import top_directions
from isoglot.core.arrays import exact, paired_rows
from isoglot.core.rng import random_stream
from isoglot.retrieve.estimates import Estimates, OtherText, QueryGroup, without_mean
from isoglot.retrieve.evaluation import apart_from
from isoglot.retrieve.gold import Gold
from isoglot.retrieve.methods import Direction, NeighborhoodPool, PairSearch
from isoglot.retrieve.metrics import hubness

if TYPE_CHECKING:
    from isoglot.retrieve.methods import Method

Way = Literal["raw", "centered", "csls", "centered-csls", "trimmed", "mapped"]
WAYS: tuple[Way, ...] = get_args(Way)
STRONGEST = 2
"""Directions that ``trimmed`` leaves out."""
HUBS: tuple[Way, ...] = ("raw", "csls")
"""Ways that hubs are counted in."""
_NEAREST = 10  # neighbors that hubs are counted among


class PairFound(NamedTuple):
    """How often each sentence is found (0, ½ or 1: the mean of both directions), and the hubs of some ways."""

    found_WN: np.ndarray
    hubness: dict[Way, float]


class Means(NamedTuple):
    """Where the means of two languages and the neighborhoods of CSLS come from, and what is known from other text."""

    estimates: Estimates = Estimates()
    others: tuple[OtherText, OtherText] = (OtherText(), OtherText())


CROSS_FITTED = Means()


def fold_numbers(sentences: int, folds: int, *, seed: int) -> np.ndarray:
    """The fold of each sentence (N): equal parts, drawn at random."""
    numbers_N = np.arange(sentences) % min(folds, sentences)
    return random_stream(seed, "check-up folds").permutation(numbers_N)


def find_translations(
    X: np.ndarray,
    Y: np.ndarray,
    folds_N: np.ndarray,
    *,
    means: Means = CROSS_FITTED,
    seed: int = 0,
    device: str | torch.device | None = None,
) -> PairFound:
    """Look for the translation of every sentence in every way, in both directions.

    Args:
        X: N × D, one language.
        Y: N × D, the other, row by row.
        folds_N: The fold of each sentence.
        means: Where means and neighborhoods come from.
        seed: Decides what stands in for a row without a direction.
        device: Where to compute.
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


def trimmed(X: np.ndarray, Y: np.ndarray, own_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both languages without the strongest directions that they have together outside a fold.

    Args:
        X: N × D, without its mean.
        Y: As X.
        own_N: Which sentences are in the fold.
    """
    learned = torch.from_numpy(np.concatenate([X[~own_N], Y[~own_N]])).double()
    count = max(0, min(STRONGEST, min(len(learned) - 1, learned.shape[1]) - 1))
    if not count:
        return X, Y
    top_DK = top_directions(learned - learned.mean(dim=0), count).numpy()
    left = [(side - (side @ top_DK) @ top_DK.T).astype(np.float32) for side in (X, Y)]
    return left[0], left[1]


def mapped(X_ND: torch.Tensor, Y_ND: torch.Tensor, own_N: np.ndarray) -> tuple[tuple[torch.Tensor, torch.Tensor], ...]:
    """Queries and answers from X to Y and from Y to X, after Procrustes fitted outside a fold.

    Args:
        X_ND: Rows of length 1, without their mean.
        Y_ND: As X.
        own_N: Which sentences are in the fold.
    """
    kept_N = torch.from_numpy(~own_N).to(X_ND.device)
    W_DD = rotation(exact(X_ND[kept_N]).T @ exact(Y_ND[kept_N]))[0].to(X_ND.dtype)
    return (X_ND @ W_DD, Y_ND), (Y_ND @ W_DD.T, X_ND)  # the way back of a rotation is its transpose


class _Search:
    """The best answers of every sentence in both directions, filled in fold by fold."""

    def __init__(self, count: int, means: Means, seed: int, device: str | torch.device | None) -> None:
        self.gold, self.means, self.seed, self.device = Gold.one_to_one(count), means, seed, device
        self.best = {way: np.zeros((2, count, min(_NEAREST, count)), dtype=np.int64) for way in WAYS}

    def rules(self, X: np.ndarray, Y: np.ndarray) -> PairSearch:
        """Of rows of length 1, with a direction by chance for those that have none: they are then found by chance."""
        sides = (directed(side, self.seed, name) for name, side in (("X", X), ("Y", Y)))
        return PairSearch(*paired_rows(*sides, unit=True, device=self.device))

    def means_of(self, X: np.ndarray, Y: np.ndarray, own_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The means that the sentences of a fold see."""
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
        by_cosine: Way,
        by_csls: Way,
    ) -> None:
        """By cosine and by CSLS; ``gone`` are the means that were removed."""
        asked_F = torch.from_numpy(np.flatnonzero(own_N)).to(rules.X_ND.device)
        apart = rules.apart(self._apart(rules, own_N, gone))
        scored: tuple[tuple[Way, Method, PairSearch], ...] = ((by_cosine, "cosine", rules), (by_csls, "csls", apart))
        for way, method, own in scored:
            for side, direction in enumerate(get_args(Direction)):
                top = own.best(method, direction, _NEAREST, asked_F)
                self.best[way][side, own_N] = top.indices_NK.cpu().numpy()

    def keep(self, way: Way, own_N: np.ndarray, *both: tuple[torch.Tensor, torch.Tensor]) -> None:
        """Note the nearest of the sentences of a fold, of queries and answers from X to Y and from Y to X."""
        own = torch.from_numpy(own_N).to(both[0][0].device)
        for side, (queries_ND, answers_ND) in enumerate(both):
            top = PairSearch(queries_ND[own], answers_ND).best("cosine", "forward", 1)
            self.best[way][side, own_N] = top.indices_NK.cpu().numpy()

    def found(self) -> PairFound:
        """How often each sentence was found, and the hubs."""
        count = len(self.gold)
        right_N = np.arange(count)
        found = [(self.best[way][:, :, 0] == right_N).mean(axis=0) for way in WAYS]
        hubs = {way: float(np.mean([hubness(best_NK, count) for best_NK in self.best[way]])) for way in HUBS}
        return PairFound(np.stack(found), hubs)

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
    """The rows, with a direction by chance for those that have none: they are then found by chance."""
    bad_N = ~rows_ND.any(axis=1)
    if not bad_N.any():
        return rows_ND
    rows_ND = rows_ND.copy()
    rows_ND[bad_N] = random_stream(seed, "no direction", name).normal(size=(int(bad_N.sum()), rows_ND.shape[1]))
    return rows_ND

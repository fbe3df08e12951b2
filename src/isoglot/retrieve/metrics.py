"""How good a retrieval is: precision, reciprocal rank, hubs, and how sure that is.

Shape legend: ``N`` rows of X, ``K`` neighbors, ``P`` right pairs, ``Q`` queries: rows with a right answer,
``F`` figures, ``R`` resamples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import torch

from isoglot.core.arrays import Array, paired_rows
from isoglot.core.errors import ConfigError, InputError, nearest_name, shown
from isoglot.core.progress import SILENT
from isoglot.core.rng import random_stream
from isoglot.retrieve.gold import Gold
from isoglot.retrieve.methods import NEIGHBORHOOD, SHARPNESS, Method, Neighbors, PairSearch, check_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.core.progress import Progress

Over = Literal["pairs", "queries"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and the interval that bootstrap resampling of the queries gives it."""

    value: float
    low: float
    high: float


def gold_ranks(
    X: Array,
    Y: Array,
    gold: Gold | None = None,
    method: Method = "cosine",
    *,
    neighborhood: int = NEIGHBORHOOD,
    sharpness: float = SHARPNESS,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> np.ndarray:
    """The rank of every right pair: the place of its row of Y among all rows of Y, from 1; in the order of the gold.

    Args:
        X: N × D.
        Y: M × D.
        gold: The right pairs; by default row i is right for row i.
        method: What orders the rows of Y.
        neighborhood: For CSLS and margins.
        sharpness: For the inverted softmax.
        device: Where to compute; by default where X is.
        progress: Shows pairs done.

    Raises:
        InputError: The gold does not fit the matrices, or those cannot be compared.
    """
    check_options(method, 1, neighborhood, sharpness)
    gold = fitting(gold, len(X), len(Y))
    X_ND, Y_MD = paired_rows(X, Y, unit=method != "euclidean", device=device)
    rules = PairSearch(X_ND, Y_MD, neighborhood=neighborhood, sharpness=sharpness, progress=progress)
    pairs_P2 = torch.from_numpy(gold.pairs_P2).to(X_ND.device)
    return rules.ranks(method, "forward", pairs_P2).cpu().numpy()


def fitting(gold: Gold | None, rows_X: int, rows_Y: int) -> Gold:
    """The gold, once it is known to fit; row by row where there is none.

    Raises:
        InputError: It does not fit; without a gold, the numbers of rows differ.
    """
    if gold is None:
        if rows_X != rows_Y:
            raise InputError(
                f"X has {rows_X} rows, Y {rows_Y}",
                remedy="give the right pairs, or as many rows",
                code="input.row-count",
            )
        return Gold.one_to_one(rows_X)
    gold.check(rows_X, rows_Y)
    return gold


def precision_at_k(neighbors: Neighbors | Array, gold: Gold | None = None, k: int = 1) -> float:
    """The share of queries with a right row among their ``k`` best; rows without a right answer do not count.

    >>> precision_at_k(np.array([[1, 0], [1, 2], [0, 2]]), Gold.from_pairs([(0, 0), (1, 1), (1, 2)]), k=1)
    0.5

    Args:
        neighbors: The best rows of Y for every row of X, or their indices, N × K.
        gold: The right pairs; by default row i is right for row i.
        k: How many of the best count.

    Raises:
        ConfigError: Fewer than ``k`` neighbors are there.
        InputError: The gold has rows that are not there.
    """
    found = neighbors.indices_NK if isinstance(neighbors, Neighbors) else neighbors
    indices_NK = found.cpu().numpy() if isinstance(found, torch.Tensor) else found
    if not 1 <= k <= indices_NK.shape[1]:
        raise ConfigError(
            f"k is {k}, of {indices_NK.shape[1]} neighbors",
            remedy="search for at least k neighbors",
            code="config.invalid-value",
        )
    gold = Gold.one_to_one(len(indices_NK)) if gold is None else gold
    gold.check(len(indices_NK), np.iinfo(np.int64).max)
    rows_P, right_P = gold.pairs_P2.T
    hit_P = (indices_NK[rows_P, :k] == right_P[:, None]).any(axis=1)
    return len(np.unique(rows_P[hit_P])) / len(gold.sources)


def mean_reciprocal_rank(
    X: Array,
    Y: Array,
    gold: Gold | None = None,
    method: Method = "cosine",
    over: Over = "pairs",
    *,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> float:
    """The mean of 1 / rank of the right row, as Liu et al. (2020) define it: by cosine, over all pairs of a dictionary.

    They rank among the target side of the dictionary: give that as Y.

    >>> mean_reciprocal_rank(np.array([[1.0, 0.0], [1.0, 0.1]]), np.eye(2))
    0.75

    Args:
        X: N × D.
        Y: M × D.
        gold: The right pairs; by default row i is right for row i.
        method: What orders the rows of Y.
        over: ``pairs``: every right pair counts, with its own rank. ``queries``: every row of X that has a right answer
            counts, with its best one.
        device: Where to compute; by default where X is.
        progress: Shows pairs done.
    """
    if over not in ("pairs", "queries"):
        raise ConfigError(
            f"no mean over {shown(over)}", remedy=nearest_name(over, ("pairs", "queries")), code="config.unknown-name"
        )
    gold = fitting(gold, len(X), len(Y))
    ranks_P = gold_ranks(X, Y, gold, method, device=device, progress=progress)
    return float((1 / (ranks_P if over == "pairs" else best_ranks(ranks_P, gold))).mean())


def best_ranks(ranks_P: np.ndarray, gold: Gold) -> np.ndarray:
    """The rank of the best right row of every query, in the order of ``gold.sources``."""
    starts = np.searchsorted(gold.pairs_P2[:, 0], gold.sources)
    return np.asarray(np.minimum.reduceat(ranks_P, starts))


def hubness(neighbors: Neighbors | Array, candidates: int) -> float:
    """The skewness of the k-occurrence: how unequally the candidates share the places among the k best.

    With N_k(y) the number of queries that have y among their k best: E[(N_k - mean)³] / deviation³ (Radovanović et al.
    2010). About 0 without hubs, above 1 where a few take most places; 0 where all have the same number.

    >>> hubness(np.array([[0], [0], [0], [1]]), candidates=4)
    0.816496580927726
    """
    found = neighbors.indices_NK if isinstance(neighbors, Neighbors) else neighbors
    indices_NK = found.cpu().numpy() if isinstance(found, torch.Tensor) else found
    away = np.bincount(indices_NK.ravel(), minlength=candidates).astype(float)
    away -= away.mean()
    variance = float((away**2).mean())
    return float((away**3).mean()) / variance**1.5 if variance > 0 else 0.0


def bootstrap(
    sums_QF: np.ndarray, counts_QF: np.ndarray, *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> list[Interval]:
    """Percentile intervals of means, the queries drawn anew with replacement.

    Args:
        sums_QF: What each query adds to each figure.
        counts_QF: How much it counts there: a query with three right pairs counts three times in a mean over pairs.
        resamples: How often all queries are drawn.
        level: How much of the resampled figures an interval holds.
        seed: Decides the draws.

    Raises:
        ConfigError: No resamples, or a level that is not between 0 and 1.
    """
    if resamples < 1 or not 0 < level < 1:
        raise ConfigError(
            f"{resamples} resamples at the level {level}",
            remedy="give at least 1, and a level below 1 such as 0.95",
            code="config.invalid-value",
        )
    both = np.concatenate([sums_QF, counts_QF], axis=1).astype(float)
    drawn = _resampled(both, resamples, seed)
    figures = sums_QF.shape[1]
    edges = np.quantile(drawn[:, :figures] / drawn[:, figures:], [(1 - level) / 2, (1 + level) / 2], axis=0)
    values = both[:, :figures].sum(axis=0) / both[:, figures:].sum(axis=0)
    return [Interval(*map(float, triple)) for triple in zip(values, *edges, strict=True)]


def resampled_means(rows_QF: np.ndarray, *, resamples: int = 1000, seed: int = 0) -> np.ndarray:
    """The means of figures over queries, then over the queries drawn anew (1 + R × F): the draws of an interval."""
    drawn_RF = _resampled(rows_QF, resamples, seed) / len(rows_QF)
    return np.concatenate([rows_QF.mean(axis=0, keepdims=True), drawn_RF])


_COUNTS = 2**21  # numbers of draws that are in memory at once, and kept: 16 MB


def _resampled(rows_QF: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """The sums of the rows drawn in each resample; the draws for as many rows are always the same."""
    queries = len(rows_QF)
    if resamples * queries <= _COUNTS:
        return np.asarray(_kept_counts(queries, resamples, seed) @ rows_QF)
    stream = random_stream(seed, "retrieval bootstrap")
    at_once = max(1, _COUNTS // queries)
    sizes = [min(at_once, resamples - first) for first in range(0, resamples, at_once)]
    return np.concatenate([drawn_counts(queries, size, stream) @ rows_QF for size in sizes])


@lru_cache(maxsize=2)
def _kept_counts(queries: int, resamples: int, seed: int) -> np.ndarray:
    """All draws, for the next method, direction and layer of the same sentences."""
    found = drawn_counts(queries, resamples, random_stream(seed, "retrieval bootstrap"))
    found.flags.writeable = False
    return found


def drawn_counts(queries: int, resamples: int, stream: np.random.Generator) -> np.ndarray:
    """How often each query is drawn in each resample (R × Q), as floats to multiply with: what a bootstrap is made of.

    >>> drawn_counts(4, 100, np.random.default_rng(0)).sum(axis=1).tolist() == [4.0] * 100
    True
    """
    drawn_RQ = stream.integers(queries, size=(resamples, queries))
    drawn_RQ += np.arange(resamples)[:, None] * queries
    return np.bincount(drawn_RQ.ravel(), minlength=drawn_RQ.size).reshape(drawn_RQ.shape).astype(float)


# --- words spelled like their translation ---


class SpelledAlike(NamedTuple):
    """The rows of either side that have a right row spelled the same."""

    source_rows: np.ndarray
    target_rows: np.ndarray


class OtherSpelling(NamedTuple):
    """P@1 of the words whose translations are all spelled differently, and how many those are; None of no words."""

    queries: int
    precision: Interval | None


def in_words(found: float, queries: int, other: float | None, others: int) -> str:
    """P@1 of all words beside that of those spelled differently, None where there are none of them.

    >>> in_words(0.98, 51, 0.8, 5)
    '98.0 % / 80.0 % of 51 / 5 words'
    """
    said = "–" if other is None else f"{100 * other:.1f} %"
    return f"{100 * found:.1f} % / {said} of {queries:,} / {others:,} words"


def spelled_alike(gold: Gold, source_words: Sequence[str], target_words: Sequence[str]) -> SpelledAlike:
    """Which words have a translation spelled the same.

    >>> alike = spelled_alike(Gold.from_pairs([(0, 0), (0, 1), (1, 2)]), ["bus", "cat"], ["bus", "car", "chat"])
    >>> alike.source_rows.tolist(), alike.target_rows.tolist()
    ([0], [0])
    """
    same = [(one, two) for one, two in gold.pairs_P2.tolist() if source_words[one] == target_words[two]]
    pairs_P2 = np.array(same, dtype=np.int64).reshape(-1, 2)
    return SpelledAlike(pairs_P2[:, 0], pairs_P2[:, 1])


def other_spelling(
    queries_Q: np.ndarray, ranks_Q: np.ndarray, alike: np.ndarray, *, resamples: int, seed: int
) -> OtherSpelling:
    """The figure without the queries that have a right row spelled the same; what is looked among stays as it is."""
    hits_Q = ranks_Q[~np.isin(queries_Q, alike)] == 1
    if not len(hits_Q):
        return OtherSpelling(0, None)
    return OtherSpelling(
        len(hits_Q), bootstrap(hits_Q[:, None], np.ones((len(hits_Q), 1)), resamples=resamples, seed=seed)[0]
    )

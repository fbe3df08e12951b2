"""Retrieval metrics: precision, reciprocal rank, hubness, and their bootstrap intervals.

Shape legend: ``N`` rows of X, ``K`` neighbors, ``P`` gold pairs, ``Q`` queries (rows with a correct answer), ``F``
metrics, ``R`` resamples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import torch

from isoglot.core.arrays import ArrayLike, paired_rows, to_tensor
from isoglot.core.errors import ConfigError, InputError, check_counts, check_name, shown
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import random_stream
from isoglot.retrieve.methods import NEIGHBORHOOD, SHARPNESS, Method, Neighbors, PairSearch, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# --- right pairs ---


@dataclass(frozen=True)
class Gold:
    """Correct pairs (row of X, row of Y), unique and sorted.

    >>> gold = Gold.from_pairs([(0, 0), (0, 1), (2, 1)])
    >>> gold.sources.tolist(), gold.targets.tolist(), len(gold)
    ([0, 2], [0, 1], 3)
    >>> gold.turned().pairs_P2.tolist()
    [[0, 0], [1, 0], [1, 2]]
    """

    pairs_P2: np.ndarray

    @classmethod
    def one_to_one(cls, rows: int) -> Gold:
        """Row i of X belongs to row i of Y, as in parallel text."""
        return cls(np.repeat(np.arange(rows, dtype=np.int64)[:, None], 2, axis=1))

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[int, int]] | np.ndarray) -> Gold:
        """Gold from pairs in any order; duplicates count once.

        Raises:
            InputError: There are no pairs, or a row number is negative.
        """
        pairs_P2 = np.asarray(pairs if isinstance(pairs, np.ndarray) else list(pairs), dtype=np.int64)
        if pairs_P2.ndim != 2 or pairs_P2.shape[1] != 2 or len(pairs_P2) == 0:
            raise InputError(f"the gold has shape {pairs_P2.shape}", "give at least one pair of rows", "shape")
        if pairs_P2.min() < 0:
            raise InputError(f"the gold has row {pairs_P2.min()}", "rows count from 0", "out-of-range")
        return cls(np.unique(pairs_P2, axis=0))

    def __len__(self) -> int:
        return len(self.pairs_P2)

    def __repr__(self) -> str:
        return f"Gold({len(self):,} pairs)"

    @property
    def sources(self) -> np.ndarray:
        """Rows of X that have a correct answer."""
        return np.unique(self.pairs_P2[:, 0])

    @property
    def targets(self) -> np.ndarray:
        """Rows of Y that are a correct answer."""
        return np.unique(self.pairs_P2[:, 1])

    def turned(self) -> Gold:
        """Gold of the reverse direction."""
        return Gold.from_pairs(self.pairs_P2[:, ::-1])

    def check(self, rows_X: int, rows_Y: int) -> None:
        """Check that the pairs fit the matrices and are as :meth:`from_pairs` returns them.

        Raises:
            InputError: A pair is out of range (the message names it), or the pairs are not unique and sorted.
        """
        pairs_P2 = self.pairs_P2
        if pairs_P2.ndim != 2 or pairs_P2.shape[1] != 2 or not len(pairs_P2) or pairs_P2.dtype.kind not in "iu":
            raise InputError(
                f"the gold is {pairs_P2.shape} of {pairs_P2.dtype}", "make it with Gold.from_pairs", "type"
            )
        beyond = ((pairs_P2 < 0) | (pairs_P2 >= (rows_X, rows_Y))).any(axis=1)
        if beyond.any():
            pair = tuple(pairs_P2[beyond.argmax()].tolist())
            raise InputError(
                f"the gold pair {shown(pair)} is out of range for {rows_X} and {rows_Y} rows",
                "rows count from 0",
                "out-of-range",
            )
        more_X, more_Y = np.diff(pairs_P2.astype(np.int64), axis=0).T
        if not ((more_X > 0) | ((more_X == 0) & (more_Y > 0))).all():
            raise InputError("the gold is not sorted and unique", "make it with Gold.from_pairs", "duplicate")


Over = Literal["pairs", "queries"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its bootstrap confidence interval over queries.

    >>> import numpy as np
    >>> from isoglot.retrieve import score_retrieval
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> share = score_retrieval(X, X).of("cosine").precision[1]
    >>> share.value, share.low <= share.value <= share.high
    (1.0, True)
    """

    value: float
    low: float
    high: float


def gold_ranks(
    X: ArrayLike,
    Y: ArrayLike,
    gold: Gold | None = None,
    method: Method = "cosine",
    *,
    neighborhood: int = NEIGHBORHOOD,
    sharpness: float = SHARPNESS,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> np.ndarray:
    """Rank of every gold pair, in the order of the gold: that of its row of Y among all rows of Y, from 1.

    Args:
        X: N × D.
        Y: M × D.
        gold: Correct pairs. Default: row i belongs to row i.
        method: Scoring method.
        neighborhood: For CSLS and margins.
        sharpness: For the inverted softmax.
        device: Where to compute. Default: the device of X.
        progress: Progress in pairs.

    Returns:
        One rank for each gold pair.

    >>> import numpy as np
    >>> X, Y = np.eye(3), np.array([[0.0, 2, 0], [3, 0.1, 0], [0, 0, 1]])
    >>> gold_ranks(X, Y, Gold.one_to_one(3)).tolist()
    [2, 2, 1]

    Raises:
        ConfigError: The method is unknown, or an option is out of range.
        InputError: The gold does not fit the matrices, or they are invalid.
    """
    check_options(method, 1, neighborhood, sharpness)
    gold = fitting(gold, len(X), len(Y))
    X_ND, Y_MD = paired_rows(X, Y, unit=method != "euclidean", device=device)
    rules = PairSearch(X_ND, Y_MD, neighborhood=neighborhood, sharpness=sharpness, progress=progress)
    pairs_P2 = torch.from_numpy(gold.pairs_P2).to(X_ND.device)
    return rules.ranks(method, "forward", pairs_P2).cpu().numpy()


def fitting(gold: Gold | None, rows_X: int, rows_Y: int) -> Gold:
    """The gold, checked against the numbers of rows; row by row if there is none.

    Raises:
        InputError: It does not fit; without a gold: the numbers of rows differ.
    """
    if gold is None:
        check_counts("rows", {"X": rows_X, "Y": rows_Y}, "give gold pairs, or the same number of rows")
        return Gold.one_to_one(rows_X)
    gold.check(rows_X, rows_Y)
    return gold


def precision_at_k(neighbors: Neighbors | ArrayLike, gold: Gold | None = None, k: int = 1) -> float:
    """Share of queries with a correct row among their ``k`` best; rows without a correct answer do not count.

    >>> precision_at_k(np.array([[1, 0], [1, 2], [0, 2]]), Gold.from_pairs([(0, 0), (1, 1), (1, 2)]), k=1)
    0.5

    Args:
        neighbors: The best rows of Y for every row of X, or their indices, N × K.
        gold: Correct pairs. Default: row i belongs to row i.
        k: Number of neighbors that count.

    Returns:
        From 0 to 1.

    Raises:
        ConfigError: There are fewer than ``k`` neighbors.
        InputError: The gold has rows that do not exist.
    """
    indices_NK = _indices(neighbors)
    if not 1 <= k <= indices_NK.shape[1]:
        raise ConfigError(
            f"k = {k} is out of range for {indices_NK.shape[1]} neighbors",
            "search for at least k neighbors",
            "invalid-value",
        )
    gold = Gold.one_to_one(len(indices_NK)) if gold is None else gold
    gold.check(len(indices_NK), np.iinfo(np.int64).max)
    rows_P, right_P = gold.pairs_P2.T
    hit_P = (indices_NK[rows_P, :k] == right_P[:, None]).any(axis=1)
    return len(np.unique(rows_P[hit_P])) / len(gold.sources)


def _indices(neighbors: Neighbors | ArrayLike) -> np.ndarray:
    found = neighbors.indices_NK if isinstance(neighbors, Neighbors) else neighbors
    return to_tensor(found, "neighbors").cpu().numpy()


def mean_reciprocal_rank(
    X: ArrayLike,
    Y: ArrayLike,
    gold: Gold | None = None,
    method: Method = "cosine",
    over: Over = "pairs",
    *,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> float:
    """Mean of 1 / rank of the correct row, as defined by Liu et al. (2020): by cosine, over all pairs of a dictionary.

    They rank among the target side of the dictionary: pass that as Y.

    >>> mean_reciprocal_rank(np.array([[1.0, 0.0], [1.0, 0.1]]), np.eye(2))
    0.75

    Args:
        X: N × D.
        Y: M × D.
        gold: Correct pairs. Default: row i belongs to row i.
        method: Scoring method.
        over: ``pairs``: mean over gold pairs, each with its own rank. ``queries``: mean over rows of X with a correct
            answer, each with its best rank.
        device: Where to compute. Default: the device of X.
        progress: Progress in pairs.

    Returns:
        From 0 to 1.

    Raises:
        ConfigError: The method or ``over`` is unknown.
        InputError: The gold does not fit the matrices, or they are invalid.
    """
    check_name("mean over", over, ("pairs", "queries"))
    gold = fitting(gold, len(X), len(Y))
    ranks_P = gold_ranks(X, Y, gold, method, device=device, progress=progress)
    return float((1 / (ranks_P if over == "pairs" else best_ranks(ranks_P, gold))).mean())


def best_ranks(ranks_P: np.ndarray, gold: Gold) -> np.ndarray:
    """Rank of the best correct row of every query, in the order of ``gold.sources``."""
    starts = np.searchsorted(gold.pairs_P2[:, 0], gold.sources)
    return np.asarray(np.minimum.reduceat(ranks_P, starts))


def hubness(neighbors: Neighbors | ArrayLike, candidates: int) -> float:
    """Skewness of the k-occurrence: how unequally the candidates share the places among the k best.

    With N_k(y) the number of queries that have y among their k best: E[(N_k - mean)³] / deviation³ (Radovanović et al.
    2010). About 0 without hubs, above 1 if a few candidates take most places; 0 if all have the same number.

    Args:
        neighbors: Neighbors of every query: N × k indices, or the result of a search.
        candidates: Number of candidates.

    Returns:
        The skewness; larger means stronger hubs.

    >>> hubness(np.array([[0], [0], [0], [1]]), candidates=4)
    0.816496580927726
    """
    indices_NK = _indices(neighbors)
    away = np.bincount(indices_NK.ravel(), minlength=candidates).astype(float)
    away -= away.mean()
    variance = float((away**2).mean())
    return float((away**3).mean()) / variance**1.5 if variance > 0 else 0.0


def bootstrap(
    sums_QF: np.ndarray, counts_QF: np.ndarray, *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> list[Interval]:
    """Percentile bootstrap intervals of means over queries.

    Args:
        sums_QF: Contribution of each query to each metric.
        counts_QF: Its weight: a query with three gold pairs counts three times in a mean over pairs.
        resamples: Number of bootstrap resamples.
        level: Confidence level.
        seed: Random seed.

    Raises:
        ConfigError: No resamples, or a level that is not between 0 and 1.
    """
    if resamples < 1 or not 0 < level < 1:
        raise ConfigError(
            f"invalid resamples = {resamples} or level = {level}",
            "give at least 1, and a level below 1 such as 0.95",
            "invalid-value",
        )
    both = np.concatenate([sums_QF, counts_QF], axis=1).astype(float)
    drawn = _resampled(both, resamples, seed)
    figures = sums_QF.shape[1]
    edges = np.quantile(drawn[:, :figures] / drawn[:, figures:], [(1 - level) / 2, (1 + level) / 2], axis=0)
    values = both[:, :figures].sum(axis=0) / both[:, figures:].sum(axis=0)
    return [Interval(*map(float, triple)) for triple in zip(values, *edges, strict=True)]


def resampled_means(rows_QF: np.ndarray, *, resamples: int = 1000, seed: int = 0) -> np.ndarray:
    """Means of metrics over queries, then over bootstrap resamples of them (1 + R × F)."""
    drawn_RF = _resampled(rows_QF, resamples, seed) / len(rows_QF)
    return np.concatenate([rows_QF.mean(axis=0, keepdims=True), drawn_RF])


_COUNTS = 2**21  # draws in memory at once, and cached: 16 MB


def _resampled(rows_QF: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Sums over the rows of each resample; the draws depend only on the seed and the number of rows."""
    queries = len(rows_QF)
    if resamples * queries <= _COUNTS:
        return np.asarray(_kept_counts(queries, resamples, seed) @ rows_QF)
    stream = random_stream(seed, "retrieval bootstrap")
    at_once = max(1, _COUNTS // queries)
    sizes = [min(at_once, resamples - first) for first in range(0, resamples, at_once)]
    return np.concatenate([drawn_counts(queries, size, stream) @ rows_QF for size in sizes])


@lru_cache(maxsize=2)
def _kept_counts(queries: int, resamples: int, seed: int) -> np.ndarray:
    """All draws, cached for the next method, direction and layer of the same sentences."""
    found = drawn_counts(queries, resamples, random_stream(seed, "retrieval bootstrap"))
    found.flags.writeable = False
    return found


def drawn_counts(queries: int, resamples: int, stream: np.random.Generator) -> np.ndarray:
    """How often each query is drawn in each resample (R × Q), as floats: the core of a bootstrap.

    >>> drawn_counts(4, 100, np.random.default_rng(0)).sum(axis=1).tolist() == [4.0] * 100
    True
    """
    drawn_RQ = stream.integers(queries, size=(resamples, queries))
    drawn_RQ += np.arange(resamples)[:, None] * queries
    return np.bincount(drawn_RQ.ravel(), minlength=drawn_RQ.size).reshape(drawn_RQ.shape).astype(float)


# --- words spelled like their translation ---


class SpelledAlike(NamedTuple):
    """Rows of either side with a correct row of the same spelling."""

    source_rows: np.ndarray
    target_rows: np.ndarray


class OtherSpelling(NamedTuple):
    """P@1 of words whose translations are all spelled differently, and their number; None if there are none."""

    queries: int
    precision: Interval | None


def in_words(found: float, queries: int, other: float | None, others: int) -> str:
    """P@1 of all words beside that of words spelled differently (None if there are none), as text.

    >>> in_words(0.98, 51, 0.8, 5)
    '98.0 % / 80.0 % of 51 / 5 words'
    """
    said = "–" if other is None else f"{100 * other:.1f} %"
    return f"{100 * found:.1f} % / {said} of {queries:,} / {others:,} words"


def spelled_alike(gold: Gold, source_words: Sequence[str], target_words: Sequence[str]) -> SpelledAlike:
    """Rows of words with a translation of the same spelling: one vocabulary has one vector for both.

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
    """P@1 without the queries that have a correct row of the same spelling; the candidates stay the same."""
    hits_Q = ranks_Q[~np.isin(queries_Q, alike)] == 1
    if not len(hits_Q):
        return OtherSpelling(0, None)
    return OtherSpelling(
        len(hits_Q), bootstrap(hits_Q[:, None], np.ones((len(hits_Q), 1)), resamples=resamples, seed=seed)[0]
    )

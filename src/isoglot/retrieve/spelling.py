"""Words that have a translation spelled as they are: one vocabulary has one vector for both, whatever was learned.

Shape legend: ``Q`` queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoglot.retrieve.metrics import Interval, bootstrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.retrieve.gold import Gold


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

    >>> from isoglot.retrieve import Gold
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

"""One direction of word alignment: IBM Model 2 with a diagonal prior (Dyer, Chahuneau & Smith 2013).

Each word of the explained side is aligned to null with probability ``null``, and otherwise to one word of the other
side: position j of n to position i of m with a probability proportional to ``exp(-tension * |i/m - j/n|)``,
independently of the other words. It is then generated given that word. EM learns the translation probabilities and the
tension.

The M step is exact in both: counts are normalized, and the tension is the solution of a convex problem in one variable,
found by Newton steps with bisection where they leave the bracket. So the likelihood never decreases. (The authors'
program takes a few gradient steps of fixed size.) With a Dirichlet prior (``bayes``) the step is that of variational
Bayes, which keeps rare words from explaining everything around them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from isoglot.align.words.em_loops import Direction, expect, expect_agreed, expected_distance, maximize
from isoglot.core.config import Config

if TYPE_CHECKING:
    from isoglot.align.words.bitext import IndexedBitext

TENSIONS = (0.1, 40.0)
"""Bounds of the tension: from hardly any order to hardly any deviation from the diagonal."""


class WordAlignConfig(Config):
    """Settings of word alignment. With ``agreement=0`` it is fast_align with all its options on.

    >>> WordAlignConfig(agreement=0).iterations
    5
    """

    iterations: int = Field(5, ge=1)
    """rounds of EM in each direction by itself"""
    agreement: int = Field(5, ge=0)
    """further rounds in which the two directions are trained jointly, and only links of both count"""
    estimate: Literal["bayes", "likelihood"] = "bayes"
    """variational Bayes under a Dirichlet prior, or maximum likelihood"""
    concentration: float = Field(0.01, gt=0)
    """concentration of the prior, with bayes: the smaller, the fewer translations a word has"""
    tension: float = Field(4.0, ge=TENSIONS[0], le=TENSIONS[1])
    """initial strength of the diagonal prior"""
    tension_rule: Literal["learned", "fixed"] = "learned"
    """whether EM learns the tension too"""
    null: float = Field(0.08, gt=0, lt=1)
    """probability of alignment to null"""
    max_words: int = Field(100, ge=1)
    """maximum number of words per side; longer sentence pairs are left out, and counted"""
    case: Literal["lower", "keep"] = "lower"
    """whether Word and word are the same"""


@dataclass(eq=False, kw_only=True)
class DirectionModel:
    """Learned parameters of one direction."""

    given: np.ndarray
    """Probability of each slot's explained word, given the other (K)."""
    given_null: np.ndarray
    """Probability of each explained word given null."""
    tension: float
    likelihoods: list[float] = field(default_factory=list)
    """Log-likelihood per word before each round; with bayes, that of the expected logarithms."""


@dataclass(frozen=True, eq=False)
class _Sizes:
    """Sentence pairs grouped by their two lengths, on which alone the tension depends."""

    lengths: np.ndarray
    sources: np.ndarray
    starts: np.ndarray
    total: int
    of_pair: np.ndarray
    """Offset of the position counts of each sentence pair (S)."""

    @classmethod
    def of(cls, starts: np.ndarray, source_starts: np.ndarray) -> _Sizes:
        both = np.stack([np.diff(starts), np.diff(source_starts)], axis=1)
        sizes, which = np.unique(both, axis=0, return_inverse=True)
        ends = np.cumsum(sizes[:, 0])
        begins = ends - sizes[:, 0]
        lengths, sources = np.ascontiguousarray(sizes[:, 0]), np.ascontiguousarray(sizes[:, 1])
        return cls(lengths, sources, begins, int(ends[-1]) if len(ends) else 0, begins[which.reshape(-1)])


class DirectionTrainer:
    """EM in one direction, one round at a time.

    Args:
        bitext: The sentence pairs.
        types: Number of word types of the explained side, and of the other.
        backward: Whether the source is explained by the target.
        config: Settings.
    """

    def __init__(
        self, bitext: IndexedBitext, types: tuple[int, int], *, backward: bool, config: WordAlignConfig
    ) -> None:
        self.config, self.backward = config, backward
        self.bitext = bitext
        self.condition = bitext.columns if backward else bitext.row_of
        self.conditions = types[1]
        uniform = 1.0 / max(types[0], 1)
        self.learned = DirectionModel(
            given=np.full(len(bitext.columns), uniform), given_null=np.full(types[0], uniform), tension=config.tension
        )
        side = self.side()
        self.words, self.sizes = len(side.words), _Sizes.of(side.starts, side.source_starts)

    def side(self) -> Direction:
        """The direction with what has been learned so far."""
        learned = self.learned
        options = {"tension": learned.tension, "null": self.config.null}
        return direction(self.bitext, learned.given, learned.given_null, backward=self.backward, **options)

    def round(self) -> float:
        """One round of EM; returns the log-likelihood per word before it."""
        learned = self.learned
        counts, null_counts = np.zeros_like(learned.given), np.zeros_like(learned.given_null)
        size_counts = np.zeros(self.sizes.total)
        likelihood, distance = expect(self.side(), counts, null_counts, self.sizes.of_pair, size_counts)
        self.take(counts, null_counts)
        if self.config.tension_rule == "learned":
            learned.tension = self._best_tension(distance, size_counts, learned.tension)
        learned.likelihoods.append(likelihood / max(self.words, 1))
        return learned.likelihoods[-1]

    def take(self, counts: np.ndarray, null_counts: np.ndarray) -> None:
        """M step of the translation probabilities; the counts are overwritten."""
        concentration = self.config.concentration if self.config.estimate == "bayes" else 0.0
        maximize(counts, self.condition, self.conditions, concentration)
        maximize(null_counts, np.zeros(len(null_counts), np.int32), 1, concentration)
        self.learned.given, self.learned.given_null = counts, null_counts

    def _best_tension(self, distance: float, size_counts: np.ndarray, tension: float) -> float:
        """Tension at which the expected distance from the diagonal equals the observed one."""
        low, high = TENSIONS
        sizes = self.sizes
        for _ in range(40):
            mean, slope = expected_distance(
                sizes.lengths, sizes.sources, sizes.starts, size_counts, tension, self.bitext.longest
            )
            if slope <= 0.0:
                return tension  # one word per side: any tension will do
            low, high = (tension, high) if mean < distance else (low, tension)
            step = tension + (distance - mean) / slope
            following = step if low < step < high else (low + high) / 2
            if abs(following - tension) < 1e-6 * tension:
                return following
            tension = following
        return tension


def agree(forward: DirectionTrainer, backward: DirectionTrainer) -> None:
    """One round of both directions jointly (Liang, Taskar & Klein 2006).

    A link counts by the product of its posteriors in the two directions, and both learn from the same counts. A word
    that explains too much in one direction is not confirmed by the other, which removes most errors of rare words; the
    two likelihoods need no longer increase. The tensions stay.
    """
    one, other = forward.learned, backward.learned
    counts = np.zeros_like(one.given)
    null_counts = np.zeros_like(one.given_null), np.zeros_like(other.given_null)
    likelihoods = expect_agreed(forward.side(), backward.side(), counts, *null_counts)
    one.given[:] = counts  # reuses the memory of the old parameters
    forward.take(one.given, null_counts[0])
    backward.take(counts, null_counts[1])
    for trainer, likelihood in zip((forward, backward), likelihoods, strict=True):
        trainer.learned.likelihoods.append(likelihood / max(trainer.words, 1))


def direction(
    bitext: IndexedBitext, given: np.ndarray, given_null: np.ndarray, *, backward: bool, tension: float, null: float
) -> Direction:
    """A direction over the words of a bitext.

    Args:
        bitext: Sentence pairs, those of training or others.
        given: Probability of each slot of the bitext.
        given_null: Probability of each explained type given null.
        backward: Whether the source is explained.
        tension: Strength of the diagonal prior.
        null: Probability of null.
    """
    words, starts, others = bitext.target, bitext.target_starts, bitext.source_starts
    if backward:
        words, starts, others = bitext.source, bitext.source_starts, bitext.target_starts
    return Direction(
        words,
        starts,
        others,
        bitext.cells,
        bitext.cell_starts,
        backward,
        bitext.longest,
        given,
        given_null,
        tension,
        null,
    )

"""One direction of word alignment: IBM's second model with a diagonal prior (Dyer, Chahuneau & Smith 2013).

Each word of the explained side comes from nowhere with probability ``null``, and otherwise from one word of the other
side; place j of n from place i of m with a probability proportional to ``exp(-tension * |i/m - j/n|)``, whatever the
other words do. Then it is drawn given that word. EM learns what is drawn from what, and the tension.

The M step is exact in both: counts are normalized, and the tension is the solution of a convex problem in one number,
found by Newton's steps with bisection where they leave the bracket. So the likelihood never falls. (The authors'
program takes a few gradient steps of fixed size.) With a Dirichlet prior (``bayes``) the step is the one of variational
Bayes, which keeps rare words from explaining everything around them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from isoglot.align.words.em_loops import best_sources, expect, expect_agreed, expected_distance, maximize
from isoglot.core.config import Config

if TYPE_CHECKING:
    from isoglot.align.words.indexed_bitext import IndexedBitext

TENSIONS = (0.1, 40.0)
"""The bounds of the tension: hardly any order, and hardly any other place than the diagonal's."""


class WordAlignConfig(Config):
    """How words are aligned. With ``agreement=0`` it is what the authors' program does with all its options on."""

    iterations: int = Field(5, ge=1)
    """rounds of EM in each direction by itself"""
    agreement: int = Field(5, ge=0)
    """rounds after those in which the two directions learn together, and only what both say counts"""
    estimate: Literal["bayes", "likelihood"] = "bayes"
    """variational Bayes under a Dirichlet prior, or maximum likelihood"""
    concentration: float = Field(0.01, gt=0)
    """the prior's concentration, with bayes: the smaller, the fewer translations a word has"""
    tension: float = Field(4.0, ge=TENSIONS[0], le=TENSIONS[1])
    """how strongly links keep to the diagonal, at first"""
    tension_rule: Literal["learned", "fixed"] = "learned"
    """whether EM learns the tension too"""
    null: float = Field(0.08, gt=0, lt=1)
    """the probability that a word comes from nowhere"""
    max_words: int = Field(100, ge=1)
    """words a side at most; longer sentence pairs are left out, and counted"""
    case: Literal["lower", "keep"] = "lower"
    """whether Word and word are the same"""


@dataclass(eq=False, kw_only=True)
class DirectionModel:
    """What one direction has learned."""

    given: np.ndarray
    """The probability of each slot's explained word, given the other (K)."""
    given_null: np.ndarray
    """That of each explained word from nowhere."""
    tension: float
    likelihoods: list[float] = field(default_factory=list)
    """The log-likelihood of a word before each round; with bayes, that of the expected logarithms."""


@dataclass(frozen=True, eq=False)
class _Sizes:
    """Sentence pairs by their two lengths: all that the tension depends on."""

    lengths: np.ndarray
    sources: np.ndarray
    starts: np.ndarray
    total: int
    of_pair: np.ndarray
    """Where the places of each sentence pair are counted (S)."""

    @classmethod
    def of(cls, starts: np.ndarray, source_starts: np.ndarray) -> _Sizes:
        both = np.stack([np.diff(starts), np.diff(source_starts)], axis=1)
        sizes, which = np.unique(both, axis=0, return_inverse=True)
        ends = np.cumsum(sizes[:, 0])
        begins = ends - sizes[:, 0]
        lengths, sources = np.ascontiguousarray(sizes[:, 0]), np.ascontiguousarray(sizes[:, 1])
        return cls(lengths, sources, begins, int(ends[-1]) if len(ends) else 0, begins[which.reshape(-1)])


class DirectionTrainer:
    """EM in one direction, a round at a time.

    Args:
        bitext: The sentence pairs.
        types: How many word types the explained side has, and the other.
        backward: Whether the source is explained, by the target.
        config: How.
    """

    def __init__(
        self, bitext: IndexedBitext, types: tuple[int, int], *, backward: bool, config: WordAlignConfig
    ) -> None:
        self.config, self.backward = config, backward
        self.explained, self.starts, self.source_starts = _sides(bitext, backward=backward)
        self.bitext = bitext
        self.condition = bitext.columns if backward else bitext.row_of
        self.conditions = types[1]
        self.sizes = _Sizes.of(self.starts, self.source_starts)
        uniform = 1.0 / max(types[0], 1)
        self.learned = DirectionModel(
            given=np.full(len(bitext.columns), uniform),
            given_null=np.full(types[0], uniform),
            tension=config.tension,
        )

    def round(self) -> float:
        """One round of EM; returns the log-likelihood a word had before it."""
        learned, config, longest = self.learned, self.config, self.bitext.longest
        counts, null_counts = np.zeros_like(learned.given), np.zeros_like(learned.given_null)
        size_counts = np.zeros(self.sizes.total)
        likelihood, distance = expect(
            self.explained,
            self.starts,
            self.source_starts,
            self.bitext.cells,
            self.bitext.cell_starts,
            self.backward,
            learned.given,
            learned.given_null,
            learned.tension,
            config.null,
            counts,
            null_counts,
            self.sizes.of_pair,
            size_counts,
            longest,
        )
        self.take(counts, null_counts)
        if config.tension_rule == "learned":
            learned.tension = self._best_tension(distance, size_counts, learned.tension)
        learned.likelihoods.append(likelihood / max(len(self.explained), 1))
        return learned.likelihoods[-1]

    def take(self, counts: np.ndarray, null_counts: np.ndarray) -> None:
        """The M step of the words: the counts, which are used up, become what is learned."""
        concentration = self.config.concentration if self.config.estimate == "bayes" else 0.0
        maximize(counts, self.condition, self.conditions, concentration)
        maximize(null_counts, np.zeros(len(null_counts), np.int32), 1, concentration)
        self.learned.given, self.learned.given_null = counts, null_counts

    def _best_tension(self, distance: float, size_counts: np.ndarray, tension: float) -> float:
        """Where the expected distance from the diagonal is the one that was counted."""
        low, high = TENSIONS
        sizes = self.sizes
        for _ in range(40):
            mean, slope = expected_distance(
                sizes.lengths, sizes.sources, sizes.starts, size_counts, tension, self.bitext.longest
            )
            if slope <= 0.0:
                return tension  # one word a side: every tension is as good
            low, high = (tension, high) if mean < distance else (low, tension)
            step = tension + (distance - mean) / slope
            following = step if low < step < high else (low + high) / 2
            if abs(following - tension) < 1e-6 * tension:
                return following
            tension = following
        return tension


def agree(forward: DirectionTrainer, backward: DirectionTrainer) -> None:
    """A round of both directions together (Liang, Taskar & Klein 2006).

    A link counts by the product of what the two directions think of it, and both learn from the same counts. A word
    that explains too much in one direction is not confirmed by the other, so that most errors of rare words go; the two
    likelihoods need not grow any more. The tensions stay.
    """
    bitext, one, other = forward.bitext, forward.learned, backward.learned
    counts = np.zeros_like(one.given)
    null_counts = np.zeros_like(one.given_null), np.zeros_like(other.given_null)
    likelihoods = expect_agreed(
        bitext.source,
        bitext.source_starts,
        bitext.target,
        bitext.target_starts,
        bitext.cells,
        bitext.cell_starts,
        one.given,
        one.given_null,
        other.given,
        other.given_null,
        (one.tension, other.tension),
        forward.config.null,
        counts,
        *null_counts,
        bitext.longest,
    )
    one.given[:] = counts  # in the memory of what was known before
    forward.take(one.given, null_counts[0])
    backward.take(counts, null_counts[1])
    for trainer, likelihood in zip((forward, backward), likelihoods, strict=True):
        trainer.learned.likelihoods.append(likelihood / max(len(trainer.explained), 1))


def best_of(
    learned: DirectionModel,
    bitext: IndexedBitext,
    given: np.ndarray,
    given_null: np.ndarray,
    *,
    backward: bool,
    null: float,
) -> np.ndarray:
    """The likeliest source place of every explained word, -1 for nowhere.

    Args:
        learned: The direction.
        bitext: Sentence pairs, those it has learned from or others.
        given: The probability of each slot of the bitext.
        given_null: That of each explained type from nowhere.
        backward: Whether the source is explained.
        null: The probability of nowhere.
    """
    explained, starts, source_starts = _sides(bitext, backward=backward)
    return best_sources(
        explained,
        starts,
        source_starts,
        bitext.cells,
        bitext.cell_starts,
        backward,
        given,
        given_null,
        learned.tension,
        null,
        bitext.longest,
    )


def _sides(bitext: IndexedBitext, *, backward: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The explained words, where their sentences begin, and where those of the other side do."""
    if backward:
        return bitext.source, bitext.source_starts, bitext.target_starts
    return bitext.target, bitext.target_starts, bitext.source_starts

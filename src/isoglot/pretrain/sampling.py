"""Language sampling: the language of a step is drawn with probability ∝ (share of all text) ** exponent.

An exponent of 1 follows the text, 0 makes all languages equally likely, 0.7 (the papers') upsamples small ones. The
draw is keyed by (seed, step), so all ranks agree without communication. The rows of each language so far, which is
where its stream continues, are counted and saved in checkpoints: with a budget of time they cannot be recomputed.

>>> sampler = LanguageSampler({"en": 900, "fr": 100}, SamplingConfig(exponent=0.5))
>>> sampler.probabilities()
{'en': 0.75, 'fr': 0.25}
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError
from isoglot.pretrain.counter_rng import high, host_draw

if TYPE_CHECKING:
    from collections.abc import Mapping


class SamplingConfig(Config):
    """Settings of language sampling."""

    exponent: float = Field(0.7, ge=0, le=10)
    """exponent of a language's share of the text: 1 as in the text, 0 uniform"""

    unit: Literal["tokens", "sentences"] = "tokens"
    """unit of a language's share; the first paper counts sentences (lines of the text)"""

    exponent_end: float | None = Field(None, ge=0, le=10)
    """exponent at the end of the run, reached linearly; None: constant"""

    def exponent_at(self, progress: float) -> float:
        """The exponent at a share of the run, from 0 to 1."""
        end = self.exponent if self.exponent_end is None else self.exponent_end
        return self.exponent + (end - self.exponent) * min(max(progress, 0.0), 1.0)


class Turn(NamedTuple):
    """The language of a step and the number of its first row."""

    language: str
    first: int


class LanguageSampler:
    """Draws the language of each step and counts the rows taken.

    Args:
        text: Amount of text of each language, in any unit.
        config: Settings.
        seed: The run's seed.

    Attributes:
        rows: Rows of each language so far.

    Raises:
        ConfigError: There is no language, or one has no text.
    """

    def __init__(self, text: Mapping[str, int], config: SamplingConfig | None = None, *, seed: int = 0) -> None:
        if not text:
            raise ConfigError("no language to sample from", "name the shards of at least one", "missing-data")
        for language, count in text.items():
            if count < 1:
                raise ConfigError(f"{language!r} has no text", "leave it out or build its shards anew", "missing-data")
        self.config = config or SamplingConfig()
        self.seed = seed
        total = sum(text.values())
        # Sorted, so that draws do not depend on the order in which languages are named.
        self.shares = {language: text[language] / total for language in sorted(text)}
        self.rows = dict.fromkeys(self.shares, 0)

    def probabilities(self, progress: float = 0.0) -> dict[str, float]:
        """Probability of each language at a share of the run."""
        exponent = self.config.exponent_at(progress)
        weights = {language: share**exponent for language, share in self.shares.items()}
        total = sum(weights.values())
        return {language: weight / total for language, weight in weights.items()}

    def language(self, step: int, progress: float = 0.0) -> str:
        """The language of a step, without counting its rows."""
        place = high(host_draw(self.seed, "language", step), 53) / 2**53
        probabilities = self.probabilities(progress)
        reached = zip(probabilities, accumulate(probabilities.values()), strict=True)
        return next((language for language, end in reached if place < end), next(reversed(probabilities)))

    def turn(self, step: int, rows: int, progress: float = 0.0) -> Turn:
        """Draw the language of a step, return it with the number of its first row, and count its rows.

        Args:
            step: The step of the run.
            rows: Rows of the step over all ranks.
            progress: Share of the run that is done.
        """
        language = self.language(step, progress)
        first = self.rows[language]
        self.rows[language] += rows
        return Turn(language, first)

    def state(self) -> dict[str, int]:
        """Rows of each language so far, for a checkpoint."""
        return dict(self.rows)

    def restore(self, state: Mapping[str, int]) -> None:
        """Resume from a checkpoint.

        Raises:
            ConfigError: The checkpoint is of a run with other languages.
        """
        if state.keys() != self.rows.keys():
            raise ConfigError(
                f"the checkpoint has the languages {', '.join(sorted(state))}, the run {', '.join(self.rows)}",
                "resume with the shards the run was started with",
                "other-settings",
            )
        self.rows = {language: int(state[language]) for language in self.rows}

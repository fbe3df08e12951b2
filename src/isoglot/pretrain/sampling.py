"""Which language a step's batch is from: drawn with probability ∝ (share of all text) ** exponent.

An exponent of 1 follows the text, 0 gives every language the same, and 0.7 (the papers') lifts the small ones. The draw
is keyed by (seed, step), so all processes agree without a word. How many rows of a language came before, which is where
its stream goes on, is counted and saved with a checkpoint: with a budget in minutes it cannot be worked out again.

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
    """How often each language comes."""

    exponent: float = Field(0.7, ge=0, le=10)
    """The power of a language's share of the text: 1 as in the text, 0 all the same."""

    unit: Literal["tokens", "sentences"] = "tokens"
    """what a language's share is counted in; the first paper counts sentences (lines of the text)"""

    exponent_end: float | None = Field(None, ge=0, le=10)
    """The power at the end of the run, reached in a straight line; none: the same all the time."""

    def exponent_at(self, progress: float) -> float:
        """The power when that share of the run is done, from 0 to 1."""
        end = self.exponent if self.exponent_end is None else self.exponent_end
        return self.exponent + (end - self.exponent) * min(max(progress, 0.0), 1.0)


class Turn(NamedTuple):
    """What a step takes: rows of this language, from this number on."""

    language: str
    first: int


class LanguageSampler:
    """Draws the language of each step and counts the rows taken.

    Args:
        text: How much text each language has, in whatever is counted.
        config: How often each language comes.
        seed: The run's seed.

    Attributes:
        rows: How many rows of each language came so far.

    Raises:
        ConfigError: There is no language, or one without text.
    """

    def __init__(self, text: Mapping[str, int], config: SamplingConfig | None = None, *, seed: int = 0) -> None:
        if not text:
            raise ConfigError(
                "no language to sample from", remedy="name the shards of at least one", code="config.missing-data"
            )
        for language, count in text.items():
            if count < 1:
                raise ConfigError(
                    f"{language!r} has no text",
                    remedy="leave it out or build its shards anew",
                    code="config.missing-data",
                )
        self.config = config or SamplingConfig()
        self.seed = seed
        total = sum(text.values())
        # In one order, however the languages were named: the draw must not depend on it.
        self.shares = {language: text[language] / total for language in sorted(text)}
        self.rows = dict.fromkeys(self.shares, 0)

    def probabilities(self, progress: float = 0.0) -> dict[str, float]:
        """How likely each language is when that share of the run is done."""
        exponent = self.config.exponent_at(progress)
        weights = {language: share**exponent for language, share in self.shares.items()}
        total = sum(weights.values())
        return {language: weight / total for language, weight in weights.items()}

    def language(self, step: int, progress: float = 0.0) -> str:
        """The language of a step; nothing is counted."""
        place = high(host_draw(self.seed, "language", step), 53) / 2**53
        probabilities = self.probabilities(progress)
        reached = zip(probabilities, accumulate(probabilities.values()), strict=True)
        return next((language for language, end in reached if place < end), next(reversed(probabilities)))

    def turn(self, step: int, rows: int, progress: float = 0.0) -> Turn:
        """The language of a step and its first row, and count its rows.

        Args:
            step: The step of the run.
            rows: Rows of the whole step, all processes together.
            progress: The share of the run that is done.
        """
        language = self.language(step, progress)
        first = self.rows[language]
        self.rows[language] += rows
        return Turn(language, first)

    def state(self) -> dict[str, int]:
        """What a checkpoint needs: the rows of each language so far."""
        return dict(self.rows)

    def restore(self, state: Mapping[str, int]) -> None:
        """Go on from a checkpoint.

        Raises:
            ConfigError: It is of a run with other languages.
        """
        if state.keys() != self.rows.keys():
            raise ConfigError(
                f"the checkpoint is of a run on {', '.join(sorted(state))}, not on {', '.join(self.rows)}",
                remedy="resume with the shards the run was started with",
                code="config.other-settings",
            )
        self.rows = {language: int(state[language]) for language in self.rows}

"""Batches of a run: the language of each step, and rows of it, code-switched and masked, for one rank's share.

The language of a step is drawn with probability ∝ (share of all text) ** exponent: 1 follows the text, 0 makes all
languages equally likely, 0.7 (the papers') upsamples small ones. The draw is keyed by (seed, step), so all ranks agree
without communication. The rows of each language so far, which is where its stream continues, are counted and saved in
checkpoints: with a budget of time they cannot be recomputed.

>>> sampler = LanguageSampler({"en": 900, "fr": 100}, SamplingConfig(exponent=0.5))
>>> sampler.probabilities()
{'en': 0.75, 'fr': 0.25}

The rows depend on the step and on the rows of the language before it, never on the world size or on gradient
accumulation. A step on translation pairs has rows of one of a few lengths (:meth:`.translation_pairs.Pairs.by_length`),
drawn so that every pair is equally frequent, and as many rows as make the tokens of any step.

Shapes: ``B`` rows of the share, ``T`` tokens of a row, ``S`` ids read for a row that is switched.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import torch
from pydantic import Field
from torch import Tensor

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError
from isoglot.pretrain.code_switching import DeviceSwitcher
from isoglot.pretrain.code_switching_table import build_switch_tables, check_switching
from isoglot.pretrain.counter_rng import high, host_draw
from isoglot.pretrain.masking import IGNORED, Masked, Masker
from isoglot.pretrain.token_rows import Rows, framed
from isoglot.pretrain.translation_pairs import PairRows, Pairs, check_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.distributed import World
    from isoglot.text.formats.dictionary import Entry
    from isoglot.vocab import Shards, Vocabulary


# --- the language of a step ---


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
                raise ConfigError(f"{language!r} has no text", "leave it out or build its shards again", "missing-data")
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
            problem = f"the checkpoint has the languages {', '.join(sorted(state))}, the run {', '.join(self.rows)}"
            raise ConfigError(problem, "resume with the shards the run was started with", "other-settings")
        self.rows = {language: int(state[language]) for language in self.rows}


# --- its rows ---


RowsT = TypeVar("RowsT", Masked, PairRows)

PAIRS = "pairs"  # the language of a step on translation pairs
PAIR_LENGTHS = (0.5, 0.75)  # lengths of shorter rows of pairs, as shares of the full length


class PairsConfig(Config):
    """Settings of steps on translation pairs."""

    share: float = Field(0.5, ge=0, le=1)
    """share of the steps that are on translation pairs (TLM)"""


@dataclass(frozen=True)
class StepBatch:
    """One rank's share of a step, or a part of it."""

    language: str  # a language, or :data:`PAIRS`
    masked: Masked
    tokens: int  # positions of the step over all ranks, special tokens and padding included
    text_tokens: int  # tokens of text of the step over all ranks, which a budget of tokens counts
    pairs: PairRows | None = None
    weight: float | Tensor = 1.0  # weight of the mean loss of these rows
    uneven: bool = False  # whether rows differ in their number of masked positions
    mask_BT: Tensor | None = None  # attention mask, True at tokens; None: no padding
    # The language, if the encoder has private parts; else None: it would be compiled for each language
    parts_of: str | None = None
    # Maximum number of masked positions of a part, if below the sum over its rows (:meth:`Encoder.forward`)
    most: int | None = None

    def parts(self, count: int) -> Iterator[StepBatch]:
        """Split the share for gradient accumulation; the weighted losses of the parts add up to its own."""
        if count == 1:
            yield self
            return
        kept = (self.masked.targets_BK != IGNORED).sum().clamp(min=1) if self.uneven else None
        pairs = [None] * count if self.pairs is None else _chunks(self.pairs, count)
        masks = [None] * count if self.mask_BT is None else self.mask_BT.tensor_split(count)
        for masked, pair, mask_BT in zip(_chunks(self.masked, count), pairs, masks, strict=True):
            weight = 1 / count if kept is None else (masked.targets_BK != IGNORED).sum() / kept
            yield replace(self, masked=masked, pairs=pair, weight=self.weight * weight, mask_BT=mask_BT)

    def loss(self, module: Callable[..., Tensor]) -> Tensor:
        """Contribution of the rows to the mean loss of the step."""
        inputs = self.masked.inputs_BT, self.masked.at_BK, self.masked.targets_BK
        if self.pairs is None:
            padded = {} if self.mask_BT is None else {"mask_BT": self.mask_BT}
            return module(*inputs, self.parts_of, most=self.most, **padded) * self.weight
        where = {
            "languages_BT": self.pairs.languages_BT,
            "positions_BT": self.pairs.positions_BT,
            "mask_BT": self.pairs.mask_BT,
        }
        return module(*inputs, None, **where) * self.weight


def _chunks(rows: RowsT, count: int) -> list[RowsT]:
    """Split the tensors of rows into parts whose sizes differ by at most one."""
    return [type(rows)(*piece) for piece in zip(*(one.tensor_split(count) for one in vars(rows).values()), strict=True)]


def _numbers(world: World, count: int) -> Tensor:
    """The numbers of this rank's rows among all rows of a step."""
    mine = world.share_of(count)
    return torch.arange(mine.start, mine.stop, device=world.device)


class Batches:
    """The batches of a run.

    Args:
        config: The run's settings.
        shards: The text of each language.
        vocabulary: The vocabulary of the ids.
        length: Tokens of a row.
        world: The process group.
        dictionaries: Entries by (source, target), for code-switching.
        parallel: Sentences by language, for translation pairs.

    Raises:
        ConfigError: Rows cannot be divided evenly, a text is too short, or the plan does not allow code-switching.
    """

    def __init__(
        self,
        config: PretrainConfig,
        shards: Mapping[str, Shards],
        vocabulary: Vocabulary,
        *,
        length: int,
        world: World,
        dictionaries: Mapping[tuple[str, str], Iterable[Entry]] | None = None,
        parallel: Sequence[Mapping[str, str]] = (),
    ) -> None:
        for count in config.batch.sizes:
            parts = config.batch.gradient_accumulation
            if not count or count % (world.size * parts):
                problem = f"{count} rows cannot be divided by {world.size} processes times {parts} accumulation parts"
                remedy = "set batch.size to a multiple of both together" + (" and of 4" if config.batch.ramp else "")
                raise ConfigError(problem, remedy, "invalid-value")
        self.config, self.world, self.length = config, world, length
        self.separate = config.model.is_separate
        self.layout = vocabulary.layout
        self.separator, self.pad = config.batch.never_masked(vocabulary)
        self.uneven = self.separator is not None or config.masking.draw == "binomial"
        self.numbers = {count: _numbers(world, count) for count in config.batch.sizes}
        self.switchers = self._switchers(shards, vocabulary, dictionaries or {})
        limits = config.text.limits(shards)
        self.rows = {code: self._language_rows(one, vocabulary, limits[code]) for code, one in shards.items()}
        text = {code: getattr(rows, config.sampling.unit) for code, rows in self.rows.items()}
        self.sampler = LanguageSampler(text, config.sampling, seed=config.seed)
        self.masker = Masker.for_vocabulary(config.masking, vocabulary, shards, seed=config.seed, device=world.device)
        self.masker.pools[PAIRS] = torch.cat(list(self.masker.pools.values())).unique()
        self.pairs: list[Pairs] = []
        if parallel:
            check_pairs(config.sharing)
            pairs = Pairs(parallel, vocabulary, list(shards), length=length, seed=config.seed, device=world.device)
            shorter = (ceil(share * length / 8) * 8 for share in PAIR_LENGTHS)  # multiples of 8 suit matrix units
            self.pairs = pairs.by_length(one for one in shorter if one < length)
        self.pair_rows = {str(one.length): 0 for one in self.pairs}
        """Rows of pairs so far, by their length."""

    def _language_rows(self, shards: Shards, vocabulary: Vocabulary, limit: int | None) -> Rows:
        switcher = self.switchers.get(shards.language)
        ahead = 0 if switcher is None else switcher.window - (self.length - self.layout.size)
        options = {"seed": self.config.seed, "limit": limit, "ahead": ahead}
        return self.config.batch.rows(shards, vocabulary, length=self.length, device=self.world.device, **options)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of steps, and :data:`PAIRS` if there are any."""
        return (*self.rows, PAIRS) if self.pairs else tuple(self.rows)

    def tokens(self, progress: float) -> int:
        """Positions of a step over all ranks, at a share of the budget."""
        return self.config.batch.rows_at(progress) * self.length

    def text_tokens(self, progress: float) -> int:
        """Tokens of text of such a step (an average if rows are sentences); a step on pairs counts as much."""
        return max(1, self.config.batch.rows_at(progress) * self._row_tokens)

    @cached_property
    def _row_tokens(self) -> int:
        """Mean tokens of text in a row."""
        padded = [rows for rows in self.rows.values() if rows.segments is not None]
        if not padded:
            return self.length - 2
        return round(sum(rows.tokens for rows in padded) / sum(rows.per_epoch for rows in padded))

    def next(self, step: int, progress: float) -> StepBatch:
        """This rank's share of a step; counts the rows of all ranks."""
        if self.pairs and high(host_draw(self.config.seed, "pairs", step), 53) < self.config.pairs.share * 2**53:
            return self._next_pairs(step, progress)
        count = self.config.batch.rows_at(progress)
        mine, numbers_B = self.world.share_of(count), self.numbers[count]
        turn = self.sampler.turn(step, count, progress)
        ids_BT = self.rows[turn.language].take(turn.first + mine.start, mine.stop - mine.start)
        switcher = self.switchers.get(turn.language)
        if switcher is not None:
            first, last = len(self.layout.before), ids_BT.shape[1] - len(self.layout.after)
            switched = switcher.switched(ids_BT[:, first:last], step, numbers_B)
            ids_BT = framed(switched.ids_BT, self.layout)
        masked = self.masker.masked(
            ids_BT, step, numbers_B, turn.language, progress=progress, separator=self.separator, pad=self.pad
        )
        return StepBatch(
            turn.language,
            masked,
            self.tokens(progress),
            self.rows[turn.language].text_tokens(turn.first, count),
            weight=self._weight(masked) if self.uneven else 1.0,
            uneven=self.uneven,
            mask_BT=None if self.pad is None else ids_BT != self.pad,
            parts_of=turn.language if self.separate else None,
            most=self.config.masking.positions_of_rows(
                len(ids_BT) // self.config.batch.gradient_accumulation, self.length - self.layout.size
            ),
        )

    def _weight(self, masked: Masked) -> Tensor:
        """Weight of the mean loss of uneven rows, so that a masked position counts the same on every rank."""
        kept = (masked.targets_BK != IGNORED).sum()
        return kept / self.world.mean(kept).clamp(min=1e-9)

    def _next_pairs(self, step: int, progress: float) -> StepBatch:
        reached = list(accumulate(len(one) * one.length for one in self.pairs))
        drawn = high(host_draw(self.config.seed, "lengths of pairs", step), 53)
        pairs = self.pairs[bisect(reached, drawn * reached[-1] >> 53)]
        count, before = self.tokens(progress) // pairs.length, self.pair_rows[str(pairs.length)]
        self.pair_rows = {**self.pair_rows, str(pairs.length): before + count}
        mine = self.world.share_of(count)
        rows = pairs.take(before + mine.start, mine.stop - mine.start)
        numbers_B = _numbers(self.world, count)
        masked = self.masker.masked_among(rows.ids_BT, rows.candidates_BT, step, numbers_B, PAIRS, progress=progress)
        tokens = self.tokens(progress), self.text_tokens(progress)
        return StepBatch(PAIRS, masked, *tokens, rows, self._weight(masked), uneven=True)

    def restore_pairs(self, rows: object) -> None:
        """Resume from a checkpoint's ``pair_rows``.

        Raises:
            ConfigError: Its rows have other lengths.
        """
        if not rows:
            return
        if not isinstance(rows, dict) or rows.keys() != self.pair_rows.keys():
            problem = f"the checkpoint counts rows of pairs as {rows}, not by the lengths {', '.join(self.pair_rows)}"
            remedy = "resume with the version that wrote it, or start again with another --out"
            raise ConfigError(problem, remedy, "other-settings")
        self.pair_rows = dict(rows)

    def _switchers(
        self,
        shards: Mapping[str, Shards],
        vocabulary: Vocabulary,
        dictionaries: Mapping[tuple[str, str], Iterable[Entry]],
    ) -> dict[str, DeviceSwitcher]:
        """A switcher for each language in a dictionary."""
        if not dictionaries:
            if self.config.code_switching.dictionaries == "required":
                problem = "the recipe needs a dictionary for code-switching"
                raise ConfigError(problem, "pass --dictionary en-fr=FILE, or use another recipe", "missing-data")
            return {}
        check_switching(self.config.sharing)
        settings, text = self.config.code_switching, self.length - self.layout.size
        known = {code for pair in dictionaries for code in pair}
        for code in sorted(known - set(shards)):
            problem = f"a dictionary has {code}, but there are no shards of it"
            raise ConfigError(problem, f"leave it out, or add --shards {code}=…", "other-language")
        tables = build_switch_tables(dictionaries, vocabulary, [code for code in shards if code in known])
        return {
            code: DeviceSwitcher(
                table,
                window=ceil(settings.window * text),
                length=text,
                rate=settings.rate,
                cap=settings.cap,
                seed=self.config.seed,
                device=self.world.device,
            )
            for code, table in tables.items()
        }

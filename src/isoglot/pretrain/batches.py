"""What a step learns from: its language, its rows, switched and masked, for one process's share.

Which rows these are depends on the step and on how many rows of the language came before, never on how many processes
there are or into how many parts a share is cut. A step on pairs has rows of one of a few lengths
(:meth:`.pairs.Pairs.by_length`), drawn so that every pair comes as often as any other, and as many rows as make the
tokens of any step.

Shapes: ``B`` rows of the share, ``T`` tokens of a row, ``S`` ids read for a row that is switched.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError
from isoglot.pretrain.code_switching import DeviceSwitcher
from isoglot.pretrain.code_switching_table import build_switch_tables, check_switching
from isoglot.pretrain.counter_rng import high, host_draw
from isoglot.pretrain.masking import IGNORED, Masked, Masker, random_pools
from isoglot.pretrain.sampling import LanguageSampler
from isoglot.pretrain.token_rows import Rows, framed
from isoglot.pretrain.translation_pairs import PairRows, Pairs, check_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.distributed import World
    from isoglot.text.formats.dictionary import Entry
    from isoglot.vocab import Shards, Vocabulary


RowsT = TypeVar("RowsT", Masked, PairRows)

PAIRS = "pairs"
"""What stands for a language where a step is on pairs of sentences."""
PAIR_LENGTHS = (0.5, 0.75)
"""Rows of pairs that are shorter than others, as shares of their length."""


class PairsConfig(Config):
    """How often a step is on parallel text, where there is some."""

    share: float = Field(0.5, ge=0, le=1)
    """the share of the steps that learn from pairs of sentences (TLM)"""


@dataclass(frozen=True)
class StepBatch:
    """One process's share of a step, or a part of it."""

    language: str
    """A language, or ``pairs``."""
    masked: Masked
    tokens: int
    """Positions of the whole step, special tokens and padding included, all processes together."""
    text_tokens: int
    """Tokens of text of the whole step, which a budget of tokens counts."""
    pairs: PairRows | None = None
    weight: float | Tensor = 1.0
    """What the mean loss of these rows counts for."""
    uneven: bool = False
    """Whether some rows have fewer masked positions than others."""
    mask_BT: Tensor | None = None
    """True at tokens, where rows have padding."""
    parts_of: str | None = None
    """The language, where the encoder has parts of its own for it; a compiled encoder is one for each it is told."""
    most: int | None = None
    """How many masked positions a part has at most, where that is fewer than the sum over its rows; None: it is not."""

    def parts(self, count: int) -> Iterator[StepBatch]:
        """The share in so many parts of one size, whose weighted losses add up to its own."""
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
        """What the rows add to the mean loss of the step."""
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
    """Tensors of rows side by side, cut into parts of one size, or sizes that differ by one."""
    return [type(rows)(*piece) for piece in zip(*(one.tensor_split(count) for one in vars(rows).values()), strict=True)]


def _numbers(world: World, count: int) -> Tensor:
    """The numbers of this process's rows among so many."""
    mine = world.share_of(count)
    return torch.arange(mine.start, mine.stop, device=world.device)


class Batches:
    """The batches of a run, one after another.

    Args:
        config: The run's.
        shards: The text of each language.
        vocabulary: What the ids are of.
        length: Tokens of a row.
        world: Whose share is wanted, and the device.
        dictionaries: Words to switch by (source, target); none: nothing is switched.
        parallel: Sentences by language, for pairs; none: no step is on pairs.

    Raises:
        ConfigError: Rows cannot be shared out evenly, a text is too short, or the plan does not allow switching.
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
                raise ConfigError(
                    f"{count} rows cannot be shared by {world.size} processes in {parts} parts each",
                    remedy="set batch.size to a multiple of both together" + (" and of 4" if config.batch.ramp else ""),
                    code="config.invalid-value",
                )
        self.config, self.world, self.length = config, world, length
        self.separate = config.model.is_separate
        self.layout = vocabulary.layout
        padded = config.batch.windows == "sentences"
        self.separator = self.layout.separator if padded or config.batch.separator != "none" else None
        self.pad = vocabulary.pad_id if padded else None
        self.uneven = self.separator is not None or config.masking.draw == "binomial"
        self.numbers = {count: _numbers(world, count) for count in config.batch.sizes}
        self.switchers = self._switchers(shards, vocabulary, dictionaries or {})
        limits = config.text.limits(shards)
        self.rows = {
            code: Rows(
                one,
                length=length,
                ahead=self.switchers[code].window - (length - self.layout.size) if code in self.switchers else 0,
                layout=self.layout,
                pad=vocabulary.pad_id,
                device=world.device,
                seed=config.seed,
                limit=limits[code],
                separator=config.batch.separator,
                windows=config.batch.windows,
            )
            for code, one in shards.items()
        }
        text = {code: getattr(rows, config.sampling.unit) for code, rows in self.rows.items()}
        self.sampler = LanguageSampler(text, config.sampling, seed=config.seed)
        pools = random_pools(vocabulary, shards, config.masking.random_from)
        pools[PAIRS] = np.unique(np.concatenate(list(pools.values())))
        self.masker = Masker(
            config.masking,
            mask_id=vocabulary.mask_id,
            ends=(len(self.layout.before), len(self.layout.after)),
            pools=pools,
            seed=config.seed,
            device=world.device,
        )
        self.pairs: list[Pairs] = []
        if parallel:
            check_pairs(config.sharing)
            pairs = Pairs(parallel, vocabulary, list(shards), length=length, seed=config.seed, device=world.device)
            shorter = (ceil(share * length / 8) * 8 for share in PAIR_LENGTHS)  # multiples of 8 suit matrix units
            self.pairs = pairs.by_length(one for one in shorter if one < length)
        self.pair_rows = {str(one.length): 0 for one in self.pairs}
        """Rows of pairs so far, by their length."""

    @property
    def languages(self) -> tuple[str, ...]:
        """What a step may be on."""
        return (*self.rows, PAIRS) if self.pairs else tuple(self.rows)

    def tokens(self, progress: float) -> int:
        """Positions of the step at a share of the budget, all processes together."""
        return self.config.batch.rows_at(progress) * self.length

    def text_tokens(self, progress: float) -> int:
        """Tokens of text of such a step; of sentences, on average. A step on pairs counts as much."""
        return max(1, self.config.batch.rows_at(progress) * self._row_tokens)

    @cached_property
    def _row_tokens(self) -> int:
        """Tokens of text in a row."""
        padded = [rows for rows in self.rows.values() if rows.pieces is not None]
        if not padded:
            return self.length - 2
        return round(sum(rows.tokens for rows in padded) / sum(rows.per_epoch for rows in padded))

    def next(self, step: int, progress: float) -> StepBatch:
        """This process's share of a step; the rows of all are counted."""
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
        """What the mean loss of uneven rows counts for: processes agree on what one masked position does."""
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
        """Go on after so many rows of pairs, as ``pair_rows`` had them.

        Raises:
            ConfigError: They were counted in another way.
        """
        if not rows:
            return
        if not isinstance(rows, dict) or rows.keys() != self.pair_rows.keys():
            raise ConfigError(
                f"the run has counted rows of pairs as {rows}, not by their length ({', '.join(self.pair_rows)})",
                remedy="an earlier version wrote it: go on with that one, or begin anew with another --out",
                code="config.other-settings",
            )
        self.pair_rows = dict(rows)

    def _switchers(
        self,
        shards: Mapping[str, Shards],
        vocabulary: Vocabulary,
        dictionaries: Mapping[tuple[str, str], Iterable[Entry]],
    ) -> dict[str, DeviceSwitcher]:
        """A switcher for each language that a dictionary has."""
        if not dictionaries:
            if self.config.code_switching.dictionaries == "required":
                raise ConfigError(
                    "these settings switch words by a dictionary, and there is none",
                    remedy="give one with --dictionary en-fr=FILE, or take another recipe",
                    code="config.missing-data",
                )
            return {}
        check_switching(self.config.sharing)
        settings, text = self.config.code_switching, self.length - self.layout.size
        known = {code for pair in dictionaries for code in pair}
        for code in sorted(known - set(shards)):
            raise ConfigError(
                f"a dictionary is for {code}, and there are no shards of it",
                remedy=f"leave it out, or add --shards {code}=…",
                code="config.other-language",
            )
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

"""Code-switching on the device: words of a row of ids are replaced by translations, and the row is packed again.

The rule is :class:`isoglot.text.code_switching.CodeSwitchingRule`. Only the cap differs in what it is a share of: in
text at most 15 % of the words of a batch are replaced, as in the paper; here it is 15 % of the words of a *row*, so
that a row does not depend on how rows are divided over ranks. The number of words is ``cap * words``, randomly rounded
up or down so that its mean is exact: where the cap is always reached (rate 0.3 and a full dictionary), many rows
together have the same share as text, and one row has at most one word more. Where the rate alone comes close to the
cap, somewhat fewer words are replaced than in text, since a row with many entries cannot use what others leave.

Draws depend on (seed, language, step, row over all ranks, number of the span in the row). :mod:`.code_switching_table`
says what a word is. Words are found in a sorted table by a 64-bit hash of their ids: with a million forms, one word in
10**13 is mistaken for another.

Everything is integer arithmetic on static shapes: nothing waits for the device, and the bits are the same compiled or
not.

Shapes: ``B`` rows, ``S`` ids read for a row, ``T`` ids given, ``W`` spans of a row (S of them, the last ones empty),
``N`` forms of words, ``O`` translations, ``V`` vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import pad

from isoglot.core.config import Config
from isoglot.core.errors import check_range
from isoglot.pretrain.code_switching_table import (
    ALONE,
    BARE,
    DIGIT,
    HYPHEN,
    LETTER,
    OPENS,
    POINT,
    STEP_BITS,
    WORD,
    SwitchTable,
)
from isoglot.pretrain.counter_rng import LARGEST, draws, entry, high, step_key, stream

if TYPE_CHECKING:
    from collections.abc import Sequence

RATE_BITS = 40  # bits of a draw that are compared with the rate
CAP_BITS = 24  # the cap is a multiple of ``2**-CAP_BITS``
_PLACE_BITS = 20  # words with equal draws are ordered by their position
_BASE = 0xD1342543DE82EF95  # odd, so that its powers have inverses modulo 2**64


class CodeSwitchingConfig(Config):
    """Settings of code-switching in pretraining."""

    dictionaries: Literal["optional", "required"] = "optional"
    """whether a run without a dictionary is rejected, for recipes that need one"""
    rate: float = Field(0.3, ge=0, le=1)
    """probability that a word with an entry is replaced"""
    cap: float = Field(0.15, ge=0, le=1)
    """maximum share of a row's words that are replaced; 1: no limit"""
    window: float = Field(1.5, ge=1)
    """ids read for each id of a row, since translations may be shorter than words"""


@dataclass(frozen=True)
class Switched:
    """A code-switched batch, and counts of words in each row's window."""

    ids_BT: Tensor
    words_B: Tensor
    with_entry_B: Tensor
    replaced_B: Tensor


class DeviceSwitcher:
    """Code-switching of batches of ids of one language.

    Args:
        table: The words and their translations.
        window: Ids read for each row (S).
        length: Ids returned for each row (T).
        rate: Probability that a word with an entry is replaced.
        cap: Maximum share of a row's words that are replaced; 1: no limit.
        seed: The run's seed.
        device: Device of the batches.

    Raises:
        ConfigError: The window is shorter than the row or beyond a million, or a share is not between 0 and 1.
    """

    def __init__(
        self,
        table: SwitchTable,
        *,
        window: int,
        length: int,
        rate: float = 0.3,
        cap: float = 0.15,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        check_range("rate", rate, 0, 1)
        check_range("cap", cap, 0, 1)
        check_range("window", window, max(1, length), (1 << _PLACE_BITS) - 1)
        self.language, self.window, self.length = table.language, window, length
        self._rate, self._cap = round(rate * 2**RATE_BITS), round(cap * 2**CAP_BITS)

        self._longest = table.longest
        self._stream = stream(seed, f"switching {table.language}")
        self._traits_V = torch.from_numpy(table.traits.astype("int64")).to(device)
        self._values_V = entry(torch.arange(1, len(table.traits) + 1)).to(device)
        self._powers_S = _powers(_BASE, window).to(device)
        self._inverses_S = _powers(pow(_BASE, -1, 2**64), window).to(device)
        forms = list(table.entries)
        hashes_N, order_N = span_hashes(forms).sort()
        self._hashes_N = hashes_N.to(device)
        self._words_N = self._hashes_N
        if table.known:
            self._words_N = torch.cat([hashes_N, span_hashes(sorted(table.known))]).sort()[0].to(device)
        options = [table.entries[forms[number]] for number in order_N.tolist()]
        steps_O = [(form << STEP_BITS) + one.step for form, some in enumerate(options) for one in some]
        self._steps_O = torch.tensor(steps_O).to(device)
        pool, sizes_O, offsets_O = _flat([one.ids for some in options for one in some])
        self._pool, self._sizes_O, self._offsets_O = pool.to(device), sizes_O.to(device), offsets_O.to(device)

    def switched(self, raw_BS: Tensor, step: int | Tensor, rows_B: Tensor) -> Switched:
        """Replace words of a batch.

        Args:
            raw_BS: Ids of the stream, without special tokens.
            step: The step: a number, or in a compiled function a tensor.
            rows_B: The number of each row among all rows of the step.

        Returns:
            T ids per row. If translations are so much shorter that the window does not fill a row, it continues with
            its own beginning.
        """
        added = pad((self._values_V[raw_BS] * self._powers_S).cumsum(1), (1, 0))
        starts_BW, stops_BW, words_BW = self._spans(raw_BS, added)
        # The hash of a span is a polynomial of its ids, computed from differences of prefix sums.
        inverse_BW = self._inverses_S[starts_BW.clamp(max=self.window - 1)]
        hashes_BW = (added.gather(1, stops_BW) - added.gather(1, starts_BW)) * inverse_BW
        form_BW, found_BW = _looked_up(hashes_BW, self._hashes_N)
        with_entry_BW = words_BW & found_BW

        drawn = draws(step_key(self._stream, step), rows_B, 1 + 2 * self.window)
        round_B, whether_BW, which_BW = drawn[:, 0], drawn[:, 1::2], drawn[:, 2::2]
        chosen_BW = self._chosen(with_entry_BW, words_BW.sum(1), whether_BW, round_B)
        wanted_BW = (form_BW << STEP_BITS) + high(which_BW, STEP_BITS)
        option_BW = torch.searchsorted(self._steps_O, wanted_BW, right=True)

        ids_BT = self._packed(raw_BS, starts_BW, stops_BW, chosen_BW, option_BW)
        return Switched(ids_BT, words_BW.sum(1), with_entry_BW.sum(1), chosen_BW.sum(1))

    def _spans(self, raw_BS: Tensor, added: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Start and stop of each span of a row (both S for missing spans), and whether it is a word.

        As :func:`.code_switching_table.spans_of`, with longer words that the table knows.
        """
        traits_BS = self._traits_V[raw_BS]
        before_BS, after_BS = pad(traits_BS[:, :-1], (1, 0)), pad(traits_BS[:, 1:], (0, 1))
        opens_BS, word_BS = traits_BS & OPENS != 0, traits_BS & (WORD | ALONE) != 0
        letters_BS = (traits_BS & HYPHEN != 0) & (before_BS & LETTER != 0) & (after_BS & WORD != 0)
        digits_BS = (traits_BS & POINT != 0) & (before_BS & DIGIT != 0) & (after_BS & DIGIT != 0)
        glue_BS = (letters_BS | digits_BS) & ((traits_BS | after_BS) & OPENS == 0)
        glued_BS = glue_BS | pad(glue_BS[:, :-1], (1, 0))
        meets_BS = ((before_BS ^ traits_BS) & WORD != 0) & (before_BS & BARE == 0) & ~glued_BS
        place_S = torch.arange(self.window, device=raw_BS.device)
        starts_BS = opens_BS | meets_BS | (place_S == 0)
        if self._longest > 1:
            starts_BS |= ((before_BS | traits_BS) & ALONE != 0) & (before_BS & BARE == 0)
            starts_BS &= self._seen(self._joined(starts_BS, added))
        # Each start is scattered to the number of its span, everything else to a column that is not read.
        number_BS = torch.where(starts_BS, starts_BS.cumsum(1) - 1, self.window + 1)
        edges = torch.full((len(raw_BS), self.window + 2), self.window, device=raw_BS.device)
        edges = edges.scatter(1, number_BS, place_S.expand_as(raw_BS))
        starts_BW, stops_BW = edges[:, :-2], edges[:, 1:-1]
        head_BS = word_BS | (traits_BS & BARE != 0) & (after_BS & (WORD | ALONE) != 0) & (after_BS & OPENS == 0)
        whole_BW = (stops_BW < self.window) & ((starts_BW > 0) | opens_BS[:, :1])
        return starts_BW, stops_BW, whole_BW & head_BS.gather(1, starts_BW.clamp(max=self.window - 1))

    def _joined(self, starts_BS: Tensor, added: Tensor) -> Tensor:
        """Stop of the longest word of several subwords that begins at each position; the next position without one.

        Words begin and stop where spans do.
        """
        place_S = torch.arange(self.window, device=added.device)
        stops_BS = (place_S + 1).expand_as(starts_BS)
        edges = pad(starts_BS, (0, 1), value=True)
        for size in range(2, min(self._longest, self.window) + 1):
            count = self.window - size + 1  # positions with room for a word of this size
            hashes = (added[:, size:] - added[:, :count]) * self._inverses_S[:count]
            found = _looked_up(hashes, self._words_N)[1] & starts_BS[:, :count] & edges[:, size:]
            stops_BS = torch.where(pad(found, (0, size - 1)), place_S + size, stops_BS)
        return stops_BS

    def _seen(self, next_BS: Tensor) -> Tensor:
        """The positions visited by following ``next_BS`` from the first one, by pointer doubling."""
        end = self.window
        next_BS = pad(next_BS, (0, 1), value=end)
        seen_BS = (torch.arange(end + 1, device=next_BS.device) == 0).expand_as(next_BS)
        for _ in range(end.bit_length()):
            # Unvisited positions point to the end, which is not read; no position is written with two values.
            seen_BS = seen_BS | torch.zeros_like(seen_BS).scatter(1, torch.where(seen_BS, next_BS, end), True)
            next_BS = next_BS.gather(1, next_BS)
        return seen_BS[:, :-1]

    def _chosen(self, with_entry_BW: Tensor, words_B: Tensor, whether_BW: Tensor, round_B: Tensor) -> Tensor:
        """The words to replace, as :func:`isoglot.text.code_switching.select` does it."""
        draws_BW = high(whether_BW, RATE_BITS)
        picked_BW = with_entry_BW & (draws_BW < self._rate)
        place_W = torch.arange(self.window, device=words_B.device)
        order_BW = torch.where(picked_BW, (draws_BW << _PLACE_BITS) | place_W, LARGEST)
        allowed_B = (words_B * self._cap + high(round_B, CAP_BITS)) >> CAP_BITS
        sorted_BW, _ = order_BW.sort(dim=1)
        last_B1 = sorted_BW.gather(1, (allowed_B - 1).clamp(min=0).unsqueeze(1))
        chosen_BW: Tensor = picked_BW & (order_BW <= last_B1) & (allowed_B > 0).unsqueeze(1)
        return chosen_BW

    def _packed(
        self, raw_BS: Tensor, starts_BW: Tensor, stops_BW: Tensor, chosen_BW: Tensor, option_BW: Tensor
    ) -> Tensor:
        """The first T ids after replacement."""
        option_BW = option_BW.clamp(max=len(self._sizes_O) - 1)
        sizes_BW = torch.where(chosen_BW, self._sizes_O[option_BW], stops_BW - starts_BW)
        ends_BW = sizes_BW.cumsum(1)
        place_BT = torch.arange(self.length, device=raw_BS.device) % ends_BW[:, -1:]
        span_BT = torch.searchsorted(ends_BW, place_BT, right=True)
        inside_BT = place_BT - (ends_BW - sizes_BW).gather(1, span_BT)
        kept_BT = raw_BS.gather(1, (starts_BW.gather(1, span_BT) + inside_BT).clamp(max=self.window - 1))
        pooled_BT = self._offsets_O[option_BW.gather(1, span_BT)] + inside_BT
        return torch.where(chosen_BW.gather(1, span_BT), self._pool[pooled_BT.clamp(max=len(self._pool) - 1)], kept_BT)


def _looked_up(hashes: Tensor, sorted_N: Tensor) -> tuple[Tensor, Tensor]:
    """Index of each hash in a sorted table, and whether it is there."""
    numbers = torch.searchsorted(sorted_N, hashes).clamp(max=len(sorted_N) - 1)
    return numbers, sorted_N[numbers] == hashes


def span_hashes(spans: Sequence[Sequence[int]]) -> Tensor:
    """Hashes of spans of ids (N), int64: the sum of ``entry(id + 1) * base**position``."""
    ids, sizes_N, offsets_N = _flat(spans)
    span = torch.repeat_interleave(sizes_N)
    place = torch.arange(len(ids)) - offsets_N[span]
    terms = entry(ids + 1) * _powers(_BASE, int(sizes_N.max()))[place]
    return torch.zeros(len(spans), dtype=torch.int64).index_add(0, span, terms)


def _flat(lists: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Concatenated lists, with the length and offset of each."""
    sizes_N = torch.tensor([len(one) for one in lists])
    return torch.tensor(list(chain.from_iterable(lists))), sizes_N, sizes_N.cumsum(0) - sizes_N


def _powers(base: int, count: int) -> Tensor:
    """The first powers of a number modulo 2**64, as int64."""
    powers = accumulate(range(count - 1), lambda power, _: power * base % 2**64, initial=1)
    return torch.tensor([power - 2**64 if power >= 2**63 else power for power in powers])

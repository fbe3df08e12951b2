"""Rows for translation language modelling: ``[CLS] source [SEP] target [SEP]``, from parallel text.

Pairs are encoded once and stay on the device; the stream of rows has no end, its order is a new permutation each time
around, and row ``n`` is found from ``n`` alone. Which side comes first is a draw. Positions begin anew at the second
sentence, as in XLM (Lample and Conneau 2019), and every token knows its language.

A pair too long for a row is cut: the longer side first, down to half the row, so that the beginnings, which are
parallel, stay. A pair more than twice as long as fits is left out: too little of it would be.

Shapes: ``B`` rows, ``T`` tokens of a row, ``N`` pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from isoglot.core.errors import ConfigError, nearest_name, shown
from isoglot.core.language_codes import language_code
from isoglot.pretrain.chance import draws, high, permuted, step_key, stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isoglot.model.plan import SharingPlan
    from isoglot.vocab.vocabulary import Vocabulary


@dataclass(frozen=True)
class PairRows:
    """Rows of pairs."""

    ids_BT: Tensor
    positions_BT: Tensor
    """Places in the sentence; 0 at padding."""
    languages_BT: Tensor
    """Numbers into the languages; padding has that of the second sentence."""
    candidates_BT: Tensor
    """True at the pieces of the sentences: what may be masked."""
    mask_BT: Tensor
    """True at all tokens but padding."""


class Pairs:
    """An endless stream of rows of pairs.

    Args:
        rows: Sentences by language, as :func:`isoglot.text.parallel.read_parallel` and ``read_aligned`` yield them;
            of a row with more than two languages, every two make a pair. Empty sentences are left out.
        vocabulary: What encodes them.
        languages: The languages of the encoder, in its order: tokens are numbered by it.
        length: Tokens of a row, special ones included (T).
        seed: The run's seed.
        device: Where rows are made.

    Attributes:
        cut: How many pairs were too long.
        left_out: How many were more than twice too long.

    Raises:
        ConfigError: A row has a language that is not among those given, no pair is left, or a row is too short for one.
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, str]],
        vocabulary: Vocabulary,
        languages: Sequence[str],
        *,
        length: int,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        room = length - 3
        if room < 2:
            raise ConfigError(f"no pair fits a row of {length}", remedy="it takes 5 tokens or more")
        codes = [language_code(language) for language in languages]
        sentences: dict[str, list[str]] = {code: [] for code in codes}
        pairs: list[tuple[tuple[str, int], tuple[str, int]]] = []
        for row in rows:
            places = []
            for name, text in row.items():
                code = language_code(name)
                if code not in sentences:
                    raise ConfigError(
                        f"parallel text in {shown(code)}, which is not learned", remedy=nearest_name(code, codes)
                    )
                if text.strip():
                    places.append((code, len(sentences[code])))
                    sentences[code].append(text)
            pairs += combinations(places, 2)
        flat, spans = _encoded(sentences, vocabulary)
        kept = []
        self.cut = self.left_out = 0
        for one, other in pairs:
            (first, size), (second, other_size) = spans[one], spans[other]
            if not size or not other_size or size + other_size > 2 * room:
                self.left_out += 1
                continue
            sizes = cut_evenly(size, other_size, room)
            self.cut += sizes != (size, other_size)
            kept.append([[codes.index(one[0]), first, sizes[0]], [codes.index(other[0]), second, sizes[1]]])
        if not kept:
            raise ConfigError(
                f"no pair of sentences fits a row of {length} ({self.left_out:,} are left out)",
                remedy="give parallel text, or longer rows",
            )
        self.length = length
        self._pairs = torch.tensor(kept).to(device)  # N x 2 sides x (language, first id, ids)
        self._flat = torch.tensor(flat, dtype=torch.int32).to(device)
        self._special = {name: vocabulary.special[name] for name in ("[PAD]", "[CLS]", "[SEP]")}
        self._order, self._direction = stream(seed, "order of pairs"), stream(seed, "direction of pairs")

    def __len__(self) -> int:
        return len(self._pairs)

    def take(self, first: int | Tensor, count: int) -> PairRows:
        """Rows number ``first`` to ``first + count - 1`` of the stream."""
        device = self._flat.device
        number_B = torch.arange(count, device=device) + first
        epoch_B, index_B = number_B // len(self), number_B % len(self)
        sides = self._pairs[permuted(index_B, len(self), step_key(self._order, epoch_B))]
        swap_B = high(draws(step_key(self._direction, 0), number_B, 1), 1)[:, 0] == 1
        sides = torch.where(swap_B[:, None, None], sides.flip(1), sides)
        (language_B1, begin_B1, size_B1), (other_B1, from_B1, rest_B1) = (
            side.unsqueeze(-1).unbind(1) for side in sides.unbind(1)
        )
        place_T = torch.arange(self.length, device=device)
        second_BT = place_T >= size_B1 + 2
        at_BT = torch.where(second_BT, place_T - size_B1 - 2, place_T)
        end_B1 = size_B1 + rest_B1 + 2
        mask_BT = place_T <= end_B1
        inside_BT = torch.where(second_BT, at_BT, at_BT - 1)
        candidates_BT = (inside_BT >= 0) & (inside_BT < torch.where(second_BT, rest_B1, size_B1))
        source_BT = torch.where(second_BT, from_B1, begin_B1) + inside_BT
        ids_BT = self._flat[torch.where(candidates_BT, source_BT, 0)].long()
        ids_BT = torch.where(candidates_BT, ids_BT, self._special["[SEP]"])
        ids_BT = torch.where(place_T == 0, self._special["[CLS]"], ids_BT)
        return PairRows(
            ids_BT=torch.where(mask_BT, ids_BT, self._special["[PAD]"]),
            positions_BT=torch.where(mask_BT, at_BT, 0),
            languages_BT=torch.where(second_BT, other_B1, language_B1),
            candidates_BT=candidates_BT,
            mask_BT=mask_BT,
        )


def cut_evenly(size: int, other: int, room: int) -> tuple[int, int]:
    """How much of two sentences is kept: all, or the longer one is cut, at most to half the room.

    >>> cut_evenly(9, 3, 10), cut_evenly(9, 9, 10), cut_evenly(3, 4, 10)
    ((7, 3), (5, 5), (3, 4))
    """
    kept = min(size, max(room - room // 2, room - other))
    return kept, min(other, room - kept)


def _encoded(
    sentences: Mapping[str, Sequence[str]], vocabulary: Vocabulary
) -> tuple[list[int], dict[tuple[str, int], tuple[int, int]]]:
    """All ids end to end, and where each sentence (language, number) begins and how long it is."""
    import numpy as np

    flat: list[int] = []
    spans = {}
    for code, texts in sentences.items():
        if not texts:
            continue
        encoder = vocabulary.line_encoder(code)
        for number, raw in enumerate(encoder.encode(texts)):
            ids = np.frombuffer(raw, encoder.dtype).tolist()
            spans[code, number] = (len(flat), len(ids))
            flat += ids
    return flat, spans


def check_pairs(plan: SharingPlan) -> None:
    """Refuse pairs where a part is private: a row of two languages has no one language's part to go through.

    Raises:
        ConfigError: Something is private.
    """
    if plan.private or plan.private_layers:
        raise ConfigError(
            f"a pair is in two languages at once, and in plan {shown(plan.text)} parts are private to each",
            remedy="pairs take plan default, where all is shared",
        )

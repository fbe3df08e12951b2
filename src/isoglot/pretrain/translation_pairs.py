"""Rows for translation language modeling (TLM): a sentence and its translation in one row.

The special tokens around and between them are the tokenizer's own: ``[CLS] source [SEP] target [SEP]`` in BERT's.

Pairs are encoded once and stay on the device. The stream of rows is endless, with a new permutation in each epoch, and
row ``n`` is a function of ``n`` alone. Which side comes first is random. Positions restart at the second sentence, as
in XLM (Lample and Conneau 2019), and every token has its language.

A pair too long for a row is truncated, the longer side first, down to half the row, so that the parallel beginnings
stay. A pair more than twice as long as fits is dropped: too little of it would be left.

Most pairs are much shorter than a row, so :meth:`Pairs.by_length` divides them into a few streams, with shorter rows
for shorter pairs: for software manuals in five languages 46 % of the positions are tokens in rows of 128, and 76 % in
rows of 64, 96 and 128.

Shapes: ``B`` rows, ``T`` tokens of a row, ``N`` pairs, ``M`` sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from isoglot.core.errors import ConfigError, check_name, shown
from isoglot.core.language_codes import language_code
from isoglot.pretrain.counter_rng import draws, high, permuted, step_key, stream
from isoglot.text.cleaning.processing import TextProcessing, check_as_written
from isoglot.text.formats.parallel import read_aligned
from isoglot.text.provenance import Provenance, derived, unknown

if TYPE_CHECKING:
    from pathlib import Path

    from isoglot.model.config import SharingPlan
    from isoglot.vocab.line_encoder import LineEncoder
    from isoglot.vocab.vocabulary import Vocabulary


def read_parallel_text(
    parallel: Sequence[Mapping[str, str]] | Mapping[str, Path],
) -> tuple[Sequence[Mapping[str, str]], list[Provenance]]:
    """Sentences by language, and their provenance.

    Args:
        parallel: A file for each language, parallel line by line; or the sentences, whose provenance is unknown.

    Raises:
        ConfigError: There is a file of one language only, or a file has been segmented.
        InputError: The files are not parallel.
        StorageError: A file cannot be read.
    """
    if not isinstance(parallel, Mapping):
        return parallel, [unknown("parallel text")] if parallel else []
    if len(parallel) == 1:
        problem = f"parallel text in one language, {next(iter(parallel))}"
        raise ConfigError(problem, "name two: --parallel en=a.txt --parallel fr=b.txt", "other-language")
    check_as_written(*parallel.values())
    rows = list(read_aligned(parallel)) if parallel else []
    return rows, [derived(parallel.values(), {"step": "pair", "languages": sorted(parallel)})] if parallel else []


@dataclass(frozen=True)
class PairRows:
    """Rows of translation pairs."""

    ids_BT: Tensor
    positions_BT: Tensor  # positions in the sentence; 0 at padding
    languages_BT: Tensor  # indices into the languages; padding has that of the second sentence
    candidates_BT: Tensor  # True at the subwords of the sentences, which may be masked
    mask_BT: Tensor  # attention mask, True at tokens


class Pairs:
    """Endless stream of rows of translation pairs.

    Args:
        rows: Sentences by language, as :func:`isoglot.text.formats.parallel.read_parallel` and ``read_aligned`` yield
            them; of a row with more than two languages, every two make a pair. Empty sentences are skipped.
        vocabulary: The vocabulary that encodes them.
        languages: The encoder's languages, in its order.
        length: Tokens of a row, special tokens included (T).
        seed: The run's seed.
        device: Device of the rows.

    Attributes:
        cut: Number of truncated pairs.
        left_out: Number of dropped pairs.

    Raises:
        ConfigError: A language is not the encoder's, no pair is left, or a row is too short for one.
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
        self.layout = vocabulary.layout
        room = length - self.layout.pair_size
        if room < 2:
            least = self.layout.pair_size + 2
            raise ConfigError(f"no pair fits a row of {length}", f"it takes {least} tokens or more", "missing-data")
        codes = [language_code(language) for language in languages]
        sentences: dict[str, list[str]] = {code: [] for code in codes}
        columns: dict[str, tuple[int, list[str]]] = {}
        places: list[tuple[int, int, int]] = []  # the row, language and number of each sentence
        for number, row in enumerate(rows):
            for name, text in row.items():
                if name not in columns:
                    code = language_code(name)
                    check_name("language of parallel text", code, codes)
                    columns[name] = codes.index(code), sentences[code]
                if text and not text.isspace():
                    language, found = columns[name]
                    places.append((number, language, len(found)))
                    found.append(text)
        flat, spans_M3 = _encoded(sentences, vocabulary, places)
        sides = spans_M3[_every_two(np.array([place[0] for place in places]))]  # N x 2 sides x (language, first, ids)
        whole_N2 = sides[..., 2]
        fits_N = whole_N2.all(1) & (whole_N2.sum(1) <= 2 * room)
        sides, whole_N2 = sides[fits_N], whole_N2[fits_N]
        self.left_out = len(fits_N) - len(sides)
        if not len(sides):
            problem = f"no pair of sentences fits a row of {length} ({self.left_out:,} dropped)"
            raise ConfigError(problem, "give parallel text, or use longer rows", "missing-data")
        kept_N2 = np.stack(cut_evenly(whole_N2[:, 0], whole_N2[:, 1], room), 1)
        self.cut = int((kept_N2 != whole_N2).any(1).sum())
        self.length = length
        self._pairs = torch.from_numpy(np.concatenate([sides[..., :2], kept_N2[..., None]], 2)).to(device)
        self._flat = torch.from_numpy(flat).to(device)
        self._pad = vocabulary.pad_id
        self._order, self._direction = stream(seed, "order of pairs"), stream(seed, "direction of pairs")

    def __len__(self) -> int:
        return len(self._pairs)

    def by_length(self, lengths: Iterable[int]) -> list[Pairs]:
        """Divide the pairs into several streams, each pair in the shortest rows that hold it; no stream is empty.

        Args:
            lengths: Row lengths; pairs longer than all of them stay in rows of this stream's length.
        """
        tokens_N = self._pairs[:, :, 2].sum(1) + self.layout.pair_size
        streams, shorter = [], 0
        for length in sorted({*lengths, self.length}):
            part = copy(self)
            part.length = length
            part._pairs = self._pairs[(tokens_N > shorter) & (tokens_N <= length)]
            shorter = length
            if len(part):
                streams.append(part)
        return streams

    def take(self, first: int | Tensor, count: int) -> PairRows:
        """Rows ``first`` to ``first + count - 1`` of the stream."""
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
        first = len(self.layout.pair_before)
        second_B1 = first + size_B1 + len(self.layout.pair_between)
        second_BT = place_T >= second_B1
        at_BT = torch.where(second_BT, place_T - second_B1, place_T)
        mask_BT = place_T < second_B1 + rest_B1 + len(self.layout.pair_after)
        inside_BT = torch.where(second_BT, at_BT, at_BT - first)
        candidates_BT = (inside_BT >= 0) & (inside_BT < torch.where(second_BT, rest_B1, size_B1))
        source_BT = torch.where(second_BT, from_B1, begin_B1) + inside_BT
        ids_BT = self._flat[torch.where(candidates_BT, source_BT, 0)].long()
        ids_BT = torch.where(mask_BT, ids_BT, self._pad)
        for ids, start_B1 in (
            (self.layout.pair_before, torch.zeros_like(size_B1)),
            (self.layout.pair_between, first + size_B1),
            (self.layout.pair_after, second_B1 + rest_B1),
        ):
            for place, index in enumerate(ids):
                ids_BT = torch.where(place_T == start_B1 + place, index, ids_BT)
        return PairRows(
            ids_BT=ids_BT,
            positions_BT=torch.where(mask_BT, at_BT, 0),
            languages_BT=torch.where(second_BT, other_B1, language_B1),
            candidates_BT=candidates_BT,
            mask_BT=mask_BT,
        )


def cut_evenly(size: np.ndarray | int, other: np.ndarray | int, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of two sentences after truncation: all, or the longer one is cut, at most to half the room.

    >>> [[int(kept) for kept in cut_evenly(size, other, 10)] for size, other in ((9, 3), (9, 9), (3, 4))]
    [[7, 3], [5, 5], [3, 4]]
    """
    kept = np.minimum(size, np.maximum(room - room // 2, room - other))
    return kept, np.minimum(other, room - kept)


def _every_two(row_M: np.ndarray) -> np.ndarray:
    """Indices of all pairs of sentences of the same row (N, 2), from the row of each sentence, in order.

    >>> _every_two(np.array([0, 0, 1, 2, 2, 2])).tolist()
    [[0, 1], [3, 4], [3, 5], [4, 5]]
    """
    _, first_R, count_R = np.unique(row_M, return_index=True, return_counts=True)
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for count in np.unique(count_R):
        two = np.stack(np.triu_indices(count, 1), 1)
        pairs.append((first_R[count_R == count][:, None, None] + two).reshape(-1, 2))
    found = np.concatenate(pairs)
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def _encoded(
    sentences: Mapping[str, Sequence[str]], vocabulary: Vocabulary, places: Sequence[tuple[int, int, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """All ids concatenated, int32; and for each sentence (M, 3) its language, offset and number of ids."""
    parts, sizes = [], []
    # One encoder for all languages with the same view and processing: it remembers words.
    encoders: dict[tuple[str, TextProcessing | None], LineEncoder] = {}
    for code, texts in sentences.items():
        view = vocabulary.view(code), vocabulary.processing(code) or None
        encoder = encoders[view] = encoders.get(view) or vocabulary.line_encoder(code)
        raw = encoder.encode(texts) if texts else []
        parts.append(np.frombuffer(b"".join(raw), encoder.dtype).astype(np.int32))
        sizes.append(np.fromiter(map(len, raw), np.int64, len(raw)) // encoder.dtype.itemsize)
    ends = np.concatenate(sizes).cumsum()
    before = np.cumsum([0, *map(len, sizes)])[:-1]
    _, language_M, number_M = np.array(places, dtype=np.int64).reshape(-1, 3).T
    at_M = before[language_M] + number_M
    size_M = np.concatenate(sizes)[at_M]
    return np.concatenate(parts), np.stack([language_M, ends[at_M] - size_M, size_M], 1)


def check_pairs(plan: SharingPlan) -> None:
    """Check that no part is private, for translation pairs: a row of two languages cannot use one language's part.

    Raises:
        ConfigError: A part is private.
    """
    if plan.private or plan.private_layers:
        problem = f"translation pairs need shared parts, and plan {shown(plan.text)} has private ones"
        raise ConfigError(problem, "use plan default, or no parallel text", "not-supported")

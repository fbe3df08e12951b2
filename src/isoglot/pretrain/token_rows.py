"""Rows of ids: one language's shards as an endless numbered stream, with special tokens around each row.

Row ``n`` is a function of (seed, n) alone, so a run resumes where its counter says, and each rank takes its own
numbers. An epoch cuts the text, which is treated as circular, into windows from a random offset and takes them in a
random order: every id comes once, except a remainder shorter than a row, and no window of one epoch is a window of the
next.

Rows can also be the sentences of the text, each cut into segments that fit and padded, as in the second paper: then an
epoch takes every segment once, and no row has parts of two sentences.

A separator ``[SEP]`` can follow every sentence or document, as XLM puts ``</s>`` there. The shards have none: their
positions follow from the lengths of sentences, and they are inserted when a row is read.

Shapes: ``B`` rows of a batch, ``T`` tokens of a row, ``W`` ids of text in it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, check_name, check_range
from isoglot.pretrain.counter_rng import below, permuted, step_key, stream
from isoglot.vocab.shards import Shards, Split, file_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from isoglot.vocab.external_tokenizer import RowLayout

Storage = Literal["auto", "device", "mapped"]
"""``device`` copies all ids to the device, ``mapped`` reads them from a memory-mapped file, ``auto`` copies them to a
CUDA device if they need at most a quarter of its free memory; on the CPU a mapped file is as fast."""

Separator = Literal["none", "sentence", "document"]
"""Whether a ``[SEP]`` follows every sentence (line of the text) or document inside a row."""

Windows = Literal["stream", "sentences"]
"""Whether rows are cut from the text as one stream, or from each sentence (line of the text) on its own, padded."""

_FREE_SHARE = 4
_AHEAD = 4096  # rows whose offsets are computed at once: the 400 small operations cost the same for one row


class TextConfig(Config):
    """Settings of the amount of text."""

    tokens: Annotated[int, Field(ge=1)] | Literal["all", "least"] | dict[str, Annotated[int, Field(ge=1)]] = "all"
    """number of tokens to read from the start of the training text: all, as many as the smallest language has (least),
    a number for every language, or one for each (text.tokens.de=9000000); dev text is not affected"""

    def limits(self, shards: Mapping[str, Shards]) -> dict[str, int | None]:
        """Number of tokens to read of each language; None: all.

        Raises:
            ConfigError: A language has fewer tokens, or no shards.
        """
        there = {code: len(one.ids("train")) for code, one in shards.items()}
        if self.tokens == "all":
            return dict.fromkeys(there)
        if self.tokens == "least":
            return dict.fromkeys(there, min(there.values()))
        if isinstance(self.tokens, int):
            found: dict[str, int | None] = dict.fromkeys(there, self.tokens)
        else:
            for code in self.tokens:
                check_name("language in text.tokens", code, there)
            found = {code: self.tokens.get(code) for code in there}
        for code, limit in found.items():
            if limit is not None and limit > there[code]:
                problem = f"text.tokens asks for {limit:,} tokens of {code}, and its training text has {there[code]:,}"
                remedy = "ask for fewer, or for as many as the smallest language has: text.tokens=least"
                raise ConfigError(problem, remedy, "missing-data")
        return found


class Rows:
    """Endless stream of numbered rows.

    Args:
        shards: The text of one language.
        length: Tokens in a row, special tokens included.
        layout: The special tokens around a row and the padding of sentences (:attr:`Vocabulary.layout`).
        device: Device of the rows.
        split: Split of the text.
        seed: The run's seed.
        limit: Number of ids to read from the start of the split; None: all.
        ahead: Ids to read beyond a row's own, since code-switching may shorten it. They belong to the next row too, so
            that every id still comes once an epoch. Rows are longer by as much.
        storage: Where the ids are kept; the rows are the same.
        separator: Whether a ``[SEP]`` follows sentences or documents.
        windows: Whether rows are cut from the stream or from sentences.

    Attributes:
        tokens: Tokens of the text, separators included.
        sentences: Sentences of the text that is read.
        per_epoch: Rows of an epoch.

    Raises:
        ConfigError: The text is shorter than a row, or options conflict.
    """

    def __init__(
        self,
        shards: Shards,
        *,
        length: int,
        layout: RowLayout,
        device: torch.device | str = "cpu",
        split: Split = "train",
        seed: int = 0,
        limit: int | None = None,
        ahead: int = 0,
        storage: Storage = "auto",
        separator: Separator = "none",
        windows: Windows = "stream",
    ) -> None:
        check_range("length", length, layout.size + 1)
        self.shards, self.length, self.split, self.seed, self.ahead = shards, length, split, seed, ahead
        self.device = torch.device(device)
        self.text = length - layout.size
        read = len(shards.ids(split)) if limit is None else limit
        self._separators_S = separator_places(shards, split, separator, read).to(self.device)
        self.tokens = read + len(self._separators_S)
        self.segments = None
        if windows == "sentences":
            if ahead or separator != "none":
                problem = "batch.windows=sentences does not support separators or code-switching"
                remedy = "set batch.separator=none and pass no dictionary, or set batch.windows=stream"
                raise ConfigError(problem, remedy, "conflicting-options")
            self.segments = sentence_segments(shards, split, self.text, read)
            self.tokens = int(self.segments.lengths_N.sum())
        self.per_epoch = self.tokens // self.text if self.segments is None else len(self.segments.starts_N)
        if not self.per_epoch:
            raise ConfigError(
                f"{shards.folder}: the {split} split has {self.tokens:,} ids, fewer than the {self.text:,} of one row",
                "use shorter rows, or build the shards from more text",
                "missing-data",
            )
        self._order, self._shift = stream(seed, "rows order"), stream(seed, "rows shift")
        self._layout = layout
        ids = _mapped_ids(shards, split)[:read]
        self._all_bits = 2 ** (8 * ids.element_size()) - 1
        self._ids = ids.to(self.device, copy=True) if _on_device(storage, ids, self.device) else ids
        self._known: tuple[int, Tensor] = (0, torch.zeros(0, dtype=torch.int64))

    @cached_property
    def sentences(self) -> int:
        """Sentences of the text that is read."""
        ends = np.cumsum(self.shards.sentence_lengths(self.split), dtype=np.int64)
        return int(np.searchsorted(ends, len(self._ids), side="right"))

    def text_tokens(self, first: int, count: int) -> int:
        """Tokens of text in rows ``first`` to ``first + count - 1``, without padding and special tokens around it."""
        if self.segments is None:
            return self.text * count
        return int(self.segments.lengths_N[self._numbers(first, count)].sum())

    def take(self, first: int, count: int) -> Tensor:
        """Rows ``first`` to ``first + count - 1`` of the stream, int64 on the device (B, T)."""
        places_B = self._numbers(first, count)
        return self._at(places_B) if self.segments is None else self._padded(self.segments, places_B)

    def _numbers(self, first: int, count: int) -> Tensor:
        """Offsets of consecutive rows (:meth:`places`), computed for many at once."""
        start, places_N = self._known
        if not start <= first <= first + count <= start + len(places_N):
            device = self._ids.device if self.segments is None else "cpu"
            numbers_N = torch.arange(first, first + max(count, _AHEAD), device=device)
            start, places_N = self._known = first, self.places(numbers_N)
        return places_N[first - start : first - start + count]

    def fixed(self, count: int) -> Tensor:
        """The first rows of the text in order, at most ``count``: the same in every run, for evaluation."""
        first_B = torch.arange(min(count, self.per_epoch))
        if self.segments is not None:
            return self._padded(self.segments, first_B)
        return self._at(first_B.to(self._ids.device) * self.text)

    def places(self, numbers_B: Tensor) -> Tensor:
        """Offsets in the text of the rows of these numbers; for rows of sentences, the numbers of their segments."""
        epoch_B, index_B = numbers_B // self.per_epoch, numbers_B % self.per_epoch
        window_B = permuted(index_B, self.per_epoch, step_key(self._order, epoch_B))
        if self.segments is not None:
            return window_B
        shift_B = below(step_key(self._shift, epoch_B), self.tokens)
        return (window_B * self.text + shift_B) % self.tokens

    def _at(self, places_B: Tensor) -> Tensor:
        index_BW = places_B[:, None] + torch.arange(self.text + self.ahead, device=places_B.device)
        if self.text + self.ahead <= self.tokens:  # the text is circular; a division would take longer
            index_BW = torch.where(index_BW < self.tokens, index_BW, index_BW - self.tokens)
        else:
            index_BW = index_BW % self.tokens
        separated_BW = None
        if len(self._separators_S):
            places_S = self._separators_S.to(index_BW.device)
            before_BW = torch.searchsorted(places_S, index_BW)
            separated_BW = places_S[before_BW.clamp(max=len(places_S) - 1)] == index_BW
            index_BW = (index_BW - before_BW).clamp(max=len(self._ids) - 1)
        text_BW = self._read(index_BW)
        if separated_BW is not None:
            text_BW = torch.where(separated_BW, self._layout.separator, text_BW)
        return self._sent(framed(text_BW, self._layout))

    def _read(self, index_BW: Tensor) -> Tensor:
        ids_BW: Tensor = self._ids.index_select(0, index_BW.flatten()).view_as(index_BW).to(torch.int64)
        return ids_BW.bitwise_and(self._all_bits)  # they are stored as signed numbers

    def _padded(self, segments: Segments, numbers_B: Tensor) -> Tensor:
        """Segments of sentences as rows, with special tokens and padding."""
        device = self._ids.device
        starts_B1 = segments.starts_N[numbers_B].to(device)[:, None]
        lengths_B1 = segments.lengths_N[numbers_B].to(device)[:, None]
        columns_W = torch.arange(self.text, device=device)
        index_BW = (starts_B1 + columns_W).clamp(max=len(self._ids) - 1)
        text_BW = self._read(index_BW)
        text_BW = torch.where(columns_W < lengths_B1, text_BW, self._layout.pad)
        ids_BT = torch.full((len(numbers_B), self.length), self._layout.pad, device=device)
        first = len(self._layout.before)
        ids_BT[:, first : first + self.text] = text_BW
        for place, index in enumerate(self._layout.before):
            ids_BT[:, place] = index
        for place, index in enumerate(self._layout.after, start=first):
            ids_BT = ids_BT.scatter(1, lengths_B1 + place, index)
        return self._sent(ids_BT)

    def _sent(self, ids_BT: Tensor) -> Tensor:
        """Move rows to the device."""
        if self.device.type == "cuda" and not ids_BT.is_cuda:
            return ids_BT.pin_memory().to(self.device, non_blocking=True)
        return ids_BT.to(self.device)


class Segments(NamedTuple):
    """Segments of sentences that fit into rows: their offsets in the text and their lengths (N each)."""

    starts_N: Tensor
    lengths_N: Tensor


def sentence_segments(shards: Shards, split: Split, size: int, read: int | None = None) -> Segments:
    """Cut every sentence into segments of ``size`` ids; the last one may be shorter.

    Args:
        shards: The text.
        split: Its split.
        size: Maximum ids of a segment.
        read: Only sentences that end within this many ids; None: all.
    """
    lengths_S = shards.sentence_lengths(split).astype(np.int64)
    ends_S = np.cumsum(lengths_S)
    lengths_S = lengths_S[: None if read is None else int(np.searchsorted(ends_S, read, side="right"))]
    starts_S = ends_S[: len(lengths_S)] - lengths_S
    counts_S = -(-lengths_S // size)
    sentence_N = np.repeat(np.arange(len(lengths_S)), counts_S)
    within_N = np.arange(len(sentence_N)) - np.repeat(np.cumsum(counts_S) - counts_S, counts_S)
    lengths_N = np.minimum(size, lengths_S[sentence_N] - within_N * size)
    return Segments(torch.from_numpy(starts_S[sentence_N] + within_N * size), torch.from_numpy(lengths_N))


def separator_places(shards: Shards, split: Split, separator: Separator, read: int | None = None) -> Tensor:
    """Positions of separators in the stream that includes them, ascending (S), int64; empty sentences get none.

    Args:
        shards: The text.
        split: Its split.
        separator: Whether sentences or documents end with one.
        read: Only after what ends within this many ids; None: all.
    """
    if separator == "none":
        return torch.zeros(0, dtype=torch.int64)
    ends = np.cumsum(shards.sentence_lengths(split), dtype=np.int64)
    if separator == "document":
        ends = ends[np.cumsum(shards.document_lengths(split), dtype=np.int64) - 1]
    ends = np.unique(ends[(ends > 0) & (ends <= (ends[-1] if read is None else read))])
    return torch.from_numpy(ends + np.arange(len(ends)))


def framed(text_BW: Tensor, layout: RowLayout) -> Tensor:
    """Add the special tokens around rows of text (B, T)."""
    first, last = len(layout.before), len(layout.after)
    ids_BT = text_BW.new_empty(len(text_BW), text_BW.shape[1] + first + last)
    ids_BT[:, first : first + text_BW.shape[1]] = text_BW
    for place, index in [*enumerate(layout.before), *enumerate(layout.after, start=-last)]:
        ids_BT[:, place] = index
    return ids_BT


def _mapped_ids(shards: Shards, split: Split) -> Tensor:
    """Memory-mapped ids, with the bits of uint16 or uint32 in a signed type that torch can index."""
    ids = shards.ids(split)
    dtype = {2: torch.int16, 4: torch.int32}[ids.dtype.itemsize]
    path = shards.folder / file_name(split, "ids")
    return torch.from_file(str(path), shared=False, size=len(ids), dtype=dtype)


def _on_device(storage: Storage, ids: Tensor, device: torch.device) -> bool:
    if storage != "auto":
        return storage == "device"
    if device.type == "cuda":
        return ids.nbytes * _FREE_SHARE <= torch.cuda.mem_get_info(device)[0]
    return False

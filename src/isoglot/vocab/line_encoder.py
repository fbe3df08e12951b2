"""Fast encoding of lines with a cache: text repeats itself, so the ids of a chunk are looked up.

A chunk is the text between two blanks. By the contract of :mod:`.subword_scheme` the ids of a line are the concatenated
ids of its chunks, so these can be cached as bytes. New chunks are encoded many at a time, as one text, and separated by
the mark that begins each of them. The ids are exactly those of the tokenizer.

If chunks do not repeat (Chinese has few blanks), and for tokenizers of other models, whole lines are encoded. Memory is
bounded: the least recently used chunks are forgotten.
"""

from __future__ import annotations

import struct
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from isoglot.core.errors import InputError
from isoglot.text.stream import chunks_of
from isoglot.vocab.subword_scheme import MARK, Normalization, literal, normal_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from tokenizers import Tokenizer

    from isoglot.text.cleaning.processing import TextProcessing

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_REMEMBERED = 400_000  # chunks in each of two generations, about 80 MB
_HELD = 20_000_000  # characters in them
_LONG = 24  # mean length of chunks above which hardly any repeats
_GROUP = 100  # chunks encoded as one text
_PART = 200_000  # characters of a text for the tokenizer, which needs about 300 bytes each
_BATCH = 250_000  # characters per call; with fewer its threads wait for each other
LONGEST_CHUNK = 1_000_000  # maximum number of characters without a blank


def id_type(size: int) -> np.dtype[np.unsignedinteger]:
    """The smallest little-endian type for the ids of a vocabulary.

    >>> id_type(65_536), id_type(65_537)
    (dtype('uint16'), dtype('uint32'))
    """
    import numpy as np

    return np.dtype("<u2" if size <= 2**16 else "<u4")


class LongChunkError(InputError):
    """Text with too many characters without a blank."""

    code = "input.line-length"

    def __init__(self, length: int) -> None:
        super().__init__(f"{length:,} characters without a blank", remedy="is this text? Put blanks or line ends in it")
        self.length = length

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return LongChunkError, (self.length,)  # it is sent between processes


def check_chunks(line: str, file: str | Path | None = None, number: int | None = None) -> None:
    """Check that a line is text.

    Raises:
        InputError: It has a million characters without a blank.
    """
    if len(line) > LONGEST_CHUNK and (longest := max(map(len, line.split(" ")))) > LONGEST_CHUNK:
        error = LongChunkError(longest)
        raise InputError(error.problem, error.remedy, code=error.code, file=file, line=number)


class LineTokenizer(NamedTuple):
    """Parsed tokenizer for :class:`LineEncoder`; parsing takes 50 ms or more, so a vocabulary caches it."""

    tokenizer: Tokenizer
    opens_V: np.ndarray  # whether each subword begins with the mark of a word's start

    @classmethod
    def parse(cls, view: str, normalization: Normalization | None) -> LineTokenizer:
        """Parse a ``tokenizer.json``."""
        import numpy as np
        from tokenizers import Tokenizer

        tokenizer = literal(Tokenizer.from_str(view))
        if normalization is not None:  # lines are already normalized and marked, which would take a quarter of the time
            tokenizer.normalizer = None
        vocab = tokenizer.get_vocab(with_added_tokens=True)
        opens_V = np.zeros(max(vocab.values(), default=0) + 1, dtype=bool)
        opens_V[[index for piece, index in vocab.items() if piece.startswith(MARK)]] = True
        return cls(tokenizer, opens_V)


class LineEncoder:
    """Encoder of lines to ids, as bytes.

    Args:
        view: The tokenizer, as text of ``tokenizer.json`` or parsed for the same normalization.
        normalization: The Unicode form if the tokenizer keeps the contract of :mod:`.subword_scheme`, else None.
        dtype: The type of the ids.
        processing: Text processing of lines. Default: none.
    """

    def __init__(
        self,
        view: str | LineTokenizer,
        *,
        normalization: Normalization | None,
        dtype: np.dtype[np.unsignedinteger],
        processing: TextProcessing | None = None,
    ) -> None:
        self.dtype, self.processing = dtype, processing
        self._letter = "H" if dtype.itemsize == 2 else "I"
        self._splits = normalization is not None
        self._form = normal_form(normalization or "none")
        self._tokenizer, self._opens = LineTokenizer.parse(view, normalization) if isinstance(view, str) else view
        self._known: dict[str, bytes] = {}
        self._older: dict[str, bytes] = {}
        self._held = 0

    def encode(self, lines: Sequence[str]) -> list[bytes]:
        """The ids of each line, as the bytes of an array of ``dtype``.

        Raises:
            LongChunkError: A line has a million characters without a blank.
        """
        if self.processing:
            lines = [self.processing(line) for line in lines]
        if not self._splits:
            return self._ask(lines)
        chunks_of = [self._prepare(line).split(" ") if line else [] for line in lines]
        if sum(map(len, lines)) > _LONG * sum(map(len, chunks_of)):
            return self._whole(chunks_of)
        new = set[str]().union(*chunks_of).difference(self._known)
        for chunk in new & self._older.keys():
            self._known[chunk] = self._older[chunk]
        new.difference_update(self._older)
        if sum(map(len, new)) * 2 > sum(map(len, lines)):  # hardly anything repeats: the cache does not pay
            return self._whole(chunks_of)
        self._learn(sorted(new))
        lookup = self._known.__getitem__
        encoded = [b"".join(map(lookup, chunks)) for chunks in chunks_of]
        self._held += sum(map(len, new))
        if len(self._known) > _REMEMBERED or self._held > _HELD:
            self._older, self._known, self._held = self._known, {}, 0
        return encoded

    def _prepare(self, line: str) -> str:
        """Normalize a line and replace marks by blanks, as decoding does."""
        return line if line.isascii() else self._form(line).replace(MARK, " ")

    def _learn(self, chunks: Sequence[str]) -> None:
        """Encode chunks and cache their ids."""
        import numpy as np

        groups = [chunks[start : start + _GROUP] for start in range(0, len(chunks), _GROUP)]
        for group, raw in zip(groups, self._whole(groups), strict=True):
            starts = np.flatnonzero(self._opens[np.frombuffer(raw, self.dtype)]) * self.dtype.itemsize
            if len(starts) == len(group):  # as many starts as chunks: none is missing
                ids = [raw[first:last] for first, last in pairwise([*starts.tolist(), len(raw)])]
            else:  # an [UNK] contains a mark
                ids = self._whole([[chunk] for chunk in group])
            self._known.update(zip(group, ids, strict=True))

    def _whole(self, chunks_of: Sequence[Sequence[str]]) -> list[bytes]:
        """Encode rows of chunks without the cache, long rows in parts."""
        rows = [MARK + MARK.join(chunks) if chunks else "" for chunks in chunks_of]
        if all(len(row) <= _PART for row in rows):
            return self._ask(rows)
        return [b"".join(self._ask(list(_parts(chunks)))) for chunks in chunks_of]

    def _ask(self, lines: Sequence[str]) -> list[bytes]:
        batches = list(chunks_of(lines, lines=len(lines) + 1, characters=_BATCH))
        encoded: list[bytes] = []
        ask = partial(self._tokenizer.encode_batch_fast, add_special_tokens=False)
        for encodings in ahead(ask, batches) if len(batches) > 1 else map(ask, batches):
            for encoding in encodings:
                ids = encoding.ids
                encoded.append(struct.pack(f"<{len(ids)}{self._letter}", *ids))  # three times as fast as an array
        return encoded


def ahead(work: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
    """``work(item)`` for every item, in order, computed one ahead in a thread.

    >>> list(ahead(len, ["a", "bc"]))
    [1, 2]
    """
    with ThreadPoolExecutor(1) as thread:
        running: Future[ResultT] | None = None
        for item in items:
            last, running = running, thread.submit(work, item)
            if last is not None:
                yield last.result()
        if running is not None:
            yield running.result()


def _parts(chunks: Sequence[str]) -> Iterator[str]:
    """Divide a long row into shorter ones with the same ids."""
    part: list[str] = []
    length = 0
    for chunk in chunks:
        if len(chunk) > LONGEST_CHUNK:
            raise LongChunkError(len(chunk))
        if length + len(chunk) > _PART and part:
            yield MARK + MARK.join(part)
            part, length = [], 0
        part.append(chunk)
        length += len(chunk) + 1
    if part:
        yield MARK + MARK.join(part)

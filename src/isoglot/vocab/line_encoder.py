"""Lines to ids, faster than the tokenizer alone: text repeats itself, so a chunk met before is looked up.

A chunk is what stands between two blanks. By the contract of :mod:`.scheme` the ids of a line are those of its chunks
in a row, so they can be kept as bytes and joined; chunks not met before are encoded many at a time, as one text, and
told apart by the mark that opens each. The ids are the tokenizer's own, to the last one.

Where chunks do not repeat (Chinese has few blanks), and for tokenizers that are not ours, lines go to the tokenizer
whole. Memory is bounded: the chunks least recently met are forgotten.
"""

from __future__ import annotations

import struct
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from isoglot.core.errors import InputError
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
_LONG = 24  # characters in a chunk on average, from which on hardly any is met twice
_GROUP = 100  # chunks encoded as one text
_PART = 200_000  # characters in a text for the tokenizer, which needs about 300 bytes for each
_BATCH = 250_000  # characters it is given at once, if no text is longer: fewer, and its threads wait for each other
LONGEST_CHUNK = 1_000_000
"""Characters without a blank that may still be text."""


def id_type(size: int) -> np.dtype[np.unsignedinteger]:
    """The narrower little-endian type that holds every id of a vocabulary of that size.

    >>> id_type(65_536), id_type(65_537)
    (dtype('uint16'), dtype('uint32'))
    """
    import numpy as np

    return np.dtype("<u2" if size <= 2**16 else "<u4")


class LongChunkError(InputError):
    """A run of characters without a blank that is too long to be text."""

    code = "input.line-length"

    def __init__(self, length: int) -> None:
        super().__init__(f"{length:,} characters without a blank", remedy="is this text? Put blanks or line ends in it")
        self.length = length

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return LongChunkError, (self.length,)  # it crosses from process to process


def check_chunks(line: str, file: str | Path | None = None, number: int | None = None) -> None:
    """Refuse a line that is no text.

    Raises:
        InputError: There are a million characters without a blank.
    """
    if len(line) > LONGEST_CHUNK and (longest := max(map(len, line.split(" ")))) > LONGEST_CHUNK:
        error = LongChunkError(longest)
        raise InputError(error.problem, remedy=error.remedy, code=error.code, file=file, line=number)


class LineTokenizer(NamedTuple):
    """A parsed tokenizer for :class:`LineEncoder`: parsing takes 50 ms and more, so a vocabulary keeps it."""

    tokenizer: Tokenizer
    opens_V: np.ndarray
    """Whether each subword begins with the mark of a word's start."""

    @classmethod
    def parse(cls, view: str, normalization: Normalization | None) -> LineTokenizer:
        """Parse a ``tokenizer.json``."""
        import numpy as np
        from tokenizers import Tokenizer

        tokenizer = literal(Tokenizer.from_str(view))
        if normalization is not None:  # lines are normalized and marked already; that would take a quarter of its time
            tokenizer.normalizer = None
        vocab = tokenizer.get_vocab(with_added_tokens=True)
        opens_V = np.zeros(max(vocab.values(), default=0) + 1, dtype=bool)
        opens_V[[index for piece, index in vocab.items() if piece.startswith(MARK)]] = True
        return cls(tokenizer, opens_V)


class LineEncoder:
    """Turns lines into ids, as bytes.

    Args:
        view: The tokenizer that decides, as ``tokenizer.json`` has it, or parsed for the same normalization.
        normalization: The tokenizer's Unicode form if it keeps the contract of :mod:`.scheme`, None if it may not.
        dtype: How an id is stored.
        processing: What is done to lines first; None: nothing.
    """

    def __init__(
        self,
        view: str | LineTokenizer,
        *,
        normalization: Normalization | None,
        dtype: np.dtype[np.unsignedinteger],
        processing: TextProcessing | None = None,
    ) -> None:
        self.dtype = dtype
        self.processing = processing
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
            LongChunkError: There are a million characters without a blank.
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
        if sum(map(len, new)) * 2 > sum(map(len, lines)):  # hardly anything repeats: looking up does not pay
            return self._whole(chunks_of)
        self._learn(sorted(new))
        lookup = self._known.__getitem__
        encoded = [b"".join(map(lookup, chunks)) for chunks in chunks_of]
        self._held += sum(map(len, new))
        if len(self._known) > _REMEMBERED or self._held > _HELD:
            self._older, self._known, self._held = self._known, {}, 0
        return encoded

    def _prepare(self, line: str) -> str:
        """The line in normal form, with a mark read as a blank, which is what it comes back as."""
        return line if line.isascii() else self._form(line).replace(MARK, " ")

    def _learn(self, chunks: Sequence[str]) -> None:
        """Remember the ids of chunks."""
        import numpy as np

        groups = [chunks[start : start + _GROUP] for start in range(0, len(chunks), _GROUP)]
        for group, raw in zip(groups, self._whole(groups), strict=True):
            starts = np.flatnonzero(self._opens[np.frombuffer(raw, self.dtype)]) * self.dtype.itemsize
            if len(starts) == len(group):  # no chunk opens twice, so none is missing either
                ids = [raw[first:last] for first, last in pairwise([*starts.tolist(), len(raw)])]
            else:  # an [UNK] has swallowed a mark
                ids = self._whole([[chunk] for chunk in group])
            self._known.update(zip(group, ids, strict=True))

    def _whole(self, chunks_of: Sequence[Sequence[str]]) -> list[bytes]:
        """The ids of each row of chunks from the tokenizer itself, long rows in parts."""
        rows = [MARK + MARK.join(chunks) if chunks else "" for chunks in chunks_of]
        if all(len(row) <= _PART for row in rows):
            return self._ask(rows)
        return [b"".join(self._ask(list(_parts(chunks)))) for chunks in chunks_of]

    def _ask(self, lines: Sequence[str]) -> list[bytes]:
        batches = list(_batches(lines))
        encoded: list[bytes] = []
        ask = partial(self._tokenizer.encode_batch_fast, add_special_tokens=False)
        for encodings in ahead(ask, batches) if len(batches) > 1 else map(ask, batches):
            for encoding in encodings:
                ids = encoding.ids
                encoded.append(struct.pack(f"<{len(ids)}{self._letter}", *ids))  # thrice as fast as an array
        return encoded


def ahead(work: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
    """``work(item)`` for every item, in order; while a result is used, a thread works on the next.

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


def _batches(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lines in batches that the tokenizer has memory for."""
    batch: list[str] = []
    length = 0
    for line in lines:
        batch.append(line)
        length += len(line)
        if length >= _BATCH:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


def _parts(chunks: Sequence[str]) -> Iterator[str]:
    """A long row as several shorter ones that have the same ids in a row."""
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

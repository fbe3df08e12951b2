"""Input sentences (a list or a file, read repeatedly and never held in memory as a whole), and their rows of tokens.

A sentence of words is tokenized as written, as in the tasks (:mod:`isoglot.vocab.word_reader`): a word's tokens are
those that cover its letters, and a token with letters of two words is divided. A text that is too long is truncated; a
sentence of words that is too long is divided into windows, so that no word is lost. A text that the tokenizer turns
into no tokens is read as ``[UNK]``; such a word takes the token before it. All three cases are counted.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from isoglot.core.errors import InputError, check_range, shown
from isoglot.model.protocol import check_room
from isoglot.text.cleaning.processing import check_as_written
from isoglot.text.cleaning.segmentation import Method, Words, split_words, word_method
from isoglot.text.formats.plain import read_sentence_lines
from isoglot.vocab.line_encoder import check_chunks
from isoglot.vocab.word_reader import Pieces, Reader, blank_before_words, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isoglot.vocab import Vocabulary

Sentence = str | Sequence[str]
"""A text, or a list of its words (:class:`isoglot.text.cleaning.segmentation.Words` knows the spaces between them)."""


@dataclass(frozen=True)
class SegmentedFile:
    """A file of text as written, one sentence per line, whose words are found by a segmentation method.

    Args:
        path: The file; blank lines are skipped.
        language: Its language.
        method: Segmentation method. None: the best one for the language.
    """

    path: str | Path
    language: str
    method: Method | None = None

    def sentences(self) -> Iterator[tuple[int, Words]]:
        """Words of each line, with the line number."""
        method = self.method or word_method(self.language)
        check_as_written(self.path)
        for number, line in read_sentence_lines(self.path):
            if words := split_words(line, self.language, method):
                yield number, words


Sentences = Sequence[str] | Sequence[Sequence[str]] | str | Path | SegmentedFile
"""Sentences in memory, or a file with one per line (with spaces between words, or as written)."""
Kind = Literal["text", "words"]
"""Whether sentences are running text or lists of words."""


class SentenceSurvey(NamedTuple):
    """Number of sentences, offsets of their rows, and a hash of all of them."""

    sentences: int
    offsets: np.ndarray
    sha256: str

    @property
    def rows(self) -> int:
        """Number of rows of the result: sentences, or their words."""
        return int(self.offsets[-1])


def read_sentences(sentences: Sentences, kind: Kind) -> Iterator[Sentence]:
    """Iterate over the sentences: strings, or lists of words for ``words``.

    Raises:
        ConfigError: The file was segmented although running text is wanted.
        InputError: A sentence is empty or not text, there are none, the file is a table, or a list of words is given as
            text.
        StorageError: The file cannot be read.
    """
    file = sentences if isinstance(sentences, str | Path) else None
    number = 0
    given: Iterator[tuple[int, Sentence]]
    if isinstance(sentences, SegmentedFile):
        file, given = sentences.path, iter(sentences.sentences())
    elif isinstance(sentences, str | Path):
        if kind == "text":
            check_as_written(sentences)
        given = read_sentence_lines(sentences)
    else:
        given = enumerate(sentences, start=1)
    for number, sentence in given:
        problem = None
        if isinstance(sentence, str):
            check_chunks(sentence, file, None if file is None else number)
            found: Sentence = sentence.split() if kind == "words" else sentence
            if not sentence or sentence.isspace():
                problem = "a blank line" if file is not None else f"sentence {number} is empty"
        else:
            found = sentence
            if kind == "text":
                problem = f"sentence {number} is a list of words, {shown(list(sentence)[:4])}"
            elif not sentence:
                problem = f"sentence {number} is empty"
            elif any(not word or word.isspace() for word in sentence):
                problem = f"sentence {number} has an empty word"
        if problem is not None:
            listed = kind == "text" and not isinstance(sentence, str)
            remedy = "join its words, or use pool='words'" if listed else "remove it"
            code = "input.type" if listed else "input.empty"
            raise InputError(problem, remedy, code=code, file=file, line=None if file is None else number)
        yield found
    if not number:
        raise InputError("no sentences", "give at least one, one per line", "empty", file=file)


def survey_sentences(sentences: Sentences, kind: Kind) -> SentenceSurvey:
    """Read all sentences once, to know the size of the result."""
    sizes = array("q", [0])
    digest = hashlib.sha256()
    for sentence in read_sentences(sentences, kind):
        text = sentence if isinstance(sentence, str) else "\t".join(sentence)
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
        sizes.append(1 if isinstance(sentence, str) else len(sentence))
    return SentenceSurvey(len(sizes) - 1, np.cumsum(np.frombuffer(sizes, dtype=np.int64)), digest.hexdigest())


def in_chunks(sentences: Sentences, kind: Kind, size: int, *, skip: int = 0) -> Iterator[list[Sentence]]:
    """Chunks of sentences, without the first ``skip`` chunks.

    Raises:
        ConfigError: The chunk size is less than 1.
    """
    check_range("chunk", size, 1)
    found = islice(read_sentences(sentences, kind), skip * size, None)
    while chunk := list(islice(found, size)):
        yield chunk


@dataclass
class TokenRows:
    """Rows of tokens to run through the encoder.

    Args:
        ids: Token ids of each row, without special tokens.
        starts: Position of each item in its row; an item is a word or a whole text.
        lengths: Number of tokens of each item.
        first: Number of each row's first item, counted over all sentences.
        begins: Whether a row begins a sentence rather than being a later window of it.
        special: Number of special tokens per row.
        events: Counts of texts or words that were ``cut``, sentences ``split`` into windows, and texts or words
            ``unread`` (no tokens).
    """

    ids: list[Any] = field(default_factory=list)
    starts: list[np.ndarray] = field(default_factory=list)
    lengths: list[np.ndarray] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    begins: list[bool] = field(default_factory=list)
    special: int = 2
    events: Counter[str] = field(default_factory=Counter)
    items: int = 0

    def add(self, ids: np.ndarray, starts: np.ndarray, lengths: np.ndarray, *, begins: bool = True) -> None:
        """Append a row."""
        self.ids.append(ids)
        self.starts.append(starts)
        self.lengths.append(lengths)
        self.first.append(self.items)
        self.begins.append(begins)
        self.items += len(lengths)

    def batches(self, tokens: int) -> Iterator[list[int]]:
        """Batches of rows of similar length, longest first, of at most ``tokens`` tokens including padding.

        With the longest first, a batch too large for memory fails at once. A batch that is more than half full ends
        where the next row is shorter: rows of equal length need neither padding nor a mask.
        """
        order = sorted(range(len(self.ids)), key=lambda row: -len(self.ids[row]))
        lengths = [len(self.ids[row]) for row in order]
        start = 0
        while start < len(order):
            size = max(1, tokens // (lengths[start] + self.special))
            end = min(start + size, len(order))
            half = start + size // 2 + 1
            end = next((at for at in range(half, end) if lengths[at] < lengths[at - 1]), end)
            yield order[start:end]
            start = end


class RowMaker:
    """Converts sentences to token rows.

    Args:
        vocabulary: The tokenizer.
        language: Language of the sentences, where the vocabulary depends on it.
        kind: Whether sentences are texts or lists of words.
        length: Maximum number of tokens per row, special tokens included.
        as_read: Text as the tokenizer gets it, such as behind a prompt.

    Raises:
        ConfigError: The language is missing, or the length leaves no room for a token.
    """

    def __init__(
        self, vocabulary: Vocabulary, language: str | None, kind: Kind, length: int, as_read: Callable[[str], str] = str
    ) -> None:
        check_room(vocabulary, length)
        self.vocabulary = vocabulary
        self.language = language
        self.kind = kind
        self.as_read = as_read
        self.room = length - vocabulary.layout.size
        self._unknown = np.array([vocabulary.unknown_id])
        self._blank = blank_before_words(vocabulary, language)
        self._lines = vocabulary.line_encoder(language)

    def rows(self, sentences: Sequence[Sentence]) -> TokenRows:
        """Rows of some sentences, in order."""
        rows = TokenRows(special=self.vocabulary.layout.size)
        if self.kind == "text":
            for raw in self._lines.encode([self.as_read(str(sentence)) for sentence in sentences]):
                ids = np.frombuffer(raw, self._lines.dtype)
                if not len(ids):
                    ids = self._unknown
                    rows.events["unread"] += 1
                rows.events["cut"] += len(ids) > self.room
                kept = ids[: self.room]
                rows.add(kept, np.zeros(1, dtype=np.int64), np.array([len(kept)]))
            return rows
        reader = Reader(self.vocabulary, self.language, max(5, self.room + 2))
        words = [[sentence] if isinstance(sentence, str) else sentence for sentence in sentences]
        for pieces in reader.words(words, [getattr(sentence, "blanks", None) for sentence in words]):
            self._add_windows(rows, pieces)
        return rows

    def word_ids(self, words: Sequence[str]) -> list[np.ndarray]:
        """Token ids of words as they occur inside a sentence; empty where the tokenizer gives none."""
        ids = self.vocabulary.encode_batch([self._blank + word for word in words], self.language)
        return [np.asarray(found, dtype=np.int64) for found in ids]

    def _add_windows(self, rows: TokenRows, pieces: Pieces) -> None:
        """Add one sentence in as few windows of whole words as possible."""
        cut = windows(pieces.firsts_W, len(pieces.ids_N), self.room)
        rows.events["unread"] += pieces.unread
        rows.events["cut"] += sum(window.lost > 0 for window in cut)
        rows.events["split"] += len(cut) > 1
        for number, window in enumerate(cut):
            chosen = slice(window.words.start, window.words.stop)
            starts_W = np.minimum(pieces.firsts_W[chosen], window.tokens.stop - 1)
            lengths_W = np.maximum(np.minimum(pieces.ends_W[chosen], window.tokens.stop) - starts_W, 1)
            ids_N = pieces.ids_N[window.tokens.start : window.tokens.stop]
            rows.add(ids_N, starts_W - window.tokens.start, lengths_W, begins=not number)

"""Sentences as rows of tokens that fit the encoder, and rows as batches.

A sentence of words is encoded word by word, so that it is known exactly which tokens are whose, whatever the tokenizer.
Too long a text is cut; a sentence of words that is too long goes through in several windows, so no word is lost. What
a tokenizer reads as nothing stands as ``[UNK]``. Each of the three is counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.model.batch import check_room
from isoglot.vocab.whole_words import blank_before_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.represent.sentences import Kind, Sentence
    from isoglot.vocab import Vocabulary

_REMEMBERED = 300_000  # words


@dataclass
class Rows:
    """What goes through the encoder for some sentences.

    Args:
        ids: The tokens of each row, special ones not included.
        lengths: How many of them each item of a row has, in order; an item is a word, or the whole text.
        first: The number of a row's first item, counted over all sentences.
        begins: Whether a row is the beginning of a sentence; it is not if the sentence goes on from another window.
        special: The special tokens of a row.
        events: How many texts or words were ``cut``, sentences were ``split``, and texts or words were ``unread``.
    """

    ids: list[Any] = field(default_factory=list)
    lengths: list[np.ndarray] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    begins: list[bool] = field(default_factory=list)
    special: int = 2
    events: Counter[str] = field(default_factory=Counter)
    items: int = 0

    def add(self, ids: np.ndarray, lengths: Sequence[int], *, begins: bool = True) -> None:
        """One more row."""
        self.ids.append(ids)
        self.lengths.append(np.asarray(lengths, dtype=np.int64))
        self.first.append(self.items)
        self.begins.append(begins)
        self.items += len(lengths)

    def batches(self, tokens: int) -> Iterator[list[int]]:
        """Rows of about the same length together, the longest first; so many tokens at most, padding included.

        The longest come first so that a batch which is too large for the memory shows at once. A batch that is more
        than half full ends where the next row is shorter: rows of one length need no padding and no mask.
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
    """Turns sentences into rows.

    Args:
        vocabulary: What turns text into ids.
        language: Its language, where the vocabulary needs to know it.
        kind: Whether sentences are texts or lists of words.
        length: Tokens in a row at most, the special ones around it included.

    Raises:
        ConfigError: The language is missing, or the length leaves no room.
    """

    def __init__(self, vocabulary: Vocabulary, language: str | None, kind: Kind, length: int) -> None:
        check_room(vocabulary, length)
        self.vocabulary = vocabulary
        self.language = language
        self.kind = kind
        self.room = length - vocabulary.layout.size
        self._unknown = np.array([vocabulary.unknown_id])
        self._words: dict[str, np.ndarray] = {}
        self._blank = blank_before_words(vocabulary, language)
        self._lines = vocabulary.line_encoder(language)

    def rows(self, sentences: Sequence[Sentence]) -> Rows:
        """The rows of some sentences, in order."""
        rows = Rows(special=self.vocabulary.layout.size)
        if self.kind == "text":
            for raw in self._lines.encode([str(sentence) for sentence in sentences]):
                ids = np.frombuffer(raw, self._lines.dtype)
                if not len(ids):
                    ids = self._unknown
                    rows.events["unread"] += 1
                rows.events["cut"] += len(ids) > self.room
                kept = ids[: self.room]
                rows.add(kept, [len(kept)])
            return rows
        marked = [[sentence[0], *(self._blank + word for word in sentence[1:])] for sentence in sentences]
        self._learn({word for sentence in marked for word in sentence})
        for sentence in marked:
            self._add_windows(rows, sentence)
        return rows

    def word_ids(self, words: Sequence[str]) -> list[np.ndarray]:
        """The ids of words as they stand inside a sentence; none for what the tokenizer reads as nothing."""
        ids = self.vocabulary.encode_batch([self._blank + word for word in words], self.language)
        return [np.asarray(found, dtype=np.int64) for found in ids]

    def _learn(self, words: set[str]) -> None:
        if len(self._words) > _REMEMBERED:
            self._words.clear()
        new = sorted(words - self._words.keys())
        if new:
            ids = self.vocabulary.encode_batch(new, self.language)
            self._words.update((word, np.asarray(found, dtype=np.int64)) for word, found in zip(new, ids, strict=True))

    def _add_windows(self, rows: Rows, words: Sequence[str]) -> None:
        """Add one sentence: in as few windows as hold it, each of whole words."""
        window: list[np.ndarray] = []
        taken = windows = 0
        for word in words:
            ids = self._words[word]
            if not len(ids):
                ids = self._unknown
                rows.events["unread"] += 1
            rows.events["cut"] += len(ids) > self.room
            ids = ids[: self.room]
            if taken + len(ids) > self.room:
                rows.add(np.concatenate(window), [len(part) for part in window], begins=not windows)
                window, taken = [], 0
                windows += 1
            window.append(ids)
            taken += len(ids)
        rows.add(np.concatenate(window), [len(part) for part in window], begins=not windows)
        rows.events["split"] += windows > 0

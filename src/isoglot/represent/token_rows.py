"""Token rows of sentences that fit an encoder, and their batches.

A sentence of words is tokenized as written, as in the tasks (:mod:`isoglot.vocab.word_reader`): a word's tokens are
those that cover its letters, and a token with letters of two words is divided. A text that is too long is truncated; a
sentence of words that is too long is divided into windows, so that no word is lost. A text that the tokenizer turns
into no tokens is read as ``[UNK]``; such a word takes the token before it. All three cases are counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.model.protocol import check_room
from isoglot.vocab.word_reader import Pieces, Reader, blank_before_words, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isoglot.represent.sentences import Kind, Sentence
    from isoglot.vocab import Vocabulary


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
        self,
        vocabulary: Vocabulary,
        language: str | None,
        kind: Kind,
        length: int,
        as_read: Callable[[str], str] = str,
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

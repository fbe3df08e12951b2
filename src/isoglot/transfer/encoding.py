"""Sentences as an encoder reads them, and which token each word begins with.

Text goes through the tokenizer as it is written, with the blanks it has and no others, for that is how encoders meet it
in pretraining; words are found again by where their letters are. Where no blanks are written a tokenizer may put two
words into one token: then the words are cut apart and each is read by itself, or they share the token, as the task
wants it. One that reads nothing of a word leaves it to the token before it.

Shapes: ``W`` words, ``N`` tokens of a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from isoglot.core.errors import ConfigError
from isoglot.text.scripts import written_with_blanks
from isoglot.vocab.scheme import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

    from isoglot.vocab import Vocabulary

_CLOSING = frozenset(".,;:!?)]}»%…。，；：！？）】》」』、")
_OPENING = frozenset("([{«（【《「『")
Joined = Literal["apart", "share"]
"""Whether words that the tokenizer puts into one token are cut apart, or begin with the same token."""
_CHUNK = 2048  # sentences encoded at a time


class Pieces(NamedTuple):
    """A sentence in tokens."""

    ids_N: np.ndarray
    """Without special tokens; never empty."""
    firsts_W: np.ndarray
    """The token each word begins with; never falls."""
    unread: int
    """Words the tokenizer read nothing of."""
    joined: int
    """Words that were in one token with the word before."""


@dataclass(frozen=True)
class Reader:
    """How sentences of a language become tokens.

    Args:
        vocabulary: The encoder's.
        language: Of the text; None where the vocabulary has one view for all.
        length: Tokens of a row at most, special ones included.
    """

    vocabulary: Vocabulary
    language: str | None
    length: int

    def __post_init__(self) -> None:
        if self.length < 5:
            raise ConfigError(f"a length of {self.length} leaves no room for words", remedy="give 5 or more")

    @property
    def room(self) -> int:
        """Tokens of a row of one text, special ones left out."""
        return self.length - self.vocabulary.layout.size

    @property
    def pair_room(self) -> int:
        """Tokens of a row of two texts, special ones left out."""
        return self.length - self.vocabulary.layout.pair_size

    @property
    def before(self) -> int:
        """Special tokens before a text."""
        return len(self.vocabulary.layout.before)

    def framed(self, *texts: np.ndarray) -> np.ndarray:
        """The row of one text or of two, with the special tokens that the tokenizer puts around them."""
        return np.array(self.vocabulary.layout.framed([text.tolist() for text in texts]), dtype=np.int64)

    def texts(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The ids of texts; ``[UNK]`` for one that the tokenizer reads as nothing."""
        unknown = [self.vocabulary.unknown_id]
        ids = self.vocabulary.encode_batch(texts, self.language)
        return [np.asarray(found or unknown, dtype=np.int64) for found in ids]

    def words(
        self,
        sentences: Sequence[Sequence[str]],
        blanks: Sequence[Sequence[bool] | None],
        *,
        joined: Joined = "apart",
    ) -> list[Pieces]:
        """The tokens of sentences of words, none of them empty.

        Args:
            sentences: The words of each.
            blanks: Whether a blank follows each word; None: as it usually is.
            joined: What becomes of words that the tokenizer puts into one token.
        """
        tokenizer = self.vocabulary.tokenizer(self.language)
        unknown = self.vocabulary.unknown_id
        found = []
        for start in range(0, len(sentences), _CHUNK):
            chunk = range(start, min(start + _CHUNK, len(sentences)))
            lines = [
                written(sentences[i], blanks[i] or usual_blanks(sentences[i], self.language or "en")) for i in chunk
            ]
            encodings = tokenizer.encode_batch([text for text, _ in lines], add_special_tokens=False)
            for i, (_, places), encoding in zip(chunk, lines, encodings, strict=True):
                pieces = _found(encoding.ids or [unknown], encoding.offsets, places)
                if pieces.joined and joined == "apart":
                    pieces = _apart(tokenizer, sentences[i], pieces)
                found.append(pieces)
        return found


def _found(ids: Sequence[int], offsets: Sequence[tuple[int, int]], places: Sequence[tuple[int, int]]) -> Pieces:
    """The first token of each word: the first that ends behind the word's beginning, if it begins before its end."""
    ids_N = np.asarray(ids, dtype=np.int64)
    begins_W, stops_W = np.asarray(places, dtype=np.int64).T
    if not offsets:
        return Pieces(ids_N, np.zeros(len(places), dtype=np.int64), len(places), 0)
    starts_N, ends_N = np.asarray(offsets, dtype=np.int64).T
    firsts_W = np.searchsorted(np.maximum.accumulate(ends_N), begins_W, side="right")
    read_W = firsts_W < len(ids_N)
    read_W &= starts_N[np.minimum(firsts_W, len(ids_N) - 1)] < stops_W
    firsts_W = np.maximum(np.where(read_W, firsts_W, firsts_W - 1), 0)
    joined = int(((np.diff(firsts_W) == 0) & read_W[1:]).sum())
    return Pieces(ids_N, firsts_W, int((~read_W).sum()), joined)


def _apart(tokenizer: Tokenizer, words: Sequence[str], pieces: Pieces) -> Pieces:
    """The words of every token that holds several, and the tokens up to the next word, each read by itself."""
    ids: list[int] = []
    firsts = []
    ends_W = np.append(pieces.firsts_W[1:], len(pieces.ids_N))
    word = 0
    while word < len(words):
        last = word + 1  # behind the words that begin with one token
        while last < len(words) and pieces.firsts_W[last] == pieces.firsts_W[word]:
            last += 1
        first, end = int(pieces.firsts_W[word]), int(ends_W[last - 1])
        if last == word + 1:
            firsts.append(len(ids))
            ids += pieces.ids_N[first:end].tolist()
        else:
            mark = MARK if (tokenizer.id_to_token(int(pieces.ids_N[first])) or "").startswith(MARK) else ""
            for number in range(word, last):
                own = tokenizer.model.tokenize((mark if number == word else "") + words[number])
                firsts.append(len(ids) if own else max(0, len(ids) - 1))
                ids += [token.id for token in own]
        word = last
    return Pieces(np.array(ids, dtype=np.int64), np.array(firsts, dtype=np.int64), pieces.unread, pieces.joined)


def written(words: Sequence[str], blanks: Sequence[bool]) -> tuple[str, list[tuple[int, int]]]:
    """The text of words, and where each begins and ends in it.

    >>> written(["It", "rains", "."], [True, False, False])
    ('It rains.', [(0, 2), (3, 8), (8, 9)])
    """
    parts: list[str] = []
    places = []
    at = 0
    for word, blank in zip(words, blanks, strict=True):
        parts.append(word)
        places.append((at, at + len(word)))
        at += len(word) + blank
        if blank:
            parts.append(" ")
    return "".join(parts), places


def usual_blanks(words: Sequence[str], language: str) -> list[bool]:
    """Where blanks usually are, for words that come without: before no sign that closes, behind none that opens.

    >>> usual_blanks(["He", "(", "Jo", ")", "left", "."], "en")
    [True, False, False, True, False, False]
    """
    if not written_with_blanks(language):
        return [False] * len(words)
    following = [*words[1:], "."]
    return [word not in _OPENING and after not in _CLOSING for word, after in zip(words, following, strict=True)]


class Window(NamedTuple):
    """Some words of a sentence, and their tokens."""

    words: range
    tokens: range
    lost: int = 0
    """Tokens of a word longer than a window that are not in it."""


def windows(firsts_W: np.ndarray, tokens: int, room: int) -> list[Window]:
    """A sentence in as few windows as hold it, each beginning with a word; a word longer than one is cut.

    >>> windows(np.array([0, 2, 3]), 7, 3)
    [Window(words=range(0, 2), tokens=range(0, 3), lost=0), Window(words=range(2, 3), tokens=range(3, 6), lost=1)]
    """
    ends_W = np.append(firsts_W[1:], tokens)
    ends_W = np.maximum(ends_W, firsts_W + 1)
    found = []
    word = 0
    while word < len(firsts_W):
        begin = int(firsts_W[word])
        last = word + 1
        while last < len(firsts_W) and ends_W[last] - begin <= room:
            last += 1
        end = int(ends_W[last - 1])
        stop = min(end, begin + room)
        found.append(Window(range(word, last), range(begin, stop), end - stop))
        word = last
    return found

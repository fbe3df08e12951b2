"""Encoding of sentences as in pretraining, with the tokens of each word: for tasks, maps and word averages.

Text is encoded as written, without added blanks, and with the text processing of the vocabulary. Tokens are assigned to
words by character offsets; a mark that is a token by itself has none. If a token has characters of two words, it is
either split where the second word begins, and each part encoded separately, or shared by the words. A word without any
token is assigned to the token before it.

Shape legend: ``W`` words, ``N`` tokens of a sentence.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from isoglot.core.errors import check_range
from isoglot.text.cleaning.scripts import written_with_blanks
from isoglot.vocab.subword_scheme import MARK, normal_form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.vocab.vocabulary import Vocabulary


_CLOSING = frozenset(".,;:!?)]}»%…。，；：！？）】》」』、")
_OPENING = frozenset("([{«（【《「『")
Joined = Literal["apart", "share"]  # whether a token with characters of several words is split or shared by the words
_CHUNK = 2048  # sentences encoded at a time


class Pieces(NamedTuple):
    """Sentence in tokens."""

    ids_N: np.ndarray  # ids without special tokens; never empty
    firsts_W: np.ndarray  # the first token of each word, non-decreasing
    ends_W: np.ndarray  # the position after the last token of each word; at least one after the first
    unread: int  # number of words without tokens
    joined: int  # number of words that shared a token with the word before


@dataclass(frozen=True)
class Reader:
    """Encoder of sentences of a language to tokens.

    Args:
        vocabulary: The vocabulary of the encoder.
        language: The language of the text; None if the vocabulary has one view for all.
        length: Maximum number of tokens of a row, including special tokens.
    """

    vocabulary: Vocabulary
    language: str | None
    length: int

    def __post_init__(self) -> None:
        check_range("length", self.length, 5)

    @property
    def room(self) -> int:
        """Maximum number of tokens of a row of one text, without special tokens."""
        return self.length - self.vocabulary.layout.size

    @property
    def pair_room(self) -> int:
        """Maximum number of tokens of a row of two texts, without special tokens."""
        return self.length - self.vocabulary.layout.pair_size

    @property
    def before(self) -> int:
        """The number of special tokens before a text."""
        return len(self.vocabulary.layout.before)

    def framed(self, *texts: np.ndarray) -> np.ndarray:
        """Add the special tokens of the tokenizer to a row of one or two texts."""
        return np.array(self.vocabulary.layout.framed([text.tolist() for text in texts]), dtype=np.int64)

    def texts(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Encode texts; a text without tokens becomes ``[UNK]``."""
        unknown = [self.vocabulary.unknown_id]
        ids = self.vocabulary.encode_batch(texts, self.language)
        return [np.asarray(found or unknown, dtype=np.int64) for found in ids]

    def words(
        self, sentences: Sequence[Sequence[str]], blanks: Sequence[Sequence[bool] | None], *, joined: Joined = "apart"
    ) -> list[Pieces]:
        """Encode sentences given as non-empty words.

        Args:
            sentences: The words of each sentence.
            blanks: Whether a blank follows each word. Default: by the usual rules of punctuation.
            joined: How to treat tokens with characters of several words.
        """
        unknown = self.vocabulary.unknown_id
        found = []
        for start in range(0, len(sentences), _CHUNK):
            chunk = range(start, min(start + _CHUNK, len(sentences)))
            lines = [
                written(sentences[i], blanks[i] or usual_blanks(sentences[i], self.language or "en")) for i in chunk
            ]
            encodings = self.vocabulary.encode_with_offsets([text for text, _ in lines], self.language)
            for (text, places), (ids, offsets) in zip(lines, encodings, strict=True):
                pieces = _found(ids or [unknown], offsets, places)
                if pieces.joined and joined == "apart":
                    cut = self._cut_apart(text, [begin for begin, _ in places], ids, offsets)
                    pieces = _found(*cut, places)._replace(joined=pieces.joined)
                found.append(pieces)
        return found

    def _cut_apart(
        self, text: str, begins: Sequence[int], ids: Sequence[int], offsets: Sequence[tuple[int, int]]
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Split tokens with characters of several words where words begin."""
        cut_ids: list[int] = []
        cut_offsets: list[tuple[int, int]] = []
        for index, (start, end) in zip(ids, offsets, strict=True):
            lead = len(text[start:end]) - len(text[start:end].lstrip())  # the blank that is part of the token
            inner = begins[bisect_right(begins, start + lead) : bisect_left(begins, end)]
            if not inner:
                cut_ids.append(index)
                cut_offsets.append((start, end))
                continue
            for first, last in pairwise([start, *inner, end]):
                own = self._part(text[first:last].strip(), index if first == start else None)
                cut_ids += own
                cut_offsets += [(first, last)] * len(own)
        return cut_ids, cut_offsets

    def _part(self, part: str, opening: int | None) -> list[int]:
        """Encode a part of a token; the first part keeps the mark of the token."""
        vocabulary = self.vocabulary
        tokenizer = vocabulary.tokenizer(self.language)
        piece = "" if opening is None else tokenizer.id_to_token(opening) or ""
        if vocabulary.mode != "given":
            part = normal_form(vocabulary.about.get("normalization", "none"))(part)
        elif vocabulary.is_byte_level:
            blank = " " if piece.startswith("Ġ") else ""
            return tokenizer.encode(blank + part, add_special_tokens=False).ids
        elif tokenizer.normalizer is not None:
            part = tokenizer.normalizer.normalize_str(part)
        return [token.id for token in tokenizer.model.tokenize((MARK if piece.startswith(MARK) else "") + part)]


def _found(ids: Sequence[int], offsets: Sequence[tuple[int, int]], places: Sequence[tuple[int, int]]) -> Pieces:
    """The tokens of each word: from the first that ends after its start to the last that starts before its end."""
    ids_N = np.asarray(ids, dtype=np.int64)
    begins_W, stops_W = np.asarray(places, dtype=np.int64).T
    if not offsets:
        firsts_W = np.zeros(len(places), dtype=np.int64)
        return Pieces(ids_N, firsts_W, firsts_W + 1, len(places), 0)
    starts_N, ends_N = np.asarray(offsets, dtype=np.int64).T
    firsts_W = np.searchsorted(np.maximum.accumulate(ends_N), begins_W, side="right")
    read_W = firsts_W < len(ids_N)
    read_W &= starts_N[np.minimum(firsts_W, len(ids_N) - 1)] < stops_W
    firsts_W = np.maximum(np.where(read_W, firsts_W, firsts_W - 1), 0)
    ends_W = np.searchsorted(np.maximum.accumulate(starts_N), stops_W, side="left")
    ends_W = np.where(read_W, np.maximum(ends_W, firsts_W + 1), firsts_W + 1)
    joined = int(((np.diff(firsts_W) == 0) & read_W[1:]).sum())
    return Pieces(ids_N, firsts_W, ends_W, int((~read_W).sum()), joined)


def written(words: Sequence[str], blanks: Sequence[bool]) -> tuple[str, list[tuple[int, int]]]:
    """The text of words with the start and end of each; a blank after the last word is dropped.

    >>> written(["It", "rains", "."], [True, False, True])
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
    return "".join(parts).rstrip(" "), places


def usual_blanks(words: Sequence[str], language: str) -> list[bool]:
    """Guess whether a blank follows each word: not before closing and after opening punctuation.

    Twins have a blank between all words.

    >>> usual_blanks(["He", "(", "Jo", ")", "left", "."], "en")
    [True, False, False, True, False, False]
    """
    if "-x-" in language:
        return [True] * len(words)
    if not written_with_blanks(language):
        return [False] * len(words)
    following = [*words[1:], "."]
    return [word not in _OPENING and after not in _CLOSING for word, after in zip(words, following, strict=True)]


class Window(NamedTuple):
    """Window of words of a sentence, and their tokens."""

    words: range
    tokens: range
    lost: int = 0  # number of tokens cut off from a word longer than the window


def windows(firsts_W: np.ndarray, tokens: int, room: int) -> list[Window]:
    """Divide a sentence into as few windows as possible, each beginning with a word; longer words are truncated.

    Tokens before the first word (a mark that is a token by itself) belong to the first window.

    >>> windows(np.array([0, 2, 3]), 7, 3)
    [Window(words=range(0, 2), tokens=range(0, 3), lost=0), Window(words=range(2, 3), tokens=range(3, 6), lost=1)]
    """
    ends_W = np.append(firsts_W[1:], tokens)
    ends_W = np.maximum(ends_W, firsts_W + 1)
    found = []
    word = 0
    while word < len(firsts_W):
        begin = int(firsts_W[word]) if word else 0
        last = word + 1
        while last < len(firsts_W) and ends_W[last] - begin <= room:
            last += 1
        end = int(ends_W[last - 1])
        stop = min(end, begin + room)
        found.append(Window(range(word, last), range(begin, stop), end - stop))
        word = last
    return found


def whole_words(vocabulary: Vocabulary, language: str | None = None) -> dict[str, int]:
    """The words of a language that are a single subword, without the mark, with their ids.

    They are sorted by frequency if the vocabulary has counts, else by id. A word is listed if the tokenizer encodes it,
    as inside a sentence, as exactly that subword.

    Args:
        vocabulary: Any vocabulary.
        language: A canonical code. All words if it is None or the vocabulary does not know the subwords of languages.

    Raises:
        ConfigError: The vocabulary does not have the language, or encodes by language and none is named.
    """
    known = language is not None and (language in vocabulary.languages or not vocabulary.languages)
    ids_N = vocabulary.ids_of(language) if known and language else np.arange(len(vocabulary))
    counts_V = vocabulary.counts(language) if known and language else None
    if counts_V is not None:
        ids_N = ids_N[np.argsort(-counts_V[ids_N], kind="stable")]
    named = [
        (word, index)
        for index in ids_N.tolist()
        if (bare := vocabulary.word(index)) is not None
        for word in dict.fromkeys((vocabulary.decode([index]).strip(), bare))  # byte-level subwords must be decoded
        if word.split() == [word]
    ]
    blank = blank_before_words(vocabulary, language)
    read = vocabulary.encode_batch([blank + word for word, _ in named], language)
    found: dict[str, int] = {}
    for (word, index), ids in zip(named, read, strict=True):
        if ids == [index]:
            found.setdefault(word, index)
    return found


def blank_before_words(vocabulary: Vocabulary, language: str | None) -> str:
    """The text to put before a word inside a sentence: a blank for byte-level tokenizers such as RoBERTa's.

    Other tokenizers mark words themselves, and would encode the blank as a subword.
    """
    if vocabulary.mode != "given":
        return ""
    bare, spaced = (vocabulary.encode(text, language) for text in ("a", " a"))
    opens = [bool(ids) and vocabulary.pieces[ids[0]].startswith("Ġ") for ids in (bare, spaced)]
    return " " if opens == [False, True] else ""

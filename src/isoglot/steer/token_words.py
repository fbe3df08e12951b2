"""Words in rows of token ids: their boundaries and text.

A word ends where a token ends it or begins another, or where letters, digits and other characters meet. In Chinese
characters, kana and the scripts of South-East Asia, which are written without spaces, every token is a word.

Shapes: ``V`` vocabulary, ``N`` tokens.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from isoglot.text.cleaning.scripts import RANGES
from isoglot.vocab.subword_scheme import BYTES, CONTINUES, MARK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.vocab import Vocabulary

_LETTERS, _DIGITS, _SIGNS, _UNSPACED, _BLANK = range(5)
_UNSPACED_RANGES = [
    span for script in ("Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tibt") for span in RANGES[script]
]


class WordFinder:
    """Finds the words in rows of ids of a vocabulary, independent of language."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        special = set(vocabulary.special.values())
        self._kinds_V = np.array(
            [_SIGNS if index in special else _kind(piece) for index, piece in enumerate(vocabulary.pieces)]
        )
        self._texts: dict[tuple[int, ...], str] = {}

    def spans(self, ids_N: np.ndarray) -> list[tuple[int, int]]:
        """Start and end position of every word."""
        if not len(ids_N):
            return []
        kinds_N = self._kinds_V[ids_N]
        opens_N = (kinds_N == _UNSPACED) | (kinds_N != np.roll(kinds_N, 1))
        opens_N &= np.roll(kinds_N, 1) != _BLANK  # a blank token before a word is part of it
        opens_N |= self.vocabulary.starts[ids_N] | np.roll(self.vocabulary.ends[ids_N], 1)
        opens_N[0] = True
        firsts = np.flatnonzero(opens_N).tolist()
        return list(zip(firsts, [*firsts[1:], len(ids_N)], strict=True))

    def text(self, ids: Sequence[int]) -> str:
        """Text of some tokens, without surrounding spaces."""
        key = tuple(ids)
        found = self._texts.get(key)
        if found is None:
            found = self._texts[key] = self.vocabulary.decode(key).strip()
        return found


def _kind(piece: str) -> int:
    """Character class of a token, by its first character."""
    if piece in BYTES:
        return _LETTERS
    bare = piece.removeprefix(CONTINUES) or piece
    bare = bare.removeprefix(MARK).removeprefix("Ġ")
    if not bare:
        return _BLANK
    code = ord(bare[0])
    if any(first <= code <= last for first, last in _UNSPACED_RANGES):
        return _UNSPACED
    category = unicodedata.category(bare[0])
    if category[0] in "LM" or category == "Co":
        return _LETTERS
    return _DIGITS if category[0] == "N" else _SIGNS

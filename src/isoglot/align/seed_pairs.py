"""Where a dictionary of row numbers comes from: word lists, words written alike, numerals.

Shape legend: ``P`` pairs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.text.dictionary import Entry

_NUMERAL = re.compile(r"[0-9]+")


def dictionary_pairs(entries: Iterable[Entry], source_words: Sequence[str], target_words: Sequence[str]) -> np.ndarray:
    """The rows of the entries whose two words are both there, P × 2, each pair once, in the order of the entries.

    Raises:
        InputError: There is none; the message says how many words were found of how many.
    """
    entries = list(entries)
    source, target = _places(source_words), _places(target_words)
    pairs = [(source[e.source], target[e.target]) for e in entries if e.source in source and e.target in target]
    if not pairs:
        words = {e.source for e in entries}, {e.target for e in entries}
        raise InputError(
            f"no entry of {len(entries)} has both words among the vectors: {len(words[0] & source.keys())} of "
            f"{len(words[0])} source words and {len(words[1] & target.keys())} of {len(words[1])} target words found",
            remedy="check the languages, their order and the case of the words",
        )
    return np.array(list(dict.fromkeys(pairs)), dtype=np.int64)


def identical_pairs(source_words: Sequence[str], target_words: Sequence[str]) -> np.ndarray:
    """The rows of words written alike in both languages, P × 2, in the order of the source.

    >>> identical_pairs(["the", "taxi", "1984"], ["1984", "le", "taxi"]).tolist()
    [[1, 2], [2, 0]]

    Raises:
        InputError: There is none.
    """
    return _shared(source_words, target_words, "words")


def numeral_pairs(source_words: Sequence[str], target_words: Sequence[str]) -> np.ndarray:
    """The rows of the same numerals (0 to 9 only) in both languages, P × 2: a seed for any two scripts.

    Raises:
        InputError: There is none.
    """
    numerals = [word if _NUMERAL.fullmatch(word) else "" for word in source_words]
    return _shared(numerals, target_words, "numerals")


def _shared(source_words: Sequence[str], target_words: Sequence[str], what: str) -> np.ndarray:
    source, target = _places(source_words), _places(target_words)
    pairs = [(row, target[word]) for word, row in source.items() if word and word in target]
    if not pairs:
        raise InputError(
            f"0 {what} of {len(source_words)} are among the {len(target_words)} target words",
            remedy="give a dictionary",
        )
    return np.array(pairs, dtype=np.int64)


def _places(words: Sequence[str]) -> dict[str, int]:
    places: dict[str, int] = {}
    for row, word in enumerate(words):
        places.setdefault(word, row)
    return places

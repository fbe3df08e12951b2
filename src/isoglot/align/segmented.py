"""Sentence pairs as lists of words, from running text."""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Literal

from isoglot.align.bitext import read_rows
from isoglot.text.segment import split_words, word_method

if TYPE_CHECKING:
    from isoglot.align.bitext import Files

Segmenting = Literal["auto", "blanks", "unicode", "moses", "jieba", "thai", "characters"]
"""``auto`` suits each language; ``blanks``: there is a blank between all words, wherever it is written."""


def read_word_pairs(
    files: Files, languages: tuple[str, str], segment: Segmenting = "auto", sentences: int | None = None
) -> list[tuple[list[str], list[str]]]:
    """The words of the first sentence pairs, or of all; blank and one-sided pairs are there too: lines stay lines.

    Words know which blanks the text has between them, unless it came with a blank between all words.

    Raises:
        ConfigError: The method is not for one of the languages.
        InputError: The numbers of lines differ (the message has both), or a table is malformed.
        MissingPartError: The method needs a library that is not installed.
        StorageError: A file cannot be read.
    """
    first, second = (
        str.split
        if segment == "blanks"
        else partial(split_words, language=code, method=word_method(code) if segment == "auto" else segment)
        for code in languages
    )
    rows = read_rows(files, languages)
    pairs = [(first(one), second(other)) for _, _, (one, other) in islice(rows, sentences)]
    deque(rows, maxlen=0)  # to the end: files of different lengths are refused however many pairs are wanted
    return pairs

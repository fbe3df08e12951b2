"""Sentence pairs as lists of words, from running text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from isoglot.align.bitext import read_rows
from isoglot.text.segment import segmenter, word_method

if TYPE_CHECKING:
    from isoglot.align.bitext import Files

Segmenting = Literal["auto", "blanks", "unicode", "moses", "jieba", "thai", "characters"]
"""``auto`` suits each language; ``blanks``: the words have blanks between them already."""


def read_word_pairs(
    files: Files, languages: tuple[str, str], segment: Segmenting = "auto"
) -> list[tuple[list[str], list[str]]]:
    """The words of every sentence pair; blank and one-sided pairs are there too, so that lines stay lines.

    Raises:
        ConfigError: The method is not for one of the languages.
        InputError: The numbers of lines differ (the message has both), or a table is malformed.
        MissingPartError: The method needs a library that is not installed.
        StorageError: A file cannot be read.
    """
    first, second = (segmenter(code, word_method(code) if segment == "auto" else segment) for code in languages)
    return [(first(one), second(other)) for _, _, (one, other) in read_rows(files, languages)]

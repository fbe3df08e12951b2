"""Vectors of words: of one subword its own, of several their mean, as both papers do; and other people's as baselines.

Shape legend: ``N`` words, ``D`` dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoglot.core.errors import InputError
from isoglot.core.language_codes import language_code
from isoglot.text.formats.word_vectors import Vectors, read_vectors
from isoglot.vocab.whole_words import blank_before_words, whole_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from isoglot.model import EncoderLike


def word_vectors(table: EncoderLike, words: Sequence[str] | None = None, language: str | None = None) -> Vectors:
    """The vectors of words, each the mean over those of its subwords that have one.

    Args:
        table: Static vectors.
        words: The words, each once; None: all that are one subword of the language, most frequent first if it is known.
        language: Their language, where the vocabulary needs to know it.

    Raises:
        ConfigError: The language is missing, or the vocabulary does not have it.
        InputError: None of the words has a vector.
    """
    vocabulary = table.vocabulary
    code = None if language is None else language_code(language)
    tokens = table.token_table(code)
    matrix, rows_V = tokens.weight_RD.cpu().numpy(), tokens.rows_V
    if words is None:
        words = own_words(table, code)
    blank = blank_before_words(vocabulary, code)
    found: dict[str, np.ndarray] = {}
    each = dict.fromkeys(words)
    for word, ids in zip(each, vocabulary.encode_batch([blank + word for word in each], code), strict=True):
        kept = [rows_V[index] for index in ids if rows_V[index] >= 0]
        if kept:
            found[word] = matrix[kept].mean(axis=0, dtype=np.float64).astype(np.float32)
    if not found:
        raise InputError(
            f"0 of {len(each):,} words have a vector",
            remedy="check the language, and the case of the words",
            code="input.no-match",
        )
    return Vectors(list(found), np.stack(list(found.values())))


def own_words(table: EncoderLike, language: str | None = None) -> list[str]:
    """The words that are one subword with a vector, by frequency where the vocabulary knows it."""
    rows_V = table.token_table(language).rows_V
    return [word for word, index in whole_words(table.vocabulary, language).items() if rows_V[index] >= 0]


def baseline(path: str | Path, first: int | None = None) -> Vectors:
    """The first vectors of any ``.vec`` file: those of its most frequent words.

    Raises:
        InputError: The file holds something else, or nothing.
        StorageError: It cannot be read.
    """
    found = read_vectors(path, limit=first)
    if not found.words:
        raise InputError(
            "there are no vectors", remedy="write a word and its numbers a line", code="input.empty", file=path
        )
    return found


def same_words(vectors: Vectors, words: Iterable[str]) -> Vectors:
    """Only the words that another model has, so that both are asked the same.

    >>> kept = same_words(Vectors(["a", "b"], np.eye(2)), ["b", "c"])
    >>> kept.words, kept.matrix_ND.tolist()
    (['b'], [[0.0, 1.0]])

    Raises:
        InputError: They have no word in common.
    """
    wanted = set(words)
    found = vectors.only(wanted)
    if not found.words:
        raise InputError(
            f"none of {len(vectors):,} words is among the other {len(wanted):,}",
            remedy="check language and case",
            code="input.no-match",
        )
    return found

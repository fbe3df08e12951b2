"""Word vectors from static subword vectors (the mean over a word's subwords, as in both papers), and from files.

Shape legend: ``N`` words, ``D`` dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.language_codes import language_code
from isoglot.model.static_table import INDEX, open_table
from isoglot.text.formats.word_vectors import Vectors, read_vectors, read_words, write_vectors
from isoglot.text.provenance import provenance_of
from isoglot.vocab.word_reader import blank_before_words, whole_words

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

    Returns:
        One row for each word that has a vector.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import torch
    >>> from isoglot.model import TableEncoder
    >>> from isoglot.vocab import train_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = Path(folder) / "en.txt"
    ...     _ = text.write_text("the house is old " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=300)
    >>> size = len(vocabulary)
    >>> table = TableEncoder(torch.ones(size, 3), torch.ones(size, dtype=torch.bool), vocabulary)
    >>> found = word_vectors(table, ["house", "old"], "en")
    >>> found.words, found.dimensions
    (['house', 'old'], 3)

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
        problem = f"0 of {len(each):,} words have a vector"
        raise InputError(problem, "check the language, and the case of the words", "no-match")
    return Vectors(list(found), np.stack(list(found.values())))


def export_words(
    model: Path,
    out: Path,
    words: Path | None = None,
    language: str | None = None,
    *,
    first: int | None = None,
    same_as: Path | None = None,
) -> dict[str, Any]:
    """Write the vectors of words as a ``.vec`` file; returns facts about it.

    Args:
        model: A folder of static vectors, or any ``.vec`` file.
        out: The ``.vec`` file.
        words: A file with the words, one per line; None: all that the model has.
        language: Their language.
        first: Only the first N vectors.
        same_as: Only words that this ``.vec`` file has too, for a fair comparison.

    Raises:
        ConfigError: A file has another format, or the folder holds no static vectors.
        InputError: There are no words, or none has a vector.
        StorageError: A file cannot be read or written.
    """
    check_vec(out)
    wanted = None if words is None else read_words(words)
    if (model / INDEX).exists():
        table = open_table(model)
        origin, found = table.provenance, word_vectors(table, wanted, language)
        found = Vectors(found.words[:first], found.matrix_ND[:first])
    elif model.is_dir():
        remedy = "make them with isoglot static train"
        raise ConfigError(f"{model} holds no static vectors", remedy, "not-supported")
    else:
        origin, found = provenance_of(model), baseline(model, first)
        found = found if wanted is None else same_words(found, wanted)
    if same_as is not None:
        found = same_words(found, baseline(same_as).words)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_vectors(out, found.words, found.matrix_ND, provenance=origin)
    asked = {} if wanted is None else {"asked": len(set(wanted))}
    return {"out": str(out), "words": len(found), "dimensions": int(found.matrix_ND.shape[1]), **asked}


def check_vec(out: Path) -> None:
    """Refuse a file for vectors of words that does not end in ``.vec``.

    Raises:
        ConfigError: It has another ending.
    """
    if out.suffix != ".vec":
        remedy = "vectors of words are text: name it words.vec"
        raise ConfigError(f"--out {shown(str(out))} is not a .vec file", remedy, "malformed-option")


def own_words(table: EncoderLike, language: str | None = None) -> list[str]:
    """The words that are one subword with a vector, by frequency where the vocabulary knows it."""
    rows_V = table.token_table(language).rows_V
    return [word for word, index in whole_words(table.vocabulary, language).items() if rows_V[index] >= 0]


def baseline(path: str | Path, first: int | None = None) -> Vectors:
    """The first vectors of any ``.vec`` file: those of its most frequent words.

    Args:
        path: A ``.vec`` file.
        first: Number of rows to read.

    Returns:
        Words and their vectors.

    >>> import tempfile
    >>> import numpy as np
    >>> from isoglot.text.formats.word_vectors import write_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_vectors(f"{folder}/en.vec", ["the", "house", "old"], np.eye(3))
    ...     baseline(f"{folder}/en.vec", first=2).words
    ['the', 'house']

    Raises:
        InputError: The file holds something else, or nothing.
        StorageError: It cannot be read.
    """
    found = read_vectors(path, limit=first)
    if not found.words:
        raise InputError("there are no vectors", "write a word and its numbers a line", "empty", file=path)
    return found


def same_words(vectors: Vectors, words: Iterable[str]) -> Vectors:
    """Only the words that another model has, so that both are asked the same.

    Args:
        vectors: Words and their vectors.
        words: Words to keep.

    Returns:
        Words and vectors of both, in the order of ``vectors``.

    >>> kept = same_words(Vectors(["a", "b"], np.eye(2)), ["b", "c"])
    >>> kept.words, kept.matrix_ND.tolist()
    (['b'], [[0.0, 1.0]])

    Raises:
        InputError: They have no word in common.
    """
    wanted = set(words)
    found = vectors.only(wanted)
    if not found.words:
        problem = f"none of {len(vectors):,} words is among the other {len(wanted):,}"
        raise InputError(problem, "check language and case", "no-match")
    return found

"""Sides of a retrieval from an encoder: sentences, words over their contexts, or rows of its embedding matrix."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT
from isoglot.represent import embedding_rows, extract, word_types
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.retrieve.layers import Side
from isoglot.text.lines import read_lines
from isoglot.text.segment import segmenter, word_method

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from isoglot.core.progress import Progress
    from isoglot.model import EncoderLike
    from isoglot.represent import Representations
    from isoglot.retrieve.parallel_sets import ParallelSet

Layers = Literal["all"] | list[int]
Pool = Literal["mean", "first"]
"""A sentence is the mean of its subwords, or its first token."""
Case = Literal["auto", "keep", "lower"]
"""Words of a text are compared with the dictionary's as they stand, or in lower case; ``auto`` takes lower case for a
language whose dictionary has no capitals, as MUSE's have none."""


def sentence_sides(
    encoder: EncoderLike,
    parallel: ParallelSet,
    *,
    layers: Layers = "all",
    pool: Pool = "mean",
    name: str = "",
    known: Mapping[str, Side] | None = None,
    progress: Progress = SILENT,
) -> dict[str, Side]:
    """The sentences of a set by language, each language encoded once.

    Args:
        encoder: Any encoder.
        parallel: The set.
        layers: Which layers.
        pool: What a sentence's vector is.
        name: What to call the encoder.
        known: What this gave for another set with the same options: a language with the same sentences is taken over.
        progress: Shows sentences done.

    Raises:
        ConfigError: The encoder does not have such a language or layer.
        InputError: The encoder gives something that is no number.
    """
    sides = {}
    for code, sentences in parallel.sentences.items():
        before = None if known is None else known.get(code)
        if before is not None and (before.items, before.numbers) == (sentences, parallel.numbers):
            sides[code] = before
            continue
        found = extract(encoder, sentences, layers=layers, pool=pool, language=code, name=name, progress=progress)
        layers_of, numbers = _by_layer(found), parallel.numbers
        sides[code] = Side(name=code, layers=layers_of, items=sentences, numbers=numbers, header=found.header)
    return sides


def context_side(
    encoder: EncoderLike,
    texts: Sequence[Path],
    words: Sequence[str],
    language: str,
    *,
    layers: Layers = "all",
    case: Case = "auto",
    contexts: int | None = None,
    limit: int | None = None,
    name: str = "",
    progress: Progress = SILENT,
) -> Side:
    """Words as means over their contexts in texts, which are segmented the way dictionaries have words.

    Args:
        encoder: Any encoder.
        texts: Files with a sentence a line; blank lines are passed over.
        words: What to look for.
        language: Their language.
        layers: ``all``, or numbers.
        case: How words are compared.
        contexts: Sentences of a word that count at most.
        limit: Only the first so many lines of each file.
        name: What to call the encoder.
        progress: Where the work shows how far it is.

    Raises:
        InputError: There is no text, or none of the words is in it.
        MissingPartError: The language's words need a library that is not there.
    """
    compared = case
    if case == "auto":
        compared = "lower" if all(word == word.lower() for word in words) else "keep"
    split = segmenter(language, word_method(language))
    sentences = [cut for path in texts for line in _lines(path, limit) if (cut := split(line))]
    if not sentences:
        raise InputError("there is no sentence", remedy="give text with a sentence a line", file=texts[0])
    try:
        found = word_types(
            encoder,
            sentences,
            list(words),
            layers=layers,
            case="lower" if compared == "lower" else "keep",
            contexts=contexts,
            language=language,
            name=name,
            progress=progress,
        )
    except InputError as error:
        raise InputError(error.problem, remedy=error.remedy, file=texts[0]) from error
    return Side(name=language, layers=_by_layer(found), items=found.words or (), header=found.header)


def embedding_side(encoder: EncoderLike, words: Sequence[str], language: str) -> Side:
    """Words that are one subword, as rows of the embedding matrix.

    Raises:
        ConfigError: The encoder shows no embedding matrix.
        InputError: None of the words is one subword.
    """
    found = embedding_rows(encoder, words, language)
    header = {"encoder_sha256": encoder_hash(encoder), "language": language}
    return Side(name=language, layers={None: found.vectors_ND}, items=found.words, header=header)


def _by_layer(found: Representations) -> dict[int | None, np.ndarray]:
    return {layer: found[layer] for layer in found.layers}


def _lines(path: Path, limit: int | None) -> Iterator[str]:
    return islice((line for _, line in read_lines(path) if line.strip()), limit)

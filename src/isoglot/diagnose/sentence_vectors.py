"""Sentences of a check-up, built-in or the user's without repeated rows, and their vectors in every layer."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from isoglot.compare.parallel_sentences import SENTENCES
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import counted
from isoglot.core.rng import derive_seed
from isoglot.diagnose.retrieval import fold_numbers
from isoglot.languages import LANGUAGES
from isoglot.languages.builtin import builtin_rows
from isoglot.represent import extract
from isoglot.represent.extraction import pool_in_words
from isoglot.retrieve.parallel_sets import ParallelSet
from isoglot.text.formats.parallel import unrepeated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from isoglot.core.progress import Progress
    from isoglot.diagnose.config import DiagnoseConfig
    from isoglot.model import EncoderLike
    from isoglot.represent import Representations
    from isoglot.represent.extraction import Pool
    from isoglot.represent.layer_pass import Layers

FEWEST = 10
"""The smallest number of sentences of a check-up."""
MOST = 2000
"""Default number of sentences taken from files: intervals of about two points."""


def builtin_languages_of(encoder: EncoderLike) -> list[str]:
    """Built-in languages and twins that an encoder knows; all built-in languages if it does not say what it knows.

    A twin with other word frequencies (``freq``) has no sentences parallel to other languages and is left out.

    Raises:
        ConfigError: Fewer than two are built in.
    """
    known = encoder.vocabulary.languages
    codes = [
        code for code in known or LANGUAGES if code.partition("-x-")[0] in LANGUAGES and "freq" not in code.split("-")
    ]
    if len(codes) < 2:
        raise ConfigError(
            f"the encoder knows {', '.join(known)}, fewer than two of which are built in",
            remedy="give parallel sentences in its languages",
            code="config.built-in-language",
        )
    return codes


def builtin_set(languages: Sequence[str], sentences: int = SENTENCES, *, seed: int = 0) -> ParallelSet:
    """Distinct parallel test sentences of built-in languages and twins (:mod:`isoglot.languages.builtin`).

    Raises:
        ConfigError: A language is not built in, or there is only one.
    """
    if len(languages) < 2:
        raise ConfigError(
            f"only one language, {', '.join(languages)}",
            remedy="name two or more, or give parallel files",
            code="config.other-language",
        )
    rows = list(islice(unrepeated(builtin_rows(languages, seed=derive_seed(seed, "check-up"))), sentences))
    kept = {code: [row[place] for _, row in rows] for place, code in enumerate(languages)}
    return ParallelSet(name="built-in sentences", sentences=kept, numbers=list(range(1, sentences + 1)))


def distinct_rows(given: ParallelSet) -> ParallelSet:
    """Remove rows that repeat a sentence of an earlier row in any language.

    >>> rows = ParallelSet(name="x", sentences={"en": ["a", "b"] * 10, "de": list("cdefghijklmnopqrstuv")},
    ...                    numbers=list(range(20)))
    >>> distinct_rows(rows)
    Traceback (most recent call last):
    isoglot.core.errors.InputError: x: 2 different sentences; give at least 10, preferably some hundreds

    Raises:
        InputError: Fewer are left than a check-up needs.
    """
    kept = given.without_repeats()
    if len(kept) < FEWEST:
        raise InputError(
            f"{counted(len(kept), 'different sentences')}",
            remedy=f"give at least {FEWEST}, preferably some hundreds",
            code="input.too-few",
            file=given.name,
        )
    return kept


@dataclass(frozen=True, kw_only=True)
class EncodedSet:
    """Parallel sentences with their vectors by language."""

    name: str
    texts: Mapping[str, Sequence[str]]
    vectors: Mapping[str, Representations]
    pairs: list[tuple[str, str]]
    folds_N: np.ndarray

    def __len__(self) -> int:
        return len(self.folds_N)


def encode_sets(
    encoder: EncoderLike,
    sets: Sequence[ParallelSet],
    *,
    layers: Layers,
    pool: Pool,
    config: DiagnoseConfig,
    name: str,
    progress: Progress,
) -> tuple[list[EncodedSet], tuple[str, ...]]:
    """Encode every set, and return remarks about what was left out.

    Raises:
        ConfigError: The encoder lacks a language or layer, or no pair contains the pivot.
        InputError: There are too few sentences, or vectors are not finite.
    """
    remarks = [f"{said}." for said in pool_in_words(encoder, pool)]
    encoded = []
    chosen = [distinct_rows(one) for one in sets]  # check all before encoding the first
    for one in chosen:
        pairs = one.pairs if config.pivot is None else [pair for pair in one.pairs if config.pivot in pair]
        if not pairs:
            there = ", ".join(one.sentences)
            raise ConfigError(
                f"no pair of languages with {config.pivot} in {one.name}",
                remedy=f"choose among {there}",
                code="config.missing-data",
            )
        remarks += [f"{said}." for said in one.remarks]
        vectors = {
            code: extract(encoder, texts, layers=layers, pool=pool, language=code, name=name, progress=progress)
            for code, texts in one.sentences.items()
        }
        folds_N = fold_numbers(len(one), config.folds, seed=config.seed)
        encoded.append(EncodedSet(name=one.name, texts=one.sentences, vectors=vectors, pairs=pairs, folds_N=folds_N))
    return encoded, tuple(remarks)

"""The sentences of a check-up: the built-in ones, or the user's without rows that cannot be told apart.

Sentences to vectors: every language of every set, in every layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from isoglot.compare.parallel_sentences import SENTENCES
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import counted
from isoglot.core.rng import derive_seed
from isoglot.diagnose.retrieval import fold_numbers
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
"""Sentences, below which there is nothing to fit, to shuffle or to draw from."""


def builtin_set(languages: Sequence[str], sentences: int = SENTENCES, *, seed: int = 0) -> ParallelSet:
    """Sentences of built-in languages that say the same, from the test part of the world; none stands twice.

    A twin, such as ``en-x-shift``, has its sentences made of its language's
    (:mod:`isoglot.languages.builtin`).

    Raises:
        ConfigError: A language is not built in, or there is only one.
    """
    if len(languages) < 2:
        raise ConfigError(
            f"one language, {', '.join(languages)}",
            remedy="name two or more, or give files with --parallel",
            code="config.other-language",
        )
    rows = list(islice(unrepeated(builtin_rows(languages, seed=derive_seed(seed, "check-up"))), sentences))
    kept = {code: [row[place] for _, row in rows] for place, code in enumerate(languages)}
    return ParallelSet(name="built-in sentences", sentences=kept, numbers=list(range(1, sentences + 1)))


def distinct_rows(given: ParallelSet) -> ParallelSet:
    """The set without rows that repeat a sentence of an earlier one, in any language.

    >>> rows = ParallelSet(name="x", sentences={"en": ["a", "b"] * 10, "de": list("cdefghijklmnopqrstuv")},
    ...                    numbers=list(range(20)))
    >>> distinct_rows(rows)
    Traceback (most recent call last):
    isoglot.core.errors.InputError: x: 2 different sentences; give at least 10, better some hundreds

    Raises:
        InputError: Fewer are left than a check-up needs.
    """
    kept = given.without_repeats()
    if len(kept) < FEWEST:
        raise InputError(
            f"{counted(len(kept), 'different sentences')}",
            remedy=f"give at least {FEWEST}, better some hundreds",
            code="input.too-few",
            file=given.name,
        )
    return kept


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """A set with its vectors by language."""

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
) -> tuple[list[Encoded], tuple[str, ...]]:
    """Encode every set, each language once, and say what was left out.

    Raises:
        ConfigError: The encoder lacks a language or layer, or the pivot is none of the languages.
        InputError: There are too few sentences, or the encoder gives something that is no number.
    """
    remarks = [f"{said}." for said in pool_in_words(encoder, pool)]
    encoded = []
    chosen = [distinct_rows(one) for one in sets]  # all of them are looked at before the first is encoded
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
        encoded.append(Encoded(name=one.name, texts=one.sentences, vectors=vectors, pairs=pairs, folds_N=folds_N))
    return encoded, tuple(remarks)

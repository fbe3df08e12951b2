"""Sentences of a check-up without repeated rows, and their vectors in every layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import counted
from isoglot.diagnose.retrieval import fold_numbers
from isoglot.represent import extract
from isoglot.represent.extraction import pool_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from isoglot.core.progress import Progress
    from isoglot.diagnose.checkup import DiagnoseConfig
    from isoglot.model import EncoderLike
    from isoglot.represent import Representations
    from isoglot.represent.extraction import Pool
    from isoglot.represent.layer_pass import Layers
    from isoglot.retrieve.parallel_sets import ParallelSet

FEWEST = 10
"""The smallest number of sentences of a check-up."""
MOST = 2000
"""Default number of sentences taken from files: intervals of about two points."""


def distinct_rows(given: ParallelSet) -> ParallelSet:
    """Remove rows that repeat a sentence of an earlier row in any language.

    Args:
        given: Parallel sentences.

    Returns:
        The rows that remain.

    >>> from isoglot.retrieve.parallel_sets import ParallelSet
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
            f"give at least {FEWEST}, preferably some hundreds",
            "too-few",
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
                f"no pair of languages with {config.pivot} in {one.name}", f"choose among {there}", "missing-data"
            )
        remarks += [f"{said}." for said in one.remarks]
        vectors = {
            code: extract(encoder, texts, layers=layers, pool=pool, language=code, name=name, progress=progress)
            for code, texts in one.sentences.items()
        }
        folds_N = fold_numbers(len(one), config.folds, seed=config.seed)
        encoded.append(EncodedSet(name=one.name, texts=one.sentences, vectors=vectors, pairs=pairs, folds_N=folds_N))
    return encoded, tuple(remarks)

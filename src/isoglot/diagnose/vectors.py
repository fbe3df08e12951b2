"""Sentences to vectors: every language of every set, in every layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError
from isoglot.diagnose.found import fold_numbers
from isoglot.diagnose.sentences import distinct_rows
from isoglot.represent import extract
from isoglot.represent.extraction import pool_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from isoglot.core.progress import Progress
    from isoglot.diagnose.settings import DiagnoseConfig
    from isoglot.model import EncoderLike
    from isoglot.represent import Representations
    from isoglot.represent.extraction import Pool
    from isoglot.represent.layer_pass import Layers
    from isoglot.retrieve.parallel_sets import ParallelSet


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
            raise ConfigError(f"no pair of languages with {config.pivot} in {one.name}", remedy=f"choose among {there}")
        remarks += [f"{said}." for said in one.remarks]
        vectors = {
            code: extract(encoder, texts, layers=layers, pool=pool, language=code, name=name, progress=progress)
            for code, texts in one.sentences.items()
        }
        folds_N = fold_numbers(len(one), config.folds, seed=config.seed)
        encoded.append(Encoded(name=one.name, texts=one.sentences, vectors=vectors, pairs=pairs, folds_N=folds_N))
    return encoded, tuple(remarks)

"""Alignment of embedding matrices, for single-subword words (Wu et al. 2020, Figure 4a).

Word vectors from files work too: static vectors are the baseline of encoders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.align.layer_maps import LayerRows, check_dimensions, fit_alignment
from isoglot.align.maps.config import AlignConfig
from isoglot.align.word_pairs import WordSplit
from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT
from isoglot.represent import embedding_rows
from isoglot.retrieve.words import MOST_ROWS
from isoglot.text.formats.word_vectors import Vectors

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import torch

    from isoglot.align.alignment import Alignment
    from isoglot.core.progress import Progress
    from isoglot.model.protocol import EncoderLike
    from isoglot.text.formats.dictionary import Entry


def align_embeddings(
    source: EncoderLike | Vectors,
    target: EncoderLike | Vectors,
    train: Sequence[Entry],
    test: Sequence[Entry] | None = None,
    *,
    languages: tuple[str, str],
    words: tuple[Collection[str] | None, Collection[str] | None] = (None, None),
    config: AlignConfig | None = None,
    seen: Collection[str] = (),
    device: torch.device | None = None,
    progress: Progress = SILENT,
) -> Alignment:
    """Align the embedding matrices of two models, or two tables of word vectors, by a dictionary.

    The map sees every word of both sides that has a vector and, for a model, is a single subword: the most frequent
    ones up to ``config.vocabulary``, and the dictionaries'. All of these are candidates for translations, unless
    ``config.candidates`` is ``gold``.

    Args:
        source: Model whose vectors are mapped, or word vectors.
        target: Model they are mapped to, or word vectors; it may be the same.
        train: Dictionary to fit on.
        test: Dictionary to score on; None holds out a share of the first, by whole source words.
        languages: Languages of the dictionary.
        words: Restrict the source and the target to these words, to compare several tables on one set.
        config: Map, normalization and evaluation.
        seen: Source words whose translation was given to pretraining; see :class:`isoglot.retrieve.leaks.LeakCheck`.
        device: Where to compute: a CUDA device, or else the CPU.
        progress: Progress of the fit.

    Raises:
        ConfigError: The map does not support these widths, or a language is missing.
        InputError: No entry of a dictionary was found, or the test leaks.
    """
    config = AlignConfig() if config is None else config
    check_dimensions(
        config, *(one.dimensions if isinstance(one, Vectors) else one.hidden_size for one in (source, target))
    )
    split = WordSplit(train, test, config, seen)
    given = zip((source, target), languages, words, strict=True)
    tables = [_table(table, language, split.words(side), only) for side, (table, language, only) in enumerate(given)]
    kept = [table.with_direction() for table in tables]
    most = config.max_vocabulary or MOST_ROWS
    found = [
        table.rows([row for row, word in enumerate(table.words) if row < most or word in asked])
        for table, asked in zip(kept, (set(split.words(side)) for side in (0, 1)), strict=True)
    ]
    pairs = split.rows(found[0].words, found[1].words)
    layers = [LayerRows(None, None, found[0].matrix_ND, found[1].matrix_ND)]
    facts = {
        **pairs.facts,
        "vocabulary": [len(each) for each in found],
        "without_vector": [len(every) - len(some) for every, some in zip(tables, kept, strict=True)],
        "missing": [len(set(split.words(side)) - set(each.words)) for side, each in enumerate(found)],
    }
    return fit_alignment(
        "embeddings",
        languages,
        layers,
        pairs.train_P2,
        pairs.test_P2,
        config,
        facts,
        given=pairs.given(languages, found[0].words, found[1].words),
        fitted="all",
        alike=pairs.alike,
        total=1,
        device=device,
        progress=progress,
    )


def _table(table: EncoderLike | Vectors, language: str, asked: Sequence[str], only: Collection[str] | None) -> Vectors:
    """Words of a side with their vectors, most frequent first.

    For a model these are the single-subword words of the language or of the dictionaries.
    """
    if not isinstance(table, Vectors):
        rows = embedding_rows(table, language=language)
        more = embedding_rows(table, list(dict.fromkeys([*rows.words, *asked])), language)
        table = Vectors(list(more.words), more.vectors_ND)
    found = table if only is None else table.only(set(only))
    if not found.words:
        many = f"{len(table):,} {language} words with vectors"
        raise InputError(
            f"none of the {many} is among the {len(only or ()):,} requested words",
            remedy="check language and case",
            code="input.no-match",
        )
    return found

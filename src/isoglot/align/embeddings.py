"""The first use: the embedding matrices of two models, words of one subword only (the first paper's Figure 4a).

Word vectors from files do as well: static vectors are the baseline that encoders are held against.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.align.layers import LayerRows, align_layers, check_widths
from isoglot.align.result import Alignment
from isoglot.align.settings import AlignConfig
from isoglot.align.word_pairs import WordSplit
from isoglot.core.progress import SILENT
from isoglot.represent import EmbeddingRows, embedding_rows
from isoglot.text.vectors import Vectors

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import torch

    from isoglot.core.progress import Progress
    from isoglot.model.protocol import EncoderLike
    from isoglot.text.dictionary import Entry


def align_embeddings(
    source: EncoderLike | Vectors,
    target: EncoderLike | Vectors,
    train: Sequence[Entry],
    test: Sequence[Entry] | None = None,
    *,
    languages: tuple[str, str],
    config: AlignConfig | None = None,
    seen: Collection[str] = (),
    device: torch.device | None = None,
    progress: Progress = SILENT,
) -> Alignment:
    """Align the embedding matrices of two models, or two tables of word vectors, by a dictionary.

    Args:
        source: The model whose vectors are mapped, or word vectors.
        target: The model they are mapped to, or word vectors; it may be the same.
        train: The dictionary to learn from.
        test: The dictionary to score on; None holds out a share of the first, whole source words.
        languages: Those of the dictionary.
        config: How.
        seen: Source words that pretraining knew the translation of; see :func:`isoglot.retrieve.leaks.words_seen`.
        device: Where to compute: a CUDA device, or else the CPU.
        progress: Shows how far it is.

    Raises:
        ConfigError: The map is not for these widths, or a language is missing.
        InputError: Nothing of a dictionary was found, or the test leaks.
    """
    config = AlignConfig() if config is None else config
    check_widths(config, source, target)
    split = WordSplit(train, test, config, seen)
    found = [
        _rows(table, split.words(side), language)
        for side, (table, language) in enumerate(zip((source, target), languages, strict=True))
    ]
    pairs = split.rows(found[0].words, found[1].words)
    layers = [LayerRows(None, None, found[0].vectors_ND, found[1].vectors_ND)]
    return Alignment(
        use="embeddings",
        languages=languages,
        config=config,
        train=len(pairs.train_P2),
        test=len(pairs.test_P2),
        facts={**pairs.facts, "missing": [len(each.missing) for each in found]},
        layers=align_layers(
            layers,
            pairs.train_P2,
            pairs.test_P2,
            config,
            alike=pairs.alike,
            total=1,
            device=device,
            progress=progress,
        ),
    )


def _rows(table: EncoderLike | Vectors, words: Sequence[str], language: str) -> EmbeddingRows:
    """The words that have a vector, with theirs."""
    if not isinstance(table, Vectors):
        return embedding_rows(table, words, language)
    row_of = {word: row for row, word in enumerate(table.words)}
    kept = tuple(word for word in words if word in row_of)
    missing = tuple(word for word in words if word not in row_of)
    return EmbeddingRows(kept, table.matrix_ND[[row_of[word] for word in kept]], missing)

"""Words as rows of the embedding matrix: those that are one subword, as the first paper aligns them.

Shapes: ``N`` words, ``D`` hidden size, ``V`` vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoglot.core.errors import ConfigError, InputError
from isoglot.core.language_codes import language_code
from isoglot.model.encoder import Encoder
from isoglot.model.hooked import HookedEncoder
from isoglot.model.table import TableEncoder
from isoglot.represent.rows import RowMaker
from isoglot.vocab.whole_words import whole_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from isoglot.model.protocol import EncoderLike


class EmbeddingRows(NamedTuple):
    """The words that are one subword, their vectors, and the words that are not."""

    words: tuple[str, ...]
    vectors_ND: np.ndarray
    missing: tuple[str, ...]


def embedding_rows(
    encoder: EncoderLike, words: Sequence[str] | None = None, language: str | None = None
) -> EmbeddingRows:
    """The rows of the token embedding matrix of words that are one subword, as the matrix has them.

    This is the bare matrix: layer 0 adds the position to it and normalizes.

    Args:
        encoder: An encoder of ours, imported, or wrapped, or static vectors.
        words: The words; None: every word of the language that is one subword, the most frequent first where the
            vocabulary knows counts.
        language: Their language, for encoders and vocabularies with parts for each.

    Raises:
        ConfigError: The language is missing, or the encoder shows no embedding matrix.
        InputError: Not one of the words is one subword.
    """
    code = None if language is None else language_code(language)
    vocabulary = encoder.vocabulary
    table_VD, rows_V = _table(encoder, code)
    if words is None:
        ids_of = {word: [index] for word, index in whole_words(vocabulary, code).items()}
    else:
        maker = RowMaker(vocabulary, code, "words", 3)
        ids_of = {word: ids.tolist() for word, ids in zip(words, maker.word_ids(words), strict=True)}
    special = set(vocabulary.special.values())
    kept: list[str] = []
    at: list[int] = []
    missing: list[str] = []
    for word, ids in ids_of.items():
        row = int(rows_V[ids[0]]) if len(ids) == 1 and ids[0] not in special else -1
        if row < 0:
            missing.append(word)
        else:
            kept.append(word)
            at.append(row)
    if not kept:
        raise InputError(
            f"0 of {len(ids_of):,} words are one subword",
            remedy="use a larger vocabulary, or word types over contexts",
        )
    return EmbeddingRows(tuple(kept), table_VD[at].float().cpu().numpy(), tuple(missing))


def _table(encoder: EncoderLike, code: str | None) -> tuple[torch.Tensor, np.ndarray]:
    """The matrix, and the row of each id in it: -1 where the language has none."""
    size = len(encoder.vocabulary)
    if isinstance(encoder, Encoder):
        weight = encoder.embedding.tokens.of(code).weight.detach()
        ids = encoder.member_ids().get(code or "") if encoder.config.sharing.is_private("emb") else None
        if ids is None:
            return weight, np.arange(size)
        rows_V = np.full(size, -1)
        rows_V[ids] = np.arange(len(ids))
        return weight, rows_V
    if isinstance(encoder, HookedEncoder):
        return encoder.model.get_input_embeddings().weight.detach(), np.arange(size)
    if isinstance(encoder, TableEncoder):
        return encoder.weight, np.where(encoder.known.cpu().numpy(), np.arange(size), -1)
    raise ConfigError(
        f"a {type(encoder).__name__} shows no embedding matrix", remedy="use layer 0 of extract or word_types"
    )

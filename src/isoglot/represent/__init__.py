"""Every layer of any encoder: for sentences, words, word types and whole languages, in one streaming pass."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoglot.represent.embedding_matrix import EmbeddingRows, embedding_rows
    from isoglot.represent.extraction import extract
    from isoglot.represent.representations import Representations
    from isoglot.represent.statistics import LanguageMoments, LanguageStatistics, language_statistics
    from isoglot.represent.word_means import word_types

_HOMES = {
    "EmbeddingRows": "embedding_matrix",
    "embedding_rows": "embedding_matrix",
    "extract": "extraction",
    "Representations": "representations",
    "LanguageMoments": "statistics",
    "LanguageStatistics": "statistics",
    "language_statistics": "statistics",
    "word_types": "word_means",
}

__all__ = [
    "EmbeddingRows",
    "LanguageMoments",
    "LanguageStatistics",
    "Representations",
    "embedding_rows",
    "extract",
    "language_statistics",
    "word_types",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - torch is imported only when something of this room is used
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(import_module(f"isoglot.represent.{_HOMES[name]}"), name)

"""Every layer of any encoder: for sentences, words, word types and whole languages, in one streaming pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.represent.embedding_matrix import EmbeddingRows, embedding_rows
    from isoglot.represent.extraction import extract
    from isoglot.represent.representations import Representations
    from isoglot.represent.statistics import LanguageMoments, LanguageStatistics, language_statistics
    from isoglot.represent.word_means import frequent_words, word_types

_HOMES = {
    "EmbeddingRows": "embedding_matrix",
    "embedding_rows": "embedding_matrix",
    "extract": "extraction",
    "Representations": "representations",
    "LanguageMoments": "statistics",
    "LanguageStatistics": "statistics",
    "language_statistics": "statistics",
    "frequent_words": "word_means",
    "word_types": "word_means",
}

__all__ = [
    "EmbeddingRows",
    "LanguageMoments",
    "LanguageStatistics",
    "Representations",
    "embedding_rows",
    "extract",
    "frequent_words",
    "language_statistics",
    "word_types",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

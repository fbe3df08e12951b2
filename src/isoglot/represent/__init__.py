"""Every layer of any encoder: for sentences, words, word types and whole languages, in one streaming pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.represent.extraction import extract
    from isoglot.represent.moments import LanguageMoments, LanguageStatistics, language_statistics
    from isoglot.represent.representations import Representations
    from isoglot.represent.word_vectors import EmbeddingRows, embedding_rows, frequent_words, word_types

_HOMES = {
    "EmbeddingRows": "word_vectors",
    "embedding_rows": "word_vectors",
    "extract": "extraction",
    "Representations": "representations",
    "LanguageMoments": "moments",
    "LanguageStatistics": "moments",
    "language_statistics": "moments",
    "frequent_words": "word_vectors",
    "word_types": "word_vectors",
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

"""Hidden states of any layer of any encoder: for sentences, words, word types and whole languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.represent.extraction import extract as extract
    from isoglot.represent.moments import LanguageMoments as LanguageMoments
    from isoglot.represent.moments import LanguageStatistics as LanguageStatistics
    from isoglot.represent.moments import language_statistics as language_statistics
    from isoglot.represent.representations import Representations as Representations
    from isoglot.represent.word_vectors import EmbeddingRows as EmbeddingRows
    from isoglot.represent.word_vectors import embedding_rows as embedding_rows
    from isoglot.represent.word_vectors import frequent_words as frequent_words
    from isoglot.represent.word_vectors import word_types as word_types

__getattr__, __dir__, __all__ = lazy_exports(__name__)

"""Static vectors: one for each subword, learned from the same shards and vocabulary as the encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.static.config import FastTextConfig, GloveConfig, Word2VecConfig
    from isoglot.static.train import Learned, train_static
    from isoglot.static.word_vectors import baseline, same_words, word_vectors

_HOMES = {
    "FastTextConfig": "config",
    "GloveConfig": "config",
    "Word2VecConfig": "config",
    "Learned": "train",
    "train_static": "train",
    "baseline": "word_vectors",
    "same_words": "word_vectors",
    "word_vectors": "word_vectors",
}

__all__ = [
    "FastTextConfig",
    "GloveConfig",
    "Learned",
    "Word2VecConfig",
    "baseline",
    "same_words",
    "train_static",
    "word_vectors",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

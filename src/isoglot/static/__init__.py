"""Static vectors: one for each subword, learned from the same shards and vocabulary as the encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.static.config import FastTextConfig as FastTextConfig
    from isoglot.static.config import GloveConfig as GloveConfig
    from isoglot.static.config import Word2VecConfig as Word2VecConfig
    from isoglot.static.train import Learned as Learned
    from isoglot.static.train import train_static as train_static
    from isoglot.static.vectors_of_words import baseline as baseline
    from isoglot.static.vectors_of_words import same_words as same_words
    from isoglot.static.vectors_of_words import word_vectors as word_vectors

__getattr__, __dir__, __all__ = lazy_exports(__name__)

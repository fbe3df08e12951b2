"""Pretraining: rows of ids, masking, language sampling and the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.pretrain.config import PretrainConfig as PretrainConfig
    from isoglot.pretrain.new_language import Added as Added
    from isoglot.pretrain.new_language import AddLanguageConfig as AddLanguageConfig
    from isoglot.pretrain.new_language import add_language as add_language
    from isoglot.pretrain.new_language import add_language_config as add_language_config
    from isoglot.pretrain.train import Pretrained as Pretrained
    from isoglot.pretrain.train import pretrain as pretrain

__getattr__, __dir__, __all__ = lazy_exports(__name__)

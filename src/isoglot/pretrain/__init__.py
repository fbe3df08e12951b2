"""Pretraining: rows of ids, masking, language sampling and the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.train import Pretrained, pretrain

_HOMES = {"PretrainConfig": "config", "Pretrained": "train", "pretrain": "train"}

__all__ = ["PretrainConfig", "Pretrained", "pretrain"]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

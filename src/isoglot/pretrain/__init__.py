"""Pretraining: rows of ids, masking, language sampling and the loop."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoglot.pretrain.settings import PretrainConfig
    from isoglot.pretrain.train import Pretrained, pretrain

_HOMES = {"PretrainConfig": "settings", "Pretrained": "train", "pretrain": "train"}

__all__ = ["PretrainConfig", "Pretrained", "pretrain"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - torch is imported only when something of this room is used
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(import_module(f"isoglot.pretrain.{_HOMES[name]}"), name)

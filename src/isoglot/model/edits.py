"""Edits of hidden states inside an encoder, such as shifts and erasers.

Shapes: ``B`` rows, ``T`` tokens, ``D`` hidden size.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

Change = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Function of hidden states (B x T x D) and ids (B x T) that returns hidden states (B x T x D)."""


class Edits:
    """The changes of each layer, in the order in which they were entered."""

    def __init__(self) -> None:
        self._at: dict[int, tuple[Change, ...]] = {}

    @contextmanager
    def entered(self, layer: int, change: Change) -> Iterator[None]:
        """Add a change while the block lasts."""

        def entry(hidden_BTD: torch.Tensor, ids_BT: torch.Tensor) -> torch.Tensor:
            return changed(change, hidden_BTD, ids_BT)  # a new function each time: a change may be entered twice

        self._at[layer] = (*self._at.get(layer, ()), entry)
        try:
            yield
        finally:
            left = tuple(each for each in self._at[layer] if each is not entry)
            if left:
                self._at[layer] = left
            else:
                del self._at[layer]

    def apply(self, layer: int, hidden_BTD: torch.Tensor, ids_BT: torch.Tensor) -> torch.Tensor:
        """Apply the changes of a layer to its output."""
        for entry in self._at.get(layer, ()):
            hidden_BTD = entry(hidden_BTD, ids_BT)
        return hidden_BTD


def changed(change: Change, hidden_BTD: torch.Tensor, ids_BT: torch.Tensor) -> torch.Tensor:
    """Apply a change and check the shape of its result.

    Raises:
        ConfigError: The change returns another shape.
    """
    found_BTD = change(hidden_BTD, ids_BT)
    if found_BTD.shape != hidden_BTD.shape:
        raise ConfigError(
            f"an edit returns shape {tuple(found_BTD.shape)} for {tuple(hidden_BTD.shape)}",
            remedy="keep the shape",
            code="config.other-size",
        )
    return found_BTD


def check_layer(layer: int, depth: int) -> None:
    """Refuse a layer that does not exist.

    Raises:
        ConfigError: With the range of layers.
    """
    if not 0 <= layer <= depth:
        raise ConfigError(
            f"there is no layer {layer}",
            remedy=f"choose from 0 (the embeddings) to {depth}",
            code="config.unknown-layer",
        )

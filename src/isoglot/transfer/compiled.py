"""The loss of a batch as one function that torch can compile: encoder, head, cross-entropy.

A step of fine-tuning is a few hundred small operations, and on a fast GPU giving them to the device takes longer than
doing them; compiled they are a few dozen. Every shape is compiled for itself, so there must be few
(:mod:`isoglot.transfer.shapes`), and what each takes is measured apart.

Shapes: ``B`` rows, ``T`` tokens, ``W`` places, ``D`` width, ``K`` numbers of a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from isoglot.core.errors import ConfigError
from isoglot.model.compiled import compiled
from isoglot.model.encoder import Encoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.model.protocol import EncoderLike
    from isoglot.transfer.batches import TaskBatch
    from isoglot.transfer.heads import Head
    from isoglot.transfer.settings import TuneConfig

PAYS = 5000
"""Steps from which on compiling pays: each shape takes about ten seconds, and a step of a base model saves a few ms."""


class TaskLoss(nn.Module):
    """What a head loses on what an encoder gives.

    Args:
        encoder: One of ours.
        head: What reads its last layer.
    """

    def __init__(self, encoder: Encoder, head: Head) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(
        self,
        ids_BT: torch.Tensor,
        tokens_BT: torch.Tensor,
        places_BW: torch.Tensor,
        mask_BW: torch.Tensor,
        targets_BWK: torch.Tensor,
        parts_BW: torch.Tensor | None,
        language: str | None,
    ) -> torch.Tensor:
        """The mean loss of a batch."""
        hidden_BTD = self.encoder.hidden(ids_BT, language, mask_BT=tokens_BT)
        vectors_BWD = hidden_BTD.gather(1, places_BW[:, :, None].expand(-1, -1, hidden_BTD.shape[-1]))
        return self.head.loss(vectors_BWD, mask_BW, targets_BWK, parts_BW)


def why_not(encoder: EncoderLike, config: TuneConfig) -> str | None:
    """What is in the way of compiling a run, in words; None: nothing is."""
    if config.head_only:
        return "only the head learns"
    if not isinstance(encoder, Encoder):
        return "the encoder is not one of isoglot's"
    if config.layer not in (None, encoder.depth):
        return "the head does not read the last layer"
    return None


def to_compile(encoder: EncoderLike, config: TuneConfig, steps: int) -> bool:
    """Whether a run is compiled: if it was asked for, or by itself where it is long and on a GPU.

    Args:
        encoder: What learns.
        config: Whether it was asked for.
        steps: Of the run, about.

    Raises:
        ConfigError: It was asked for and cannot be.
    """
    reason = why_not(encoder, config)
    if config.compile == "on" and reason is not None:
        raise ConfigError(f"compile=on, but {reason}", remedy="leave it out, or set compile=off")
    pays = reason is None and encoder.device.type == "cuda" and steps >= PAYS
    return config.compile == "on" or (config.compile == "auto" and pays)


def compiled_loss(encoder: EncoderLike, head: Head) -> Callable[[TaskBatch, str], torch.Tensor]:
    """A function that gives the loss of a batch of a language, compiled when it first meets a shape.

    An encoder without private parts is not told the language: it would be compiled for each.
    """
    assert isinstance(encoder, Encoder)  # noqa: S101 - for the type checker
    separate = encoder.config.is_separate
    loss = compiled(TaskLoss(encoder, head))

    def of(batch: TaskBatch, language: str) -> torch.Tensor:
        return loss(
            batch.batch.ids_BT,
            batch.batch.mask_BT,
            batch.places_BW,
            batch.mask_BW,
            batch.targets_BWK,
            batch.parts_BW,
            language if separate else None,
        )

    return of

"""Forward and back through the encoder: in which number format, compiled or not, with gradients of all processes."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import TYPE_CHECKING

import torch
from torch.nn.parallel import DistributedDataParallel

from isoglot.core.devices import ProductPrecision, product_precision
from isoglot.model.compiled import compiled
from isoglot.pretrain.loss_scale import LossScale

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from isoglot.model.encoder import Encoder
    from isoglot.pretrain.batches import StepBatch
    from isoglot.pretrain.distributed import World
    from isoglot.pretrain.settings import PretrainConfig

_NARROW = 512


class Passes:
    """How a run calls its encoder.

    Args:
        config: Number format, compiling, and in how many parts a batch goes through.
        encoder: On its device.
        world: The processes.
    """

    def __init__(self, config: PretrainConfig, encoder: Encoder, world: World) -> None:
        self.device, self.parts = world.device, config.batch.gradient_accumulation
        self.precision: ProductPrecision = (
            product_precision(world.device) if config.precision == "auto" else config.precision
        )
        self.scale = LossScale() if self.precision == "float16" else None
        self.parallel = _parallel(encoder, world)
        module = self.parallel or encoder
        self.module: Callable[..., torch.Tensor] = module
        if config.compile == "on":
            self.module = _compiled(module, config, narrow=encoder.hidden_size <= _NARROW)

    def backward(self, batch: StepBatch) -> torch.Tensor:
        """The mean loss of this process's share, and its gradients, times the loss scale where there is one.

        Those of all parts but the last are not yet sent around.
        """
        total = torch.zeros((), device=self.device)
        for number, part in enumerate(batch.parts(self.parts), start=1):
            with self._apart() if number < self.parts else nullcontext():
                with self.autocast():
                    loss = part.loss(self.module)
                (loss if self.scale is None else loss * self.scale.value).backward()
            total += loss.detach()
        return total

    def autocast(self) -> torch.autocast:
        """Products inside are in the number format of the run."""
        dtype = torch.float16 if self.precision == "float16" else torch.bfloat16
        return torch.autocast(self.device.type, dtype, enabled=self.precision != "float32")

    def _apart(self) -> AbstractContextManager[None]:
        """Gradients inside are kept to this process for now."""
        apart: AbstractContextManager[None] = self.parallel.no_sync() if self.parallel else nullcontext()
        return apart


def _compiled(module: torch.nn.Module, config: PretrainConfig, *, narrow: bool) -> Callable[..., torch.Tensor]:
    """A module compiled for each shape that rows have, and for each language where parts are private.

    Shapes are a few, so each is compiled for itself; there are many only where the share that is masked changes.
    """
    changes = config.masking.rate_end not in (None, config.masking.rate)
    return compiled(module, dynamic=None if changes else False, narrow=narrow)


def _parallel(encoder: Encoder, world: World) -> DistributedDataParallel | None:
    """The encoder with gradients that are averaged over the processes, where there are several."""
    if world.size == 1:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch plans another name for broadcast_buffers
        return DistributedDataParallel(
            encoder,
            device_ids=[world.device.index] if world.device.type == "cuda" else None,
            find_unused_parameters=encoder.config.is_separate,  # what other languages have to themselves
            broadcast_buffers=False,
        )

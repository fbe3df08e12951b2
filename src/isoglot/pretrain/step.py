"""Dynamic loss scaling for float16: small gradients are kept from vanishing, and steps that overflow are skipped.

The loss is multiplied by the scale before the backward pass and gradients are divided by it after. Where one of them is
not finite, the step does not move the weights and the scale is halved; after many good steps in a row it is doubled.
bfloat16 has the range of float32 and needs none of this.

>>> scale = LossScale(value=4.0, interval=2)
>>> [scale.keep(length) for length in (1.0, float("inf"), 1.0, 1.0)], scale.value, scale.skipped
([True, False, True, True], 4.0, 1)

The losses of a run, kept on the device: nothing waits for it until a line is due.

A loss or a gradient that is not finite is noticed with its step, however late it is looked at; then the run stops.

Whether a step fits into the machine's memory: on the CPU a run that does not is killed without a word.

Forward and back through the encoder: in which number format, compiled or not, with gradients of all processes.
"""

from __future__ import annotations

import math
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parallel import DistributedDataParallel

from isoglot.core.devices import ProductPrecision, machine_memory, product_precision
from isoglot.core.errors import ConfigError, NumericError
from isoglot.model.kernels.compiled import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from isoglot.model.config import EncoderConfig
    from isoglot.model.encoder import Encoder
    from isoglot.pretrain.batches import StepBatch
    from isoglot.pretrain.config import Precision, PretrainConfig
    from isoglot.pretrain.distributed import World

SMALLEST = 2.0**-14
"""A gradient that overflows at this scale is not float16's fault: then the run stops."""
LARGEST = 2.0**24


@dataclass
class LossScale:
    """What the loss is multiplied by, and what it depends on; all of it is in a checkpoint."""

    value: float = 2.0**16
    good: int = 0
    """Steps since the last that overflowed, or since the scale was doubled."""
    skipped: int = 0
    """Steps that overflowed, in the whole run."""
    interval: int = 2000
    """Good steps before the scale is doubled."""

    def keep(self, length: float) -> bool:
        """Whether a step with a gradient of this length is taken; the scale is changed for the next one."""
        if not math.isfinite(length):
            self.value, self.good = max(SMALLEST, self.value / 2), 0
            self.skipped += 1
            return False
        self.good += 1
        if self.good == self.interval:
            self.value, self.good = min(LARGEST, 2 * self.value), 0
        return True


class Losses:
    """Sums of losses by language, and the first step at which something was not finite.

    Args:
        languages: Whose losses are told apart.
        world: The processes; a loss is the mean over their shares.
    """

    def __init__(self, languages: Iterable[str], world: World) -> None:
        self.world = world
        self.number = {language: index for index, language in enumerate(languages)}
        self.sums = torch.zeros(len(self.number), device=world.device)
        self.counts = [0] * len(self.number)
        self.bad = torch.full((), -1, dtype=torch.int64, device=world.device)
        self.since: dict[int, str] = {}

    def add(self, step: int, language: str, loss: torch.Tensor, gradient: torch.Tensor) -> None:
        """Count in a step; its loss and the length of its gradient are on the device and stay there."""
        index = self.number[language]
        self.sums[index] += loss
        self.counts[index] += 1
        self.since[step] = language
        broken = (self.bad < 0) & ~torch.isfinite(loss + gradient)
        self.bad = torch.where(broken, step, self.bad)

    def check(self, last_good: int | None) -> None:
        """Stop the run if anything was not finite since the last check; the device is waited for.

        Raises:
            NumericError: With the step, its language and the last good checkpoint.
        """
        seen = [int(step) for step in self.world.every(float(self.bad))]
        broken = [step for step in seen if step >= 0]
        if broken:
            step = min(broken)
            raise not_finite(step, self.since.get(step, "?"), last_good)
        self.since.clear()

    def state(self) -> dict[str, Any]:
        """Sums and counts since the last line, for a checkpoint; every process must ask."""
        return {"sums": self.world.sums(self.sums.tolist()), "counts": list(self.counts)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint: the next line is about the steps before it, too."""
        self.counts = [int(count) for count in state["counts"]]
        if self.world.first:  # the sums are those of all processes
            self.sums = torch.tensor(state["sums"], device=self.world.device)

    def take(self) -> dict[str, float]:
        """The mean loss of each language that had a step since this was last asked, over all processes."""
        sums = self.world.sums(self.sums.tolist())
        means = {
            language: sums[index] / (self.counts[index] * self.world.size)
            for language, index in self.number.items()
            if self.counts[index]
        }
        self.sums.zero_()
        self.counts = [0] * len(self.number)
        return means


def not_finite(step: int, language: str, last_good: int | None) -> NumericError:
    """The error of a run that left the numbers."""
    kept = "there is no checkpoint yet" if last_good is None else f"the last good checkpoint is of step {last_good}"
    return NumericError(
        f"the loss is not finite at step {step} (language {language}); {kept}",
        remedy="lower optimizer.learning_rate, lengthen schedule.warmup or set precision=float32, and start anew",
    )


def kept_numbers(config: EncoderConfig, *, rows: int, length: int) -> int:
    """How many numbers the layers keep for the way back, at least; embeddings and softmax are left out.

    Args:
        config: The encoder's shape.
        rows: Rows that go through at once.
        length: Tokens in a row.

    >>> from isoglot.model.config import encoder_config
    >>> nano = encoder_config("paper", "nano", vocabulary_size=100, dropout=0.0)
    >>> kept_numbers(nano, rows=1, length=10) == 2 * 10 * (7 * 32 + 2 * 96)
    True
    """
    inner = (4 if config.mlp == "geglu" else 2) * config.intermediate_size
    # Without dropout attention is computed in blocks and not kept.
    attention = 2 * config.heads * length if config.dropout else 0
    return config.layers * rows * length * (7 * config.hidden_size + inner + attention)


def check_memory(config: PretrainConfig, shape: EncoderConfig, *, processes: int, precision: Precision) -> None:
    """Refuse a run on the CPU of which a step plainly does not fit.

    Args:
        config: The run.
        shape: Its encoder.
        processes: How many share a step; each is taken to have the machine to itself.
        precision: The number format of products.

    Raises:
        ConfigError: The layers alone need more than there is.
    """
    memory, parts = machine_memory(), config.batch.gradient_accumulation
    rows, length = config.batch.size // processes, config.batch.sequence_length or shape.max_length
    whole = kept_numbers(shape, rows=rows, length=length) * (4 if precision == "float32" else 2)
    if not memory or not config.spending.amount or whole <= memory * parts:
        return
    enough = next((n for n in range(parts, rows) if rows % n == 0 and 2 * whole <= memory * n), rows)
    raise ConfigError(
        f"a step needs more than {whole / parts / 1e9:,.0f} GB for {rows // parts} rows of {length} tokens at once, "
        f"and this machine has {memory / 1e9:,.0f}",
        remedy=f"add --set batch.gradient_accumulation={enough}, or train a smaller model.size or batch.size",
        code="config.requirement",
    )


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

"""Training step: compilation, forward and backward pass, the losses of a run, and a check of the memory it needs."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parallel import DistributedDataParallel

from isoglot.core.devices import ProductPrecision, machine_memory, product_precision
from isoglot.core.errors import ConfigError, NumericError
from isoglot.pretrain.optimizer import LossScale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from isoglot.model.config import EncoderConfig
    from isoglot.model.encoder import Encoder
    from isoglot.pretrain.batches import StepBatch
    from isoglot.pretrain.config import Precision, PretrainConfig
    from isoglot.pretrain.distributed import World

BACKEND = "inductor"
_NARROW = 512  # hidden size up to which the backward pass of norms is compiled as two kernels
_MOST_SHAPES = 256  # torch gives up compiling after eight
_FUSED_REDUCTIONS = "mix_order_reduction"  # one kernel for both reductions of a norm's backward pass (torch 2.10 on)


def compiled(
    module: torch.nn.Module, *, dynamic: bool | None = False, narrow: bool = False
) -> Callable[..., torch.Tensor]:
    """Compile a module when it is first called with a shape.

    Args:
        module: A module that returns a tensor, such as a loss.
        dynamic: Whether different shapes share the compiled code, if there are too many; None: torch decides.
        narrow: Whether its norms are over at most 512 dimensions. Their backward pass is then compiled as two kernels:
            as one, torch 2.11 chooses tiles that do not fit the registers, and it takes more than twice as long.
    """
    from torch._dynamo import config as limits
    from torch._inductor import config as inductor

    name = "recompile_limit" if hasattr(limits, "recompile_limit") else "cache_size_limit"  # its name in older versions
    setattr(limits, name, max(_MOST_SHAPES, getattr(limits, name)))
    options: dict[str, str | int | bool | Callable[..., Any]] | None = None
    if narrow and hasattr(inductor.triton, _FUSED_REDUCTIONS) and BACKEND == "inductor":
        options = {f"triton.{_FUSED_REDUCTIONS}": False}
    return torch.compile(module, dynamic=dynamic, backend=BACKEND, options=options)


class ForwardBackward:
    """Loss and gradients of a batch: number format, compilation, gradient accumulation, all ranks.

    Args:
        config: The run's.
        encoder: The encoder, on its device.
        world: The process group.
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
            # Rows have few shapes, and each is compiled on its own, unless the masking rate changes over the run.
            changes = config.masking.rate_end not in (None, config.masking.rate)
            narrow = encoder.hidden_size <= _NARROW
            self.module = compiled(module, dynamic=None if changes else False, narrow=narrow)

    def run(self, batch: StepBatch) -> torch.Tensor:
        """Compute the mean loss of this rank's share and its gradients, multiplied by the loss scale if there is one.

        Gradients are averaged over ranks in the last part only.
        """
        total = torch.zeros((), device=self.device)
        for number, part in enumerate(batch.parts(self.parts), start=1):
            with self._no_sync() if number < self.parts else nullcontext():
                with self.autocast():
                    loss = part.loss(self.module)
                (loss if self.scale is None else loss * self.scale.value).backward()
            total += loss.detach()
        return total

    def autocast(self) -> torch.autocast:
        """Compute matrix products in the run's number format while the block lasts."""
        dtype = torch.float16 if self.precision == "float16" else torch.bfloat16
        return torch.autocast(self.device.type, dtype, enabled=self.precision != "float32")

    def _no_sync(self) -> AbstractContextManager[None]:
        context: AbstractContextManager[None] = self.parallel.no_sync() if self.parallel else nullcontext()
        return context


def _parallel(encoder: Encoder, world: World) -> DistributedDataParallel | None:
    """The encoder with gradients averaged over ranks; None for a single process."""
    if world.size == 1:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch plans another name for broadcast_buffers
        return DistributedDataParallel(
            encoder,
            device_ids=[world.device.index] if world.device.type == "cuda" else None,
            find_unused_parameters=encoder.config.is_separate,  # private parts of other languages
            broadcast_buffers=False,
        )


class Losses:
    """Sums of losses by language since the last log line, and the first step with a value that is not finite.

    They stay on the device: nothing waits for it until a line is due.

    Args:
        languages: The languages whose losses are summed separately.
        world: The process group; a loss is the mean over ranks.
    """

    def __init__(self, languages: Iterable[str], world: World) -> None:
        self.world = world
        self.number = {language: index for index, language in enumerate(languages)}
        self.sums = torch.zeros(len(self.number), device=world.device)
        self.counts = [0] * len(self.number)
        self.bad = torch.full((), -1, dtype=torch.int64, device=world.device)
        self.since: dict[int, str] = {}

    def add(self, step: int, language: str, loss: torch.Tensor, gradient: torch.Tensor) -> None:
        """Add a step: its loss and the norm of its gradient, both on the device."""
        index = self.number[language]
        self.sums[index] += loss
        self.counts[index] += 1
        self.since[step] = language
        broken = (self.bad < 0) & ~torch.isfinite(loss + gradient)
        self.bad = torch.where(broken, step, self.bad)

    def check(self, last_good: int | None) -> None:
        """Stop the run if a value since the last check was not finite; waits for the device.

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
        """Sums over all ranks and counts, for a checkpoint; every rank must call it."""
        return {"sums": self.world.sums(self.sums.tolist()), "counts": list(self.counts)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Resume from a checkpoint, so that the next line averages the steps before it too."""
        self.counts = [int(count) for count in state["counts"]]
        if self.world.first:  # the sums are those of all ranks
            self.sums = torch.tensor(state["sums"], device=self.world.device)

    def take(self) -> dict[str, float]:
        """Return the mean loss of each language with a step since the last call, over all ranks, and reset."""
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
    """Error raised when the loss is not finite."""
    kept = "there is no checkpoint yet" if last_good is None else f"the last good checkpoint is of step {last_good}"
    problem = f"the loss is not finite at step {step} (language {language}); {kept}"
    remedy = "lower optimizer.learning_rate, lengthen schedule.warmup or set precision=float32, and start again"
    return NumericError(problem, remedy)


def kept_activations(config: EncoderConfig, *, rows: int, length: int) -> int:
    """Number of activations that the layers keep for the backward pass, at least; without embeddings and softmax.

    Args:
        config: The encoder's.
        rows: Rows of a forward pass.
        length: Tokens in a row.

    >>> from isoglot.model.config import encoder_config
    >>> nano = encoder_config("paper", "nano", vocabulary_size=100, dropout=0.0)
    >>> kept_activations(nano, rows=1, length=10) == 2 * 10 * (7 * 32 + 2 * 96)
    True
    """
    inner = (4 if config.mlp == "geglu" else 2) * config.intermediate_size
    # Without dropout attention is computed in blocks and not kept.
    attention = 2 * config.heads * length if config.dropout else 0
    return config.layers * rows * length * (7 * config.hidden_size + inner + attention)


def check_memory(config: PretrainConfig, shape: EncoderConfig, *, processes: int, precision: Precision) -> None:
    """Check that a step of a run on the CPU fits into memory: otherwise it would be killed without a message.

    Args:
        config: The run's.
        shape: The encoder's.
        processes: World size; each process is assumed to have a machine of its own.
        precision: Number format of matrix products.

    Raises:
        ConfigError: The activations of the layers alone need more memory than the machine has.
    """
    memory, parts = machine_memory(), config.batch.gradient_accumulation
    rows, length = config.batch.size // processes, config.batch.sequence_length or shape.max_length
    whole = kept_activations(shape, rows=rows, length=length) * (4 if precision == "float32" else 2)
    if not memory or not config.spending.amount or whole <= memory * parts:
        return
    enough = next((n for n in range(parts, rows) if rows % n == 0 and 2 * whole <= memory * n), rows)
    raise ConfigError(
        f"a step needs more than {whole / parts / 1e9:,.0f} GB for {rows // parts} rows of {length} tokens at once, "
        f"and this machine has {memory / 1e9:,.0f}",
        f"add --set batch.gradient_accumulation={enough}, or train a smaller model.size or batch.size",
        "requirement",
    )

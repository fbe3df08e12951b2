"""Optimizers: Adam, AdamW, or Muon for the matrices of the layers with AdamW for the rest; loss scaling for float16.

Weight decay applies to matrices only, not to biases and norms. A parameter that a step's language does not reach has no
gradient (``None``, not zero) and does not move at all: no decay, no momentum.

>>> from torch import nn
>>> build_optimizer(dict(nn.Linear(2, 2).named_parameters()), OptimizerConfig(), "cpu").kinds
['Adam']

Shapes: ``N`` matrices of ``R`` rows and ``C`` columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOMENTUM = "momentum_buffer"

_QUINTIC = (3.4445, -4.7750, 2.0315)  # Jordan's: steep at 0, so that five rounds are enough; ends between 0.7 and 1.2
_ROUNDS = 5
_SIZE = 0.2  # root mean square of an AdamW update, in units of its learning rate (Liu et al.)

OptimizerKind = Literal["adam", "adamw", "muon"]
"""adam: as in the papers, weight decay added to the gradient; adamw: decoupled weight decay; muon: for the layers'
matrices, adamw for the rest."""


class OptimizerConfig(Config):
    """Settings of the optimizer."""

    kind: OptimizerKind = "adam"
    """adam, adamw, or muon (for the matrices of the layers; adamw for the rest)"""
    learning_rate: float = Field(1e-4, gt=0)
    """the peak learning rate"""
    matrix_learning_rate: float | None = Field(None, gt=0)
    """muon: the peak learning rate of the layers' matrices, on AdamW's scale; None: learning_rate"""
    betas: tuple[float, float] = (0.9, 0.999)
    """decay of the two moving averages of adam and adamw"""
    eps: float = Field(1e-8, gt=0)
    """added to the denominator of adam and adamw for numerical stability"""
    momentum: float = Field(0.95, ge=0, lt=1)
    """momentum of muon"""
    weight_decay: float = Field(0.0, ge=0)
    """weight decay of matrices, multiplied by the learning rate (adamw, muon)"""
    max_gradient_norm: float = Field(1.0, ge=0)
    """maximum norm of the gradient over all parameters; a larger one is clipped; 0: no limit"""


SMALLEST_SCALE = 2.0**-14  # a gradient that overflows at this scale is not due to float16; the run stops
LARGEST_SCALE = 2.0**24


@dataclass
class LossScale:
    """Dynamic loss scale for float16, saved in checkpoints.

    The loss is multiplied by the scale before the backward pass, gradients are divided by it after. If one of them is
    not finite, the step is skipped and the scale halved; after ``interval`` good steps in a row it is doubled.

    >>> scale = LossScale(value=4.0, interval=2)
    >>> [scale.keep(norm) for norm in (1.0, float("inf"), 1.0, 1.0)], scale.value, scale.skipped
    ([True, False, True, True], 4.0, 1)
    """

    value: float = 2.0**16
    good: int = 0  # steps since the last overflow, or since the scale was doubled
    skipped: int = 0  # steps that overflowed, in the whole run
    interval: int = 2000  # good steps before the scale is doubled

    def keep(self, norm: float) -> bool:
        """Update the scale after a gradient of this norm; returns whether the step is taken."""
        if not math.isfinite(norm):
            self.value, self.good = max(SMALLEST_SCALE, self.value / 2), 0
            self.skipped += 1
            return False
        self.good += 1
        if self.good == self.interval:
            self.value, self.good = min(LARGEST_SCALE, 2 * self.value), 0
        return True


class Optimizer:
    """One or two torch optimizers that act as one, with state by parameter name.

    Args:
        parts: The torch optimizers; each of their groups has its peak learning rate under ``peak``.
        parameters: Every parameter by name.
        clip: Maximum norm of the gradient; 0: no limit.
    """

    def __init__(
        self, parts: list[torch.optim.Optimizer], parameters: Mapping[str, torch.nn.Parameter], clip: float
    ) -> None:
        self.parts = parts
        self.parameters = dict(parameters)
        self.clip = clip

    @property
    def kinds(self) -> list[str]:
        """Class names of the torch optimizers."""
        return [type(part).__name__ for part in self.parts]

    def clear(self) -> None:
        """Set all gradients to None, so that what the next step does not reach has none."""
        for part in self.parts:
            part.zero_grad(set_to_none=True)

    def step(self, factor: float, scale: LossScale | None = None) -> torch.Tensor:
        """Update the weights at this factor of the peak learning rates.

        With a loss scale, a gradient that is not finite updates nothing and counts as 0, unless the scale is at its
        smallest. Without one, nothing here waits for the device.

        Returns:
            The norm of the gradient before clipping, on the device.
        """
        reached = [parameter for parameter in self.parameters.values() if parameter.grad is not None]
        if scale is not None:
            inverse, smallest = 1 / scale.value, scale.value <= SMALLEST_SCALE
            gradients = [p.grad for p in reached if p.grad is not None]
            norm = torch.nn.utils.get_total_norm(gradients) * inverse
            if not scale.keep(float(norm)):
                return norm if smallest else torch.zeros_like(norm)
            torch._foreach_mul_(gradients, inverse)
        norm = torch.nn.utils.clip_grad_norm_(reached, self.clip or float("inf"))
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = group["peak"] * factor
            part.step()
        return norm

    def state(self) -> dict[str, torch.Tensor]:
        """The state as tensors under ``parameter/key``; parameters never reached have none."""
        return {
            f"{name}/{key}": torch.as_tensor(value).detach()
            for name, parameter in self.parameters.items()
            for part in self.parts
            for key, value in part.state.get(parameter, {}).items()
        }

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Load the state of another optimizer of the same kind.

        Raises:
            CorruptFileError: It has state of a parameter that does not exist.
        """
        homes = {id(p): part for part in self.parts for group in part.param_groups for p in group["params"]}
        for part in self.parts:
            part.state.clear()
        for name, value in state.items():
            owner, _, key = name.rpartition("/")
            if owner not in self.parameters:
                raise CorruptFileError(f"no parameter {owner!r} here", "resume with the run's own config")
            parameter = self.parameters[owner]
            # A fused Adam needs its step count on the device of the weights.
            homes[id(parameter)].state[parameter][key] = value.to(parameter.device, copy=True)


def build_optimizer(
    parameters: Mapping[str, torch.nn.Parameter], config: OptimizerConfig, device: torch.device | str
) -> Optimizer:
    """Build the optimizer of a model.

    Args:
        parameters: Every parameter by name; names in the layers begin with ``blocks.``.
        config: Kind and hyperparameters.
        device: Device of the parameters; torch's fused kernel is used where there is one.
    """
    of_layers = {name for name, p in parameters.items() if name.startswith("blocks.") and p.dim() == 2}
    matrices = of_layers if config.kind == "muon" else set()
    parts: list[torch.optim.Optimizer] = []
    if matrices:
        rate = config.matrix_learning_rate or config.learning_rate
        held: dict[int, list[torch.nn.Parameter]] = {}
        for name in sorted(matrices):
            held.setdefault(_matrices_in(name, parameters), []).append(parameters[name])
        groups = [{**_group(some, rate, config.weight_decay), "parts": count} for count, some in held.items()]
        parts.append(Muon(groups, lr=rate, momentum=config.momentum))
    rest = [(name, p) for name, p in parameters.items() if name not in matrices]
    groups = [
        _group([p for _, p in rest if p.dim() > 1], config.learning_rate, config.weight_decay),
        _group([p for _, p in rest if p.dim() <= 1], config.learning_rate, 0.0),
    ]
    kind = torch.optim.Adam if config.kind == "adam" else torch.optim.AdamW
    fused = torch.device(device).type in ("cpu", "cuda", "mps")
    groups = [group for group in groups if group["params"]]
    if groups:
        parts.append(kind(groups, lr=config.learning_rate, betas=config.betas, eps=config.eps, fused=fused))
    return Optimizer(parts, parameters, config.max_gradient_norm)


def _matrices_in(name: str, parameters: Mapping[str, torch.nn.Parameter]) -> int:
    """Number of matrices stacked in a parameter: queries, keys and values; the two halves of a gate."""
    if name.endswith("qkv.weight"):
        return 3
    if name.endswith("up.weight"):
        return parameters[name].shape[0] // parameters[name.removesuffix("up.weight") + "down.weight"].shape[1]
    return 1


def _group(parameters: list[torch.nn.Parameter], rate: float, decay: float) -> dict[str, object]:
    return {"params": parameters, "peak": rate, "weight_decay": decay}


# --- Muon ---


class Muon(torch.optim.Optimizer):
    """Momentum whose updates are orthogonalized, for many matrices at once.

    All matrices of one shape go through the Newton-Schulz iteration together: a dozen products for the whole model
    instead of a dozen for each matrix. A parameter that stacks several matrices (queries, keys and values; the halves
    of a gate) is split, since each is a map of its own. Updates have the scale of AdamW's, so one learning rate serves
    both.

    References: Jordan et al. 2024, "Muon: an optimizer for hidden layers"; Liu et al. 2025, "Muon is scalable for LLM
    training".

    Args:
        groups: Groups of two-dimensional parameters; ``parts`` is the number of matrices stacked in each parameter
            (default 1), ``weight_decay`` is multiplied by the learning rate.
        lr: The learning rate, on AdamW's scale.
        momentum: Decay of the average of gradients.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], *, lr: float, momentum: float = 0.95) -> None:
        super().__init__(groups, {"lr": lr, "momentum": momentum, "weight_decay": 0.0, "parts": 1})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        by_shape: dict[tuple[torch.Size, float], tuple[list[torch.Tensor], list[torch.Tensor]]] = {}
        for group in self.param_groups:
            reached = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not reached:
                continue
            gradients = [parameter.grad for parameter in reached]
            for one in reached:
                if MOMENTUM not in self.state[one]:
                    self.state[one][MOMENTUM] = torch.zeros_like(one)
            averages = [self.state[one][MOMENTUM] for one in reached]
            torch._foreach_lerp_(averages, gradients, 1 - group["momentum"])
            updates = torch._foreach_lerp(gradients, averages, group["momentum"])  # Nesterov
            if group["weight_decay"]:
                torch._foreach_mul_(reached, 1 - group["lr"] * group["weight_decay"])
            for parameter, update in zip(reached, updates, strict=True):
                for home, matrix in zip(parameter.chunk(group["parts"]), update.chunk(group["parts"]), strict=True):
                    homes, matrices = by_shape.setdefault((matrix.shape, group["lr"]), ([], []))
                    homes.append(home)
                    matrices.append(matrix)
        for (shape, rate), (homes, matrices) in by_shape.items():
            steps_NRC = orthogonal(torch.stack(matrices)).to(homes[0].dtype)
            torch._foreach_add_(homes, list(steps_NRC.unbind()), alpha=-rate * _SIZE * max(shape) ** 0.5)


def orthogonal(matrices_NRC: torch.Tensor) -> torch.Tensor:
    """Approximate the nearest orthogonal matrix of each: singular vectors stay, singular values come near 1.

    On a GPU it computes in bfloat16, which is precise enough here.
    """
    a, b, c = _QUINTIC
    x = matrices_NRC.to(torch.bfloat16) if matrices_NRC.is_cuda else matrices_NRC
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / torch.linalg.matrix_norm(x.float(), keepdim=True).clamp(min=1e-7).to(x.dtype)
    for _ in range(_ROUNDS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x

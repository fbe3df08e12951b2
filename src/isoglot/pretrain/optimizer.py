"""Adam, AdamW, or Muon for the matrices of the layers with AdamW for the rest.

Weight decay is for matrices only: not for biases and norms. A parameter that a step's language does not reach has no
gradient (``None``, not zero), and then it does not move at all: no decay, no momentum.

>>> from torch import nn
>>> build_optimizer(dict(nn.Linear(2, 2).named_parameters()), OptimizerConfig(), "cpu").kinds
['Adam']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.errors import CorruptFileError
from isoglot.pretrain.muon import Muon
from isoglot.pretrain.step import SMALLEST, LossScale

if TYPE_CHECKING:
    from collections.abc import Mapping


OptimizerKind = Literal["adam", "adamw", "muon"]
"""adam: the papers'; decay, if any, is in the gradient. adamw: decay apart. muon: for the layers' matrices."""


class OptimizerConfig(Config):
    """Settings of the optimizer."""

    kind: OptimizerKind = "adam"
    """adam, adamw, or muon (for the matrices of the layers; adamw for the rest)"""
    learning_rate: float = Field(1e-4, gt=0)
    """the peak learning rate"""
    matrix_learning_rate: float | None = Field(None, gt=0)
    """muon: the peak rate of the layers' matrices, on AdamW's scale; None takes 'learning_rate'"""
    betas: tuple[float, float] = (0.9, 0.999)
    """how long the two averages of adam and adamw remember"""
    eps: float = Field(1e-8, gt=0)
    """what keeps adam and adamw from dividing by nothing"""
    momentum: float = Field(0.95, ge=0, lt=1)
    """how long muon's average remembers"""
    weight_decay: float = Field(0.0, ge=0)
    """the pull of matrices towards 0, times the rate (adamw, muon)"""
    max_gradient_norm: float = Field(1.0, ge=0)
    """the largest norm of the gradient over all parameters; a larger one is clipped; 0: no limit"""


class Optimizer:
    """One or two optimizers of torch that act as one, with names for their state.

    Args:
        parts: The optimizers of torch; each group of each has its peak rate under ``peak``.
        parameters: Every parameter by its name.
        clip: The longest gradient; 0: no limit.
    """

    def __init__(
        self, parts: list[torch.optim.Optimizer], parameters: Mapping[str, torch.nn.Parameter], clip: float
    ) -> None:
        self.parts = parts
        self.parameters = dict(parameters)
        self.clip = clip

    @property
    def kinds(self) -> list[str]:
        """The classes of torch that do the work."""
        return [type(part).__name__ for part in self.parts]

    def clear(self) -> None:
        """Forget all gradients; what the next step does not reach has none then."""
        for part in self.parts:
            part.zero_grad(set_to_none=True)

    def step(self, factor: float, scale: LossScale | None = None) -> torch.Tensor:
        """Move the weights at this share of the peak rates; the length of the gradient before clipping, on the device.

        Nothing here waits for the device, unless there is a scale: then a gradient that is not finite moves nothing,
        and the length is 0; at the smallest scale it is what it is.
        """
        reached = [parameter for parameter in self.parameters.values() if parameter.grad is not None]
        if scale is not None:
            factors, smallest = 1 / scale.value, scale.value <= SMALLEST
            length = torch.nn.utils.get_total_norm([p.grad for p in reached if p.grad is not None]) * factors
            if not scale.keep(float(length)):
                return length if smallest else torch.zeros_like(length)
            torch._foreach_mul_([p.grad for p in reached if p.grad is not None], factors)
        length = torch.nn.utils.clip_grad_norm_(reached, self.clip or float("inf"))
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = group["peak"] * factor
            part.step()
        return length

    def state(self) -> dict[str, torch.Tensor]:
        """What it remembers, as tensors under ``parameter/what``; parameters never reached have nothing."""
        return {
            f"{name}/{key}": torch.as_tensor(value).detach()
            for name, parameter in self.parameters.items()
            for part in self.parts
            for key, value in part.state.get(parameter, {}).items()
        }

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Remember what another of the same kind remembered.

        Raises:
            CorruptFileError: There is something for a parameter that does not exist.
        """
        homes = {id(p): part for part in self.parts for group in part.param_groups for p in group["params"]}
        for part in self.parts:
            part.state.clear()
        for name, value in state.items():
            owner, _, key = name.rpartition("/")
            if owner not in self.parameters:
                raise CorruptFileError(f"no parameter {owner!r} here", remedy="resume with the run's own config")
            parameter = self.parameters[owner]
            # Adam keeps its count of steps where its kernel wants it: beside the weights when fused.
            homes[id(parameter)].state[parameter][key] = value.to(parameter.device, copy=True)


def build_optimizer(
    parameters: Mapping[str, torch.nn.Parameter], config: OptimizerConfig, device: torch.device | str
) -> Optimizer:
    """The optimizer of a model.

    Args:
        parameters: Every parameter by its name; those of the layers begin with ``blocks.``.
        config: What kind, and its numbers.
        device: Where the parameters are: one kernel does all the work where torch has one.
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
    """How many maps a parameter of a layer holds: queries, keys and values; the two halves of a gate."""
    if name.endswith("qkv.weight"):
        return 3
    if name.endswith("up.weight"):
        return parameters[name].shape[0] // parameters[name.removesuffix("up.weight") + "down.weight"].shape[1]
    return 1


def _group(parameters: list[torch.nn.Parameter], rate: float, decay: float) -> dict[str, object]:
    return {"params": parameters, "peak": rate, "weight_decay": decay}

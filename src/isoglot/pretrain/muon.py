"""Muon for many matrices at once: momentum, then the nearest orthogonal matrix of every update.

All matrices of one shape go through the Newton-Schulz iteration together, a dozen products for the whole model instead
of a dozen for each matrix. A parameter that holds several matrices one above the other (queries, keys and values; the
two halves of a gate) is taken apart: each is a map of its own. Steps are on the scale of AdamW's, so that one rate
serves both.

References: Jordan et al. 2024, "Muon: an optimizer for hidden layers"; Liu et al. 2025, "Muon is scalable for LLM
training".

Shapes: ``N`` matrices of ``R`` rows and ``C`` columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.optim import Optimizer

if TYPE_CHECKING:
    from collections.abc import Iterable

MOMENTUM = "momentum_buffer"

_QUINTIC = (3.4445, -4.7750, 2.0315)  # Jordan's: steep at 0, so that five rounds are enough; ends between 0.7 and 1.2
_ROUNDS = 5
_SIZE = 0.2  # the root mean square of an AdamW step, in units of its rate (Liu et al.)


class Muon(Optimizer):
    """Momentum whose steps are orthogonal matrices.

    Args:
        groups: Of parameters of two dimensions; ``parts`` of a group says how many matrices each of its parameters
            holds (1 unless told), ``weight_decay`` how much they are pulled to 0, times the rate.
        lr: The rate, on AdamW's scale.
        momentum: How long the average of gradients remembers.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], *, lr: float, momentum: float = 0.95) -> None:
        super().__init__(groups, {"lr": lr, "momentum": momentum, "weight_decay": 0.0, "parts": 1})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient."""
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
            updates = torch._foreach_lerp(gradients, averages, group["momentum"])  # Nesterov's look ahead
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
    """About the nearest orthogonal matrix of each: singular vectors stay, singular values come near 1.

    On a GPU in bfloat16, which is as good here.
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

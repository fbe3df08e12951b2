"""Compilation of modules by torch, separately for every input shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

BACKEND = "inductor"
_MOST_SHAPES = 256  # torch gives up compiling after eight
_FUSED_REDUCTIONS = (
    "mix_order_reduction"  # one kernel for both reductions of a norm's backward pass: torch from 2.10 on
)


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

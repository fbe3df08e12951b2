"""A module compiled by torch, every shape it meets for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

BACKEND = "inductor"
_MOST_SHAPES = 256  # torch gives up compiling after eight


def compiled(module: torch.nn.Module, *, dynamic: bool | None = False) -> Callable[..., torch.Tensor]:
    """A module that torch compiles when it first meets a shape.

    Args:
        module: What gives a tensor, such as a loss.
        dynamic: Whether shapes that differ share what is compiled, for where they are too many; None: torch decides.
    """
    from torch._dynamo import config as limits

    name = "recompile_limit" if hasattr(limits, "recompile_limit") else "cache_size_limit"  # as it was called once
    setattr(limits, name, max(_MOST_SHAPES, getattr(limits, name)))
    return torch.compile(module, dynamic=dynamic, backend=BACKEND)

"""Fast dropout for compiled code: the mask is a hash of the position and of one random number.

torch's dropout runs ten rounds of Philox for every element, which on a fast GPU takes longer than reading and writing
it; a 32-bit hash (two products, three shifts) is hidden behind the memory traffic. The random number comes from torch's
generator, so the seed decides everything. Compiled and eager code drop different elements.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

_FIRST = 0x85EBCA6B - 2**32
_SECOND = 0xC2B2AE35 - 2**32


class Dropout(nn.Module):
    """Set elements to 0 with a probability in training, and scale the others up.

    Args:
        rate: The probability.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply dropout."""
        if not self.training or not self.rate:
            return x
        if not torch.compiler.is_compiling():  # a dozen small operations would take longer than torch's one
            return F.dropout(x, self.rate)
        key = (torch.rand((), device=x.device) * 2**31).to(torch.int32)
        return torch.where(kept(x, key, self.rate), x * (1 / (1 - self.rate)), 0.0)


def kept(x: torch.Tensor, key: torch.Tensor, rate: float) -> torch.Tensor:
    """Mask of the elements that stay: True with probability 1 - rate, a function of position and key (int32)."""
    places = torch.arange(x.numel(), dtype=torch.int32, device=x.device).view(x.shape)
    return mixed(places ^ key) >= round(rate * 2**32) - 2**31


def mixed(h: torch.Tensor) -> torch.Tensor:
    """Bijection of int32 in which every input bit affects every output bit (the finalizer of MurmurHash3)."""
    h = (h ^ (h >> 16 & 0xFFFF)) * _FIRST
    h = (h ^ (h >> 13 & 0x7FFFF)) * _SECOND
    return h ^ (h >> 16 & 0xFFFF)

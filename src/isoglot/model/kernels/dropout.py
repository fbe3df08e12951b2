"""Dropout that costs little in compiled code: what is dropped is a hash of the place and of one draw.

torch's own runs ten rounds of Philox for every number, which on a fast GPU takes longer than reading and writing it;
a hash of 32 bits (two products, three shifts) is hidden behind the memory. The draw comes from torch's generator, so
a seed decides everything, as it does there. What compiled code drops differs from what plain code drops.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

_FIRST = 0x85EBCA6B - 2**32
_SECOND = 0xC2B2AE35 - 2**32


class Dropout(nn.Module):
    """Sets a share of numbers to 0 in training and makes the others larger by as much.

    Args:
        rate: The share.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The numbers that are left, and zeros."""
        if not self.training or not self.rate:
            return x
        if not torch.compiler.is_compiling():  # a dozen small operations would take longer than torch's one
            return F.dropout(x, self.rate)
        key = (torch.rand((), device=x.device) * 2**31).to(torch.int32)
        return torch.where(kept(x, key, self.rate), x * (1 / (1 - self.rate)), 0.0)


def kept(x: torch.Tensor, key: torch.Tensor, rate: float) -> torch.Tensor:
    """Which numbers of a tensor stay: True with probability 1 - rate, by place and key (int32) alone."""
    places = torch.arange(x.numel(), dtype=torch.int32, device=x.device).view(x.shape)
    return mixed(places ^ key) >= round(rate * 2**32) - 2**31


def mixed(h: torch.Tensor) -> torch.Tensor:
    """A bijection of int32 in which every bit reaches every bit (the finaliser of MurmurHash3)."""
    h = (h ^ (h >> 16 & 0xFFFF)) * _FIRST
    h = (h ^ (h >> 13 & 0x7FFFF)) * _SECOND
    return h ^ (h >> 16 & 0xFFFF)

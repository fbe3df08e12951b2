"""Layer of the encoder: attention and feed-forward block, as in BERT or in ModernBERT.

Shapes: ``B`` rows, ``T`` tokens, ``D`` hidden size, ``H`` heads, ``E`` head dimensions, ``F`` intermediate size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from isoglot.model.kernels.dropout import Dropout
from isoglot.model.kernels.short_attention import is_supported, short_attention

if TYPE_CHECKING:
    from isoglot.model.config import EncoderConfig


class Norm(nn.LayerNorm):
    """Layer norm that computes in float32 and returns the autocast dtype.

    torch's returns float32 under autocast: hidden states would be read and written in twice the bytes, which on a fast
    GPU is what norms cost.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize the last dimension."""
        normed: torch.Tensor = super().forward(x)
        kind = x.device.type
        return normed.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else normed


def norm(config: EncoderConfig) -> Norm:
    """Build the norm of the architecture, with or without a bias."""
    return Norm(config.hidden_size, eps=config.norm_eps, bias=config.bias == "all")


def rotation(places: torch.Tensor, size: int, base: float) -> torch.Tensor:
    """Cosines and sines of rotary positions, in float32: 2 x T x E for T positions, 2 x B x 1 x T x E for B x T.

    Args:
        places: Position of each token.
        size: Head dimensions (E).
        base: Base of the wavelengths (theta).
    """
    halves = torch.arange(0, size, 2, device=places.device, dtype=torch.float32) / size
    angles = places.float()[..., None] * (1.0 / base**halves)
    angles = torch.cat([angles, angles], dim=-1)
    if places.dim() == 2:
        angles = angles[:, None]  # the same for every head
    return torch.stack([angles.cos(), angles.sin()])


def rotated(x_BHTE: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """Rotate queries or keys by their position; the halves of a head are the two coordinates."""
    cos, sin = turn.to(x_BHTE.dtype).unbind()
    one, other = x_BHTE.chunk(2, dim=-1)
    return x_BHTE * cos + torch.cat([-other, one], dim=-1) * sin


class Attention(nn.Module):
    """Multi-head self-attention, global or local."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=config.bias == "all")
        self.out = nn.Linear(config.hidden_size, config.hidden_size, bias=config.bias == "all")

    def forward(self, x_BTD: torch.Tensor, mask: torch.Tensor | None, turn: torch.Tensor | None) -> torch.Tensor:
        """Attend where the mask (broadcast to B x H x T x T) is True, with queries and keys rotated by ``turn``."""
        B, T, D = x_BTD.shape
        qkv, dropout = self.qkv(x_BTD), self.dropout if self.training else 0.0
        if mask is None and is_supported(qkv, self.heads, turn):
            seen_BTD = short_attention(qkv, self.heads, dropout=dropout, turn=turn)
        else:
            q_BHTE, k_BHTE, v_BHTE = qkv.view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
            if turn is not None:
                q_BHTE, k_BHTE = rotated(q_BHTE, turn), rotated(k_BHTE, turn)
            seen_BHTE = F.scaled_dot_product_attention(q_BHTE, k_BHTE, v_BHTE, attn_mask=mask, dropout_p=dropout)
            seen_BTD = seen_BHTE.transpose(1, 2).reshape(B, T, D)
        out: torch.Tensor = self.out(seen_BTD)
        return out


class FeedForward(nn.Module):
    """Feed-forward block: GELU between two matrices, or GeGLU."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.gated = config.mlp == "geglu"
        bias = config.bias == "all"
        self.up = nn.Linear(config.hidden_size, config.intermediate_size * (2 if self.gated else 1), bias=bias)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size, bias=bias)

    def forward(self, x_BTD: torch.Tensor) -> torch.Tensor:
        """Transform each token."""
        if self.gated:  # two products: with one, the gradients of both halves would have to be concatenated
            bias_F: torch.Tensor | None = self.up.bias
            biases = (None, None) if bias_F is None else bias_F.chunk(2)
            value_FD, gate_FD = self.up.weight.chunk(2)
            up_BTF = F.gelu(F.linear(x_BTD, value_FD, biases[0])) * F.linear(x_BTD, gate_FD, biases[1])
        else:
            up_BTF = F.gelu(self.up(x_BTD))
        down: torch.Tensor = self.down(up_BTF)
        return down


class Block(nn.Module):
    """One layer.

    Args:
        config: The encoder's.
        layer: Its number from 0. The first of a pre-norm encoder has no norm before its attention, since the
            embeddings end in one.
    """

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.attention = Attention(config)
        self.attention_norm = nn.Identity() if self.pre and layer == 0 else norm(config)
        self.mlp = FeedForward(config)
        self.mlp_norm = norm(config)
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x_BTD: torch.Tensor, mask: torch.Tensor | None = None, turn: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Apply attention and feed-forward block, each with a residual connection."""
        if self.pre:
            x_BTD = x_BTD + self.dropout(self.attention(self.attention_norm(x_BTD), mask, turn))
            x_BTD = x_BTD + self.dropout(self.mlp(self.mlp_norm(x_BTD)))
        else:
            x_BTD = self.attention_norm(x_BTD + self.dropout(self.attention(x_BTD, mask, turn)))
            x_BTD = self.mlp_norm(x_BTD + self.dropout(self.mlp(x_BTD)))
        return x_BTD

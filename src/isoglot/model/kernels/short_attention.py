"""Fused attention over short rows from one packed projection: one kernel forward, one for all gradients.

Libraries need queries, keys and values as separate tensors and return three gradients that have to be concatenated for
the projection; these kernels read the packed tensor and write its gradient in the same layout. Rotary positions are
applied while loading. Dropout of the attention probabilities is a hash of the position and of one random number, the
same in both passes.

Tested: in Triton's interpreter on a CPU, all results against float64 (rows of 3 to 512 tokens, heads of 32 to 128
dimensions, with and without dropout and rotary positions). On an H200, forward and backward together take half the time
of ``scaled_dot_product_attention`` with the splitting and concatenation around it (docs/LOG.md). Only shapes that were
measured there are supported.

Shapes: ``B`` rows, ``T`` tokens, ``H`` heads, ``E`` head dimensions.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor

from isoglot.model.kernels.dropout import mixed

HAS_TRITON = find_spec("triton") is not None  # whether Triton is installed
SHAPES = ((128, 64), (256, 64))  # row lengths and head dimensions that the kernels support: those measured on a GPU


class Tiles(NamedTuple):
    """Tile sizes and launch options of a kernel."""

    queries: int  # queries of a program; ignored by the backward kernel, which takes all
    keys: int  # keys of an iteration of its loop
    warps: int  # warps (of 32 threads) of a program
    stages: int = 1  # pipeline stages of the loop; 0 unrolls it, which saves moves and costs code size
    # Maximum registers of a thread: with 128, two programs of 8 warps run side by side; None: the compiler decides
    registers: int | None = None


FORWARD = {
    16: Tiles(16, 16, 4),
    32: Tiles(32, 32, 4),
    64: Tiles(64, 64, 4),
    128: Tiles(128, 64, 8, 1, 128),
    256: Tiles(128, 64, 8, 3),
    512: Tiles(128, 64, 8, 2),
}
"""Tiles of the forward kernel by row length, rounded up to a power of two (of twice the length for heads of 128).

Both tables are read at every call, so a changed entry applies to the next one.
"""
BACKWARD = {
    16: Tiles(16, 16, 4),
    32: Tiles(32, 32, 4),
    64: Tiles(64, 32, 4),
    128: Tiles(128, 32, 8, 1, 128),
    256: Tiles(256, 64, 8, 2),
    512: Tiles(512, 16, 16),
}
"""Tiles of the backward kernel."""


def short_attention(
    qkv: Tensor, heads: int, *, dropout: float = 0.0, key: Tensor | None = None, turn: Tensor | None = None
) -> Tensor:
    """Self-attention over short rows (B x T x HE), by the kernels where they are supported, else in plain torch.

    Args:
        qkv: Queries, keys and values, packed as the projection returns them: B x T x 3HE, or B x T x 3 x H x E.
        heads: Number of heads (H).
        dropout: Dropout probability of the attention probabilities.
        key: Seed of the dropout mask (int32, 0-dim) on the same device; None: drawn at random.
        turn: Cosines and sines of :func:`isoglot.model.modules.rotation`, 2 x T x E (or their first half, 2 x T x E/2).

    >>> qkv = torch.randn(2, 5, 3 * 4 * 32, generator=torch.Generator().manual_seed(0))
    >>> short_attention(qkv, 4).shape
    torch.Size([2, 5, 128])
    """
    if dropout and key is None:
        key = (torch.rand((), device=qkv.device) * 2**31).to(torch.int32)
    if not dropout:
        key = None
    if not is_supported(qkv, heads, turn):
        return plain_attention(qkv, heads, dropout=dropout, key=key, turn=turn)
    packed = qkv.reshape(qkv.shape[0], qkv.shape[1], 3, heads, -1)
    seen: Tensor = torch.ops.isoglot.short_attention(packed, dropout, key, turn)[0]
    return seen


def is_supported(qkv: Tensor, heads: int, turn: Tensor | None = None) -> bool:
    """Whether the kernels support a tensor: Hopper or later with Triton, 16 bits, a known shape."""
    tokens, size = qkv.shape[1], math.prod(qkv.shape[2:]) // (3 * heads)
    return (
        HAS_TRITON
        and qkv.is_cuda
        and qkv.dtype in (torch.bfloat16, torch.float16)
        and (tokens, size) in SHAPES
        and (turn is None or turn.dim() == 3)
        and torch.cuda.get_device_properties(qkv.device).major >= 9
    )


def plain_attention(
    qkv: Tensor, heads: int, *, dropout: float = 0.0, key: Tensor | None = None, turn: Tensor | None = None
) -> Tensor:
    """Plain torch equivalent of the kernels: equal up to rounding, with the same dropout for the same key."""
    B, T = qkv.shape[:2]
    q_BHTE, k_BHTE, v_BHTE = qkv.reshape(B, T, 3, heads, -1).permute(2, 0, 3, 1, 4)
    if turn is not None:
        from isoglot.model.modules import rotated  # it imports this module

        if turn.shape[-1] < q_BHTE.shape[-1]:
            turn = torch.cat([turn, turn], dim=-1)
        q_BHTE, k_BHTE = rotated(q_BHTE, turn), rotated(k_BHTE, turn)
    scores_BHTT = q_BHTE @ k_BHTE.transpose(-1, -2) / math.sqrt(q_BHTE.shape[-1])
    p_BHTT = scores_BHTT.softmax(-1, dtype=torch.promote_types(qkv.dtype, torch.float32))
    if dropout:
        if key is None:
            raise ValueError("dropout needs a key")
        p_BHTT = torch.where(kept(B, heads, T, key, dropout), p_BHTT / (1 - dropout), 0.0)
    seen_BTHE: Tensor = (p_BHTT.to(v_BHTE.dtype) @ v_BHTE).transpose(1, 2)
    return seen_BTHE.reshape(B, T, -1)


def kept(rows: int, heads: int, tokens: int, key: Tensor, rate: float) -> Tensor:
    """Which attention probabilities are kept (B x H x T x T), a function of position and key alone.

    Two neighboring positions share a hash, 16 bits each: hashing is most of the cost of dropout.
    """
    pairs = (tokens + 1) // 2
    places = torch.arange(rows * heads * tokens * pairs, dtype=torch.int32, device=key.device)
    hashes = mixed(places ^ key).view(rows, heads, tokens, pairs, 1)
    bits = torch.cat([hashes & 0xFFFF, hashes >> 16 & 0xFFFF], dim=-1)
    return bits.flatten(-2)[..., :tokens] >= threshold(rate)


def threshold(rate: float) -> int:
    """Number of the 65,536 values of 16 bits that are dropped."""
    return round(rate * 2**16)


@torch.library.custom_op(
    "isoglot::short_attention",
    mutates_args=(),
    schema="(Tensor qkv, float dropout, Tensor? key, Tensor? turn) -> (Tensor, Tensor)",
)
def _forward(qkv: Tensor, dropout: float, key: Tensor | None, turn: Tensor | None) -> tuple[Tensor, Tensor]:
    """The output (B x T x HE), and the logarithms (base 2) of the softmax denominators (B x H x T)."""
    from isoglot.model.kernels.short_attention_triton import forward_kernel

    qkv = qkv.contiguous()
    B, T, _, H, _ = qkv.shape
    seen, sums = _empty(qkv)
    known, tiles = _known(qkv, dropout, turn), _tiles(FORWARD, qkv)
    with torch.cuda.device_of(qkv):
        forward_kernel[(-(-T // tiles.queries) * B * H,)](
            *(qkv, seen, sums, qkv if key is None else key, qkv if turn is None else turn),
            **known,
            N=tiles.queries,
            M=tiles.keys,
            UNROLL=tiles.stages == 0,
            num_warps=tiles.warps,
            num_stages=max(1, tiles.stages),
            maxnreg=tiles.registers,
        )
    return seen, sums


@torch.library.custom_op(
    "isoglot::short_attention_backward",
    mutates_args=(),
    schema="(Tensor qkv, Tensor seen, Tensor sums, Tensor grad, float dropout, Tensor? key, Tensor? turn) -> Tensor",
)
def _backward(
    qkv: Tensor, seen: Tensor, sums: Tensor, grad: Tensor, dropout: float, key: Tensor | None, turn: Tensor | None
) -> Tensor:
    """The gradient of the packed projection: B x T x 3 x H x E."""
    from isoglot.model.kernels.short_attention_triton import backward_kernel

    qkv, grad = qkv.contiguous(), grad.contiguous()
    into = torch.empty_like(qkv)
    known, tiles = _known(qkv, dropout, turn), _tiles(BACKWARD, qkv)
    with torch.cuda.device_of(qkv):
        backward_kernel[(qkv.shape[0] * qkv.shape[3],)](
            *(qkv, seen, sums, grad, into, qkv if key is None else key, qkv if turn is None else turn),
            **known,
            M=tiles.keys,
            UNROLL=tiles.stages == 0,
            num_warps=tiles.warps,
            num_stages=max(1, tiles.stages),
            maxnreg=tiles.registers,
        )
    return into


def _padded(tokens: int) -> int:
    return max(16, 1 << (tokens - 1).bit_length())  # blocks are powers of two, and matrix products need at least 16


def _tiles(table: dict[int, Tiles], qkv: Tensor) -> Tiles:
    rows = _padded(qkv.shape[1])
    tiles = table[rows * max(1, qkv.shape[-1] // 64)]
    return tiles._replace(queries=min(tiles.queries, rows), keys=min(tiles.keys, rows))


def _known(qkv: Tensor, dropout: float, turn: Tensor | None) -> dict[str, Any]:
    """Arguments that both kernels share."""
    _, T, _, H, E = qkv.shape
    return {
        "plane": 0 if turn is None else turn.stride(0),
        "T": T,
        "scale": math.log2(math.e) / math.sqrt(E),
        "grow": 1 / (1 - dropout),
        "H": H,
        "E": E,
        "TURN_STEP": 0 if turn is None else turn.stride(1),
        "THRESHOLD": threshold(dropout),
        "EVEN": _padded(T) == T,
        "ROWS": _padded(T),
    }


def _empty(qkv: Tensor) -> tuple[Tensor, Tensor]:
    B, T, _, H, E = qkv.shape
    return qkv.new_empty(B, T, H * E), qkv.new_empty(B, H, T, dtype=torch.float32)


_forward.register_fake(lambda qkv, *_: _empty(qkv))
_backward.register_fake(lambda qkv, *_: torch.empty_like(qkv, memory_format=torch.contiguous_format))


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:  # noqa: ANN401 - torch's context
    qkv, ctx.dropout, key, turn = inputs
    ctx.set_materialize_grads(False)  # the gradient of the denominators is never needed
    ctx.save_for_backward(qkv, *output, key, turn)


def _gradient(ctx: Any, grad: Tensor, _: Tensor | None) -> tuple[Tensor, None, None, None]:  # noqa: ANN401
    qkv, seen, sums, key, turn = ctx.saved_tensors
    return torch.ops.isoglot.short_attention_backward(qkv, seen, sums, grad, ctx.dropout, key, turn), None, None, None


_forward.register_autograd(_gradient, setup_context=_save)

"""Triton kernels of :mod:`isoglot.model.kernels.short_attention`: forward, and all gradients in one kernel.

Shapes: ``N`` queries of a block, ``M`` keys of a block, ``E`` head dimensions. Pointers go to packed tensors, so the
next token is ``STEP`` elements away. Without Triton these are plain functions that are never called.

Two neighboring elements share one hash, 16 bits each: the index of the pair is written so that the compiler sees that
both are the same, which halves the integer work (with dropout, the largest part of all).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from isoglot.model.kernels.short_attention import HAS_TRITON

if TYPE_CHECKING:
    from collections.abc import Callable

tl: Any = import_module("triton.language") if HAS_TRITON else None

if TYPE_CHECKING:
    Block: TypeAlias = Any
    constexpr: TypeAlias = Any
else:  # Triton evaluates the annotations and accepts only its own names
    Block, constexpr = (tl.tensor, tl.constexpr) if HAS_TRITON else (None, None)


class Kernel(Protocol):
    """GPU function: called by other ones, or launched on a grid of programs."""

    def __call__(self, *blocks: Block) -> Block:
        """Call it from another GPU function."""

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]: ...


def jit(function: Callable[..., object]) -> Kernel:
    """Compile a function with Triton when it is first called; without Triton, return it unchanged."""
    return cast("Kernel", import_module("triton").jit(function) if HAS_TRITON else function)


@jit
def load_rows(base: Block, places: Block, T: Block, STEP: constexpr, WIDTH: constexpr, EVEN: constexpr) -> Block:
    """Load the rows at some positions; zeros beyond the end."""
    at = base + places[:, None] * STEP + tl.arange(0, WIDTH)[None, :]
    if EVEN:
        return tl.load(at)
    return tl.load(at, mask=places[:, None] < T, other=0.0)


@jit
def store_rows(
    base: Block, x: Block, places: Block, T: Block, STEP: constexpr, WIDTH: constexpr, EVEN: constexpr
) -> None:
    """Store rows at their positions; none beyond the end."""
    at = base + places[:, None] * STEP + tl.arange(0, WIDTH)[None, :]
    x = x.to(base.dtype.element_ty)
    if EVEN:
        tl.store(at, x)
    else:
        tl.store(at, x, mask=places[:, None] < T)


@jit
def load_turned(
    base: Block,
    places: Block,
    T: Block,
    turn: Block,
    plane: Block,
    TURN_STEP: constexpr,
    STEP: constexpr,
    E: constexpr,
    EVEN: constexpr,
) -> Block:
    """Load queries or keys, rotated by their position if there is a table (its step is not 0)."""
    if TURN_STEP == 0:
        return load_rows(base, places, T, STEP, E, EVEN)
    one = load_rows(base, places, T, STEP, E // 2, EVEN).to(tl.float32)
    other = load_rows(base + E // 2, places, T, STEP, E // 2, EVEN).to(tl.float32)
    cos = load_rows(turn, places, T, TURN_STEP, E // 2, EVEN).to(tl.float32)
    sin = load_rows(turn + plane, places, T, TURN_STEP, E // 2, EVEN).to(tl.float32)
    halves = tl.permute(tl.join(one * cos - other * sin, other * cos + one * sin), (0, 2, 1))
    return tl.reshape(halves, (places.shape[0], E)).to(base.dtype.element_ty)


@jit
def store_unturned(
    base: Block,
    x: Block,
    places: Block,
    T: Block,
    turn: Block,
    plane: Block,
    TURN_STEP: constexpr,
    STEP: constexpr,
    E: constexpr,
    EVEN: constexpr,
) -> None:
    """Store the gradient of what :func:`load_turned` read, given the gradient of its result."""
    if TURN_STEP == 0:
        store_rows(base, x, places, T, STEP, E, EVEN)
    else:
        one, other = tl.split(tl.permute(tl.reshape(x, (places.shape[0], 2, E // 2)), (0, 2, 1)))
        cos = load_rows(turn, places, T, TURN_STEP, E // 2, EVEN).to(tl.float32)
        sin = load_rows(turn + plane, places, T, TURN_STEP, E // 2, EVEN).to(tl.float32)
        store_rows(base, one * cos + other * sin, places, T, STEP, E // 2, EVEN)
        store_rows(base + E // 2, other * cos - one * sin, places, T, STEP, E // 2, EVEN)


@jit
def is_kept(
    key: Block, first: Block, queries: Block, start: Block, T: Block, M: constexpr, THRESHOLD: constexpr
) -> Block:
    """Which probabilities of some queries are kept (N x M), for keys from an even position on."""
    pairs = (T + 1) // 2
    keys = tl.arange(0, M)
    h = ((first + queries) * pairs + start // 2)[:, None] + (keys // 2)[None, :]
    h = h ^ key  # from here on :func:`isoglot.model.kernels.dropout.mixed`
    h = (h ^ ((h >> 16) & 0xFFFF)) * -2048144789
    h = (h ^ ((h >> 13) & 0x7FFFF)) * -1028477387
    h = h ^ ((h >> 16) & 0xFFFF)
    return ((h >> ((keys & 1) * 16)[None, :]) & 0xFFFF) >= THRESHOLD


@jit
def forward_kernel(
    qkv: Block,
    out: Block,
    lse: Block,
    key: Block,
    turn: Block,
    plane: Block,
    T: Block,
    scale: Block,
    grow: Block,
    H: constexpr,
    E: constexpr,
    TURN_STEP: constexpr,
    THRESHOLD: constexpr,
    EVEN: constexpr,
    ROWS: constexpr,
    N: constexpr,
    M: constexpr,
    UNROLL: constexpr,
) -> None:
    """Attention output of N queries of a head, and the logarithms (base 2) of their softmax denominators.

    ``ROWS`` is the length rounded up to a power of two, ``scale`` includes log2(e), ``grow`` is 1 / (1 - dropout).
    """
    STEP: tl.constexpr = 3 * H * E
    blocks = (T + N - 1) // N
    queries = tl.program_id(0) % blocks * N + tl.arange(0, N)
    head = tl.program_id(0) // blocks
    base = qkv + (head // H).to(tl.int64) * T * STEP + (head % H) * E
    q = load_turned(base, queries, T, turn, plane, TURN_STEP, STEP, E, EVEN)
    top = tl.full((N,), -float("inf"), tl.float32)
    total = tl.zeros((N,), tl.float32)
    seen = tl.zeros((N, E), tl.float32)
    drawn = tl.load(key) if THRESHOLD else 0
    for start in (tl.static_range if UNROLL else tl.range)(0, ROWS if EVEN or UNROLL else T, M):
        keys = start + tl.arange(0, M)
        k = load_turned(base + H * E, keys, T, turn, plane, TURN_STEP, STEP, E, EVEN)
        v = load_rows(base + 2 * H * E, keys, T, STEP, E, EVEN)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        if not EVEN:
            s = tl.where(keys[None, :] < T, s, -float("inf"))
        higher = tl.maximum(top, tl.max(s, 1) * scale)
        p = tl.exp2(s * scale - higher[:, None])
        if M < ROWS:
            shrink = tl.exp2(top - higher)
            total = total * shrink + tl.sum(p, 1)
            seen = seen * shrink[:, None]
        else:
            total = tl.sum(p, 1)
        if THRESHOLD:
            p = tl.where(is_kept(drawn, head * T, queries, start, T, M, THRESHOLD), p, 0.0)
        seen = tl.dot(p.to(v.dtype), v, seen, input_precision="ieee")
        top = higher
    seen = seen * (grow / total)[:, None]
    at = out + (head // H).to(tl.int64) * T * (H * E) + (head % H) * E
    store_rows(at, seen, queries, T, H * E, E, EVEN)
    tl.store(lse + head.to(tl.int64) * T + queries, top + tl.log2(total), mask=queries < T)


@jit
def backward_kernel(
    qkv: Block,
    out: Block,
    lse: Block,
    grad: Block,
    dqkv: Block,
    key: Block,
    turn: Block,
    plane: Block,
    T: Block,
    scale: Block,
    grow: Block,
    H: constexpr,
    E: constexpr,
    TURN_STEP: constexpr,
    THRESHOLD: constexpr,
    EVEN: constexpr,
    ROWS: constexpr,
    M: constexpr,
    UNROLL: constexpr,
) -> None:
    """All gradients of one head of one row: every query at once, the keys in blocks of M.

    The gradient of the queries stays in registers until the end; those of a block of keys and values are complete
    after their block, so nothing is accumulated in memory. ``scale`` includes log2(e).
    """
    STEP: tl.constexpr = 3 * H * E
    head = tl.program_id(0)
    shift = (head // H).to(tl.int64) * T
    queries = tl.arange(0, ROWS)
    base = qkv + shift * STEP + (head % H) * E
    into = dqkv + shift * STEP + (head % H) * E
    at = shift * (H * E) + (head % H) * E
    q = load_turned(base, queries, T, turn, plane, TURN_STEP, STEP, E, EVEN)
    do = load_rows(grad + at, queries, T, H * E, E, EVEN)
    o = load_rows(out + at, queries, T, H * E, E, EVEN)
    mean = tl.sum(do.to(tl.float32) * o.to(tl.float32), 1) / grow
    log = tl.load(lse + head.to(tl.int64) * T + queries, mask=queries < T, other=0.0)
    drawn = tl.load(key) if THRESHOLD else 0
    plain = scale * (grow * 0.6931471805599453)
    dq = tl.zeros((ROWS, E), tl.float32)
    for start in (tl.static_range if UNROLL else tl.range)(0, ROWS if EVEN or UNROLL else T, M):
        keys = start + tl.arange(0, M)
        k = load_turned(base + H * E, keys, T, turn, plane, TURN_STEP, STEP, E, EVEN)
        v = load_rows(base + 2 * H * E, keys, T, STEP, E, EVEN)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        p = tl.exp2(s * scale - log[:, None])
        if not EVEN:
            p = tl.where(keys[None, :] < T, p, 0.0)
        kept = p
        if THRESHOLD:
            kept = tl.where(is_kept(drawn, head * T, queries, start, T, M, THRESHOLD), p, 0.0)
        ds = (kept * dp - p * mean[:, None]).to(q.dtype)
        dv = tl.dot(
            tl.trans(do), kept.to(do.dtype), input_precision="ieee"
        )  # E x M: both have the right layout in shared memory
        dk = tl.dot(tl.trans(q), ds, input_precision="ieee")
        dq = tl.dot(ds, k, dq, input_precision="ieee")
        store_rows(into + 2 * H * E, tl.trans(dv * grow), keys, T, STEP, E, EVEN)
        store_unturned(into + H * E, tl.trans(dk * plain), keys, T, turn, plane, TURN_STEP, STEP, E, EVEN)
    store_unturned(into, dq * plain, queries, T, turn, plane, TURN_STEP, STEP, E, EVEN)

"""Counter-based random number generator: no state, no order of calls, the same bits on every device.

A number depends only on (seed, name of the stream, step, row, column). So a step can be repeated after a crash, and a
batch can be split over ranks or accumulated in parts: every row is masked the same. The generator is splitmix64 with
random access: entry ``i`` of its sequence is ``mixed(i * GOLDEN)``, and keys are entries of entries. It uses only xor,
shifts and wrapping products of int64, so CPU, CUDA and MPS agree, compiled or not, and nothing waits for the device.
Plain ints give the same numbers on the host:

>>> import torch
>>> int(entry(torch.tensor(1))) == entry(1) == 0xE220A8397B1DCDAF - 2**64
True

Reference: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators".

Shapes: ``B`` rows of a batch.
"""

from __future__ import annotations

import math
from typing import TypeVar

import torch
from torch import Tensor

from isoglot.core.rng import derive_seed

Bits = TypeVar("Bits", int, Tensor)  # 64 bits: an int on the host, or an int64 tensor

GOLDEN = 0x9E3779B97F4A7C15 - 2**64  # 2**64 over the golden ratio, as int64: the stride of splitmix64
LARGEST = 2**63 - 1

_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64
_ROUNDS = 6


def mixed(x: Bits) -> Bits:
    """Finalizer of splitmix64: a bijection of 64 bits in which every input bit affects every output bit."""
    x = _product(x ^ high(x, 34), _FIRST)
    x = _product(x ^ high(x, 37), _SECOND)
    return x ^ high(x, 33)


def entry(x: Bits) -> Bits:
    """Entry ``x`` of the splitmix64 sequence that starts at 0: int64, all 64 bits random."""
    return mixed(_product(x, GOLDEN))


def high(x: Bits, bits: int) -> Bits:
    """The highest bits of an int64, as a number from 0 to 2**bits - 1.

    >>> high(-1, 24) == 2**24 - 1
    True
    """
    return (x >> (64 - bits)) & ((1 << bits) - 1)


def _product(x: Bits, y: int) -> Bits:
    """The lowest 64 bits of a product, signed, as tensors compute it."""
    if isinstance(x, int):
        return ((x * y + 2**63) & (2**64 - 1)) - 2**63
    return x * y


def stream(seed: int, name: str) -> int:
    """The number of a named stream, such as ``"masking"``; computed once, outside of compiled functions."""
    return derive_seed(seed, name)


def step_key(stream: int, step: int | Tensor) -> Tensor:
    """The key of a stream at a step, int64.

    Args:
        stream: From :func:`stream`.
        step: A number, or an int64 tensor of any shape. In a compiled function it must be a tensor: for a number it
            would be compiled again each time.
    """
    return torch.tensor(entry(stream ^ step)) if isinstance(step, int) else entry(step ^ stream)


def host_draw(seed: int, name: str, step: int, row: int = 0, column: int = 0) -> int:
    """One random int64 on the host, the same that :func:`draws` has for that row and column.

    >>> int(draws(step_key(stream(7, "x"), 3), torch.tensor([5]), 2)[0, 1]) == host_draw(7, "x", 3, row=5, column=1)
    True
    """
    return entry(entry(entry(stream(seed, name) ^ step) ^ row) ^ column)


def draws(key: Tensor, rows_B: Tensor, count: int) -> Tensor:
    """Random int64 numbers for each row (B, count), all 64 bits random.

    Args:
        key: From :func:`step_key`.
        rows_B: The number of each row among all rows of the step, over all ranks.
        count: Numbers per row.
    """
    rows_B1 = entry(rows_B ^ key).unsqueeze(-1)
    return entry(rows_B1 ^ torch.arange(count, device=rows_B.device))


def below(draws: Tensor, n: int | Tensor) -> Tensor:
    """Draws as int64 from 0 to n - 1; their probabilities differ by at most one part in 2**63 / n."""
    return (draws & LARGEST) % n


def permuted(index: Tensor, n: int, key: Tensor) -> Tensor:
    """Image of an index under a random permutation of range(n), without storing the permutation.

    Every round rotates all numbers modulo n, then writes those below ``high_side * low_side`` (all but fewer than the
    root of n) as two digits and shifts each digit by a random function of the other: a Feistel network in a mixed base.
    Each part is a bijection for any n, so no cycle has to be walked.

    Args:
        index: Int64 from 0 to n - 1, of any shape.
        n: Size of the range, below 2**62.
        key: Selects the permutation: one key, or keys that broadcast to the shape of ``index``.
    """
    for round_ in range(_ROUNDS):
        low_side = min(n, math.isqrt(n) + round_ % 2)  # two bases in turn: no block of numbers stays together
        high_side = n // low_side
        key = entry(key ^ round_)
        index = (index + below(key, n)) % n
        left, right = index // low_side, index % low_side
        left = (left + below(mixed(key ^ right), high_side)) % high_side
        right = (right + below(mixed(key ^ ~left), low_side)) % low_side
        index = torch.where(index < high_side * low_side, left * low_side + right, index)
    return index

"""How many threads are quickest: all of them, or fewer, for small work or on a machine that has other things to do.

Threads of torch wait for each other many times in a training step. Where another program has one of two cores, a
step of a small encoder takes three times as long with two threads as with one.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROUNDS, _STEPS = 5, 15  # a second or two in all


@contextmanager
def quickest_threads() -> Iterator[int]:
    """While the block lasts torch computes with 1, 2, 4 … threads, or as many as before, whichever is quickest now.

    Numbers may differ in their last bits with the number of threads.

    >>> before = torch.get_num_threads()
    >>> with quickest_threads() as count:
    ...     count <= before, count == torch.get_num_threads()
    (True, True)
    >>> torch.get_num_threads() == before
    True
    """
    before = torch.get_num_threads()
    times: dict[int, list[float]] = {count: [] for count in (before, *_powers_below(before))}
    try:
        for _ in range(_ROUNDS if before > 1 else 0):
            for count, taken in times.items():
                torch.set_num_threads(count)
                taken.append(_seconds())
        best = min(times, key=lambda count: median(times[count] or [0]))
        torch.set_num_threads(best)
        yield best
    finally:
        torch.set_num_threads(before)


def _powers_below(most: int) -> list[int]:
    """Powers of two that are less.

    >>> _powers_below(1), _powers_below(8), _powers_below(12)
    ([], [1, 2, 4], [1, 2, 4, 8])
    """
    return [1 << power for power in range((most - 1).bit_length())]


def _seconds() -> float:
    """What some steps take of a layer such as small encoders have."""
    x_ND = torch.zeros(2048, 64)
    up_DE, down_ED = (torch.zeros(shape, requires_grad=True) for shape in ((64, 192), (192, 64)))
    start = time.perf_counter()
    for _ in range(_STEPS):
        F.layer_norm(x_ND + F.gelu(x_ND @ up_DE) @ down_ED, (64,)).sum().backward()
    return time.perf_counter() - start

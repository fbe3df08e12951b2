"""How many threads are quickest: all of them, or one, on a machine that has other things to do.

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
    """While the block lasts torch computes with one thread, or with as many as before, whichever is quicker now.

    Numbers may differ in their last bits with the number of threads, so this is for work that a clock ends anyway.

    >>> before = torch.get_num_threads()
    >>> with quickest_threads() as count:
    ...     count in (1, before), count == torch.get_num_threads()
    (True, True)
    >>> torch.get_num_threads() == before
    True
    """
    before = torch.get_num_threads()
    times: dict[int, list[float]] = {count: [] for count in (before, 1)}
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


def _seconds() -> float:
    """What some steps take of a layer such as small encoders have."""
    x_ND = torch.zeros(2048, 64)
    up_DE, down_ED = (torch.zeros(shape, requires_grad=True) for shape in ((64, 192), (192, 64)))
    start = time.perf_counter()
    for _ in range(_STEPS):
        F.layer_norm(x_ND + F.gelu(x_ND @ up_DE) @ down_ED, (64,)).sum().backward()
    return time.perf_counter() - start

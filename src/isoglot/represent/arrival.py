"""Results on their way from the device: the next batches are given to it before the last ones are looked at.

A GPU does what it is given in order and by itself. Whoever asks for a number waits until all before it is done, and
meanwhile gives it nothing to do; so nothing is asked for until some batches later, when it has long been copied.

Shapes: ``L`` layers, ``K`` items of a batch, ``D`` hidden size.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeVar

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np

ItemT = TypeVar("ItemT")

IN_FLIGHT = {"cuda": 3}
"""Batches that a kind of device is given ahead; elsewhere none: there, computing is over when the call is."""


def sent(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor on a device; on its way there, if that is a GPU: from memory that the GPU can read by itself."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Arrival:
    """Vectors on their way to the host.

    Args:
        vectors_LKD: Where they are, perhaps not computed yet.
    """

    def __init__(self, vectors_LKD: torch.Tensor) -> None:
        self._event: torch.cuda.Event | None = None
        if vectors_LKD.device.type == "cuda":
            # One number for each layer says whether all are numbers: a maximum of NaN is NaN.
            self._peaks_L = _copied(vectors_LKD.abs().amax(dim=(1, 2)))
            self._vectors_LKD = _copied(vectors_LKD)
            self._event = torch.cuda.Event()
            self._event.record(torch.cuda.current_stream(vectors_LKD.device))
        else:
            self._peaks_L = self._vectors_LKD = vectors_LKD.cpu()

    def wait(self) -> tuple[torch.Tensor, np.ndarray]:
        """What to look at to see whether all are finite numbers (L x …), and the vectors; once they are there."""
        if self._event is not None:
            self._event.synchronize()
        return self._peaks_L, self._vectors_LKD.numpy()


def behind(made: Iterable[ItemT], count: int) -> Iterator[ItemT]:
    """The same items, each only once so many more have been made.

    >>> made = []
    >>> for item in behind(map(lambda item: made.append(item) or item, "abcd"), 2):
    ...     print(item, "".join(made))
    a abc
    b abcd
    c abcd
    d abcd
    """
    waiting: deque[ItemT] = deque()
    for item in made:
        waiting.append(item)
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy on the host, there once the device has come so far."""
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    return host.copy_(tensor, non_blocking=True)

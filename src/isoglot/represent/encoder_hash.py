"""A hash that stands for the weights of an encoder, computed while it is at work, and once for the same weights.

Half a gigabyte of weights takes SHA-256 about as long as a GPU needs for some ten thousand sentences, so a thread of
its own does it. It only reads, and so does the encoder. Whether they are the same weights as before is a matter of
sums, which are quick.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from isoglot.model.protocol import EncoderLike


_known: WeakKeyDictionary[nn.Module, tuple[list[int], str]] = WeakKeyDictionary()


def encoder_hash(encoder: EncoderLike) -> str | None:
    """A SHA-256 that stands for the weights of an encoder; None for one that is no torch module."""
    if not isinstance(encoder, nn.Module):
        return None
    weights = dict(sorted(encoder.state_dict().items()))
    state = _state(weights)
    known = _known.get(encoder)
    if known is None or known[0] != state:
        known = _known[encoder] = state, _sha256(weights)
    return known[1]


def _sha256(weights: Mapping[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in weights.items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(_bytes(tensor.cpu()).numpy().data)
    return digest.hexdigest()


def _state(weights: Mapping[str, torch.Tensor]) -> list[int]:
    """Numbers that are others once a weight was moved or written to, by whatever way.

    The counts of changes alone do not see one through ``tensor.data`` or a numpy view, and a tensor made in inference
    mode has none; sums alone do not see rows that change places.
    """
    seen = [_sum(tensor) for tensor in weights.values()]
    sums = torch.stack(seen).tolist() if seen else []
    changes = [0 if tensor.is_inference() else tensor._version for tensor in weights.values()]
    return [*(tensor.data_ptr() for tensor in weights.values()), *changes, *sums]


def _sum(tensor: torch.Tensor) -> torch.Tensor:
    """Of a tensor's bytes, eight at a time where they are so many."""
    found = _bytes(tensor)
    whole = len(found) % 8 == 0 and found.storage_offset() % 8 == 0
    return (found.view(torch.int64) if whole else found).sum(dtype=torch.int64)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().contiguous().flatten().view(torch.uint8)


@contextmanager
def hashing(encoder: EncoderLike) -> Iterator[Future[str | None]]:
    """While the block lasts, the hash of its encoder is being computed; ``result()`` waits for it."""
    stream: AbstractContextManager[object] = nullcontext()
    if encoder.device.type == "cuda":
        # Copies do not stand in line behind the encoder's work, only behind what was written to the weights before.
        beside = torch.cuda.Stream(encoder.device)
        beside.wait_stream(torch.cuda.current_stream(encoder.device))
        stream = torch.cuda.stream(beside)

    def work() -> str | None:
        with stream:
            return encoder_hash(encoder)

    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(work)

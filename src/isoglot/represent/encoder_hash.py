"""SHA-256 of an encoder's weights, computed in the background and cached for unchanged weights.

Hashing half a gigabyte of weights takes about as long as a GPU needs for ten thousand sentences, so a thread does it
while the encoder runs; both only read. Whether weights have changed since is decided by checksums, which are faster.
"""

from __future__ import annotations

import hashlib
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from isoglot.model.protocol import EncoderLike


_known: WeakKeyDictionary[nn.Module, tuple[list[tuple[object, ...]], str]] = WeakKeyDictionary()
_PART = 1 << 22  # words summed at a time: 64 MiB beside the weights
_SAMPLE = 1 << 12  # values of a tensor in its sample


def encoder_hash(encoder: EncoderLike) -> str | None:
    """SHA-256 of an encoder's weights; None if it is not a torch module."""
    if not isinstance(encoder, nn.Module):
        return None
    weights = dict(sorted(encoder.state_dict().items()))
    checksums = [(name, tensor.dtype, tensor.shape, *_state(tensor)) for name, tensor in weights.items()]
    state = [(*about, int(checksum)) for *about, checksum in checksums]  # waits for the device
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


def _state(tensor: torch.Tensor) -> tuple[int, int, torch.Tensor | int]:
    """Address, version and checksum of a tensor; the checksum comes last."""
    if tensor.is_inference():
        return tensor.data_ptr(), 0, _checksum(tensor)
    values_N = tensor.detach().contiguous().flatten()
    step = max(1, len(values_N) // _SAMPLE) | 1  # odd, so that the sample covers every column of a matrix
    return tensor.data_ptr(), tensor._version, _checksum(values_N[::step])


def _checksum(tensor: torch.Tensor) -> torch.Tensor | int:
    """Checksum that changes with any weight; several times as fast as SHA-256."""
    return zlib.crc32(_bytes(tensor).numpy().data) if tensor.device.type == "cpu" else weighted_sum(tensor)


def weighted_sum(tensor: torch.Tensor) -> torch.Tensor:
    """Position-weighted sum of a tensor's 8-byte words, on the tensor's device.

    High bits are folded onto low ones first: otherwise two flipped signs at the ends of words could cancel.
    """
    found = _bytes(tensor)
    words = nn.functional.pad(found, (0, -len(found) % 8)).view(torch.int64)
    places = 2 * torch.arange(min(len(words), _PART), device=words.device) + 1
    total = torch.zeros((), dtype=torch.int64, device=words.device)
    for number, part in enumerate(words.split(_PART)):
        folded = (part >> 29).bitwise_and_((1 << 35) - 1).bitwise_xor_(part)
        total += 2 * number * _PART * folded.sum()
        total += folded.mul_(places[: len(part)]).sum()
    return total


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().contiguous().flatten().view(torch.uint8)


@contextmanager
def hashing(encoder: EncoderLike) -> Iterator[Future[str | None]]:
    """Compute the hash of an encoder in the background of the block; ``result()`` waits for it."""
    stream: AbstractContextManager[object] = nullcontext()
    if encoder.device.type == "cuda":
        # Copies wait for earlier writes to the weights, not for the encoder's work.
        beside = torch.cuda.Stream(encoder.device)
        beside.wait_stream(torch.cuda.current_stream(encoder.device))
        stream = torch.cuda.stream(beside)

    def work() -> str | None:
        with stream:
            return encoder_hash(encoder)

    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(work)

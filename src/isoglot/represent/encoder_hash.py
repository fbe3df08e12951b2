"""A hash that stands for the weights of an encoder, computed while the encoder is at work.

Half a gigabyte of weights takes SHA-256 about as long as a GPU needs for some ten thousand sentences, so a thread of
its own does it. It only reads, and so does the encoder.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from isoglot.model.protocol import EncoderLike


def encoder_hash(encoder: EncoderLike) -> str | None:
    """A SHA-256 that stands for the weights of an encoder; None for one that is no torch module."""
    if not isinstance(encoder, nn.Module):
        return None
    digest = hashlib.sha256()
    for name, tensor in sorted(encoder.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


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

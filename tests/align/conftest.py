"""Spaces, and small encoders, with a rotation planted between them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from isoglot.model import Encoder
from isoglot.model.protocol import EncoderLike
from isoglot.vocab import train_vocabulary

Orthogonal = Callable[[int], np.ndarray]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def orthogonal(rng: np.random.Generator) -> Orthogonal:
    """A random orthogonal matrix of a width."""
    return lambda width: np.linalg.qr(rng.normal(size=(width, width)))[0]


@pytest.fixture(scope="session")
def encoder(nano_encoder, small_texts) -> Encoder:
    """A nano encoder of English and French that share everything, with noise in every parameter."""
    vocabulary = train_vocabulary(small_texts, mode="joint", size=1000, coverage=1.0)
    encoder: Encoder = nano_encoder(vocabulary, "paper")
    chance = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=chance) * 0.1)
    return encoder.eval()


def _rotation(width: int, seed: int) -> torch.Tensor:
    """A random orthogonal matrix."""
    return torch.from_numpy(np.linalg.qr(np.random.default_rng(seed).normal(size=(width, width)))[0]).float()


class Turned(EncoderLike):
    """An encoder whose every layer is turned by a rotation of its own; what goes on from a layer is turned back."""

    def __init__(self, inner: Encoder) -> None:
        self.inner = inner
        self.turns = [_rotation(inner.hidden_size, layer) for layer in range(inner.depth + 1)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def layers(self, batch, language=None):
        found = self.inner.layers(batch, language)
        return tuple(hidden @ turn for hidden, turn in zip(found, self.turns, strict=True))

    def run_from(self, layer, hidden, batch, language=None, to=None):
        end = self.inner.depth if to is None else to
        return self.inner.run_from(layer, hidden @ self.turns[layer].T, batch, language, to) @ self.turns[end]


@pytest.fixture
def turned(encoder: Encoder) -> Turned:
    """The encoder, every layer turned."""
    return Turned(encoder)


@pytest.fixture
def turned_table(encoder: Encoder) -> tuple[Encoder, torch.Tensor]:
    """The encoder with its embedding matrix turned, and the rotation."""
    other = copy.deepcopy(encoder)
    turn = _rotation(encoder.hidden_size, 3)
    with torch.no_grad():
        weight = other.embedding.tokens.of("en").weight
        weight.copy_(weight @ turn)
    return other, turn

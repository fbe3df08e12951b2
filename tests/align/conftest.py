"""Spaces with a rotation planted between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

Orthogonal = Callable[[int], np.ndarray]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def orthogonal(rng: np.random.Generator) -> Orthogonal:
    """A random orthogonal matrix of a width."""
    return lambda width: np.linalg.qr(rng.normal(size=(width, width)))[0]

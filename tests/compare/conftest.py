"""Pairs of spaces for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Pair = tuple[np.ndarray, np.ndarray]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def orthogonal(rng: np.random.Generator) -> Callable[[int], np.ndarray]:
    """A random orthogonal matrix of a width."""
    return lambda width: np.linalg.qr(rng.normal(size=(width, width)))[0]


@pytest.fixture
def related(rng: np.random.Generator) -> Pair:
    """Two spaces of 80 items and 6 columns that have much in common, neither of them around the origin."""
    X = rng.normal(size=(80, 6)) * np.array([3.0, 2.0, 1.0, 1.0, 0.5, 0.3]) + rng.normal(size=6)
    Y = X @ (np.eye(6) + rng.normal(size=(6, 6)) * 0.3) + rng.normal(size=X.shape) * 0.7 + rng.normal(size=6)
    return X, Y

"""Representation topology divergence against ranks of boundary matrices and cases by hand."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.compare import rtd
from isoglot.compare.measures.topology import bars
from tests.errors import raises


def rank(rows: list[list[int]]) -> int:
    """Rank over two elements."""
    found: list[int] = []
    for row in rows:
        number = int("".join(map(str, row)) or "0", 2)
        for each in found:
            number = min(number, number ^ each)
        if number:
            found.append(number)
    return len(found)


def relative_betti(own: np.ndarray, near: np.ndarray, scale: float) -> int:
    """Dimension of H₁ of the clique complex of ``near`` at a scale relative to that of ``own``, from its boundary matrix.

    Relative chains: all vertices are in both, so edges in ``near`` alone are cycles, and triangles bound them.
    """
    count = len(own)
    edges = [pair for pair in combinations(range(count), 2) if near[pair] <= scale < own[pair]]
    boundaries = []
    for triangle in combinations(range(count), 3):
        sides = list(combinations(triangle, 2))
        if all(near[side] <= scale for side in sides) and not all(own[side] <= scale for side in sides):
            boundaries.append([int(edge in sides) for edge in edges])
    return len(edges) - rank(boundaries)


@given(st.integers(0, 10_000), st.integers(4, 9), st.booleans())
@settings(max_examples=40)
def test_bars_have_the_length_of_the_relative_homology(seed: int, count: int, ties: bool):
    """The total length of the bars is the integral of the Betti number over the scale."""
    rng = np.random.default_rng(seed)
    own, other = (np.triu(rng.integers(1, 5, (count, count)) if ties else rng.random((count, count)), 1) for _ in "XY")
    own, other = own + own.T, other + other.T
    near = np.minimum(own, other)
    scales = np.unique(np.concatenate([own.ravel(), near.ravel()]))
    whole = sum((b - a) * relative_betti(own, near, a) for a, b in pairwise(scales))
    assert bars(own, other).sum() == pytest.approx(whole, abs=1e-9)


def test_two_clusters_by_hand():
    """Two pairs at distance 10, which the other space has at distance 1: they join at 1 instead of at 10."""
    far = np.abs(np.subtract.outer([0.0, 1.0, 11.0, 12.0], [0.0, 1.0, 11.0, 12.0]))
    close = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    np.testing.assert_allclose(bars(far, close), [9.0])
    assert len(bars(close, far)) == 0  # joining far items adds nothing to what is close already


def test_a_loop_by_hand():
    """A path of four items whose ends are near in the other space: a loop from 1 to the diagonal, which fills it."""
    loop = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]], dtype=float)
    path = np.array([[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]], dtype=float)
    np.testing.assert_allclose(bars(path, loop), [1.0])


def test_the_same_clouds_have_none():
    X = np.random.default_rng(0).normal(size=(60, 5))
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    assert rtd(X, 3 * X @ turn + 1) == pytest.approx(0, abs=1e-9)
    noise = np.random.default_rng(2).normal(size=X.shape)
    assert 0 < rtd(X, X + 0.1 * noise) < rtd(X, X + 0.5 * noise) < rtd(X, noise)


def test_nearly_equal_rows():
    rows = np.zeros((30, 2))
    rows[0] = 1
    with raises("input.constant", "Y"):
        rtd(np.random.default_rng(0).normal(size=(30, 2)), rows)

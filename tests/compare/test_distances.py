"""Distance correlation against the textbook formula and its theorems."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.compare import distance_correlation
from tests.errors import raises


def textbook(X: np.ndarray, Y: np.ndarray) -> float:
    """Székely, Rizzo & Bakirov (2007), equations 2.8 to 2.10, sum by sum."""
    n = len(X)

    def centered(Z: np.ndarray) -> np.ndarray:
        a = np.array([[math.dist(Z[k], Z[m]) for m in range(n)] for k in range(n)])
        A = np.empty((n, n))
        for k in range(n):
            for m in range(n):
                A[k, m] = a[k, m] - sum(a[k]) / n - sum(a[:, m]) / n + a.sum() / n**2
        return A

    A, B = centered(X), centered(Y)
    covariance, one, other = ((P * Q).sum() / n**2 for P, Q in ((A, B), (A, A), (B, B)))
    return math.sqrt(covariance / math.sqrt(one * other))


@given(st.integers(0, 10_000), st.integers(4, 12), st.integers(1, 4), st.integers(1, 20))
def test_it_is_the_textbook_formula(seed: int, count: int, width: int, other: int):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(count, width)), rng.normal(size=(count, other)) + 5
    assert distance_correlation(X, Y) == pytest.approx(textbook(X, Y), rel=1e-9)


def test_by_hand():
    """Four points on a line against two pairs of equal ones: distances |i − j| against 0 and 1."""
    line, pairs = np.arange(4.0)[:, None], np.array([[0.0], [0.0], [1.0], [1.0]])
    # A: row means 1.5, 1, 1, 1.5, mean 1.25; B: row means 0.5, so all entries are -0.5 or 0.5.
    A = np.array([[-7, -1, 3, 5], [-1, -3, 1, 3], [3, 1, -3, -1], [5, 3, -1, -7]]) / 4
    B = np.kron(np.eye(2) * -1 + 0.5, np.ones((2, 2)))
    expected = math.sqrt((A * B).sum() / math.sqrt((A**2).sum() * (B**2).sum()))
    assert distance_correlation(line, pairs) == pytest.approx(expected)


def test_independent_spaces_go_to_zero_and_dependence_without_correlation_does_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 1))
    assert distance_correlation(x, rng.normal(size=(2000, 1))) < 0.1
    assert abs(np.corrcoef(x[:, 0], x[:, 0] ** 2)[0, 1]) < 0.1
    assert distance_correlation(x, x**2) > 0.4


def test_equal_rows_have_no_distances():
    with raises("input.constant", "5"):
        distance_correlation(np.ones((5, 2)), np.eye(5))

"""The Procrustes angle and the neuron-wise correlation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.align import Procrustes
from isoglot.compare import anc, procrustes_distance
from tests.errors import raises


def normal_form(X: np.ndarray) -> np.ndarray:
    X = X - X.mean(0)
    return np.asarray(X / np.linalg.norm(X))


@pytest.mark.parametrize(("count", "widths"), [(50, (6, 6)), (50, (3, 8)), (50, (8, 3)), (10, (30, 40)), (10, (4, 60))])
def test_the_angle_is_that_of_the_nuclear_norm(count, widths, rng):
    X, Y = (rng.normal(size=(count, width)) * 3 + 1 for width in widths)
    nuclear = np.linalg.norm(normal_form(X).T @ normal_form(Y), "nuc")
    assert procrustes_distance(X, Y) == pytest.approx(math.acos(nuclear), abs=1e-10)


def test_the_angle_is_what_the_best_rotation_leaves(rng):
    X = rng.normal(size=(40, 5))
    Y = X + rng.normal(size=X.shape) * 0.5
    one, other = normal_form(X), normal_form(Y)
    turned = Procrustes().fit(one, other).transform(one)
    assert math.cos(procrustes_distance(X, Y)) == pytest.approx(float(np.sum(turned * other)), abs=1e-10)


def test_small_angles_are_exact(rng, orthogonal):
    X = rng.normal(size=(40, 5))
    assert procrustes_distance(X, X @ orthogonal(5)) < 1e-14
    away = rng.normal(size=X.shape)
    away -= away.mean(0)
    small, smaller = (procrustes_distance(X, X + size * away) for size in (1e-6, 1e-9))
    assert small / smaller == pytest.approx(1000, rel=1e-3)


def test_nothing_in_common_is_a_right_angle():
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(10, 7)) - 0.0)[0]
    basis -= basis.mean(0)
    basis = np.linalg.qr(basis)[0]
    assert procrustes_distance(basis[:, :2], basis[:, 2:4]) == pytest.approx(math.pi / 2)


@given(seed=st.integers(0, 2**32), widths=st.tuples(*[st.integers(1, 12)] * 3))
@settings(max_examples=50)
def test_the_way_over_a_third_space_is_never_shorter(seed, widths):
    rng = np.random.default_rng(seed)
    X, Y, Z = (rng.normal(size=(8, width)) for width in widths)
    assert procrustes_distance(X, Z) <= procrustes_distance(X, Y) + procrustes_distance(Y, Z) + 1e-9


def test_neurons_against_numpy(rng):
    X = rng.normal(size=(30, 4)) * [1, 10, 0.1, 1] + 5
    Y = X * [1, -1, 2, 0] + rng.normal(size=(30, 4))
    expected = np.mean([np.corrcoef(X[:, i], Y[:, i])[0, 1] for i in range(4)])
    assert anc(X, Y) == pytest.approx(expected, abs=1e-12)


def test_a_neuron_that_says_the_opposite_counts_against(rng):
    X = rng.normal(size=(30, 4))
    assert anc(X, X * [1, 1, 1, -1]) == pytest.approx(0.5)
    assert anc(X, -X) == pytest.approx(-1)


def test_neurons_that_do_not_vary(rng):
    X = rng.normal(size=(30, 3))
    silent = np.full((30, 1), 0.1)
    assert anc(np.hstack([X, silent]), np.hstack([X, silent + 1])) == pytest.approx(1)  # in neither: left out
    assert anc(np.hstack([X, silent]), np.hstack([X, X[:, :1]])) == pytest.approx(3 / 4)  # in one only: 0


def test_neurons_that_are_not_the_same(rng):
    X = rng.normal(size=(30, 3))
    with raises("input.shape", "3", "2"):
        anc(X, X[:, :2])

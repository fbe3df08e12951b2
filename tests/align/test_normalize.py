"""The steps keep what they promise, and can be undone as far as they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.align import (
    Center,
    IterativeNormalization,
    Procrustes,
    Steps,
    UnitLength,
    Whiten,
)
from tests.errors import raises


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 8), st.floats(0, 5))
def test_unit_length_and_zero_mean_together(seed: int, width: int, offset: float):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, width)) * rng.uniform(0.2, 3, size=width) + offset
    step = IterativeNormalization(tolerance=1e-7, rounds=1000).fit(X)
    Z = step.transform(X)
    assert np.abs(Z.mean(0)).max() < 1e-12
    assert np.abs(np.linalg.norm(Z, axis=1) - 1).max() <= 1e-7
    assert step.residual_ <= 1e-7
    assert step.means_.shape == (step.rounds_, width)
    assert -step.score(X) <= 1e-7
    # and only the lengths are lost
    assert np.allclose(step.inverse_transform(Z), X / np.linalg.norm(X, axis=1, keepdims=True), atol=1e-6)


def test_one_after_the_other_is_not_both():
    X = np.random.default_rng(0).exponential(size=(300, 6))
    Z = Steps([Center(), UnitLength()]).fit_transform(X)
    assert np.linalg.norm(Z.mean(0)) > 0.05
    once = IterativeNormalization(rounds=1).fit(X)
    assert once.rounds_ == 1
    assert once.residual_ > 0.01
    assert np.allclose(once.transform(X), Steps([UnitLength(), Center()]).fit_transform(X))


def test_where_both_cannot_hold_it_says_so():
    step = IterativeNormalization(rounds=50).fit(np.array([[1.0], [2.0], [-1.0]]))
    assert step.rounds_ == 50
    assert step.residual_ > 0.1
    with raises("input.zero-row", "0"):
        IterativeNormalization().fit(np.ones((2, 3)))


def test_rows_that_were_not_there_go_the_same_way():
    X = np.random.default_rng(1).normal(size=(100, 4)) + 1
    step = IterativeNormalization().fit(X[:80])
    assert np.allclose(step.transform(X)[80:], step.transform(X[80:]))


@pytest.mark.parametrize("kind", ["zca", "pca"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_whitening_gives_the_identity(kind, dtype: str):
    rng = np.random.default_rng(2)
    X = (rng.normal(size=(500, 6)) @ rng.normal(size=(6, 6)) + 3).astype(dtype)
    step = Whiten(kind=kind).fit(X)
    Z = step.transform(X)
    limit = 1e-10 if dtype == "float64" else 1e-3
    assert np.abs(np.cov(Z.T.astype(float), bias=True) - np.eye(6)).max() < limit
    assert -step.score(X) < limit
    assert np.abs(step.inverse_transform(Z) - X).max() < limit
    if kind == "zca":
        assert np.allclose(step.W_, step.W_.T, atol=1e-5)
    else:
        lengths = np.linalg.norm(step.W_, axis=0)
        assert (np.diff(lengths) > 0).all()  # the widest direction is shrunk most, and comes first


def test_whitening_needs_as_many_directions_as_columns():
    X = np.random.default_rng(3).normal(size=(4, 6))
    with raises("input.too-few", 4, "X", 3, 6):
        Whiten().fit(X)
    assert np.isfinite(Whiten(penalty=0.1).fit_transform(X)).all()


def test_zero_rows_are_ordinary_for_centering_and_whitening():
    X = np.random.default_rng(3).normal(size=(20, 2))
    X[4] = 0
    assert np.allclose(Center().fit_transform(X).mean(0), 0)
    assert Whiten().fit_transform(X).shape == X.shape


def test_very_small_and_very_large_rows_get_unit_length():
    X = np.array([[1e-30, 1e-30], [1e30, -1e30]], dtype=np.float32)
    assert np.allclose(UnitLength().fit_transform(X), np.array([[1, 1], [1, -1]]) / np.sqrt(2))


class TestSteps:
    def test_each_space_is_normalized_by_itself(self, rng, orthogonal):
        X = rng.normal(size=(100, 4)) + 3
        R = orthogonal(4)
        Y = 5 * (X - 3) @ R - 7
        steps = Steps([Center(), UnitLength(), Procrustes()]).fit(X, Y)
        assert np.allclose(steps.transform(X), steps.transform_target(Y))
        assert np.allclose(steps.source_[2].learned()["W_"], R)
        assert steps.score(X, Y) == pytest.approx(1)
        assert Procrustes().fit(X, Y).score(X, Y) < 0.95

    def test_what_was_given_stays_unfitted(self, rng):
        center = Center()
        steps = Steps([center]).fit(rng.normal(size=(9, 2)))
        assert center.learned() == {}
        assert steps.source_[0] is not center

    def test_rows_in_the_target_itself(self, rng, orthogonal):
        X, R = rng.normal(size=(100, 4)) + 3, orthogonal(4)
        Y = (X - X.mean(0)) @ R + [1, 2, 3, 4]
        steps = Steps([Center(), Procrustes()]).fit(X, Y)
        assert np.allclose(steps.to_target(X), Y)
        assert np.allclose(steps.inverse_transform(steps.transform_target(Y)), X)

    def test_means_come_from_all_rows_the_map_from_the_pairs(self, rng):
        X = rng.normal(size=(50, 3)) + 1
        steps = Steps([Center(), Procrustes()]).fit(X, X, pairs=np.array([[i, i] for i in range(10)]))
        assert np.allclose(steps.source_[0].learned()["mean_"], X.mean(0))

    def test_one_sided(self, rng):
        X = rng.normal(size=(50, 3)) + 1
        steps = Steps([Whiten(), Center()]).fit(X)
        assert steps.score(X) == pytest.approx(0, abs=1e-9)
        with raises("not-fitted"):
            steps.transform_target(X)

    def test_a_map_needs_two_spaces(self, rng):
        X = rng.normal(size=(50, 3))
        with raises("config.not-supported"):
            Steps([Procrustes()]).fit(X)
        with raises("config.not-supported"):
            Steps([Procrustes()]).fit(X, X).score(X)

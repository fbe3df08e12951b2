"""Procrustes, least squares, ridge, CCA: planted maps come back, noise costs what theory says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.align import CCA, LeastSquares, PairMoments, Procrustes, Ridge
from tests.errors import raises


def planted(seed: int, rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, width)), np.linalg.qr(rng.normal(size=(width, width)))[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "width"), [(50, 10), (2000, 100), (20_000, 32)])
def test_a_planted_rotation_comes_back(dtype: str, rows: int, width: int):
    X, R = planted(1, rows, width)
    X = (X + 5).astype(dtype)  # far off the origin: no loss of digits
    W = Procrustes().fit(X, (X @ R).astype(dtype)).W_
    assert np.abs(W - R).max() < 1e-5
    exact = np.asarray(W, dtype="float64")
    assert np.abs(exact.T @ exact - np.eye(len(R))).max() < (1e-12 if dtype == "float64" else 1e-6)


def test_the_noise_costs_what_theory_says():
    """With Y = XR + σE: ‖W − R‖² is D(D − 1)/2 · σ²/N for Procrustes and D² · σ²/N for least squares.

    Only the skew part of the noise can turn a rotation; least squares follows all of it.
    """
    width, sigma = 20, 0.1
    rng = np.random.default_rng(2)
    means = {}
    for rows in (500, 2000, 8000):
        errors = []
        for trial in range(12):
            X, R = planted(trial, rows, width)
            Y = X @ R + sigma * rng.normal(size=X.shape)
            errors.append([np.square(kind().fit(X, Y).W_ - R).sum() for kind in (Procrustes, LeastSquares)])
        means[rows] = np.mean(errors, axis=0)
        theory = np.array([width * (width - 1) / 2, width**2]) * sigma**2 / rows
        assert means[rows] == pytest.approx(theory, rel=0.12)
    # so the error itself falls with the root of N
    assert np.sqrt(means[500] / means[8000]) == pytest.approx([4, 4], rel=0.1)


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 30))
def test_no_orthogonal_matrix_fits_better(seed: int, width: int, rows: int):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2, rows, width))
    W = Procrustes().fit(X, Y).W_
    other = np.linalg.qr(rng.normal(size=(width, width)))[0]
    assert np.allclose(W @ W.T, np.eye(width))
    assert np.linalg.norm(X @ W - Y) <= np.linalg.norm(X @ other - Y) + 1e-9
    U, _, Vt = np.linalg.svd(X.T @ Y)
    assert np.trace(W.T @ X.T @ Y) == pytest.approx(np.trace((U @ Vt).T @ X.T @ Y))


def test_a_reflection_is_found_as_well():
    X, _ = planted(3, 40, 3)
    W = Procrustes().fit(X, X * [1, 1, -1]).W_
    assert np.allclose(W, np.diag([1, 1, -1]))


def test_least_squares_is_least_squares():
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(100, 7)), rng.normal(size=(100, 4))
    wanted = np.linalg.lstsq(X, Y)[0]
    assert np.allclose(LeastSquares().fit(X, Y).W_, wanted)
    assert np.allclose(LeastSquares().fit(X[:5], Y[:5]).W_, np.linalg.lstsq(X[:5], Y[:5])[0])  # the smallest of many
    ridge = Ridge(penalty=3.0).fit(X, Y).W_
    assert np.allclose(ridge, np.linalg.solve(X.T @ X + 3 * np.eye(7), X.T @ Y))
    assert np.linalg.norm(ridge) < np.linalg.norm(wanted)


def test_cca_finds_the_planted_correlations():
    rng = np.random.default_rng(5)
    rows, wanted = 40_000, np.array([0.9, 0.6, 0.2])
    Z, E = rng.normal(size=(2, rows, 3))
    X = Z @ rng.normal(size=(3, 3)) + [4, 0, -2]
    Y = np.c_[wanted * Z + np.sqrt(1 - wanted**2) * E, rng.normal(size=rows)] @ rng.normal(size=(4, 4))
    cca = CCA().fit(X, Y)
    assert cca.correlations_ == pytest.approx(wanted, abs=0.02)
    x, y = cca.transform(X), cca.transform_target(Y)
    joint = np.cov(np.c_[x, y].T, bias=True)
    assert np.allclose(joint[:3, :3], np.eye(3), atol=1e-8)
    assert np.allclose(joint[3:, 3:], np.eye(3), atol=1e-8)
    assert np.allclose(joint[:3, 3:], np.diag(cca.correlations_), atol=1e-8)
    assert CCA(components=2).fit(X, Y).transform(X) == pytest.approx(x[:, :2])


@given(st.integers(0, 10_000))
def test_cca_does_not_see_linear_maps(seed: int):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2, 40, 3))
    A, B = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
    assert np.allclose(CCA().fit(X, Y).correlations_, CCA().fit(X @ A + 1, Y @ B).correlations_, atol=1e-6)


def test_cca_of_too_few_rows():
    X, Y = np.random.default_rng(6).normal(size=(2, 4, 6))
    assert CCA().fit(X, Y).correlations_ == pytest.approx([1, 1, 1])  # any three centered rows agree
    assert CCA(penalty=1.0).fit(X, Y).correlations_[0] < 0.9
    with raises("input.out-of-range", 4, 3):
        CCA(components=4).fit(X, Y)


@given(st.integers(0, 1000), st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_moments_in_batches_are_the_moments(seed: int, sizes: list[int]):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(sum(sizes), 3)) + 100, rng.normal(size=(sum(sizes), 2))
    moments, start = PairMoments(), 0
    for size in sizes:
        moments.update(X[start : start + size], Y[start : start + size])
        start += size
    assert moments.count == len(X)
    assert np.allclose(moments.product("xy"), X.T @ Y, atol=1e-8)
    assert np.allclose(moments.covariance("xx"), np.cov(X.T, bias=True), atol=1e-10)
    assert np.allclose(moments.means["y"], Y.mean(0))


@pytest.mark.parametrize("make", [Procrustes, LeastSquares, Ridge, CCA])
def test_streaming_equals_batch(make: Any):
    rng = np.random.default_rng(8)
    X, Y = torch.from_numpy(rng.normal(size=(2, 20_000, 4)))
    moments = PairMoments()
    for x, y in zip(X.split(777), Y.split(777), strict=True):
        moments.update(x, y)
    one, two = make().fit_moments(moments), make().fit(X, Y)
    for name, value in two.learned().items():
        if isinstance(value, torch.Tensor):
            found = one.learned()[name]
            sign = 1 if make is not CCA else (found * value).sum(0).sign()
            assert torch.allclose(found * sign, value, atol=1e-9)


def test_moments_say_what_is_wrong():
    X = np.ones((3, 2))
    with raises("input.row-count", "3", "2"):
        PairMoments().update(X, X[:2])
    with raises("input.too-large", "0", "float32"):
        PairMoments().update(X, X * 1e200)
    with raises("input.shape", "2", "1"):
        PairMoments().update(X, X).update(X, X[:, :1])
    with raises("input.empty"):
        PairMoments().product("xy")
    with raises("input.shape", "2", "1"):
        Procrustes().fit_moments(PairMoments().update(X, X[:, :1]))

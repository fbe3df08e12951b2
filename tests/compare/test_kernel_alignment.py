"""CKA: its two ways to the same number, its unbiased form, and what each form sees."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch

from isoglot.compare import cka, paper_cka, rbf_cka
from isoglot.compare.measures.cka import (
    cheaper,
    cosine,
    double_centered,
    gaussian_kernel,
    kernel_products,
    products,
    squared_distances,
    u_centered,
    without_diagonal,
)
from isoglot.compare.measures.measure import centered
from tests.errors import raises


def song(K: np.ndarray, L: np.ndarray) -> float:
    """Song et al. (2012), eq. 5, as it is printed."""
    n = len(K)
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    one = np.ones(n)
    middle = (one @ K @ one) * (one @ L @ one) / ((n - 1) * (n - 2))
    return float(np.trace(K @ L) + middle - 2 / (n - 2) * (one @ K @ L @ one)) / (n * (n - 3))


def song_cka(K: np.ndarray, L: np.ndarray) -> float:
    return float(song(K, L) / np.sqrt(song(K, K) * song(L, L)))


@pytest.mark.parametrize(("count", "widths"), [(50, (4, 9)), (20, (200, 300)), (30, (5, 500)), (30, (30, 29))])
@pytest.mark.parametrize("debiased", [False, True])
def test_between_columns_or_between_items(count, widths, debiased, rng):
    X, Y = (centered(torch.from_numpy(rng.normal(size=(count, width)) + 5), "X") for width in widths)
    values = []
    for space in ("features", "items"):
        parts = products(X, Y, space)
        values.append(cosine(without_diagonal(parts, X, Y) if debiased else parts))
    assert abs(values[0] - values[1]) < 1e-10
    assert abs(cka(X, Y, debiased) - values[0]) < 1e-10


def test_the_cheaper_of_the_two():
    assert cheaper(torch.zeros(100, 10), torch.zeros(100, 20)) == "features"
    assert cheaper(torch.zeros(100, 200), torch.zeros(100, 300)) == "items"


def test_the_printed_formulas(rng):
    X, Y = rng.normal(size=(40, 7)) + 2, rng.normal(size=(40, 3)) - 1
    norm = np.linalg.norm
    assert paper_cka(X, Y) == pytest.approx(norm(Y.T @ X) ** 2 / norm(X.T @ X) / norm(Y.T @ Y), abs=1e-12)
    X, Y = X - X.mean(0), Y - Y.mean(0)
    assert cka(X, Y) == pytest.approx(norm(Y.T @ X) ** 2 / norm(X.T @ X) / norm(Y.T @ Y), abs=1e-12)
    assert cka(X + 3, Y - 7, debiased=True) == pytest.approx(song_cka(X @ X.T, Y @ Y.T), abs=1e-12)


@pytest.mark.parametrize("shape", [(60, 8), (12, 50)])
def test_a_turned_space_is_the_same_space(shape, rng, orthogonal):
    X = rng.normal(size=shape)
    turned = X @ orthogonal(shape[1])
    for value in (cka(X, turned), cka(X, turned, debiased=True), paper_cka(X, turned), rbf_cka(X, turned)):
        assert value == pytest.approx(1, abs=1e-12)


def test_the_mean_over_all_orders_of_the_items_is_zero(rng):
    """Debiased CKA is unbiased where nothing is shared: over all 120 pairings of 5 items, its mean is exactly 0."""
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    values = [cka(X, Y[list(order)], debiased=True) for order in permutations(range(5))]
    assert np.mean(values) == pytest.approx(0, abs=1e-14)
    assert np.std(values) > 0.1


@pytest.mark.parametrize("widths", [(100, 100), (20, 300)])
def test_noise_is_near_zero_only_when_debiased(widths, rng):
    draws = [tuple(rng.normal(size=(30, width)) for width in widths) for _ in range(200)]
    debiased = np.array([cka(X, Y, debiased=True) for X, Y in draws])
    error = debiased.std(ddof=1) / np.sqrt(len(draws))
    assert abs(debiased.mean()) < 2 * error < 0.03
    assert min(cka(X, Y) for X, Y in draws) > 0.4
    rbf = np.array([rbf_cka(X, Y, debiased=True) for X, Y in draws[:50]])
    assert abs(rbf.mean()) < 3 * rbf.std(ddof=1) / 50**0.5
    assert min(rbf_cka(X, Y) for X, Y in draws[:20]) > 0.4


def test_what_all_items_have_in_common_counts_only_as_printed(rng):
    X, Y = rng.normal(size=(200, 5)) + 10, rng.normal(size=(200, 5)) + 10
    assert paper_cka(X, Y) > 0.99
    assert cka(X, Y) < 0.1


def test_gaussian_kernels_against_a_plain_loop(rng):
    def kernel(X: np.ndarray) -> np.ndarray:
        distances = np.array([[np.linalg.norm(a - b) for b in X] for a in X])
        median = np.median(distances[np.triu_indices(len(X), 1)])
        return np.asarray(np.exp(-(distances**2) / (2 * (0.8 * median) ** 2)))

    X, Y = rng.normal(size=(23, 4)), rng.normal(size=(23, 6))  # 253 pairs: an odd number has one median
    K, L = kernel(X), kernel(Y)
    H = np.eye(23) - 1 / 23
    K, L = H @ K @ H, H @ L @ H
    expected = np.sum(K * L) / np.sqrt(np.sum(K * K) * np.sum(L * L))
    assert rbf_cka(X, Y) == pytest.approx(expected, abs=1e-12)
    assert rbf_cka(X, Y, debiased=True) == pytest.approx(song_cka(kernel(X), kernel(Y)), abs=1e-12)


def test_a_wide_gaussian_kernel_is_linear(rng):
    """With a wide kernel exp(-d²) is 1 - d², and the centered squared distances are the linear kernel."""
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
    assert rbf_cka(X, Y, bandwidth=1000) == pytest.approx(cka(X, Y), abs=1e-5)


def test_duplicates_have_distance_zero(rng):
    X = torch.from_numpy(rng.normal(size=(4, 300)) + 100)[[0, 1, 1, 2, 3, 3]]
    distances = squared_distances(X)
    assert distances[1, 2] == distances[4, 5] == 0
    assert torch.allclose(distances, torch.cdist(X, X).square(), atol=1e-6)
    kernel = gaussian_kernel(X, 1.0)
    assert kernel.diagonal().eq(0).all()
    # One item of thirty is another: more than half the distances are 0, and the median is of the others.
    assert gaussian_kernel(X[[0] * 29 + [1]], 1.0)[0, -1] == pytest.approx(np.exp(-0.5) - 1)


def test_centered_kernels(rng):
    K, L = (torch.from_numpy(A @ A.T) for A in rng.normal(size=(2, 12, 3)))
    assert double_centered(K).sum(dim=0).abs().max() < 1e-12
    assert u_centered(K).sum(dim=0).abs().max() < 1e-12
    assert u_centered(K).diagonal().eq(0).all()
    assert kernel_products(u_centered(K), u_centered(L)).cross == pytest.approx(
        12 * 9 * song(K.numpy(), L.numpy()), abs=1e-10
    )


@pytest.mark.parametrize("form", [cka, rbf_cka])
def test_nothing_is_left_of_one_outlier_without_the_diagonal(form, rng):
    X = np.zeros((20, 3))
    X[7] = 1
    Y = rng.normal(size=(20, 3))
    with raises("input.constant"):
        form(Y, X, debiased=True)
    assert 0 <= form(X, Y) < 0.5


def test_few_directions_are_no_trouble(rng):
    """Rank 1, and a column a million times as large as the rest."""
    X = rng.normal(size=(30, 1)) @ rng.normal(size=(1, 10))
    assert cka(X, X[:, :1]) == pytest.approx(1)
    Y = rng.normal(size=(30, 4))
    assert cka(Y * [1e6, 1, 1, 1], Y[:, :1]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), float("inf")])
def test_a_bandwidth_that_is_none(bandwidth, rng):
    X = rng.normal(size=(5, 2))
    with raises("config.invalid-value"):
        rbf_cka(X, X, bandwidth=bandwidth)

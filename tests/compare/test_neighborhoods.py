"""RSA, mutual neighbors and spectral distance against brute force and textbook graphs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.compare import mutual_knn, rsa, spectral_similarity
from isoglot.compare.measures.neighbors import laplacian_spectrum, nearest_others
from isoglot.compare.measures.rsa import _ranks_in_order
from tests.errors import raises


def ranked(values: list[float]) -> list[float]:
    """Ranks from 1 by counting; equal values share their mean rank."""
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def brute_rsa(X: np.ndarray, Y: np.ndarray) -> float:
    sides = []
    for rows in (X, Y):
        found = [1 - np.corrcoef(rows[i], rows[j])[0, 1] for i in range(len(rows)) for j in range(i + 1, len(rows))]
        sides.append(ranked([round(float(value), 9) for value in found]))
    return float(np.corrcoef(sides[0], sides[1])[0, 1])


def brute_neighbors(rows: np.ndarray, k: int) -> list[list[int]]:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = np.round(unit @ unit.T, 9)
    others = [[j for j in range(len(rows)) if j != i] for i in range(len(rows))]
    return [sorted(others[i], key=lambda j: (-cosines[i, j], j))[:k] for i in range(len(rows))]


@pytest.mark.parametrize("count", [5, 12])
def test_rsa_against_brute_force(count, rng):
    X = rng.normal(size=(count, 4))
    assert rsa(X, rng.normal(size=(count, 7))) != rsa(X, X)
    for Y in (rng.normal(size=(count, 7)), X + rng.normal(size=X.shape)):
        assert rsa(X, Y) == pytest.approx(brute_rsa(X, Y), abs=1e-10)


def test_rsa_with_ties(rng):
    """Items that come twice, and rows of few numbers, make equal dissimilarities."""
    X = rng.integers(0, 2, size=(12, 5)).astype(float)
    X[:, 0], X[:, 1] = 0, 1  # no row of one number
    Y = rng.normal(size=(8, 6))[[0, 0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 7]]
    assert rsa(X, Y) == pytest.approx(brute_rsa(X, Y), abs=1e-10)


def test_rsa_of_opposite_orders():
    """Three directions in a plane: the order of the dissimilarities of four items can be turned round."""
    angle = np.array([0.0, 0.1, 0.3, 0.7])
    circle = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])

    def along(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.stack([np.cos(values), np.sin(values)], axis=1) @ circle)

    assert rsa(along(angle), along(2 * angle)) == pytest.approx(1)
    assert rsa(along(angle), along(angle[[0, 3, 1, 2]])) < 0


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_ranks_by_counting(values):
    ordered = sorted(map(float, values))
    assert _ranks_in_order(torch.tensor(ordered, dtype=torch.float64)).tolist() == ranked(ordered)


def test_rsa_of_spaces_without_an_order(rng):
    X = rng.normal(size=(4, 5))
    flat = X.copy()
    flat[2] = 7.1
    with raises("input.zero-row", "2"):
        rsa(flat, X)
    with raises("input.constant"):
        rsa(X, np.eye(4))


@pytest.mark.parametrize("k", [1, 3, 10])
def test_neighbors_against_brute_force(k, rng):
    X, Y = rng.normal(size=(60, 5)), rng.normal(size=(60, 8))
    Y[:30] = Y[30:]  # every item of Y has a twin
    own, other = brute_neighbors(X, k), brute_neighbors(Y, k)
    assert nearest_others(torch.from_numpy(X), k, "X").tolist() == own
    assert nearest_others(torch.from_numpy(Y), k, "Y").tolist() == other
    shared = [len(set(a) & set(b)) / k for a, b in zip(own, other, strict=True)]
    assert mutual_knn(X, Y, k=k) == pytest.approx(np.mean(shared), abs=1e-12)


def test_an_item_is_never_its_own_neighbor(rng):
    """Nor among more duplicates than neighbors are asked for, where it would not be found at all."""
    X = rng.normal(size=(3, 4))[[0] * 9 + [1] * 9 + [2]]
    found = nearest_others(torch.from_numpy(X), 3, "X")
    assert found.shape == (19, 3)
    assert not (found == torch.arange(19)[:, None]).any()
    assert found[:9].max() < 9
    assert found[7].tolist() == [0, 1, 2]


def test_chance_is_k_of_the_others(rng):
    values = [mutual_knn(rng.normal(size=(200, 20)), rng.normal(size=(200, 20))) for _ in range(10)]
    assert np.mean(values) == pytest.approx(10 / 199, rel=0.1)


def test_bad_neighborhoods(rng):
    X = rng.normal(size=(11, 3))
    with raises("input.too-few", "11", "10"):
        mutual_knn(X, X)
    with raises("config.invalid-value", "0"):
        mutual_knn(X, X, k=0)
    zero = X.copy()
    zero[4] = 0
    for measure in (mutual_knn, spectral_similarity):
        with raises("input.zero-row", "4"):
            measure(X, zero, k=3)
    with raises("config.invalid-value", "1.5"):
        spectral_similarity(X, X, k=3, energy=1.5)


def around(count: int) -> np.ndarray:
    angle = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_textbook_spectra(rng):
    """A ring has 2 - 2 cos 2πj/N, a complete graph N and one 0, a star N, 1, … 1, 0."""
    ring = laplacian_spectrum(nearest_others(torch.from_numpy(around(17) + 0.0), 2, "X"))
    expected = sorted(2 - 2 * np.cos(2 * np.pi * np.arange(17) / 17), reverse=True)
    assert ring.numpy() == pytest.approx(np.array(expected), abs=1e-12)
    complete = laplacian_spectrum(torch.tensor([[j for j in range(6) if j != i] for i in range(6)]))
    assert complete.numpy() == pytest.approx(np.array([6.0] * 5 + [0.0]), abs=1e-12)
    star = laplacian_spectrum(torch.tensor([[1], [0], [0], [0], [0]]))
    assert star.numpy() == pytest.approx(np.array([5.0, 1, 1, 1, 0]), abs=1e-12)


def test_spectral_distance_by_hand(rng):
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(40, 3))
    spectra = []
    for rows in (X, Y):
        graph = np.zeros((40, 40))
        for item, neighbors in enumerate(brute_neighbors(rows, 4)):
            graph[item, neighbors] = graph[neighbors, item] = 1
        spectra.append(np.linalg.eigvalsh(np.diag(graph.sum(0)) - graph)[::-1])
    counts = [int(np.argmax(np.cumsum(s) >= 0.9 * s.sum())) + 1 for s in spectra]
    expected = sum((spectra[0][i] - spectra[1][i]) ** 2 for i in range(min(counts)))
    assert spectral_similarity(X, Y, k=4) == pytest.approx(expected, abs=1e-9)


def test_spectral_distance_goes_as_far_as_the_space_that_needs_fewer():
    """A star of 40 has half of its sum in its first eigenvalue, 40; 20 couples, which have 2, …, 2, 0, …, 0, in ten."""
    star = np.vstack([np.ones(39), np.eye(39)])
    couples = np.vstack([np.eye(40)[:20], np.eye(40)[:20] + 0.1 * np.eye(40)[20:]])
    for one, other in ((star, couples), (couples, star)):
        assert spectral_similarity(one, other, k=1, energy=0.5) == pytest.approx((40 - 2) ** 2)
    assert spectral_similarity(star, couples, k=1, energy=0.6) == pytest.approx((40 - 2) ** 2 + 7 * (2 - 1) ** 2)


def test_spectral_distance_does_not_see_who_is_who(rng):
    X = rng.normal(size=(50, 6))
    assert spectral_similarity(X, X[rng.permutation(50)]) == pytest.approx(0, abs=1e-9)
    assert spectral_similarity(around(51), rng.normal(size=(51, 2))) > 1

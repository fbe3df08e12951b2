"""Gromov-Wasserstein distance against all permutations, POT's own solver and cases by hand."""

from __future__ import annotations

import sys
from itertools import permutations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.compare import MEASURES, gromov_wasserstein
from isoglot.compare.encoders import chosen_measures
from tests.errors import raises


def distances(X: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.linalg.norm(X[:, None] - X[None], axis=2)
    return np.asarray(found / sqrt((found**2).mean()))


def over_permutations(X: np.ndarray, Y: np.ndarray) -> float:
    """The smallest loss of all matchings."""
    own, other = distances(X), distances(Y)
    orders = (list(order) for order in permutations(range(len(Y))))
    return min(sqrt(((own - other[order][:, order]) ** 2).mean()) for order in orders)


def test_without_pot_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    monkeypatch.setattr("isoglot.compare.measures.measure.find_spec", lambda name: None)
    with raises("missing-extra", "pip install 'isoglot[ot]'"):
        gromov_wasserstein(np.eye(4), np.eye(4))
    assert chosen_measures(["all"]) == [name for name in MEASURES if name != "gromov-wasserstein"]


class TestWithPot:
    ot = pytest.importorskip("ot", reason="POT is not installed: pip install 'isoglot[ot]'")

    def test_isometric_copies_in_any_order_are_at_distance_zero(self, related, orthogonal, rng):
        X, _ = related
        wide = np.concatenate([X, np.zeros((80, 3))], axis=1) @ orthogonal(9)
        assert gromov_wasserstein(X, (5 * wide + 2)[rng.permutation(80)]) == pytest.approx(0, abs=1e-12)

    def test_a_square_and_a_line_by_hand(self):
        """Equal gaps on a line against the corners of a square, matched along its sides or better."""
        line, square = np.arange(4.0)[:, None], np.array([[0.0, 0], [0, 1], [1, 1], [1, 0]])
        best = over_permutations(line, square)
        # Mean squares: line (2·(3·1 + 2·4 + 9)) / 16 = 2.5, square (8·1 + 4·2) / 16 = 1; 0-1-2-3 along the sides.
        own, other = np.array([1, 1, 1, 2, 2, 3]) / sqrt(2.5), np.array([1, 1, 1, sqrt(2), sqrt(2), 1])
        assert best - 1e-9 <= gromov_wasserstein(line, square) <= sqrt(2 * ((own - other) ** 2).sum() / 16) + 1e-9

    @given(st.integers(0, 10_000), st.integers(4, 6), st.integers(1, 4), st.floats(0, 1))
    @settings(max_examples=30, deadline=None)
    def test_never_below_the_best_permutation_and_never_above_pots_solver(self, seed, count, width, noise):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(count, width))
        Y = (X + noise * rng.normal(size=X.shape))[rng.permutation(count)]
        found, best = gromov_wasserstein(X, Y), over_permutations(X, Y)
        assert found >= best - 1e-9
        # An optimum over all couplings is a permutation, since the loss is concave.
        starts = [np.eye(count)[rng.permutation(count)] / count for _ in range(5)]
        couplings = [self.ot.gromov.gromov_wasserstein2(distances(X), distances(Y), G0=start) for start in starts]
        assert min(couplings) >= best**2 - 1e-9

    @pytest.mark.parametrize("seed", range(5))
    def test_pots_solver_agrees(self, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 3))
        Y = X + 0.02 * rng.normal(size=X.shape)
        loss = self.ot.gromov.gromov_wasserstein2(distances(X), distances(Y))
        assert gromov_wasserstein(X, Y) ** 2 == pytest.approx(float(loss), rel=1e-6)

    def test_it_grows_with_noise_and_is_symmetric(self, related, rng):
        X, _ = related
        noise = rng.normal(size=X.shape)
        clouds = [X + size * noise for size in (0.0, 0.05, 0.2, 0.5)] + [rng.standard_cauchy(size=X.shape)]
        found = [gromov_wasserstein(X, Y) for Y in clouds]
        assert found == sorted(found)
        assert found[0] == 0
        assert [gromov_wasserstein(Y, X) for Y in clouds] == pytest.approx(found, rel=1e-9)

    def test_the_given_pairing_is_a_start(self, rng):
        """In many columns all items are about equally far apart, and only the pairing leads to a good matching."""
        X, noise = rng.normal(size=(2, 100, 64))
        there, apart = (gromov_wasserstein(X, Y) for Y in (X + 0.5 * noise, (X + 0.5 * noise)[rng.permutation(100)]))
        assert there < 0.8 * apart

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from isoglot.compare import CkaEstimate, cka, judge, paper_cka
from isoglot.compare import cka_inference as nulls
from isoglot.compare.cka_inference import expected_product, interval, kernels, resampled, shifted_products, shuffled
from isoglot.compare.measures.cka import FORMS, Form
from tests.errors import raises


class Planted:
    """Two spaces that share a few directions of different strength; what CKA is of all items there could be is known."""

    def __init__(self, strengths: tuple[float, ...], noise: float, widths: tuple[int, int] = (12, 9)) -> None:
        rng = np.random.default_rng(3)
        self.noise = noise
        self.turns = [np.array(strengths)[:, None] * rng.normal(size=(len(strengths), width)) for width in widths]
        A, B = self.turns
        own, other = (turn.T @ turn + noise**2 * np.eye(turn.shape[1]) for turn in (A, B))
        self.cka = float(np.linalg.norm(A.T @ B) ** 2 / (np.linalg.norm(own) * np.linalg.norm(other)))

    def draw(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        Z = rng.normal(size=(count, len(self.turns[0])))
        X, Y = (Z @ turn + self.noise * rng.normal(size=(count, turn.shape[1])) for turn in self.turns)
        return X + 1, Y - 2


MODERATE = Planted((1.0, 1.0, 1.0), noise=1.5)
HIGH = Planted((4.0, 2.0, 1.0, 0.5), noise=0.7)


def intervals(planted: Planted, count: int, form: Form = "debiased", level: float = 0.95) -> np.ndarray:
    """Value, low and high of 400 samples of so many items."""
    rng = np.random.default_rng(11)
    found = []
    for _ in range(400):
        K, L = kernels(*planted.draw(count, rng), form)
        found.append((float((K * L).sum()), *interval(K, L, 200, level, rng)))
    return np.array(found).T


@pytest.mark.parametrize("planted", [MODERATE, HIGH], ids=["moderate", "high"])
def test_the_interval_holds_the_value_of_all_items(planted: Planted):
    """Nominal 95 % is 95 %, and the interval is no wider than it must be."""
    value, low, high = intervals(planted, 120)
    assert 0.90 <= np.mean((low <= planted.cka) & (planted.cka <= high)) <= 0.98
    assert value.mean() == pytest.approx(planted.cka, abs=0.01)
    assert np.mean(high - low) == pytest.approx(3.92 * value.std(), rel=0.15)


@pytest.mark.parametrize("form", ["centered", "paper"])
def test_the_interval_of_a_biased_form_is_about_samples_of_as_many(form: Form):
    value, low, high = intervals(MODERATE, 60, form)
    assert 0.90 <= np.mean((low <= value.mean()) & (value.mean() <= high)) <= 0.98


def test_a_level_is_kept():
    _, low, high = intervals(MODERATE, 120, level=0.5)
    assert 0.42 <= np.mean((low <= MODERATE.cka) & (MODERATE.cka <= high)) <= 0.58


@pytest.mark.parametrize("form", FORMS)
def test_resampling_does_not_flatter_as_the_naive_bootstrap_does(form: Form):
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(2, 80, 40))
    Y = Y + 0.3 * X
    value = judge(X, Y, form=form).value
    fair = resampled(*kernels(X, Y, form), 400, rng)
    assert fair.mean() == pytest.approx(value, abs=0.01)
    naive = [judge(X[rows], Y[rows], form=form, draws=20).value for rows in rng.integers(80, size=(50, 80))]
    assert np.mean(naive) > value + 0.1


def test_resampling_by_hand():
    """Rows repeated as often as drawn; two copies of a row are no pair, and a row meets itself as often as drawn."""
    rng = np.random.default_rng(2)
    K, L = (torch.from_numpy(A + A.T) for A in rng.normal(size=(2, 6, 6)))
    drawn = rng.multinomial(6, np.full(6, 1 / 6))
    rows = np.repeat(np.arange(6), drawn)

    def product(A: np.ndarray, B: np.ndarray) -> float:
        pairs = sum((A * B)[i, j] for i in rows for j in rows if i != j)
        return float(pairs * 6 / 5 + sum((A * B)[i, i] for i in rows))

    k, ell = K.numpy().copy(), L.numpy().copy()
    expected = product(k, ell) / np.sqrt(product(k, k) * product(ell, ell))

    class Fixed:
        def multinomial(self, *_, size: int) -> np.ndarray:
            return np.tile(drawn, (size, 1))

    np.testing.assert_allclose(resampled(K, L, 2, Fixed()), expected, rtol=1e-12)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [7, 8])
def test_all_moves_at_once(count: int):
    rng = np.random.default_rng(4)
    K, L = (torch.from_numpy(A + A.T) for A in rng.normal(size=(2, count, count)))
    expected = [float((K * L.roll((-s, -s), (0, 1))).sum()) for s in range(count)]
    np.testing.assert_allclose(shifted_products(K, L), expected, rtol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_moves_of_items_in_random_order_are_shuffles(form: Form, monkeypatch: pytest.MonkeyPatch):
    K, L = kernels(*MODERATE.draw(300, np.random.default_rng(5)), form)
    moved = shuffled(K, L, 1000, np.random.default_rng(6))
    monkeypatch.setattr(nulls, "FEW", 10_000)
    one_by_one = shuffled(K, L, 1000, np.random.default_rng(6))
    error = one_by_one.std() / np.sqrt(1000)
    assert abs(moved.mean() - one_by_one.mean()) < 5 * error
    assert moved.std() == pytest.approx(one_by_one.std(), rel=0.15)
    for share in (0.05, 0.5, 0.95):
        assert abs(np.quantile(moved, share) - np.quantile(one_by_one, share)) < 10 * error


@pytest.mark.parametrize("count", [50, 130, 400])
@pytest.mark.parametrize("form", FORMS)
def test_the_mean_of_the_null_is_its_expectation(form: Form, count: int):
    K, L = kernels(*MODERATE.draw(count, np.random.default_rng(7)), form)
    null = shuffled(K, L, 2000, np.random.default_rng(8))
    assert abs(null.mean() - expected_product(K, L)) < 4 * null.std() / np.sqrt(2000)


def test_the_closed_form_of_the_biased_null():
    X, Y = np.random.default_rng(9).normal(size=(2, 40, 200))
    found = judge(X, Y, form="centered")
    K, L = ((A - A.mean(axis=0)) @ (A - A.mean(axis=0)).T for A in (X, Y))
    closed = np.trace(K) * np.trace(L) / (39 * np.linalg.norm(K) * np.linalg.norm(L))
    assert found.expected_null == pytest.approx(closed, abs=1e-12)
    assert closed > 0.8  # what unrelated noise gets
    assert not found.above_chance
    debiased = judge(X, Y)
    assert debiased.expected_null == 0
    assert abs(debiased.null_mean) < 0.01


def test_p_is_honest_where_there_is_nothing():
    rng = np.random.default_rng(10)
    p = [judge(*rng.normal(size=(2, 140, 8)), draws=39, seed=number).p for number in range(200)]
    assert 0.01 <= np.mean(np.array(p) <= 0.05) <= 0.1
    assert 0.4 <= np.mean(np.array(p) <= 0.5) <= 0.6


def test_the_value_is_the_measures():
    X, Y = MODERATE.draw(300, np.random.default_rng(14))
    found = {form: judge(X, Y, form=form) for form in FORMS}
    assert found["paper"].value == pytest.approx(paper_cka(X, Y), abs=1e-12)
    assert found["centered"].value == pytest.approx(cka(X, Y), abs=1e-12)
    assert found["debiased"].value == pytest.approx(cka(X, Y, debiased=True), abs=1e-12)
    for each in found.values():
        assert each.low < each.value < each.high
        assert each.above_chance
        assert each.p == pytest.approx(1 / 201)


def test_a_space_with_itself():
    X, _ = HIGH.draw(300, np.random.default_rng(15))
    found = judge(X, torch.from_numpy(3 * X + 1))
    assert found.value == pytest.approx(1)
    assert found.low == pytest.approx(1, abs=1e-6)
    assert found.high == pytest.approx(1, abs=1e-6)


def test_four_items():
    X, Y = np.random.default_rng(16).normal(size=(2, 4, 3))
    found = judge(X, Y)
    assert -1 <= found.low <= found.high <= 1


def test_rows_are_sampled_and_the_seed_decides():
    X, Y = MODERATE.draw(500, np.random.default_rng(17))
    found = judge(X, Y, rows=100, seed=1)
    assert (found.rows, found.of, found.draws, found.form, found.level) == (100, 500, 200, "debiased", 0.95)
    assert judge(X, Y, rows=100, seed=1) == found
    assert judge(X, Y, rows=100, seed=2).value != found.value
    assert CkaEstimate(**json.loads(json.dumps(found.as_dict()))) == found


def test_errors():
    X = np.random.default_rng(19).normal(size=(20, 3))
    for options, code, value in (
        ({"form": "centred"}, "config.unknown-name", "'centred'"),
        ({"rows": 3}, "config.invalid-value", "rows 3"),
        ({"rows": 10_001}, "config.invalid-value", "rows 10001"),
        ({"draws": 5}, "config.invalid-value", "draws 5"),
        ({"level": 95}, "config.invalid-value", "level = 95"),
    ):
        with raises(code, value):
            judge(X, X, **options)
    with raises("input.row-count", "20", "19"):
        judge(X, X[1:])
    with raises("input.too-few", "3"):
        judge(X[:3], X[:3])
    with raises("input.constant", "20"):
        judge(X, np.ones((20, 2)))
    lone = np.zeros((20, 2))
    lone[3] = 1
    with raises("input.constant"):
        judge(X, lone)

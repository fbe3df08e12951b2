"""Two libraries multiply: the same product, the faster one chosen, and threads as they were."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from isoglot.retrieve import matrix_product as module
from isoglot.retrieve import nearest
from isoglot.retrieve.matrix_product import (
    ROUNDING,
    _openblas,
    _product,
    faster,
    multiply,
    multiply_rounded,
    rounding_errors,
    rounding_pays,
)


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """Nothing is known of either library."""
    monkeypatch.setattr(module, "_TIMES", {})


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_either_library_gives_the_product(library):
    blas = _openblas()
    if blas is None:
        pytest.skip("NumPy has another BLAS here")
    X, Y = torch.randn(70, 33), torch.randn(50, 33)
    out = torch.empty(4000)[: 70 * 50].view(70, 50)
    _product(library, X[:70], Y, out, blas, 1)
    assert out.numpy() == pytest.approx(X.double().numpy() @ Y.double().numpy().T, abs=1e-4)


def test_threads_are_those_of_torch_and_then_as_before():
    blas = _openblas()
    if blas is None:
        pytest.skip("NumPy has another BLAS here")
    before = blas._get()
    with blas.threads(1):
        assert blas._get() == 1
    assert blas._get() == before


def test_the_first_blocks_are_made_in_turn_and_the_rest_by_the_faster(monkeypatch):
    used: list[str] = []
    pace = {"torch": 0.002, "numpy": 0.001}
    clock = [0.0]

    def slow(library, X_BD, Y_CD, out_BC, blas, threads):
        used.append(library)
        clock[0] += pace[library]

    monkeypatch.setattr(module, "_product", slow)
    monkeypatch.setattr(module, "_openblas", object)
    monkeypatch.setattr(module, "_LARGE", 0)
    for name in ("perf_counter", "thread_time"):
        monkeypatch.setattr(f"time.{name}", lambda: clock[0])
    for _ in range(10):
        multiply(torch.zeros(4, 3), torch.zeros(5, 3), torch.zeros(4, 5))
    assert used == ["torch", "numpy"] * 3 + ["numpy"] * 4
    pace["torch"] = 0.0001  # a choice is kept
    multiply(torch.zeros(4, 3), torch.zeros(5, 3), torch.zeros(4, 5))
    assert used[-1] == "numpy"
    multiply(torch.zeros(4, 7), torch.zeros(5, 7), torch.zeros(4, 5))  # for as many columns
    assert used[-1] == "torch"


def test_a_search_times_its_blocks():
    if _openblas() is None:
        pytest.skip("NumPy has another BLAS here")
    X = np.random.default_rng(0).normal(size=(6200, 60)).astype(np.float32)
    nearest(X[:4096], X, k=1)
    assert all(len(times) == 3 for times in module._TIMES[torch.get_num_threads(), 60].values())


def test_without_openblas_torch_multiplies(monkeypatch):
    monkeypatch.setattr(module, "_openblas", lambda: None)
    out = torch.empty(2, 2)
    multiply(torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), out)
    assert out.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert module._TIMES == {}


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_a_search_finds_the_same_by_either(monkeypatch, library):
    X, Y = (np.random.default_rng(seed).normal(size=(2100, 20)).astype(np.float32) for seed in (0, 1))
    monkeypatch.setattr(module, "faster", lambda times: library)
    found = nearest(X, Y, k=5)
    unit = [side / np.linalg.norm(side.astype(float), axis=1, keepdims=True) for side in (X, Y)]
    expected = np.argsort(-(unit[0] @ unit[1].T), axis=1, kind="stable")[:, :5]
    assert np.array_equal(found.indices_NK, expected)


def test_the_faster_is_by_the_best_round():
    assert faster({"torch": [1.0, 5.0, 5.0], "numpy": [2.0, 2.0, 2.0]}) == "torch"
    assert faster({"torch": [1.0, 5.0, 5.0], "numpy": [2.0, 2.0]}) is None


@pytest.mark.parametrize("kind", ["normal", "between two", "large and small"])
def test_bfloat16_products_are_off_by_no_more_than_stated(kind):
    chance = torch.Generator().manual_seed(0)
    X, Y = torch.randn(300, 40, generator=chance), torch.randn(200, 40, generator=chance)
    if kind == "between two":  # halfway between two bfloat16 numbers, just above a power of two: the worst case
        X, Y = (side.sign() * (1 + 2.0**-8) for side in (X, Y))
        X[0] = Y[0] = 1 + 2.0**-8
    if kind == "large and small":
        X, Y = (side * 10.0 ** torch.randint(-9, 9, (len(side), 1), generator=chance) for side in (X, Y))
    out = torch.empty(300, 200)
    multiply_rounded(X, Y, out)
    off_X, off_Y = rounding_errors(X).double()[:, None], rounding_errors(Y).double()
    length_X, length_Y = X.double().norm(dim=1)[:, None], Y.double().norm(dim=1)
    assert bool((off_X <= ROUNDING * length_X).all())
    assert kind != "between two" or off_X[0] / length_X[0] > 0.99 * ROUNDING
    bound = off_X * length_Y + (length_X + off_X) * off_Y + ROUNDING * 1.01 * out.double().abs()
    bound += length_X * length_Y * 48 * 2.0**-22
    assert bool(((out.double() - X.double() @ Y.double().T).abs() <= bound).all())


def test_bfloat16_has_to_be_much_faster_to_be_used(monkeypatch):
    clock, pace = [0.0], {"multiply": 1.0, "multiply_rounded": 0.9}
    for name in ("multiply", "multiply_rounded"):
        monkeypatch.setattr(module, name, lambda *_, name=name: clock.__setitem__(0, clock[0] + pace[name]))
    for name in ("perf_counter", "thread_time"):
        monkeypatch.setattr(f"time.{name}", lambda: clock[0])
    cpu = torch.device("cpu")
    found = []
    for seconds in (0.9, 0.4):
        pace["multiply_rounded"] = seconds
        module._rounding_pays.cache_clear()
        found.append(rounding_pays(17, cpu))
    module._rounding_pays.cache_clear()
    assert found == [False, True]
    assert not rounding_pays(17, torch.device("cuda"))

"""Two libraries multiply: the same product, the faster one chosen, and threads as they were."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from isoglot.retrieve import matrix_product as module
from isoglot.retrieve import nearest
from isoglot.retrieve.matrix_product import _openblas, _product, faster, multiply


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

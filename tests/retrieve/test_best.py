"""The best entries of a block: compiled loops and torch operations keep the same, and nothing is computed in vain."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from isoglot.core.optional import COMPILED
from isoglot.retrieve import nearest
from isoglot.retrieve import search as module
from isoglot.retrieve.search import TopEntries, _products, indices_of, values_of


def _matrix(rows: int, columns: int, values: str) -> torch.Tensor:
    """Random numbers, or few different ones, both zeros among them."""
    drawn = torch.randn(rows, columns, generator=torch.Generator().manual_seed(rows * columns))
    return drawn if values == "any" else (2 * drawn).round() / 4 * torch.tensor([-1.0, 1.0]).repeat(columns)[:columns]


@pytest.mark.skipif(not COMPILED, reason="numba is not installed")
@pytest.mark.parametrize("values", ["any", "ties"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("shape", "cut"), [((70, 200), 64), ((200, 70), 3), ((5, 6), 2), ((130, 129), 100)])
@pytest.mark.parametrize("threads", [1, 3])
def test_compiled_loops_keep_what_torch_keeps_and_what_a_sort_finds(monkeypatch, values, axis, shape, cut, threads):
    matrix, keep = _matrix(shape[0], shape[1], values), min(4, shape[axis])
    lines = shape[1 - axis]
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    kept = []
    for compiled in (False, True):
        monkeypatch.setattr(module, "COMPILED", compiled)
        best = TopEntries.empty(lines, keep, torch.device("cpu"))
        for first in range(0, shape[axis], cut):
            size = min(cut, shape[axis] - first)
            best.merge(slice(0, lines), matrix.narrow(axis, first, size).contiguous(), first, axis)
        kept.append(best.keys)
    assert torch.equal(*kept)
    along = (matrix if axis else matrix.T).numpy()
    expected = np.argsort(-along, axis=1, kind="stable")[:, :keep]
    assert np.array_equal(indices_of(kept[1]).numpy(), expected)
    assert np.array_equal(values_of(kept[1]).numpy(), np.take_along_axis(along, expected, axis=1))


@pytest.mark.parametrize("compiled", [False, True])
def test_single_products_are_float64(monkeypatch, compiled):
    monkeypatch.setattr(module, "COMPILED", compiled and COMPILED)
    X, Y = _matrix(40, 33, "any"), _matrix(50, 33, "any")
    rows, columns = torch.tensor([3, 0, 39]), torch.tensor([[1, 49], [0, 0], [7, 2]])
    expected = (X[rows].double()[:, None] * Y[columns].double()).sum(2)
    assert _products(X, Y, rows, columns).numpy() == pytest.approx(expected.numpy(), rel=1e-14)


def test_no_row_is_computed_again_where_none_is_in_doubt(monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr(module, "_whole_rows", never)
    X, Y = _matrix(2100, 20, "any"), _matrix(2101, 20, "any")
    assert len(nearest(X, Y, k=3)) == 2100


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_rows_that_are_given_stay_as_they_are(dtype):
    X, Y = (np.random.default_rng(seed).normal(size=(60, 5)).astype(dtype) for seed in (0, 1))
    before = X.copy(), Y.copy()
    nearest(X, Y)
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])

"""Every method equals its definition, whatever the size of the blocks, the kind of the input and the ties."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isoglot.core.arrays import paired_rows
from isoglot.retrieve import Neighbors, csls, inverted_softmax, margin, methods, nearest, retrieve
from isoglot.retrieve import search as blocked
from isoglot.retrieve.methods import METHODS
from isoglot.retrieve.search import ScoringRule, search, search_both
from tests.errors import raises

SHAPES = [(4, 3), (3, 5), (7, 16), (5, 17), (16, 8), (64, 40), (1000, 1000)]
EXACT = [method for method in METHODS if method != "inverted_softmax"]


def gaussian(rows: int, width: int = 12, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def blocks_of(shape: tuple[int, int], patch: pytest.MonkeyPatch) -> None:
    for module in (blocked, methods):
        patch.setattr(module, "block_shape", lambda device: shape)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("rows", "columns"), [(40, 300), (300, 40), (1, 1), (3, 2)])
def test_equals_its_definition(brute, method, rows, columns):
    X, Y = gaussian(rows, seed=1), gaussian(columns, seed=2)
    found = retrieve(X, Y, method, 10)
    right = brute.scores(X, Y, method)
    best = brute.order(right)[:, :10]
    assert found.indices_NK.dtype == np.int64
    assert found.scores_NK.dtype == np.float32
    np.testing.assert_array_equal(found.indices_NK, best)
    values = np.take_along_axis(right, best, axis=1)
    values = -np.sqrt(-values) if method == "euclidean" else values
    tolerance = 2e-5 if method == "inverted_softmax" else 2e-6  # its sums are float32
    np.testing.assert_allclose(found.scores_NK, values, rtol=2e-6, atol=tolerance)


# Whole numbers from -2 to 2 in three dimensions: full of ties and duplicates.
few = (
    st.integers(1, 40)
    .flatmap(lambda rows: hnp.arrays(np.float32, (rows, 3), elements=st.integers(-2, 2).map(float)))
    .map(lambda X: X[np.any(X != 0, axis=1)])
    .filter(len)
)


@settings(max_examples=40)
@given(X=few, Y=few, k=st.integers(1, 50), shape=st.sampled_from(SHAPES), method=st.sampled_from(EXACT))
def test_ties_and_duplicates_by_lower_index_whatever_the_block(brute, X, Y, k, shape, method):
    with pytest.MonkeyPatch.context() as patch:
        blocks_of(shape, patch)
        found = retrieve(X, Y, method, k, neighborhood=4)
    right = brute.scores(X, Y, method, k=4)
    # Two ways to sum in float64 may fall on two sides of a float32; what is found must be as good as the definition's.
    taken = np.take_along_axis(right, found.indices_NK, axis=1)
    np.testing.assert_allclose(
        taken, np.take_along_axis(right, brute.order(right)[:, :k], axis=1), rtol=1e-6, atol=1e-6
    )
    assert found.indices_NK.shape == (len(X), min(k, len(Y)))
    for indices, values in zip(found.indices_NK, found.scores_NK, strict=True):
        assert len(set(indices.tolist())) == len(indices)
        assert list(zip(-values, indices, strict=True)) == sorted(zip(-values, indices, strict=True))


@pytest.mark.parametrize("method", EXACT)
def test_nothing_depends_on_the_block(method, monkeypatch):
    X, Y = gaussian(90, seed=3), gaussian(130, seed=4)
    Y[50:60] = Y[7]  # ten duplicates, more than are spared
    X[20:30] = X[3]
    whole = retrieve(X, Y, method, 5)
    for shape in ((30, 16), (25, 33), (64, 40)):
        blocks_of(shape, monkeypatch)
        found = retrieve(X, Y, method, 5)
        np.testing.assert_array_equal(found.indices_NK, whole.indices_NK)
        np.testing.assert_array_equal(found.scores_NK, whole.scores_NK)


def test_softmax_depends_on_the_block_by_rounding_only(monkeypatch):
    X, Y = gaussian(90, seed=3), gaussian(130, seed=4)
    whole = inverted_softmax(X, Y, 5)
    blocks_of((7, 16), monkeypatch)
    found = inverted_softmax(X, Y, 5)
    np.testing.assert_array_equal(found.indices_NK, whole.indices_NK)
    np.testing.assert_allclose(found.scores_NK, whole.scores_NK, atol=1e-4)


def test_all_vectors_equal_gives_the_first_rows():
    X, Y = np.ones((50, 6), dtype=np.float32), np.ones((70, 6), dtype=np.float32)
    for method in EXACT:
        np.testing.assert_array_equal(retrieve(X, Y, method, 4).indices_NK, np.tile(np.arange(4), (50, 1)))


def test_entries_that_rise_along_the_row():
    """Every block brings only better entries."""
    Y = np.stack([np.ones(500), np.linspace(0, 1, 500)], axis=1)
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    X_ND, Y_MD = paired_rows(X, Y, unit=True)
    found = search(X_ND, Y_MD, 3, ScoringRule(), shape=(1, 20))
    assert found.indices_NK.tolist() == [[499, 498, 497], [0, 1, 2]]


@pytest.mark.parametrize("shape", SHAPES)
def test_both_sides_in_one_pass(shape):
    X_ND, Y_MD = paired_rows(gaussian(70, seed=5), gaussian(45, seed=6), unit=True)
    forward, backward = search_both(X_ND, Y_MD, 10, ScoringRule(), shape=shape)
    for both, alone in (
        (forward, search(X_ND, Y_MD, 10, ScoringRule())),
        (backward, search(Y_MD, X_ND, 10, ScoringRule())),
    ):
        assert torch.equal(both.indices_NK, alone.indices_NK)
        assert torch.equal(both.scores_NK, alone.scores_NK)


def test_distance_margin_is_half_of_csls():
    X, Y = gaussian(60, seed=7), gaussian(80, seed=8)
    half, whole = margin(X, Y, 3, "distance"), csls(X, Y, 3)
    np.testing.assert_array_equal(half.indices_NK, whole.indices_NK)
    np.testing.assert_allclose(2 * half.scores_NK, whole.scores_NK, atol=1e-6)


def test_a_hub_is_held_down():
    """Three queries that all lie nearest to one hub; with CSLS each finds its own."""
    Y = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    X = np.array([[1.0, 0.4, 0.4], [0.4, 1, 0.4], [0.4, 0.4, 1]])
    assert nearest(X, Y, 1).indices_NK.ravel().tolist() == [3, 3, 3]
    for found in (csls(X, Y, 1), inverted_softmax(X, Y, 1), margin(X, Y, 1), margin(X, Y, 1, "distance")):
        assert found.indices_NK.ravel().tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_of_any_float_come_back_as_tensors(dtype):
    X, Y = (torch.from_numpy(gaussian(30, seed=seed)).to(dtype) for seed in (1, 2))
    found = csls(X, Y, 4)
    assert isinstance(found.indices_NK, torch.Tensor)
    assert found.scores_NK.dtype == torch.float32
    same = csls(X.double().numpy(), Y.double().numpy(), 4)
    assert isinstance(same.indices_NK, np.ndarray)
    np.testing.assert_array_equal(found.indices_NK.numpy(), same.indices_NK)


def test_arrays_of_any_kind():
    X = gaussian(20)
    whole = nearest(X, X, 3).indices_NK
    wide = np.zeros((20, 24), dtype=np.float32)
    wide[:, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    for same in (X.astype(">f4"), wide[:, ::2], read_only, np.asfortranarray(X), X[::-1].copy()[::-1]):
        np.testing.assert_array_equal(nearest(same, same, 3).indices_NK, whole)
    half = nearest(X.astype(np.float16), X.astype(np.float16), 1)
    assert half.indices_NK.ravel().tolist() == list(range(20))
    assert len(half) == 20


def test_a_tensor_that_learns_is_no_obstacle():
    X = torch.from_numpy(gaussian(5)).requires_grad_()
    assert not nearest(X, X, 2).scores_NK.requires_grad


def test_products_are_full_float32_whatever_training_chose():
    X, Y = gaussian(64, 64, seed=1), gaussian(64, 64, seed=2)
    right = nearest(X, Y, 5)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        np.testing.assert_array_equal(nearest(X, Y, 5).indices_NK, right.indices_NK)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_lengths_do_not_matter_for_cosine_and_do_for_euclidean():
    X, Y = np.eye(2), np.array([[100.0, 1.0], [0.9, 0.5]])
    assert nearest(X, Y, 1).indices_NK.ravel().tolist() == [0, 1]
    assert nearest(X, Y, 1, "euclidean").indices_NK.ravel().tolist() == [1, 1]


BAD = {
    "nan": (7, np.nan, "input.not-finite"),
    "infinity": (0, np.inf, "input.not-finite"),
    "zeros": (3, 0.0, "input.zero-row"),
}


@pytest.mark.parametrize(("row", "value", "code"), BAD.values(), ids=BAD)
def test_bad_rows_are_named(row, value, code):
    X, Y = gaussian(10), gaussian(10)
    Y[row] = value
    for search_ in (nearest, csls):
        with raises(code, row, "Y"):
            search_(X, Y)


def test_a_row_beyond_the_first_chunk_is_named():
    X = np.ones((9000, 2), dtype=np.float32)
    X[8999] = 0
    with raises("input.zero-row", "8999"):
        nearest(X, X)
    assert nearest(X[:2], np.zeros((1, 2)), metric="euclidean").scores_NK.ravel().tolist() == pytest.approx(
        [-(2**0.5)] * 2
    )


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda: nearest(np.ones(3), np.ones((1, 3))),
            ("input.shape", "X", 1),
        ),
        (
            lambda: nearest(np.ones((0, 3)), np.ones((1, 3))),
            ("input.empty", "X", 0),
        ),
        (
            lambda: nearest(np.ones((1, 2)), np.ones((1, 2), dtype=np.longdouble)),
            ("input.type", "Y", np.dtype(np.longdouble)),
        ),
        (
            lambda: nearest(np.ones((2, 3)), np.ones((2, 4))),
            ("input.shape", 3, 4),
        ),
        (
            lambda: nearest(np.full((1, 2), 1e200), np.ones((1, 2))),
            ("input.not-finite", 0, "X"),
        ),
        (
            lambda: nearest(np.eye(2) * 1e30, np.eye(2), metric="euclidean"),
            ("input.too-large", "1.0e+30"),
        ),
        (
            lambda: nearest(np.eye(2) * -1e-30, np.zeros((1, 2)), metric="euclidean"),
            ("input.too-large", "1.0e-30"),
        ),
        (
            lambda: nearest(np.eye(2), np.eye(2), k=0),
            ("config.invalid-value", "k 0"),
        ),
        (
            lambda: csls(np.eye(2), np.eye(2), neighborhood=0),
            ("config.invalid-value", "neighborhood 0"),
        ),
        (
            lambda: nearest(np.eye(2), np.eye(2), metric="cosin"),  # type: ignore[arg-type]
            ("config.unknown-name", "'cosin'"),
        ),
        (
            lambda: margin(np.eye(2), np.eye(2), form="ration"),  # type: ignore[arg-type]
            ("config.unknown-name", "'ration'"),
        ),
        (
            lambda: retrieve(np.eye(2), np.eye(2), "clss"),  # type: ignore[arg-type]
            ("config.unknown-name", "'clss'"),
        ),
        (
            lambda: inverted_softmax(np.eye(2), np.eye(2), sharpness=-1),
            ("config.invalid-value", -1),
        ),
    ],
)
def test_errors(call, expected):
    with raises(*expected):
        call()


def test_sharp_softmax_stays_finite():
    found = inverted_softmax(gaussian(30, seed=1), gaussian(30, seed=2), 3, sharpness=5000.0)
    assert isinstance(found, Neighbors)
    assert np.isfinite(found.scores_NK).all()

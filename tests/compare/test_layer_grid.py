from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.compare import CKAFitter, CKAGrid, cka, layer_cka, paper_cka
from isoglot.core.progress import LineProgress
from isoglot.represent import Representations
from tests.errors import raises

Side = dict[int, np.ndarray]
FUNCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "paper": paper_cka,
    "centered": cka,
    "debiased": lambda X, Y: cka(X, Y, debiased=True),
}


def sides(count: int, seed: int = 0, far: float = 3.0) -> tuple[Side, Side]:
    """Two layers of X and three of Y, of different widths, that share four directions and are far from the origin."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, 4))

    def layer(width: int) -> np.ndarray:
        mean, turn, noise = (rng.normal(size=shape) for shape in (width, (4, width), (count, width)))
        return Z @ turn + noise + far * mean

    return {0: layer(5), 3: layer(7)}, {1: layer(4), 2: layer(9), 8: layer(6)}


def part(side: Side, rows: slice) -> Side:
    return {layer: X[rows] for layer, X in side.items()}


def fitter(**options) -> CKAFitter:
    return CKAFitter([0, 3], [1, 2, 8], **options)


def assert_right(found: CKAGrid, X: Side, Y: Side, atol: float = 1e-11) -> None:
    assert (found.layers_x, found.layers_y) == ((0, 3), (1, 2, 8))
    for name, function in FUNCTIONS.items():
        expected = [[function(X[a].astype(float), Y[b].astype(float)) for b in Y] for a in X]
        np.testing.assert_allclose(found.form(name), expected, atol=atol, err_msg=name)  # type: ignore[arg-type]


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6).filter(lambda sizes: sum(sizes) > 5),
    st.integers(1, 20),
    st.integers(0, 99),
)
@settings(max_examples=40)
def test_streaming_equals_batch_whatever_the_batches_and_the_chunks(sizes: list[int], chunk: int, seed: int):
    X, Y = sides(sum(sizes), seed, far=100.0)
    learning, at = fitter(chunk=chunk), 0
    for size in sizes:
        rows = slice(at, at + size)
        learning.update(part(X, rows), part(Y, rows))
        at += size
    assert learning.count == sum(sizes)
    assert_right(learning.result(), X, Y, atol=1e-9)


def test_batches_make_no_difference_at_all():
    X, Y = sides(100)
    whole, bits = fitter(chunk=32).update(X, Y), fitter(chunk=32)
    for at in range(0, 100, 7):
        bits.update(part(X, slice(at, at + 7)), part(Y, slice(at, at + 7)))
    np.testing.assert_array_equal(whole.result().debiased, bits.result().debiased)


def test_result_may_be_asked_for_at_any_time():
    X, Y = sides(60)
    learning = fitter(chunk=50).update(part(X, slice(0, 20)), part(Y, slice(0, 20)))
    assert_right(learning.result(), part(X, slice(0, 20)), part(Y, slice(0, 20)))
    learning.update(part(X, slice(20, 60)), part(Y, slice(20, 60)))
    assert_right(learning.result(), X, Y)


def test_float32_rows_are_within_1e_6_of_float64():
    X, Y = sides(3000, far=50.0)
    X[0][:, 1] *= 300  # an outlier dimension
    X32, Y32 = ({layer: A.astype(np.float32) for layer, A in side.items()} for side in (X, Y))
    assert_right(fitter(chunk=1000).update(X32, Y32).result(), X32, Y32, atol=1e-6)
    assert_right(fitter(precision="float64").update(X32, Y32).result(), X32, Y32, atol=1e-12)


def test_few_float32_rows_of_many_columns():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 6, 500)).astype(np.float32)
    found = CKAFitter([0], [0]).update({0: X}, {0: Y}).result()
    assert found.debiased[0, 0] == pytest.approx(cka(X.astype(float), Y.astype(float), debiased=True), abs=1e-6)


def test_float_types_and_libraries_may_be_mixed():
    X, Y = sides(60)
    learning = fitter(chunk=25)
    for at, kind in ((0, torch.float32), (20, torch.float64), (40, torch.float32)):
        batch = [{n: torch.from_numpy(A[at : at + 20]).to(kind) for n, A in side.items()} for side in (X, Y)]
        learning.update(*batch)
    assert_right(learning.result(), X, Y, atol=1e-6)


def test_a_turned_space_is_the_same_space(rng: np.random.Generator, orthogonal: Callable[[int], np.ndarray]):
    X = rng.normal(size=(50, 8)) + 2
    found = CKAFitter([0], [0, 1]).update({0: X}, {0: X @ orthogonal(8), 1: 3 * X @ orthogonal(8) + 5}).result()
    np.testing.assert_allclose(found.paper[0, 0], 1, atol=1e-12)
    np.testing.assert_allclose(found.centered, 1, atol=1e-12)
    np.testing.assert_allclose(found.debiased, 1, atol=1e-12)


def test_layers_of_representations():
    X, Y = sides(50)
    one, other = Representations(X, {"depth": 3}), Representations(Y, {"depth": 8})
    lines = io.StringIO()
    found = layer_cka(one, other, progress=LineProgress(lines))
    assert_right(found, X, Y)
    assert lines.getvalue().startswith("compare layers: 50 rows in")
    with raises("input.row-count", "50", "49"):
        layer_cka(one, Representations({1: Y[1][:49]}, {"depth": 8}))


def test_the_grid():
    X, _ = sides(20)
    found = CKAFitter([0, 3], [3, 4]).update(X, {3: X[3], 4: X[0]}).result()
    assert found.diagonal() == {3: pytest.approx(1.0)}
    again = json.loads(json.dumps(found.as_dict()))
    assert (again["layers_x"], again["layers_y"], again["count"]) == ([0, 3], [3, 4], 20)
    assert again["centered"] == found.centered.tolist()
    with raises("config.unknown-name", "'centred'"):
        found.form("centred")  # type: ignore[arg-type]


def test_errors():
    X, Y = sides(10)
    learning = fitter()
    nan = X[3].copy()
    nan[4, 2] = np.nan
    wrong: tuple[tuple[str, Any, Any, str], ...] = (
        ("input.not-finite", {**X, 3: nan}, Y, "row 4 of layer 3 of X"),
        ("input.row-count", X, part(Y, slice(7)), "7"),
        ("input.row-count", {**X, 3: X[3][:4]}, Y, "4 in layer 3"),
        ("input.shape", {**X, 3: X[3][0]}, Y, "layer 3 of X"),
        ("input.type", {**X, 3: X[3].astype(complex)}, Y, "complex128"),
        ("input.type", {**X, 3: "rows"}, Y, "layer 3 of X"),
        ("input.empty", part(X, slice(0)), Y, "layer 0 of X"),
        ("config.unknown-layer", X, {1: Y[1]}, "layer 2 of Y"),
    )
    for code, x, y, value in wrong:
        with raises(code, value):
            learning.update(x, y)
    with raises("input.too-few", "0"):
        learning.result()
    learning.update(part(X, slice(3)), part(Y, slice(3)))
    with raises("input.too-few", "3"):
        learning.result()
    with raises("config.other-size", "0", "4", "5"):
        learning.update({**X, 0: X[0][:, :4]}, Y)
    with raises("config.invalid-value", "[1, 1]"):
        CKAFitter([1, 1], [1])
    with raises("config.unknown-name", "'float16'"):
        fitter(precision="float16")
    with raises("config.invalid-value", "0"):
        fitter(chunk=0)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_layer_without_anything_to_compare(kind: type):
    X, Y = (dict(side) for side in sides(12))
    Y[2] = np.full((12, 9), 0.1, dtype=kind)
    with raises("input.constant", "2", "12"):
        fitter(chunk=5).update(X, Y).result()
    Y[2] = np.zeros((12, 9), dtype=kind)
    Y[2][3] = 1
    with raises("input.constant", "2"):
        fitter().update(X, Y).result()
    Y[2] = np.random.default_rng(0).normal(size=(12, 9)) * 1e100
    with raises("input.too-large", "2"):
        fitter().update(X, Y).result()

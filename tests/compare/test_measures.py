"""What every measure promises, generated from what it declares."""

from __future__ import annotations

import dataclasses
import json
import math
import pkgutil
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from isoglot import compare
from isoglot.compare import INVARIANCES, MEASURES, Invariance, Measure, compute
from isoglot.core.errors import InputError
from tests.errors import raises

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]

NAMES = (
    "paper-cka",
    "cka",
    "debiased-cka",
    "rbf-cka",
    "cca",
    "svcca",
    "pwcca",
    "procrustes",
    "rsa",
    "distance-correlation",
    "rtd",
    "mutual-knn",
    "anc",
    "spectral",
    "gromov-wasserstein",
)
INSTALLED = {name: measure for name, measure in MEASURES.items() if measure.is_installed}
CHANGES: dict[Invariance, Change] = {
    "orthogonal": lambda X, rng: X @ np.linalg.qr(rng.normal(size=(X.shape[1],) * 2))[0],
    "scaling": lambda X, rng: X * rng.uniform(0.01, 100),
    "translation": lambda X, rng: X + rng.normal(size=X.shape[1]) * 3,
    "invertible": lambda X, rng: X @ (rng.normal(size=(X.shape[1],) * 2) * np.logspace(-2, 2, X.shape[1])),
    "permutation": lambda X, rng: X[:, rng.permutation(X.shape[1])],
}
DECLARED = [(name, each) for name in INSTALLED for each in INVARIANCES if each in MEASURES[name].invariances]
NOT_DECLARED = [(name, each) for name in INSTALLED for each in INVARIANCES if each not in MEASURES[name].invariances]


def changed(each: Invariance, X: np.ndarray, Y: np.ndarray, seed: int):
    """The pair after changes that the invariance allows: one side, the other, both in different ways."""
    rng = np.random.default_rng(seed)
    if each == "rows":
        order = rng.permutation(len(X))
        return [(X[order], Y[order])]
    change = CHANGES[each]
    return [(change(X, rng), Y), (X, change(Y, rng)), (change(X, rng), change(Y, rng))]


def test_the_measures_are_these():
    assert tuple(MEASURES) == NAMES
    assert all(name == measure.name for name, measure in MEASURES.items())
    assert set(CHANGES) | {"rows"} == set(INVARIANCES)


@pytest.mark.parametrize(("name", "each"), DECLARED)
def test_what_is_declared_holds(name, each, related):
    X, Y = related
    before = MEASURES[name].function(X, Y)
    for seed in range(5):
        for after in changed(each, X, Y, seed):
            assert MEASURES[name].function(*after) == pytest.approx(before, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("name", "each"), NOT_DECLARED)
def test_what_is_not_declared_fails(name, each, related):
    X, Y = related
    before = MEASURES[name].function(X, Y)
    after = [MEASURES[name].function(*pair) for seed in range(5) for pair in changed(each, X, Y, seed)]
    assert max(abs(value - before) for value in after) > 0.01


@pytest.mark.parametrize("measure", MEASURES.values(), ids=NAMES)
def test_a_declaration_contains_what_it_implies(measure: Measure):
    declared = measure.invariances
    assert "rows" in declared
    assert "orthogonal" not in declared or "permutation" in declared
    assert "invertible" not in declared or {"orthogonal", "scaling"} <= declared


@pytest.mark.parametrize("measure", MEASURES.values(), ids=NAMES)
def test_it_says_what_it_is(measure: Measure):
    assert measure.meaning.endswith(".")
    assert measure.use.endswith(".")
    assert measure.formula.count("{") == measure.formula.count("}") > 0
    assert measure.bounds[0] <= measure.ideal <= measure.bounds[1]
    assert measure.ideal == (1 if measure.kind == "similarity" else 0)
    assert json.loads(json.dumps(measure.as_dict(), allow_nan=False))["name"] == measure.name


@pytest.mark.parametrize("name", INSTALLED)
def test_a_space_is_identical_to_itself(name, related):
    X, _ = related
    assert MEASURES[name].function(X, X.copy()) == pytest.approx(MEASURES[name].ideal, abs=1e-12)


@pytest.mark.parametrize("name", INSTALLED)
def test_related_spaces_are_more_alike_than_shuffled_ones(name, related, rng):
    X, Y = related
    there, apart = MEASURES[name].function(X, Y), MEASURES[name].function(X, Y[rng.permutation(len(Y))])
    if name == "spectral":  # it does not see who is who
        assert apart == pytest.approx(there, abs=1e-9)
    elif MEASURES[name].kind == "similarity":
        assert there > apart
    elif name == "gromov-wasserstein":  # another start of the same search
        assert there <= apart
    else:
        assert there < apart


@given(seed=st.integers(0, 2**32), count=st.integers(14, 40), width=st.integers(3, 50), noise=st.floats(0, 3))
@settings(max_examples=25)
def test_symmetric_and_in_range(seed, count, width, noise):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, width))
    Y = X + noise * rng.normal(size=X.shape)
    for name, measure in INSTALLED.items():
        value, back = measure.function(X, Y), measure.function(Y, X)
        assert measure.bounds[0] <= value <= measure.bounds[1], name
        assert not measure.symmetric or back == pytest.approx(value, rel=1e-9, abs=1e-9), name


def test_not_symmetric_where_it_says_so(related):
    X, Y = related
    assert [name for name, measure in MEASURES.items() if not measure.symmetric] == ["pwcca"]
    assert abs(compare.pwcca(X, Y) - compare.pwcca(Y, X)) > 0.01


NUMBERS = st.sampled_from([0.0, 0.0, 1.0, 1.0, -1.0, 0.1, 2.5, 1e-3, 1e7, 1e-30])


@given(st.data(), st.integers(4, 15), st.integers(1, 4), st.sampled_from([np.float64, np.float32]))
@settings(max_examples=100)
def test_never_not_a_number(data, count, width, kind):
    """Equal rows, equal columns, zeros, numbers far apart, few items: a value in range or one clear line."""
    X, Y = (data.draw(arrays.arrays(kind, (count, width), elements=NUMBERS.map(kind))) for _ in "XY")
    for name, measure in INSTALLED.items():
        try:
            value = measure.function(X, Y)
        except InputError as error:
            assert str(error).count("\n") == 0, name
        else:
            assert measure.bounds[0] <= value <= measure.bounds[1], name


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("name", INSTALLED)
def test_the_size_of_the_numbers_does_not_matter(name, size, related):
    X, Y = related
    assert MEASURES[name].function(X * size, Y / size) == pytest.approx(MEASURES[name].function(X, Y), abs=1e-9)


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("width", [1, 5, 200])
def test_any_widths_unless_it_says_otherwise(name, width, related, rng):
    X, _ = related
    Y = rng.normal(size=(80, width)) + 1
    if MEASURES[name].widths == "same":
        with raises("input.shape", 6, width):
            compute(name, X, Y)
    elif name == "rsa" and width == 1:
        with raises("input.zero-row", "0"):
            compute(name, X, Y)
    else:
        assert math.isfinite(compute(name, X, Y).value)


@pytest.mark.parametrize("name", INSTALLED)
def test_arrays_and_tensors_of_any_float_type(name, related):
    X, Y = (side.astype(np.float32) for side in related)
    value = compute(name, X, Y).value
    assert compute(name, torch.from_numpy(X), Y).value == value
    assert compute(name, X.astype(np.float64), Y.astype(np.float64)).value == pytest.approx(value, abs=1e-6)
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    strided.setflags(write=False)
    assert compute(name, strided, Y).value == value


@pytest.mark.parametrize("name", INSTALLED)
def test_nothing_is_written_into_what_was_given(name, related):
    X, Y = related
    before = X.copy(), Y.copy()
    compute(name, X, Y)
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])


@pytest.mark.parametrize("name", INSTALLED)
def test_bad_rows_get_one_clear_line(name, related):
    X, Y = related
    least = MEASURES[name].fewest
    with raises("input.row-count", "80", "79"):
        compute(name, X, Y[1:])
    with raises("input.too-few", "1"):
        compute(name, X[:1], Y[:1])
    compute(name, X[:least], Y[:least])
    with raises("input.too-few", least - 1, least):
        compute(name, X[: least - 1], Y[: least - 1])
    Y[3, 1] = np.nan
    with raises("input.not-finite", "3"):
        compute(name, X, Y)
    with raises("input.type", "str"):
        compute(name, "rows", Y)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_a_space_without_variance(name, value, related):
    """Rows of the same number: what the measure needs is not there, and it says so."""
    X, _ = related
    flat = np.full((80, 6), value)
    if value and name == "paper-cka":  # it does not center
        assert 0 < compute(name, X, flat).value < 1
    else:
        with pytest.raises(InputError) as caught:
            compute(name, X, flat)
        assert caught.value.code in ("input.constant", "input.zero-row")


def test_an_unknown_measure_gets_the_nearest_name(related):
    with raises("config.unknown-name", "'ckaa'"):
        compute("ckaa", *related)


def test_rows_are_drawn_where_there_are_too_many(monkeypatch, related):
    X, Y = related
    monkeypatch.setitem(MEASURES, "cka", dataclasses.replace(MEASURES["cka"], rows=20))
    score = compute("cka", X, Y, seed=1)
    assert (score.rows_used, score.of) == (20, 80)
    assert score == compute("cka", torch.from_numpy(X), torch.from_numpy(Y), seed=1)
    assert score.value != compute("cka", X, Y, seed=2).value
    assert compute("cka", X, 2 * X).value == pytest.approx(1)  # the same rows on both sides
    assert score.as_dict() == {"value": score.value, "rows_used": 20, "of": 80}


def test_no_module_has_the_name_of_an_export():
    """Once such a module is imported, it would stand where the function should."""
    modules = {module.name for module in pkgutil.iter_modules(compare.__path__)}
    assert not modules & set(compare.__all__)

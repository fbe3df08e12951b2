"""What every estimator of the room keeps to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from isoglot import align
from isoglot.align import (
    CCA,
    RCSLS,
    Center,
    GeneralizedProcrustes,
    IterativeNormalization,
    LeastSquares,
    MiniVec2Vec,
    Procrustes,
    Refinement,
    Ridge,
    SelfLearning,
    Steps,
    UnitLength,
    Vecmap,
    Whiten,
    load_map,
)
from isoglot.align.maps.estimator import Estimator, Step
from isoglot.core.errors import InputError
from tests.errors import raises

N, D = 60, 5

STEPS: dict[str, Callable[[], Any]] = {
    "center": Center,
    "unit": UnitLength,
    "iterative": IterativeNormalization,
    "zca": Whiten,
    "pca": lambda: Whiten(kind="pca", penalty=0.1),
}
BY_PAIRS: dict[str, Callable[[], Any]] = {
    "procrustes": Procrustes,
    "least-squares": LeastSquares,
    "ridge": lambda: Ridge(penalty=0.5),
    "cca": CCA,
    "rcsls": lambda: RCSLS(rounds=3, neighborhood=3),
    "refinement": lambda: Refinement(rounds=2, neighborhood=3),
    "self-learning": lambda: SelfLearning(patience=2, neighborhood=3),
    "steps": lambda: Steps([IterativeNormalization(), Whiten(), Procrustes()]),
}
MAPS: dict[str, Callable[[], Any]] = {
    **BY_PAIRS,
    "vecmap": lambda: Vecmap(patience=2, neighborhood=3, starts=1),
    "mini-vec2vec": lambda: MiniVec2Vec(runs=2, clusters=4, rounds=3, starts=1),
}
ALL = {**STEPS, **MAPS, "generalized": GeneralizedProcrustes}
LOSES_LENGTH = {"unit", "iterative", "steps"}
ANY_WIDTH = {"least-squares", "ridge", "cca"}


def spaces(kind: str = "numpy", dtype: str = "float64", rows: int = N) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, D)) * [3, 2, 1.5, 1, 0.7] + 1
    Y = X @ np.linalg.qr(rng.normal(size=(D, D)))[0] + 0.05 * rng.normal(size=X.shape)
    X, Y = X.astype(dtype), Y.astype(dtype)
    return (X, Y) if kind == "numpy" else (torch.from_numpy(X), torch.from_numpy(Y))


def fitted(name: str, *data: Any) -> Any:
    X, Y = data or spaces()
    estimator = ALL[name]()
    result = (
        estimator.fit({"en": X, "fr": Y})
        if name == "generalized"
        else estimator.fit(*([X, Y] if name in MAPS else [X]))
    )
    assert result is estimator
    return estimator


def test_every_estimator_is_here():
    public = {getattr(align, name) for name in align.__all__ if inspect.isclass(getattr(align, name))}
    public = {each for each in public if issubclass(each, Estimator) and not inspect.isabstract(each)} - {Estimator}
    assert {type(make()) for make in ALL.values()} == public


@pytest.mark.parametrize("name", ALL)
def test_a_constructor_only_stores(name: str):
    estimator = ALL[name]()
    assert vars(estimator) == estimator.get_params()
    assert all(vars(estimator)[option] is value for option, value in estimator.get_params().items())
    assert estimator.learned() == {}
    strange = dict.fromkeys(estimator.get_params(), "nonsense")
    assert type(estimator)(**strange).get_params() == strange  # nothing is checked before fit
    assert estimator.set_params(**strange).get_params() == strange
    with raises("config.unknown-name", type(estimator).__name__, "'colour'"):
        estimator.set_params(colour=1)


@pytest.mark.parametrize("name", ALL)
def test_fitting_changes_no_option_and_learned_names_end_in_an_underscore(name: str):
    before = ALL[name]().get_params()
    estimator = fitted(name)
    assert repr(estimator.get_params()) == repr(before)
    assert estimator.learned()
    new = vars(estimator).keys() - before.keys()
    assert new == estimator.learned().keys()
    assert all(each.endswith("_") for each in new)
    assert estimator.clone().learned() == {}


@pytest.mark.parametrize("name", ALL)
def test_unfitted_is_refused(name: str, tmp_path: Path):
    estimator, (X, Y) = ALL[name](), spaces()
    for method in ("transform", "inverse_transform", "transform_target", "inverse_transform_target", "to_target"):
        if hasattr(estimator, method):
            with raises("not-fitted", type(estimator).__name__):
                getattr(estimator, method)(X)
    with raises("not-fitted", type(estimator).__name__):
        estimator.score(*[X, Y] if name in MAPS else [X])
    with raises("not-fitted", type(estimator).__name__):
        estimator.save(tmp_path / "map")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ALL)
def test_what_comes_in_goes_out(name: str, kind: str, dtype: str):
    X, Y = spaces(kind, dtype)
    before = X.copy() if kind == "numpy" else X.clone()
    estimator = fitted(name, X, Y)
    library = np.ndarray if kind == "numpy" else torch.Tensor
    results = [estimator.transform(X), estimator.inverse_transform(estimator.transform(X))]
    if name in MAPS:
        results += [estimator.transform_target(Y), estimator.to_target(X)]
    for result in results:
        assert isinstance(result, library)
        assert result.dtype == X.dtype
        assert len(result) == len(X)
    assert (before == X).all()
    for value in estimator.learned().values():
        assert not isinstance(value, np.ndarray | torch.Tensor) or isinstance(value, library)
    other = torch.from_numpy(X) if kind == "numpy" else X.numpy()
    across = estimator.transform(other)  # fitted on one kind, used on the other
    assert isinstance(across, type(other))
    assert np.array_equal(np.asarray(across), np.asarray(results[0]))
    half = estimator.transform(torch.as_tensor(other).bfloat16())
    assert half.dtype == torch.bfloat16


@pytest.mark.parametrize("name", ALL)
def test_float32_and_float64_agree(name: str):
    one, two = (fitted(name, *spaces("numpy", dtype)) for dtype in ("float32", "float64"))
    X, _ = spaces()
    assert np.allclose(one.transform(X), two.transform(X), atol=2e-4)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ALL)
def test_a_file_gives_back_every_bit(name: str, kind: str, dtype: str, tmp_path: Path):
    X, Y = spaces(kind, dtype)
    estimator = fitted(name, X, Y)
    file = estimator.save(tmp_path / "map.safetensors")
    again = load_map(file)
    assert type(again) is type(estimator)
    assert again.learned().keys() == estimator.learned().keys()
    if name != "steps":
        assert again.get_params() == estimator.get_params()
        assert repr(again.learned()) == repr(estimator.learned())
    for method in ("transform", "inverse_transform", "transform_target"):
        if hasattr(estimator, method):
            assert (getattr(again, method)(X) == getattr(estimator, method)(X)).all()
    assert again.save(tmp_path / "again.safetensors").read_bytes() == file.read_bytes()
    assert type(type(estimator).load(file)) is type(estimator)


@pytest.mark.parametrize("name", ALL)
def test_the_inverse_undoes(name: str):
    X, Y = spaces()
    estimator = fitted(name, X, Y)
    back = estimator.inverse_transform(estimator.transform(X))
    wanted = X / np.linalg.norm(X, axis=1, keepdims=True) if name in LOSES_LENGTH else X
    assert np.allclose(back, wanted, atol=1e-9)
    if name in MAPS:
        back = estimator.inverse_transform_target(estimator.transform_target(Y))
        wanted = Y / np.linalg.norm(Y, axis=1, keepdims=True) if name in LOSES_LENGTH else Y
        assert np.allclose(back, wanted, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_fitting_twice_gives_the_same(name: str):
    one, two = fitted(name), fitted(name)
    assert repr(one.learned()) == repr(two.learned())


@pytest.mark.parametrize("name", BY_PAIRS)
def test_a_map_brings_pairs_together(name: str):
    X, Y = spaces()
    cosines = (X * Y).sum(1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Y, axis=1)
    score = fitted(name).score(X, Y)
    assert score > 0.97
    assert score > cosines.mean()


@pytest.mark.parametrize("name", BY_PAIRS)
def test_pairs_say_which_rows_belong_together(name: str):
    X, Y = spaces()
    order = np.random.default_rng(1).permutation(N)
    mixed = np.empty_like(Y)
    mixed[order] = Y
    pairs = np.stack([np.arange(N), order], axis=1)
    by_row, by_pairs = ALL[name]().fit(X, Y), ALL[name]().fit(X, mixed, pairs=pairs)
    assert np.allclose(by_row.transform(X), by_pairs.transform(X), atol=1e-4)
    assert by_pairs.score(X, mixed, pairs=pairs) == pytest.approx(by_row.score(X, Y), abs=1e-6)


# --- bad input: one clear line each ---


def bad(name: str, X: Any, Y: Any) -> str:
    with pytest.raises(InputError) as caught:
        fitted(name, X, Y)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ALL)
def test_rows_that_are_not_finite(name: str, value: float):
    X, Y = spaces()
    X[3, 1] = value
    called = "en" if name == "generalized" else "X"
    assert bad(name, X, Y).startswith(f"row 3 of {called} is not finite; ")
    X[7] = value
    assert bad(name, X, Y).startswith(f"2 rows of {called}, the first 3, are not finite; ")
    with raises("input.not-finite", "3", "2"):
        fitted(name).transform(X)


@pytest.mark.parametrize("name", [*MAPS, "generalized", "unit", "iterative"])
def test_zero_vectors(name: str):
    X, Y = spaces()
    X[5] = 0
    called = "en" if name == "generalized" else "X"
    assert bad(name, X, Y).startswith(f"row 5 of {called} is all zeros; ")


@pytest.mark.parametrize("name", [*BY_PAIRS, "generalized"])
def test_different_numbers_of_rows(name: str):
    X, Y = spaces()
    said = bad(name, X, Y[:-1])
    assert all(
        word in said for word in (("en", "60 rows", "fr 59") if name == "generalized" else ("60 in X", "59 in Y"))
    )


@pytest.mark.parametrize("name", [*MAPS, "generalized"])
def test_different_widths(name: str):
    X, Y = spaces()
    if name in ANY_WIDTH:
        assert fitted(name, X, Y[:, :4]).transform(X).shape == (N, 4)
        return
    one, two = ("en", "fr") if name == "generalized" else ("X", "Y")
    assert bad(name, X, Y[:, :4]).startswith(f"{one} has 5 columns and {two} 4; ")


@pytest.mark.parametrize("name", ALL)
def test_another_width_than_was_fitted(name: str):
    X, _ = spaces()
    estimator = fitted(name)
    with raises("input.shape", "4", "5"):
        estimator.transform(X[:, :4])
    with raises("input.shape", "4", "5"):
        estimator.inverse_transform(X[:, :4])


@pytest.mark.parametrize("name", ALL)
def test_numbers_whose_squares_are_no_numbers(name: str):
    X, Y = spaces()
    X[3] *= 1e200
    called = "en" if name == "generalized" else "X"
    assert bad(name, X, Y) == f"row 3 of {called} is too large for float32; divide all rows by one number"


@pytest.mark.parametrize("name", [*STEPS, *MAPS])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: "rows", "X is a str; "),
        (lambda X: [[1.0], [2.0, 3.0]], "X is no regular array; "),
        (lambda X: X[0], "X has 1 dimensions; "),
        (lambda X: X.astype(complex), "X holds torch.complex128; "),
        (lambda X: X.astype(np.longdouble), f"X holds {np.dtype(np.longdouble)}; "),
        (lambda X: X[:0], "X is empty: 0 rows, 5 columns; "),
    ],
)
def test_no_matrix(name: str, make: Callable[[Any], Any], message: str):
    X, Y = spaces()
    assert bad(name, make(X), Y).startswith(message)


@pytest.mark.parametrize("name", [*STEPS, *MAPS])
def test_lists_and_integers_are_arrays_too(name: str):
    X, Y = (np.round(8 * each) + 1 for each in spaces())
    expected = fitted(name, X, Y).transform(X)
    for X_, Y_ in ((X.tolist(), Y.tolist()), (X.astype(int), Y.astype(int))):
        found = fitted(name, X_, Y_).transform(X_)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", BY_PAIRS)
@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (np.zeros((0, 2), dtype=int), ("input.empty",)),
        (np.zeros((3, 2)), ("input.type", "(3, 2)")),
        (np.zeros((3, 3), dtype=int), ("input.type", "(3, 3)")),
        (np.array([[0, 0], [60, 1]]), ("input.out-of-range", "60", "X")),
        (np.array([[0, 0], [1, -1]]), ("input.out-of-range", "-1", "Y")),
    ],
)
def test_no_pairs(name: str, pairs: np.ndarray, expected: tuple[str, ...]):
    with raises(*expected):
        ALL[name]().fit(*spaces(), pairs=pairs)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (Ridge(penalty=0), ("config.invalid-value", "penalty = 0")),
        (Ridge(penalty=float("nan")), ("config.invalid-value", "penalty = nan")),
        (RCSLS(rounds=0), ("config.invalid-value", "rounds = 0")),
        (RCSLS().set_params(rounds=2.5), ("config.invalid-value", "rounds = 2.5")),
        (RCSLS(rounds=True), ("config.invalid-value", "rounds = True")),
        (RCSLS().set_params(constraint="tight"), ("config.unknown-name", "'tight'")),
        (SelfLearning(keep=1.5), ("config.invalid-value", "keep = 1.5")),
        (CCA().set_params(components="all"), ("config.invalid-value", "components = 'all'")),
        (Whiten().set_params(kind="lda"), ("config.unknown-name", "'lda'")),
        (Steps([]), ("config.missing-data",)),
        (Steps([GeneralizedProcrustes()]), ("config.not-supported", "GeneralizedProcrustes")),
    ],
)
def test_options_are_checked_by_fit(estimator: Any, expected: tuple[str, ...]):
    X, Y = spaces()
    with raises(*expected):
        estimator.fit(X, None if isinstance(estimator, Step) else Y)


def test_read_only_and_strange_layouts_are_fine():
    X, Y = spaces()
    frozen = X.copy()
    frozen.flags.writeable = False
    wanted = Procrustes().fit(X, Y).W_
    assert np.array_equal(Procrustes().fit(frozen, Y).W_, wanted)
    assert np.allclose(Procrustes().fit(X[::-1], Y[::-1]).W_, wanted)
    assert np.allclose(Procrustes().fit(X.astype(">f8"), np.asfortranarray(Y)).W_, wanted)

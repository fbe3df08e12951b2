"""Many languages in one space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.align import GeneralizedProcrustes, Procrustes, load_map
from tests.errors import raises

CODES = ("en", "fr", "de", "ru", "zh")


def copies(rng, orthogonal, noise: float = 0.0, rows: int = 200, width: int = 8) -> dict[str, np.ndarray]:
    shape = rng.normal(size=(rows, width))
    return {code: (shape + noise * rng.normal(size=shape.shape)) @ orthogonal(width) for code in CODES}


def test_rotated_copies_fall_together(rng, orthogonal):
    spaces = copies(rng, orthogonal)
    one = GeneralizedProcrustes().fit(spaces)
    mapped = [one.transform(rows, code) for code, rows in spaces.items()]
    assert max(np.abs(rows - mapped[0]).max() for rows in mapped) < 1e-5
    assert np.allclose(one.mean_, mapped[0])
    assert np.allclose(mapped[0], spaces["en"])  # the first stays where it is
    assert one.score(spaces) == pytest.approx(1)
    assert one.languages_ == CODES
    assert np.allclose(one.inverse_transform(mapped[3], "ru"), spaces["ru"])
    assert np.allclose(one.transform(spaces["ru"], 3), mapped[3])


def test_the_distance_never_rises_and_the_mean_is_better_than_one_language(rng, orthogonal):
    spaces = copies(rng, orthogonal, noise=0.8)
    one = GeneralizedProcrustes(tolerance=1e-12).fit(spaces)
    assert (np.diff(one.losses_) <= 1e-12).all()
    maps = {code: Procrustes().fit(rows, spaces["en"]) for code, rows in spaces.items()}
    pivot = np.stack([maps[code].transform(rows) for code, rows in spaces.items()])
    assert one.losses_[-1] < np.square(pivot - pivot.mean(0)).sum() / (5 * 200)
    assert one.fit_transform(spaces).keys() == spaces.keys()


def test_a_fixed_point_is_one_language_against_the_mean(rng, orthogonal):
    spaces = copies(rng, orthogonal, noise=0.3)
    one = GeneralizedProcrustes(tolerance=1e-14, rounds=2000).fit(spaces)
    for code, rows in spaces.items():
        assert np.allclose(Procrustes().fit(rows, one.mean_).W_, one.maps_[CODES.index(code)], atol=1e-4)


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_missing_items(seed: int):
    rng = np.random.default_rng(seed)
    shape = rng.normal(size=(120, 4))
    turns = {code: np.linalg.qr(rng.normal(size=(4, 4)))[0] for code in CODES}
    masks = {code: rng.random(120) < 0.5 for code in CODES}
    spaces = {code: np.where(masks[code][:, None], shape @ turns[code], np.nan) for code in CODES}
    one = GeneralizedProcrustes().fit(spaces, masks=masks)
    for place, code in enumerate(CODES):
        assert np.abs(one.maps_[place] - turns[code].T @ turns["en"]).max() < 1e-5
    somewhere = np.any(list(masks.values()), axis=0)
    assert np.allclose(one.mean_[somewhere], (shape @ turns["en"])[somewhere])
    assert one.score(spaces, masks=masks) == pytest.approx(1)


def test_languages_that_meet_through_others_only(rng, orthogonal):
    shape, turns = rng.normal(size=(90, 5)), [orthogonal(5) for _ in range(3)]
    spaces = [shape @ turn for turn in turns]
    masks = [np.arange(90) < 30, np.arange(90) >= 60, (np.arange(90) >= 10) & (np.arange(90) < 80)]
    one = GeneralizedProcrustes().fit(spaces, masks=masks)
    assert one.languages_ == ("0", "1", "2")
    assert np.allclose(one.transform(spaces[1], "1"), spaces[0])
    masks[2] = np.arange(90) >= 50
    with raises("input.no-match", "1", "0"):
        GeneralizedProcrustes().fit(spaces, masks=masks)


def test_two_languages_are_procrustes(rng, orthogonal, tmp_path):
    X = rng.normal(size=(50, 4))
    Y = X @ orthogonal(4) + 0.2 * rng.normal(size=X.shape)
    one = GeneralizedProcrustes(tolerance=1e-14).fit([X, Y])
    assert np.allclose(one.maps_[1], Procrustes().fit(Y, X).W_, atol=1e-5)
    one.save(tmp_path / "space")
    assert np.array_equal(load_map(tmp_path / "space").transform(Y, "1"), one.transform(Y, "1"))


def test_what_is_wrong(rng):
    X = rng.normal(size=(6, 3))
    cases: list[tuple[Any, dict[str, Any], tuple[str, str]]] = [
        (({"en": X},), {}, ("input.too-few", "1")),
        ((X,), {}, ("input.type", "ndarray")),
        (([X, X],), {"masks": [np.ones(6, bool)]}, ("input.row-count", "0, 1")),
        (([X, X],), {"masks": [np.ones(6, bool), np.ones(5, bool)]}, ("input.type", "(5,)")),
        (([X, X],), {"masks": [np.ones(6, bool), np.zeros(6, bool)]}, ("input.empty", "1")),
    ]
    for given_, named, expected in cases:
        with raises(*expected):
            GeneralizedProcrustes().fit(*given_, **named)
    one = GeneralizedProcrustes().fit({"en": X, "fr": X})
    with raises("config.unknown-name", "'fra'"):
        one.transform(X, "fra")

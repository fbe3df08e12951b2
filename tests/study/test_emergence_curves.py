"""P@1 and CKA over training."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.study.numbers import Coordinate, Number
from isoglot.study.tables.layer_tables import emergence_curves, threshold_table, tokens_to_threshold
from tests.study.made_up_study import MOMENTS, MadeUpStudy, numbers_of_table1


def test_curves_have_the_best_layer_of_each_moment_and_begin_untrained(tmp_path: Path) -> None:
    curves = emergence_curves(MadeUpStudy(tmp_path, numbers_of_table1()))
    assert [curve.arm for curve in curves] == ["Default", "No anchors", "Sep Emb"]
    assert dict(curves[0].p1) == MOMENTS
    assert curves[0].layer == 1
    assert curves[0].cka[0] == pytest.approx((0, 0.3))
    assert curves[0].cka[-1] == pytest.approx((16_000_000, 0.4 + 0.08 / 3))
    assert [tokens for tokens, _ in curves[0].probe] == list(MOMENTS)
    assert [value for _, value in curves[0].probe] == pytest.approx([0.6] + [0.9 + 0.08 / 3] * 3)


def test_a_study_without_a_probe_has_curves(tmp_path: Path) -> None:
    numbers = [one for one in numbers_of_table1() if one.measure != "emergence_probe"]
    curves = emergence_curves(MadeUpStudy(tmp_path, numbers))
    assert curves[0].probe == ()
    assert "probe" not in threshold_table(curves).text()


def test_seeds_are_averaged_before_the_best_layer_is_chosen(tmp_path: Path) -> None:
    at: dict[str, Coordinate] = {"arm": "default", "pair": "en-de"}
    values = {(0, 0): 0.9, (0, 1): 0.5, (1, 0): 0.1, (1, 1): 0.6}  # by seed and layer
    numbers = [
        Number(f"emergence_{measure}", value, {**at, "seed": seed, "layer": layer, "tokens": tokens})
        for measure in ("p1", "cka")
        for tokens in (1000, 2000)
        for (seed, layer), value in values.items()
    ]
    (curve,) = emergence_curves(MadeUpStudy(tmp_path, numbers))
    assert curve.p1[-1] == pytest.approx((2000, 0.55))
    assert (curve.layer, curve.seeds) == (1, 2)


def test_one_moment_is_no_curve(tmp_path: Path) -> None:
    numbers = [one for one in numbers_of_table1() if one.at.get("tokens", 1_000_000) == 1_000_000]
    assert emergence_curves(MadeUpStudy(tmp_path, numbers)) == []


def test_tokens_to_a_threshold_are_interpolated_over_the_logarithm(tmp_path: Path) -> None:
    assert tokens_to_threshold(tuple(MOMENTS.items()), 0.12) == (2_000_000, "")
    curves = emergence_curves(MadeUpStudy(tmp_path, numbers_of_table1()))
    row = threshold_table(curves).dicts()[0]
    assert row["to_25"] == pytest.approx(8_000_000)
    assert (row["to_50"], row["to_50_censored"]) == (None, "never")
    assert row["probe"] == pytest.approx(0.9 + 0.08 / 3)

"""What taking the language out costs, on vectors where it is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from isoglot.represent import extract
from isoglot.steer import LEACE, trade_offs
from isoglot.steer.erasers.trade_off import NOTHING, TradeOffConfig, trade_off
from tests.errors import raises

N, D = 120, 16


def noise(*names: int, rows: int = N, width: int = D) -> np.ndarray:
    return np.random.default_rng(names).normal(size=(rows, width))


@pytest.fixture(scope="module")
def planted() -> dict[str, np.ndarray]:
    """The same meanings in three languages, each far away in a direction of its own."""
    meaning = noise(0)
    return {code: meaning + 0.1 * noise(1, at) + 8 * noise(2, at, rows=1) for at, code in enumerate(("en", "de", "fr"))}


def test_a_planted_language_goes_and_the_meaning_stays(planted):
    found = trade_off(planted, TradeOffConfig(alphas=[0.5, 1.0]))
    assert found.before.probe == 1.0
    assert found.before.control == 0.0
    assert found.before.change == 0.0
    assert [row.name for row in found.rows] == [
        NOTHING,
        "mean removal",
        "LIR",
        "LSAR",
        "INLP",
        "LEACE",
        "shift, alpha 0.5",
        "shift, alpha 1",
        "transport",
    ]
    for name in ("mean removal", "INLP", "LEACE", "shift, alpha 1", "transport"):
        row = found.of(name)
        assert row.probe == pytest.approx(1 / 3, abs=0.1), name
        assert row.retrieval > found.before.retrieval, name
        assert row.retrieval > 0.9, name
        assert row.harmonic > 0.85, name
    assert found.of("shift, alpha 0.5").probe == 1.0
    assert found.best.harmonic == max(row.harmonic for row in found.rows)


def test_of_what_erases_leace_changes_least(planted):
    found = trade_off(planted)
    erased = [row for row in found.rows if row.probe < 0.45]
    assert min(erased, key=lambda row: row.change).name == "LEACE"


def test_among_equals_the_least_change_is_the_best(planted):
    """Equal means may still differ in their last bits."""
    found = trade_off(planted)
    tied = replace(found, rows=tuple(replace(row, harmonic=0.7 + at * 1e-15) for at, row in enumerate(found.rows[1:])))
    assert tied.best.name == min(found.rows[1:], key=lambda row: row.change).name == "LEACE"
    better = replace(found, rows=(*tied.rows, replace(found.of("transport"), harmonic=0.71)))
    assert better.best.name == "transport"


def test_where_there_is_no_language_there_is_nothing_to_tell():
    found = trade_off({"en": noise(1), "de": noise(2)})
    for row in found.rows:
        assert abs(row.probe - 0.5) < 0.12
        assert row.retrieval < 0.05


def test_nothing_is_learned_from_what_is_tested():
    """Noise with more columns than sentences: a probe tells all rows it has seen, of others none better than chance.

    An eraser that had seen the test rows would leave less than chance there: their mean would be gone as well.
    """
    found = trade_off({code: noise(at, rows=60, width=240) for at, code in enumerate(("en", "de"))})
    for row in found.rows:
        assert row.probe == pytest.approx(0.5, abs=0.15), row.name
        assert row.spread == pytest.approx(0.5, abs=0.15), row.name


def test_the_order_of_languages_only_chooses_the_pivot(planted):
    turned = {code: planted[code] for code in ("fr", "de", "en")}
    one, other = trade_off(planted), trade_off(turned, TradeOffConfig(pivot="en"))
    for row in one.rows:
        assert other.of(row.name).probe == pytest.approx(row.probe)
        assert other.of(row.name).retrieval == pytest.approx(row.retrieval)
    assert other.pivot == "en"


def test_layers_of_an_encoder(ours, small_texts):
    lines = {code: paths[0].read_text().splitlines()[:30] for code, paths in small_texts.items()}
    vectors = {code: extract(ours, some, layers=[0, -1], language=code) for code, some in lines.items()}
    found = trade_offs(vectors, TradeOffConfig(erasers={"LEACE": LEACE()}, folds=3))
    assert [each.layer for each in found] == [0, ours.depth]
    assert [row.name for row in found[0].rows] == [NOTHING, "LEACE", "shift, alpha 1", "transport"]
    assert found[0].before.probe > 0.8
    told = json.loads(json.dumps(found[0].as_dict(), allow_nan=False))
    assert (told["chance"], told["sentences"], told["folds"]) == (0.5, 30, 3)


def test_bad_input_is_one_clear_line(planted):
    with raises("config.not-supported"):
        trade_off({"en": noise(1)})
    with raises("config.unknown-name", "'ru'"):
        trade_off(planted, TradeOffConfig(pivot="ru"))
    with raises("config.invalid-value", 1):
        trade_off(planted, TradeOffConfig(folds=1))
    with raises("input.row-count", "en", 120, "de", 119):
        trade_off({"en": noise(1), "de": noise(2)[1:]})
    with raises("input.too-few", 4):
        trade_off({"en": noise(1, rows=4), "de": noise(2, rows=4)})
    with raises("config.unknown-name", "'leace'"):
        trade_off(planted).of("leace")

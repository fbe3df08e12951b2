"""The pages of a comparison, of the Figure 7 grid and of an emergence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoglot.compare.emergence import CheckpointMeasures, Emergence
from isoglot.compare.encoders import Comparison, LayerMeasurement
from isoglot.compare.figure7 import Figure7, Figure7Cell, Figure7Column
from isoglot.compare.figure7_claims import claims
from isoglot.compare.layer_grid import CKAGrid
from isoglot.compare.measures.cka import FORMS
from isoglot.report.compare import (
    comparison_page,
    emergence_finding,
    emergence_page,
    figure7_finding,
    figure7_page,
    findings,
    number,
)


def measured(layer: int, measure: str = "debiased-cka", **changes) -> LayerMeasurement:
    given = {
        "value": 0.3 + 0.1 * layer, "low": 0.28 + 0.1 * layer, "high": 0.32 + 0.1 * layer, "null_mean": 0.0,
        "null_edge": 0.01, "p": 0.005, "floor": 0.1, "ceiling": 0.9, "place": 0.5, "without_top": 0.29,
        "rows": 500, "draws": 200, "other_layer": layer,
    }  # fmt: skip
    return LayerMeasurement(measure=measure, layer=layer, **{**given, **changes})


def comparison(*each: LayerMeasurement, **changes) -> Comparison:
    values = np.eye(3) * 0.5 + 0.2
    given = {
        "models": ("runs/a", "runs/b"), "languages": ("en", "fr"), "sentences": 1000, "rows": 500, "pool": "mean",
        "floor": "an untrained encoder reads fr", "ceiling": "runs/a and runs/c both read en", "top": 1,
        "grid": CKAGrid(
            layers_x=(0, 1, 2), layers_y=(0, 1, 2), count=1000, paper=values, centered=values, debiased=values
        ),
        "grid_without_top": None,
        "measured": each or tuple(measured(layer) for layer in range(3)),
    }  # fmt: skip
    return Comparison(**{**given, **changes})


def test_the_words_say_what_the_numbers_do():
    said = findings(comparison())
    assert said[0] == (
        "runs/a reading en and runs/b reading fr are most alike in layer 2: CKA, debiased 0.50 (95 % interval 0.48 to "
        "0.52), where sentences paired at random get 0.00 and an untrained encoder reading fr gets 0.10. Two trainings "
        "from different seeds, both reading en, reach 0.90: this is 50 % of the way from floor to ceiling."
    )
    assert "Much of that is the strongest direction of either space: without, it is 0.29." in said
    assert said[-1] == "For 3 of 3 layers of runs/a the most similar layer of runs/b is the one of the same number."
    assert findings(comparison(cut=(0, 2)))[-1] == "Longer than the model takes, and cut: 2 of 500 fr sentences."


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"value": 0.005, "low": -0.01, "high": 0.02},
            (
                "In no layer are runs/a reading en and runs/b reading fr more alike than sentences paired at random: "
                "CKA, debiased is 0.01"
            ),
        ),
        ({"ceiling": None, "place": None, "low": 0.09}, "That is no more than the untrained encoder has."),
        (
            {"ceiling": 0.05, "place": None},
            "reach 0.05, no more than the untrained encoder either, so there is no scale",
        ),
        (
            {"floor": 0.5, "place": -0.5},
            (
                "That is no more than the untrained encoder has. Two trainings from different seeds, both reading en, "
                "reach 0.90."
            ),
        ),
        ({"floor": None, "ceiling": None, "place": None}, "where sentences paired at random get 0.00."),
    ],
)
def test_no_more_is_claimed_than_was_found(changes, line):
    assert line in findings(comparison(measured(0, **changes)))[0]


def test_layers_at_the_floor_are_named():
    two, three, five = (measured(layer, value=0.1, low=0.09) for layer in (2, 3, 5))
    for low, names in (
        ([two, three, five], "layers 2, 3 and 5"),
        ([five], "layer 5"),
        ([replace(two, other_layer=4), five], "layers 2 and 4 and layer 5"),
    ):
        said = findings(comparison(measured(0), *low))
        assert f"In {names} the interval is not above what the untrained encoder has." in said
    assert not any("not above" in text for text in findings(comparison()))


def test_the_paper_form_is_spoken_of_where_it_is_far_off():
    high = measured(1, "paper-cka", value=0.97, null_mean=0.95)
    said = " ".join(findings(comparison(high, measured(1))))
    assert "would say 0.97 there, since it counts what all sentences have in common; sentences paired at random" in said
    assert "would get 0.95" in said


def test_a_comparison_without_cka_has_a_page_too():
    page = comparison_page(comparison(measured(0, "rsa", null_mean=None, null_edge=None, p=None, draws=0)))
    assert "without a null, since it does not look at which sentence goes with which" in page.html()
    assert list(page.figures()) == ["grid", "grid-centered", "grid-paper"]


def test_the_page_shows_everything(seen):
    page = comparison_page(comparison(), facts=["isoglot compare <A>"])
    figures = page.figures()
    assert list(figures) == ["grid", "by-layer", "grid-centered", "grid-paper"]
    assert sum(cell["m"] for cell in figures["grid"].spec["data"]["values"]) == 3  # layers of the same number
    text = page.html()
    assert "&lt;A&gt;" in text
    assert "0.300 [0.280, 0.320]" in text
    assert "Bands: 95 % intervals over sentences." in text
    seen(page)


def test_the_null_of_a_distance_is_stayed_above():
    assert (
        "stay below. For a distance: what they stay above."
        in comparison_page(comparison(measured(0, "procrustes"))).html()
    )
    assert "For a distance" not in comparison_page(comparison()).html()


def test_curves_are_not_cut_off_at_0():
    below = comparison(measured(0, value=-0.2), measured(1, value=-0.1))
    values = ({"debiased-cka": {0: -0.2}}, {"debiased-cka": {0: -0.1}})
    moments = tuple(CheckpointMeasures(step=step, tokens=None, values=value) for step, value in enumerate(values))
    run = Emergence(
        run="run", languages=("en", "fr"), sentences=50, measures=("debiased-cka",), layers=(0,), moments=moments
    )
    for figure in (
        comparison_page(below).figures()["by-layer"],
        emergence_page(run).figures()["emergence-debiased-cka"],
    ):
        low, _ = figure.spec["layer"][-1]["encoding"]["y"]["scale"]["domain"]
        assert low <= -0.2


def test_numbers_are_short():
    assert [number(value) for value in (0.12345, -0.00001, 123.456, None)] == ["0.123", "0.000", "123.5", "–"]


def test_the_grid_page_marks_what_is_empty_and_whose_numbers_are_whose():
    cell = Figure7Cell(
        layers=(0, 1),
        values=dict.fromkeys(FORMS, (0.5, 0.4)),
        without=dict.fromkeys(FORMS, ()),
        found=(0.1, 0.2),
        models=("a", "b"),
    )
    figure = Figure7(
        columns=(Figure7Column(languages=("en", "fr")), Figure7Column(languages=("en", "sw"))),
        sentences={"en-fr": 100, "en-sw": 50},
        cells={("en-fr", "monolingual"): cell},
        empty={("en-fr", "bilingual"): "no bilingual model is named"},
    )
    page = figure7_page(figure, claims(figure)).html()
    assert "a dash: no models" in page
    assert "The paper&#39;s averages over layers 0 to 8 (Wu et al. 2020, Figure 7)." in page
    assert "no bilingual model is named" in page
    assert "10.0" in page
    assert "± is half of a 95 % interval: that of drawing other sentences (jackknife)" in page
    assert "Not known" not in page
    said = "Not known is what x, y learned from: that it fits its row, the file alone says."
    assert said in figure7_page(replace(figure, untold=("x", "y")), claims(figure)).html()
    cut = replace(figure, cells={("en-fr", "monolingual"): replace(cell, cut=(0, 3))})
    said = "en-fr, monolingual: Longer than the model takes, and cut: 3 of 100 fr sentences."
    assert said in figure7_page(cut, claims(figure)).html()
    assert figure7_finding(figure, claims(figure)).startswith("1 of 6 cells are measured.")
    other = replace(figure, columns=(Figure7Column(languages=("en", "sw")),), cells={("en-sw", "monolingual"): cell})
    assert "the paper has none of these pairs" in figure7_page(other, claims(other)).html()


def test_a_curve_is_over_tokens_or_steps():
    moments = tuple(
        CheckpointMeasures(step=step, tokens=1_000_000 * step, values={"cka": {0: 0.1, 1: 0.1 * step}})
        for step in (1, 2, 3)
    )
    result = Emergence(
        run="run", languages=("en", "fr"), sentences=50, measures=("cka",), layers=(0, 1), moments=moments
    )
    assert emergence_finding(result) == (
        "CKA of en and fr rises most in layer 1: from 0.10 at step 1 to 0.30 at step 3, over 3 checkpoints and 50 "
        "sentences."
    )
    page = emergence_page(result)
    assert page.figures()["emergence-cka"].spec["encoding"]["x"]["axis"]["title"] == "text seen, million tokens"
    frames = page.figures()["emergence-cka-layers"].spec
    assert frames["params"][0]["bind"]["max"] == 2
    bare = replace(result, moments=tuple(replace(moment, tokens=None) for moment in moments))
    assert emergence_page(bare).figures()["emergence-cka"].spec["encoding"]["x"]["axis"]["title"] == "step"
    alone = emergence_page(replace(result, moments=moments[:1]))
    assert "a curve needs more" in alone.html()
    assert not alone.figures()
    assert "<td class='number'>0.100</td>" in alone.html()

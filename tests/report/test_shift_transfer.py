"""Shift transfer as a picture: a line for each language from no shift on, and what it came to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from isoglot.report.figures import Figure
from isoglot.report.transfer import MOST, best_layer, shift_figure
from isoglot.transfer.scoring.evaluation import Evaluation
from isoglot.transfer.scoring.significance import compare
from isoglot.transfer.shift_protocol import ShiftedTest, ShiftOutcome
from isoglot.transfer.tasks.task import accuracy


def evaluation(code: str, right: int) -> Evaluation:
    return Evaluation(code, accuracy([1] * right + [0] * (40 - right), [1] * 40), 40, {}, {})


def outcome(codes: list[str], shifts: list[tuple[int, float, int]], *, dev: bool = False) -> ShiftOutcome:
    """Languages with 10 of 40 right without a shift, and so many with each layer and alpha."""
    plain = {code: evaluation(code, 10) for code in codes}
    rows = []
    for code in codes:
        for layer, alpha, right in shifts:
            found = evaluation(code, right)
            paired = compare(found.scores.ratio_S2, plain[code].scores.ratio_S2, draws=200)
            paired = replace(paired, p_corrected=paired.p)
            tried = {0.0: 25.0, alpha: 2.5 * right} if dev else {}
            by: Any = "target dev set" if dev else "given"
            rows.append(ShiftedTest(code, layer, alpha, by, tried, found, paired))
    return ShiftOutcome("nli", "accuracy", "en", {"en": evaluation("en", 39)} | plain, tuple(rows), "", "mean", "all")


def texts(figure: Figure) -> dict[str, list[str]]:
    names = [row["level"] for layer in figure.spec["layer"][:1] for row in layer["data"]["values"]]
    names += dict.fromkeys(row["s"] for row in figure.spec["data"]["values"])
    (y,) = {layer["encoding"]["y"]["title"] for layer in figure.spec["layer"] if "title" in layer["encoding"]["y"]}
    x = figure.spec["encoding"]["x"]["axis"]["title"]
    return {"name": names, "axis": [x, y], "note": [figure.caption], "title": [figure.title]}


@pytest.mark.parametrize(
    ("codes", "names"),
    [
        (["de"], ["no shift", "de"]),
        (["de", "fr"], ["no shift, mean", "de", "fr", "mean"]),
        ([f"{a}{b}" for a in "ab" for b in "agv"], ["no shift, mean", "mean"]),
    ],
)
def test_lines_are_named(codes, names):
    shown = texts(shift_figure(outcome(codes, [(3, 0.5, 12), (3, 1.0, 30)])))
    assert shown["name"] == names
    assert len(codes) <= MOST or "mean" in names
    assert shown["axis"] == ["α, at layer 3 (1: from mean to mean)", "accuracy on test"]
    assert shown["note"] == ["nli, learned in en; the title has the best of 2 by the test itself: not zero-shot."]


@pytest.mark.parametrize("codes", [["de"], ["de", "fr"]])
def test_one_shift_of_each_language_saw_no_label(codes):
    shown = texts(shift_figure(outcome(codes, [(3, 1.0, 30)])))
    assert shown["note"] == ["nli, learned in en; no label of these languages was seen."]
    assert "best of" not in " ".join(shown["title"])


def test_a_language_that_was_learned_from_is_not_zero_shot():
    found = outcome(["de", "fr"], [(3, 1.0, 30)])
    rows = tuple(replace(row, learned_from=row.language == "de") for row in found.rows)
    shown = texts(shift_figure(replace(found, rows=rows)))
    assert shown["note"] == ["nli, learned in en and de; it is not zero-shot for languages that were learned from."]


def test_the_title_is_the_finding():
    title = " ".join(texts(shift_figure(outcome(["de"], [(3, 0.5, 12), (6, 1.0, 30)])))["title"])
    assert title.startswith("Shifted by α = 1 at layer 6, de changes by +50.0 (best of 2 by the test itself, p = 0.0")
    title = " ".join(texts(shift_figure(outcome(["de", "fr"], [(6, 0.5, 12), (6, 1.0, 30)])))["title"])
    assert title == (
        "Shifted at layer 6, 2 languages change by +50.0 on average (best of 2 by the test itself, 2 better at p < 0.05)"
    )


def test_what_dev_chose_is_drawn_from_dev_and_said():
    found = outcome(["de"], [(3, 0.5, 12), (6, 1.0, 30)], dev=True)
    assert best_layer(found) == 6
    shown = texts(shift_figure(found))
    assert "best of" not in " ".join(shown["title"])
    assert shown["axis"][1] == "accuracy on dev of the language itself"
    assert shown["note"] == ["nli, learned in en; α chosen on that dev set: not zero-shot."]


def test_a_rule_has_another_alpha_for_each_language():
    found = outcome(["de", "fr"], [(6, 1.0, 30)])
    apart = [row if row.language == "de" else ShiftedTest(**{**vars(row), "alpha": 0.7}) for row in found.rows]
    shown = texts(shift_figure(ShiftOutcome(**{**vars(found), "rows": tuple(apart)})))
    assert shown["name"] == ["no shift, mean", "de", "fr"]

"""Bars: as long as their values, from 0, with whiskers; and the figure of arms."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from isoglot.report.bars import Bar, bar_chart
from isoglot.report.study_figures import arm_figure
from isoglot.study.numbers import Number
from tests.study.test_plans import Measured


def widths(svg: str) -> list[float]:
    """Widths of the bars, without the legend."""
    return [float(found) for found in re.findall(r"width='([0-9.]+)' height='9'", svg)]


def test_bars_are_as_long_as_their_values() -> None:
    drawn = bar_chart({"one": {"a": Bar(10.0), "b": Bar(-5.0)}, "two": {"a": Bar(20.0, 18.0, 22.0)}}, across="x")
    ElementTree.fromstring(drawn)  # noqa: S314 - we wrote it
    ten, five, twenty = widths(drawn)
    assert ten / five == pytest.approx(2, rel=0.01)
    assert twenty / ten == pytest.approx(2, rel=0.01)
    assert drawn.count("stroke-width='1.2'") == 1


def test_a_long_legend_has_rows() -> None:
    kinds = {f"a long name of bar {number}": Bar(1.0) for number in range(5)}
    places = [
        (float(x), int(y))
        for x, y in re.findall(r"<text x='([0-9.]+)' y='(\d+)' class='name'", bar_chart({"one": kinds}, across="x"))
    ]
    assert len({y for _, y in places}) == 2
    assert all(x + 7 * len("a long name of bar 0") < 720 for x, _ in places)


def test_bars_of_nothing_can_be_drawn() -> None:
    assert "one" in bar_chart({"one": {"a": Bar(0.0)}}, across="x")


def test_the_figure_of_arms_names_what_differs_most() -> None:
    scores = {"a": 60.0, "b": 45.5}
    numbers = [
        Number("ner", value, {"arm": arm, "pair": "en-de", "language": "de", "seed": 0})
        for arm, value in scores.items()
    ]
    study = Measured(numbers, pairs=["en-de"], scale="nano", seeds=1)
    drawn = arm_figure(study, "en-de")
    assert drawn is not None
    assert "B is farthest from A in en-de: NER -14.5" in drawn
    assert arm_figure(Measured(numbers[:1], pairs=["en-de"]), "en-de") is None

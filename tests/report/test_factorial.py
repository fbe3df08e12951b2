"""The figures of the factorial study say what was found, whatever it was."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from isoglot.report.factorial import (
    contrast_finding,
    factorial_page,
    interaction_svg,
    main_effects_svg,
    main_finding,
    variance_finding,
    variance_svg,
)
from isoglot.study.factorial.outcomes import FactorialResult, analyze_factorial
from tests.study.test_factorial import made_up


@pytest.fixture(scope="module")
def result() -> FactorialResult:
    return analyze_factorial(made_up(0.1), threshold=0.25, resamples=100)


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - our own


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_interaction_has_a_named_line_for_each_share_of_anchors(result: FactorialResult):
    svg = interaction_svg(result)
    assert {"no anchors", "one word in five", "all words", "same", "verb-last", "mirrored", "untrained"} <= set(
        texts(svg)
    )
    lines = list(parsed(svg).iter("{http://www.w3.org/2000/svg}polyline"))
    assert len(lines) == 3
    assert len({(line.get("stroke"), line.get("stroke-dasharray")) for line in lines}) == 3
    heights = [[float(point.split(",")[1]) for point in line.get("points", "").split()] for line in lines]
    none, fifth, every = heights
    assert fifth[1] < fifth[0] - 5  # higher where word order differs
    assert max(every) < min(fifth) < max(fifth) < min(none)


def test_no_mark_leaves_the_drawing(result: FactorialResult):
    """Also where P@1 and its interval go beyond 100 %."""
    for svg in (interaction_svg(result), main_effects_svg(result), variance_svg(result)):
        root = parsed(svg)
        left, top, width, height = map(float, root.get("viewBox", "").split())
        for element in root.iter():
            for name, low, high in (("x", left, left + width), ("y", top, top + height)):
                assert low <= float(element.get(name, low)) <= high
    assert "100" in texts(interaction_svg(result))
    assert "120" not in texts(interaction_svg(result))


def test_main_effects_name_every_level(result: FactorialResult):
    found = texts(main_effects_svg(result))
    for name in ("not embeddings", "not the top layer", "one in five", "verb-last", "other", "anchors", "domain"):
        assert name in found
    assert main_finding(result.p1).startswith("Anchors: from 3")


def test_shares_are_ranked_and_the_stated_term_is_marked(result: FactorialResult):
    found = texts(variance_svg(result))
    assert found.index("anchors") < found.index("anchors × word order") < found.index("residual (η²)")
    assert "anchors: 7" in variance_finding(result.p1)


def test_the_title_follows_the_numbers(result: FactorialResult):
    stated = result.p1.stated
    turned = replace(result.p1, stated=replace(stated, estimate=-stated.estimate))
    unsure = replace(result.p1, stated=replace(stated, p=0.4))
    assert contrast_finding(result.p1).startswith("Anchors help more where word order differs: +")
    assert contrast_finding(turned).startswith("Anchors help less where word order differs: -")
    assert contrast_finding(unsure).startswith("No evidence that the effect of anchors depends on word order")
    assert contrast_finding(result.tokens).startswith("Anchors save more text where word order differs: -")


def test_the_page_tells_what_was_censored_and_left_out(result: FactorialResult):
    html = factorial_page(replace(result, left_out=(5,)), facts=["made of made-up numbers"])
    assert "of the runs never reach it" in html
    assert "Seeds without all cells are left out: 5." in html
    assert "made of made-up numbers" in html
    assert html.count("<svg") == 5
    assert factorial_page(result) == factorial_page(result)

"""The figures of the factorial study say what was found, whatever it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from isoglot.report.factorial import (
    contrast_finding,
    factorial_page,
    interaction_figure,
    main_effects_figure,
    main_finding,
    variance_figure,
    variance_finding,
)
from isoglot.report.figures import Figure
from isoglot.study.factorial.outcomes import FactorialResult, analyze_factorial
from tests.study.test_factorial import made_up


@pytest.fixture(scope="module")
def result() -> FactorialResult:
    return analyze_factorial(made_up(0.1), threshold=0.25, resamples=100)


def rows(figure: Figure, key: str = "g") -> list[str]:
    return list(dict.fromkeys(row[key] for row in figure.spec["data"]["values"]))


def test_the_interaction_has_a_named_line_for_each_share_of_anchors(result: FactorialResult):
    figure = interaction_figure(result)
    assert {"no anchors", "one word in five", "all words"} <= set(rows(figure, "s"))
    assert any(name.startswith("untrained") for name in rows(figure, "s"))
    assert set(rows(figure, "x")) == {"same", "verb-last", "mirrored"}
    heights = {
        name: [row["y"] for row in figure.spec["data"]["values"] if row["s"] == name] for name in rows(figure, "s")
    }
    fifth = heights["one word in five"]
    assert fifth[1] > fifth[0]  # higher where word order differs
    assert max(heights["no anchors"]) < min(fifth) < max(fifth) < min(heights["all words"])


def test_no_value_exceeds_100_percent(result: FactorialResult):
    for figure in (interaction_figure(result), main_effects_figure(result)):
        for row in figure.spec["data"]["values"]:
            assert max(row.get("hi", 0), row.get("y", 0), row.get("v", 0)) <= 100


def test_main_effects_name_every_level(result: FactorialResult):
    found = " ".join(rows(main_effects_figure(result)))
    for name in ("not embeddings", "not the top layer", "one in five", "verb-last", "other", "anchors:", "domain:"):
        assert name in found
    assert main_finding(result.p1).startswith("Anchors: from 3")


def test_shares_are_ranked_and_the_stated_term_is_marked(result: FactorialResult):
    found = rows(variance_figure(result))
    assert found.index("anchors") < found.index("* anchors × word order") < found.index("residual (η²)")
    assert "anchors: 7" in variance_finding(result.p1)


def test_the_title_follows_the_numbers(result: FactorialResult):
    stated = result.p1.stated
    turned = replace(result.p1, stated=replace(stated, estimate=-stated.estimate))
    unsure = replace(result.p1, stated=replace(stated, p=0.4))
    assert contrast_finding(result.p1).startswith("Anchors help more where word order differs: +")
    assert contrast_finding(turned).startswith("Anchors help less where word order differs: -")
    assert contrast_finding(unsure).startswith("No evidence that the effect of anchors depends on word order")
    assert contrast_finding(result.tokens).startswith("Anchors save more text where word order differs: -")


def test_the_page_tells_what_was_censored_and_left_out(result: FactorialResult, seen: Callable[..., None]):
    page = factorial_page(replace(result, left_out=(5,)), facts=["made of made-up numbers"])
    html = page.html()
    assert "of the runs never reach it" in html
    assert "Seeds without all cells are left out: 5." in html
    assert "made of made-up numbers" in html
    assert len(page.figures()) == 5
    seen(page)

"""Pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from isoglot.report.page import Figure, Section, page, table
from isoglot.report.thumbnail import lead, thumbnail_page, wilson
from isoglot.study.demo.thumbnail import ArmResult, Moment

if TYPE_CHECKING:
    from collections.abc import Callable


def result(name: str, *best: float) -> ArmResult:
    return ArmResult(
        name=name,
        raw=best,
        centered=best,
        perplexity={"en": 8.0, "en-x-shift": 9.0},
        steps=10,
        tokens=1000,
        seconds=1.0,
        anchors=3,
        moments=(Moment(tokens=500, centered=best), Moment(tokens=1000, centered=best)),
    )


def test_a_page_is_whole_and_asks_nothing_of_the_world():
    text = page("T & t", "<lead>", [Section(title="S", words=("w",), figures=(Figure(drawing="<svg/>", caption="c"),))])
    assert text.startswith("<!doctype html>")
    assert "T &amp; t" in text
    assert "&lt;lead&gt;" in text
    assert not re.search(r"https?://|src=|@import|url\(", text)
    assert "<script" not in text


def test_a_table_has_its_numbers_to_the_right():
    text = table(["name", "n"], [["a<", "1"]])
    assert "<th scope='row'>a&lt;</th><td class='number'>1</td>" in text


def test_the_lead_says_what_was_found_whatever_it_was():
    shared, separated = result("no-anchors", 0.1, 0.3), result("separated", 0.002, 0.004)
    assert lead([separated, shared], 500) == (
        "Nobody showed these encoders a translation. Asked for the twins of 500 sentences they had never read, they "
        "found: “shared, no anchors” 30.0\u00a0%; “separated up to the top layer” 0.4\u00a0%. Chance is 0.2\u00a0%."
    )


def test_the_page_has_every_number():
    text = thumbnail_page([result("no-anchors", 0.1, 0.312, 0.1), result("separated", 0.0, 0.0, 0.0)], tested=500)
    assert "31.2\u00a0%" in text
    assert "31.2\u00a0% (27 to 35)" in text
    assert text.count("<figure>") == 3
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_wilson_is_never_beyond_the_ends():
    assert wilson(0.0, 10)[0] == 0.0
    assert wilson(1.0, 10)[1] == 1.0
    low, high = wilson(0.25, 400)
    assert low < 0.25 < high


def test_the_page_in_a_browser(seen: Callable[[str], None]):
    arms = [result("anchors", 0.1, 0.5, 0.4), result("no-anchors", 0.1, 0.312, 0.1), result("separated", 0, 0, 0)]
    seen(thumbnail_page(arms, tested=500, facts=["isoglot demo --out demo: 7 min on cpu, seed 0."]))


def test_the_browser_sees_what_is_wrong(look: Callable[[str, int], Any]):
    found = look(
        "<div style='width:2000px'>x</div><script>console.error('oh')</script><img src='http://127.0.0.1:9/x'>", 390
    )
    assert found.widest >= 2000
    assert any("oh" in line for line in found.console)
    assert found.asked == ["http://127.0.0.1:9/x"]

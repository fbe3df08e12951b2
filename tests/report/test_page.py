"""Pages: whole, escaped, with their files; sorted, filtered and folded in a browser."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from isoglot.core.errors import ConfigError
from isoglot.core.table import Column, Table
from isoglot.report import page as page_module
from isoglot.report.demo import lead, thumbnail_page, wilson
from isoglot.report.figures import Line, lines
from isoglot.report.figures.theme import COLORS
from isoglot.report.page import Filtered, Folded, Page, Section, Side
from isoglot.study.demo.thumbnail import ArmResult, Moment
from tests.report.test_figures import HOSTILE, every_figure

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
        anchors=3,
        moments=(Moment(tokens=500, centered=best), Moment(tokens=1000, centered=best)),
    )


def made(text: str = "a") -> Page:
    """A page with everything there is."""
    numbers = [{"name": f"{text} {at}", "value": {"value": at % 7, "low": 0.0, "high": 9.0}} for at in range(40)]
    table = Table.from_rows(numbers, [Column("name", text), Column("value", best="max")], caption=text)
    figures = every_figure(text)
    body = [
        text,
        *list(figures.values())[:2],
        Side(list(figures.values())[2:]),
        Filtered(table, text),
        Folded(text, [table]),
    ]
    return Page(title=text, lead=text, sections=[Section(title=text, body=body)], facts=[text])


def test_a_page_is_whole_and_asks_nothing_of_the_world() -> None:
    text = Page(title="T & t", lead="<lead>", sections=[Section(title="S", body=["w", None])]).html()
    assert text.startswith("<!doctype html>")
    assert "T &amp; t" in text
    assert "&lt;lead&gt;" in text
    assert not re.search(r"https?://|src=|@import|url\(", text)
    assert made().html() == made().html()


def test_hostile_text_is_shown_as_text() -> None:
    text = made(HOSTILE).html()
    assert text.count("<script") == text.count("</script>") == text.count('<script type="application/json">') + 3
    assert "<script>alert" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", text)
    for block in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL):
        json.loads(block)


def test_files_of_a_page(tmp_path: Path) -> None:
    page = made()
    paths = {str(path.relative_to(tmp_path)) for path in page.write(tmp_path)}
    assert {"index.html", "vega.js", "figures/lines.vl.json", "tables/a.csv", "tables/a.tex", "tables/a-2.csv"} <= paths
    rows = list(csv.DictReader((tmp_path / "tables" / "a.csv").read_text().splitlines()))
    assert rows[1] == {"name": "a 1", "value": "1", "value_low": "0.0", "value_high": "9.0"}
    assert r"\toprule" in (tmp_path / "tables" / "a.tex").read_text()
    links = re.findall(r'(?:href|src)="([^"#:]+)"', (tmp_path / "index.html").read_text())
    assert links
    assert all((tmp_path / link).is_file() for link in links)
    plain = Page(title="t", lead="", sections=[])
    assert set(plain.files()) == {"index.html"}


def test_the_bundle_is_the_one_that_is_recorded() -> None:
    folder = Path(page_module.__file__).parent / "vega"
    about = json.loads((folder / "VERSIONS.json").read_text())
    assert hashlib.sha256((folder / "vega.js").read_bytes()).hexdigest() == about["sha256"]
    for package in about["packages"]:
        assert f"{package['name']}-{package['version']}" in (folder / "LICENSE").read_text()


def test_every_figure_and_table_in_a_browser(seen: Callable[..., None]) -> None:
    seen(made())
    seen(made(HOSTILE), fits=False)  # legends of long names scroll


def test_tables_are_sorted_filtered_and_unfolded(look: Callable[..., Any]) -> None:
    page = look(made()).page
    rows = page.locator(".filtered tbody tr")
    assert rows.locator("visible=true").count() == 24
    page.locator(".filtered .unfold").click()
    assert rows.locator("visible=true").count() == 40
    head = page.locator(".filtered thead th").nth(1)
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert rows.first.inner_text().split("\t")[1].startswith("0")
    head.locator("button").click()
    assert rows.first.inner_text().split("\t")[1].startswith("6")
    page.locator(".filtered .unfold").click()
    assert [row.split("\t")[1][0] for row in rows.locator("visible=true").all_inner_texts()] == sorted(
        (str(at % 7) for at in range(40)), reverse=True
    )[:24]  # folded after sorting: the first of the new order
    page.locator(".filtered input").fill("a 1, 1 [")  # both, wherever they stand in the order
    assert sorted(rows.locator("visible=true").all_inner_texts()) == ["a 1\t1 [0, 9]", "a 15\t1 [0, 9]"]


def test_colors_of_the_scheme_and_codes_on_one_line(look: Callable[..., Any]) -> None:
    drawn = [Line(name=name, points=[(0, at), (1, 2)], color=color) for at, (name, color) in
             enumerate({"own": COLORS[0], "grey": "#8a8a8a"}.items())]  # fmt: skip
    table = Table.from_rows([{"pair": "en-de", "value": {"value": 1.0, "low": -0.5, "high": 2.0}}])
    figure = lines(drawn, name="own", title="t", x="x", y="y")
    page = Page(
        title="Retrieval (en-de): a long-winded title", lead="", sections=[Section(title="S", body=[figure, table])]
    )
    for scheme, ink in (("light", "rgb(0, 114, 178)"), ("dark", "rgb(78, 168, 222)")):
        found = look(page, 1280, scheme)
        found.drawn()
        strokes = "[...document.querySelectorAll('.figure .mark-line path')].map(one => getComputedStyle(one).stroke)"
        assert ink in found.page.evaluate(strokes)
    assert found.page.locator("h1 .whole").all_inner_texts() == ["en-de"]
    assert found.page.locator(".interval").first.inner_text() == "[-0.5, 2]"
    assert found.page.inner_text("h1") == page.title


def test_tooltips_and_sliders(look: Callable[..., Any]) -> None:
    found = look(made())
    found.drawn()
    found.page.locator('[data-figure="lines"] svg').hover(position={"x": 120, "y": 100})
    found.page.wait_for_selector("#vg-tooltip-element.visible")
    assert "series" in found.page.inner_text("#vg-tooltip-element")
    slider = found.page.locator('[data-figure="slider"] input[type=range]')
    slider.fill("0")
    assert "step 0" in found.page.locator('[data-figure="slider"] svg').text_content()


def test_a_page_with_its_script_inside_needs_no_other_file(look: Callable[..., Any]) -> None:
    found = look(made().html(inline=True))
    found.drawn()
    assert found.console == []
    assert len([url for url in found.asked if url.startswith("file:")]) == 1
    assert "srcdoc=" in made()._repr_html_()


def test_the_browser_sees_what_is_wrong(look: Callable[..., Any]) -> None:
    found = look(
        "<div style='width:2000px'>x</div><script>console.error('oh')</script><img src='http://127.0.0.1:9/x'>"
    )
    assert found.page.evaluate("document.documentElement.scrollWidth") >= 2000
    assert any("oh" in line for line in found.console)
    assert "http://127.0.0.1:9/x" in found.asked


# --- the demo ---


def test_the_lead_says_what_was_found_whatever_it_was() -> None:
    shared, separated = result("no-anchors", 0.1, 0.3), result("separated", 0.002, 0.004)
    assert lead([separated, shared], 500) == (
        "Nobody showed these encoders a translation. Asked for the twins of 500 sentences they had never read, they "
        "found: “shared, no anchors” 30.0\u00a0%; “separated up to the top layer” 0.4\u00a0%. Chance is 0.2\u00a0%."
    )


def test_the_page_of_the_demo_has_every_number(seen: Callable[[Page], None]) -> None:
    page = thumbnail_page([result("no-anchors", 0.1, 0.312, 0.1), result("separated", 0.0, 0.0, 0.0)], tested=500)
    text = page.html()
    assert "31.2\u00a0%" in text
    assert "31.2 [27.3, 35.4]" in text
    assert list(page.figures()) == ["emergence", "layers", "plan"]
    seen(page)


def test_wilson_is_never_beyond_the_ends() -> None:
    assert wilson(0.0, 10)[0] == 0.0
    assert wilson(1.0, 10)[1] == 1.0
    low, high = wilson(0.25, 400)
    assert low < 0.25 < high


def test_results_show_themselves_in_notebooks(small_sweep: Any) -> None:
    assert small_sweep.plot().name == "bleu-en-fr"
    assert small_sweep.plot("grid-convert-rate-en-fr").table is not None
    assert set(small_sweep.to_frame()["alpha"]) == {0.0, 1.0, 2.0, 3.0}
    assert "<iframe" in small_sweep._repr_html_()
    with pytest.raises(ConfigError) as caught:
        small_sweep.plot("grid")
    assert caught.value.code == "config.unknown-name"
    one = next(iter(small_sweep.translations.values()))
    assert list(one.to_frame().columns) == ["source", "output"]
    assert one.plot().name == "tokens"
    assert "&lt;sees&gt;" in one.page().html()

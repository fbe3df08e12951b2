"""The page of a study: titles that say what was found, drawings that show it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from isoglot.report.study import (
    curve_groups,
    emergence_charts,
    emergence_finding,
    loss_figure,
    loss_finding,
    paper_finding,
    study_page,
    verdict_finding,
    write_figures,
)
from isoglot.study.study import Study
from isoglot.study.tables.layer_tables import emergence_curves
from isoglot.study.tables.paper_comparison import ArmLoss, arm_losses, loss_table, paper_table
from isoglot.study.tables.results import study_verdicts
from tests.study.made_up_study import MadeUpStudy, numbers_of_table1
from tests.study.test_factorial import made_up

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def study(tmp_path: Path) -> MadeUpStudy:
    return MadeUpStudy(tmp_path, numbers_of_table1())


def test_the_page_shows_every_part(study: MadeUpStudy) -> None:
    whole = study_page(study, facts=["isoglot report <study>"])
    page = whole.html()
    assert "Made-up &lt;Table 1&gt;" in page
    assert "isoglot report &lt;study&gt;" in page
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings[0] == "3 of 6 differences to Default have the sign that the paper prints"
    assert headings[-2:] == ["All scores", "What ran"]
    assert "57.0 ± " in page
    assert "not cooled down" in page
    assert len(whole.figures()) == 5  # differences; P@1, CKA and probe over training; CKA by layer
    assert "http" not in page


def test_findings_follow_the_numbers(study: MadeUpStudy) -> None:
    curves, losses = emergence_curves(study), arm_losses(study)
    assert emergence_finding(curves).startswith("Default (en-de) finds 30 % of translations after 16 million")
    assert "1.0 % untrained" in emergence_finding(curves)
    assert loss_finding(losses, "Default").startswith("No anchors loses 3.0 points against Default")
    assert loss_finding(losses, "Default").endswith("1 of 2 arms differ in some task beyond its interval")
    same = [replace(loss, value=0.1, half=0.5) for loss in losses]
    assert loss_finding(same, "Default") == "None of the 2 arms differs from Default by more than the intervals"
    table = paper_table(study)
    assert table is not None
    assert paper_finding(table, loss_table(study)) == (
        "3 of 6 differences to Default have the sign that the paper prints"
    )


def test_outcomes_are_counted(study: MadeUpStudy) -> None:
    verdicts = study_verdicts(study)
    one, other = (replace(verdicts[0], outcome=outcome) for outcome in ("holds", "not run"))
    assert verdict_finding([one, one, other]) == "Of the 3 claims, 2 hold, 1 was not run"
    assert verdict_finding([other, other]) == "The study has no numbers to test the 2 claims with"
    assert verdict_finding([]) == ""


def test_bars_are_differences_with_intervals_and_the_papers_numbers() -> None:
    losses = [
        ArmLoss(pair="en-de", name=arm, arm=arm, task=task, value=value, half=half, paper=paper)
        for arm, task, value, half, paper in (
            ("A", "nli", -4.0, 1.0, -3.0),
            ("B", "nli", 0.0, 0.0, None),
            ("A", "ner", 2.0, float("nan"), None),
        )
    ]
    rows = loss_figure(losses, "Default").spec["data"]["values"]
    assert [(row["g"], row["v"], row.get("lo"), row.get("paper")) for row in rows] == [
        ("A", -4.0, -5.0, -3.0),
        ("B", 0.0, 0.0, None),
        ("A", 2.0, None, None),
    ]


def test_a_study_without_numbers_has_a_page(tmp_path: Path) -> None:
    page = study_page(MadeUpStudy(tmp_path, [])).html()
    assert "What ran" in page
    assert "no numbers to test" in page


def test_many_arms_are_drawn_in_several_figures_each_with_the_first_arm(study: MadeUpStudy) -> None:
    curves = [replace(emergence_curves(study)[0], arm=f"arm {number}") for number in range(11)]
    figures = [figure for group in curve_groups(curves) for figure in emergence_charts(group)]
    names = [{row["s"] for row in figure.spec["data"]["values"]} for figure in figures]
    assert len(figures) == 6  # twice P@1, CKA and the probe
    assert sum("arm 0" in one for one in names) == 6
    assert sum("arm 7" in one for one in names) == 3


def test_emergence_has_three_figures_and_tokens_to_thresholds(study: MadeUpStudy) -> None:
    names = [path.name.removesuffix(".vl.json") for path in write_figures(study)]
    assert [name for name in names if name.startswith("emergence")] == [
        "emergence-p1-en-de",
        "emergence-cka-en-de",
        "emergence-probe-en-de",
    ]
    p1, _, probe = emergence_charts(emergence_curves(study))
    assert "Million tokens until P@1 is 10/25/50 %: Default 1.68/8/–, No anchors" in p1.caption
    assert "chance" in str(probe.spec)


def test_a_slider_goes_back_through_the_training(study: MadeUpStudy, look: Callable[..., Any]) -> None:
    found = look(study_page(study), 390, "dark").page
    found.wait_for_selector("body[data-ready]")
    shown = found.locator("section output")
    assert shown.count() == 3
    last = shown.first.inner_text()
    assert last.startswith("text read, million tokens: 16")
    assert "Default 30" in last
    value = "document.querySelectorAll('.figure input[type=range]')[{}].value"
    slider = found.locator(".figure input[type=range]").first
    slider.focus()
    slider.press("Home")
    found.wait_for_function("document.querySelector('section output').textContent.includes('Default 1')")
    assert shown.first.inner_text().startswith("text read, million tokens: 0")
    assert [found.evaluate(value.format(at)) for at in range(3)] == ["0", "0", "0"]  # they move together
    found.set_viewport_size({"width": 600, "height": 900})
    found.wait_for_timeout(400)
    assert found.evaluate(value.format(0)) == "0"
    slider.press("End")
    found.wait_for_function("document.querySelector('section output').textContent.includes('Default 30')")


def test_a_study_without_a_probe_has_its_page(tmp_path: Path) -> None:
    study = MadeUpStudy(tmp_path, [one for one in numbers_of_table1() if "probe" not in one.measure])
    page = study_page(study).html()
    assert "30 % of translations after 16 million tokens" in page
    assert "accuracy of a language probe" not in page


def test_a_published_study_has_its_page() -> None:
    study = Study.open(Path(__file__).parents[2] / "results" / "wu2020-en-de-2B")
    page = study_page(study).html()
    assert "63 % of translations after 2 billion tokens" in page
    assert "No anchors gets to 57 %" in page


def test_the_factorial_study_has_its_own_page(tmp_path: Path) -> None:
    study = MadeUpStudy(tmp_path, made_up(0.1), recipe="factorial", paper=None)
    assert "What lets two languages share one space" in study_page(study).html()


def test_the_page_in_a_browser(study: MadeUpStudy, seen: Callable[..., None]) -> None:
    seen(study_page(study))


@pytest.mark.parametrize(("after", "said"), [(0.05, "CKA rises from 0.00 to 0.05"), (0.04, "CKA hardly moves")])
def test_a_change_of_cka_below_a_twentieth_is_said_to_be_none(after: float, said: str):
    curve: Any = SimpleNamespace(
        arm="Default", pair="en-de", p1=[(0, 0.1), (10**6, 0.2)], cka=[(0, 0.0), (10**6, after)]
    )
    assert said in emergence_finding([curve])

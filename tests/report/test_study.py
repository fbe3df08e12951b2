"""The page of a study: titles that say what was found, drawings that show it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from isoglot.report.study import (
    loss_chart,
    loss_finding,
    paper_finding,
    results_page,
    study_page,
    study_results,
    verdict_finding,
)
from isoglot.report.study_emergence import emergence_finding
from isoglot.report.study_figures import write_figures
from isoglot.study.study import Study
from isoglot.study.tables.paper_comparison import ArmLoss
from tests.study.made_up_study import MadeUpStudy, numbers_of_table1
from tests.study.test_factorial import made_up

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def study(tmp_path: Path) -> MadeUpStudy:
    return MadeUpStudy(tmp_path, numbers_of_table1())


def test_the_page_shows_every_part(study: MadeUpStudy) -> None:
    page = study_page(study, facts=["isoglot report <study>"])
    assert "Made-up &lt;Table 1&gt;" in page
    assert "isoglot report &lt;study&gt;" in page
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings[0] == "3 of 6 differences to Default have the sign that the paper prints"
    assert headings[-2:] == ["All scores", "What ran"]
    assert "57.0 ± " in page
    assert "not cooled down" in page
    assert len(re.findall(r"<svg", page)) == 5  # differences; P@1, CKA and probe over training; CKA by layer
    assert "http" not in page.replace("http://www.w3.org", "")


def test_findings_follow_the_numbers(study: MadeUpStudy) -> None:
    results = study_results(study)
    assert emergence_finding(results.curves).startswith("Default (en-de) finds 30 % of translations after 16 million")
    assert "1.0 % untrained" in emergence_finding(results.curves)
    assert loss_finding(results.losses, "Default").startswith("No anchors loses 3.0 points against Default")
    assert loss_finding(results.losses, "Default").endswith("1 of 2 arms differ in some task beyond its interval")
    same = [replace(loss, value=0.1, half=0.5) for loss in results.losses]
    assert loss_finding(same, "Default") == "None of the 2 arms differs from Default by more than the intervals"
    assert results.paper is not None
    assert (
        paper_finding(results.paper, results.deltas)
        == "3 of 6 differences to Default have the sign that the paper prints"
    )


def test_outcomes_are_counted(study: MadeUpStudy) -> None:
    verdicts = study_results(study).verdicts
    one, other = (replace(verdicts[0], outcome=outcome) for outcome in ("holds", "not run"))
    assert verdict_finding([one, one, other]) == "Of the 3 claims, 2 hold, 1 was not run"
    assert verdict_finding([other, other]) == "The study has no numbers to test the 2 claims with"
    assert verdict_finding([]) == ""


def test_bars_begin_at_zero_and_are_as_long_as_the_difference() -> None:
    losses = [
        ArmLoss(pair="en-de", arm=arm, task="nli", value=value, half=1.0, paper=None)
        for arm, value in (("A", -4.0), ("B", 2.0))
    ]
    drawing = loss_chart(losses)
    (left, one), (right, other) = (
        tuple(map(float, found)) for found in re.findall(r"<rect x='([\d.]+)' y='[\d.]+' width='([\d.]+)'", drawing)
    )
    assert one == pytest.approx(2 * other, abs=0.2)
    assert left + one == pytest.approx(right, abs=0.2)
    assert "-4.0 ± 1.0" in drawing


def test_arms_that_do_not_differ_at_all_are_drawn() -> None:
    assert "A: +0.0" in loss_chart([ArmLoss(pair="en-de", arm="A", task="nli", value=0.0, half=0.0, paper=None)])


def test_a_study_without_numbers_has_a_page(tmp_path: Path) -> None:
    page = study_page(MadeUpStudy(tmp_path, []))
    assert "What ran" in page
    assert "no numbers to test" in page


def test_many_arms_are_drawn_in_several_figures_each_with_the_first_arm(study: MadeUpStudy) -> None:
    results = study_results(study)
    curves = [replace(results.curves[0], arm=f"arm {number}") for number in range(11)]
    page = results_page(replace(results, curves=curves, losses=[], similarity=[]))
    assert len(re.findall("<svg", page)) == 6  # twice P@1, CKA and the probe
    assert len(re.findall(r"class='name' [^>]*>arm 0<", page)) == 6
    assert len(re.findall(r"class='name' [^>]*>arm 7<", page)) == 3


def test_emergence_is_one_file_with_three_charts_and_tokens_to_thresholds(study: MadeUpStudy) -> None:
    (drawing,) = (path.read_text() for path in write_figures(study) if path.stem == "emergence-en-de")
    for axis in ("translation found (P@1), %", "debiased CKA, mean of layers", "language told by a probe, %"):
        assert f">{axis}</text>" in drawing
    assert ">chance</text>" in drawing
    said = " ".join(re.findall(r"class='note'>(.*?)</text>", drawing))
    assert "Million tokens until P@1 is 10/25/50 %: Default 1.68/8/–, No anchors" in said


def test_a_published_study_without_a_probe_has_its_page() -> None:
    study = Study.open(Path(__file__).parents[2] / "results" / "wu2020-en-de-2B")
    page = study_page(study)
    assert "57 % of translations after 2 billion tokens" in page
    assert "language told by a probe" not in page


def test_the_factorial_study_has_its_own_page(tmp_path: Path) -> None:
    study = MadeUpStudy(tmp_path, made_up(0.1), recipe="factorial", paper=None)
    assert "What lets two languages share one space" in study_page(study)


def test_the_page_in_a_browser(study: MadeUpStudy, seen: Callable[[str], None]) -> None:
    seen(study_page(study))

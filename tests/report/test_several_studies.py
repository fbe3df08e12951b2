"""The page of several studies: all claims at a glance, arms study by study, then each study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from isoglot.report.several_studies import overview_finding, studies_page
from isoglot.study.study import Study
from isoglot.study.tables.results import study_verdicts
from isoglot.study.tables.several_studies import arms_by_study, studies_table, verdicts_overview
from tests.study.made_up_study import MadeUpStudy, numbers_of_table1
from tests.study.test_factorial import made_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.study.claims.statistics import Outcome


@pytest.fixture
def small(tmp_path: Path) -> MadeUpStudy:
    return MadeUpStudy(tmp_path / "small", numbers_of_table1(), tokens=16_000_000)


@pytest.fixture
def large(tmp_path: Path) -> MadeUpStudy:
    """No anchors and Sep Emb are as good as Default after more tokens."""
    found = [
        replace(one, value=60.0, draws=tuple(draw + 60.0 - one.value for draw in one.draws))
        if one.measure in ("nli", "ner", "parsing")
        else replace(one, value=64e6)
        if one.measure == "training_tokens"
        else one
        for one in numbers_of_table1()
    ]
    return MadeUpStudy(tmp_path / "large", found, tokens=64_000_000)


@pytest.fixture
def factorial(tmp_path: Path) -> MadeUpStudy:
    return MadeUpStudy(tmp_path / "factorial", made_up(0.1), recipe="factorial", paper=None)


def test_every_claim_has_a_row_and_every_study_of_a_paper_a_column(small: Study, large: Study) -> None:
    verdicts = {one.out.name: study_verdicts(one) for one in (small, large)}
    some = verdicts_overview(verdicts)
    assert some is not None
    assert [row["claim"] for row in some.dicts()] == ["W2", "W3"]
    assert [column.title for column in some.columns[3:]] == ["small", "large"]
    for row in some.dicts():
        for number, found in enumerate(verdicts.values()):
            assert row[f"study-{number}"] == next(one.in_words for one in found if one.claim == row["claim"])
    whole = verdicts_overview(verdicts, ["wu2020", "liu2020"])
    assert whole is not None
    assert len(whole.rows) == 26
    assert {row["study-0"] for row in whole.dicts() if row["claim"] not in ("W2", "W3")} == {"not run"}
    assert verdicts_overview({}) is None


@pytest.mark.parametrize(
    ("told", "finding"),
    [
        (["holds", "not run"], "W2 holds; 1 of 2 claims has not been run"),
        (["holds", "undecided"], "W2 holds; "),
        (["does not hold", "undecided: at floor"], "W2 does not hold; "),
        (["does not hold", "holds"], "W2 depends on the study; "),
        (["undecided: at floor", "undecided"], "W2 is undecided; "),
        (["not run", "not run"], "2 of 2 claims have not been run"),
    ],
)
def test_the_finding_names_the_claims_by_what_all_studies_say(small: Study, told: list[Outcome], finding: str) -> None:
    one = next(one for one in study_verdicts(small) if one.claim == "W2")
    verdicts = {str(number): [replace(one, outcome=outcome)] for number, outcome in enumerate(told)}
    assert overview_finding(verdicts, 2).startswith(finding)


def test_several_claims_have_a_verb_in_the_plural(small: Study) -> None:
    one = next(one for one in study_verdicts(small) if one.claim == "W2")
    outcomes: list[tuple[str, Outcome]] = [("W10", "holds"), ("W2", "holds"), ("L1", "holds"), ("W3", "does not hold")]
    found = [replace(one, claim=claim, outcome=outcome) for claim, outcome in outcomes]
    assert overview_finding({"a": found}, 4) == "W2, W10, L1 hold; W3 does not hold"


def test_an_arm_of_two_budgets_stands_by_budget_the_smallest_first(small: Study, large: Study) -> None:
    found = dict(arms_by_study({"large": large, "small": small}))
    assert set(found) == {"No anchors", "Sep Emb"}
    losses = found["No anchors"]
    assert list(dict.fromkeys(one.arm for one in losses)) == ["16 million tokens", "64 million tokens"]
    assert [round(one.value, 6) for one in losses] == [-3.0, -3.0, -3.0, 0.0, 0.0, 0.0]
    assert arms_by_study({"small": small}) == []
    same = dict(arms_by_study({"one": small, "other": small}))["Sep Emb"]
    assert list(dict.fromkeys(loss.arm for loss in same)) == ["one", "other"]


def test_an_arm_is_the_same_under_another_title_and_only_in_tasks_of_all_studies(small: Study, tmp_path: Path) -> None:
    arms = {"default": "Bilingual", "no-anchors": "Nothing shared"}
    numbers = [one for one in numbers_of_table1() if not one.measure.startswith("ner")]
    other = MadeUpStudy(tmp_path / "other", numbers, tokens=99, arms=arms)
    ((arm, losses),) = arms_by_study({"small": small, "other": other})
    assert arm == "No anchors"
    assert {loss.task for loss in losses} == {"nli", "parsing"}


def test_what_ran_is_told_by_study() -> None:
    results = Path(__file__).parents[2] / "results"
    names = ["wu2020-en-de", "wu2020-en-de-2B", "factorial"]
    rows = {row["study"]: row for row in studies_table({one: Study.open(results / one) for one in names}).dicts()}
    assert [rows[one]["encoders"] for one in names] == [9, 2, 336]
    assert [rows[one]["tokens"] for one in names] == ["500 million tokens", "2 billion tokens", "6 million tokens"]
    assert [rows[one]["seeds"] for one in names] == [1, 1, 8]
    minutes = {one: (float(str(rows[one]["gpu"])), float(str(rows[one]["cpu"]))) for one in names}
    assert minutes["factorial"][0] == 0
    assert minutes["factorial"][1] > 600
    assert minutes["wu2020-en-de"][0] > 10 * minutes["wu2020-en-de"][1] > 0


def test_studies_stand_side_by_side(small: Study, large: Study, factorial: Study, seen: Callable[..., None]) -> None:
    page = studies_page([small, large, factorial], papers=["wu2020"])
    assert page.title == "3 studies side by side"
    titles = [section.title for section in page.sections]
    assert titles[0] == "In short"
    assert titles[1] == "17 of 17 claims have not been run"  # the studies are made up without floors
    assert titles[2].startswith("No anchors loses 3.0 points (16 million tokens), does not differ (64 million")
    assert "small: scores and what ran" in titles
    assert any(title.startswith("factorial: Anchors help") for title in titles)
    assert not any("factorial: scores" in title for title in titles)
    seen(page)


def test_studies_of_the_same_name_stay_apart(tmp_path: Path, small: Study) -> None:
    page = studies_page([small, MadeUpStudy(tmp_path / "other" / "small", numbers_of_table1(), tokens=1)])
    assert any(section.title.startswith("small (2): ") for section in page.sections)

"""The printed table beside a study's, and what arms lose."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.study.claims.printed_numbers import printed
from isoglot.study.numbers import Number
from isoglot.study.tables.paper_comparison import arm_losses, paper_table
from isoglot.study.tables.results import file_table, result_table, run_table
from tests.study.made_up_study import MadeUpStudy, numbers_of_table1


@pytest.fixture
def study(tmp_path: Path) -> MadeUpStudy:
    return MadeUpStudy(tmp_path, numbers_of_table1())


def test_losses_are_differences_in_the_languages_not_trained_on_with_paired_intervals(study: MadeUpStudy) -> None:
    losses = {(loss.arm, loss.task): loss for loss in arm_losses(study)}
    assert len(losses) == 6
    loss = losses["No anchors", "ner"]
    assert loss.value == pytest.approx(-3)
    assert 0.2 < loss.half < 1.2  # two draws of deviation 0.2; unpaired it would be about 2.8
    assert loss.paper == printed("wu2020")["table1"]["arms"]["no-anchors"]["change"][1]


def test_numbers_with_other_test_items_have_no_paired_interval(tmp_path: Path) -> None:
    numbers = [
        Number(one.measure, one.value, one.at, one.draws, one.items + " other")
        if one.at["arm"] == "default" and one.draws
        else one
        for one in numbers_of_table1()
    ]
    (loss, *_) = arm_losses(MadeUpStudy(tmp_path, numbers))
    assert loss.value == pytest.approx(-3)
    assert loss.half != loss.half  # NaN


def test_the_printed_table_stands_beside_ours(study: MadeUpStudy) -> None:
    table = paper_table(study)
    assert table is not None
    rows = {row["arm"]: row for row in table.dicts()}
    assert len(rows) == 10
    assert rows["Default"]["nli_paper"] == pytest.approx((73.6 + 68.7 + 68.3) / 3)
    assert rows["No anchors"]["nli_paper_delta"] == -1.1
    assert rows["No anchors"]["nli_ours"] == 57.0
    assert rows["No anchors"]["nli_ours_delta"] == pytest.approx(-3)
    assert rows["sep-l1-6"]["nli_ours"] is None
    assert "57.0 ± " in table.text()


def test_where_languages_are_shared_the_printed_mean_is_over_those(tmp_path: Path) -> None:
    numbers = [
        Number(one.measure, one.value, {**one.at, "language": "fr"}, one.draws, one.items)
        if one.at.get("language") == "de"
        else one
        for one in numbers_of_table1()
    ]
    table = paper_table(MadeUpStudy(tmp_path, numbers))
    assert table is not None
    row = next(row for row in table.dicts() if row["arm"] == "No anchors")
    assert row["nli_paper"] == 72.1
    assert row["nli_paper_delta"] == pytest.approx(72.1 - 73.6)


def test_studies_of_no_paper_have_no_printed_table(tmp_path: Path) -> None:
    assert paper_table(MadeUpStudy(tmp_path, numbers_of_table1(), paper=None)) is None
    assert paper_table(MadeUpStudy(tmp_path, [])) is None


def test_scores_are_numbers_with_intervals(study: MadeUpStudy) -> None:
    table = result_table(study)
    row = next(row for row in table.dicts() if row["arm"] == "No anchors")
    low, value, high = (float(row[name] or 0) for name in ("ner_de_low", "ner_de", "ner_de_high"))
    assert 50 < low < 57.0 == value < high < 64
    assert row["ner_delta"] == pytest.approx(-3)


def test_what_ran_is_told_before_anything_has(tmp_path: Path) -> None:
    study = MadeUpStudy(tmp_path, [])
    assert {row["what"]: row["value"] for row in run_table(study).dicts()}["scale"] == "nano"
    assert file_table(study).rows == ()

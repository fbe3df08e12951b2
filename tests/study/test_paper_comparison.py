"""The printed table beside a study's, and what arms lose."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.report.study import study_page
from isoglot.study.claims.printed_numbers import printed
from isoglot.study.numbers import Coordinate, Number
from isoglot.study.tables.paper_comparison import arm_losses, loss_table, paper_table
from isoglot.study.tables.results import closing_tables, file_table, result_table, run_table, score_tables
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
    assert rows["No anchors"]["nli_ours"] == 57.0
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
    deltas = loss_table(MadeUpStudy(tmp_path, numbers))
    assert deltas is not None
    assert deltas.dicts()[0]["nli_paper"] == pytest.approx(72.1 - 73.6)


def test_differences_are_to_default_and_of_sep_arms_to_default_anchors_too(tmp_path: Path) -> None:
    arms = {"default": "Default", "default-anchors": "Default anchors", "sep-emb": "Sep Emb"}
    renamed = [
        Number(
            one.measure,
            one.value,
            {**one.at, "arm": str(one.at["arm"]).replace("no-", "default-")},
            one.draws,
            one.items,
        )
        for one in numbers_of_table1()
    ]
    study = MadeUpStudy(tmp_path, renamed, arms=arms)
    table = loss_table(study)
    assert table is not None
    rows = {(row["arm"], row["base"]): row for row in table.dicts()}
    assert list(rows) == [("Default anchors", "Default"), ("Sep Emb", "Default"), ("Sep Emb", "Default anchors")]
    assert rows["Sep Emb", "Default"]["nli_ours"] == pytest.approx(0.1)
    assert rows["Sep Emb", "Default"]["nli_paper"] == -4.5
    against = rows["Sep Emb", "Default anchors"]
    assert against["nli_ours"] == pytest.approx(3.1)
    assert against["nli_paper"] == pytest.approx((72.7 + 63.6 + 60.8 - 74.0 - 68.1 - 68.9) / 3)
    assert float(against["nli_ours_low"] or 0) < 3.1 < float(against["nli_ours_high"] or 0)
    scores = {row["arm"]: row for row in result_table(study).dicts()}
    assert scores["Sep Emb"]["nli_anchors"] == pytest.approx(3.1)
    assert scores["Default anchors"]["nli_anchors"] is None
    assert "difference to Default anchors" in study_page(study).html()


def test_what_a_run_prints_at_its_end(study: MadeUpStudy) -> None:
    tables = closing_tables(study)
    captions = [table.caption for table in tables]
    assert captions[:4] == ["NLI, accuracy in %", "NER, F1", "Parsing, LAS", "Sentence retrieval and CKA"]
    assert captions[4:-1] == [
        "Beside the scores",
        "Tokens until P@1 reaches a threshold",
        "Table 1, the paper's beside ours",
        "Δ, points: differences between arms, the paper's beside ours",
    ]
    assert tables[0].column("nli_de") == [60.0, 57.0, 60.1]
    facts = {row["arm"]: row for row in tables[4].dicts()}
    assert facts["No anchors"]["ner_en"] == 57.0
    verdicts = tables[-1]
    assert [column.name for column in verdicts.columns] == ["claim", "sentence", "verdict", "ours"]
    assert verdicts.column("claim") == ["W2", "W3"]


def test_a_run_that_has_measured_nothing_prints_no_table(tmp_path: Path) -> None:
    at: dict[str, Coordinate] = {"arm": "default", "pair": "en-de", "seed": 0, "language": "en"}
    assert closing_tables(MadeUpStudy(tmp_path, [Number("fertility", 1.2, at)])) == []


def test_one_task_is_not_cut_off_from_retrieval(tmp_path: Path) -> None:
    numbers = [one for one in numbers_of_table1() if not one.measure.startswith(("nli", "parsing"))]
    (table,) = score_tables(MadeUpStudy(tmp_path, numbers))
    assert {"ner_de", "cka"} <= {column.name for column in table.columns}


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

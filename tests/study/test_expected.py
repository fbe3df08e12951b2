"""Expected numbers in the package: those of the studies in results/, found by name."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from isoglot.core.artifact import stored_json
from isoglot.report.study import study_page
from isoglot.study.study import Study
from isoglot.study.tables.results import EXPECTED, expected_names, study_differences, study_expected, study_verdicts
from tests.errors import raises

RESULTS = Path(__file__).parents[2] / "results"
PUBLISHED = [name for name in expected_names() if (RESULTS / name).exists()]
published = pytest.mark.skipif(not RESULTS.exists(), reason="the published studies are in the repository alone")


def test_there_are_expected_numbers_by_name():
    assert "wu2020-en-de" in expected_names()


@pytest.mark.parametrize("name", PUBLISHED)
def test_they_are_those_of_the_published_study(name: str) -> None:
    study = Study.open(RESULTS / name)
    shipped = stored_json(EXPECTED / f"{name}.json")
    assert shipped["numbers"] == study_expected(study)["numbers"]
    verdicts = study_verdicts(study) if study.about["paper"] else []
    assert study_differences(study, verdicts, name) == []


@published
def test_a_study_that_is_run_again_has_the_steps_of_the_published_one():
    rerun = runpy.run_path(str(RESULTS.parent / "benchmarks" / "rerun_study.py"))
    again = {step.key for step in rerun["planned_again"]("thumbnail-1.5M").steps}
    assert again == set(Study.open(RESULTS / "thumbnail-1.5M").steps)


@published
def test_another_budget_is_told_apart():
    study = Study.open(RESULTS / "wu2020-en-de-2B")
    found = {one.what for one in study_differences(study, [], "wu2020-en-de") if one.kind == "number"}
    assert any(what.startswith("ner (") for what in found), "ten points of F1 are beyond the interval"


@published
@pytest.mark.parametrize(
    ("content", "value"),
    [
        ([], "[]"),
        ({"version": 1}, "'numbers'"),
        ({"version": 1, "numbers": [{"measure": "nli"}], "verdicts": {}}, "'numbers.0.at'"),
        ({"version": 1, "numbers": [], "verdicts": ["W1"]}, "'verdicts'"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, content: object, value: str) -> None:
    path = tmp_path / "expected.json"
    path.write_text(json.dumps(content))
    with raises("corrupt-file", value, file=path):
        study_differences(Study.open(RESULTS / "wu2020-en-de-2B"), [], path)


@published
def test_an_unknown_name_says_which_there_are():
    with raises("storage.not-found", "wu2020-en-de"):
        study_differences(Study.open(RESULTS / "wu2020-en-de"), [], "wu2021")


@published
def test_a_factorial_study_without_complete_blocks_says_that_nothing_is_tested() -> None:
    study = Study.open(RESULTS / "factorial")
    assert study.about["pairs"] == ["en-twin"]
    study.measurements = [one for one in study.measurements if one.at["seed"] == 0]
    assert "2: run the missing cells" in study_page(study).lead


@published
def test_the_published_factorial_study_tests_what_was_stated() -> None:
    assert "points" in study_page(Study.open(RESULTS / "factorial")).lead

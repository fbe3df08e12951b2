"""The stated contrast on a real text: halves and held-out sentences, cells, and from text to numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from isoglot.core.progress import SILENT
from isoglot.languages import documents
from isoglot.languages.twins import unshift
from isoglot.report.study import study_page
from isoglot.study.build import StudyOptions, build_study
from isoglot.study.data import StudyData, data_from
from isoglot.study.demo.twin_pairs import TwinLanguage
from isoglot.study.factorial.outcomes import analyze_factorial
from isoglot.study.factorial.real_text import CONTRAST_CELLS, HELD_OUT, half, held_out_pairs
from isoglot.study.kinds.text import TEXT
from isoglot.study.study import Study
from isoglot.study.tables.results import result_table
from isoglot.text.formats.plain import read_documents
from tests.errors import raises
from tests.study.test_factorial import made_up

TINY = ("tokens=2000", "moments=1", "pairs=20", "settings.model.layers=2", "vocabulary_size=400")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,500 documents, each a paragraph and a line; one line, "Siehe auch", is in many."""
    path = tmp_path_factory.mktemp("text") / "de.txt"
    made = documents("de", seed=3)
    blocks = []
    for number in range(1500):
        sentences = [sentence.text for sentence in next(made)]
        last = "Siehe auch die Liste dieser Orte ." if number % 3 else sentences[-1]
        blocks.append(" ".join(sentences[:-1]) + f"\n{last}\n")
    path.write_text("\n".join(blocks), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(text: Path) -> StudyData:
    return data_from({"text": {"de": str(text)}})


@pytest.fixture(scope="module")
def study(data: StudyData, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Two blocks of the four cells, from text to numbers, in this process."""
    options = StudyOptions(scale="nano", scale_settings=TINY, seeds=2)
    study = Study.create(tmp_path_factory.mktemp("study"), build_study("factorial-text", data, options))
    for step in study.steps.values():
        study.store.run(step, device="cpu", progress=SILENT)
    return study


def source_of(study: Study) -> Path:
    return study.store.folder(next(step.key for step in study.steps.values() if step.kind == "twin-source"))


def test_held_out_sentences_are_in_no_training_text(study: Study) -> None:
    source = source_of(study)
    held = (source / HELD_OUT).read_text(encoding="utf-8").splitlines()
    trained = {line for document in read_documents(source / TEXT) for line in document}
    assert len(held) == len(set(held)) > 40
    assert not set(held) & trained
    assert all(5 <= len(line.split(" ")) <= 20 for line in held)
    assert "Siehe auch die Liste dieser Orte ." in trained


@pytest.mark.parametrize("seed", [0, 1])
def test_two_halves_share_no_document_and_are_all(study: Study, seed: int) -> None:
    source = source_of(study)
    one, other = ([tuple(document) for document in half(source, side, seed)] for side in (0, 1))
    whole = Counter(tuple(document) for document in read_documents(source / TEXT))
    assert Counter(one) + Counter(other) == whole
    assert not set(one) & set(other)
    assert len(one) / whole.total() == pytest.approx(0.5, abs=0.06)
    assert one != [tuple(document) for document in half(source, 0, seed + 7)]


def test_pairs_are_drawn_by_the_seed_and_are_twins(study: Study) -> None:
    source = source_of(study)
    language = TwinLanguage(order="mirrored", anchors=0.0)
    choose, test = held_out_pairs(source, language, 0, 20)
    assert len(set(choose[0]) | set(test[0])) == 40
    for german, other in zip(*test, strict=True):
        words = german.split(" ")
        assert sorted(map(unshift, other.split(" "))) == sorted(words)
        assert unshift(other.split(" ")[0]) == words[-2]  # the stop stays at the end
    assert held_out_pairs(source, language, 1, 20)[1] != test
    with raises("input.too-few", "20,000"):
        held_out_pairs(source, language, 0, 10_000)


def test_a_block_is_four_encoders_on_five_texts(study: Study) -> None:
    kinds = Counter(step.kind for step in study.steps.values())
    assert kinds == {
        "twin-source": 1,
        "twin-text": 10,
        "vocabulary": 8,
        "shards": 16,
        "pretrain": 16,
        "twin-retrieval": 8,
    }
    assert {measure.at["arm"] for measure in study.measurements} == {cell.name for cell in CONTRAST_CELLS}
    assert {cell.name for cell in CONTRAST_CELLS} == {
        f"all_{anchors}_{order}_same" for anchors in ("none", "fifth") for order in ("same", "mirrored")
    }


def test_from_text_to_the_stated_contrast(study: Study) -> None:
    result = analyze_factorial(study.numbers(), resamples=50)
    assert (result.seeds, result.p1.variance.cells, result.p1.without_all) == ((0, 1), 4, None)
    assert {term.name for term in result.p1.variance.terms} >= {"anchors", "order", "anchors:order"}
    assert "Stated beforehand" in result_table(study).footnotes[0]
    page = study_page(study).html()
    assert "What lets two languages share one space" in page
    assert "Overlap is what belongs" not in page


def test_the_contrast_of_four_cells_is_that_of_all_when_the_others_are_like_them() -> None:
    """Planted in 42 cells and in the four of a real text."""
    for cells in (CONTRAST_CELLS, None):
        numbers = made_up(0.1, noise=0.0) if cells is None else made_up(0.1, noise=0.0, cells=cells)
        assert analyze_factorial(numbers, resamples=50).p1.stated.estimate == pytest.approx(0.1)


def test_without_the_cells_of_the_contrast_there_are_cells_alone() -> None:
    cells = [cell for cell in CONTRAST_CELLS if cell.anchors == "none"]
    with raises("input.too-few", "contrast"):
        analyze_factorial(made_up(cells=cells), resamples=50)


@pytest.mark.parametrize("given", [{}, {"de": "de", "en": "de"}])
def test_it_takes_one_text(text: Path, given: dict[str, str]) -> None:
    with raises("config.conflicting-options", "--text"):
        build_study("factorial-text", data_from({"text": dict.fromkeys(given, str(text))}), StudyOptions())


def test_a_cell_that_needs_trees_or_topics_is_refused(data: StudyData) -> None:
    with raises("config.unknown-name", "all_none_verb-last_same"):
        build_study("factorial-text", data, StudyOptions(arms=("all_none_verb-last_same",)))


def test_a_text_that_is_one_document_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "de.txt"
    path.write_text("Das ist ein langer Satz ohne Ende .\n" * 2000, encoding="utf-8")
    options = StudyOptions(scale="nano", scale_settings=TINY, seeds=1)
    study = Study.create(
        tmp_path / "study", build_study("factorial-text", data_from({"text": {"de": str(path)}}), options)
    )
    with raises("input.too-few", "blank line"):
        study.store.run(next(iter(study.steps.values())), device="cpu", progress=SILENT)

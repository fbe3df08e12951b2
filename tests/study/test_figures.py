"""Figures of Wu et al. (2020) from recipe to verdicts, on built-in languages at the smallest size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoglot.core.files import read_json
from isoglot.report.study import write_figures
from isoglot.static.config import FastTextConfig
from isoglot.static.gensim_models import train_on_words, word_stream
from isoglot.study.build import StudyOptions, build_study
from isoglot.study.data import StudyData, data_from
from isoglot.study.engines import RunOptions
from isoglot.study.engines.local import run_local
from isoglot.study.study import Study
from isoglot.study.tables.results import result_tables, study_verdicts
from tests.errors import raises

FIGURES = ("figure4a", "figure4b", "figure5", "figure6", "figure7")
TINY = (
    "tokens=2000",
    "moments=1",
    "builtin_sentences=600",
    "settings.model.layers=2",
    "pairs=20",
    "tasks.ner.builtin={train=16, test=8}",
    "tasks.parse.builtin={train=16, test=8}",
)
OPTIONS = StudyOptions(scale="nano", scale_settings=TINY)
EIGHT = StudyOptions(scale="nano")
"""With the eight layers that Table 1 needs; for studies that are planned and not run."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """All figures at once: they share their encoders."""
    folder = tmp_path_factory.mktemp("figures")
    recipe = folder / "figures.toml"
    recipe.write_text(f'title = "Figures"\npaper = "wu2020"\nincludes = {list(FIGURES)}\n')
    made = Study.create(folder / "study", build_study(str(recipe), StudyData(), OPTIONS))
    result = run_local(made, RunOptions(device="cpu"))
    assert not result.failed
    return made


def test_claims_read_what_the_figures_measure(study: Study) -> None:
    # Two layers are too few for middle ones; a distant language is not there. What is missing must be nothing else.
    verdicts = {one.claim: one for one in study_verdicts(study)}
    assert set(verdicts) == {"W9", "W10", "W11", "W12", "W13", "W14", "W15"}
    for claim in ("W9", "W10", "W11", "W12"):
        assert verdicts[claim].outcome != "not run", verdicts[claim].reason
    assert "distant language" in verdicts["W15"].reason
    assert "at least 4 layers" in verdicts["W14"].reason


@pytest.mark.parametrize("vectors", ["embeddings", "contexts"])
def test_figure_4_asks_fasttext_the_same_words(study: Study, vectors: str) -> None:
    numbers = study.numbers().select("word_p1", vectors=vectors, language="de")
    layers = numbers.select(system="encoder").values_of("layer")
    assert layers == ([0] if vectors == "embeddings" else [0, 1, 2])
    baseline = numbers.select(system="fasttext", layer=None).one
    assert {one.items for one in numbers} == {baseline.items}
    assert all(len(one.draws) == 200 and 0 <= one.value <= 1 for one in numbers)
    assert all("arm" not in one.at for one in numbers)


def test_figure_5_has_every_arm_in_every_layer(study: Study) -> None:
    for task in ("ner", "parsing"):
        numbers = study.numbers().select(task, language="de", pair="en-de")
        for at in (
            {"arm": "monolingual", "map": "procrustes"},
            {"arm": "monolingual", "map": None},
            {"arm": "bilingual", "map": "procrustes", "variant": None},
            {"arm": "bilingual", "map": None, "variant": None},
            {"arm": "bilingual", "map": None, "variant": "untrained"},
        ):
            found = numbers.select(**at)
            assert found.values_of("layer") == [0, 1, 2], at
            assert all(one.draws for one in found)
        assert len({one.items for one in numbers}) == 1


def test_figure_6_fits_its_map_on_other_sentences() -> None:
    built = build_study("figure6", StudyData(), OPTIONS)
    steps = [step for step in built.steps if step.kind == "sentence-retrieval"]
    assert len(steps) == 2
    for step in steps:
        assert step.settings["map_pairs"] == {"count": 60, "builtin": 1}
        assert step.settings["builtin"] == 0


def test_figure_7_shows_a_ceiling_and_the_first_language_twice(study: Study) -> None:
    numbers = study.numbers().select("cka", estimator="debiased")
    for arm in ("bilingual", "monolingual", "random"):
        for pair in ("en-de", "en-en-x-two"):
            assert numbers.select(arm=arm, pair=pair).values_of("layer") == [0, 1, 2]
    ceiling = numbers.select(arm="ceiling")
    assert {one.at["language"] for one in ceiling} == {"en"}
    again = next(
        step for step in study.steps.values() if step.kind == "pretrain" and step.settings["config"].get("seed") == 1
    )
    first = next(step for step in study.steps.values() if step.title == "pretrain en-de monolingual-first, seed 0")
    assert again.inputs == first.inputs


def test_tables_have_a_row_for_every_layer(study: Study) -> None:
    tables = {table.caption: table for table in result_tables(study)}
    assert len(tables) == 7
    words = tables["Words found after a map, P@1 in %: en-de, averages over contexts"]
    assert words.column("layer") == ["0", "1", "2", "none"]
    parsing = tables["Parsing through a map, LAS: en-de"]
    (best,) = study.numbers().select("parsing", arm="monolingual", language="de", layer=1, map="procrustes")
    assert parsing.column("monolingual, mapped")[1] == pytest.approx(best.value)
    assert "ceiling" in tables["CKA as the paper computes it: en-de"].text()


def test_every_figure_is_drawn(study: Study) -> None:
    paths = write_figures(study)
    assert [path.name.removesuffix(".vl.json") for path in paths] == [
        "figure4a-en-de",
        "figure4b-en-de",
        "figure5-ner-en-de",
        "figure5-parsing-en-de",
        "figure6-en-de",
        "figure7-en-de",
        "figure7-en-en-x-two",
    ]
    for path in paths:
        assert read_json(path)["layer"]


def test_an_encoder_is_its_own_ceiling(study: Study) -> None:
    # CKA of an encoder with itself on the same sentences is 1: the ceiling reads one language on both sides.
    from isoglot.core.progress import SILENT
    from isoglot.study.kinds.sentences import compare
    from isoglot.study.steps import Work

    ceiling = next(one.step for one in study.measurements if one.at.get("arm") == "ceiling")
    inputs = {name: study.store.folder(one.key) for name, one in ceiling.steps.items()}
    work = Work(
        settings=ceiling.settings,
        execution={},
        inputs={"encoder": inputs["encoder"], "other": inputs["encoder"]},
        folder=Path(),
        scratch=Path(),
        device="cpu",
        deadline=None,
        progress=SILENT,
        say=print,
        cache={},
    )
    assert all(one.value == pytest.approx(1.0, abs=1e-5) for one in compare(work))


def test_the_whole_paper_computes_what_its_parts_share_once() -> None:
    whole = build_study("wu2020", StudyData(), EIGHT)
    keys = [step.key for step in whole.steps]
    assert len(keys) == len(set(keys))
    pretrained = [step for step in whole.steps if step.kind == "pretrain" and step.tokens]
    arms = {step.title for step in pretrained}
    table1 = {step.key for step in build_study("table1", StudyData(), EIGHT).steps}
    # Table 1's 11 arms, and of the figures: both monolingual encoders, another seed, and English twice.
    assert len(pretrained) == len(arms) == 15
    assert table1 <= set(keys)
    alone = {name: {step.key for step in build_study(name, StudyData(), EIGHT).steps} for name in FIGURES}
    monolingual = [step.key for step in pretrained if "monolingual-first" in step.title]
    assert all(monolingual[0] in found for found in alone.values())
    assert alone["figure4a"] <= set(keys)


def test_claims_of_the_whole_paper_are_those_of_its_parts() -> None:
    built = build_study("wu2020", StudyData(), EIGHT)
    claims = {claim for recipe in built.recipes for claim in recipe.claims}
    assert claims == {f"W{number}" for number in range(1, 18)}


def test_figure_3_is_table_1() -> None:
    assert [step.key for step in build_study("figure3", StudyData(), EIGHT).steps] == [
        step.key for step in build_study("table1", StudyData(), EIGHT).steps
    ]


def test_dictionaries_that_leak_are_refused_before_anything_runs(tmp_path: Path) -> None:
    for name, text in {
        "en.txt": "a b\n" * 100,
        "de.txt": "a b\n" * 100,
        "train.txt": "cat Katze\n",
        "test.txt": "cat Kater\n",
    }.items():
        (tmp_path / name).write_text(text)
    tables = {
        "text": {"en": "en.txt", "de": "de.txt"},
        "dictionary": {"en-de": {"train": "train.txt", "test": "test.txt"}},
    }
    with raises("input.leak", "'cat'"):
        build_study("figure4a", data_from(tables, folder=tmp_path), StudyOptions(scale="nano"))
    del tables["dictionary"]
    with raises("config.missing-data", "en-de.train"):
        build_study("figure4a", data_from(tables, folder=tmp_path), StudyOptions(scale="nano"))


def test_fasttext_finds_words_of_the_same_contexts() -> None:
    rng = np.random.default_rng(0)
    animals, tools = ["cat", "dog", "cow"], ["saw", "axe", "pen"]
    text = [
        [str(rng.choice(some)), verb] for _ in range(600) for some, verb in ((animals, "sleeps"), (tools, "breaks"))
    ]
    config = FastTextConfig(dimensions=8, epochs=20, window=2, min_count=1, buckets=50, sample=0.0)
    vectors = train_on_words(text, config)
    again = train_on_words(text, config)
    assert np.array_equal(vectors.matrix_ND, again.matrix_ND)
    unit = {word: row / np.linalg.norm(row) for word, row in zip(vectors.words, vectors.matrix_ND, strict=True)}
    assert unit["cat"] @ unit["dog"] > unit["cat"] @ unit["saw"]


def test_rare_words_leave_no_gap() -> None:
    words, stream = word_stream([["a", "rare", "a"], ["b", "b", "a"]], min_count=2, most=10)
    assert words == ["a", "b"]
    assert stream.tokens_N.tolist() == [0, 0, 1, 1, 0]
    assert stream.starts_S.tolist() == [0, 2, 5]
    with raises("input.too-few", 3):
        word_stream([["a"]], min_count=3, most=10)

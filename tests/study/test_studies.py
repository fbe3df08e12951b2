"""Studies from recipe to numbers, at the smallest size."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from isoglot.core.errors import ConfigError
from isoglot.model import load_encoder
from isoglot.model.encoder import Encoder
from isoglot.study.build import StudyOptions, build_study
from isoglot.study.claims import against, verdict_table
from isoglot.study.data import StudyData, data_from, data_options, pair_name, read_data
from isoglot.study.engines import RunOptions
from isoglot.study.engines.local import run_local
from isoglot.study.numbers import Number
from isoglot.study.plan import estimate
from isoglot.study.recipe import load_scale, load_study, scale_names, study_names
from isoglot.study.study import Study, merge_studies
from isoglot.study.tables.results import facts_table, result_table, study_expected, study_verdicts
from tests.errors import raises

TINY = ("tokens=2000", "moments=1", "builtin_sentences=600", "settings.model.layers=2", "pairs=20")
OPTIONS = StudyOptions(scale="nano", scale_settings=TINY)


@pytest.mark.parametrize("name", study_names())
def test_recipes_are_valid_and_name_what_they_measure(name: str) -> None:
    _, recipe = load_study(name)
    assert recipe.title
    assert recipe.measures or recipe.includes


@pytest.mark.parametrize("name", scale_names())
def test_scales_are_valid(name: str) -> None:
    assert load_scale(name).meaning


@pytest.mark.parametrize("name", [name for name in study_names() if load_study(name)[1].measures])
def test_every_recipe_can_be_planned_on_built_in_languages(name: str) -> None:
    built = build_study(name, StudyData(), StudyOptions(scale="nano"))
    keys = [step.key for step in built.steps]
    assert len(keys) == len(set(keys))
    for step in built.steps:
        assert all(keys.index(one.key) < keys.index(step.key) for one in step.steps.values())


def test_a_changed_setting_changes_just_what_depends_on_it() -> None:
    before = build_study("table1", StudyData(), StudyOptions(scale="nano"))
    after = build_study(
        "table1", StudyData(), StudyOptions(scale="nano", scale_settings=("tasks.ner.settings.epochs=2",))
    )
    changed = {step.key for step in before.steps} ^ {step.key for step in after.steps}
    kinds = [step for step in (*before.steps, *after.steps) if step.key in changed]
    assert kinds
    assert all(step.kind == "transfer" and step.settings["task"] == "ner" for step in kinds)


def test_an_arm_is_measured_in_every_way_before_the_next_begins() -> None:
    built = build_study("table1", StudyData(), StudyOptions(scale="nano"))
    trained = [number for number, step in enumerate(built.steps) if step.kind == "pretrain" and step.tokens]
    for here, after in pairwise(trained):
        encoder = built.steps[here]
        readers = [
            number for number, step in enumerate(built.steps) if encoder.key in {x.key for x in step.steps.values()}
        ]
        assert all(here < reader < after for reader in readers)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    out = tmp_path_factory.mktemp("studies") / "one"
    made = Study.create(out, build_study("emergence", StudyData(), OPTIONS))
    result = run_local(made, RunOptions(device="cpu"))
    assert not result.failed
    return made


def test_a_study_measures_every_arm(study: Study) -> None:
    numbers = study.numbers()
    for arm in ("default", "no-anchors"):
        assert len(numbers.select("sentence_p1", arm=arm)) == 3  # layers 0 to 2
        assert len(numbers.select("cka", arm=arm, estimator="debiased")) == 3
        assert numbers.select("emergence_p1", arm=arm).values_of("tokens")
        assert len(numbers.select("perplexity", arm=arm)) == 2
    assert numbers.select("sentence_p1", arm="default", layer=0).one.draws


def test_arms_read_the_same_number_of_tokens(study: Study) -> None:
    tokens = {number.value for number in study.numbers().select("training_tokens", variant=None)}
    assert len(tokens) == 1


def test_a_study_that_is_done_runs_nothing(study: Study) -> None:
    assert study.needed() == []
    assert run_local(study, RunOptions(device="cpu")).done == []
    assert set(Study.open(study.out).counts()) == {"done"}


def test_results_can_be_kept_alone(study: Study, tmp_path: Path) -> None:
    merged, copied = merge_studies([study.out], tmp_path / "copy")
    assert len(copied) == len(study.steps)
    for step in merged.droppable(merged.steps):
        merged.store.drop(step)
    assert merged.needed() == []
    assert len(merged.numbers()) == len(study.numbers())
    assert not list((tmp_path / "copy").rglob("*.safetensors"))


def test_encoders_can_be_kept_packed(study: Study, tmp_path: Path) -> None:
    merged, _ = merge_studies([study.out], tmp_path / "packed")
    merged.drop_unneeded(merged.steps, packed=True)
    assert merged.needed() == []
    trained = [step for step in merged.steps.values() if step.kind == "pretrain" and step.tokens]
    for step in trained:
        whole, packed = study.store.folder(step.key) / "encoder", merged.store.folder(step.key) / "packed"
        assert not (merged.store.folder(step.key) / "encoder").exists()
        ours, theirs = (load_encoder(folder, device="cpu") for folder in (whole, packed))
        assert isinstance(ours, Encoder)
        assert isinstance(theirs, Encoder)
        for name, weights in ours.state_dict().items():
            if weights.is_floating_point() and weights.dim() > 1:
                moved = (theirs.state_dict()[name] - weights).norm() / weights.norm()
                assert moved < 0.05, name


def test_numbers_alone_can_be_merged(study: Study, tmp_path: Path) -> None:
    merged, copied = merge_studies([study.out], tmp_path / "numbers", keep="results")
    assert len(copied) == len(study.steps)
    names = {path.name for path in (tmp_path / "numbers").rglob("*") if path.is_file()}
    assert names == {"study.json", "step.json", "numbers.json"}
    assert merged.needed() == []
    assert [number.as_json() for number in merged.numbers()] == [number.as_json() for number in study.numbers()]
    assert merge_studies([study.out], tmp_path / "numbers", keep="results")[1] == []


def test_a_folder_that_is_no_study_is_refused(tmp_path: Path) -> None:
    with raises("storage.not-found"):
        Study.open(tmp_path)
    (tmp_path / "mine.txt").write_text("x")
    with raises("config.would-overwrite"):
        Study.create(tmp_path, build_study("emergence", StudyData(), OPTIONS))


def test_a_study_is_as_expected_by_itself_and_not_by_another(study: Study) -> None:
    made = study_expected(study)
    assert against(made, study.numbers()) == []
    changed = [
        Number(one.measure, one.value + 1, one.at, tuple(draw + 1 for draw in one.draws), one.items)
        for one in study.numbers()
    ]
    assert against(made, changed)


def test_plans_count_tokens_and_what_is_done(study: Study, tmp_path: Path) -> None:
    built = build_study("emergence", StudyData(), OPTIONS)
    found = estimate(built, out=tmp_path / "none", device="cpu", timed=lambda *_: 1000.0)
    trained = [step for step in found.steps if step.kind == "pretrain"]
    assert [step.tokens for step in trained] == [2880, 2880]  # 3 steps of 32 x 30
    assert sum(step.seconds for step in trained) == pytest.approx(5.76)
    assert estimate(built, out=study.out, device="cpu", timed=lambda *_: 1000.0).seconds == 0


def test_verdicts_are_on_the_claims_of_the_recipe(study: Study) -> None:
    with raises("config.not-supported"):
        study_verdicts(study)
    claimed = Study(
        study.out, {**study.about, "paper": "wu2020", "claims": ["W2"]}, list(study.steps.values()), study.measurements
    )
    (verdict,) = study_verdicts(claimed)
    assert (verdict.claim, verdict.outcome) == ("W2", "not run")
    assert "W2" in verdict_table([verdict]).text()


def test_the_table_has_a_row_for_each_arm(study: Study) -> None:
    assert result_table(study).column("arm") == ["Default", "No anchors"]
    assert facts_table(study).column("arm") == ["Default", "No anchors"]


def test_report_writes_a_page_into_the_folder_and_opens_it(
    study: Study, isoglot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert isoglot("report", str(study.out)).code == 0
    page = (study.out / "index.html").read_text(encoding="utf-8")
    assert all(title in page for title in ("Default", "No anchors", "What ran"))
    assert isoglot("report", str(study.out), "--out", str(tmp_path / "new"), "--open").code == 0
    assert opened == [(tmp_path / "new" / "index.html").as_uri()]
    refused = isoglot("report", str(tmp_path))
    assert refused.code == 2
    assert "study.json" in refused.err


# --- data ---


def test_files_by_language_pair_and_split(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "en-train.conllu", "en-dev.conllu", "de-test.conllu"):
        (tmp_path / name).write_text(f"{name}\n")
    (tmp_path / "data.toml").write_text(
        '[text]\neng = "a.txt"\nde = ["b.txt"]\n[parallel]\nen-de = {en = "a.txt", de = "b.txt"}\n'
        '[treebank]\nen = "."\nde = "de-test.conllu"\n'
    )
    data = read_data(tmp_path / "data.toml")
    assert list(data.text) == ["en", "de"]
    assert set(data.tasks["parse"]["en"]) == {"train", "dev"}
    assert set(data.tasks["parse"]["de"]) == {"test"}
    assert set(data.tests("en")) == {"parse-dev", "parallel-en-de"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"text": ["en"]}, ("config.malformed-option", "'en'")),
        ({"ner": ["en.train=a", "en.train=b"]}, ("config.duplicate", "'en.train=b'")),
    ],
)
def test_malformed_options_are_refused(options: dict[str, list[str]], expected: tuple[str, ...]) -> None:
    with raises(*expected):
        data_options(options)


@pytest.mark.parametrize("tables", [{"texts": {}}, {"text": "a"}, {"ner": {"en": {"tran": "x"}}}, {"text": {"en": 3}}])
def test_malformed_tables_are_refused(tables: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        data_from(tables)


def test_pairs_have_two_languages() -> None:
    assert pair_name("deu-eng") == "de-en"
    for wrong in ("en", "en-en", "-"):
        with pytest.raises(ConfigError):
            pair_name(wrong)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("tabel1", StudyOptions(), ("config.unknown-recipe", "'tabel1'")),
        ("table1", StudyOptions(scale="hours"), ("config.unknown-name", "'hours'")),
        ("table1", StudyOptions(pairs=("en-sw",)), ("config.built-in-language", "sw")),
        ("table1", StudyOptions(arms=("no-anchor",)), ("config.unknown-name", "'no-anchor'")),
    ],
)
def test_what_cannot_be_planned_is_refused_at_once(name: str, options: StudyOptions, expected: tuple[str, ...]) -> None:
    with raises(*expected):
        build_study(name, StudyData(), options)


def test_text_that_is_too_small_and_words_that_leak_are_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("One sentence.\n")
    (tmp_path / "de.txt").write_text("Ein Satz.\n")
    data = data_from({"text": {"en": "en.txt", "de": "de.txt"}}, folder=tmp_path)
    with raises("input.too-few", "40,000"):
        build_study("emergence", data, StudyOptions(scale="nano"))
    (tmp_path / "train.txt").write_text("dog\tHund\ncat\tKatze\n")
    (tmp_path / "test.txt").write_text("house\tHaus\ncat\tKater\n")
    files = {"dictionary": {"en-de": {"train": "train.txt", "test": "test.txt"}}}
    with raises("input.leak", 1, 2, "'cat'"):
        build_study("table1", data_from(files, folder=tmp_path), StudyOptions(scale="nano"))

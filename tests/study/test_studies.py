"""Studies from recipe to numbers, at the smallest size."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from isoglot.core.errors import ConfigError, IsoglotError
from isoglot.core.progress import SILENT
from isoglot.model import load_encoder
from isoglot.model.encoder import Encoder
from isoglot.study.build import BuiltStudy, Measurement, StudyOptions, build_study
from isoglot.study.claims import against, verdict_table
from isoglot.study.data import StudyData, data_from, data_options, pair_name, study_data
from isoglot.study.engines import RunOptions, check_engine
from isoglot.study.engines.local import run_local
from isoglot.study.numbers import Number
from isoglot.study.plan import estimate, time_left
from isoglot.study.recipe import load_scale, load_study, scale_names, study_names
from isoglot.study.steps import KINDS, SourceFile, Step
from isoglot.study.store import source_hash
from isoglot.study.study import Study, merge_studies
from isoglot.study.tables.results import facts_table, result_table, study_expected, study_verdicts
from isoglot.text.cleaning.processing import Segmentation, TextProcessing, processing_left
from isoglot.text.cleaning.segmentation import LineSegmenter
from isoglot.text.stream import rewrite
from isoglot.vocab import Vocabulary, train_vocabulary
from tests.errors import raises

TINY = ("tokens=2000", "moments=1", "builtin_sentences=600", "settings.model.layers=2", "pairs=20")
OPTIONS = StudyOptions(scale="nano", scale_settings=TINY)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize("name", study_names())
def test_recipes_are_valid_and_name_what_they_measure(name: str) -> None:
    _, recipe = load_study(name)
    assert recipe.title
    assert recipe.measures or recipe.includes


@pytest.mark.parametrize("name", scale_names())
def test_scales_are_valid(name: str) -> None:
    assert load_scale(name).meaning


# factorial-text makes twins of a text of the user's: tests/study/test_factorial_text.py
@pytest.mark.parametrize("name", [n for n in study_names() if load_study(n)[1].measures and n != "factorial-text"])
def test_every_recipe_can_be_planned_on_built_in_languages(name: str) -> None:
    built = build_study(name, StudyData(), StudyOptions(scale="nano"))
    keys = [step.key for step in built.steps]
    assert len(keys) == len(set(keys))
    for step in built.steps:
        assert all(keys.index(one.key) < keys.index(step.key) for one in step.steps.values())


def test_an_arm_is_called_as_in_table_1_where_figures_call_it_otherwise(tmp_path: Path) -> None:
    for recipe, title in (("wu2020", "Default"), ("figure7", "Bilingual")):
        study = Study.create(tmp_path / recipe, build_study(recipe, StudyData(), StudyOptions(scale="nano")))
        assert study.about["arms"]["default"] == title
    merged, _ = merge_studies([tmp_path / "wu2020", tmp_path / "figure7"], tmp_path / "both")
    assert merged.about["arms"]["default"] == "Default"


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
        moments = numbers.select("emergence_p1", arm=arm).values_of("tokens")
        probed = numbers.select("emergence_probe", arm=arm)
        assert moments
        assert moments == probed.values_of("tokens")
        assert probed.values_of("layer") == [0, 1, 2]
        assert all(0 <= number.value <= 1 for number in probed)
        assert len(numbers.select("perplexity", arm=arm)) == 2
    assert numbers.select("sentence_p1", arm="default", layer=0).one.draws


@pytest.mark.parametrize(("recipe", "arms"), [("table1", ("default", "no-anchors")), ("figure7", ())])
def test_text_is_segmented_once_for_vocabularies_that_are_those_of_text_as_written(
    recipe: str, arms: tuple[str, ...], tmp_path: Path
) -> None:
    methods: dict[str, Segmentation] = {"en": "unicode", "de": "unicode"}
    options = replace(OPTIONS, arms=arms, pairs=("en-de",), segmentation=methods)
    built = build_study(recipe, StudyData(), options)
    study = Study.create(tmp_path, built)
    study.measurements = [one for one in built.measurements if one.step.kind == "shards"]
    assert not run_local(study, RunOptions(keep="all")).failed
    assert len([step for step in built.steps if step.kind == "segmented-text"]) == len(methods)
    for step in (one for one in built.steps if one.kind == "vocabulary" and study.store.is_whole(one.key)):
        written = {name.partition(".")[2]: text.steps["text"] for name, text in step.steps.items()}
        assert all(text.kind == "builtin-text" for text in written.values())
        whole = train_vocabulary(
            {code: [study.store.folder(text.key) / "text.txt"] for code, text in written.items()},
            mode=step.settings["mode"],
            size=step.settings["size"],
            segmentation=dict.fromkeys(written, "unicode"),
            sentences=step.settings["sentences"],
        )
        ours = Vocabulary.load(study.store.folder(step.key) / "vocabulary")
        assert ours.hash == whole.hash
        line = "It's a state-of-the-art house, isn't it?"
        for code in written:
            assert ours.encode(line, code) == whole.encode(line, code)


def test_text_that_is_segmented_already_is_not_segmented_again(tmp_path: Path) -> None:
    written = tmp_path / "written.txt"
    written.write_text("Don't stop: it's state-of-the-art...\n\nThey said so.\n")
    rewrite([written], tmp_path / "moses.txt", LineSegmenter("en", "moses"))
    source = Step(
        "cut-text",
        {"language": "en"},
        {"text.0": SourceFile(str(tmp_path / "moses.txt"), source_hash(tmp_path / "moses.txt"))},
    )
    study = Study(tmp_path / "study", {"recipe": "any"}, [], [])
    for method in ("moses", "unicode"):
        step = Step("segmented-text", {"language": "en", "method": method}, {"text": source})
        study.store.run(source, device="cpu", progress=SILENT, cache={})
        if method == "unicode":  # the provenance says otherwise
            with raises("config.mixed-processing", "moses"):
                study.store.run(step, device="cpu", progress=SILENT, cache={})
        else:
            study.store.run(step, device="cpu", progress=SILENT, cache={})
            found = study.store.folder(step.key) / "text.txt"
            assert found.read_text() == (study.store.folder(source.key) / "text.txt").read_text()
            assert processing_left([found], TextProcessing("en", segmentation="moses")).segmentation == "none"


def test_the_encoder_of_an_arm_is_its_best_moment(study: Study) -> None:
    for step in study.steps.values():
        if step.kind == "pretrain" and step.settings.get("moments"):
            folder = study.store.folder(step.key)
            curve = study.store.numbers(step.key).select("perplexity_over_training", language="en")
            moments = sorted((folder / "moments").iterdir())
            _, best = min(zip([number.value for number in curve], moments, strict=True))
            weights = [path / "encoder.safetensors" for path in (folder / "encoder", best)]
            assert weights[0].samefile(weights[1])


def test_a_run_loses_at_most_a_quarter_and_rarely_waits_for_a_checkpoint(tmp_path: Path) -> None:
    every = {}
    for scale in ("nano", "thumbnail", "hour"):
        data = StudyData()
        if scale == "hour":
            files = {code: tmp_path / f"{code}.txt" for code in ("en", "de")}
            for path in files.values():
                path.write_text("One line.\n" * 200_000, encoding="utf-8")
            text = [f"{code}={path}" for code, path in files.items()]
            data = study_data("emergence", None, {"text": text, "parallel": [f"en-de.{one}" for one in text]})
        built = build_study("emergence", data, StudyOptions(scale=scale, arms=("default",)))
        execution = next(step.execution for step in built.steps if step.kind == "pretrain" and step.tokens)
        every[scale] = execution["checkpoints"]["every"]
    assert every == {"nano": 21, "thumbnail": 500, "hour": 1922}


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
    pretrain = next(step for step in merged.steps.values() if step.kind == "pretrain" and step.tokens)
    record = merged.store.record(pretrain.key) or {}
    assert (list(record["payload"]), record["dropped"]) == (["numbers.json"], ["encoder", "moments"])
    assert merged.needed() == []
    assert [number.as_json() for number in merged.numbers()] == [number.as_json() for number in study.numbers()]
    assert merge_studies([study.out], tmp_path / "numbers", keep="results")[1] == []


def _arm(name: str, *settings: str) -> BuiltStudy:
    options = replace(OPTIONS, arms=(name,), scale_settings=(*TINY, *settings))
    return build_study("emergence", StudyData(), options)


def _measured_arms(study: Study) -> set[object]:
    return {one.at["arm"] for one in study.measurements}


def test_arms_of_one_folder_add_up(tmp_path: Path) -> None:
    Study.create(tmp_path, _arm("default"))
    both = Study.create(tmp_path, _arm("no-anchors"))
    assert _measured_arms(both) == _measured_arms(Study.open(tmp_path)) == {"default", "no-anchors"}
    again = Study.create(tmp_path, _arm("default"))
    assert len(again.measurements) == len(both.measurements)
    for other in (_arm("no-anchors", "tokens=4000"), _arm("no-anchors", "pairs=21")):
        with raises("config.other-settings", tmp_path):
            Study.create(tmp_path, other)
    assert _measured_arms(Study.open(tmp_path)) == {"default", "no-anchors"}
    whole = build_study("emergence", StudyData(), replace(OPTIONS, scale_settings=(*TINY, "tokens=4000")))
    assert Study.create(tmp_path, whole).about["tokens"] == 4000  # the whole recipe replaces the plan


def test_a_planned_study_is_prepared_and_finished_arm_by_arm_without_its_data_options(isoglot, tmp_path: Path) -> None:
    tables = _texts(tmp_path)
    texts = [tmp_path / "en.txt", tmp_path / "de.txt"]
    for path in texts:  # a document a line
        path.write_text(path.read_text().replace("\n", "\n\n"))
    options = replace(OPTIONS, arms=("default", "no-anchors"), scale_settings=(*TINY, "vocabulary_size=400"))
    study = Study.create(tmp_path / "study", build_study("table1", data_from(tables, folder=tmp_path), options))
    folder = str(study.out)
    isoglot("study", "resume", folder, "--prepare", "--keep", "results", "--device", "cpu", "--quiet")
    done = {state.step.kind for state in study.states() if state.status in ("done", "dropped")}
    assert done == {"cut-text", "vocabulary", "shards"}
    assert all(step.on_cpu or not study.store.is_done(key) for key, step in study.steps.items())
    for path in texts:
        path.unlink()  # as on another machine
    isoglot("study", "resume", folder, "--arm", "no-anchors", "--keep", "results", "--device", "cpu", "--quiet")
    arms = {one.at["arm"] for one in study.measurements if one.step.tokens and study.store.is_done(one.step.key)}
    assert arms == {"no-anchors"}
    isoglot("study", "resume", folder, "--device", "cpu", "--quiet")
    assert not study.needed()
    with raises("config.unknown-name", "no-such"):
        study.part(["no-such"])


def test_nothing_is_prepared_whose_inputs_need_a_gpu_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Step("builtin-text", {"language": "en"})
    vectors = Step("word-vectors", {"language": "en"}, {"text": text}, heavy=("vectors.safetensors",))
    words = Step("word-retrieval", {}, {"en.source": vectors})
    study = Study(tmp_path, {"arms": {}}, [text, vectors, words], [Measurement(words, {})])
    assert study.part(prepare=True).needed() == [text]
    monkeypatch.setattr(study.store.__class__, "is_done", lambda _, key: key in (text.key, vectors.key))
    monkeypatch.setattr(study.store.__class__, "is_whole", lambda _, key: key == text.key)  # the vectors were removed
    assert study.needed() == [vectors, words]
    assert study.part(prepare=True).needed() == []


def test_studies_of_other_budgets_are_not_merged(tmp_path: Path) -> None:
    Study.create(tmp_path / "a", _arm("default"))
    Study.create(tmp_path / "b", _arm("default", "tokens=4000"))
    with raises("config.other-settings", tmp_path / "a", tmp_path / "b", "2,000", "4,000"):
        merge_studies([tmp_path / "a", tmp_path / "b"], tmp_path / "ab")
    assert not (tmp_path / "ab").exists()
    Study.create(tmp_path / "c", _arm("no-anchors"))
    merged, _ = merge_studies([tmp_path / "a", tmp_path / "c"], tmp_path / "ac")
    assert _measured_arms(merged) == {"default", "no-anchors"}


def test_a_study_that_recorded_no_settings_can_be_added_to(tmp_path: Path) -> None:
    old = Study.create(tmp_path / "old", _arm("default"))
    del old.about["settings"]
    old.save()
    Study.create(tmp_path / "new", _arm("no-anchors"))
    merged, _ = merge_studies([tmp_path / "old", tmp_path / "new"], tmp_path / "both")
    assert _measured_arms(merged) == {"default", "no-anchors"}


def test_arms_of_other_recipes_have_to_have_read_as_much(tmp_path: Path) -> None:
    for name, tokens in (("one", "20ktokens"), ("two", "40ktokens")):
        recipe = tmp_path / f"{name}.toml"
        recipe.write_text(
            f'title = "x"\nmeasures = ["retrieval"]\nscale = "nano"\nbudget = "{tokens}"\n[arms.default]\n'
        )
        Study.create(tmp_path / name, build_study(str(recipe), StudyData()))
    with raises("config.other-settings", "default", "en-de", "20,160", "40,320"):
        merge_studies([tmp_path / "one", tmp_path / "two"], tmp_path / "both")


def test_a_study_of_an_earlier_version_is_read_with_its_own_keys(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, _ = merge_studies([study.out], tmp_path / "copy")
    kinds = {name: kind._replace(version=kind.version + 1) for name, kind in KINDS.items()}
    monkeypatch.setattr("isoglot.study.steps.KINDS", kinds)
    opened = Study.open(copy.out)
    assert list(opened.steps) == list(study.steps)
    assert opened.needed() == []
    assert len(opened.numbers()) == len(study.numbers())
    planned = build_study("emergence", StudyData(), OPTIONS)
    assert {step.key for step in planned.steps}.isdisjoint(opened.steps)
    step = opened.measurements[0].step
    shutil.rmtree(opened.store.folder(step.key))
    with raises("storage.changed", step.key):
        opened.store.run(step, progress=SILENT)


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


def test_a_study_of_no_paper_is_compared_with_expected_numbers(isoglot, study: Study, tmp_path: Path) -> None:
    file = tmp_path / "expected.json"
    file.write_text(isoglot("study", "expected", str(study.out)).out)
    result = isoglot("study", "verify", str(study.out), "--against", str(file))
    assert result.code == 0
    assert "Nothing differs" in result.out
    assert "built-in languages" in result.out
    assert isoglot("study", "verify", str(study.out)).code == 2


def test_plans_count_tokens_and_what_is_done(study: Study, tmp_path: Path) -> None:
    built = build_study("emergence", StudyData(), OPTIONS)
    found = estimate(built, out=tmp_path / "none", device="cpu", timed=lambda *_: 1000.0)
    trained = [step for step in found.steps if step.kind == "pretrain"]
    assert [step.tokens for step in trained] == [2880, 2880]  # 3 steps of 32 x 30
    assert sum(step.seconds for step in trained) == pytest.approx(5.76)
    assert estimate(built, out=study.out, device="cpu", timed=lambda *_: 1000.0).seconds == 0


def test_plans_name_test_data_in_the_training_text_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = _texts(tmp_path)
    with (tmp_path / "de.txt").open("a") as text:
        text.write("Die Katze sieht ein Haus 3 times.\nDie Katze sieht ein Haus 4 times.\n")
    data = data_from(tables, folder=tmp_path)
    found = estimate(build_study("emergence", data, OPTIONS), device="cpu", timed=lambda *_: 1000.0)
    assert found.in_text == ("2 sentences of parallel-en-de (de) are in the training text and are removed.",)
    assert found.memory_gigabytes > 0.4  # that of Python and torch, and some for the training
    assert all(step.megabytes < 5 for step in found.steps)
    monkeypatch.setattr("isoglot.study.plan.overlap_with_tests", lambda *_, **__: pytest.fail("read again"))
    kept = build_study("emergence", data, replace(OPTIONS, keep_test_sentences=True))
    again = estimate(kept, device="cpu", timed=lambda *_: 1000.0)
    assert again.in_text == ("2 sentences of parallel-en-de (de) are in the training text and stay in it.",)


def test_the_time_left_is_known_from_a_plan_or_from_what_has_run(study: Study, tmp_path: Path, isoglot) -> None:
    assert time_left(study).seconds == 0
    built = build_study("emergence", StudyData(), replace(OPTIONS, scale_settings=(*TINY, "settings.batch.size=31")))
    fresh = Study.create(tmp_path / "fresh", built)
    assert time_left(fresh).untimed == 2
    planned = estimate(built, device="cpu", timed=lambda *_: 100.0)
    assert time_left(fresh).untimed == 0
    assert time_left(fresh).seconds == pytest.approx(planned.seconds)
    training = next(step for step in fresh.steps.values() if step.kind == "pretrain")
    log = fresh.store.scratch(training.key) / "run" / "metrics.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text('{"step": 1, "kind": "train", "tokens": 1000, "seconds": 1.0}\n{"step"')
    assert time_left(fresh).seconds == pytest.approx(planned.seconds - 2 * training.tokens / 100 + 2 * 2.79 - 1.0)
    result = isoglot("study", "status", str(fresh.out))
    assert result.code == 0
    assert "left" in result.err + result.out


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
    (tmp_path / "new" / "run.json").write_text('{"command": "isoglot report", "outputs": {}}')
    pytest.importorskip("vl_convert")
    assert isoglot("report", str(study.out), "--out", str(tmp_path / "new"), "--figures", "svg").code == 0
    drawn = {path.relative_to(tmp_path / "new").as_posix() for path in tmp_path.glob("new/figures/*.svg")}
    assert set(json.loads((tmp_path / "new" / "run.json").read_text())["outputs"]) == drawn != set()
    refused = isoglot("report", str(tmp_path))
    assert refused.code == 2
    assert "study.json" in refused.err


def test_a_study_is_one_file_if_asked(study: Study, isoglot, tmp_path: Path) -> None:
    assert isoglot("report", str(study.out), "--out", str(tmp_path / "one"), "--one-file").code == 0
    assert [path.name for path in (tmp_path / "one").iterdir() if path.suffix != ".json"] == ["index.html"]
    page = (tmp_path / "one" / "index.html").read_text(encoding="utf-8")
    assert 'src="vega.js"' not in page
    assert "vega" in page
    assert "download>" not in page, "no links to files that are not there"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text("<html></html>")
    refused = isoglot("report", str(tmp_path / "other"), "--one-file")
    assert refused.code == 2
    assert "one file" in refused.err


# --- data ---


def test_files_by_language_pair_and_split(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "en-train.conllu", "en-dev.conllu", "de-test.conllu"):
        (tmp_path / name).write_text(f"{name}\n")
    (tmp_path / "data.toml").write_text(
        '[text]\neng = "a.txt"\nde = ["b.txt"]\n[parallel]\nen-de = {en = "a.txt", de = "b.txt"}\n'
        '[treebank]\nen = "."\nde = "de-test.conllu"\n'
    )
    data = study_data(file=tmp_path / "data.toml")
    assert list(data.text) == ["en", "de"]
    assert set(data.tasks["parse"]["en"]) == {"train", "dev"}
    assert set(data.tasks["parse"]["de"]) == {"test"}
    assert set(data.tests("en")) == {"parse-dev", "parallel-en-de"}


def test_a_folder_has_files_of_german_turkish_and_spanish(tmp_path: Path) -> None:
    """The codes are in the names of splits: dev, train, test."""
    for code in ("de", "en", "es", "tr"):
        for split in ("train", "dev", "test"):
            (tmp_path / f"{split}-{code}.tsv.xz").write_text(f"{split} {code}\n")
            (tmp_path / f"{code}_gsd-ud-{split}.conllu").write_text(f"{split} {code}\n")
    with raises("config.duplicate", "de"):
        data_from({"ner": {"de": "."}}, folder=tmp_path)
    for path in tmp_path.glob("*.conllu"):
        path.unlink()
    found = data_from({"ner": dict.fromkeys(("de", "es", "tr"), ".")}, folder=tmp_path).tasks["ner"]
    for code, files in found.items():
        assert {split: Path(file.path).name for split, file in files.items()} == {
            split: f"{split}-{code}.tsv.xz" for split in ("train", "dev", "test")
        }


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
        build_study("table1", data_from(_texts(tmp_path) | files, folder=tmp_path), StudyOptions(scale="nano"))


def _texts(folder: Path) -> dict[str, dict[str, object]]:
    """Text of two languages, and parallel sentences."""
    for code, words in {"en": "The cat sees a house", "de": "Die Katze sieht ein Haus"}.items():
        (folder / f"{code}.txt").write_text("".join(f"{words} {number}.\n" for number in range(300)))
        (folder / f"test.{code}").write_text("".join(f"{words} {number} times.\n" for number in range(30)))
    return {
        "text": {"en": "en.txt", "de": "de.txt"},
        "parallel": {"en-de": {"en": "test.en", "de": "test.de"}},
    }


@pytest.mark.parametrize(
    ("tables", "options"),
    [
        ({"parallel": {"en-de": "prose.md"}}, StudyOptions()),
        ({"map-parallel": {"en-de": "prose.md"}}, StudyOptions()),
        ({"ner": {"de": {"test": "prose.md"}}}, StudyOptions()),
        ({"nli": {"de": {"test": "prose.md"}}}, StudyOptions()),
        ({"treebank": {"en": {"train": "prose.md"}}}, StudyOptions()),
        ({"dictionary": {"en-de": {"train": "prose.md"}}}, StudyOptions()),
        ({"ner": {"de": {"test": "empty.tsv"}}}, StudyOptions()),
        ({}, StudyOptions(segmentation={"de": "foo"})),
        ({}, StudyOptions(segmentation={"de": "jieba"})),
    ],
)
def test_files_that_cannot_be_read_are_refused_before_anything_runs(
    tmp_path: Path, tables: dict[str, object], options: StudyOptions
) -> None:
    (tmp_path / "prose.md").write_text("# Title\n\nA paragraph of prose, which is no table of anything.\n")
    (tmp_path / "empty.tsv").write_text("\n")
    good = _texts(tmp_path)
    build_study("emergence", data_from(good, folder=tmp_path), replace(OPTIONS, scale="nano"))
    with pytest.raises(IsoglotError) as refused:
        build_study("emergence", data_from(good | tables, folder=tmp_path), replace(options, scale="nano"))
    assert refused.value.code.startswith(("config.", "input."))
    assert any(name in str(refused.value) for name in ("prose.md", "empty.tsv", "foo", "jieba"))


def test_data_that_would_not_be_looked_at_is_refused(tmp_path: Path) -> None:
    tables = _texts(tmp_path)
    for name in ("thumbnail", "factorial"):
        with raises("config.conflicting-options", name):
            build_study(name, data_from(tables, folder=tmp_path))
        with raises("config.conflicting-options", name):
            build_study(name, StudyData(), StudyOptions(pairs=("en-de",)))
    del tables["text"]
    with raises("config.missing-data", "parallel"):
        build_study("emergence", data_from(tables, folder=tmp_path), OPTIONS)


def test_parallel_files_of_a_pair_serve_the_reversed_one(tmp_path: Path) -> None:
    tables = _texts(tmp_path)
    options = replace(OPTIONS, pairs=("de-en",))
    built = build_study("emergence", data_from(tables, folder=tmp_path), options)
    read = next(step for step in built.steps if step.kind == "sentence-retrieval")
    assert read.settings["languages"] == ["de", "en"]
    assert {name: Path(file.path).name for name, file in read.files.items()} == {
        "pairs.en": "test.en",
        "pairs.de": "test.de",
    }
    del tables["parallel"]
    with raises("config.missing-data", "de-en"):
        build_study("emergence", data_from(tables, folder=tmp_path), options)


def test_a_run_that_stops_before_anything_is_measured_says_so_in_a_line(isoglot, tmp_path: Path) -> None:
    settings = [word for setting in TINY for word in ("--set", setting)]
    result = isoglot(
        "study",
        "run",
        "emergence",
        "--out",
        str(tmp_path),
        "--stop-after",
        "0.001s",
        "--device",
        "cpu",
        "--quiet",
        *settings,
    )
    assert result.code == 0
    assert result.out.strip() == "No results yet."


@pytest.mark.parametrize(
    "given",
    [["--device", "cuda:77"], ["--engine", "slurm"], ["--engine", "slurm", "--workers", "2"], ["--segment", "de=foo"]],
)
def test_a_refused_study_leaves_no_folder(
    isoglot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: list[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    with raises("config.engine", "sbatch"):
        check_engine("slurm", RunOptions())
    result = isoglot("study", "run", "emergence", "--scale", "nano", "--out", str(tmp_path / "study"), *given)
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert not (tmp_path / "study").exists()

"""Experiments: grids and seeds, the mean of the best two, and what is written."""

from __future__ import annotations

import csv
import statistics
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from isoglot.core.config import build_config, load_recipe, recipe_names
from isoglot.core.errors import IsoglotError
from isoglot.core.files import read_json
from isoglot.transfer import Data, TuneConfig, Tuned, evaluate, find_task, fine_tune, load_tuned
from isoglot.transfer.experiment import compare_experiments, run_experiment
from isoglot.transfer.tasks.task import Passage
from isoglot.transfer.tuning.checks import in_training
from isoglot.transfer.tuning.fine_tuning import TaskTrainer
from isoglot.transfer.tuning.tuned_encoder import HeldVectors, RowVectors
from tests.errors import raises


def test_training_is_read_once_however_often_it_is_asked_what_is_in_it():
    read = list[str]()

    class Noted(Passage):
        def __getattribute__(self, name: str) -> object:
            read.append(name)
            return super().__getattribute__(name)

    train = {"en": Data([Noted(("one",), "a"), Noted(("two",), "a")])}
    read.clear()
    dev, test = Data([Passage(("one",), "b"), Passage(("three",))]), Data([Passage(("two",))] * 2)
    assert in_training(train, {"en": dev, "de": dev}) == {"en": 1}
    assert in_training(train, {"en": test}) == {"en": 2}
    assert read.count("texts") == 2


@pytest.mark.parametrize("name", recipe_names("transfer"))
def test_recipes_are_whole(name):
    config = build_config(TuneConfig, recipe=load_recipe(name, room="transfer"))
    assert config.settings()


def test_the_papers_grids():
    ner, nli = (build_config(TuneConfig, recipe=load_recipe(f"wu2020/{n}", room="transfer")) for n in ("ner", "nli"))
    assert [(s.batch_size, s.encoder_learning_rate) for s in ner.settings().values()] == [
        (batch, rate) for batch in (16, 32) for rate in (2e-5, 3e-5, 5e-5)
    ]
    assert next(iter(ner.settings())) == "batch_size=16 encoder_learning_rate=2e-05"
    assert (len(nli.settings()), nli.mean_of_best, nli.epoch_size) == (18, 2, 20_000)
    assert {s.rate_of_head for s in nli.settings().values()} == {5e-6, 2.5e-5, 1.25e-4}


def test_what_is_no_grid():
    with raises("config.invalid-value", "'batch_size'"):
        build_config(TuneConfig, settings=["grid.batch_size=[]"])
    with raises("config.invalid-value", "'schedule'"):
        build_config(TuneConfig, settings=["grid.schedule=[1]"])


def test_grid_and_seeds(nano, tmp_path: Path, monkeypatch):
    task = find_task("topic")
    train, dev = {"en": task.builtin("en", "train", 80)}, {code: task.builtin(code, "dev", 30) for code in ("en", "zh")}
    test = {code: task.builtin(code, "test", 30) for code in ("en", "zh")}
    config = build_config(
        TuneConfig,
        settings=[
            "tune=head",
            "epochs=2",
            "grid.head_learning_rate=[1e-4, 1e-2, 3e-2]",
            "seed=5",
            "unseen_labels=count",
        ],
    )
    encoder = nano()
    done = run_experiment(encoder, task, train, dev, test, config, tmp_path, seeds=2)
    assert [(trial.seed, trial.setting) for trial in done.trials] == [
        (seed, f"head_learning_rate={rate}") for seed in (5, 6) for rate in ("0.0001", "0.01", "0.03")
    ]
    for seed in (5, 6):
        mine = [trial for trial in done.trials if trial.seed == seed]
        best = sorted(mine, key=lambda trial: -trial.dev)[:2]
        assert {id(trial) for trial in mine if trial.chosen} == {id(trial) for trial in best}
    line = next(line for line in done.lines if (line.language, line.way) == ("zh", "source dev"))
    scores = {
        seed: [
            one.test.scores.main
            for trial in done.trials
            if trial.seed == seed
            for one in trial.tests
            if (one.language, one.way) == ("zh", "source dev")
        ]
        for seed in (5, 6)
    }
    assert all(len(some) == 2 for some in scores.values())
    means = [statistics.fmean(some) for some in scores.values()]
    assert line.facts()["score"] == pytest.approx(statistics.fmean(means), abs=1e-3)
    assert line.facts()["seed_deviation"] == pytest.approx(statistics.stdev(means), abs=1e-3)
    assert line.estimate.over_sentences.value == pytest.approx(statistics.fmean(means))

    for trial in done.trials:
        assert (Path(str(trial.folder)) / "epochs").exists() == trial.chosen
        assert load_tuned(str(trial.folder), device="cpu").epoch == trial.epoch

    result = read_json(tmp_path / "result.json")
    assert (result["task"], result["metric"], result["trained_on"]) == ("topic", "accuracy", ["en"])
    again = load_tuned(result["model"], device="cpu")
    best_trial = max(done.trials, key=lambda trial: trial.dev)
    assert evaluate(again, task, test)["zh"].scores.main == best_trial.tests[2].test.scores.main
    with (tmp_path / "result.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(done.lines) == 5
    counts = load_file(tmp_path / "sentences.safetensors")
    one = counts[f"{best_trial.seed}/{best_trial.setting}/zh/source dev"]
    assert one.shape == (30, 2)
    assert 100 * one[:, 0].sum() / one[:, 1].sum() == pytest.approx(best_trial.tests[2].test.scores.main)
    assert np.all(one[:, 1] == 1)
    read: list[object] = []

    def noted(tuned, task, data, **rest):
        read.extend(data.values())
        return evaluate(tuned, task, data, **rest)

    monkeypatch.setattr("isoglot.transfer.scoring.evaluation.evaluate", noted)
    resumed = run_experiment(encoder, task, train, dev, test, config, tmp_path, seeds=2, resume=True)
    assert {id(data) for data in read} == {id(data) for data in test.values()}  # dev was scored epoch by epoch
    assert [line.facts() for line in resumed.lines] == [line.facts() for line in done.lines]


def test_finished_settings_are_not_prepared_again(nano, tmp_path: Path, monkeypatch):
    task = find_task("topic")
    data = {"en": task.builtin("en", "dev", 20)}
    config = build_config(TuneConfig, settings=["tune=head", "epochs=1", "grid.head_learning_rate=[1e-4, 1e-2, 3e-2]"])
    done = run_experiment(nano(), task, data, data, data, config, tmp_path, allow_leak=True)
    (tmp_path / "seed-0" / "02" / "tuned.json").unlink()
    before = {path: path.read_bytes() for name in ("01", "03") for path in files_under(tmp_path / "seed-0" / name)}
    prepared: list[float] = []

    class Noted(TaskTrainer):
        def __init__(self, *given):
            super().__init__(*given)
            prepared.append(self.config.rate_of_head)

    monkeypatch.setattr("isoglot.transfer.tuning.fine_tuning.TaskTrainer", Noted)
    resumed = run_experiment(nano(), task, data, data, data, config, tmp_path, resume=True, allow_leak=True)
    assert prepared == [1e-2]
    assert {path: path.read_bytes() for path in before} == before
    assert [trial.facts() for trial in resumed.trials] == [trial.facts() for trial in done.trials]


def test_what_is_finished_cannot_be_left_out(nano, tmp_path: Path):
    """Of a smaller grid a loser, whose epochs are gone, would be among the best; of fewer seeds the result be lost."""
    task = find_task("topic")
    data = {"en": task.builtin("en", "dev", 20)}

    def run(out: Path, grid: str, *settings: str, seeds: int = 2, resume: bool = True):
        given = ["tune=head", "epochs=2", f"grid.head_learning_rate={grid}", *settings]
        config = build_config(TuneConfig, settings=given)
        return run_experiment(nano(), task, data, data, data, config, out, seeds=seeds, resume=resume, allow_leak=True)

    out = tmp_path / "out"
    run(out, "[1e-4, 1e-2, 3e-2]", resume=False)
    before = {path: path.read_bytes() for path in files_under(out)}
    for left_out, grid, settings, seeds in (
        ("seed-0/03", "[1e-4, 1e-2]", [], 2),
        ("seed-1/01", "[1e-4, 1e-2, 3e-2]", [], 1),
        ("seed-0/01", "[1e-4, 1e-2, 3e-2]", ["seed=1"], 2),
    ):
        with raises("config.other-settings", out, left_out):
            run(out, grid, *settings, seeds=seeds)
    for key, grid, settings in (
        ("config.head_learning_rate", "[1e-2, 3e-2]", []),
        ("config.mean_of_best", "[1e-4, 1e-2, 3e-2]", ["mean_of_best=3"]),
    ):
        with raises("config.other-settings", key):
            run(out, grid, *settings)
    assert {path: path.read_bytes() for path in files_under(out)} == before

    more = run(out, "[1e-4, 1e-2, 3e-2, 1e-1]", seeds=3)
    whole = run(tmp_path / "whole", "[1e-4, 1e-2, 3e-2, 1e-1]", seeds=3, resume=False)
    assert [line.facts() for line in more.lines] == [line.facts() for line in whole.lines]
    assert {(trial.seed, trial.setting) for trial in more.trials if trial.chosen} == {
        (trial.seed, trial.setting) for trial in whole.trials if trial.chosen
    }

    run(tmp_path / "failed", "[1e-4, 1e-2]", seeds=1, resume=False)
    (tmp_path / "failed" / "seed-0" / "02" / "tuned.json").unlink()  # as if its loss had not been finite
    assert [trial.setting for trial in run(tmp_path / "failed", "[1e-4]", seeds=1).trials] == [
        "head_learning_rate=0.0001"
    ]


def test_frozen_vectors_are_computed_once_for_all_runs(nano, monkeypatch):
    task, encoder = find_task("topic"), nano()
    train, dev = {"en": task.builtin("en", "train", 30)}, {"en": task.builtin("en", "dev", 20)}
    frozen = ["tune=head", "epochs=2", "unseen_labels=count"]
    config = build_config(TuneConfig, settings=[*frozen, "grid.head_learning_rate=[1e-3, 1e-2]"])
    read: list[int] = []

    compute = RowVectors._all

    def counted(self, rows, *rest):
        read.append(len(rows))
        return compute(self, rows, *rest)

    monkeypatch.setattr(RowVectors, "_all", counted)
    alone = [
        fine_tune(encoder, task, train, dev, build_config(TuneConfig, values=one.model_dump(mode="json") | {"seed": s}))
        for s in (0, 1)
        for one in config.settings().values()
    ]
    assert sum(read) == 4 * 50
    read.clear()
    made: list[Tuned] = []

    def noted(*given, **named):
        made.append(fine_tune(*given, **named))
        return made[-1]

    monkeypatch.setattr("isoglot.transfer.experiment.fine_tune", noted)
    run_experiment(encoder, task, train, dev, dev, config, seeds=2)
    assert sum(read) == 50
    for one, other in zip(made, alone, strict=True):
        assert [(each["loss"], each["dev"]) for each in one.history] == [
            (each["loss"], each["dev"]) for each in other.history
        ]
        assert all(torch.equal(one.weights()[name], tensor) for name, tensor in other.weights().items())

    read.clear()  # what vectors depend on
    varied = build_config(TuneConfig, settings=[*frozen, "grid.layer=[1, 2]", "grid.max_length=[12, 64]"])
    run_experiment(encoder, task, train, dev, dev, varied, seeds=2)
    assert sum(read) == 4 * 50
    read.clear()  # more than may be held
    monkeypatch.setattr("isoglot.transfer.tuning.tuned_encoder.HELD", 4 * 30 * encoder.hidden_size)
    run_experiment(encoder, task, train, dev, dev, config, seeds=2)
    assert sum(read) == 30 + 4 * 20


def test_vectors_of_another_encoder_are_left_alone(nano):
    task, encoder = find_task("topic"), nano()
    data = {"en": task.builtin("en", "dev", 20)}
    config = build_config(TuneConfig, settings=["tune=head", "epochs=1"])
    held, other = HeldVectors(encoder), nano()
    with torch.no_grad():
        next(other.parameters()).mul_(-1)
    losses = [
        fine_tune(each, task, data, data, config, held=some).history[0]["loss"]
        for each, some in ((encoder, held), (other, held), (other, None))
    ]
    assert losses[0] != losses[1] == losses[2]


def files_under(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_examples_are_hashed_once():
    data = Data([Passage(("a",), "x"), Passage(("b",), "y")], "one.tsv")
    assert data.sha256 is data.sha256
    assert data.sha256 == Data(list(data.examples), "other.tsv").sha256 != data.head(1).sha256


def test_a_hash_is_of_the_examples_there_are():
    given = [Passage(("a",), "x")]
    data = Data(given)
    before = data.sha256
    given.append(Passage(("b",), "y"))
    assert len(data) == 1
    assert data.sha256 == Data(data.examples).sha256 == before != Data(given).sha256


def test_all_scores_of_a_task_are_there(nano, tmp_path: Path):
    task = find_task("parse")
    data = {code: task.builtin(code, "dev", 20) for code in ("en", "zh")}
    settings = [
        "tune=head",
        "epochs=1",
        "grid.head_learning_rate=[1e-3, 3e-2]",
        "head.arc_size=8",
        "head.relation_size=8",
    ]
    config = build_config(TuneConfig, settings=settings)
    done = run_experiment(nano(), task, {"en": data["en"]}, data, data, config, tmp_path, seeds=2, allow_leak=True)
    line = next(line for line in done.lines if (line.language, line.way) == ("zh", "source dev"))
    tests = [one.test.scores for trial in done.trials for one in trial.tests]
    mine = [one.test.scores for t in done.trials for one in t.tests if (one.language, one.way) == ("zh", "source dev")]
    assert (len(tests), len(mine)) == (12, 4)
    assert list(line.others) == ["uas", "las without punctuation", "uas without punctuation"]
    for name, value in line.others.items():
        assert value == pytest.approx(statistics.fmean(scores.values[name] for scores in mine))
    with (tmp_path / "result.csv").open(newline="") as file:
        row = next(row for row in csv.DictReader(file) if (row["language"], row["way"]) == ("zh", "source dev"))
    assert float(row["uas"]) == pytest.approx(line.others["uas"], abs=1e-3)
    assert float(row["las without punctuation"]) == line.facts()["las without punctuation"]


def test_what_is_wrong_with_a_test_set_is_said_before_the_work(nano, tmp_path: Path):
    task = find_task("topic")
    data = {"en": task.builtin("en", "train", 40)}
    path = tmp_path / "zh.tsv"
    path.write_text("一\tfarm\n二\tmoon\n")
    with raises("input.unknown-label", "zh.tsv", "'moon'", line=2):
        run_experiment(nano(), task, data, data, {"zh": task.read(path, "zh")}, out=tmp_path / "out")
    with raises("config.unknown-language", "'sw'"):
        run_experiment(nano("1"), task, data, data, {"sw": data["en"]}, out=tmp_path / "out")
    with raises("input.empty", "zh"):
        run_experiment(nano(), task, data, data, {"zh": Data([])}, out=tmp_path / "out")
    with raises("input.empty", "zh"):
        run_experiment(nano(), task, data, {**data, "zh": Data([])}, data, out=tmp_path / "out")
    with raises("config.missing-data", "en"):
        run_experiment(nano(), task, data, {"zh": data["en"]}, data, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with raises("config.missing-data"):
        run_experiment(nano(), task, data, data, {})
    with raises("config.missing-data"):
        run_experiment(nano(), task, data, data, {"en": Data([Passage(("a",), "sea")])}, seeds=0)


def test_two_experiments_are_compared_on_the_same_sentences(nano, tmp_path: Path, each_damage):
    task = find_task("pos")
    train, dev = {"en": task.builtin("en", "train", 60)}, {"en": task.builtin("en", "dev", 20)}
    test = {code: task.builtin(code, "test", 30) for code in ("en", "zh")}
    settings = {"good": ["epochs=3", "head_learning_rate=3e-2"], "bad": ["epochs=1", "head_learning_rate=1e-5"]}
    for name, chosen in settings.items():
        config = build_config(TuneConfig, settings=["tune=head", *chosen])
        run_experiment(nano(), task, train, dev, test, config, tmp_path / name, seeds=2)
    found = {one.language: one for one in compare_experiments(tmp_path / "good", tmp_path / "bad")}
    assert set(found) == {"en", "zh"}
    assert found["en"].facts()["difference"] == pytest.approx(found["en"].one - found["en"].other, abs=1e-3)
    assert found["en"].one > found["en"].other
    assert found["en"].comparison.p < 0.05
    assert found["en"].comparison.p_corrected >= found["en"].comparison.p
    for _ in each_damage(tmp_path / "good" / "result.json"):
        for use in (partial(compare_experiments, other=tmp_path / "bad"), load_tuned):
            with suppress(IsoglotError):
                use(tmp_path / "good")
    same = compare_experiments(tmp_path / "good", tmp_path / "good")
    assert [(one.comparison.difference.value, one.comparison.p) for one in same] == [(0.0, 1.0)] * 2
    other = {"zh": task.builtin("zh", "test", 30, seed=9)}
    config = build_config(TuneConfig, settings=["tune=head", "epochs=1"])
    run_experiment(nano(), task, train, dev, other, config, tmp_path / "other", seeds=2)
    with raises("input.other-data", "zh"):
        compare_experiments(tmp_path / "good", tmp_path / "other")
    with raises("input.no-match"):
        compare_experiments(tmp_path / "good", tmp_path / "bad", way="oracle")
    with raises("input.no-match"):
        compare_experiments(tmp_path / "good", tmp_path / "bad", way="averaged")
    run_experiment(nano(), task, train, dev, {"en-x-shift": test["en"]}, config, tmp_path / "twin", seeds=2)
    with raises("input.no-match"):
        compare_experiments(tmp_path / "twin", tmp_path / "other")
    with raises("storage.not-found"):
        compare_experiments(tmp_path / "good", tmp_path)


def test_a_head_learned_alone_leaves_the_encoder_trainable(nano):
    task, encoder = find_task("pos"), nano()
    train, dev, test = ({"en": task.builtin("en", split, 30)} for split in ("train", "dev", "test"))
    run_experiment(encoder, task, train, dev, test, build_config(TuneConfig, settings=["tune=head", "epochs=1"]))
    assert all(parameter.requires_grad for parameter in encoder.parameters())

"""The reason to exist, in little: what is shared meets, what is separated does not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from isoglot.core.config import build_config
from isoglot.core.files import read_json
from isoglot.study.build import StudyOptions, build_study
from isoglot.study.data import StudyData
from isoglot.study.demo.thumbnail import ThumbnailConfig, choose_size, run_thumbnail
from isoglot.study.engines import RunOptions, StepQueue
from isoglot.study.engines.local import run_local
from isoglot.study.study import Study
from tests.errors import raises

TINY = {"sentences": 1500, "test_sentences": 20, "vocabulary_size": 600}


def test_a_shared_encoder_finds_twins_and_a_separated_one_does_not(tmp_path: Path):
    """300 steps: enough where 40 % of the words are anchors (three seeds: 21 to 26 %, separated 0.5 to 1 %); chance is 0.5 %."""
    recipe = tmp_path / "more-anchors.toml"
    recipe.write_text('extends = "thumbnail"\n[arms.anchors.twin]\nanchors = 0.4\n')
    settings = ("tokens=576000", "builtin_sentences=6000", "vocabulary_size=1000", "pairs=200", "threads=1")
    options = StudyOptions(scale_settings=settings, arms=("anchors", "separated"))
    study = Study.create(tmp_path / "study", build_study(str(recipe), StudyData(), options))
    assert not run_local(study, RunOptions(device="cpu")).failed
    found = study.numbers()
    shared, separated = (max(one.value for one in found.select("sentence_p1", arm=arm)) for arm in options.arms)
    assert shared > 0.10
    assert separated < 0.04
    assert found.select("used_anchors", arm="anchors").one.value > 100
    assert found.select("used_anchors", arm="separated").one.value == 0


def test_a_result_has_scores_over_training_and_is_read_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("isoglot.study.twin_steps.EVERY", 2)
    config = build_config(ThumbnailConfig, values=TINY | {"budget": "5steps", "arms": ["anchors"]})
    (found,), size = run_thumbnail(tmp_path, config, device="cpu")
    assert [moment.tokens for moment in found.moments] == [steps * 64 * 30 for steps in (2, 4, 5)]
    assert found.moments[-1].centered == found.centered
    assert len(found.centered) == len(found.raw) == 3
    assert (found.steps, found.tokens) == (5, size.tokens)
    assert run_thumbnail(tmp_path, config, device="cpu")[0] == [found]


def test_no_such_arm():
    with raises("config.invalid-value", "'wings'"):
        build_config(ThumbnailConfig, values={"arms": ["wings"]})


def test_a_folder_that_is_not_the_demos_stays_as_it_is(tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("mine")
    with raises("config.would-overwrite", tmp_path):
        run_thumbnail(tmp_path, build_config(ThumbnailConfig, values=TINY | {"budget": "1steps"}), device="cpu")
    assert [path.name for path in tmp_path.rglob("*")] == ["thesis.txt"]


def test_a_plan_of_another_size_is_replaced(tmp_path: Path):
    for budget, steps in (("1steps", 1), ("2steps", 2)):
        config = build_config(ThumbnailConfig, values=TINY | {"budget": budget, "arms": ["no-anchors"]})
        (found,), _ = run_thumbnail(tmp_path, config, device="cpu")
        assert found.steps == steps


def test_encoders_are_trained_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An encoder pauses after its slice, for the next one; slices change nothing."""
    settings = ("tokens=30720", "builtin_sentences=1000", "vocabulary_size=600", "pairs=20", "threads=1")
    results, orders = [], []
    for steps in (6, 100):
        monkeypatch.setattr("isoglot.study.twin_steps.SLICE", steps)
        options = StudyOptions(scale_settings=settings, arms=("anchors", "no-anchors"))
        study = Study.create(tmp_path / str(steps), build_study("thumbnail", StudyData(), options))
        order: list[str] = []
        is_ready = StepQueue.is_ready

        def ready(self, step, order=order, is_ready=is_ready):
            found = is_ready(self, step)
            if found and step.kind == "pretrain":
                order.append(step.title.split()[2].rstrip(","))
            return found

        monkeypatch.setattr(StepQueue, "is_ready", ready)
        assert not run_local(study, RunOptions(device="cpu")).failed
        monkeypatch.setattr(StepQueue, "is_ready", is_ready)
        orders.append(order)
        results.append([number.as_json() for number in study.numbers()])
    assert results[0] == results[1]
    assert orders == [["anchors", "no-anchors"] * 3, ["anchors", "no-anchors"]]


@pytest.mark.parametrize(
    ("speed", "tokens", "full"),
    [(80_000, 6_000_000, True), (60_000, 3_000_000, False), (20_000, 1_500_000, False), (1, 750_000, False)],
)
def test_a_slow_machine_is_given_fewer_tokens(monkeypatch: pytest.MonkeyPatch, speed: int, tokens: int, full: bool):
    monkeypatch.setattr("isoglot.study.plan.training_speed", lambda *_: float(speed))
    size = choose_size(ThumbnailConfig(), device="cpu")
    assert tokens <= size.tokens < tokens + 64 * 30
    assert (size.full, size.tokens_per_second) == (full, speed)
    assert size.threads == min(2, torch.get_num_threads())


def test_a_size_is_chosen_once_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = build_config(ThumbnailConfig, values=TINY | {"budget": "0.5s", "arms": ["no-anchors"], "threads": 1})
    monkeypatch.setattr("isoglot.study.plan.training_speed", lambda *_: 10 * 64 * 30.0)
    results, size = run_thumbnail(tmp_path, config, device="cpu")
    assert (size.steps, size.threads, results[0].steps) == (5, 1, 5)
    assert read_json(tmp_path / "size.json")["size"]["steps"] == 5
    monkeypatch.setattr("isoglot.study.plan.training_speed", lambda *_: pytest.fail("timed again"))
    assert run_thumbnail(tmp_path, config, device="cpu") == (results, size)

"""The reason to exist, in little: what is shared meets, what is separated does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from isoglot.core.config import build_config
from isoglot.core.files import read_json
from isoglot.study.demo import thumbnail
from isoglot.study.demo.thumbnail import ThumbnailConfig, choose_size, run_thumbnail
from tests.errors import raises

SMALL = {"sentences": 6000, "test_sentences": 200, "vocabulary_size": 1000, "anchor_share": 0.4}
TINY = SMALL | {"sentences": 1500, "test_sentences": 20, "vocabulary_size": 600}


def test_a_shared_encoder_finds_twins_and_a_separated_one_does_not(tmp_path: Path):
    """300 steps: enough where 40 % of the words are anchors (three seeds: 21 to 26 %, separated 0.5 to 1 %); chance is 0.5 %."""
    config = build_config(ThumbnailConfig, values=SMALL | {"budget": "300steps", "arms": ["anchors", "separated"]})
    (shared, separated), _ = run_thumbnail(tmp_path, config, device="cpu")
    assert shared.best > 0.10
    assert separated.best < 0.04
    assert shared.anchors > 100
    assert separated.anchors == 0
    assert [moment.tokens for moment in shared.moments] == [250 * 64 * 30, 300 * 64 * 30]
    assert len(shared.centered) == len(shared.raw) == 3
    assert run_thumbnail(tmp_path, config, device="cpu")[0] == [shared, separated]  # from its files


def test_no_such_arm():
    with raises("config.invalid-value", "'wings'"):
        build_config(ThumbnailConfig, values={"arms": ["wings"]})


@pytest.mark.parametrize("theirs", ["thesis.txt", "result.json"])
def test_a_folder_that_is_not_the_demos_stays_as_it_is(tmp_path: Path, theirs: str):
    (tmp_path / "separated").mkdir()
    (tmp_path / "separated" / theirs).write_text('{"task": "ner"}')
    with raises("config.would-overwrite", tmp_path / "separated"):
        run_thumbnail(tmp_path, build_config(ThumbnailConfig, values=SMALL | {"budget": "1steps"}), device="cpu")
    assert [path.name for path in tmp_path.rglob("*")] == ["separated", theirs]


def test_an_arm_that_was_cut_short_begins_anew(tmp_path: Path):
    short = {"test_sentences": 10, "budget": "1steps", "arms": ["no-anchors"]}
    with raises("config.invalid-value"):
        run_thumbnail(
            tmp_path, build_config(ThumbnailConfig, values=SMALL | short | {"vocabulary_size": 300}), device="cpu"
        )
    (found,), _ = run_thumbnail(tmp_path, build_config(ThumbnailConfig, values=SMALL | short), device="cpu")
    assert found.steps == 1


def test_encoders_are_trained_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """At every moment all have read the same number of tokens but for one slice."""
    monkeypatch.setattr(thumbnail, "SLICE", 20)
    config = build_config(ThumbnailConfig, values=TINY | {"budget": "50steps", "arms": ["anchors", "separated"]})
    trained: list[tuple[str, int]] = []
    real = thumbnail.ArmTraining.train

    def train(self, end):
        real(self, end)
        trained.append((self.arm.name, self.step))

    monkeypatch.setattr(thumbnail.ArmTraining, "train", train)
    (first, second), size = run_thumbnail(tmp_path, config, device="cpu")
    assert trained == [(name, step) for step in (20, 40, 50) for name in ("anchors", "separated")]
    assert first.tokens == second.tokens == size.tokens == 50 * 64 * 30


def test_slices_and_kills_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    config = build_config(ThumbnailConfig, values=TINY | {"budget": "30steps", "arms": ["anchors", "separated"]})
    whole, _ = run_thumbnail(tmp_path / "whole", config, device="cpu")
    monkeypatch.setattr(thumbnail, "SLICE", 10)
    real, calls = thumbnail.ArmTraining.train, []

    def killed(self, end):
        calls.append(end)
        if len(calls) == 4:
            raise KeyboardInterrupt
        real(self, end)

    monkeypatch.setattr(thumbnail.ArmTraining, "train", killed)
    with pytest.raises(KeyboardInterrupt):
        run_thumbnail(tmp_path / "sliced", config, device="cpu")
    sliced, _ = run_thumbnail(tmp_path / "sliced", config, device="cpu")
    assert [replace(one, seconds=0) for one in sliced] == [replace(one, seconds=0) for one in whole]


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

"""The reason to exist, in little: what is shared meets, what is separated does not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from isoglot.core import devices as threads
from isoglot.core.config import build_config
from isoglot.study.demo import thumbnail
from isoglot.study.demo.thumbnail import ThumbnailConfig, run_thumbnail
from tests.errors import raises

SMALL = {"sentences": 6000, "test_sentences": 200, "vocabulary_size": 1000, "anchor_share": 0.4}


def test_a_shared_encoder_finds_twins_and_a_separated_one_does_not(tmp_path: Path):
    """300 steps: enough where 40 % of the words are anchors (three seeds: 21 to 26 %, separated 0.5 to 1 %); chance is 0.5 %."""
    config = build_config(ThumbnailConfig, values=SMALL | {"budget": "300steps", "arms": ["anchors", "separated"]})
    shared, separated = run_thumbnail(tmp_path, config, device="cpu")
    assert shared.best > 0.10
    assert separated.best < 0.04
    assert shared.anchors > 100
    assert separated.anchors == 0
    assert [moment.tokens for moment in shared.moments] == [250 * 64 * 30, 300 * 64 * 30]
    assert len(shared.centered) == len(shared.raw) == 3
    assert run_thumbnail(tmp_path, config, device="cpu") == [shared, separated]  # from its files


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
    (found,) = run_thumbnail(tmp_path, build_config(ThumbnailConfig, values=SMALL | short), device="cpu")
    assert found.steps == 1


def test_arms_see_the_same_tokens_also_where_a_clock_ends_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The second arm's clock is a hundred times as quick: by time it would end at once."""
    config = build_config(
        ThumbnailConfig, values=SMALL | {"test_sentences": 10, "budget": "0.3s", "arms": ["anchors", "separated"]}
    )
    real = thumbnail.run_arm

    def slower(arm, *arguments, **options):
        clock = time.monotonic
        if arm.name == "separated":
            monkeypatch.setattr("isoglot.pretrain.train.time.monotonic", lambda: 100 * clock())
        return real(arm, *arguments, **options)

    monkeypatch.setattr(thumbnail, "run_arm", slower)
    first, second = run_thumbnail(tmp_path, config, device="cpu")
    assert first.tokens == second.tokens > 0
    assert ThumbnailConfig().budget == "6Mtokens"


def test_a_busy_machine_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "_seconds", lambda: float(torch.get_num_threads()))
    told: list[str] = []
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with thumbnail._threads("cpu", told.append):
            assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert told == ["With 1 of 2 threads it is quickest now: encoders are small, or the machine is busy."]

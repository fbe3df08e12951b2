"""``torchrun`` inside a step: two processes that train as one learn what one alone does."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from threading import Thread

import pytest

from isoglot.core.progress import SILENT
from isoglot.study.build import StudyOptions, build_study
from isoglot.study.data import StudyData
from isoglot.study.kinds import pretrain as torchrun
from isoglot.study.steps import Paused, Work
from isoglot.study.store import Store
from tests.study.fake_steps import wait_until

RECIPE = """\
title = "one arm"
measures = ["emergence"]

[arms.default]
settings = {model = {dropout = 0.0}}
"""
TINY = (
    "tokens=100_000",
    "moments=1",
    "settings.log.every=1",
    "builtin_sentences=200",
    "settings.model.layers=2",
    "pairs=20",
)


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE)
    options = StudyOptions(scale="nano", scale_settings=TINY)
    built = build_study(str(tmp_path / "recipe.toml"), StudyData(), options)
    alone, two = Store(tmp_path / "alone"), Store(tmp_path / "two")
    *inputs, step = built.steps[: 1 + next(at for at, one in enumerate(built.steps) if one.kind == "pretrain")]
    for one in inputs:
        alone.run(one, device="cpu", progress=SILENT)
    two.merge(alone)
    alone.run(step, device="cpu", progress=SILENT)
    metrics = two.steps / f".{step.key}.work" / "scratch" / "run" / "metrics.jsonl"

    def interrupt() -> None:
        wait_until(lambda: metrics.exists() and metrics.stat().st_size, 100)  # they train
        os.kill(os.getpid(), signal.SIGINT)

    Thread(target=interrupt).start()
    with pytest.raises(Paused):
        two.run(step, device="cpu", processes=2, progress=SILENT)
    two.run(step, device="cpu", processes=2, progress=SILENT)  # which goes on from there
    # The encoder, and the one at every evaluation.
    assert set((alone.record(step.key) or {})["payload"]) == set((two.record(step.key) or {})["payload"])
    for language in ("en", "de"):
        found = [store.numbers(step.key).select("perplexity", language=language).one.value for store in (alone, two)]
        assert found[0] == pytest.approx(found[1], rel=1e-3)
    tokens = [store.numbers(step.key).select("training_tokens").one.value for store in (alone, two)]
    assert tokens[0] == tokens[1]


def test_processes_that_do_not_start_are_a_failed_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torchrun, "__name__", "isoglot.no_such_module")
    work = Work(
        settings={}, execution={}, inputs={}, folder=tmp_path, scratch=tmp_path, device="cpu", processes=2,
        deadline=None, progress=SILENT, say=lambda _: None, cache={},
    )  # fmt: skip
    with pytest.raises(RuntimeError, match="status 1"):
        torchrun.train_with_torchrun(work)

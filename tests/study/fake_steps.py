"""Steps that sleep, pause, crash or fail, for tests of engines: quick, and known to worker processes as well."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from isoglot.core.errors import InputError
from isoglot.study import steps
from isoglot.study.build import Measurement
from isoglot.study.numbers import Number
from isoglot.study.steps import Paused, Step, Work
from isoglot.study.study import Study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KINDS = ("fake", "fake-resumable")
REGISTER = f"""\
import sys
sys.path.append({str(Path(__file__).parents[2])!r})
from isoglot.study import steps
for kind in {KINDS!r}:
    steps.KINDS[kind] = steps.Kind(1, "tests.study.fake_steps:compute")
steps.RESUMABLE = (*steps.RESUMABLE, "fake-resumable")
"""
"""Run by every Python process that is started while :func:`fake_kinds` is used."""


def compute(work: Work) -> Sequence[Number]:
    """Do as ``settings["do"]`` says; every attempt that begins adds a line to the log of the test."""
    do, seconds = work.settings.get("do", ""), work.settings.get("seconds", 0.0)
    log = Path(work.settings["log"])
    with log.open("a") as out:
        out.write(json.dumps({"name": work.settings["name"], "pid": os.getpid(), "at": time.time()}) + "\n")
    first = not (work.scratch / "attempt").exists()
    (work.scratch / "attempt").touch()
    if do == "fail":
        raise InputError("no such thing", remedy="give another")
    if do in ("SIGKILL", "SIGSEGV") or (do == "SIGKILL once" and first):
        os.kill(os.getpid(), signal.Signals[do.split()[0]])
    if do == "progress":
        with work.progress.task("sleeping", total=5, unit="naps") as task:
            task.advance(2)
    if do != "long once" or first:
        _spend(work, seconds)
    (work.folder / "result.txt").write_text(work.settings["name"])
    (work.folder / "heavy").mkdir()
    (work.folder / "heavy" / "weights.bin").write_bytes(b"0" * 100)
    return [Number("value", float(len(work.inputs)))]


def _spend(work: Work, seconds: float) -> None:
    """Sleep, from where an earlier attempt stopped."""
    spent = work.scratch / "spent"
    done = float(spent.read_text()) if spent.exists() else 0.0
    try:
        while done < seconds:
            time.sleep(0.02)
            done += 0.02
            if work.deadline is not None and time.monotonic() >= work.deadline:
                raise Paused
    finally:
        spent.write_text(str(done))


@pytest.fixture
def fake_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the kinds known to this process and to all that it starts."""
    for kind in KINDS:
        monkeypatch.setitem(steps.KINDS, kind, steps.Kind(1, f"{__name__}:compute"))
    monkeypatch.setattr("isoglot.study.engines.local.RESUMABLE", ("fake-resumable",))
    folder = tmp_path / "start-up"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(REGISTER)
    source = str(Path(steps.__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), source]))


class Plan:
    """A study of fake steps.

    Args:
        folder: The folder of the test.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "attempts.log"
        self.steps: dict[str, Step] = {}

    def add(self, name: str, *inputs: str, kind: str = "fake", tokens: int = 0, **settings: Any) -> Step:
        """Add a step that reads others; one with tokens trains."""
        self.steps[name] = Step(
            kind,
            {"name": name, "log": str(self.log), **settings},
            {one: self.steps[one] for one in inputs},
            title=name,
            heavy=("heavy",),
            tokens=tokens,
        )
        return self.steps[name]

    def study(self) -> Study:
        """Write the plan to a folder."""
        read = {one.key for step in self.steps.values() for one in step.steps.values()}
        wanted = [step for step in self.steps.values() if step.key not in read]
        about: Mapping[str, Any] = {"recipe": "fake", "threads": 1}
        made = Study(self.folder / "study", about, list(self.steps.values()), [Measurement(s, {}) for s in wanted])
        made.save()
        return made

    def attempts(self) -> list[str]:
        """Names of the steps that were begun, as often as they were."""
        return [json.loads(line)["name"] for line in self._lines()]

    def processes(self) -> list[int]:
        """The process of each attempt."""
        return [json.loads(line)["pid"] for line in self._lines()]

    def began(self) -> dict[str, float]:
        """When each step was begun, the last time."""
        return {one["name"]: one["at"] for one in map(json.loads, self._lines())}

    def _lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def status(self, study: Study) -> dict[str, str]:
        """Status by name."""
        return {state.step.title: state.status for state in study.states()}


def wait_until(condition: Any, seconds: float = 20.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def command(*words: str) -> list[str]:
    """A command line of isoglot."""
    return [sys.executable, "-m", "isoglot", *words]

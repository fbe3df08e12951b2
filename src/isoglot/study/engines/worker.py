"""A worker process: computes the steps it is asked for, one after another, and reports as JSON lines.

It caches what it loads, so that an encoder is read once for all its measurements. A step that crashes ends the worker
and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from isoglot.core.errors import IsoglotError, StorageError, one_line
from isoglot.study.engines import end_with_parent
from isoglot.study.step_owner import StepTakenError
from isoglot.study.steps import Paused
from isoglot.study.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_EVERY = 0.5  # seconds between two reports of progress


def work(out: str | Path, device: str) -> None:
    """Compute steps as they are asked for on standard input, until it ends."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has the processes in its background ignore it
    signal.signal(signal.SIGTERM, lambda *_: None)  # of a whole job: whoever started the worker says when to end
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what libraries print goes to the log
    report = Report(channel)
    study = Study.open(out)
    cache: dict[Any, Any] = {}
    _open_device(device)
    report(event="ready")
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["key"] not in study.steps:
            study = Study.open(out)
        report(**compute(study, asked, device, report, cache))


def _open_device(device: str) -> None:
    """Load torch and start the GPU, which takes seconds, before there is a step; whatever fails fails again there."""
    if device != "cpu":
        with contextlib.suppress(Exception):
            import torch

            from isoglot.core.devices import choose_device

            torch.zeros(1, device=choose_device(device))


def compute(study: Study, asked: dict[str, Any], device: str, report: Report, cache: dict[Any, Any]) -> dict[str, Any]:
    """Compute a step; returns an event with its outcome."""
    key, seconds = asked["key"], asked["seconds"]
    if key not in study.steps:
        return {"event": "failed", "key": key, "error": "the study has another plan now", "final": True}
    try:
        study.store.run(
            study.steps[key],
            device=device,
            processes=asked["processes"],
            deadline=None if seconds is None else time.monotonic() + seconds,
            progress=report,
            say=report.say,
            cache=cache,
        )
    except Paused as pause:
        return {"event": "turn" if pause.turn else "paused", "key": key}
    except KeyboardInterrupt:
        return {"event": "paused", "key": key}
    except StepTakenError:
        return {"event": "taken", "key": key}
    except StorageError as error:  # of the disk: another attempt may end better
        return {"event": "failed", "key": key, "error": one_line(str(error))}
    except IsoglotError as error:  # of its input or settings: another attempt would end the same
        return {"event": "failed", "key": key, "error": one_line(str(error)), "final": True}
    except Exception as error:  # noqa: BLE001 - a defect of one step must not end the others
        import traceback

        traceback.print_exc()
        return {"event": "failed", "key": key, "error": f"{type(error).__name__}: {one_line(str(error))}"}
    return {"event": "done", "key": key}


class Report:
    """Sends events to the process that started the worker; also a :class:`~isoglot.core.progress.Progress`.

    Args:
        channel: Where the lines go.
    """

    def __init__(self, channel: IO[str]) -> None:
        self.channel = channel

    def __call__(self, **event: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
        """Send an event."""
        with contextlib.suppress(BrokenPipeError):
            self.channel.write(json.dumps(event, ensure_ascii=False) + "\n")

    def say(self, text: str) -> None:
        """Send a sentence for the user."""
        self(event="say", text=text)

    @contextmanager
    def task(self, label: str, *, total: int | None, unit: str) -> Iterator[_Task]:
        """Show a task to whoever started the worker."""
        task = _Task(self, label, total)
        yield task
        task.send()


class _Task:
    def __init__(self, report: Report, label: str, total: int | None) -> None:
        self.report, self.label, self.total = report, label, total
        self.done, self.words, self.last = 0, "", 0.0

    def advance(self, amount: int = 1) -> None:
        self.done += amount
        now = time.monotonic()
        if now - self.last >= _EVERY:
            self.last = now
            self.send()

    def note(self, text: str) -> None:
        self.words = text

    def send(self) -> None:
        self.report(event="progress", label=self.label, done=self.done, total=self.total, note=self.words)


if __name__ == "__main__":
    work(*sys.argv[1:3])

"""The local engine: one worker process per GPU, or per group of CPU cores.

Beside GPUs there is one more worker, for steps that need none: it prepares the text of the next arm while this one
is trained.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from isoglot.core.files import writable_folder
from isoglot.core.progress import SILENT, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoglot.core.progress import Progress, Task
    from isoglot.study.steps import Step
    from isoglot.study.study import Study

Keep = Literal["all", "results"]
"""all: every file; results: encoders, shards and text go once every step that reads them is done."""
_WAIT = 1.0
ON_CPU = ("cut-text", "builtin-text", "builtin-dictionary", "vocabulary", "shards", "static")
"""Kinds of steps that do not use a GPU."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How the steps of a study are run.

    Attributes:
        device: ``auto``, ``cpu``, ``cuda`` …; auto takes every GPU there is.
        workers: Processes; None: one per GPU, or one on a CPU.
        attempts: How often a step is tried.
        keep: What stays on disk.
        stop_after: Seconds after which the run ends cleanly; None: when all is done.
    """

    device: str = "auto"
    workers: int | None = None
    attempts: int = 2
    keep: Keep = "all"
    stop_after: float | None = None


@dataclass
class RunResult:
    """What a run of the engine came to."""

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    stopped: bool = False
    """Whether time was up before all was done."""


def run_local(
    study: Study,
    options: RunOptions | None = None,
    *,
    progress: Progress = SILENT,
    say: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Run every step that has to run; a failed step does not stop the others.

    Args:
        study: The study, whose plan is on disk.
        options: How.
        progress: Shows steps done.
        say: Told what the user should know.

    Raises:
        KeyboardInterrupt: Ctrl-C; workers have been ended, and what they were at can be resumed.
        StorageError: The store cannot be written.
    """
    options = options or RunOptions()
    needed = study.needed()
    with progress.task("study", total=len(needed), unit="steps") as task:
        engine = _Engine(study, options, needed, task, say)
        try:
            engine.run()
        finally:
            engine.close()
    return engine.result


class _Worker:
    """A worker process and what it is at."""

    def __init__(self, study: Study, number: int, device: str, environment: Mapping[str, str]) -> None:
        log = writable_folder(study.out / "log") / f"worker-{number}.log"
        self.number = number
        self.log = log.open("ab")
        self.process = subprocess.Popen(  # noqa: S603 - this program itself
            [sys.executable, "-m", "isoglot.study.engines.worker", str(study.out), device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env={**os.environ, **environment},
        )
        self.buffer = b""
        self.key: str | None = None
        self.started = 0.0
        self.ready = False

    @property
    def output(self) -> IO[bytes]:
        return cast("IO[bytes]", self.process.stdout)

    def give(self, key: str, seconds: float | None) -> None:
        self.key, self.started = key, time.monotonic()
        line = json.dumps({"key": key, "seconds": seconds}) + "\n"
        with suppress(BrokenPipeError):
            stdin = cast("IO[bytes]", self.process.stdin)
            stdin.write(line.encode())
            stdin.flush()

    def events(self) -> list[dict[str, Any]] | None:
        """What it has reported since; None if it has ended."""
        data = os.read(self.output.fileno(), 1 << 16)
        if not data:
            return None
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        return [json.loads(line) for line in lines if line]

    def end(self) -> None:
        with suppress(OSError):
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class _Engine:
    """Gives steps to workers as their inputs become ready."""

    def __init__(
        self, study: Study, options: RunOptions, needed: list[Step], task: Task, say: Callable[[str], None]
    ) -> None:
        self.study, self.options, self.task, self.say = study, options, task, say
        self.waiting = {step.key: step for step in needed}
        self.failures: Counter[str] = Counter()
        self.result = RunResult()
        self.finished = {key for key in study.steps if key not in self.waiting}
        self.deadline = None if options.stop_after is None else time.monotonic() + options.stop_after
        self.selector = selectors.DefaultSelector()
        self.places = _places(options, study.about.get("threads"))
        self.workers: dict[int, _Worker] = {}
        self.retry_at: dict[str, float] = {}

    def run(self) -> None:
        """Run until nothing is left that can run, or time is up."""
        while self.waiting or self._busy():
            if self._time_is_up():
                self.result.stopped = True
                return
            self._give()
            if not self._busy() and not any(key in self.retry_at for key in self.waiting):
                return  # what is left waits for a step that failed
            for key, _ in self.selector.select(timeout=_WAIT):
                worker: _Worker = key.data
                events = worker.events()
                if events is None:
                    self._crashed(worker)
                else:
                    for event in events:
                        self._took_place(worker, event)

    def close(self) -> None:
        """End all workers."""
        for worker in self.workers.values():
            worker.end()
        self.selector.close()

    def _busy(self) -> bool:
        return any(worker.key is not None for worker in self.workers.values())

    def _time_is_up(self) -> bool:
        """Whether no step may go on: those that can be resumed have stopped by themselves shortly before."""
        if self.deadline is None:
            return False
        late = time.monotonic() - self.deadline
        return late >= (30 if any(self._resumable(worker) for worker in self.workers.values()) else 0)

    def _resumable(self, worker: _Worker) -> bool:
        return worker.key is not None and self.study.steps[worker.key].kind == "pretrain"

    def _ready(self, device: str) -> Step | None:
        """The first step in order whose inputs are there; for a worker without a GPU beside others, one of its kind."""
        beside = device == "cpu" and any(other != "cpu" for other, _ in self.places)
        taken = {worker.key for worker in self.workers.values()}
        now = time.monotonic()
        for key, step in self.waiting.items():
            if key in taken or self.failures[key] >= self.options.attempts or self.retry_at.get(key, 0) > now:
                continue
            if beside and step.kind not in ON_CPU:
                continue
            if all(one.key in self.finished for one in step.steps.values()):
                return step
        return None

    def _give(self) -> None:
        for number, (device, environment) in enumerate(self.places):
            worker = self.workers.get(number)
            if worker is not None and (worker.key is not None or not worker.ready):
                continue
            step = self._ready(device)
            if step is None:
                continue
            if worker is None:
                worker = self.workers[number] = _Worker(self.study, number, device, environment)
                self.selector.register(worker.output, selectors.EVENT_READ, worker)
            left = None if self.deadline is None else max(0.0, self.deadline - time.monotonic() - 5)
            worker.give(step.key, left)

    def _took_place(self, worker: _Worker, event: dict[str, Any]) -> None:
        match event["event"]:
            case "ready":
                worker.ready = True
            case "progress":
                title = self.study.steps[worker.key].title if worker.key else ""
                share = f" {100 * event['done'] / event['total']:.0f} %" if event["total"] else f" {event['done']:,}"
                words = f", {event['note']}" if event["note"] else ""
                self.task.note(f"{title}: {event['label']}{share}{words}")
            case "say":
                self.say(event["text"])
            case "done":
                worker.key = None
                self._done(event["key"])
            case "failed":
                worker.key = None
                self._failed(event["key"], event["error"], final=event.get("final", False))
            case "paused":
                worker.key = None
                self.deadline = min(self.deadline or 0.0, time.monotonic())
            case "taken":
                worker.key = None
                if self.study.store.is_done(event["key"]):
                    self._done(event["key"])
                else:  # another process computes it
                    self.retry_at[event["key"]] = time.monotonic() + 2 * _WAIT

    def _done(self, key: str) -> None:
        self.waiting.pop(key, None)
        self.retry_at.pop(key, None)
        self.finished.add(key)
        self.result.done.append(key)
        self.task.advance()
        if self.options.keep == "results":
            for step in self.study.droppable(self.finished):
                self.study.store.drop(step)

    def _failed(self, key: str, reason: str, *, final: bool = False) -> None:
        self.failures[key] += self.options.attempts if final else 1
        title = self.study.steps[key].title or key
        if self.failures[key] < self.options.attempts:
            self.say(f"{title} failed and is tried again: {reason}")
        else:
            self.result.failed[key] = reason
            self.say(f"{title} failed: {reason}")

    def _crashed(self, worker: _Worker) -> None:
        """A worker has ended by itself: an attempt at its step has failed."""
        self.selector.unregister(worker.output)
        status = worker.process.wait()
        if worker.key is not None:
            reason = f"the worker ended with status {status}; see {worker.log.name}"
            started = datetime.now(UTC).isoformat(timespec="seconds")
            self.study.store.add_failure(worker.key, started, time.monotonic() - worker.started, reason)
            self._failed(worker.key, reason)
        worker.end()
        del self.workers[worker.number]


def _places(options: RunOptions, threads: int | None) -> list[tuple[str, dict[str, str]]]:
    """The device and the environment of each worker."""
    from isoglot.core.devices import choose_device

    chosen = choose_device(options.device)
    if chosen.type == "cuda":
        import torch

        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        names = visible.split(",") if visible else [str(number) for number in range(torch.cuda.device_count())]
        if options.device not in ("auto", "cuda"):
            return [(options.device, {})] * (options.workers or 1)
        count = options.workers or len(names)
        places = [("cuda", {"CUDA_VISIBLE_DEVICES": names[number % len(names)]}) for number in range(count)]
        return [*places, ("cpu", {"CUDA_VISIBLE_DEVICES": ""})]
    count = options.workers or 1
    if threads is None and count > 1:
        threads = max(1, (os.cpu_count() or 1) // count)
    environment = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
    return [(options.device, environment)] * count


def in_words(result: RunResult, seconds: float) -> str:
    """What a run came to, in a sentence."""
    parts = [f"{len(result.done)} steps in {duration(seconds)}"]
    if result.failed:
        parts.append(f"{len(result.failed)} failed")
    if result.stopped:
        parts.append("time is up: the same command goes on")
    return ", ".join(parts) + "."

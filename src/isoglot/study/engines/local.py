"""The local engine: one worker process per GPU, or per group of CPU cores.

With GPUs there is one more worker, for steps that need none: it prepares the text of the next arm while this one is
trained.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, cast

from isoglot.core.errors import ConfigError, StorageError
from isoglot.core.files import writable_folder
from isoglot.core.progress import SILENT, Progress, Say, Task, say_nothing
from isoglot.study.engines import DEFAULTS, RunOptions, RunResult, StepQueue, child_environment
from isoglot.study.steps import RESUMABLE, Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.study.study import Study

_WAIT = 1.0
_PATIENCE = 30.0  # seconds that a resumable step has to write a checkpoint when the run stops
_VISIBLE = 60.0  # seconds after which a shared disk shows what another node wrote
_GPU = "CUDA_VISIBLE_DEVICES"
_BESIDE_GPU = 4
"""Most CPU threads of a worker on a GPU: its matrices on the CPU are small, and threads that wait for one another on
busy cores made a step of seconds take minutes."""


def run_local(
    study: Study, options: RunOptions = DEFAULTS, *, progress: Progress = SILENT, say: Say = say_nothing
) -> RunResult:
    """Run every step that has to run; a failed step does not stop the others.

    Args:
        study: The study, whose plan is on disk.
        options: How.
        progress: Shows steps done.
        say: Receives messages for the user.

    Raises:
        ConfigError: There are not as many GPUs.
        KeyboardInterrupt: Ctrl-C; workers have ended, those at steps that can be resumed with a checkpoint.
        StorageError: The store cannot be written.
        SystemExit: SIGTERM, likewise.
    """
    study.store.sweep()
    result, interrupt = _run(study, study.needed(), options, progress, say)
    if interrupt is not None:
        raise interrupt
    return result


def run_step(
    study: Study, step: Step, options: RunOptions = DEFAULTS, *, progress: Progress = SILENT, say: Say = say_nothing
) -> RunResult:
    """Run one step whose inputs are there, as a job of a cluster does; wait if another process is computing it.

    At a signal (SIGINT, SIGTERM) a step that can be resumed pauses. One that cannot is recorded as failed, so that
    the study's status shows why it did not go on.

    Raises:
        KeyboardInterrupt: SIGINT, and the step cannot be resumed.
        StorageError: An input is not there.
        SystemExit: SIGTERM, likewise.
    """
    _wait_for_inputs(study, step)
    result, interrupt = _run(study, [step], replace(options, keep="all"), progress, say)
    if result.done and options.keep != "all":
        needed = {one.key for one in study.needed()}
        study.drop_unneeded((key for key in study.steps if key not in needed), packed=options.keep == "packed")
    if interrupt is not None and not (result.paused or result.done):
        reason = f"ended by a signal (a time limit, preemption); steps of kind {step.kind} cannot be resumed"
        study.store.add_failure(step.key, reason)
        raise interrupt
    return result


def _run(
    study: Study, steps: Sequence[Step], options: RunOptions, progress: Progress, say: Say
) -> tuple[RunResult, BaseException | None]:
    """Run steps; returns the result, and the interrupt that ended the run early, if any."""
    with progress.task("study", total=len(steps), unit="steps") as task:
        engine = _Engine(study, options, steps, task, say)
        try:
            engine.run()
        except (KeyboardInterrupt, SystemExit) as interrupt:  # a second Ctrl-C ends at once
            if threading.current_thread() is threading.main_thread():
                # A cluster sends SIGTERM to every process of a job, whose shell passes it on once more.
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            engine.stop(interrupt=True)
            engine.run()
            return engine.result, interrupt
        finally:
            engine.close()
    return engine.result, None


def _wait_for_inputs(study: Study, step: Step) -> None:
    """Wait until the disk shows the inputs that another node may just have written."""
    end = time.monotonic() + (_VISIBLE if "SLURM_JOB_ID" in os.environ else 0)
    while missing := [one for one in step.steps.values() if not study.store.is_whole(one.key)]:
        if time.monotonic() >= end:
            problem = f"{missing[0].title or missing[0].key}, which {step.title or step.key} needs, is not there"
            remedy = f"isoglot study step {study.out} {missing[0].key}"
            raise StorageError(problem, remedy, "not-found")
        time.sleep(_WAIT)
        with suppress(OSError):
            list(study.store.steps.iterdir())  # makes a network disk look again


class _Worker:
    """A worker process and its current step."""

    def __init__(self, study: Study, number: int, device: str, environment: Mapping[str, str]) -> None:
        job = os.environ.get("SLURM_JOB_ID")
        log = writable_folder(study.out / "log") / f"worker-{number if job is None else f'of-job-{job}'}.log"
        self.number = number
        self.log = log.open("ab")
        self.process = subprocess.Popen(  # noqa: S603 - this program itself
            [sys.executable, "-m", "isoglot.study.engines.worker", str(study.out), device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=child_environment(environment),
            start_new_session=True,  # Ctrl-C is for this process, which tells its workers
        )
        self.buffer = b""
        self.key: str | None = None
        self.started = 0.0
        self.ready = False

    @property
    def output(self) -> IO[bytes]:
        return cast("IO[bytes]", self.process.stdout)

    def assign(self, key: str, seconds: float | None, processes: int) -> None:
        self.key, self.started = key, time.monotonic()
        line = json.dumps({"key": key, "seconds": seconds, "processes": processes}) + "\n"
        with suppress(BrokenPipeError):
            stdin = cast("IO[bytes]", self.process.stdin)
            stdin.write(line.encode())
            stdin.flush()

    def events(self) -> list[dict[str, Any]] | None:
        """Events reported since the last call; None if the process has ended."""
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


class _Engine(StepQueue):
    """Gives steps to workers as their inputs become ready."""

    def __init__(self, study: Study, options: RunOptions, steps: Sequence[Step], task: Task, say: Say) -> None:
        super().__init__(study, options, steps, task, say)
        self.selector = selectors.DefaultSelector()
        self.places = _places(options, study.about.get("threads"))
        self.workers: dict[int, _Worker] = {}
        self.early: set[int] = set()  # workers that may have started before they had a step
        self.retry_at: dict[str, float] = {}
        self.end_by: float | None = None  # once it is to stop

    def run(self) -> None:
        """Run until nothing is left that can run, or time is up."""
        while self.waiting or self._busy():
            if self.end_by is None and self.deadline is not None and time.monotonic() >= self.deadline:
                self.stop()
            if self.end_by is None:
                self._assign()
                if not self._busy() and not any(key in self.retry_at for key in self.waiting):
                    return  # the remaining steps need one that failed
            elif not self._pausing() or time.monotonic() >= self.end_by:
                return
            for key, _ in self.selector.select(timeout=_WAIT):
                worker: _Worker = key.data
                events = worker.events()
                if events is None:
                    self._crashed(worker)
                else:
                    for event in events:
                        self._handle(worker, event)

    def close(self) -> None:
        """End all workers."""
        for worker in self.workers.values():
            worker.end()
        self.selector.close()

    def _busy(self) -> bool:
        return any(worker.key is not None for worker in self.workers.values())

    def stop(self, *, interrupt: bool = False) -> None:
        """Assign no more steps; resumable ones have some time to pause.

        Args:
            interrupt: Whether to interrupt them; at the deadline they stop by themselves.
        """
        self.result.stopped = True
        self.end_by = time.monotonic() + _PATIENCE
        for worker in self._pausing() if interrupt else ():
            with suppress(OSError):
                worker.process.send_signal(signal.SIGINT)

    def _pausing(self) -> list[_Worker]:
        """Workers at steps that can be resumed."""
        return [one for one in self.workers.values() if one.key and self.study.steps[one.key].kind in RESUMABLE]

    def _ready(self, number: int) -> Step | None:
        """The next step of a worker: the first in order whose inputs are there.

        For a CPU worker beside GPUs it is one that needs no GPU. With a limit of trainings it is a training if there
        may be one more.
        """
        device = self.places[number][0]
        beside = device == "cpu" and any(other != "cpu" for other, _ in self.places)
        taken = {worker.key for worker in self.workers.values()}
        now = time.monotonic()
        ready = (
            step
            for key, step in self.waiting.items()
            if key not in taken
            and self.retry_at.get(key, 0) <= now
            and (step.on_cpu or not beside)
            and self.is_ready(step)
        )
        if self.options.trainings is None:
            return next(ready, None)
        others = [at for at in range(len(self.places)) if at != number and self._gpu(at) == self._gpu(number)]
        keys = [worker.key for at in others if (worker := self.workers.get(at)) is not None and worker.key]
        room = sum(self.study.steps[key].tokens > 0 for key in keys) < self.options.trainings
        first = len(others) >= self.options.trainings  # else nobody would measure before all are trained
        return min(  # training, what needs the device that the worker has, the rest
            (step for step in ready if room or not step.tokens),
            key=lambda step: (not (first and step.tokens), device != "cpu" and step.on_cpu),
            default=None,
        )

    def _gpu(self, number: int) -> str | None:
        """What a worker sees of the GPUs."""
        return self.places[number][1].get(_GPU)

    def _assign(self) -> None:
        for number, (device, environment) in enumerate(self.places):
            worker = self.workers.get(number)
            if worker is not None and (worker.key is not None or not worker.ready):
                continue
            step = self._ready(number)
            if worker is None and (step is not None or self._starts_early(number)):
                worker = self.workers[number] = _Worker(self.study, number, device, environment)
                self.selector.register(worker.output, selectors.EVENT_READ, worker)
            if worker is None or step is None:
                continue
            worker.assign(step.key, self.seconds_left(), self.options.gpus if step.kind == "pretrain" else 1)

    def _starts_early(self, number: int) -> bool:
        """Whether a worker starts before it has a step, once, so that it is ready when an encoder is trained."""
        early = number not in self.early and len(self.waiting) > number
        self.early.add(number)
        return early

    def _handle(self, worker: _Worker, event: dict[str, Any]) -> None:
        match event["event"]:
            case "ready":
                worker.ready = True
            case "progress":
                title = self.study.steps[worker.key].title if worker.key else ""
                share = f" {100 * event['done'] / event['total']:.0f} %" if event["total"] else f" {event['done']:,}"
                words = f", {event['note']}" if event["note"] else ""
                self.task.note(f"{title}: {event['label']}{share}{words}")
                self.task.advance(0)  # a long step shows in a pipe, too
            case "say":
                self.say(event["text"])
            case "done":
                worker.key = None
                self.done(event["key"])
            case "failed":
                worker.key = None
                self.failed(event["key"], event["error"], final=event.get("final", False))
            case "paused":
                worker.key = None
                self.result.paused.append(event["key"])
                if self.end_by is None:
                    self.stop(interrupt=self.deadline is None)
            case "turn":  # of the next step that can run
                worker.key = None
                self.waiting[event["key"]] = self.waiting.pop(event["key"])
            case "taken":  # another process computes it
                worker.key = None
                if self.study.store.is_whole(event["key"]):
                    self.done(event["key"])
                else:
                    self.retry_at[event["key"]] = time.monotonic() + 2 * _WAIT

    def _crashed(self, worker: _Worker) -> None:
        """A worker has ended by itself: an attempt at its step has failed."""
        self.selector.unregister(worker.output)
        status = worker.process.wait()
        if worker.key is not None:
            reason = f"the worker {_ending(status)}; see {worker.log.name}"
            self.study.store.add_failure(worker.key, reason, seconds=time.monotonic() - worker.started)
            self.failed(worker.key, reason)
        worker.end()
        del self.workers[worker.number]


def _ending(status: int) -> str:
    """Describe how a process ended."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _places(options: RunOptions, threads: int | None) -> list[tuple[str, dict[str, str]]]:
    """The device and the environment of each worker."""
    from isoglot.core.devices import choose_device

    # A CPU needs no library to be found, which takes seconds.
    if options.device != "cpu" and choose_device(options.device).type == "cuda":
        import torch

        visible = os.environ.get(_GPU)
        names = visible.split(",") if visible else [str(number) for number in range(torch.cuda.device_count())]
        if options.gpus > len(names):
            problem = f"--gpus asks for {options.gpus} GPUs a training step, but there are {len(names)}"
            remedy = f"--gpus {len(names)}"
            raise ConfigError(problem, remedy, "requirement")
        if options.device not in ("auto", "cuda"):
            return [(options.device, {})] * (options.workers or 1)
        groups = [",".join(names[at : at + options.gpus]) for at in range(0, len(names), options.gpus)]
        groups = [group for group in groups if len(group.split(",")) == options.gpus]
        count = options.workers or len(groups)
        share = max(1, (os.cpu_count() or 1) // (count + 1))
        few = _threads(min(_BESIDE_GPU, share) if threads is None else threads, count)
        places = [("cuda", {_GPU: groups[number % len(groups)], **few}) for number in range(count)]
        return [*places, ("cpu", {_GPU: "", **_threads(threads, count + 1)})]
    count = options.workers or 1
    return [(options.device, _threads(threads, count))] * count


def _threads(threads: int | None, workers: int) -> dict[str, str]:
    """The environment that gives a worker its CPU threads: its share of the cores, unless the scale has a number."""
    if threads is None and workers > 1:
        threads = max(1, (os.cpu_count() or 1) // workers)
    return {} if threads is None else {"OMP_NUM_THREADS": str(threads)}

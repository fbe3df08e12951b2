"""Engines: what runs the steps of a study, on this machine or on a cluster."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import ConfigError
from isoglot.core.progress import SILENT, Progress, Say, Task, duration, say_nothing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.study.steps import Step
    from isoglot.study.study import Study

PARENT = "ISOGLOT_PARENT_PROCESS"
_TORCHRUN = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")
EngineName = Literal["local", "slurm", "ray"]
"""local: processes of this machine; slurm: jobs of a SLURM cluster; ray: tasks of a Ray cluster."""
Keep = Literal["all", "packed", "results"]
"""all: every file; results: encoders, shards and text go once every step that reads them is done; packed: likewise, but
a packed copy of each encoder stays, a fifth of its size."""


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options of the engines of clusters.

    Attributes:
        partition: SLURM: the partition of the jobs.
        time: SLURM: the time limit of a job.
        sbatch: SLURM: more options of ``sbatch``, one each.
        wait: SLURM: wait until the jobs have ended.
        address: Ray: the address of the cluster; None: ``RAY_ADDRESS``, or a cluster of this machine alone.
    """

    partition: str | None = None
    time: str | None = None
    sbatch: tuple[str, ...] = ()
    wait: bool = False
    address: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options for running the steps of a study.

    Attributes:
        device: ``auto``, ``cpu``, ``cuda`` …; auto uses every GPU.
        workers: Worker processes; None: one per GPU, or per group of ``gpus``, or one on a CPU.
        trainings: Encoders that are trained at a time on a GPU, or on the CPU; training goes first, and the other
            workers measure what is trained. None: steps in order, as many trainings as there are workers.
        gpus: GPUs of a training step, with a ``torchrun`` process each (on a CPU: number of processes). Other steps use
            one.
        attempts: The most attempts at a step.
        keep: What stays on disk.
        stop_after: Seconds after which the run ends cleanly; None: when all is done.
        cluster: For engines of clusters.
    """

    device: str = "auto"
    workers: int | None = None
    trainings: int | None = None
    gpus: int = 1
    attempts: int = 2
    keep: Keep = "all"
    stop_after: float | None = None
    cluster: ClusterOptions = ClusterOptions()


DEFAULTS = RunOptions()


@dataclass
class RunResult:
    """Result of running an engine.

    Attributes:
        done: Keys of the steps that are done.
        failed: Reasons of the steps that were given up, by key.
        paused: Steps that can be resumed where they stopped.
        stopped: Whether time was up before all was done.
        jobs: Jobs of steps that were left to a cluster, by key.
        seconds: Time that the run took.
    """

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    paused: list[str] = field(default_factory=list)
    stopped: bool = False
    jobs: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def in_words(self) -> str:
        """The result in a sentence."""
        parts = [f"{len(self.done)} steps in {duration(self.seconds)}"]
        if self.jobs:
            numbers = sorted({job.partition("_")[0] for job in self.jobs.values()}, key=lambda job: (len(job), job))
            parts = [f"{len(self.jobs)} steps in the queue, jobs {', '.join(numbers)}"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if self.stopped:
            parts.append("time is up: the same command resumes")
        return ", ".join(parts) + "."


class StepQueue:
    """The steps of a run that wait for their inputs, the results of the others, and the time left.

    Args:
        study: The study.
        options: How it is run.
        steps: Steps that have to run, inputs first.
        task: Shows steps done.
        say: Receives messages for the user.
    """

    def __init__(self, study: Study, options: RunOptions, steps: Sequence[Step], task: Task, say: Say) -> None:
        self.study, self.options, self.task, self.say = study, options, task, say
        self.waiting = {step.key: step for step in steps}
        self.finished = {key for key in study.steps if key not in self.waiting and study.store.is_done(key)}
        self.failures: Counter[str] = Counter()
        self.result = RunResult()
        self.deadline = None if options.stop_after is None else time.monotonic() + options.stop_after

    def is_ready(self, step: Step) -> bool:
        """Whether the inputs of a step are there, and it has not failed too often."""
        tried = self.failures[step.key] >= self.options.attempts
        return not tried and all(one.key in self.finished for one in step.steps.values())

    def seconds_left(self) -> float | None:
        """Time that a step may take; None: any."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic() - 5)

    def done(self, key: str) -> None:
        """Remove a step that is done from the queue, and heavy files that no other step has to read."""
        self.waiting.pop(key, None)
        self.finished.add(key)
        self.result.done.append(key)
        self.task.advance()
        if self.options.keep != "all":
            self.study.drop_unneeded(self.finished, packed=self.options.keep == "packed")

    def failed(self, key: str, reason: str, *, final: bool = False) -> None:
        """Count an attempt that failed; after the last one, or if it is ``final``, the step is given up."""
        self.failures[key] += self.options.attempts if final else 1
        again = self.failures[key] < self.options.attempts
        if not again:
            self.result.failed[key] = reason
        self.say(f"{self.study.steps[key].title or key} failed{' and is tried again' * again}: {reason}")


def check_engine(engine: EngineName, options: RunOptions) -> None:
    """Refuse options that an engine does not support, and engines that cannot run here, before anything is written.

    Raises:
        ConfigError: An option is not for this engine, or it is not on this machine.
        DeviceError: There is no such device.
        MissingPartError: The engine is not installed.
    """
    cluster = options.cluster
    theirs = {
        "--workers": (options.workers is not None, ("local",)),
        "--trainings": (options.trainings is not None, ("local",)),
        "--stop-after": (options.stop_after is not None, ("local", "ray")),
        "--partition": (cluster.partition is not None, ("slurm",)),
        "--time": (cluster.time is not None, ("slurm",)),
        "--sbatch": (bool(cluster.sbatch), ("slurm",)),
        "--wait": (cluster.wait, ("slurm",)),
        "--address": (cluster.address is not None, ("ray",)),
    }
    for name, (given, engines) in theirs.items():
        if given and engine not in engines:
            problem = f"the engine {engine} does not take {name}"
            remedy = f"leave it out, or use --engine {engines[0]}"
            raise ConfigError(problem, remedy, "conflicting-options")
    if engine == "slurm" and shutil.which("sbatch") is None:
        raise no_slurm("sbatch")
    if engine == "ray":
        from isoglot.core.optional import import_part

        import_part("ray")
    if engine == "local" and options.device not in ("auto", "cpu"):
        from isoglot.core.devices import choose_device

        choose_device(options.device)


def no_slurm(program: str) -> ConfigError:
    """The error for a program of SLURM that is not installed."""
    remedy = "run it where jobs of the SLURM cluster are submitted, or use --engine local"
    return ConfigError(f"there is no {program} on this machine", remedy, "engine")


def run_study(
    study: Study,
    engine: EngineName = "local",
    options: RunOptions = DEFAULTS,
    *,
    progress: Progress = SILENT,
    say: Say = say_nothing,
) -> RunResult:
    """Run every step of a study that has to run; a failed step does not stop the others.

    Args:
        study: The study, whose plan is on disk.
        engine: What runs the steps.
        options: How.
        progress: Shows steps done.
        say: Receives messages for the user.

    Raises:
        ConfigError: An option is not for this engine, or the cluster is not there.
        KeyboardInterrupt: Ctrl-C; what can be resumed has written a checkpoint.
        MissingPartError: The engine is not installed.
        StorageError: The store cannot be written.
    """
    check_engine(engine, options)
    start = time.monotonic()
    run = getattr(import_module(f"isoglot.study.engines.{engine}"), f"run_{engine}")
    result: RunResult = run(study, options, progress=progress, say=say)
    result.seconds = time.monotonic() - start
    return result


# --- processes that a study starts ---


def child_environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child process: ours without the variables of ``torchrun``, and the parent's process id."""
    kept = {name: value for name, value in os.environ.items() if name not in _TORCHRUN}
    return {**kept, **(changes or {}), PARENT: str(os.getpid())}


def end_with_parent() -> None:
    """End when the process that started this one does, even if that is killed; Linux only."""
    with contextlib.suppress(OSError, AttributeError):
        import ctypes

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
        if str(os.getppid()) != os.environ.get(PARENT, str(os.getppid())):  # it has ended before
            os._exit(1)

"""Engines: what runs the steps of a study, on this machine or on a cluster."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import ConfigError
from isoglot.core.progress import SILENT, duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.core.progress import Progress
    from isoglot.study.study import Study

EngineName = Literal["local", "slurm", "ray"]
"""local: processes of this machine; slurm: jobs of a SLURM cluster; ray: tasks of a Ray cluster."""
Keep = Literal["all", "packed", "results"]
"""all: every file; results: encoders, shards and text go once every step that reads them is done; packed: likewise, but
a packed copy of each encoder stays, a fifth of its size."""


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """What only engines of clusters use.

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
    """How the steps of a study are run.

    Attributes:
        device: ``auto``, ``cpu``, ``cuda`` …; auto takes every GPU there is.
        workers: Processes; None: one per GPU, or per group of ``gpus``, or one on a CPU.
        gpus: GPUs of a training step, for each of which ``torchrun`` starts a process; on a CPU, processes. Other
            steps take one.
        attempts: How often a step is tried.
        keep: What stays on disk.
        stop_after: Seconds after which the run ends cleanly; None: when all is done.
        cluster: For engines of clusters.
    """

    device: str = "auto"
    workers: int | None = None
    gpus: int = 1
    attempts: int = 2
    keep: Keep = "all"
    stop_after: float | None = None
    cluster: ClusterOptions = ClusterOptions()


@dataclass
class RunResult:
    """Result of running an engine."""

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    paused: list[str] = field(default_factory=list)
    """Steps that can be resumed where they stopped."""
    stopped: bool = False
    """Whether time was up before all was done."""
    jobs: dict[str, str] = field(default_factory=dict)
    """Jobs of steps that were left to a cluster, by key."""

    def in_words(self, seconds: float) -> str:
        """What the run came to, in a sentence."""
        parts = [f"{len(self.done)} steps in {duration(seconds)}"]
        if self.jobs:
            numbers = sorted({job.partition("_")[0] for job in self.jobs.values()}, key=lambda job: (len(job), job))
            parts = [f"{len(self.jobs)} steps in the queue, jobs {', '.join(numbers)}"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if self.stopped:
            parts.append("time is up: the same command goes on")
        return ", ".join(parts) + "."


def check_engine(engine: EngineName, options: RunOptions) -> None:
    """Refuse what an engine cannot do here, before anything is written.

    Raises:
        ConfigError: An option is not for this engine, or it is not on this machine.
        DeviceError: There is no such device.
        MissingPartError: The engine is not installed.
    """
    cluster = options.cluster
    theirs = {
        "--workers": (options.workers is not None, ("local",)),
        "--stop-after": (options.stop_after is not None, ("local", "ray")),
        "--partition": (cluster.partition is not None, ("slurm",)),
        "--time": (cluster.time is not None, ("slurm",)),
        "--sbatch": (bool(cluster.sbatch), ("slurm",)),
        "--wait": (cluster.wait, ("slurm",)),
        "--address": (cluster.address is not None, ("ray",)),
    }
    for name, (given, engines) in theirs.items():
        if given and engine not in engines:
            raise ConfigError(
                f"the engine {engine} does not take {name}",
                remedy=f"leave it out, or use --engine {engines[0]}",
                code="config.conflicting-options",
            )
    if engine == "slurm" and shutil.which("sbatch") is None:
        raise ConfigError(
            "there is no sbatch on this machine",
            remedy="run it where jobs of the SLURM cluster are submitted, or use --engine local",
            code="config.engine",
        )
    if engine == "ray":
        from isoglot.core.optional import import_part

        import_part("ray")
    if engine == "local" and options.device not in ("auto", "cpu"):
        from isoglot.core.devices import choose_device

        choose_device(options.device)


def run_study(
    study: Study,
    engine: EngineName = "local",
    options: RunOptions | None = None,
    *,
    progress: Progress = SILENT,
    say: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Run every step of a study that has to run; a failed step does not stop the others.

    Args:
        study: The study, whose plan is on disk.
        engine: What runs the steps.
        options: How.
        progress: Shows steps done.
        say: Told what the user should know.

    Raises:
        ConfigError: An option is not for this engine, or the cluster is not there.
        KeyboardInterrupt: Ctrl-C; what can be resumed has written a checkpoint.
        MissingPartError: The engine is not installed.
        StorageError: The store cannot be written.
    """
    options = options or RunOptions()
    check_engine(engine, options)
    if engine == "slurm":
        from isoglot.study.engines.slurm import run_slurm

        return run_slurm(study, options, progress=progress, say=say)
    if engine == "ray":
        from isoglot.study.engines.ray import run_ray

        return run_ray(study, options, progress=progress, say=say)
    from isoglot.study.engines.local import run_local

    return run_local(study, options, progress=progress, say=say)

"""The Ray engine: every step is a task of a Ray cluster.

A task takes the GPUs of its step, or a CPU, and computes the step as a job of any cluster does: in a process of its
own, under the step's lock, into the store. When a node is lost, Ray runs its tasks again elsewhere, and training
resumes from its last checkpoint. The study's folder has to be on a disk that all nodes share.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError, IsoglotError, one_line
from isoglot.core.files import real_path
from isoglot.core.optional import import_part
from isoglot.core.progress import SILENT, Progress, Say, Task, say_nothing
from isoglot.study.engines import DEFAULTS, ClusterOptions, RunOptions, RunResult, StepQueue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.study.steps import Step
    from isoglot.study.study import Study

_WAIT = 1.0
_LOST_NODES = 5  # retries of a task whose node or process was lost
_PATIENCE = 45.0  # seconds that tasks have to pause when the run stops


def run_ray(
    study: Study, options: RunOptions = DEFAULTS, *, progress: Progress = SILENT, say: Say = say_nothing
) -> RunResult:
    """Run every step that has to run as a task of a Ray cluster; a failed step does not stop the others.

    Raises:
        ConfigError: The cluster is not there, or has no node with as many GPUs.
        KeyboardInterrupt: Ctrl-C; tasks have been told to pause.
        MissingPartError: Ray is not installed.
        StorageError: The store cannot be written.
    """
    ray = import_part("ray")
    study.store.sweep()
    needed = study.needed()
    begun = _connect(ray, options.cluster)
    try:
        with progress.task("study", total=len(needed), unit="steps") as task:
            engine = _Engine(ray, study, options, needed, task, say)
            try:
                engine.run()
            except (KeyboardInterrupt, SystemExit):
                engine.stop()
                raise
    finally:
        if begun:
            ray.shutdown()
    return engine.result


def _connect(ray: Any, cluster: ClusterOptions) -> bool:  # noqa: ANN401 - the library
    """Connect to the cluster, or start one of this machine; whether it was not connected before."""
    if ray.is_initialized():
        return False
    address = cluster.address or os.environ.get("RAY_ADDRESS")
    host, colon, port = (address or "").rpartition(":")
    try:
        if colon and port.isdecimal() and "//" not in host:  # Ray itself would try for minutes
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        raise ConfigError(
            f"no Ray cluster at {address}: {one_line(str(error))}", "start one: ray start --head", "engine"
        ) from error
    return True


class _Engine(StepQueue):
    """Gives steps to the cluster as their inputs become ready."""

    def __init__(
        self,
        ray: Any,  # noqa: ANN401 - the library
        study: Study,
        options: RunOptions,
        steps: Sequence[Step],
        task: Task,
        say: Say,
    ) -> None:
        super().__init__(study, options, steps, task, say)
        self.ray = ray
        self.running: dict[Any, str] = {}
        self.gpus = options.device != "cpu" and ray.cluster_resources().get("GPU", 0) >= 1
        self._check_gpus()
        # Exceptions are returned as values, so Ray retries lost tasks only.
        self.remote = ray.remote(max_retries=_LOST_NODES)(_compute)

    def _check_gpus(self) -> None:
        largest = max((node["Resources"].get("GPU", 0) for node in self.ray.nodes() if node["Alive"]), default=0)
        if self.gpus and self.options.gpus > largest:
            problem = (
                f"--gpus asks for {self.options.gpus} GPUs a training step, but no node has more than {largest:.0f}"
            )
            remedy = f"--gpus {largest:.0f}"
            raise ConfigError(problem, remedy, "requirement")

    def run(self) -> None:
        """Run until nothing is left that can run, or time is up."""
        while self.waiting:
            late = 0.0 if self.deadline is None else time.monotonic() - self.deadline
            if self.deadline is None or late < 0:
                self._submit()
            else:
                self.result.stopped = True
            if not self.running:
                return  # the remaining steps need one that failed, or time is up
            if late >= _PATIENCE:
                self.stop()
                return
            ready, _ = self.ray.wait(list(self.running), num_returns=1, timeout=_WAIT)
            for reference in ready:
                self._ended(self.running.pop(reference), reference)

    def stop(self) -> None:
        """Tell the tasks to pause; those that do not are ended when this program disconnects."""
        self.result.stopped = True
        for reference in self.running:
            self.ray.cancel(reference, force=False)
        with suppress(KeyboardInterrupt):
            self.ray.wait(list(self.running), num_returns=len(self.running), timeout=_PATIENCE)

    def _submit(self) -> None:
        running = set(self.running.values())
        for key, step in self.waiting.items():
            if key not in running and self.is_ready(step):
                self.running[self._start(step)] = key

    def _start(self, step: Step) -> Any:  # noqa: ANN401 - a reference of Ray
        on_cpu = step.on_cpu or not self.gpus
        many = self.options.gpus if step.kind == "pretrain" else 1
        options = replace(
            self.options,
            device="cpu" if on_cpu else self.options.device,
            gpus=many,
            keep="all",
            workers=None,
            stop_after=self.seconds_left(),
            cluster=ClusterOptions(),
        )
        resources = {"num_cpus": many if on_cpu else 1, "num_gpus": 0 if on_cpu else many}
        task = self.remote.options(name=f"isoglot {step.title or step.key}", **resources)
        return task.remote(str(real_path(self.study.out)), step.key, asdict(options) | {"cluster": None})

    def _ended(self, key: str, reference: Any) -> None:  # noqa: ANN401 - a reference of Ray
        try:
            outcome = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            # Its process or node was lost more often than Ray tries.
            reason = f"the task was lost: {one_line(str(error))[:300]}"
            self.study.store.add_failure(key, reason)
            outcome = {"status": "lost", "error": reason}
        match outcome["status"]:
            case "done":
                self.done(key)
            case "paused":
                self.result.paused.append(key)
                self.deadline = time.monotonic()
            case status:
                self.failed(key, outcome["error"], final=status != "lost")


def _compute(out: str, key: str, options: dict[str, Any]) -> dict[str, Any]:
    """Compute a step on a node; returns its outcome."""
    from isoglot.study.engines.local import run_step
    from isoglot.study.study import Study

    study = Study.open(out)
    try:
        result = run_step(study, study.steps[key], RunOptions(**options | {"cluster": ClusterOptions()}))
    except KeyboardInterrupt:  # canceled
        return {"status": "paused"}
    except IsoglotError as error:
        return {"status": "failed", "error": one_line(str(error))}
    if result.done:
        return {"status": "done"}
    if result.failed:
        return {"status": "failed", "error": result.failed[key]}
    return {"status": "paused"}

"""Experiment trackers: TensorBoard, Weights & Biases, MLflow and trackio behind one interface.

All of them work without a network. TensorBoard writes to ``tensorboard/`` in the folder of the run, Weights & Biases to
``wandb/`` (offline unless ``WANDB_MODE`` says otherwise), MLflow to ``mlflow.db`` (unless ``MLFLOW_TRACKING_URI`` is
set), and trackio to its local database. ``tracker.json`` has the run's id, under which a resumed run continues.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol
from uuid import uuid4

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.optional import import_part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

TrackerName = Literal["none", "tensorboard", "wandb", "mlflow", "trackio"]
"""none: ``metrics.jsonl`` only."""
_PROJECT = "isoglot"


class Tracker(Protocol):
    """Receiver of the numbers of a run."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Log numbers by name."""

    def close(self) -> None:
        """Write everything and end the run."""


@dataclass(frozen=True)
class TrackedRun:
    """A run to be tracked.

    Args:
        out: The folder of the run.
        config: The settings, nested.
        after: The step to resume from; None: a new run.
    """

    out: Path
    config: Mapping[str, Any]
    after: int | None = None

    def id(self, new: Callable[[], str] = lambda: uuid4().hex[:12]) -> str:
        """The id of the run in the tracker, kept in ``tracker.json``."""
        path = self.out / "tracker.json"
        if self.after is not None and path.exists():
            return str(read_sealed(path, {"id": str}, remedy="remove the file")["id"])
        found = new()
        write_sealed(path, {"id": found})
        return found


class _TensorBoard:
    def __init__(self, run: TrackedRun) -> None:
        from torch.utils.tensorboard import SummaryWriter

        purge = None if run.after is None else run.after + 1
        self.writer = SummaryWriter(str(run.out / "tensorboard"), purge_step=purge)
        self.close = self.writer.close

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)


class _Wandb:
    def __init__(self, run: TrackedRun) -> None:
        wandb = import_part("wandb")
        self.run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", _PROJECT),
            name=run.out.resolve().name,
            id=run.id(),
            resume="allow",
            dir=str(run.out),
            mode=os.environ.get("WANDB_MODE", "offline"),
            config=dict(run.config),
            settings=wandb.Settings(console="off"),
        )
        self.close = self.run.finish

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=step)


class _MLflow:
    def __init__(self, run: TrackedRun) -> None:
        mlflow = import_part("mlflow")
        uri = os.environ.get("MLFLOW_TRACKING_URI", f"sqlite:///{run.out.resolve() / 'mlflow.db'}")
        self.client, self.metric = mlflow.MlflowClient(tracking_uri=uri), mlflow.entities.Metric
        self.id = run.id(lambda: self._begin(run))

    def _begin(self, run: TrackedRun) -> str:
        experiment = self.client.get_experiment_by_name(_PROJECT)
        number = self.client.create_experiment(_PROJECT) if experiment is None else experiment.experiment_id
        begun = str(self.client.create_run(number, run_name=run.out.resolve().name).info.run_id)
        for name, value in flattened(run.config).items():
            self.client.log_param(begun, name, value)
        return begun

    def log(self, step: int, values: Mapping[str, float]) -> None:
        now = int(1000 * time.time())
        self.client.log_batch(self.id, metrics=[self.metric(name, value, now, step) for name, value in values.items()])

    def close(self) -> None:
        self.client.set_terminated(self.id)


class _Trackio:
    def __init__(self, run: TrackedRun) -> None:
        self.trackio = import_part("trackio")
        with redirect_stdout(sys.stderr):
            name = f"{run.out.resolve().name}-{run.id()}"
            self.trackio.init(project=_PROJECT, name=name, resume="allow", config=dict(run.config), embed=False)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.trackio.log(dict(values), step=step)

    def close(self) -> None:
        with redirect_stdout(sys.stderr):
            self.trackio.finish()


_TRACKERS: dict[str, Callable[[TrackedRun], Tracker]] = {
    "tensorboard": _TensorBoard,
    "wandb": _Wandb,
    "mlflow": _MLflow,
    "trackio": _Trackio,
}


def check_tracker(name: TrackerName) -> None:
    """Check that a tracker's library is installed.

    Raises:
        MissingPartError: It is not.
    """
    if name != "none":
        import_part(name)


def open_tracker(name: TrackerName, run: TrackedRun) -> Tracker | None:
    """Open a tracker; None for ``none``.

    Raises:
        MissingPartError: Its library is not installed.
    """
    check_tracker(name)
    return _TRACKERS[name](run) if name in _TRACKERS else None


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names.

    >>> flattened({"model": {"size": "nano"}, "seed": 1})
    {'model.size': 'nano', 'seed': 1}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flattened(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found

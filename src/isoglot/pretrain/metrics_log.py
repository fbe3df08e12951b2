"""Log of a run: the progress line, ``metrics.jsonl`` and an experiment tracker; speed, memory and useful FLOPs.

``metrics.jsonl`` has one JSON object per line, each with its ``step`` and ``kind``: ``train`` (loss by language,
learning rate factor, speed), ``dev`` (perplexity by language) or ``probe``. A resumed run has no line twice.

Trackers work without a network. TensorBoard writes to ``tensorboard/`` in the folder of the run, Weights & Biases to
``wandb/`` (offline unless ``WANDB_MODE`` says otherwise), MLflow to ``mlflow.db`` (unless ``MLFLOW_TRACKING_URI`` is
set), and trackio to its local database. ``tracker.json`` has the run's id, under which a resumed run continues.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol
from uuid import uuid4

import torch
from pydantic import Field

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.config import Config
from isoglot.core.doctor import PeakConfig, measure_peak
from isoglot.core.files import storage_error, write_text
from isoglot.core.optional import import_part
from isoglot.core.progress import duration, rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from isoglot.core.devices import ProductPrecision
    from isoglot.model.config import EncoderConfig
    from isoglot.pretrain.optimizer import LossScale


# --- experiment trackers ---


TrackerName = Literal["none", "tensorboard", "wandb", "mlflow", "trackio"]  # none: ``metrics.jsonl`` only
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


# --- the log ---


def step_flops(config: EncoderConfig, *, rows: int, length: int, masked: int, subwords: int | None = None) -> int:
    """Useful floating-point operations of a training step: matrix products of the forward pass, three times.

    A product of (m × k) and (k × n) is 2·m·k·n operations, and the backward pass has twice as many as the forward pass.
    Norms, softmaxes and lookups are not counted, nor is anything computed twice.

    Args:
        config: The encoder's.
        rows: Rows of the batch.
        length: Tokens in a row.
        masked: Positions of a row for which the softmax is computed.
        subwords: Number of subwords in the softmax; None: the whole vocabulary.

    >>> from isoglot.model.config import encoder_config
    >>> nano = encoder_config("paper", "nano", vocabulary_size=100)
    >>> step_flops(nano, rows=1, length=10, masked=0) == 3 * 2 * 2 * 10 * (4 * 32**2 + 2 * 32 * 96 + 2 * 10 * 32)
    True
    """
    width, inner = config.hidden_size, config.intermediate_size
    feed_forward = (3 if config.mlp == "geglu" else 2) * width * inner
    products = 0
    for layer in range(config.layers):
        seen = min(length, config.local_window + 1) if config.is_local(layer) else length
        products += length * (4 * width**2 + feed_forward + 2 * seen * width)
    transform = width**2 if config.head_transform == "bert" else 0
    products += masked * (transform + width * (config.vocabulary_size if subwords is None else subwords))
    return 3 * 2 * rows * products


def measured_peak(device: torch.device, dtype: ProductPrecision) -> float:
    """Peak FLOP/s of matrix products in a number format, measured quickly."""
    sizes = (4096, 8192) if device.type == "cuda" else (1024,)
    return measure_peak(PeakConfig(sizes=sizes, dtypes=(dtype,), seconds=0.2), device)[0].tflops * 1e12


METRICS = "metrics.jsonl"


class LogConfig(Config):
    """Settings of logging."""

    every: int = Field(50, ge=1)
    """steps between two log lines; only then the device is waited for"""
    to: TrackerName = "none"
    """experiment tracker that gets every number too: tensorboard, wandb, mlflow or trackio (extras of these names)"""
    peak: Literal["measured", "off"] = "measured"
    """whether the device's peak FLOP/s are measured first, which takes about a second"""


@dataclass(frozen=True, kw_only=True)
class StepFacts:
    """Measurements of the steps since the last log line."""

    step: int
    loss: Mapping[str, float]  # mean loss of each language that had a step
    rate_factor: float
    gradient: float  # norm of the last gradient, before clipping
    tokens: int  # tokens of text of the whole run so far
    seconds: float  # seconds of the whole run so far
    speeds: tuple[float, ...]  # tokens per second of each rank
    flops: float  # useful FLOP/s over all ranks
    peak: float | None  # peak FLOP/s over all ranks; None: not measured
    memory: int  # peak memory of this process in bytes
    left: float | None  # seconds to go, for a budget of time
    scale: LossScale | None = None  # the loss scale, in float16

    def line(self) -> str:
        """The progress line.

        >>> facts = StepFacts(step=9, loss={"en": 3.25, "fr": 4.0}, rate_factor=1.0, gradient=0.5, tokens=1000,
        ...     seconds=2.0, speeds=(1200.0,), flops=3e9, peak=6e9, memory=2**30, left=75.0)
        >>> facts.line()
        'loss en 3.250 fr 4.000, 1,200 tokens/s, 50 % of peak, 1.0 GB, 1 min 15 s left'
        """
        parts = ["loss " + " ".join(f"{code} {loss:.3f}" for code, loss in sorted(self.loss.items()))]
        speed = f"{rate(sum(self.speeds), 1)} tokens/s"
        if len(self.speeds) > 1:
            speed += f" ({' + '.join(rate(one, 1) for one in self.speeds)})"
        parts.append(speed)
        if self.peak:
            parts.append(f"{100 * self.flops / self.peak:.0f} % of peak")
        parts.append(f"{self.memory / 2**30:.1f} GB")
        if self.scale is not None:
            parts.append(f"scale {self.scale.value:g}, {self.scale.skipped} steps skipped")
        if self.left is not None:
            parts.append(f"{duration(self.left)} left")
        return ", ".join(parts)

    def record(self) -> dict[str, Any]:
        """The record for ``metrics.jsonl``."""
        return {
            "step": self.step,
            "kind": "train",
            "loss": dict(self.loss),
            "rate_factor": self.rate_factor,
            "gradient": self.gradient,
            "tokens": self.tokens,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": [round(speed, 1) for speed in self.speeds],
            "flops_per_second": self.flops,
            "share_of_peak": self.flops / self.peak if self.peak else None,
            "memory": self.memory,
        } | ({} if self.scale is None else {"loss_scale": self.scale.value, "skipped": self.scale.skipped})


class MetricsLog:
    """Writer of ``metrics.jsonl``, and to a tracker if there is one.

    Args:
        out: The folder of the run.
        after: The step to resume from; lines of later steps are dropped. None: start an empty file.
        lines: Number of lines when that step was saved; further ones are dropped too. None: not known.
        tracker: Gets every number too; closed with the log.

    Raises:
        StorageError: The folder cannot be written to.
    """

    def __init__(
        self, out: Path, *, after: int | None = None, lines: int | None = None, tracker: Tracker | None = None
    ) -> None:
        self.path = out / METRICS
        self.tracker = tracker
        kept = [] if after is None else [line for line in _lines(self.path) if line["step"] <= after][:lines]
        self.lines = len(kept)
        write_text(self.path, "".join(_written(line) for line in kept))
        try:
            self.file = self.path.open("a", encoding="utf-8", newline="\n")
        except OSError as error:
            raise storage_error(error, self.path, doing="write") from error

    def add(self, record: Mapping[str, Any]) -> None:
        """Write and flush one line."""
        try:
            self.file.write(_written(record))
            self.file.flush()
            self.lines += 1
        except OSError as error:
            raise storage_error(error, self.path, doing="write") from error
        if self.tracker is not None:
            self.tracker.log(record["step"], {f"{record['kind']}/{name}": value for name, value in _numbers(record)})

    def close(self) -> None:
        """Close the file and the tracker."""
        self.file.close()
        if self.tracker is not None:
            self.tracker.close()


def read_metrics(out: str | Path) -> list[dict[str, Any]]:
    """Read a run's ``metrics.jsonl``; a line cut short by a kill is skipped."""
    return _lines(Path(out) / METRICS)


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("step"), int):
            found.append(value)
    return found


def _written(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _numbers(record: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The numbers of a record by name: ``loss/en``, ``tokens_per_second/0``."""
    found: list[tuple[str, float]] = []
    for name, value in record.items():
        if isinstance(value, dict):
            found += [(f"{name}/{key}", number) for key, number in value.items() if isinstance(number, int | float)]
        elif isinstance(value, list | tuple):
            found += [(f"{name}/{index}", number) for index, number in enumerate(value)]
        elif isinstance(value, int | float) and name != "step":
            found.append((name, value))
    return found


class Speed:
    """Training speed of a rank, evaluations and checkpoints excluded."""

    def __init__(self) -> None:
        self.since = time.perf_counter()
        self.elsewhere = 0.0
        self.tokens = 0
        self.flops = 0

    def add(self, tokens: int, flops: int) -> None:
        """Add a step: tokens of this rank and FLOPs of all ranks."""
        self.tokens += tokens
        self.flops += flops

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time of the block."""
        start = time.perf_counter()
        yield
        self.elsewhere += time.perf_counter() - start

    def take(self) -> tuple[float, float]:
        """Tokens and FLOPs per second since the last call; the device must be idle."""
        seconds = max(time.perf_counter() - self.since - self.elsewhere, 1e-9)
        speeds = self.tokens / seconds, self.flops / seconds
        self.__init__()  # type: ignore[misc]
        return speeds


def memory_used(device: torch.device) -> int:
    """Peak memory of this process in bytes: of the GPU if it uses one, else of main memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024

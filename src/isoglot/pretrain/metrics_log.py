"""Log of a run: the progress line, ``metrics.jsonl`` and a tracker; speed, memory and useful FLOPs.

``metrics.jsonl`` has one JSON object per line, each with its ``step`` and ``kind``: ``train`` (loss by language,
learning rate factor, speed), ``dev`` (perplexity by language) or ``probe``. A resumed run has no line twice.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.doctor import PeakConfig, measure_peak
from isoglot.core.files import storage_error, write_text
from isoglot.core.progress import duration, rate
from isoglot.pretrain.trackers import Tracker, TrackerName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from isoglot.core.devices import ProductPrecision
    from isoglot.model.config import EncoderConfig
    from isoglot.pretrain.optimizer import LossScale


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
    loss: Mapping[str, float]
    """Mean loss of each language that had a step."""
    rate_factor: float
    gradient: float
    """Norm of the last gradient, before clipping."""
    tokens: int
    """Tokens of text of the whole run so far."""
    seconds: float
    """Seconds of the whole run so far."""
    speeds: tuple[float, ...]
    """Tokens per second of each rank."""
    flops: float
    """Useful FLOP/s over all ranks."""
    peak: float | None
    """Peak FLOP/s over all ranks; None: not measured."""
    memory: int
    """Peak memory of this process in bytes."""
    left: float | None
    """Seconds to go, for a budget of time."""
    scale: LossScale | None = None
    """The loss scale, in float16."""

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

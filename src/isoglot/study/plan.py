"""What a study will take, before anything runs: steps, tokens, time, disk, and test data in the training text.

Times are estimates: training is timed for a few steps on this device, on random tokens; other steps take what steps of
their kind have taken in the study's folder, or a rule of thumb.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from isoglot.core.config import build_config
from isoglot.core.progress import SILENT, duration
from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoglot.core.progress import Progress
    from isoglot.model.config import EncoderConfig
    from isoglot.pretrain.config import PretrainConfig
    from isoglot.study.build import BuiltStudy
    from isoglot.study.steps import Step
    from isoglot.study.study import Study

SECONDS = {
    "cut-text": 20.0,
    "first-sentences": 20.0,
    "builtin-text": 5.0,
    "builtin-dictionary": 1.0,
    "vocabulary": 60.0,
    "shards": 60.0,
    "static": 900.0,
    "transfer": 30.0,
    "shifted-transfer": 60.0,
    "word-vectors": 10.0,
    "word-retrieval": 5.0,
    "language-means": 20.0,
    "steering": 30.0,
    "masked-language": 3.0,
    "fasttext": 600.0,
    "mapped-embeddings": 20.0,
    "mapped-contexts": 120.0,
    "word-links": 60.0,
    "layer-maps": 60.0,
    "mapped-transfer": 300.0,
    "sentence-retrieval": 3.0,
    "similarity": 3.0,
    "emergence": 20.0,
    "twin-text": 10.0,
    "twin-retrieval": 10.0,
}
"""Rough time of steps that are not training, at scale ``hour``, where nothing of their kind has run yet."""
MEGABYTES = {
    "cut-text": 100.0,
    "first-sentences": 60.0,
    "static": 100.0,
    "word-vectors": 30.0,
    "shards": 60.0,
    "vocabulary": 3.0,
}
_TIMED_STEPS = 3


@dataclass(frozen=True)
class PlannedStep:
    """A step of a plan with its estimates."""

    key: str
    kind: str
    title: str
    done: bool
    tokens: int
    seconds: float
    megabytes: float


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """What a study will take."""

    recipe: str
    scale: str
    device: str
    steps: tuple[PlannedStep, ...]
    left_out: tuple[str, ...]
    tokens_per_second: dict[str, float]
    """Training speed by arm size, measured on this device."""
    memory_gigabytes: float
    """Most memory of a training step, estimated."""
    in_text: tuple[str, ...] = field(default=())
    """Test data found in the training text, in words."""

    @property
    def seconds(self) -> float:
        """Estimated time of what is left to do, one step after another."""
        return sum(step.seconds for step in self.steps if not step.done)

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self) | {"seconds": self.seconds}

    def table(self) -> Table:
        """A row for each kind of step."""
        kinds: dict[str, list[PlannedStep]] = {}
        for step in self.steps:
            kinds.setdefault(step.kind, []).append(step)
        rows = [
            {
                "kind": kind,
                "steps": len(steps),
                "done": sum(step.done for step in steps),
                "tokens": sum(step.tokens for step in steps),
                "time": duration(sum(step.seconds for step in steps if not step.done)),
                "disk": sum(step.megabytes for step in steps),
            }
            for kind, steps in kinds.items()
        ]
        notes = [
            f"About {duration(self.seconds)} on {self.device}, one step after another.",
            f"At most {self.memory_gigabytes:.1f} GB of memory in training.",
            *(f"Training speed, {name}: {speed:,.0f} tokens a second, measured." for name, speed in self.speeds()),
            *self.in_text,
            *(f"Left out: {reason}." for reason in self.left_out),
        ]
        columns = [
            Column("kind", title="steps of kind"),
            Column("steps", title="number"),
            Column("done", title="done"),
            Column("tokens", format=",d"),
            Column("time", title="time left", align="right"),
            Column("disk", unit="MB", format=",.0f"),
        ]
        return Table.from_rows(rows, columns, caption=f"{self.recipe} at scale {self.scale}", footnotes=tuple(notes))

    def speeds(self) -> list[tuple[str, float]]:
        """Measured training speeds."""
        return list(self.tokens_per_second.items())


def estimate(
    built: BuiltStudy,
    *,
    out: str | Path | None = None,
    device: str = "auto",
    timed: Callable[[PretrainConfig, int, str], float] | None = None,
    progress: Progress = SILENT,
) -> StudyPlan:
    """Estimate what a study will take.

    Args:
        built: Its steps.
        out: The study's folder, if there is one: what is there need not run.
        device: Where it will run.
        timed: What measures training speed; by default :func:`training_speed`.
        progress: Shows how far it is.

    Raises:
        ConfigError: There is no such device.
    """
    from isoglot.core.devices import choose_device
    from isoglot.study.study import Study

    place = str(choose_device(device))
    study = None if out is None else Study(out, {}, built.steps, built.measurements)
    done = set() if study is None else {*study.steps} - {step.key for step in study.needed()}
    past = _past_seconds(study)
    speeds: dict[str, float] = {}
    found, memory = [], 0.0
    with progress.task("plan", total=len(built.steps), unit="steps") as task:
        for step in built.steps:
            seconds, megabytes = _estimate(step, past, speeds, place, timed or training_speed)
            if step.kind not in past and not step.tokens:
                seconds *= min(1.0, built.scale.tokens / 1e8 + 0.02)  # small studies have small tests
            if step.kind == "pretrain":
                memory = max(memory, _memory(step))
            there = step.key in done
            found.append(PlannedStep(step.key, step.kind, step.title, there, step.tokens, seconds, megabytes))
            task.advance()
    return StudyPlan(
        recipe=built.names[0],
        scale=built.scale_name,
        device=place,
        steps=tuple(found),
        left_out=tuple(built.left_out),
        tokens_per_second=speeds,
        memory_gigabytes=memory,
        in_text=tuple(_in_text(study)),
    )


def _past_seconds(study: Study | None) -> dict[str, float]:
    """Mean time of the steps of each kind that were run in a study."""
    if study is None:
        return {}
    spent: dict[str, list[float]] = {}
    for key, step in study.steps.items():
        record = study.store.record(key)
        if record is not None and step.kind != "pretrain":
            spent.setdefault(step.kind, []).append(float(record["seconds"]))
    return {kind: sum(times) / len(times) for kind, times in spent.items()}


def _estimate(
    step: Step,
    past: dict[str, float],
    speeds: dict[str, float],
    device: str,
    timed: Callable[[PretrainConfig, int, str], float],
) -> tuple[float, float]:
    """Seconds and megabytes of a step."""
    if step.kind != "pretrain":
        return past.get(step.kind, SECONDS.get(step.kind, 10.0)), MEGABYTES.get(step.kind, 1.0)
    config, size = _config(step), _vocabulary_size(step)
    parameters = _parameters(config, size, len(_languages(step)))
    kept = 10 if step.settings.get("moments") else 0
    megabytes = parameters * 4 / 1e6 * (1 + kept)
    if not step.tokens:
        return 2.0, megabytes
    name = f"{config.model.size}, {config.batch.size} sequences a step"
    if name not in speeds:
        speeds[name] = timed(config, size, device)
    return step.tokens / speeds[name], megabytes


def _config(step: Step) -> PretrainConfig:
    from isoglot.pretrain.config import PretrainConfig

    return build_config(PretrainConfig, values=dict(step.settings["config"]))


def _languages(step: Step) -> list[str]:
    return [name.partition(".")[2] for name in step.inputs if name.startswith("shards.")]


def _vocabulary_size(step: Step) -> int:
    settings = step.steps["vocabulary"].settings
    return int(settings["size"]) * (1 if settings["mode"] == "joint" else len(_languages(step)))


def _shape(config: PretrainConfig, vocabulary_size: int) -> EncoderConfig:
    return config.model.encoder(vocabulary_size=vocabulary_size, languages=("en", "de"), pad_id=0, unk_id=1)


def _parameters(config: PretrainConfig, vocabulary_size: int, languages: int) -> int:
    shape = _shape(config, vocabulary_size)
    layer = 4 * shape.hidden_size**2 + 2 * shape.hidden_size * shape.intermediate_size
    private = len(shape.sharing.private_layers)
    return vocabulary_size * shape.hidden_size + layer * (shape.layers + private * (languages - 1))


def _memory(step: Step) -> float:
    """Gigabytes of weights, gradients, optimizer state and activations, roughly."""
    config = _config(step)
    size = _vocabulary_size(step)
    shape = _shape(config, size)
    length = config.batch.sequence_length or shape.max_length
    rows = config.batch.size // config.batch.gradient_accumulation
    activations = rows * length * shape.layers * (14 * shape.hidden_size + 2 * shape.intermediate_size) * 2
    softmax = int(rows * length * 0.15) * size * 4
    return (_parameters(config, size, 2) * 16 + activations + softmax) / 1e9


def training_speed(config: PretrainConfig, vocabulary_size: int, device: str) -> float:
    """Tokens a second of a few training steps on random tokens."""
    import torch

    from isoglot.core.devices import choose_device, product_precision
    from isoglot.model.encoder import Encoder
    from isoglot.pretrain.optimizer import build_optimizer

    place = choose_device(device)
    shape = _shape(config, vocabulary_size).model_copy(update={"plan": "default"})  # private parts cost as much
    encoder = Encoder(shape, seed=0).to(place).train()
    optimizer = build_optimizer(dict(encoder.named_parameters()), config.optimizer, place)
    length = config.batch.sequence_length or shape.max_length
    rows = config.batch.size if place.type == "cuda" else max(1, min(config.batch.size, 2048 // length))
    ids_BT = torch.randint(5, vocabulary_size, (rows, length), device=place)
    at_BK = torch.arange(max(1, int(length * config.masking.rate)), device=place).expand(rows, -1).contiguous()
    precision = product_precision(place)
    best = float("inf")
    for _ in range(_TIMED_STEPS):
        start = time.perf_counter()
        with torch.autocast(place.type, getattr(torch, precision), enabled=precision != "float32"):
            loss = encoder(ids_BT, at_BK, ids_BT[:, : at_BK.shape[1]].contiguous())
        loss.backward()
        optimizer.step(1.0)
        optimizer.clear()
        if place.type == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return rows * length / best


def _in_text(study: Study | None) -> list[str]:
    """Test data that text steps have found, in words."""
    if study is None:
        return []
    found: Counter[tuple[str, str]] = Counter()
    for step in study.steps.values():
        if step.kind == "cut-text" and study.store.is_done(step.key):
            for number in study.store.numbers(step.key).select("test_sentences_in_text"):
                if number.value:
                    found[step.settings["language"], str(number.at["test"])] = int(number.value)
    return [
        f"{count:,} sentences of {test} ({language}) were found in the training text and removed."
        for (language, test), count in found.items()
    ]

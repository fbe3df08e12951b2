"""Estimates of a study before anything runs: steps, tokens, time, disk, and test data in the training text.

Times are estimates: training is timed for a few steps on this device, on random tokens; other steps take what steps of
their kind have taken in the study's folder, or a rule of thumb. A study that runs is estimated from its own speed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.errors import IsoglotError
from isoglot.core.files import writable_folder
from isoglot.core.progress import SILENT, Progress, duration
from isoglot.core.table import Column, Table
from isoglot.study.build import pretrain_config
from isoglot.study.kinds.text import overlap_with_tests
from isoglot.study.steps import KINDS, Step, canonical
from isoglot.text.provenance import COMPRESSED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoglot.model.config import EncoderConfig
    from isoglot.pretrain.config import PretrainConfig
    from isoglot.study.build import BuiltStudy
    from isoglot.study.study import StepState, Study

_TIMED_STEPS = 3
_UNTRAINED = 2.0  # seconds that a step with an untrained encoder takes
_BLANKS = 1.1  # segmented text to text as written
_SENTENCE = 120  # bytes of an average sentence
_BUILTIN_SENTENCE = 45
_COMPRESSION = 4  # compression ratio of a text
_PROCESS_GIGABYTES = 0.4  # of Python and torch, on a CPU


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
    """Estimate of a study.

    Attributes:
        recipe: Name of the recipe.
        scale: Name of the scale.
        device: Device that training was timed on.
        steps: Every step, inputs first.
        left_out: What cannot be planned, and why.
        tokens_per_second: Training speed by arm size, measured on this device.
        memory_gigabytes: Most memory of a training step, estimated.
        in_text: Test data found in the training text, one sentence each.
    """

    recipe: str
    scale: str
    device: str
    steps: tuple[PlannedStep, ...]
    left_out: tuple[str, ...]
    tokens_per_second: dict[str, float]
    memory_gigabytes: float
    in_text: tuple[str, ...] = ()

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
            f"At most {self.memory_gigabytes:.1f} GB of {'GPU ' * (self.device != 'cpu')}memory in training.",
            *(
                f"Training speed, {name}: {speed:,.0f} tokens a second, measured."
                for name, speed in self.tokens_per_second.items()
            ),
            *self.in_text,
            *(f"Left out: {reason}." for reason in self.left_out),
        ]
        columns = [
            Column("kind", title="steps of kind"),
            Column("steps", title="number"),
            Column("done", title="done"),
            Column("tokens", format=",d"),
            Column("time", title="time left", align="right"),
            Column("disk", unit="MB", format=",.1f"),
        ]
        return Table.from_rows(rows, columns, caption=f"{self.recipe} at scale {self.scale}", footnotes=tuple(notes))


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
        progress: Progress reporter.

    Raises:
        ConfigError: There is no such device.
    """
    from isoglot.core.devices import choose_device
    from isoglot.study.study import Study

    place = str(choose_device(device))
    study = None if out is None else Study(out, {}, built.steps, built.measurements)
    done = set() if study is None else {*study.steps} - {step.key for step in study.needed()}
    factor = _scale_factor(built.scale.tokens)
    past = {} if study is None else _past_seconds(study)
    speeds: dict[str, float] = {}
    found = []
    process = memory = _PROCESS_GIGABYTES if place == "cpu" else 0.0
    with progress.task("plan", total=len(built.steps), unit="steps") as task:
        for step in built.steps:
            if step.kind == "pretrain":
                seconds = _training_seconds(step, speeds, place, timed or training_speed)
                memory = max(memory, process + _memory(step))
            else:
                seconds = past.get(step.kind, factor * KINDS[step.kind].seconds)
            about = step.key, step.kind, step.title, step.key in done, step.tokens
            found.append(PlannedStep(*about, seconds, _megabytes(step, factor)))
            task.advance()
    return StudyPlan(
        recipe=built.names[0],
        scale=built.scale_name,
        device=place,
        steps=tuple(found),
        left_out=tuple(built.left_out),
        tokens_per_second=speeds,
        memory_gigabytes=memory,
        in_text=tuple(found_in_text(built, progress=progress)),
    )


def _scale_factor(tokens: int) -> float:
    """Time and size of a step relative to scale ``hour``, from the tokens of an arm; at most 1."""
    return min(1.0, tokens / 1e8 + 0.02)


# --- time ---


@dataclass(frozen=True)
class TimeLeft:
    """Estimated time until a study is done, one step after another.

    Attributes:
        seconds: The time.
        untimed: Training steps that are not in it, because the speed of such training is not known yet.
    """

    seconds: float
    untimed: int

    def in_words(self) -> str:
        """The time left in a few words."""
        if not self.untimed:
            return f"about {duration(self.seconds)} left, one step after another"
        rest = f", and {duration(self.seconds)} for other steps" if self.seconds else ""
        return f"time left: {self.untimed} encoders, whose speed is known once one trains{rest}"


@dataclass(frozen=True)
class StudyStatus:
    """Status of every step of a study, and the time left."""

    about: dict[str, Any]
    states: list[StepState]
    left: TimeLeft

    @property
    def counts(self) -> Counter[str]:
        """Number of steps by status."""
        return Counter(one.status for one in self.states)

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        steps = [
            {"key": one.step.key, "kind": one.step.kind, "title": one.step.title, "status": one.status}
            | {name: text for name, text in (("error", one.error), ("where", one.where)) if text}
            for one in self.states
        ]
        return {"about": self.about, "counts": dict(self.counts), "time_left": asdict(self.left), "steps": steps}

    def table(self) -> Table:
        """A row for each step."""
        rows = []
        for one in self.states:
            time_taken = duration(one.seconds) if one.seconds else ""
            rows.append([one.step.key[:8], one.status, time_taken, one.step.title, one.error or one.where])
        return Table.from_cells(["step", "status", "time", "what", "where or error"], rows, align="l")

    def in_words(self) -> str:
        """Numbers of steps and the time left, in a line."""
        words = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        unfinished = any(one.status not in ("done", "dropped") for one in self.states)
        return f"{words}; {self.left.in_words()}" if unfinished else words


def study_status(study: Study) -> StudyStatus:
    """Status of a study, with its jobs in the queue of a cluster."""
    from isoglot.study.engines.slurm import queued_jobs

    return StudyStatus(study.about, study.states(queued_jobs(study)), time_left(study))


def time_left(study: Study) -> TimeLeft:
    """Estimate the time of the steps that have to run, from steps that ran here and from training speeds of a plan."""
    past, speeds = _past_seconds(study), _past_speeds(study)
    factor = _scale_factor(int(study.about.get("tokens") or 1e8))
    seconds, untimed = 0.0, 0
    for step in study.needed():
        if step.kind != "pretrain":
            seconds += past.get(step.kind, factor * KINDS[step.kind].seconds)
        elif not step.tokens:
            seconds += _UNTRAINED
        else:
            name = _speed_name(pretrain_config(step))
            speed = speeds.get(name) or recall(_speed_key(name, "auto"))
            begun, _ = _trained(study, step)
            if speed:
                seconds += (step.tokens - begun) / float(speed)
            else:
                untimed += 1
    return TimeLeft(seconds, untimed)


def _past_speeds(study: Study) -> dict[str, float]:
    """Tokens a second of encoders that were trained in a study, or are being trained, by size."""
    spent: dict[str, list[tuple[int, float]]] = {}
    for key, step in study.steps.items():
        if step.kind == "pretrain" and step.tokens:
            record = study.store.record(key)
            tokens, seconds = _trained(study, step) if record is None else (step.tokens, float(record["seconds"]))
            if tokens and seconds:
                spent.setdefault(_speed_name(pretrain_config(step)), []).append((tokens, seconds))
    return {name: sum(t for t, _ in runs) / sum(s for _, s in runs) for name, runs in spent.items()}


def _trained(study: Study, step: Step) -> tuple[int, float]:
    """Tokens and seconds of a training step that has begun, by its log."""
    from isoglot.pretrain.metrics_log import METRICS
    from isoglot.study.kinds.pretrain import RUN

    try:
        lines = (study.store.scratch(step.key) / RUN / METRICS).read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0, 0.0
    for line in reversed(lines):
        with suppress(ValueError, KeyError):  # a line that is being written
            facts = json.loads(line)
            if facts["kind"] == "train":
                return int(facts["tokens"]), float(facts["seconds"])
    return 0, 0.0


def _past_seconds(study: Study) -> dict[str, float]:
    """Mean time of the steps of each kind that were run in a study."""
    spent: dict[str, list[float]] = {}
    for key, step in study.steps.items():
        record = study.store.record(key)
        if record is not None and step.kind != "pretrain":
            spent.setdefault(step.kind, []).append(float(record["seconds"]))
    return {kind: sum(times) / len(times) for kind, times in spent.items()}


def _training_seconds(
    step: Step, speeds: dict[str, float], device: str, timed: Callable[[PretrainConfig, int, str], float]
) -> float:
    """Seconds of a training step, at a speed that is measured once for each size and cached for ``status``."""
    if not step.tokens:
        return _UNTRAINED
    config = pretrain_config(step)
    name = _speed_name(config)
    if name not in speeds:
        speeds[name] = timed(config, _vocabulary_size(step), device)
        keep(_speed_key(name, device), speeds[name])
    return step.tokens / speeds[name]


def _speed_name(config: PretrainConfig) -> str:
    return f"{config.model.size}, {config.batch.size} sequences a step"


def _speed_key(name: str, device: str) -> dict[str, str]:
    from isoglot.core.devices import choose_device, list_devices

    place = str(choose_device(device))
    return {"speed": name, "device": next(one.chip for one in list_devices() if one.name == place)}


# --- disk and memory ---


def _megabytes(step: Step, factor: float) -> float:
    """Size of what a step writes, estimated from the data."""
    if step.kind == "pretrain":
        config, size = pretrain_config(step), _vocabulary_size(step)
        kept = 10 if step.settings.get("moments") else 0
        return _parameters(config, size, len(_languages(step))) * 4 / 1e6 * (1 + kept)
    if step.kind == "vocabulary":
        return int(step.settings["size"]) * 100 / 1e6
    if step.kind == "shards":
        return _text_megabytes(step.steps["text"]) / 2  # a token is two bytes, and four of text
    if step.kind in ("cut-text", "builtin-text", "first-sentences", "segmented-text", "twin-source", "twin-text"):
        return _text_megabytes(step)
    return KINDS[step.kind].megabytes * factor


def _text_megabytes(step: Step) -> float:
    """Size of a text, from that of the files that it is made of, or from its number of sentences."""
    if step.kind == "twin-text" and "source" in step.steps:
        return _text_megabytes(step.steps["source"]) / 2
    if step.kind in ("cut-text", "twin-source"):
        files = [Path(file.path) for name, file in step.files.items() if name.startswith("text.")]
        size = sum(path.stat().st_size * (_COMPRESSION if path.suffix in COMPRESSED else 1) for path in files)
        return min(size, int(step.settings.get("bytes") or size)) / 1e6
    if step.kind == "segmented-text":
        return _text_megabytes(step.steps["text"]) * _BLANKS
    if step.kind == "first-sentences":
        return min(_text_megabytes(step.steps["text"]), int(step.settings["sentences"]) * _SENTENCE / 1e6)
    return int(step.settings.get("sentences", 0)) * _BUILTIN_SENTENCE / 1e6


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
    config = pretrain_config(step)
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


# --- test data in the training text ---


def found_in_text(built: BuiltStudy, *, progress: Progress = SILENT) -> list[str]:
    """Find test data in the training text; counts of earlier calls are cached."""
    found: dict[tuple[str, str], int] = {}
    for step in built.steps:
        if step.kind != "cut-text":
            continue
        language = step.settings["language"]
        texts = {name: file for name, file in step.files.items() if name.startswith("text.")}
        tests = built.data.tests(language)
        key = {
            "overlap": 1,
            "language": language,
            "texts": [file.sha256 for file in texts.values()],
            "tests": {name: file.sha256 for name, file in tests.items()},
        }
        counts = recall(key)
        if counts is None:
            paths = [Path(file.path) for file in texts.values()]
            report = overlap_with_tests(
                paths, {name: Path(file.path) for name, file in tests.items()}, language, progress=progress
            )
            counts = {name: one["found"] for name, one in report.sets.items()}
            keep(key, counts)
        for name, count in counts.items():
            found[language, name] = max(count, found.get((language, name), 0))
    fate = "stay in it" if built.options.keep_test_sentences else "are removed"
    return [
        f"{count:,} sentences of {test} ({language}) are in the training text and {fate}."
        for (language, test), count in found.items()
        if count
    ]


# --- cache of what was measured on this machine ---


def cache_folder() -> Path:
    """Folder of training speeds and counts of test sentences, cached for the next plan: one small file each.

    ``$XDG_CACHE_HOME/isoglot/plan``, else ``~/.cache/isoglot/plan``. They may be removed at any time.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "isoglot" / "plan"


def recall(key: Mapping[str, Any]) -> Any | None:  # noqa: ANN401 - what was kept, as JSON has it
    """The value cached under a key; None if there is none, or it cannot be read."""
    with suppress(IsoglotError, OSError):
        path = _path(key)
        if path.exists():
            return read_sealed(path, {"value": object}, remedy="remove it")["value"]
    return None


def keep(key: Mapping[str, Any], value: Any) -> None:  # noqa: ANN401 - anything that JSON can hold
    """Cache a value under a key; if it cannot be written, it is measured again the next time."""
    with suppress(IsoglotError, OSError):
        writable_folder(cache_folder())
        write_sealed(_path(key), {"key": dict(key), "value": value})


def _path(key: Mapping[str, Any]) -> Path:
    return cache_folder() / f"{hashlib.sha256(canonical(dict(key)).encode()).hexdigest()[:32]}.json"

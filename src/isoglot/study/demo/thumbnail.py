"""The thumbnail study: the first paper's question on two cores in minutes, which is what ``isoglot demo`` runs.

Built-in English is paired with twins of itself in a private script, so that a translation of every sentence is known
and nothing of the surface is shared unless it is meant to be. Each arm trains one small encoder on text of both, never
on a pair of sentences that say the same, and is asked whether it finds the twin of each held-out sentence.

The study is the recipe ``thumbnail``; here its size is chosen for the machine, and its numbers become results.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.config import Config
from isoglot.core.errors import IsoglotError
from isoglot.core.progress import SILENT, Progress, Say, say_nothing
from isoglot.pretrain.schedule import parse_budget
from isoglot.study.build import StudyBuilder, StudyOptions, build_study, tokens_per_step
from isoglot.study.data import StudyData
from isoglot.study.engines import RunOptions, run_study
from isoglot.study.factorial.outcomes import TEST_P1
from isoglot.study.recipe import load_scale, load_study
from isoglot.study.study import INDEX, Study
from isoglot.study.twin_steps import MOMENT_P1, RAW_P1

if TYPE_CHECKING:
    from collections.abc import Iterator

RECIPE = load_study("thumbnail")[1]
ARMS = RECIPE.arms
"""Encoders of the study by name."""
SIZE = "size.json"
"""File with the size that was chosen for the machine."""
FULL_TOKENS = 6_000_000
"""Tokens that each encoder reads, unless the machine is too slow."""
MOST_SECONDS = 360.0
"""Time that training may take in all; longer, and a smaller number of tokens is chosen."""


class ThumbnailConfig(Config):
    """Size of the demo's study."""

    sentences: int = Field(40_000, ge=1000)
    """sentences of running text a language"""
    vocabulary_size: int = Field(2000, ge=300)
    """subwords in each language's vocabulary"""
    test_sentences: int = Field(500, ge=20)
    """held-out sentences whose twins are looked for"""
    budget: str = "auto"
    """how long each encoder learns; auto: 6Mtokens, or less on a machine too slow for that; a time (20s) is turned into
    steps by timing a few, once for all encoders"""
    threads: int = Field(2, ge=1, le=1024)
    """CPU threads; results may differ in their last bits with their number"""
    arms: tuple[str, ...] = tuple(ARMS)
    """which arms to run"""

    @field_validator("arms")
    @classmethod
    def _known(cls, arms: tuple[str, ...]) -> tuple[str, ...]:
        if not arms or set(arms) - set(ARMS):
            raise ValueError(f"should be some of {', '.join(ARMS)}")
        return arms


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Retrieval scores at one moment of training.

    Attributes:
        tokens: Tokens of text the encoder had seen.
        centered: P@1 of each layer from 0, with each language's mean removed, estimated on other sentences than the
            query's.
    """

    tokens: int
    centered: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ArmResult:
    """Result of one arm.

    Attributes:
        name: Name of the arm.
        raw: P@1 of each layer at the end, from English to the twin, by cosine.
        centered: The same with each language's mean removed, as Liu et al. (2020) do.
        perplexity: Perplexity on development text, by language.
        steps: Training steps.
        tokens: Tokens of text that were read.
        anchors: Subwords that occur in the text of both languages.
        moments: Scores over training.
    """

    name: str
    raw: tuple[float, ...]
    centered: tuple[float, ...]
    perplexity: dict[str, float]
    steps: int
    tokens: int
    anchors: int
    moments: tuple[Moment, ...]

    @property
    def best(self) -> float:
        """The best layer's P@1, centered."""
        return max(self.centered)


def run_thumbnail(
    out: str | Path,
    config: ThumbnailConfig | None = None,
    *,
    seed: int = 0,
    device: str = "auto",
    progress: Progress = SILENT,
    say: Say = say_nothing,
) -> tuple[list[ArmResult], ThumbnailSize]:
    """Run the recipe ``thumbnail`` in a size that suits the machine.

    An earlier call is resumed; steps that it finished are not run again.

    Returns:
        The result of each arm, and the size of the study.

    Raises:
        ConfigError: There is no such arm or device, or the folder holds something else.
        IsoglotError: A step has failed.
        StorageError: The folder cannot be written to.
    """
    config, path = config or ThumbnailConfig(), Path(out)
    key = {"config": config.model_dump(mode="json", exclude={"arms"}), "seed": seed}
    size = _known_size(path, key) or choose_size(config, device=device)
    settings = {
        "tokens": size.tokens,
        "threads": size.threads,
        "builtin_sentences": config.sentences,
        "vocabulary_size": config.vocabulary_size,
        "pairs": config.test_sentences,
    }
    options = StudyOptions(
        scale_settings=tuple(f"{name}={value}" for name, value in settings.items()), first_seed=seed, arms=config.arms
    )
    built = build_study("thumbnail", StudyData(), options)
    if (path / SIZE).exists():
        (path / INDEX).unlink(missing_ok=True)  # a plan of another size is replaced, not added to
    study = Study.create(path, built)
    write_sealed(path / SIZE, {"key": key, "size": asdict(size)})
    say(size.in_words())
    for number, name in enumerate(config.arms, start=1):
        say(f"{number} of {len(config.arms)}: {ARMS[name].title}. {ARMS[name].meaning}")
    done = run_study(study, "local", RunOptions(device=device), progress=progress, say=say)
    if done.failed:
        raise IsoglotError(next(iter(done.failed.values())), remedy="the same command tries again")
    return [_result(study, name) for name in ARMS if name in config.arms], size


def _result(study: Study, name: str) -> ArmResult:
    numbers = study.numbers().select(arm=name)
    raw, centered = (tuple(one.value for one in numbers.select(measure)) for measure in (RAW_P1, TEST_P1))
    steps, tokens, anchors = (
        int(numbers.select(measure).one.value) for measure in ("training_steps", "training_tokens", "used_anchors")
    )
    moments = numbers.select(MOMENT_P1).by("tokens").items()
    return ArmResult(
        name=name,
        raw=raw,
        centered=centered,
        perplexity={str(one.at["language"]): one.value for one in numbers.select("perplexity")},
        steps=steps,
        tokens=tokens,
        anchors=anchors,
        moments=tuple(Moment(tokens=at, centered=tuple(one.value for one in some)) for at, some in moments),
    )


# --- size ---


@dataclass(frozen=True, kw_only=True)
class ThumbnailSize:
    """Size of the study on this machine, chosen once at the start.

    Attributes:
        tokens: Tokens of text that each encoder reads.
        steps: Training steps of each encoder.
        threads: Threads that torch computes with.
        full: Whether these are the tokens that were asked for, not fewer for a slow machine.
        tokens_per_second: Training speed, measured where it decided; else None.
    """

    tokens: int
    steps: int
    threads: int
    full: bool
    tokens_per_second: float | None = None

    def in_words(self) -> str:
        """The size in a sentence."""
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        speed = "" if self.tokens_per_second is None else f", chosen at {self.tokens_per_second:,.0f} tokens a second"
        smaller = "" if self.full else f", not {FULL_TOKENS / 1e6:.0f} M, so that it takes minutes on this machine"
        read = f"{self.tokens / 1e6:.2g} M tokens in {self.steps:,} steps"
        return f"Each encoder reads {read} with {threads}{speed}{smaller}."


def _known_size(out: Path, key: dict[str, object]) -> ThumbnailSize | None:
    """The size that an earlier call with the same settings chose."""
    if not (out / SIZE).exists():
        return None
    found = read_sealed(out / SIZE, {"key": dict, "size": dict}, remedy="remove it, or name another --out")
    return ThumbnailSize(**found["size"]) if found["key"] == key else None


def choose_size(config: ThumbnailConfig, *, device: str = "auto") -> ThumbnailSize:
    """Time a few training steps where tokens depend on the machine, and choose their number.

    With ``auto``: 6 M tokens an encoder, or a half, a quarter or an eighth of it if 6 M would take more than
    :data:`MOST_SECONDS` for all. With a time: as many as are read in it.
    """
    import torch

    from isoglot.study.plan import training_speed

    builder = StudyBuilder(RECIPE, load_scale("thumbnail"), StudyData(), ("en", "twin"), StudyOptions())
    training = builder.config(ARMS["anchors"], 0)
    in_step = tokens_per_step(training)
    threads = min(config.threads, torch.get_num_threads())
    budget = None if config.budget == "auto" else parse_budget(config.budget)
    if budget is not None and budget.kind != "time":
        steps = budget.steps(in_step) or 1
        return ThumbnailSize(tokens=steps * in_step, steps=steps, threads=threads, full=True)
    with _threads(threads):
        speed = training_speed(training, 2 * config.vocabulary_size, device)
    if budget is not None:
        steps = max(1, int(budget.amount * speed / in_step))
    else:
        seconds = len(config.arms) * FULL_TOKENS / speed
        part = next((n for n in (1, 2, 4) if seconds / n <= MOST_SECONDS), 8)
        steps = math.ceil(FULL_TOKENS / part / in_step)
    tokens, speed = steps * in_step, round(speed, 1)
    full = budget is not None or tokens >= FULL_TOKENS
    return ThumbnailSize(tokens=tokens, steps=steps, threads=threads, full=full, tokens_per_second=speed)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Set the number of threads of torch within the block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)

"""The thumbnail study: the first paper's question on two cores in minutes, which is what ``isoglot demo`` runs.

Built-in English is paired with twins of itself in a private script, so that a translation of every sentence is known
and nothing of the surface is shared unless it is meant to be. Each arm trains one small encoder on text of both, never
on a pair of sentences that say the same, and is asked whether it finds the twin of each held-out sentence.
"""

from __future__ import annotations

import json
import math
import shutil
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.config import Config
from isoglot.core.devices import choose_device
from isoglot.core.errors import ConfigError, CorruptFileError
from isoglot.core.files import writable_folder
from isoglot.core.progress import SILENT, Progress
from isoglot.languages.twins import twin_code
from isoglot.pretrain.metrics_log import METRICS
from isoglot.pretrain.schedule import parse_budget
from isoglot.study.demo.twin_pairs import (
    TwinLanguage,
    TwinProbe,
    encoded_texts,
    held_out,
    pair_documents,
    pair_training,
    paired,
    used_anchors,
    write_texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.masking import RandomFrom
    from isoglot.pretrain.train import Pretrained
    from isoglot.vocab.train import TrainedMode

RESULT = "result.json"
SIZE = "size.json"
"""File with the size that was chosen for the machine."""
FULL_TOKENS = 6_000_000
"""Tokens that each encoder reads, unless the machine is too slow."""
MOST_SECONDS = 360.0
"""Time that training may take in all; longer, and a smaller number of tokens is chosen."""
SLICE = 250
"""Training steps of an encoder until it is the next one's turn."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One encoder of the study: what its two languages are, and what they share."""

    name: str
    title: str
    """A few words for a figure."""
    meaning: str
    """A sentence for the reader."""
    plan: str = "default"
    kept: bool = False
    """Whether some words are written the same in both languages."""
    reversed: bool = False
    """Whether the twin's word order is the mirror image."""


ARMS = (
    Arm(
        name="anchors",
        title="shared, with anchors",
        meaning="Both languages share every weight, and some words are written the same in both.",
        kept=True,
    ),
    Arm(
        name="no-anchors",
        title="shared, no anchors",
        meaning="Both share every weight, but not one word, letter or punctuation mark is the same.",
    ),
    Arm(
        name="separated",
        title="separated up to the top layer",
        meaning="No anchors, and each language has its own embeddings, softmax and layers but the last.",
        plan="below-top",
    ),
    Arm(
        name="far-order",
        title="shared, no anchors, mirrored order",
        meaning="Every weight is shared, no word is, and the twin says its sentences backwards.",
        reversed=True,
    ),
)


class ThumbnailConfig(Config):
    """Size of the demo's study."""

    sentences: int = Field(40_000, ge=1000)
    """sentences of running text a language"""
    vocabulary_size: int = Field(2000, ge=300)
    """subwords in each language's vocabulary"""
    test_sentences: int = Field(500, ge=10)
    """held-out sentences whose twins are looked for"""
    anchor_share: float = Field(0.2, ge=0, le=1)
    """the share of words that are written the same, in the arm with anchors"""
    budget: str = "auto"
    """how long each encoder learns; auto: 6Mtokens, or less on a machine too slow for that; a time (20s) is turned into
    steps by timing a few, once for all encoders"""
    threads: int = Field(2, ge=1, le=1024)
    """CPU threads; results may differ in their last bits with their number"""
    arms: tuple[str, ...] = tuple(arm.name for arm in ARMS)
    """which arms to run"""

    @field_validator("arms")
    @classmethod
    def _known(cls, arms: tuple[str, ...]) -> tuple[str, ...]:
        known = [arm.name for arm in ARMS]
        if not arms or set(arms) - set(known):
            raise ValueError(f"should be some of {', '.join(known)}")
        return arms


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Retrieval scores at one moment of training."""

    tokens: int
    """Tokens of text the encoder had seen."""
    centered: tuple[float, ...]
    """P@1 of each layer from 0, with each language's mean removed, estimated on other sentences than the query's."""


@dataclass(frozen=True, kw_only=True)
class ArmResult:
    """Result of one arm."""

    name: str
    raw: tuple[float, ...]
    """P@1 of each layer at the end, from English to the twin, by cosine."""
    centered: tuple[float, ...]
    """The same with each language's mean removed, which is the second paper's way to make languages meet."""
    perplexity: dict[str, float]
    steps: int
    tokens: int
    seconds: float
    anchors: int
    """Pieces that both languages have and use."""
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
    say: Callable[[str], None] = lambda _: None,
) -> tuple[list[ArmResult], ThumbnailSize]:
    """Train the encoders of all arms in turn, a slice of the budget each, and test them.

    An earlier call with the same settings is resumed; arms that it finished are not trained again.

    Returns:
        The result of each arm, and the size of the study.

    Raises:
        ConfigError: There is no such arm or device, or an arm's folder holds something else.
        StorageError: The folder cannot be written to.
    """
    config = config or ThumbnailConfig()
    out = writable_folder(out)
    chosen = [arm for arm in ARMS if arm.name in config.arms]
    for arm in chosen:
        _former(out / arm.name, arm)  # refuses what is not the demo's before anything is trained
    size = _size(out, config, seed=seed, device=device)
    say(size.in_words())
    with _threads(size.threads):
        trainings = []
        for number, arm in enumerate(chosen, start=1):
            say(f"{number} of {len(chosen)}: {arm.title}. {arm.meaning}")
            trainings.append(
                ArmTraining(arm, out / arm.name, config, size, seed=seed, device=device, progress=progress)
            )
        train_in_turn(trainings, progress=progress)
        return [training.result() for training in trainings], size


def train_in_turn(trainings: Sequence[ArmTraining], *, progress: Progress = SILENT) -> None:
    """Train slice by slice, so that at every moment all encoders have read the same amount of text but for a slice."""
    left = [training for training in trainings if not training.is_done]
    with progress.task("encoders in turn", total=sum(one.steps for one in left) or None, unit="steps") as task:
        end = 0
        while left:
            end += SLICE
            for training in left:
                before = training.step
                training.train(end)
                task.note(training.arm.name)
                task.advance(training.step - before)
            left = [training for training in left if not training.is_done]


# --- size ---


@dataclass(frozen=True, kw_only=True)
class ThumbnailSize:
    """Size of the study on this machine, chosen once at the start."""

    tokens: int
    """Tokens of text that each encoder reads."""
    steps: int
    """Training steps of each encoder."""
    threads: int
    """Threads that torch computes with."""
    full: bool
    """Whether these are the tokens that were asked for, not fewer for a slow machine."""
    tokens_per_second: float | None = None
    """Training speed, measured where it decided; else None."""

    def in_words(self) -> str:
        """The size in a sentence."""
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        speed = "" if self.tokens_per_second is None else f", chosen at {self.tokens_per_second:,.0f} tokens a second"
        smaller = "" if self.full else f", not {FULL_TOKENS / 1e6:.0f} M, so that it takes minutes on this machine"
        read = f"{self.tokens / 1e6:.2g} M tokens in {self.steps:,} steps"
        return f"Each encoder reads {read} with {threads}{speed}{smaller}."


def _size(out: Path, config: ThumbnailConfig, *, seed: int, device: str) -> ThumbnailSize:
    """Return the size that an earlier call with the same settings chose, or choose and record one."""
    key = {"config": config.model_dump(mode="json", exclude={"arms"}), "seed": seed}
    if (out / SIZE).exists():
        found = read_sealed(out / SIZE, {"key": dict, "size": dict}, remedy="remove it, or name another --out")
        if found["key"] == key:
            return ThumbnailSize(**found["size"])
    size = choose_size(config, device=device)
    write_sealed(out / SIZE, {"key": key, "size": asdict(size)})
    return size


def choose_size(config: ThumbnailConfig, *, device: str = "auto") -> ThumbnailSize:
    """Time a few training steps where tokens depend on the machine, and choose their number.

    With ``auto``: 6 M tokens an encoder, or a half, a quarter or an eighth of it if 6 M would take more than
    :data:`MOST_SECONDS` for all. With a time: as many as are read in it.
    """
    import torch

    from isoglot.study.build import tokens_per_step
    from isoglot.study.plan import training_speed

    training = _training(ARMS[0], 0, f"{FULL_TOKENS}tokens")
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
    full = budget is not None or steps * in_step >= FULL_TOKENS
    return ThumbnailSize(
        tokens=steps * in_step, steps=steps, threads=threads, full=full, tokens_per_second=round(speed, 1)
    )


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """While the block lasts torch computes with so many threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# --- an arm ---


class ArmTraining:
    """The training of one arm in a folder of its own: its text, vocabulary and shards, and how far it is.

    Args:
        arm: The arm.
        out: The folder; an earlier call with the same settings is resumed.
        config: How large the study is.
        size: As it was chosen on this machine.
        seed: Decides text, initial weights and their order.
        device: ``auto``, ``cpu``, ``cuda``…
        progress: Shows how far vocabulary and shards are.
    """

    def __init__(
        self,
        arm: Arm,
        out: Path,
        config: ThumbnailConfig,
        size: ThumbnailSize,
        *,
        seed: int = 0,
        device: str = "auto",
        progress: Progress = SILENT,
    ) -> None:
        self.arm, self.out, self.device, self.steps, self.step = arm, out, device, size.steps, 0
        self.key = {
            "config": config.model_dump(mode="json", exclude={"arms", "budget", "threads"}),
            "size": {"steps": size.steps, "threads": size.threads},
            "seed": seed,
            "arm": asdict(arm),
        }
        former = _former(out, arm)
        self.codes = ("en", twin_code(twin_code("en", "order") if arm.reversed else "en", "shift"))
        anchors = config.anchor_share if arm.kept else 0.0
        language = TwinLanguage(order="mirrored" if arm.reversed else "same", anchors=anchors)
        self.probe = TwinProbe(self.codes, paired(held_out(config.test_sentences, seed), language))
        self.run: Pretrained | None = None
        self.found: ArmResult | None = None
        if former.get("key") == self.key and "result" in former:
            self.found = result_from_json(former["result"])
            return
        if former and former.get("key") != self.key:
            shutil.rmtree(out, ignore_errors=True)
        write_sealed(writable_folder(out) / RESULT, {"key": self.key})
        self.training = _training(arm, seed, f"{size.steps}steps")
        texts = write_texts(pair_documents(language, config.sentences, seed=seed), self.codes, out, seed=seed)
        mode: TrainedMode = "union" if arm.kept else "disjoint"
        self.vocabulary, self.shards = encoded_texts(
            texts, out, mode=mode, pieces=config.vocabulary_size, progress=progress
        )

    @property
    def is_done(self) -> bool:
        """Whether the budget is spent."""
        return self.found is not None or (self.run is not None and self.run.finished)

    def train(self, end: int) -> None:
        """Train until a step, or until the budget is spent."""
        from isoglot.pretrain.train import pretrain

        self.run = pretrain(
            self.training,
            self.shards,
            self.vocabulary,
            self.out / "encoder",
            device=self.device,
            probes=[self.probe],
            resume=True,
            stop_at=end,
            command=f"isoglot demo, arm {self.arm.name}",
        )
        self.step = self.run.position.step

    def result(self) -> ArmResult:
        """Return the result of the trained arm, and write it to the folder."""
        if self.found is not None:
            return self.found
        if self.run is None or not self.run.finished:
            raise RuntimeError(f"{self.arm.name} is not trained")
        position = self.run.position
        if not self.probe.last[0]:  # an earlier call measured last, and ended before it wrote the result
            from isoglot.model.folder import open_encoder

            self.probe(open_encoder(self.out / "encoder" / "last").to(choose_device(self.device)), position.step)
        raw, centered = self.probe.last
        self.found = ArmResult(
            name=self.arm.name,
            raw=raw,
            centered=centered,
            perplexity=position.dev,
            steps=position.step,
            tokens=position.tokens,
            seconds=position.seconds,
            anchors=used_anchors(self.vocabulary, self.shards, self.codes),
            moments=tuple(_moments(self.out / "encoder", position.tokens / max(1, position.step))),
        )
        write_sealed(self.out / RESULT, {"key": self.key, "result": asdict(self.found)})
        return self.found


def _moments(folder: Path, tokens_per_step: float) -> Iterator[Moment]:
    """Scores of the probe during training, from its log."""
    for line in (folder / METRICS).read_text(encoding="utf-8").splitlines():
        facts = json.loads(line)
        if facts["kind"] == "probe":
            yield Moment(tokens=round(facts["step"] * tokens_per_step), centered=tuple(facts["value"].values()))


def _training(arm: Arm, seed: int, budget: str) -> PretrainConfig:
    from isoglot.model.config import SIZES

    plan = f"emb,pos,1-{SIZES['micro']['layers'] - 1},transform,softmax" if arm.plan == "below-top" else arm.plan
    random_from: RandomFrom = "vocabulary" if plan == "default" else "language"
    training = pair_training(plan, budget=budget, seed=seed, random_from=random_from)
    log = training.log.model_copy(update={"peak": "off"})  # it would be measured again for every slice
    return training.model_copy(update={"log": log})


def _former(out: Path, arm: Arm) -> dict[str, Any]:
    """Record of an arm that an earlier call wrote, with its result if it finished; empty if there was none.

    Raises:
        ConfigError: The folder holds something that is not of this arm, which must not be removed.
    """
    if (out / RESULT).exists():
        with suppress(CorruptFileError):  # another program's file, or a damaged one: neither must be removed
            match read_sealed(out / RESULT, remedy="move it, or name another --out"):
                case {"key": {"arm": {"name": arm.name}}} as found:
                    return dict(found)
    if out.is_dir() and any(out.iterdir()):
        raise ConfigError(
            f"{out} is in the way: it holds something else",
            remedy="move it, or name another --out",
            code="config.would-overwrite",
        )
    return {}


def result_from_json(facts: dict[str, Any]) -> ArmResult:
    """Read a result from its JSON form."""
    moments = tuple(Moment(tokens=one["tokens"], centered=tuple(one["centered"])) for one in facts["moments"])
    return ArmResult(**{**facts, "raw": tuple(facts["raw"]), "centered": tuple(facts["centered"]), "moments": moments})

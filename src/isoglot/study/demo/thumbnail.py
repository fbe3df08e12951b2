"""The thumbnail study: the first paper's question on two cores in minutes, which is what ``isoglot demo`` runs.

Built-in English is paired with twins of itself in a private script, so that a translation of every sentence is known
and nothing of the surface is shared unless it is meant to be. Each arm trains one small encoder on text of both, never
on a pair of sentences that say the same, and is asked whether it finds the twin of each held-out sentence.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.config import Config
from isoglot.core.errors import ConfigError, CorruptFileError
from isoglot.core.files import writable_folder
from isoglot.core.progress import SILENT, Progress
from isoglot.languages.twins import twin_code
from isoglot.pretrain.schedule import parse_budget
from isoglot.study.demo.twin_pairs import (
    TwinLanguage,
    TwinProbe,
    held_out,
    pair_documents,
    pair_training,
    paired,
    train_pair,
    used_anchors,
    write_texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from isoglot.pretrain.config import PretrainConfig

RESULT = "result.json"


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
    """How large the study is."""

    sentences: int = Field(40_000, ge=1000)
    """sentences of running text a language"""
    vocabulary_size: int = Field(2000, ge=300)
    """subwords in each language's vocabulary"""
    test_sentences: int = Field(500, ge=10)
    """held-out sentences whose twins are looked for"""
    anchor_share: float = Field(0.2, ge=0, le=1)
    """the share of words that are written the same, in the arm with anchors"""
    budget: str = "6Mtokens"
    """how long each encoder learns; a time (20s) is the first one's, and the others take as many steps"""
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
    """How well translations were found at one moment of the training."""

    tokens: int
    """Tokens of text the encoder had seen."""
    centered: tuple[float, ...]
    """P@1 of each layer from 0, with each language's mean removed, estimated on other sentences than the query's."""


@dataclass(frozen=True, kw_only=True)
class ArmResult:
    """What an arm came to."""

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
) -> list[ArmResult]:
    """Run every arm; those a former call with the same settings finished are not run again.

    Raises:
        ConfigError: There is no such arm or device, or an arm's folder holds something else.
        StorageError: The folder cannot be written to.
    """
    config = config or ThumbnailConfig()
    out = writable_folder(out)
    results = []
    chosen = [arm for arm in ARMS if arm.name in config.arms]
    for arm in chosen:
        _former(out / arm.name, arm)  # refuses what is not the demo's before anything is trained
    for number, arm in enumerate(chosen, start=1):
        say(f"{number} of {len(chosen)}: {arm.title}. {arm.meaning}")
        results.append(run_arm(arm, out / arm.name, config, seed=seed, device=device, progress=progress, say=say))
        if number == 1 and parse_budget(config.budget).kind == "time":  # arms that are compared see the same tokens
            config = config.model_copy(update={"budget": f"{results[0].steps}steps"})
    return results


def run_arm(
    arm: Arm,
    out: Path,
    config: ThumbnailConfig,
    *,
    seed: int = 0,
    device: str = "auto",
    progress: Progress = SILENT,
    say: Callable[[str], None] = lambda _: None,
) -> ArmResult:
    """Text, vocabulary, shards, training and the test of one arm, in a folder of its own."""
    key = {"config": config.model_dump(mode="json", exclude={"arms"}), "seed": seed, "arm": asdict(arm)}
    former = _former(out, arm)
    if former.get("key") == key and "result" in former:
        return result_from_json(former["result"])
    if former:
        shutil.rmtree(out, ignore_errors=True)
    write_sealed(writable_folder(out) / RESULT, {"key": key})
    codes = ("en", _code(arm))
    language = _twin_language(arm, config)
    texts = write_texts(pair_documents(language, config.sentences, seed=seed), codes, out, seed=seed)
    probe = TwinProbe(codes, paired(held_out(config.test_sentences, seed), language))
    with _threads(device, say):
        trained = train_pair(
            texts,
            _training(arm, config, seed),
            out,
            mode="union" if arm.kept else "disjoint",
            pieces=config.vocabulary_size,
            probes=[probe],
            device=device,
            command=f"isoglot demo, arm {arm.name}",
            progress=progress,
        )
    position = trained.run.position
    raw, centered = probe.last
    result = ArmResult(
        name=arm.name,
        raw=raw,
        centered=centered,
        perplexity=position.dev,
        steps=position.step,
        tokens=position.tokens,
        seconds=position.seconds,
        anchors=used_anchors(trained.vocabulary, trained.shards, codes),
        moments=tuple(
            Moment(tokens=position.tokens * step // max(1, position.step), centered=found)
            for step, found in probe.moments.items()
        ),
    )
    write_sealed(out / RESULT, {"key": key, "result": asdict(result)})
    return result


def _training(arm: Arm, config: ThumbnailConfig, seed: int) -> PretrainConfig:
    from isoglot.model.config import SIZES

    plan = f"emb,pos,1-{SIZES['micro']['layers'] - 1},transform,softmax" if arm.plan == "below-top" else arm.plan
    return pair_training(
        plan, budget=config.budget, seed=seed, random_from="vocabulary" if plan == "default" else "language"
    )


@contextmanager
def _threads(device: str, say: Callable[[str], None]) -> Iterator[None]:
    """On a CPU: as many threads as are quickest now, for small encoders are slow with many; else as many as there are.

    So a busy machine takes longer, but not many times as long. Numbers differ in their last bits.
    """
    import torch

    from isoglot.core.devices import choose_device, quickest_threads

    if choose_device(device).type != "cpu":
        yield
        return
    most = torch.get_num_threads()
    with quickest_threads() as count:
        if count < most:
            say(f"With {count} of {most} threads it is quickest now: encoders are small, or the machine is busy.")
        yield


def _code(arm: Arm) -> str:
    return twin_code(twin_code("en", "order"), "shift") if arm.reversed else twin_code("en", "shift")


def _twin_language(arm: Arm, config: ThumbnailConfig) -> TwinLanguage:
    return TwinLanguage(order="mirrored" if arm.reversed else "same", anchors=config.anchor_share if arm.kept else 0.0)


def _former(out: Path, arm: Arm) -> dict[str, Any]:
    """What a former call wrote of an arm, with the result if it came to one; empty if there was no such call.

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
    """A result as it was before it was written down."""
    moments = tuple(Moment(tokens=one["tokens"], centered=tuple(one["centered"])) for one in facts["moments"])
    return ArmResult(**{**facts, "raw": tuple(facts["raw"]), "centered": tuple(facts["centered"]), "moments": moments})

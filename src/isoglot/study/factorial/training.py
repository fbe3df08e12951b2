"""Training of a cell in a block: from its text to the numbers that the analysis takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from isoglot.core.config import Config
from isoglot.core.files import writable_folder
from isoglot.core.progress import SILENT, Progress
from isoglot.pretrain.budget import parse_budget
from isoglot.study.factorial.design import CODES, FactorialCell, cell_text
from isoglot.study.factorial.outcomes import DEV_P1, TEST_P1
from isoglot.study.numbers import Coordinate, Number, Numbers
from isoglot.study.twin_pairs import TwinProbe, pair_training, train_pair, used_anchors, write_texts

if TYPE_CHECKING:
    from pathlib import Path

    from isoglot.study.factorial.design import CellText
    from isoglot.study.twin_pairs import TrainedPair


class FactorialConfig(Config):
    """The size of the study."""

    sentences: int = Field(40_000, ge=1000)
    """sentences of running text a language"""
    pieces: int = Field(2000, ge=300)
    """ids of each language's vocabulary"""
    tested: int = Field(500, ge=10)
    """held-out sentences whose twins are retrieved, and as many to choose the layer by"""
    budget: str = "6Mtokens"
    """how long each encoder learns, in tokens or steps: cells that are compared read as much"""

    @field_validator("budget")
    @classmethod
    def _no_time(cls, budget: str) -> str:
        if parse_budget(budget).kind == "time":
            raise ValueError("should be tokens or steps, so that all cells read as much")
        return budget


def train_cell(
    cell: FactorialCell,
    out: str | Path,
    config: FactorialConfig | None = None,
    *,
    seed: int,
    device: str = "auto",
    progress: Progress = SILENT,
) -> Numbers:
    """Train the encoder of a cell in a block, and measure it before, while and after it learns.

    Args:
        cell: The cell.
        out: The folder for text, vocabulary, shards and encoder.
        config: The size of the study.
        seed: The block.
        device: ``auto``, ``cpu``, ``cuda``…
        progress: Shows how far it is.

    Returns:
        P@1 of every layer on the test sentences and on those that choose the layer, with the tokens read until then,
        0 for the untrained encoder; at the end ``perplexity`` and ``fertility`` (subwords a word) of each language, and
        ``anchors``, the ids that occur in both texts.

    Raises:
        ConfigError: The budget is not valid, or the folder holds another run.
        StorageError: The folder cannot be written to.
    """
    from isoglot.model.settings import SIZES

    config = config or FactorialConfig()
    folder = writable_folder(out)
    text = cell_text(cell, seed, config.sentences, tested=config.tested)
    paths = write_texts((text.english, text.twin), CODES, folder, seed=seed)
    probes = {measure: TwinProbe(CODES, pairs) for measure, pairs in ((TEST_P1, text.test), (DEV_P1, text.choose))}
    trained = train_pair(
        paths,
        pair_training(cell.plan(SIZES["micro"]["layers"]), budget=config.budget, seed=seed, random_from="language"),
        folder,
        mode=cell.vocabulary_mode,
        pieces=config.pieces,
        probes=list(probes.values()),
        probe_untrained=True,
        device=device,
        command=f"isoglot.study, cell {cell.name}, seed {seed}",
        progress=progress,
    )
    return _numbers(cell, seed, text, trained, probes)


def _numbers(
    cell: FactorialCell, seed: int, text: CellText, trained: TrainedPair, probes: dict[str, TwinProbe]
) -> Numbers:
    at: dict[str, Coordinate] = {"arm": cell.name, **cell.levels, "seed": seed}
    end = trained.run.position
    found = [
        Number(measure, value, at | {"layer": layer, "tokens": end.tokens * step // max(1, end.step)})
        for measure, probe in probes.items()
        for step, values in probe.moments.items()
        for layer, value in enumerate(values)
    ]
    found += [Number("perplexity", value, at | {"language": code}) for code, value in end.dev.items()]
    for code, documents in zip(CODES, (text.english, text.twin), strict=True):
        words = sum(len(line.split(" ")) for document in documents for line in document)
        subwords = int(trained.shards[code].counts(len(trained.vocabulary)).sum())
        found.append(Number("fertility", subwords / words, at | {"language": code}))
    found.append(Number("anchors", used_anchors(trained.vocabulary, trained.shards, CODES), at))
    return Numbers(found)

"""A study whose numbers are made up: two arms of Table 1 with known differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.study.numbers import Coordinate, Number, Numbers
from isoglot.study.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ABOUT: dict[str, Any] = {
    "recipe": "table1",
    "title": "Made-up <Table 1>",
    "paper": "wu2020",
    "claims": ["W2", "W3"],
    "scale": "nano",
    "pairs": ["en-de"],
    "seeds": 1,
    "arms": {"default": "Default", "no-anchors": "No anchors", "sep-emb": "Sep Emb"},
    "baseline": "default",
}
SCORES = {"default": 60.0, "no-anchors": 57.0, "sep-emb": 60.1}
MOMENTS = {0: 0.01, 1_000_000: 0.04, 4_000_000: 0.2, 16_000_000: 0.3}


class MadeUpStudy(Study):
    """A study without steps."""

    def __init__(self, out: Path, numbers: Iterable[Number], **about: Any) -> None:
        super().__init__(out, {**ABOUT, **about}, [], [])
        self.made_up = Numbers(numbers)

    def numbers(self) -> Numbers:
        """The numbers it was made of."""
        return self.made_up


def numbers_of_table1() -> list[Number]:
    """Three tasks, CKA and emergence of three arms; the arms' test items are the same."""
    noise = np.random.default_rng(0).normal(0, 1, 200)
    found = []
    for number, (arm, score) in enumerate(SCORES.items()):
        at: dict[str, Coordinate] = {"arm": arm, "pair": "en-de", "seed": 0}
        own = np.random.default_rng(1 + number).normal(0, 0.2, 200)
        for task in ("nli", "ner", "parsing"):
            found.append(Number(f"{task}_dev", 80.0, {**at, "language": "en"}))
            for language in ("en", "de"):
                draws = tuple(score + noise + own)  # what they share cancels in a difference
                found.append(Number(task, score, {**at, "language": language}, draws, f"{task} {language}"))
        found.append(Number("training_tokens", 16_000_000, at))
        for layer, more in enumerate((0.0, 0.1, -0.02)):
            where: dict[str, Coordinate] = {**at, "layer": layer, "depth": 2}
            found.append(Number("cka", 0.5 + more, {**where, "estimator": "debiased"}, (0.4 + more, 0.6 + more), "x"))
            untrained: dict[str, Coordinate] = {**where, "variant": "untrained"}
            found.append(Number("cka", 0.3, {**untrained, "estimator": "debiased"}, (0.2, 0.4), "x"))
            found.append(Number("sentence_p1", MOMENTS[0] - layer / 1000, untrained, (0.0, 0.02), "x"))
            for tokens, p1 in MOMENTS.items():
                if tokens:
                    found.append(Number("emergence_p1", p1 - abs(layer - 1) / 100, {**where, "tokens": tokens}))
                    found.append(Number("emergence_cka", 0.4 + more, {**where, "tokens": tokens}))
                    found.append(Number("emergence_probe", 0.9 + more, {**where, "tokens": tokens}))
            found.append(Number("emergence_probe", 0.6, {**untrained, "tokens": 0}))
    return found

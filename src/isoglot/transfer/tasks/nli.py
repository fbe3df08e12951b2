"""Natural language inference: entailment, contradiction or neutral."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from isoglot.languages.builtin import inference_examples
from isoglot.text.formats.lines import read_lines
from isoglot.text.formats.nli import numbered_inference, read_inference
from isoglot.transfer.tasks.classification import Classification
from isoglot.transfer.tasks.examples import Data, Passage
from isoglot.transfer.tasks.task import register

if TYPE_CHECKING:
    from pathlib import Path

    from isoglot.languages.corpus import Split


class Inference(Classification):
    """Three labels for a pair of sentences."""

    name: ClassVar[str] = "nli"
    title: ClassVar[str] = "natural language inference"
    texts: ClassVar[int] = 2

    def read(self, path: str | Path, language: str) -> Data[Passage]:
        """Read tab-separated premise, hypothesis and label, or the published XNLI files."""
        found = read_inference(path, language=language)
        return Data([Passage((pair.premise, pair.hypothesis), pair.label) for pair in found], str(path))

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """Line of a pair; unknown in a file of several languages."""
        opening = next(read_lines(path), (0, ""))[1].lower().split("\t")
        if ".jsonl" in path or "language" in opening:
            return None
        return next(islice((number for number, _ in numbered_inference(path)), example, None), None)

    def builtin(self, language: str, split: Split, count: int, *, seed: int = 0, spaced: bool = False) -> Data[Passage]:
        """Pairs of built-in sentences, a third of each label."""
        found = inference_examples(language, split, count, seed=seed, spaced=spaced)
        return Data([Passage(texts, label) for texts, label in found])


TASK = register(Inference())

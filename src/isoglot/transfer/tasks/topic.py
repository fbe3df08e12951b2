"""An example of a classification task in one small file: what is a text about?

All that a classification task must say is how it is read; where a label stands in a file it may say, for errors. Rows,
head, training and scoring are those of its kind; ``register`` makes it known to ``isoglot transfer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from isoglot.core.errors import InputError, shown
from isoglot.languages.builtin import topic_examples
from isoglot.text.formats.lines import read_lines
from isoglot.transfer.tasks.classification import Classification
from isoglot.transfer.tasks.examples import Data, Passage
from isoglot.transfer.tasks.task import register

if TYPE_CHECKING:
    from pathlib import Path

    from isoglot.languages.corpus import Split


class Topic(Classification):
    """One of any number of topics."""

    name: ClassVar[str] = "topic"
    title: ClassVar[str] = "topic classification"

    def read(self, path: str | Path, language: str) -> Data[Passage]:
        """A text and its topic a line, with a tab between."""
        return Data([_passage(line, path, number) for number, line in read_lines(path)], str(path))

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """Every line is an example."""
        return example + 1

    def builtin(self, language: str, split: Split, count: int, *, seed: int = 0, spaced: bool = False) -> Data[Passage]:
        """Sentences about one of twenty topics."""
        found = topic_examples(language, split, count, seed=seed, spaced=spaced)
        return Data([Passage((text,), topic) for text, topic in found])


def _passage(line: str, path: str | Path, number: int) -> Passage:
    text, tab, topic = line.rpartition("\t")
    if not tab or not text.strip() or not topic.strip():
        raise InputError(
            f"{shown(line)} is not a text and its topic",
            remedy="write the two with a tab between them",
            code="input.malformed-line",
            file=path,
            line=number,
        )
    return Passage((text,), topic.strip())


TASK = register(Topic())

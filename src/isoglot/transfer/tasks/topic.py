"""Topic classification: an example of a classification task.

A classification task defines how files are read, and optionally the line of a label for error messages. ``register``
makes it available to ``isoglot transfer``.
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
        """Read one tab-separated text and topic per line."""
        return Data([_passage(line, path, number) for number, line in read_lines(path)], str(path))

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """Every line is an example, so this is its number."""
        return example + 1

    def builtin(self, language: str, split: Split, count: int, *, seed: int = 0, spaced: bool = False) -> Data[Passage]:
        """Sentences about one of twenty topics."""
        found = topic_examples(language, split, count, seed=seed, spaced=spaced)
        return Data([Passage((text,), topic) for text, topic in found])


def _passage(line: str, path: str | Path, number: int) -> Passage:
    text, tab, topic = line.rpartition("\t")
    if not tab or not text.strip() or not topic.strip():
        raise InputError(
            f"expected a tab-separated text and topic, found {shown(line)}",
            remedy="write both with a tab between them",
            code="input.malformed-line",
            file=path,
            line=number,
        )
    return Passage((text,), topic.strip())


TASK = register(Topic())

"""Tasks with one label for a text or a pair of texts: natural language inference and topics.

:class:`Topic` is an example of a classification task: it defines how files are read, and optionally the line of a label
for error messages. ``register`` makes a task available to ``isoglot transfer``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from isoglot.core.errors import InputError, shown
from isoglot.languages.builtin import inference_examples, topic_examples
from isoglot.text.formats.lines import read_lines
from isoglot.text.formats.nli import numbered_inference, read_inference
from isoglot.transfer.tasks.task import (
    IGNORED,
    Data,
    Kind,
    Labels,
    Passage,
    Task,
    TaskRow,
    TaskRows,
    TaskScores,
    accuracy,
    check_paired,
    register,
)
from isoglot.transfer.tuning.heads import HeadConfig, LinearHead, PooledHead, TaskHead

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoglot.languages.corpus import Split
    from isoglot.vocab.word_reader import Reader

_MANY_LABELS = 20  # fewer are accepted for any number of examples
_MOST_LABELS = 0.5  # of the examples


class Classification(Task[Passage]):
    """A label for a passage. Pairs too long for the encoder are truncated, the longer text first, and counted."""

    kind: ClassVar[Kind] = "classification"
    metric: ClassVar[str] = "accuracy"
    texts: ClassVar[int] = 1
    """Number of texts of a passage: 1, or 2 for a pair."""

    def labels(self, example: Passage) -> Sequence[str]:
        """The label of the passage, if it has one."""
        return (example.label,) if example.label else ()

    def check_labels(self, labels: Labels, data: Sequence[Data[Passage]]) -> None:
        """Refuse data in which nearly every example has its own label, probably by a wrong order of columns.

        Raises:
            InputError: There are too many labels.
        """
        count = sum(len(one) for one in data)
        if len(labels) > max(_MANY_LABELS, _MOST_LABELS * count):
            problem = f"{len(labels):,} different labels in {count:,} examples, such as {shown(labels.names[0])}"
            remedy = f"{self.name} reads the label from the last column: check the order of the columns"
            raise InputError(problem, remedy, "malformed-line", file=next((one.file for one in data if one.file), None))

    def rows(
        self, examples: Sequence[Passage], reader: Reader, labels: Labels, *, purpose: Literal["learn", "test"]
    ) -> TaskRows:
        """A row for each passage, formatted by the tokenizer."""
        numbers = labels.numbers()
        found = TaskRows()
        ids = iter(reader.texts([text for example in examples for text in example.texts]))
        for index, example in enumerate(examples):
            texts = [next(ids) for _ in example.texts]
            room = reader.room if len(texts) == 1 else reader.pair_room
            found.counts["empty"] += not all(text.strip() for text in example.texts)
            found.counts["truncated"] += sum(map(len, texts)) > room
            parts = truncated(texts, room)
            row = reader.framed(*parts)
            target = numbers.get(example.label, IGNORED)
            targets_WK = np.array([[target]], dtype=np.int64) if purpose == "learn" else None
            sizes = tuple(map(len, parts))
            found.rows.append(TaskRow(row, np.zeros(1, dtype=np.int64), targets_WK, index, texts=sizes))
        return found

    def predicted(
        self, examples: Sequence[Passage], rows: TaskRows, decoded: Sequence[np.ndarray], labels: Labels
    ) -> list[Passage]:
        """Examples with predicted labels."""
        made = list(examples)
        for row, found_WK in zip(rows.rows, decoded, strict=True):
            made[row.example] = replace(examples[row.example], label=labels.names[int(found_WK[0, 0])])
        return made

    def head(self, width: int, labels: Labels, config: HeadConfig) -> TaskHead:
        """Linear classifier on the first token, or attention pooling and a small classifier."""
        if config.pool == "attention":
            return PooledHead(width, len(labels), config, self.texts)
        return LinearHead(width, len(labels), config)

    def score(self, gold: Sequence[Passage], predicted: Sequence[Passage]) -> TaskScores:
        """Accuracy."""
        check_paired(gold, predicted)
        pairs = zip(gold, predicted, strict=True)
        return accuracy([one.label == other.label for one, other in pairs], [1] * len(gold))


def truncated(texts: Sequence[np.ndarray], room: int) -> list[np.ndarray]:
    """Truncate texts to a total length, the longer first.

    >>> [len(text) for text in truncated([np.arange(9), np.arange(3)], 8)]
    [5, 3]
    """
    sizes = [len(text) for text in texts]
    while sum(sizes) > room:
        longest = max(range(len(sizes)), key=sizes.__getitem__)
        others = max((size for index, size in enumerate(sizes) if index != longest), default=0)
        sizes[longest] = max(others, sizes[longest] - (sum(sizes) - room)) if sizes[longest] > others else others - 1
    return [text[:size] for text, size in zip(texts, sizes, strict=True)]


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


class Topic(Classification):
    """One of any number of topics."""

    name: ClassVar[str] = "topic"
    title: ClassVar[str] = "topic classification"

    def read(self, path: str | Path, language: str) -> Data[Passage]:
        """Read one tab-separated text and topic per line."""
        return Data([self._passage(line, path, number) for number, line in read_lines(path)], str(path))

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """Line of an example: every line is one."""
        return example + 1

    def builtin(self, language: str, split: Split, count: int, *, seed: int = 0, spaced: bool = False) -> Data[Passage]:
        """Sentences about one of twenty topics."""
        found = topic_examples(language, split, count, seed=seed, spaced=spaced)
        return Data([Passage((text,), topic) for text, topic in found])

    @staticmethod
    def _passage(line: str, path: str | Path, number: int) -> Passage:
        text, tab, topic = line.rpartition("\t")
        if not tab or not text.strip() or not topic.strip():
            problem = f"expected a tab-separated text and topic, found {shown(line)}"
            raise InputError(problem, "write both with a tab between them", "malformed-line", file=path, line=number)
        return Passage((text,), topic.strip())


register(Inference())
register(Topic())

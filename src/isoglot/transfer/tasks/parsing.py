"""Dependency parsing: the head of every word and its relation to it, in Universal Dependencies.

Only universal relations are used: subtypes after a colon differ between languages and are not scored by the definition
of the CoNLL 2018 shared task. A test language may have relations that the training language lacks (Chinese ``clf``);
they are counted, and scored as wrong.

Sentences too long for the encoder are left out of training and parsed in windows: each window is a tree, and the roots
of later windows are attached to the root of the first. Both are counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from isoglot.text.formats.conll import read_conllu
from isoglot.transfer.scoring.attachment import parse_score
from isoglot.transfer.tasks.tagging import WordTask, blanks_of
from isoglot.transfer.tasks.task import IGNORED, Data, Kind, Labels, Parsed, TaskRows, TaskScores, Unseen, register
from isoglot.transfer.tuning.heads import BiaffineHead, HeadConfig, TaskHead

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from isoglot.languages.builtin import Annotated

_JOINT = ("parataxis", "dep")  # relations of later windows to the first: the first of these that is in training


class Parsing(WordTask[Parsed]):
    """Trees with a single root; LAS and UAS, with punctuation and without."""

    name: ClassVar[str] = "parse"
    title: ClassVar[str] = "dependency parsing"
    kind: ClassVar[Kind] = "parsing"
    metric: ClassVar[str] = "las"
    unseen: ClassVar[Unseen] = "count"
    part: ClassVar[Literal["treebank", "ner"] | None] = "treebank"
    root: ClassVar[bool] = True

    def read(self, path: str | Path, language: str) -> Data[Parsed]:
        """Read a treebank in CoNLL-U, with universal relations."""
        found = [
            Parsed(
                tuple(word.form for word in tree.words),
                tuple(word.head for word in tree.words),
                tuple(word.deprel.partition(":")[0] for word in tree.words),
                blanks_of(tree),
                tree,
            )
            for tree in read_conllu(path)
        ]
        return Data(found, str(path))

    def annotated(self, sentence: Annotated) -> Parsed:
        """Example of a built-in sentence."""
        return Parsed(sentence.words, sentence.heads, sentence.relations, sentence.blanks)

    def labels(self, example: Parsed) -> Sequence[str]:
        """The relations."""
        return example.relations

    def targets(self, example: Parsed, words: slice, numbers: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Head and relation of each word."""
        gold = zip(example.heads[words], example.relations[words], strict=True)
        return [(head, numbers.get(relation, IGNORED)) for head, relation in gold]

    def predicted(
        self, examples: Sequence[Parsed], rows: TaskRows, decoded: Sequence[np.ndarray], labels: Labels
    ) -> list[Parsed]:
        """Examples with predicted trees; later windows are attached to the root of the first."""
        heads: dict[int, list[int]] = {index: [] for index in range(len(examples))}
        relations: dict[int, list[str]] = {index: [] for index in range(len(examples))}
        joint = next((name for name in _JOINT if name in labels), _JOINT[-1])
        for row, found_WK in zip(rows.rows, decoded, strict=True):
            own, names = heads[row.example], relations[row.example]
            for head, number in found_WK[1:].tolist():
                attached = head == 0 and row.first > 0
                names.append(joint if attached else labels.names[number])
                own.append(own.index(0) + 1 if attached else head + row.first if head else 0)
        return [
            replace(example, heads=tuple(heads[index]), relations=tuple(relations[index]))
            for index, example in enumerate(examples)
        ]

    def head(self, width: int, labels: Labels, config: HeadConfig) -> TaskHead:
        """Deep biaffine attention over first subwords."""
        return BiaffineHead(width, len(labels), config, labels.numbers().get("root"))

    def score(self, gold: Sequence[Parsed], predicted: Sequence[Parsed]) -> TaskScores:
        """LAS and UAS by the definition of the CoNLL 2018 shared task, and without punctuation."""
        pairs = [([one.heads for one in some], [one.relations for one in some]) for some in (gold, predicted)]
        return parse_score(*pairs[0], *pairs[1]).scores


register(Parsing())

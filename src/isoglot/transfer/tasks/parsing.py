"""Dependency parsing: the head of every word and its relation to it, in Universal Dependencies.

Relations are the universal ones: what stands behind a colon differs between languages and is not scored by the CoNLL
2018 definition either. A language may have relations that the training language does without (Chinese ``clf``); they
are counted, and scored as wrong.

A sentence too long for the encoder is left out of training, and parsed in pieces: each piece is a tree, and the roots
of later ones hang under the first's. Both are counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from isoglot.languages.builtin import annotated_sentences
from isoglot.text.formats.conllu import read_conllu
from isoglot.text.formats.lines import read_blocks
from isoglot.transfer.scoring.attachment import ParseScore, parse_score
from isoglot.transfer.tasks.examples import Data, Parsed
from isoglot.transfer.tasks.task import IGNORED, Kind, Labels, Task, TaskRow, TaskRows, TaskScores, Unseen, register
from isoglot.transfer.tuning.heads import BiaffineHead, HeadConfig, TaskHead
from isoglot.vocab.word_reader import windows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoglot.languages.corpus import Split
    from isoglot.text.formats.conllu import Tree
    from isoglot.vocab.word_reader import Reader

_JOINT = ("parataxis", "dep")  # how a later piece hangs under the first: as the training data has it, else the last


class Parsing(Task[Parsed]):
    """Trees with a single root; LAS and UAS, with punctuation and without."""

    name: ClassVar[str] = "parse"
    title: ClassVar[str] = "dependency parsing"
    kind: ClassVar[Kind] = "parsing"
    metric: ClassVar[str] = "las"
    unseen: ClassVar[Unseen] = "count"

    def read(self, path: str | Path, language: str) -> Data[Parsed]:
        """Read a treebank in CoNLL-U."""
        return Data([parsed(tree) for tree in read_conllu(path)], str(path))

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """Line of a word."""
        return line_of_word(path, example, place)

    def builtin(self, language: str, split: Split, count: int, *, seed: int = 0, spaced: bool = False) -> Data[Parsed]:
        """Trees of built-in sentences."""
        found = annotated_sentences(language, split, count, seed=seed, part="treebank", spaced=spaced)
        return Data([Parsed(each.words, each.heads, each.relations, each.blanks) for each in found])

    def labels(self, example: Parsed) -> Sequence[str]:
        """The relations."""
        return example.relations

    def rows(
        self, examples: Sequence[Parsed], reader: Reader, labels: Labels, *, purpose: Literal["learn", "test"]
    ) -> TaskRows:
        """A row for each sentence that has words, with the root in front."""
        numbers = labels.numbers()
        found = TaskRows()
        there = [index for index, example in enumerate(examples) if example.words]
        found.counts["empty"] += len(examples) - len(there)
        pieces = reader.words([examples[i].words for i in there], [examples[i].blanks for i in there])
        for index, (ids_N, firsts_W, _, unread, joined) in zip(there, pieces, strict=True):
            example = examples[index]
            cut = windows(firsts_W, len(ids_N), reader.room)
            found.counts["unread"] += unread
            found.counts["cut apart"] += joined
            if purpose == "learn" and len(cut) > 1:
                found.counts["left out"] += 1
                continue
            found.counts["split"] += len(cut) > 1
            found.counts["truncated"] += any(window.lost for window in cut)
            for window in cut:
                targets_WK = None
                if purpose == "learn":
                    gold = zip(example.heads, example.relations, strict=True)
                    rest = [(head, numbers.get(relation, IGNORED)) for head, relation in gold]
                    targets_WK = np.array([(IGNORED, IGNORED), *rest], dtype=np.int64)
                chosen = firsts_W[window.words.start : window.words.stop]
                inside = np.minimum(chosen, window.tokens.stop - 1) - window.tokens.start
                places_W = np.concatenate([[0], inside + reader.before])
                ids = ids_N[window.tokens.start : window.tokens.stop]
                found.rows.append(TaskRow(reader.framed(ids), places_W, targets_WK, index, window.words.start))
        return found

    def predicted(
        self, examples: Sequence[Parsed], rows: TaskRows, decoded: Sequence[np.ndarray], labels: Labels
    ) -> list[Parsed]:
        """Each with its tree; pieces hang under the root of the first."""
        heads: dict[int, list[int]] = {index: [] for index in range(len(examples))}
        relations: dict[int, list[str]] = {index: [] for index in range(len(examples))}
        joint = next((name for name in _JOINT if name in labels), _JOINT[-1])
        for row, found_WK in zip(rows.rows, decoded, strict=True):
            for head, number in found_WK[1:].tolist():
                name = labels.names[number]
                if head == 0 and row.first:
                    heads[row.example].append(heads[row.example].index(0) + 1)
                    relations[row.example].append(joint)
                else:
                    heads[row.example].append(head + row.first if head else 0)
                    relations[row.example].append(name)
        return [
            replace(example, heads=tuple(heads[index]), relations=tuple(relations[index]))
            for index, example in enumerate(examples)
        ]

    def head(self, width: int, labels: Labels, config: HeadConfig) -> TaskHead:
        """Deep biaffine attention over first subwords."""
        return BiaffineHead(width, len(labels), config, labels.numbers().get("root"))

    def score(self, gold: Sequence[Parsed], predicted: Sequence[Parsed]) -> TaskScores:
        """LAS and UAS by the definition of the CoNLL 2018 shared task, and without punctuation."""
        return scores_of(
            parse_score(
                [one.heads for one in gold],
                [one.relations for one in gold],
                [one.heads for one in predicted],
                [one.relations for one in predicted],
            )
        )


def scores_of(found: ParseScore) -> TaskScores:
    """Attachment scores as the scores of a task."""
    values = {
        "las": found.las,
        "uas": found.uas,
        "las without punctuation": found.las_no_punct,
        "uas without punctuation": found.uas_no_punct,
    }
    return TaskScores(found.las, values, found.ratio_N2("las"))


def parsed(tree: Tree) -> Parsed:
    """The words of a tree with their heads and universal relations."""
    return Parsed(
        tuple(word.form for word in tree.words),
        tuple(word.head for word in tree.words),
        tuple(word.deprel.partition(":")[0] for word in tree.words),
        blanks_of(tree),
        tree,
    )


def blanks_of(tree: Tree) -> tuple[bool, ...]:
    """Whether a blank follows each word: not where the tree says ``SpaceAfter=No``, nor inside ``didn't``.

    Where a multiword token is not written as its words are (French *du* is *de le*), they are read as words.
    """
    blanks = ["SpaceAfter=No" not in word.misc for word in tree.words]
    for token in tree.multiwords:
        inside = slice(token.first - 1, token.last)
        if "".join(word.form for word in tree.words[inside]) == token.form:
            blanks[inside] = [False] * len(blanks[inside])
        blanks[token.last - 1] = "SpaceAfter=No" not in token.misc
    return tuple(blanks)


def line_of_word(path: str, example: int, place: int) -> int | None:
    """The line of a word in a treebank."""
    block = next((block for index, block in enumerate(read_blocks(path)) if index == example), None)
    words = [] if block is None else [number for number, line in block if line.partition("\t")[0].isdecimal()]
    return words[place] if place < len(words) else None


TASK = register(Parsing())

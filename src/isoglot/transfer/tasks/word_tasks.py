"""Tasks with labels for each word: named entities, parts of speech, and dependency trees.

Tags, heads and relations are predicted at the first subword of a word.

In dependency parsing only universal relations are used: subtypes after a colon differ between languages and are not
scored by the definition of the CoNLL 2018 shared task. A test language may have relations that the training language
lacks (Chinese ``clf``); they are counted, and scored as wrong. Sentences too long for the encoder are left out of
training and parsed in windows: each window is a tree, and the roots of later windows are attached to the root of the
first. Both are counted.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

import numpy as np

from isoglot.languages.builtin import Annotated, annotated_sentences
from isoglot.text.cleaning.realign_entities import realign
from isoglot.text.cleaning.scripts import written_with_blanks
from isoglot.text.formats.conll import Tree, find_prefix, read_conllu, read_tagged, token_blocks
from isoglot.text.formats.lines import read_blocks
from isoglot.transfer.scoring.metrics import parse_score, repaired, span_score
from isoglot.transfer.tasks.task import (
    IGNORED,
    Data,
    Kind,
    Labels,
    Parsed,
    Tagged,
    Task,
    TaskRow,
    TaskRows,
    TaskScores,
    Unseen,
    accuracy,
    check_paired,
    no_builtin,
    register,
)
from isoglot.transfer.tuning.heads import BiaffineHead, HeadConfig, LinearHead, TaskHead
from isoglot.vocab.word_reader import Joined, Reader, windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoglot.languages.builtin import Annotated
    from isoglot.languages.corpus import Split

WordsT = TypeVar("WordsT", Tagged, Parsed)


class WordTask(Task[WordsT]):
    """A task on words: one or several rows for each sentence, each with the first subwords of its words."""

    part: ClassVar[Literal["treebank", "ner"] | None] = None
    """Kind of the built-in sentences, if any; ``treebank`` for tasks whose files are treebanks."""
    root: ClassVar[bool] = False
    """Whether the first special token is a position too, and long sentences are left out of training."""

    @abstractmethod
    def annotated(self, sentence: Annotated) -> WordsT:
        """Example of a built-in sentence."""

    @abstractmethod
    def targets(self, example: WordsT, words: slice, numbers: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Targets of some words of an example.

        Args:
            example: The sentence.
            words: The words of a window.
            numbers: Index of each label.
        """

    def builtin(self, language: str, split: Split, count: int, *, seed: int = 0, spaced: bool = False) -> Data[WordsT]:
        """Built-in sentences; of those for entities, four of five have a name."""
        if self.part is None:
            raise no_builtin(self.name)
        found = annotated_sentences(language, split, count, seed=seed, part=self.part, spaced=spaced)
        return Data([self.annotated(each) for each in found])

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """Line of a word in a treebank."""
        if self.part != "treebank":
            return None
        block = next((block for index, block in enumerate(read_blocks(path)) if index == example), None)
        words = [] if block is None else [number for number, line in block if line.partition("\t")[0].isdecimal()]
        return words[place] if place < len(words) else None

    def joined(self, examples: Sequence[WordsT], language: str | None) -> Joined:
        """How words that share a token are read; by default they are tokenized separately.

        With ``share`` they are tagged as a group, by :meth:`grouped` and :meth:`Tagging.ungrouped`.
        """
        return "apart"

    def grouped(self, example: WordsT, sizes: Sequence[int]) -> tuple[WordsT, dict[str, int]]:
        """Example with labels of groups of words that share a token, and counts of changes."""
        return example, {}

    def rows(
        self, examples: Sequence[WordsT], reader: Reader, labels: Labels, *, purpose: Literal["learn", "test"]
    ) -> TaskRows:
        """One or several rows for each sentence with words."""
        numbers, found = labels.numbers(), TaskRows()
        there = [index for index, example in enumerate(examples) if example.words]
        found.counts["empty"] += len(examples) - len(there)
        joined = self.joined(examples, reader.language)
        pieces = reader.words([examples[i].words for i in there], [examples[i].blanks for i in there], joined=joined)
        for index, read in zip(there, pieces, strict=True):
            example, firsts_W = examples[index], read.firsts_W
            found.counts["unread"] += read.unread
            found.counts["cut apart" if joined == "apart" else "joined"] += read.joined
            if read.joined and joined == "share":
                firsts_W, sizes = np.unique(read.firsts_W, return_counts=True)
                found.units[index] = sizes.tolist()
                example, changes = self.grouped(example, found.units[index])
                found.counts.update(changes)
            cut = windows(firsts_W, len(read.ids_N), reader.room)
            if self.root and purpose == "learn" and len(cut) > 1:
                found.counts["left out"] += 1
                continue
            found.counts["split"] += len(cut) > 1
            found.counts["truncated"] += any(window.lost for window in cut)
            for window in cut:
                words = slice(window.words.start, window.words.stop)
                tokens = slice(window.tokens.start, window.tokens.stop)
                places_W = np.minimum(firsts_W[words], tokens.stop - 1) - tokens.start + reader.before
                places_W = np.concatenate([[0], places_W]) if self.root else places_W
                targets_WK = None
                if purpose == "learn":
                    targets = self.targets(example, words, numbers)
                    targets_WK = np.array([(IGNORED, IGNORED)] * self.root + targets, dtype=np.int64)
                row = TaskRow(reader.framed(read.ids_N[tokens]), places_W, targets_WK, index, window.words.start)
                found.rows.append(row)
        return found


class Tagging(WordTask[Tagged]):
    """A tag for each word. Sentences too long for the encoder are split into windows and counted."""

    kind: ClassVar[Kind] = "tagging"

    def labels(self, example: Tagged) -> Sequence[str]:
        """The tags."""
        return example.tags

    def annotated(self, sentence: Annotated) -> Tagged:
        """Example of a built-in sentence, with parts of speech."""
        return Tagged(sentence.words, sentence.tags, sentence.blanks)

    def targets(self, example: Tagged, words: slice, numbers: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Index of each tag."""
        return [(numbers.get(tag, IGNORED),) for tag in example.tags[words]]

    def grouped(self, example: Tagged, sizes: Sequence[int]) -> tuple[Tagged, dict[str, int]]:
        """Example with tags of groups of words that share a token, and counts of changes.

        By default a group has the tag of its first word.

        Args:
            example: The sentence.
            sizes: Number of words in each group.
        """
        firsts = accumulate(sizes[:-1], initial=0)
        tags = tuple(example.tags[first] for first in firsts) if example.tags else ("",) * len(sizes)
        return replace(example, tags=tags), {}

    def ungrouped(self, tags: Sequence[str], sizes: Sequence[int]) -> list[str]:
        """Tags of words from tags of groups; by default all words of a group have its tag."""
        return [tag for tag, size in zip(tags, sizes, strict=True) for _ in range(size)]

    def predicted(
        self, examples: Sequence[Tagged], rows: TaskRows, decoded: Sequence[np.ndarray], labels: Labels
    ) -> list[Tagged]:
        """Examples with predicted tags."""
        tags: dict[int, list[str]] = {index: [] for index in range(len(examples))}
        for row, found_WK in zip(rows.rows, decoded, strict=True):
            tags[row.example] += [labels.names[number] for number in found_WK[:, 0].tolist()]
        for index, sizes in rows.units.items():
            tags[index] = self.ungrouped(tags[index], sizes)
        return [replace(example, tags=tuple(tags[index])) for index, example in enumerate(examples)]

    def head(self, width: int, labels: Labels, config: HeadConfig) -> TaskHead:
        """Linear classifier on the first subword of each word."""
        return LinearHead(width, len(labels), config)


class PartOfSpeech(Tagging):
    """Universal part-of-speech tags: an example of a tagging task, which defines reading and scoring.

    A test language may have tags that the training language lacks.
    """

    name: ClassVar[str] = "pos"
    title: ClassVar[str] = "parts of speech"
    metric: ClassVar[str] = "accuracy"
    unseen: ClassVar[Unseen] = "count"
    part: ClassVar[Literal["treebank", "ner"] | None] = "treebank"

    def read(self, path: str | Path, language: str) -> Data[Tagged]:
        """Read the column UPOS of a treebank, with or without heads."""
        found = [
            Tagged(tuple(w.form for w in tree.words), tuple(w.upos for w in tree.words), blanks_of(tree))
            for tree in read_conllu(path, heads="optional")
        ]
        return Data(found, str(path))

    def score(self, gold: Sequence[Tagged], predicted: Sequence[Tagged]) -> TaskScores:
        """Accuracy over words."""
        check_paired(gold, predicted)
        right = [
            sum(tag == found for tag, found in zip(one.tags, other.tags, strict=True))
            for one, other in zip(gold, predicted, strict=True)
        ]
        return accuracy(right, [len(one.tags) for one in gold])


class Entities(Tagging):
    """Named entities of the types in the training data: BIO tags, scored by span F1 as by conlleval.

    If words are single characters and the vocabulary has longer tokens (WikiAnn's Chinese), labels are moved from
    characters to tokens, because a token cannot both begin and continue a name. Predictions are moved back and scored
    on the words of the file.
    """

    name: ClassVar[str] = "ner"
    title: ClassVar[str] = "named entities"
    metric: ClassVar[str] = "f1"
    part: ClassVar[Literal["treebank", "ner"] | None] = "ner"

    def read(self, path: str | Path, language: str) -> Data[Tagged]:
        """Read CoNLL columns, the token first and the tag last; WikiAnn's prefix ``en:`` of tokens is removed."""
        found = read_tagged(path, prefix=find_prefix(path, language))
        return Data([Tagged(tuple(t for t, _ in each), tuple(tag for _, tag in each)) for each in found], str(path))

    def line_of(self, path: str, example: int, place: int) -> int | None:
        """Line of a word."""
        block = next((block for index, block in enumerate(token_blocks(path)) if index == example), None)
        return None if block is None else block[place][0]

    def annotated(self, sentence: Annotated) -> Tagged:
        """Example of a built-in sentence, with entities."""
        return Tagged(sentence.words, sentence.entities, sentence.blanks)

    def joined(self, examples: Sequence[Tagged], language: str | None) -> Joined:
        """Move labels from characters to tokens where most words are characters."""
        words = [word for example in examples[:1000] for word in example.words]
        single = sum(len(word) == 1 for word in words) > 0.9 * len(words)
        return "share" if single and not written_with_blanks(language or "en") else "apart"

    def grouped(self, example: Tagged, sizes: Sequence[int]) -> tuple[Tagged, dict[str, int]]:
        """Example with tags of groups of words, and numbers of spans that grew or were lost."""
        if not example.tags:
            return replace(example, tags=("O",) * len(sizes)), {}
        ends = list(accumulate(sizes))
        groups = ["".join(example.words[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
        tags, report = realign(example.words, example.tags, groups)
        return replace(example, tags=tuple(tags)), {"spans grown": report.grown, "spans lost": report.lost}

    def ungrouped(self, tags: Sequence[str], sizes: Sequence[int]) -> list[str]:
        """Tags of words: a span that begins with a group begins with its first word."""
        return [
            tag if place == 0 or tag == "O" else f"I-{tag[2:]}"
            for tag, size in zip(tags, sizes, strict=True)
            for place in range(size)
        ]

    def predicted(
        self, examples: Sequence[Tagged], rows: TaskRows, decoded: Sequence[np.ndarray], labels: Labels
    ) -> list[Tagged]:
        """Examples with predicted tags, repaired as in Wu et al. (2020)."""
        found = super().predicted(examples, rows, decoded, labels)
        return [replace(one, tags=tuple(repaired(one.tags))) for one in found]

    def score(self, gold: Sequence[Tagged], predicted: Sequence[Tagged]) -> TaskScores:
        """F1, precision and recall of spans, and F1 of each type; predicted tags are scored as they are."""
        found = span_score([one.tags for one in gold], [one.tags for one in predicted])
        every = found.counts
        values = {"f1": every.f1, "precision": every.precision, "recall": every.recall}
        values |= {f"f1 {kind}": counts.f1 for kind, counts in found.by_kind.items()}
        return TaskScores(every.f1, values, found.ratio_N2)


def blanks_of(tree: Tree) -> tuple[bool, ...]:
    """Whether a blank follows each word: not with ``SpaceAfter=No``, nor within ``didn't``.

    Words of a multiword token that is written differently (French *du* is *de le*) are read as separate words.
    """
    blanks = ["SpaceAfter=No" not in word.misc for word in tree.words]
    for token in tree.multiwords:
        inside = slice(token.first - 1, token.last)
        if "".join(word.form for word in tree.words[inside]) == token.form:
            blanks[inside] = [False] * len(blanks[inside])
        blanks[token.last - 1] = "SpaceAfter=No" not in token.misc
    return tuple(blanks)


register(PartOfSpeech())
register(Entities())


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

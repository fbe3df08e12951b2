"""Metrics of tasks on words: F1 of entity spans, and attachment scores of parses. All are from 0 to 100.

**Spans of BIO tags.** A tag is ``O``, ``B-X`` or ``I-X``. A span begins at every B, and at an I whose type differs from
that of the span before it. So invalid BIO sequences have spans too, the same as in CoNLL 2000's ``conlleval`` and by
default in ``seqeval``.

**Attachment scores**, as defined by the CoNLL 2018 shared task. UAS is the share of syntactic words with the correct
head, LAS that with the correct head and relation. Only the universal part of a relation counts, before the colon:
``nsubj`` for ``nsubj:pass``. Multiword tokens and empty nodes are not syntactic words. On gold words, as here,
precision, recall and F1 are equal. The shared task includes punctuation. Scores without it, as in earlier work, leave
out words whose gold relation is ``punct``: in Universal Dependencies nearly all words tagged ``PUNCT``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import numpy as np

from isoglot.core.errors import InputError, check_counts, shown
from isoglot.transfer.scoring.trees import are_trees
from isoglot.transfer.tasks.task import TaskScores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from isoglot.text.formats.conll import Tree

Repair = Literal["none", "wu2020"]
"""``none``: tags are scored as they are, as by conlleval and seqeval; ``wu2020``: :func:`repaired` tags are scored."""


class EntitySpan(NamedTuple):
    """Words from ``start`` (inclusive) to ``stop`` (exclusive), counted from 0."""

    start: int
    stop: int
    kind: str


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """Numbers of correct, gold and predicted spans; both ends and the type must match."""

    right: int
    gold: int
    predicted: int

    @property
    def precision(self) -> float:
        """Share of predicted spans that are correct; 0 without spans."""
        return _percent(self.right, self.predicted)

    @property
    def recall(self) -> float:
        """Share of gold spans that are found; 0 without spans."""
        return _percent(self.right, self.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _percent(2 * self.right, self.gold + self.predicted)


@dataclass(frozen=True, eq=False)
class SpanScore:
    """Micro-averaged span F1 of a test set, and of each entity type."""

    counts_N3: np.ndarray
    """Numbers of correct, gold and predicted spans of each sentence."""
    by_kind: dict[str, SpanCounts]
    """Counts of each gold or predicted type, in alphabetical order."""

    @property
    def counts(self) -> SpanCounts:
        """All spans together."""
        return SpanCounts(*(int(count) for count in self.counts_N3.sum(axis=0)))

    @property
    def ratio_N2(self) -> np.ndarray:  # noqa: N802 - a shape, as in all names of arrays
        """Counts per sentence whose ratio of sums is F1 (:mod:`isoglot.transfer.scoring.significance`)."""
        right, gold, predicted = self.counts_N3.T
        return np.stack([2 * right, gold + predicted], axis=1)


def spans(tags: Sequence[str]) -> list[EntitySpan]:
    """Spans of one sentence, from left to right.

    >>> [tuple(span) for span in spans(["B-PER", "I-PER", "O", "I-LOC", "I-ORG"])]
    [(0, 2, 'PER'), (3, 4, 'LOC'), (4, 5, 'ORG')]

    Raises:
        InputError: A tag is not a BIO tag.
    """
    found: list[EntitySpan] = []
    start, open_kind = 0, ""
    for place, tag in enumerate(tags):
        kind = _kind(tag)
        if tag[0] == "I" and kind == open_kind:
            continue
        if open_kind:
            found.append(EntitySpan(start, place, open_kind))
        start, open_kind = place, kind
    if open_kind:
        found.append(EntitySpan(start, len(tags), open_kind))
    return found


def repaired(tags: Sequence[str]) -> list[str]:
    """Repair BIO tags as Wu et al. (2020): a span without B gets one and takes its final type.

    >>> repaired(["I-PER", "O", "B-PER", "I-LOC", "I-ORG"])
    ['B-PER', 'O', 'B-ORG', 'I-ORG', 'I-ORG']

    Raises:
        InputError: A tag is not a BIO tag.
    """
    result = list(tags)
    kind = ""  # type of the span to the right
    for place in range(len(tags) - 1, -1, -1):
        tag = tags[place]
        kind = kind or _kind(tag)
        if not kind:
            continue
        begins = tag[0] == "B" or place == 0 or _kind(tags[place - 1]) == ""
        result[place] = f"{'B' if begins else 'I'}-{kind}"
        if begins:
            kind = ""
    return result


def span_score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> SpanScore:
    """Compare the tags of a test set, sentence by sentence.

    >>> score = span_score([["B-PER", "I-PER", "O"], ["B-LOC"]], [["B-PER", "O", "O"], ["B-LOC"]])
    >>> score.counts.f1, score.by_kind["LOC"].f1
    (50.0, 100.0)

    Args:
        gold: Correct tags of each sentence.
        predicted: Predicted tags of each sentence; scored as they are, without repair.

    Raises:
        InputError: Numbers of sentences or words differ, or a tag is not a BIO tag.
    """
    check_counts("sentences", {"the gold": len(gold), "the prediction": len(predicted)}, "give as many of each")
    counts_N3 = np.zeros((len(gold), 3), np.int64)
    by_kind: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), Counter(), Counter())
    for number, (gold_tags, tags) in enumerate(zip(gold, predicted, strict=True)):
        sizes = {"the gold": len(gold_tags), "the prediction": len(tags)}
        check_counts(f"tags of sentence {number + 1}", sizes, "give one tag for each word")
        there, made = set(spans(gold_tags)), set(spans(tags))
        for column, some in enumerate((there & made, there, made)):
            counts_N3[number, column] = len(some)
            by_kind[column].update(span.kind for span in some)
    right, all_gold, all_predicted = by_kind
    kinds = sorted(all_gold | all_predicted)
    return SpanScore(counts_N3, {kind: SpanCounts(right[kind], all_gold[kind], all_predicted[kind]) for kind in kinds})


def _kind(tag: str) -> str:
    """Entity type of a tag; empty for O."""
    if tag == "O":
        return ""
    if tag[:2] not in {"B-", "I-"} or len(tag) == 2:
        raise InputError(f"{shown(tag)} is not a BIO tag", "use O, B-PER, I-PER, ...", "malformed-line")
    return tag[2:]


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


SentenceT = TypeVar("SentenceT")
Attachment = Literal["uas", "las", "uas_no_punct", "las_no_punct"]
"""Heads; heads and relations; the same without punctuation."""
Relations = Literal["universal", "full"]
"""universal: subtypes after the colon are ignored (CoNLL 2018); full: they count."""

_COLUMNS: dict[Attachment, tuple[int, int]] = {
    "las": (2, 0),
    "uas": (1, 0),
    "las_no_punct": (5, 3),
    "uas_no_punct": (4, 3),
}
"""Columns of the counts with correct words and with all words."""


@dataclass(frozen=True, eq=False)
class ParseScore:
    """Attachment scores of a test set."""

    counts_N6: np.ndarray
    """For each sentence, numbers of words, correct heads, correct heads and relations; the same without punctuation."""
    no_tree: int
    """Number of sentences whose predicted heads are not a tree with a single root. The shared task refuses such files;
    here words are scored independently."""

    @property
    def scores(self) -> TaskScores:
        """All four as the scores of a task, of which LAS is the main one."""
        values = {name.replace("_no_punct", " without punctuation"): self.value(name) for name in _COLUMNS}
        return TaskScores(self.value("las"), values, self.ratio_N2("las"))

    def value(self, score: Attachment) -> float:
        """One of the four scores; 0 without words."""
        right, words = (int(count) for count in self.ratio_N2(score).sum(axis=0))
        return 100 * right / words if words else 0.0

    def ratio_N2(self, score: Attachment = "las") -> np.ndarray:  # noqa: N802 - a shape, as in all names of arrays
        """Counts per sentence whose ratio of sums is a score (:mod:`isoglot.transfer.scoring.significance`)."""
        ratio_N2: np.ndarray = self.counts_N6[:, _COLUMNS[score]]
        return ratio_N2


def parse_score(
    gold_heads: Sequence[Sequence[int]],
    gold_labels: Sequence[Sequence[str]],
    heads: Sequence[Sequence[int]],
    labels: Sequence[Sequence[str]],
    *,
    relations: Relations = "universal",
) -> ParseScore:
    """Compare the parses of a test set, sentence by sentence.

    >>> score = parse_score([[2, 0, 2]], [["nsubj", "root", "punct"]], [[2, 0, 1]], [["nsubj:pass", "root", "punct"]])
    >>> round(score.value("las"), 1), score.value("las_no_punct")
    (66.7, 100.0)

    Args:
        gold_heads: Head of each word of each sentence, as in CoNLL-U: words are numbered from 1, 0 is the root.
        gold_labels: Relation of each word.
        heads: Predicted heads; not necessarily trees.
        labels: Predicted relations.
        relations: Whether subtypes of relations count.

    Raises:
        InputError: Numbers of sentences or words differ, or a head is not in the sentence.
    """
    check_counts("sentences", _sizes(gold_heads, gold_labels, heads, labels), "give as many of each")
    counts_N6 = np.zeros((len(gold_heads), 6), np.int64)
    for number, sentence in enumerate(zip(gold_heads, gold_labels, heads, labels, strict=True)):
        _check_sentence(number + 1, *sentence)
        counts = [0] * 6
        for gold_head, gold_label, head, label in zip(*sentence, strict=True):
            relation = gold_label.partition(":")[0]
            attached = gold_head == head
            same = gold_label == label if relations == "full" else relation == label.partition(":")[0]
            both = attached and same
            for first in (0,) if relation == "punct" else (0, 3):
                counts[first] += 1
                counts[first + 1] += attached
                counts[first + 2] += both
        counts_N6[number] = counts
    return ParseScore(counts_N6, _count_no_tree(heads))


def tree_score(gold: Iterable[Tree], predicted: Iterable[Tree], *, relations: Relations = "universal") -> ParseScore:
    """Compare two treebanks with the same sentences.

    Raises:
        InputError: The words differ.
    """
    forms, name = (lambda tree: [word.form for word in tree.words]), (lambda tree: tree.value("sent_id"))
    pairs = list(paired(gold, predicted, forms, name))
    sides = [[pair[side].words for pair in pairs] for side in (0, 1)]
    heads = [[[word.head for word in words] for words in side] for side in sides]
    labels = [[[word.deprel for word in words] for words in side] for side in sides]
    return parse_score(heads[0], labels[0], heads[1], labels[1], relations=relations)


def paired(
    gold: Iterable[SentenceT],
    predicted: Iterable[SentenceT],
    words_of: Callable[[SentenceT], Sequence[str]],
    name_of: Callable[[SentenceT], str | None] = lambda _: None,
) -> Iterator[tuple[SentenceT, SentenceT]]:
    """Pairs of gold and predicted sentences with the same words.

    Args:
        gold: Gold sentences.
        predicted: Predicted sentences.
        words_of: Returns the words or texts of a sentence.
        name_of: Returns the name of a sentence for error messages, if it has one.

    Raises:
        InputError: The numbers of sentences or their words differ.
    """
    for number, (one, other) in enumerate(zip_longest(gold, predicted), start=1):
        if one is None or other is None:
            problem = f"the {'gold' if one is None else 'predictions'} end before sentence {number:,}"
            raise InputError(problem, "give the same sentences in both", "line-count")
        for place, words in enumerate(zip_longest(words_of(one), words_of(other)), start=1):
            if words[0] != words[1]:
                wanted, found = (shown(word) if word is not None else "nothing" for word in words)
                named = f" ({shown(name)})" if (name := name_of(one)) is not None else ""
                raise InputError(
                    f"word {place} of sentence {number:,}{named} is {wanted} in the gold, {found} in the predictions",
                    "predict labels for the words of the gold",
                    "other-data",
                )
        yield one, other


def _sizes(*parts: Sequence[object]) -> dict[str, int]:
    return dict(zip(("gold heads", "gold labels", "heads", "labels"), map(len, parts), strict=True))


def _check_sentence(
    number: int, gold_heads: Sequence[int], gold_labels: Sequence[str], heads: Sequence[int], labels: Sequence[str]
) -> None:
    sizes = _sizes(gold_heads, gold_labels, heads, labels)
    check_counts(f"words of sentence {number}", sizes, "give one for each word")
    for what, some in (("gold head", gold_heads), ("head", heads)):
        for word, head in enumerate(some, start=1):
            if not 0 <= head <= len(some):
                problem = f"word {word} of sentence {number} has the {what} {head} among {len(some)} words"
                raise InputError(problem, "count words from 1; 0 is the root", "out-of-range")


def _count_no_tree(heads: Sequence[Sequence[int]]) -> int:
    if not heads:
        return 0
    lengths_B = np.array([len(sentence) for sentence in heads])
    heads_BT = np.zeros((len(heads), int(lengths_B.max()) + 1), np.int64)
    for row_T, sentence in zip(heads_BT, heads, strict=True):
        row_T[1 : len(sentence) + 1] = sentence
    return int((~are_trees(heads_BT, lengths_B)).sum())

"""Entity spans of BIO tags, their repair, and span F1 as by conlleval.

A tag is ``O``, ``B-X`` or ``I-X``. A span begins at every B, and at an I whose type differs from that of the span
before it. So invalid BIO sequences have spans too, the same as in CoNLL 2000's ``conlleval`` and by default in
``seqeval``. Scores are from 0 to 100.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from isoglot.core.errors import InputError, check_counts, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

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

"""Transfer of entity labels to another segmentation of a text: from characters or words to words.

A span covers the words that it overlaps. If two spans overlap a word, the one with more characters of it gets it (the
first in case of a tie); a span left without words is lost. All cases are counted.

>>> realign(["纽", "约", "很", "大"], ["B-LOC", "I-LOC", "O", "O"], ["纽约", "很大"])[0]
['B-LOC', 'O']
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from isoglot.core.errors import InputError, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.text.cleaning.scripts import written_with_blanks
from isoglot.text.cleaning.segmentation import Method, segmenter, word_method
from isoglot.text.formats.conll import read_tagged, write_tagged
from isoglot.text.provenance import derived
from isoglot.text.stream import Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from isoglot.text.formats.lines import Skip


class Span(NamedTuple):
    """Labeled span from ``start`` to before ``end``."""

    start: int
    end: int
    label: str


@dataclass
class RealignReport(Report):
    """Counts of spans."""

    sentences: int = 0
    words: int = 0
    spans: int = 0
    exact: int = 0  # spans that are whole words
    grown: int = 0  # spans with other limits than before, because they divided a word or lost words to another span
    lost: int = 0  # spans all of whose words went to other spans


def bio_spans(tags: Sequence[str]) -> list[Span]:
    """The spans of BIO tags; an ``I-X`` without a span before it begins one.

    >>> bio_spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [Span(start=0, end=2, label='PER'), Span(start=3, end=4, label='LOC'), Span(start=4, end=5, label='LOC')]
    """
    spans: list[Span] = []
    for place, tag in enumerate(tags):
        kind, _, label = tag.partition("-")
        if kind == "O":
            continue
        if kind == "I" and spans and spans[-1].end == place and spans[-1].label == label:
            spans[-1] = Span(spans[-1].start, place + 1, label)
        else:
            spans.append(Span(place, place + 1, label))
    return spans


def bio_tags(spans: Iterable[Span], length: int) -> list[str]:
    """The BIO tags of non-overlapping spans.

    >>> bio_tags([Span(1, 3, "PER")], 4)
    ['O', 'B-PER', 'I-PER', 'O']
    """
    tags = ["O"] * length
    for span in spans:
        tags[span.start : span.end] = [f"B-{span.label}"] + [f"I-{span.label}"] * (span.end - span.start - 1)
    return tags


def realign(tokens: Sequence[str], tags: Sequence[str], words: Sequence[str]) -> tuple[list[str], RealignReport]:
    """Transfer BIO tags to another segmentation of the same text.

    Args:
        tokens: The tagged tokens; white space inside tokens is ignored.
        tags: A BIO tag for each token.
        words: The new segmentation.

    Returns:
        A tag for each word, and counts of the spans.

    Raises:
        InputError: Tokens and words are different texts, or the numbers of tags and tokens differ.
    """
    if len(tokens) != len(tags):
        raise InputError(f"{len(tags)} tags for {len(tokens)} tokens", "give each token a tag", "row-count")
    old, new = _starts(tokens), _starts(words)
    if "".join("".join(tokens).split()) != "".join("".join(words).split()):
        problem = f"{shown(' '.join(words))} is not the text {shown(' '.join(tokens))}"
        raise InputError(problem, "choose a segmentation that does not change characters", "malformed-line")
    report = RealignReport(sentences=1, words=len(words))
    spans = bio_spans(tags)
    owners = [(0, 1)] * len(words)  # (characters, -number of the span): the larger gets the word
    places: list[range] = []
    first = 0
    for number, span in enumerate(spans):
        start, end = old[span.start], old[span.end]
        while first < len(words) and new[first + 1] <= start:
            first += 1
        last = first
        while last < len(words) and new[last] < end:
            share = min(end, new[last + 1]) - max(start, new[last])
            owners[last] = max(owners[last], (share, -number)) if share else owners[last]
            last += 1
        places.append(range(first, last))
    moved = []
    for number, (span, touched) in enumerate(zip(spans, places, strict=True)):
        mine = [place for place in touched if owners[place][1] == -number]
        if not mine:
            report.lost += 1
            continue
        moved.append(Span(mine[0], mine[-1] + 1, span.label))
        whole = (new[mine[0]], new[mine[-1] + 1]) == (old[span.start], old[span.end])
        report.exact += whole
        report.grown += not whole
    report.spans = len(spans)
    return bio_tags(moved, len(words)), report


def _starts(words: Sequence[str]) -> list[int]:
    """The start of each word in the text without white space, and the end of the last."""
    return list(accumulate((sum(not letter.isspace() for letter in word) for word in words), initial=0))


def realign_file(
    path: str | Path,
    target: str | Path,
    language: str,
    *,
    method: Method | None = None,
    prefix: str | None = None,
    skip: Skip | None = None,
    progress: Progress = SILENT,
) -> RealignReport:
    """Segment the text of a tagged file again and write it with realigned labels.

    Args:
        path: Tokens and BIO tags, with blank lines between sentences.
        target: The file to write.
        language: Its language, which decides whether tokens are joined by blanks before segmentation.
        method: Word segmentation (:func:`segmenter`). Default: the best for the language.
        prefix: The language before every token, as in ``zh:北``; it is removed and added again.
        skip: Tolerance for malformed sentences. Default: raise at the first.
        progress: Progress reporter.

    Raises:
        ConfigError: The language or method is unknown.
        InputError: The file is malformed, or the method changes the text.
        MissingPartError: The method needs a library that is not installed.
        StorageError: A file cannot be read or written.
    """
    method = method or word_method(language)
    split = segmenter(language, method)
    blank = " " if written_with_blanks(language) else ""
    total = RealignReport()

    def sentences() -> Iterator[list[tuple[str, str]]]:
        with progress.task(f"realign {language}", total=None, unit="sentences") as task:
            for sentence in read_tagged(path, prefix=prefix, skip=skip):
                tokens = [token for token, _ in sentence]
                words = split(blank.join(tokens))
                tags, report = realign(tokens, [tag for _, tag in sentence], words)
                total.add(report)
                yield list(zip(words, tags, strict=True))
                task.advance()

    step = {"step": "segment", "language": language_code(language), "method": method}
    write_tagged(target, sentences(), prefix=prefix, provenance=derived([path], step))
    return total

"""Entity labels moved from one segmentation of a text to another: from characters to words, from words to words.

A span of characters becomes the words it touches. A span that cuts a word grows to the whole of it; where two spans
want the same word, the one with more characters of it has it (the earlier, if they have as many), and a span that is
left without a word is lost. All are counted.

>>> realign(["纽", "约", "很", "大"], ["B-LOC", "I-LOC", "O", "O"], ["纽约", "很大"])[0]
['B-LOC', 'O']
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from isoglot.core.errors import InputError, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.text.cleaning.scripts import written_with_blanks
from isoglot.text.cleaning.segmentation import Method, segmenter, word_method
from isoglot.text.formats.conll_columns import read_tagged, write_tagged
from isoglot.text.provenance import derived

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from isoglot.text.formats.malformed import Skip


class Span(NamedTuple):
    """A labelled stretch, from ``start`` to before ``end``."""

    start: int
    end: int
    label: str


@dataclass
class RealignReport:
    """What became of the spans."""

    sentences: int = 0
    words: int = 0
    spans: int = 0
    exact: int = 0
    """Spans that are whole words."""
    grown: int = 0
    """Spans that cut a word, and have it whole now (or have lost part of theirs to another)."""
    lost: int = 0
    """Spans all of whose words went to others."""

    def facts(self) -> dict[str, int]:
        """The report as JSON values."""
        return asdict(self)


def bio_spans(tags: Sequence[str]) -> list[Span]:
    """The spans of BIO tags; an ``I-X`` that continues nothing begins a span.

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
    """The BIO tags of spans that do not overlap.

    >>> bio_tags([Span(1, 3, "PER")], 4)
    ['O', 'B-PER', 'I-PER', 'O']
    """
    tags = ["O"] * length
    for span in spans:
        tags[span.start : span.end] = [f"B-{span.label}"] + [f"I-{span.label}"] * (span.end - span.start - 1)
    return tags


def realign(tokens: Sequence[str], tags: Sequence[str], words: Sequence[str]) -> tuple[list[str], RealignReport]:
    """The BIO tags of other words of the same text.

    Args:
        tokens: The text as it is labelled; white space inside tokens does not count.
        tags: A BIO tag for each token.
        words: The text as it is to be labelled.

    Returns:
        A tag for each word, and what became of the spans.

    Raises:
        InputError: Tokens and words are not the same text, or there are more or fewer tags than tokens.
    """
    if len(tokens) != len(tags):
        raise InputError(
            f"{len(tags)} tags for {len(tokens)} tokens", remedy="give each token a tag", code="input.row-count"
        )
    old, new = _starts(tokens), _starts(words)
    if "".join("".join(tokens).split()) != "".join("".join(words).split()):
        raise InputError(
            f"{shown(' '.join(words))} is not the text {shown(' '.join(tokens))}",
            remedy="choose a segmentation that leaves the characters as they are",
            code="input.malformed-line",
        )
    report = RealignReport(sentences=1, words=len(words))
    spans = bio_spans(tags)
    owners = [(0, 1)] * len(words)  # (characters, -number of the span): the larger has the word
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
    """Where each word starts in the text without white space, and where the last ends."""
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
    """Segment the text of a tagged file anew and write it with the labels moved.

    Args:
        path: Tokens and BIO tags, a blank line between sentences.
        target: The file to write.
        language: Its language: says whether tokens are joined with blanks before the text is segmented.
        method: How the words are found (:func:`segmenter`); None takes the best for the language.
        prefix: The language before every token of the file, as in ``zh:北``; it is taken off and put on.
        skip: Tolerance for malformed sentences. Default: raise at the first.
        progress: Progress reporter.

    Raises:
        ConfigError: There is no such language or method.
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
                for name, value in report.facts().items():
                    setattr(total, name, getattr(total, name) + value)
                yield list(zip(words, tags, strict=True))
                task.advance()

    step = {"step": "segment", "language": language_code(language), "method": method}
    write_tagged(target, sentences(), prefix=prefix, provenance=derived([path], step))
    return total

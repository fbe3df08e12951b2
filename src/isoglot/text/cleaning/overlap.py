"""Overlap: test sentences in training text, and their removal.

Sentences are compared by their letters and digits only, so that tokenized test sets (CoNLL-U, tagged files) match
running text. A test sentence is searched as a whole line and, after sentence splitting, inside paragraphs; one that
consists of several sentences is searched as a run of sentences. Test sets may have any format: text, tables, treebanks,
tagged words, inference pairs.

Memory depends on the test sentences only.

>>> finder = OverlapFinder({"ud": ["It rains , she said ."]}, "en", shortest=8)
>>> [hit.key for hit in finder.find("Today? It rains, she said. Fine.")]
['itrainsshesaid']
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.progress import SILENT, Progress
from isoglot.text.cleaning.clean import clean_line
from isoglot.text.cleaning.scripts import RANGES, written_with_blanks
from isoglot.text.cleaning.sentence_splitter import sentence_spans, split_sentences
from isoglot.text.formats.conll import Tree, ends_in_tag, read_conllu, read_tagged
from isoglot.text.formats.lines import malformed, read_lines
from isoglot.text.formats.nli import KEYS, LABELS, read_inference
from isoglot.text.formats.parallel import is_tmx, read_parallel
from isoglot.text.provenance import derived
from isoglot.text.stream import Report, chunks_of, map_chunks, read_stream, stream_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from isoglot.text.formats.lines import Skip


# --- test sets ---


Layout = Literal["plain", "parallel", "conllu", "tagged", "inference"]


def held_out_sentences(
    path: str | Path, language: str, *, layout: Layout | None = None, columns: Sequence[str] | None = None
) -> Iterator[str]:
    """Read the sentences of a test set in one language.

    Args:
        path: The file.
        language: The column of a parallel table; also decides how the words of tagged files are joined.
        layout: The format. Default: guessed from the name and the first lines.
        columns: The languages of a parallel table that has no header.

    Raises:
        ConfigError: The table does not have the language.
        InputError: The file does not have that format.
        StorageError: It cannot be read.
    """
    layout = layout or ("parallel" if columns else guess_layout(path))
    blank = " " if written_with_blanks(language) else ""
    if layout == "conllu":
        for tree in read_conllu(path):
            yield tree.value("text") or blank.join(_forms(tree))
    elif layout == "tagged":
        for sentence in read_tagged(path):
            words = [word for word, _ in sentence]
            if all(word.startswith(f"{language}:") for word in words):
                words = [word.removeprefix(f"{language}:") for word in words]
            yield blank.join(words)
    elif layout == "inference":
        for pair in read_inference(path, language=language):
            yield pair.premise
            yield pair.hypothesis
    elif layout == "parallel":
        for row in read_parallel(path, languages=columns):
            if language not in row:
                problem = f"{path} has no column {shown(language)}"
                raise ConfigError(problem, f"choose one of {', '.join(row)}", "unknown-language")
            if row[language].strip():
                yield row[language]
    else:
        for number, line in read_lines(path):
            if "\t" in line:
                raise malformed("a tab in plain text", "name the layout, or the columns of a table", path, number)
            if line.strip():
                yield line


def guess_layout(path: str | Path) -> Layout:
    """Guess the format of a test set from its name and its first non-blank lines.

    Raises:
        InputError: A line is not UTF-8 text.
        StorageError: The file cannot be read.
    """
    if ".conllu" in str(path):
        return "conllu"
    if ".jsonl" in str(path):
        return "inference"
    if is_tmx(path):
        return "parallel"
    lines = list(islice((line for _, line in read_lines(path) if line.strip()), 2))
    cells = lines[0].split("\t") if lines else []
    certain = 1 if len(cells) > 1 else 2  # one sentence may end in O, but hardly the first two
    if sum(map(ends_in_tag, lines[:certain])) == certain:
        return "tagged"
    if len(cells) == 3 and (cells[2] in {*LABELS, "contradictory"} or cells[2].lower().endswith("label")):
        return "inference"
    if set(KEYS) <= {cell.lower() for cell in cells}:
        return "inference"
    return "parallel" if len(cells) > 1 else "plain"


def _forms(tree: Tree) -> list[str]:
    """The tokens as written."""
    ranges = {token.first: token for token in tree.multiwords}
    forms, last = [], 0
    for word in tree.words:
        if word.id in ranges:
            forms.append(ranges[word.id].form)
            last = ranges[word.id].last
        elif word.id > last:
            forms.append(word.form)
    return forms


# --- search ---


SHORTEST = 12
"""Minimum number of letters and digits of a test sentence to be searched; a Chinese character counts as three."""

_WHITE = re.compile(r"\s*")
_LONGEST_RUN = 8  # longest run of sentences to search


def sentence_key(text: str) -> str:
    """The key by which sentences are compared.

    >>> sentence_key("L’été, 1999 …") == sentence_key("l ' ÉTÉ , 1999 ...")
    True
    """
    return _signs().sub("", clean_line(text).casefold())


@lru_cache(maxsize=1)
def _signs() -> re.Pattern[str]:
    """Everything but letters, marks, digits and private use."""
    marks = "".join(chr(code) for code in range(0x10000) if unicodedata.category(chr(code))[0] == "M")
    private = "".join(f"{chr(first)}-{chr(last)}" for first, last in RANGES["Zzzz"])
    return re.compile(rf"(?:[^\w{private}{marks}]|_)+")


def _weight(key: str) -> int:
    return len(key) + 2 * sum("\u3040" <= sign <= "\u9fff" or "\uac00" <= sign <= "\ud7a3" for sign in key)


@dataclass(frozen=True)
class Hit:
    """Test sentence found in a line."""

    start: int
    end: int
    key: str
    whole: bool  # whether it is the whole line


class OverlapFinder:
    """Search for test sentences in lines.

    Args:
        tests: Sentences by the name of their test set.
        language: The language of the sentences and the text.
        shortest: See :data:`SHORTEST`.
    """

    def __init__(self, tests: Mapping[str, Iterable[str]], language: str, *, shortest: int = SHORTEST) -> None:
        self.language = language
        self.short: Counter[str] = Counter()
        """Sentences of each set that are too short to be searched."""
        self.items: Counter[str] = Counter()
        self.sets: dict[str, Counter[str]] = {}
        """By key: its count in each set."""
        self.openings: set[str] = set()
        for name, sentences in tests.items():
            for sentence in sentences:
                self._add(name, sentence, shortest)

    @classmethod
    def read(
        cls,
        paths: Sequence[str | Path],
        language: str,
        *,
        shortest: int = SHORTEST,
        layout: Layout | None = None,
        columns: Sequence[str] | None = None,
    ) -> OverlapFinder:
        """Read test sets from files in any format (:func:`isoglot.text.cleaning.overlap.held_out_sentences`).

        Raises:
            InputError: A file is malformed or has no sentences.
            StorageError: A file cannot be read.
        """
        sets = {str(path): held_out_sentences(path, language, layout=layout, columns=columns) for path in paths}
        finder = cls(sets, language, shortest=shortest)
        for path in paths:
            if not finder.items[str(path)]:
                raise InputError("no sentences", "name a test set that has some", "empty", file=path)
        return finder

    def _add(self, name: str, sentence: str, shortest: int) -> None:
        self.items[name] += 1
        key = sentence_key(sentence)
        if _weight(key) < shortest:
            self.short[name] += 1
            return
        self.sets.setdefault(key, Counter())[name] += 1
        parts = split_sentences(sentence, self.language)
        if 1 < len(parts) <= _LONGEST_RUN:
            self.openings.add(sentence_key(parts[0]))

    def find(self, line: str) -> list[Hit]:
        """The test sentences in a line, from left to right, without overlaps."""
        whole = sentence_key(line)
        if whole in self.sets:
            return [Hit(0, len(line), whole, whole=True)]
        spans = sentence_spans(line, self.language)
        keys = [sentence_key(line[start:end]) for start, end in spans] if len(spans) > 1 else []
        hits = []
        place = 0
        while place < len(keys):
            length = self._run(keys, place)
            if length:
                start, end = spans[place][0], spans[place + length - 1][1]
                hits.append(Hit(start, end, "".join(keys[place : place + length]), whole=False))
            place += length or 1
        return hits

    def _run(self, keys: Sequence[str], place: int) -> int:
        """The length of the longest run of sentences from there on that is a test sentence; 0 if none is."""
        if keys[place] in self.openings:
            for length in range(min(_LONGEST_RUN, len(keys) - place), 1, -1):
                if "".join(keys[place : place + length]) in self.sets:
                    return length
        return int(keys[place] in self.sets)

    def __call__(self, lines: list[str]) -> list[tuple[int, list[Hit]]]:
        """The lines of a chunk that have hits, by position."""
        found = ((number, self.find(line)) for number, line in enumerate(lines) if line)
        return [(number, hits) for number, hits in found if hits]


@dataclass
class OverlapReport(Report):
    """Counts of test sentences in a text."""

    lines: int = 0
    lines_with: int = 0
    whole: int = 0  # lines that are test sentences
    inside: int = 0  # test sentences inside longer lines
    # By test set: sentences, those too short to be searched, those found
    sets: dict[str, dict[str, int]] = field(default_factory=dict)


def find_overlap(
    paths: Sequence[str | Path],
    finder: OverlapFinder,
    *,
    target: str | Path | None = None,
    workers: int = 1,
    skip: Skip | None = None,
    progress: Progress = SILENT,
) -> OverlapReport:
    """Count the test sentences in the files of a language; with ``target``, write the text without them.

    Raises:
        CorruptFileError: A file has changed since its record was written.
        InputError: A line is not UTF-8 text.
        StorageError: A file cannot be read or written.
    """
    report = OverlapReport()
    found: set[str] = set()
    ours, theirs = tee(chunks_of(read_stream(paths, skip=skip)))  # they differ by the few chunks in progress
    step = {"step": "remove overlap", "language": finder.language, "tests": [Path(name).name for name in finder.items]}
    output = nullcontext() if target is None else stream_writer(target, derived(paths, step))
    with output as writer, progress.task(f"overlap {finder.language}", total=None, unit="lines") as task:
        for lines, hits_by_line in zip(ours, map_chunks(finder, theirs, workers=workers), strict=True):
            hits_of = dict(hits_by_line)
            for hits in hits_of.values():
                found.update(hit.key for hit in hits)
                report.whole += hits[0].whole
                report.inside += 0 if hits[0].whole else len(hits)
            report.lines += sum(map(bool, lines))
            report.lines_with += len(hits_of)
            if writer is not None:
                for number, line in enumerate(lines):
                    if number not in hits_of:
                        writer.write(line)
                    elif rest := without(line, hits_of[number]):
                        writer.write(rest)
            task.advance(len(lines))
    for name, count in finder.items.items():
        there = sum(finder.sets[key][name] for key in found)
        report.sets[name] = {"sentences": count, "short": finder.short[name], "found": there}
    return report


def without(line: str, hits: Sequence[Hit]) -> str:
    """Remove hits and the white space after each from a line.

    >>> without("A b. C d. E f.", [Hit(5, 9, "cd", whole=False)])
    'A b. E f.'
    """
    kept, end = [], 0
    for hit in hits:
        kept.append(line[end : hit.start])
        gap = _WHITE.match(line, hit.end)
        end = gap.end() if gap else hit.end
    return "".join([*kept, line[end:]]).strip()

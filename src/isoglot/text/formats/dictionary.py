"""Bilingual dictionaries, one entry per line, in the MUSE layout (``source target``) or the weighted layout.

MUSE separates the two words by a blank or a tab, so words cannot contain blanks. The weighted layout has three
tab-separated columns, and words may be phrases.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal, get_args

from isoglot.core.errors import ConfigError, check_name, shown
from isoglot.text.formats.lines import LineWriter, Skip, line_writer, malformed, parsed, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


Layout = Literal["muse", "weighted"]

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Entry:
    """Dictionary entry: a word or phrase, a translation, and its weight."""

    source: str
    target: str
    weight: float = 1.0


def read_dictionary(path: str | Path, *, skip: Skip | None = None) -> Iterator[Entry]:
    """Read the entries of a dictionary in order; a word with several translations has several entries.

    The first line decides whether there are weights.

    Args:
        path: The dictionary.
        skip: Tolerance for malformed entries. Default: raise at the first.

    Raises:
        InputError: A line does not have two or three columns, or a weight is not a number.
        StorageError: The file cannot be read.
    """
    lines = read_lines(path, skip=skip)
    first = next(lines, None)
    if first is None:
        return
    parse = _parse_weighted if first[1].count("\t") == 2 else _parse_muse
    yield from parsed(chain([first], lines), lambda line: parse(line[1], path, line[0]), skip)


def read_dictionaries(files: Mapping[tuple[str, str], Iterable[Path]]) -> dict[tuple[str, str], list[Entry]]:
    """Entries of the files of each pair of languages, those of several files together.

    Raises:
        InputError: A line is malformed.
        StorageError: A file cannot be read.
    """
    return {pair: [entry for path in paths for entry in read_dictionary(path)] for pair, paths in files.items()}


def write_dictionary(path: str | Path, entries: Iterable[Entry], layout: Layout = "muse") -> int:
    """Write entries; returns their number. The ``muse`` layout omits the weights.

    Raises:
        ConfigError: The layout is unknown.
        InputError: A word is empty, has a blank in the muse layout, or contains a tab or a line end.
        StorageError: The file cannot be written.
    """
    check_name("layout", layout, get_args(Layout))
    write = _write_muse if layout == "muse" else _write_weighted
    with line_writer(path) as writer:
        for entry in entries:
            write(writer, entry)
    return writer.lines


def _parse_muse(line: str, path: str | Path, number: int) -> Entry:
    words = line.split()
    if len(words) != 2:
        remedy = "write source, a blank and target; for phrases, write source<tab>target<tab>weight in every line"
        raise malformed(f"{shown(line)} is not two words", remedy, path, number)
    return Entry(words[0], words[1])


def _parse_weighted(line: str, path: str | Path, number: int) -> Entry:
    cells = line.split("\t")
    if len(cells) != 3 or not cells[0].strip() or not cells[1].strip():
        problem = f"{shown(line)} is not two words and a weight, like line 1"
        raise malformed(problem, "write source<tab>target<tab>weight", path, number)
    source, target, weight = cells
    if not _NUMBER.fullmatch(weight) or not math.isfinite(float(weight)):
        raise malformed(f"the weight {shown(weight)} is not a number", "write it as 0.5", path, number)
    return Entry(source, target, float(weight))


def _write_muse(writer: LineWriter, entry: Entry) -> None:
    for word in (entry.source, entry.target):
        if word.split() != [word]:
            problem = f"{shown(word)} is not one word"
            raise writer.refusal(problem, remedy="write phrases in the weighted layout, or remove them")
    writer.write(f"{entry.source} {entry.target}")


def _write_weighted(writer: LineWriter, entry: Entry) -> None:
    for word in (entry.source, entry.target):
        if not word.strip():
            raise writer.refusal(f"{shown(word)} is not a word", remedy="remove the entry")
    if not math.isfinite(entry.weight):
        raise writer.refusal(f"the weight {entry.weight} of {shown(entry.source)}", remedy="weights are finite numbers")
    writer.write_cells(entry.source, entry.target, repr(float(entry.weight)))


def words_of(dictionaries: Mapping[tuple[str, str], Iterable[Entry]], language: str | None) -> list[str]:
    """The words of a language in dictionaries, each once.

    Raises:
        ConfigError: A dictionary is of other languages.
    """
    found: list[str] = []
    for pair, entries in dictionaries.items():
        if language not in pair:
            problem = f"--dictionary is of {' and '.join(pair)}, --lang {shown(language)}"
            raise ConfigError(problem, f"give --lang {pair[0]}", "other-language")
        found += [entry.source if language == pair[0] else entry.target for entry in entries]
    return list(dict.fromkeys(found))

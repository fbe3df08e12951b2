"""Bilingual dictionaries, one entry a line: MUSE's layout (``source target``) and the weighted one.

MUSE separates the two words by a blank or a tab, so that its words have no blanks. The weighted layout has three
columns with tabs between them, and its words may be phrases.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import ConfigError, InputError, nearest_name, shown
from isoglot.text.formats.lines import line_writer, read_lines
from isoglot.text.formats.malformed import Skip, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from isoglot.text.formats.lines import LineWriter

Layout = Literal["muse", "weighted"]

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Entry:
    """A word or phrase, one translation of it, and how much that one counts."""

    source: str
    target: str
    weight: float = 1.0


def read_dictionary(path: str | Path, *, skip: Skip | None = None) -> Iterator[Entry]:
    """The entries of a dictionary in the order of the file; a word with several translations has several.

    The first line shows whether there are weights; the others must be like it.

    Args:
        path: The dictionary.
        skip: How many malformed entries may be skipped, and what was.

    Raises:
        InputError: A line does not have its two or three columns, or a weight is not a number.
        StorageError: The file cannot be read.
    """
    lines = read_lines(path, skip=skip)
    first = next(lines, None)
    if first is None:
        return
    parse = _parse_weighted if first[1].count("\t") == 2 else _parse_muse
    yield from parsed(chain([first], lines), lambda line: parse(line[1], path, line[0]), skip)


def write_dictionary(path: str | Path, entries: Iterable[Entry], layout: Layout = "muse") -> int:
    """Write the entries; returns how many. The ``muse`` layout leaves the weights out.

    Raises:
        ConfigError: There is no such layout.
        InputError: A word is empty, has a blank in the muse layout, or a tab or line end in either.
        StorageError: The file cannot be written.
    """
    if layout not in ("muse", "weighted"):
        raise ConfigError(
            f"no layout {shown(layout)}", remedy=nearest_name(layout, ("muse", "weighted")), code="config.unknown-name"
        )
    with line_writer(path) as writer:
        for entry in entries:
            if layout == "muse":
                _write_muse(writer, entry)
            else:
                _write_weighted(writer, entry)
    return writer.lines


def _parse_muse(line: str, path: str | Path, number: int) -> Entry:
    words = line.split()
    if len(words) != 2:
        raise InputError(
            f"{shown(line)} is not two words",
            remedy="write source, a blank, target; for phrases, source<tab>target<tab>weight from line 1 on",
            code="input.malformed-line",
            file=path,
            line=number,
        )
    return Entry(words[0], words[1])


def _parse_weighted(line: str, path: str | Path, number: int) -> Entry:
    cells = line.split("\t")
    if len(cells) != 3 or not cells[0].strip() or not cells[1].strip():
        raise InputError(
            f"{shown(line)} is not two words and a weight, as line 1 is",
            remedy="write source<tab>target<tab>weight",
            code="input.malformed-line",
            file=path,
            line=number,
        )
    source, target, weight = cells
    if not _NUMBER.fullmatch(weight) or not math.isfinite(float(weight)):
        raise InputError(
            f"the weight {shown(weight)} is not a number",
            remedy="write it as 0.5",
            code="input.malformed-line",
            file=path,
            line=number,
        )
    return Entry(source, target, float(weight))


def _write_muse(writer: LineWriter, entry: Entry) -> None:
    for word in (entry.source, entry.target):
        if word.split() != [word]:
            raise writer.refusal(
                f"{shown(word)} is not one word", remedy="write phrases in the weighted layout, or leave them out"
            )
    writer.write(f"{entry.source} {entry.target}")


def _write_weighted(writer: LineWriter, entry: Entry) -> None:
    for word in (entry.source, entry.target):
        if not word.strip():
            raise writer.refusal(f"{shown(word)} is not a word", remedy="leave the entry out")
    if not math.isfinite(entry.weight):
        raise writer.refusal(f"the weight {entry.weight} of {shown(entry.source)}", remedy="weights are finite numbers")
    writer.write_cells(entry.source, entry.target, repr(float(entry.weight)))

"""Word alignments in the Pharaoh format: ``0-0 1-2`` links word 0 to word 0 and word 1 to word 2; one pair per line.

>>> parse_links("0-0 1-2")
[(0, 0), (1, 2)]

Gold alignments may have possible links, written ``1?2``:

>>> parse_gold("0-0 1?2")
GoldLinks(sure=[(0, 0)], possible=[(1, 2)])
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from isoglot.core.errors import shown
from isoglot.text.formats.lines import Skip, line_writer, malformed, parsed, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Links = list[tuple[int, int]]

_LINK = re.compile(r"([0-9]{1,9})([-?])([0-9]{1,9})")


class GoldLinks(NamedTuple):
    """Gold alignment of a sentence pair (Och & Ney 2003)."""

    sure: Links
    """Links that should be found."""
    possible: Links
    """Other links that are not wrong."""


def read_pharaoh(path: str | Path, *, skip: Skip | None = None) -> Iterator[Links]:
    """Read the alignment of each sentence pair: (source position, target position), from 0.

    A blank line is a sentence pair without links.

    Args:
        path: The file.
        skip: Tolerance for malformed lines. Default: raise at the first.

    Raises:
        InputError: Something is not a link.
        StorageError: The file cannot be read.
    """
    return parsed(read_lines(path, skip=skip), lambda line: parse_links(line[1], file=path, line=line[0]), skip)


def read_gold(path: str | Path, *, skip: Skip | None = None) -> Iterator[GoldLinks]:
    """Read sure and possible links of each sentence pair; see :func:`read_pharaoh`.

    Raises:
        InputError: Something is not a link.
        StorageError: The file cannot be read.
    """
    return parsed(read_lines(path, skip=skip), lambda line: parse_gold(line[1], file=path, line=line[0]), skip)


def parse_links(text: str, *, file: str | Path | None = None, line: int | None = None) -> Links:
    """Parse the links of a line; ``file`` and ``line`` are for the error message.

    Raises:
        InputError: Something is not a link.
    """
    found = parse_gold(text, file=file, line=line)
    if found.possible:
        one, other = found.possible[0]
        problem = f"'{one}?{other}' is a possible link, which only gold alignments may have"
        raise malformed(problem, "write it with a hyphen, or remove it", file, line)
    return found.sure


def parse_gold(text: str, *, file: str | Path | None = None, line: int | None = None) -> GoldLinks:
    """Parse sure and possible links; see :func:`parse_links`.

    Raises:
        InputError: Something is not a link.
    """
    found = GoldLinks([], [])
    for word in text.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise malformed(
                f"{shown(word)} is not a link", "write source-target with positions from 0, as in 0-0 1-2", file, line
            )
        (found.sure if match[2] == "-" else found.possible).append((int(match[1]), int(match[3])))
    return found


def write_pharaoh(path: str | Path, alignments: Iterable[Iterable[tuple[int, int]]]) -> int:
    """Write one alignment per line; returns their number.

    Raises:
        InputError: A position is negative or too large.
        StorageError: The file cannot be written.
    """
    with line_writer(path) as writer:
        for links in alignments:
            pairs = list(links)
            for pair in pairs:
                if not all(0 <= position < 10**9 for position in pair):
                    raise writer.refusal(f"{shown(pair)} is not a link", remedy="give two positions, from 0")
            writer.write(" ".join(f"{source}-{target}" for source, target in pairs))
    return writer.lines

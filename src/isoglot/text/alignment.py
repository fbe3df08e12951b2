"""Word alignments in the Pharaoh format: ``0-0 1-2`` links word 0 to word 0 and word 1 to word 2, one sentence a line.

>>> parse_links("0-0 1-2")
[(0, 0), (1, 2)]
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError, shown
from isoglot.text.bad import Skip, parsed
from isoglot.text.lines import line_writer, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Links = list[tuple[int, int]]

_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


def read_pharaoh(path: str | Path, *, skip: Skip | None = None) -> Iterator[Links]:
    """The alignment of each sentence pair: (source position, target position), from 0, in the order of the file.

    A blank line is a sentence pair without links.

    Args:
        path: The file.
        skip: How many malformed lines may be skipped, and what was.

    Raises:
        InputError: Something is not a link.
        StorageError: The file cannot be read.
    """
    return parsed(read_lines(path, skip=skip), lambda line: parse_links(line[1], file=path, line=line[0]), skip)


def parse_links(text: str, *, file: str | Path | None = None, line: int | None = None) -> Links:
    """The links written in one line; ``file`` and ``line`` say where it stands, for the error message.

    Raises:
        InputError: Something is not a link.
    """
    links = []
    for word in text.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise InputError(
                f"{shown(word)} is not a link",
                remedy="write source-target with positions from 0, as in 0-0 1-2",
                file=file,
                line=line,
            )
        links.append((int(match[1]), int(match[2])))
    return links


def write_pharaoh(path: str | Path, alignments: Iterable[Iterable[tuple[int, int]]]) -> int:
    """Write one alignment a line; returns how many.

    Raises:
        InputError: A position is below 0 (or beyond any sentence).
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

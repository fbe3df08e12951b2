"""Named entities in CoNLL columns: a token and its BIO tag a line, a blank line between sentences.

WikiAnn writes the language before every token, ``en:Paris``; the option ``prefix`` takes that off and puts it on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError, shown
from isoglot.text.bad import Skip, parsed
from isoglot.text.lines import line_writer, read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

# That I-X follows B-X or I-X is left to whoever scores: WikiAnn itself does not keep to it.
_TAG = re.compile(r"O|[BI]-\S+")


def read_tagged(
    path: str | Path, *, prefix: str | None = None, skip: Skip | None = None
) -> Iterator[list[tuple[str, str]]]:
    """The sentences of a file, each a list of (token, tag).

    Args:
        path: Token and tag have a tab between them, or else one blank; tags are ``O``, ``B-PER``, ``I-PER``, ...
        prefix: The language before every token, ``en`` where the file says ``en:Paris``; it is taken off.
        skip: How many sentences with a malformed line may be skipped, and what was.

    Raises:
        InputError: A line is not a token and a tag, or lacks the prefix.
        StorageError: The file cannot be read.
    """

    def parse(block: list[tuple[int, str]]) -> list[tuple[str, str]]:
        return [_parse_line(line, prefix, path, number) for number, line in block]

    return parsed(read_blocks(path, skip=skip), parse, skip)


def _parse_line(line: str, prefix: str | None, path: str | Path, number: int) -> tuple[str, str]:
    cells = line.split("\t" if "\t" in line else " ")
    if len(cells) != 2 or not cells[0]:
        raise InputError(
            f"{shown(line)} is not a token and its tag",
            remedy="write token<tab>tag, and a blank line between sentences",
            file=path,
            line=number,
        )
    token, tag = cells
    if not _TAG.fullmatch(tag):
        raise InputError(f"{shown(tag)} is not a BIO tag", remedy="use O, B-PER, I-PER, ...", file=path, line=number)
    if prefix is None:
        return token, tag
    if not token.startswith(f"{prefix}:") or token == f"{prefix}:":
        raise InputError(
            f"{shown(token)} does not begin with {shown(prefix + ':')}",
            remedy="leave the prefix out, or name the one in the file",
            file=path,
            line=number,
        )
    return token.removeprefix(f"{prefix}:"), tag


def write_tagged(path: str | Path, sentences: Iterable[Sequence[tuple[str, str]]], *, prefix: str | None = None) -> int:
    """Write sentences with a tab between token and tag; returns how many sentences.

    Args:
        path: The file to write.
        sentences: Each a list of (token, tag).
        prefix: What to write before every token, with a colon: ``en`` gives ``en:Paris``.

    Raises:
        InputError: A sentence or a token is empty, a tag is not one, or a token has a tab or line end in it.
        StorageError: The file cannot be written.
    """
    before = "" if prefix is None else f"{prefix}:"
    count = 0
    with line_writer(path) as writer:
        for count, sentence in enumerate(sentences, start=1):
            if not sentence:
                raise writer.refusal(f"sentence {count} is empty", remedy="leave it out")
            if count > 1:
                writer.write("")
            for token, tag in sentence:
                if not token:
                    raise writer.refusal(f"an empty token in sentence {count}", remedy="leave it out")
                if not _TAG.fullmatch(tag):
                    raise writer.refusal(f"{shown(tag)} is not a BIO tag", remedy="use O, B-PER, I-PER, ...")
                writer.write_cells(before + token, tag)
    return count

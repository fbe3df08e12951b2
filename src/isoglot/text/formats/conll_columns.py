"""Named entities in CoNLL columns: a token and its BIO tag per line, with blank lines between sentences.

Columns between the two are ignored (CoNLL-2003 has parts of speech and chunks there), and so is ``-DOCSTART-``. WikiAnn
writes the language before every token, ``en:Paris``; the option ``prefix`` removes or adds it.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError, shown
from isoglot.text.formats.lines import Skip, line_writer, malformed, parsed, read_blocks
from isoglot.text.provenance import Provenance, recorded_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


# Whether I-X follows B-X or I-X is not checked: WikiAnn itself violates it.
_TAG = re.compile(r"O|[BI]-\S+")
_LAYOUT = "write token<tab>tag, and a blank line between sentences"


def read_tagged(
    path: str | Path, *, prefix: str | None = None, skip: Skip | None = None
) -> Iterator[list[tuple[str, str]]]:
    """Read the sentences of a file, each a list of (token, tag): the first and the last column.

    Args:
        path: Columns are separated by a tab, or else by a blank; tags are ``O``, ``B-PER``, ``I-PER``, ...
        prefix: The language before every token, such as ``en`` for ``en:Paris``; it is removed.
        skip: Tolerance for sentences with a malformed line. Default: raise at the first.

    Raises:
        InputError: A line is not a token and a tag, has another number of columns than the first, or lacks the prefix.
        StorageError: The file cannot be read.
    """
    layout = _Layout(path, prefix)

    def parse(block: list[tuple[int, str]]) -> list[tuple[str, str]]:
        return [layout.tagged(number, line) for number, line in block]

    return parsed(token_blocks(path, skip=skip), parse, skip)


def read_tokens(path: str | Path, *, prefix: str | None = None) -> Iterator[list[str]]:
    """Read the tokens, whatever the other columns are.

    Raises:
        InputError: A line has one column, another number than the first line, or lacks the prefix.
        StorageError: The file cannot be read.
    """
    layout = _Layout(path, prefix)
    return ([layout.cells(number, line)[0] for number, line in block] for block in token_blocks(path))


def token_blocks(path: str | Path, *, skip: Skip | None = None) -> Iterator[list[tuple[int, str]]]:
    """The numbered lines of each sentence, without ``-DOCSTART-``."""
    for block in read_blocks(path, skip=skip):
        if kept := [(number, line) for number, line in block if _cells(line)[0] != "-DOCSTART-"]:
            yield kept


def find_prefix(path: str | Path, language: str) -> str | None:
    """The language before the first token of a file, if there is one."""
    first = next(token_blocks(path), [(0, "")])[0][1]
    return language if first.startswith(f"{language}:") else None


def ends_in_tag(line: str) -> bool:
    """Whether a line has several columns, the last of which is a BIO tag.

    >>> ends_in_tag("EU NNP B-NP B-ORG"), ends_in_tag("O")
    (True, False)
    """
    return bool(len(cells := _cells(line)) > 1 and _TAG.fullmatch(cells[-1]))


def blank_columns(lines: Iterable[str]) -> int:
    """Guess the number of blank-separated columns; 0 if the lines are more likely sentences.

    Columns are assumed if all lines have the same number of words, at least two, several lines follow each other, and
    there are blank lines elsewhere or BIO tags at the ends of all lines.
    """
    kept = (line for line in lines if _cells(line)[0] != "-DOCSTART-")
    blocks = [list(block) for words, block in groupby(map(str.split, kept), key=bool) if words]
    rows = [words for block in blocks for words in block]
    alike = len({len(words) for words in rows}) == 1 and len(rows[0]) > 1
    apart = len(blocks) > 1 or all(_TAG.fullmatch(words[-1]) for words in rows)
    return len(rows[0]) if alike and apart and len(rows) > len(blocks) else 0


def _cells(line: str) -> list[str]:
    return line.split("\t" if "\t" in line else " ")


class _Layout:
    """Parser of lines; all must have as many columns as the first."""

    def __init__(self, path: str | Path, prefix: str | None) -> None:
        self.path = path
        self.prefix = prefix
        self.columns = 0

    def tagged(self, number: int, line: str) -> tuple[str, str]:
        """Token and tag of a line."""
        token, *_, tag = self.cells(number, line)
        if not _TAG.fullmatch(tag):
            raise self._error(f"{shown(tag)} is not a BIO tag", "use O, B-PER, I-PER, ...", number)
        return token, tag

    def cells(self, number: int, line: str) -> list[str]:
        """All columns of a line, with the prefix removed from the token."""
        cells = _cells(line)
        if len(cells) < 2 or not cells[0]:
            raise self._error(f"{shown(line)} is not a token and its tag", _LAYOUT, number)
        self.columns = self.columns or len(cells)
        if len(cells) != self.columns:
            raise self._error(
                f"{len(cells)} columns in {shown(line)}, {self.columns} in the lines before", _LAYOUT, number
            )
        if self.prefix is not None:
            token = cells[0].removeprefix(f"{self.prefix}:")
            if token in ("", cells[0]):
                raise self._error(
                    f"{shown(cells[0])} does not begin with {shown(self.prefix + ':')}",
                    "omit the prefix, or name the one in the file",
                    number,
                )
            cells[0] = token
        return cells

    def _error(self, problem: str, remedy: str, number: int) -> InputError:
        return malformed(problem, remedy, self.path, number)


def write_tagged(
    path: str | Path,
    sentences: Iterable[Sequence[tuple[str, str]]],
    *,
    prefix: str | None = None,
    provenance: Provenance | None = None,
) -> int:
    """Write sentences as tab-separated token and tag; returns the number of sentences.

    Args:
        path: The file to write.
        sentences: Lists of (token, tag).
        prefix: Written before every token with a colon: ``en`` gives ``en:Paris``.
        provenance: Recorded beside the file. Default: no record.

    Raises:
        InputError: A sentence or a token is empty, a tag is not a BIO tag, or a token contains a tab or a line end.
        StorageError: The file cannot be written.
    """
    before = "" if prefix is None else f"{prefix}:"
    count = 0
    with line_writer(path) if provenance is None else recorded_writer(path, provenance) as writer:
        for count, sentence in enumerate(sentences, start=1):
            if not sentence:
                raise writer.refusal(f"sentence {count} is empty", remedy="remove it")
            if count > 1:
                writer.write("")
            for token, tag in sentence:
                if not token:
                    raise writer.refusal(f"an empty token in sentence {count}", remedy="remove it")
                if not _TAG.fullmatch(tag):
                    raise writer.refusal(f"{shown(tag)} is not a BIO tag", remedy="use O, B-PER, I-PER, ...")
                writer.write_cells(before + token, tag)
    return count

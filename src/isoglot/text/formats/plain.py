"""Plain text: one sentence or paragraph a line, a blank line between documents; or sentences, one a line.

A table is not plain text: its tabs and labels would be read as words of the sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import InputError, shown
from isoglot.text.formats.lines import line_writer, read_blocks, read_lines
from isoglot.text.formats.nli import LABELS
from isoglot.text.provenance import recorded_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from isoglot.text.formats.malformed import Skip
    from isoglot.text.provenance import Provenance


_LABELS = frozenset((*LABELS, "contradictory", "label", "gold_label"))


def read_documents(path: str | Path, *, skip: Skip | None = None) -> Iterator[list[str]]:
    """The documents of a file, each the list of its lines; one is in memory at a time.

    Args:
        path: The file.
        skip: How many documents with a malformed line may be skipped, and what was.

    Raises:
        InputError: A line is not UTF-8 text.
        StorageError: The file cannot be read.
    """
    for block in read_blocks(path, skip=skip):
        yield [line for _, line in block]


def read_sentence_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with a sentence a line, with their numbers from 1.

    Raises:
        InputError: A line is not UTF-8 text, or has a tab: the file is a table.
        StorageError: The file cannot be read.
    """
    for number, line in read_lines(path):
        check_sentence(line, path, number)
        yield number, line


def check_sentence(line: str, path: str | Path, number: int) -> None:
    """Refuse a line of a sentence file that is a row of a table.

    Raises:
        InputError: It has a tab.
    """
    check_text(line, path, number)
    if "\t" in line:
        raise InputError(
            f"a tab in a file with a sentence a line: {shown(line)}",
            remedy="is it a table? Write the column that is wanted to a file of its own, or put a blank for the tab",
            code="input.malformed-line",
            file=path,
            line=number,
        )


def check_text(line: str, path: str | Path, number: int) -> None:
    """Refuse a line of running text that is a row of an inference table: its label would be read as a word.

    Raises:
        InputError: It is a premise, a hypothesis and a label with tabs between.
    """
    if "\t" not in line:
        return
    cells = line.split("\t")
    label = next((cell for cell in cells if cell.strip() in _LABELS), None)
    if len(cells) > 2 and label is not None:
        raise InputError(
            f"a row of an inference table ({len(cells)} columns, one of them {shown(label)}), not text",
            remedy="write the column that is wanted to a file of its own",
            code="input.malformed-line",
            file=path,
            line=number,
        )


def write_documents(
    path: str | Path, documents: Iterable[Sequence[str]], *, provenance: Provenance | None = None
) -> int:
    """Write documents with a blank line between them; returns how many.

    Args:
        path: The file.
        documents: The lines of each.
        provenance: Where they come from, recorded beside the file; None: no record, so that it is unknown.

    Raises:
        InputError: A document is empty, or a line is blank or has a line end in it.
        StorageError: The file cannot be written.
    """
    count = 0
    with line_writer(path) if provenance is None else recorded_writer(path, provenance) as writer:
        for count, document in enumerate(documents, start=1):
            if not document:
                raise writer.refusal(f"document {count} is empty", remedy="leave it out")
            if count > 1:
                writer.write("")
            for line in document:
                if not line or line.isspace():
                    raise writer.refusal(
                        f"the blank line {shown(line)} inside document {count}",
                        remedy="leave it out: a blank line ends a document",
                    )
                writer.write(line)
    return count

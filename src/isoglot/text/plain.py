"""Plain text: one sentence or paragraph a line, a blank line between documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import shown
from isoglot.text.lines import line_writer, read_blocks
from isoglot.text.provenance import recorded_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from isoglot.text.bad import Skip
    from isoglot.text.provenance import Provenance


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

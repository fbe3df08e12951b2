"""Plain text: one sentence or paragraph per line, with blank lines between documents, or one sentence per line.

Tables are rejected: their tabs and labels would be read as words.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TextIO

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.text.formats.lines import Skip, malformed, read_blocks, read_lines
from isoglot.text.formats.nli import LABELS
from isoglot.text.provenance import Provenance, recorded_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


_LABELS = frozenset((*LABELS, "contradictory", "label", "gold_label"))


def read_documents(path: str | Path, *, skip: Skip | None = None) -> Iterator[list[str]]:
    """Read the documents of a file, each a list of lines; one is in memory at a time.

    Args:
        path: The file.
        skip: Tolerance for documents with a malformed line. Default: raise at the first.

    Raises:
        InputError: A line is not UTF-8 text.
        StorageError: The file cannot be read.
    """
    for block in read_blocks(path, skip=skip):
        yield [line for _, line in block]


def read_sentence_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Read a file with one sentence per line, with line numbers from 1.

    Raises:
        InputError: A line is not UTF-8 text, or contains a tab: the file is a table.
        StorageError: The file cannot be read.
    """
    for number, line in read_lines(path):
        check_sentence(line, path, number)
        yield number, line


def first_sentences(files: Mapping[str, Sequence[Path]], most: int) -> dict[str, list[str]]:
    """Read the first lines of each language's files; blank lines are skipped.

    Raises:
        InputError: A language has no sentence, a line is not text, or a file is a table.
        StorageError: A file cannot be read.
    """
    found = {}
    for code, paths in files.items():
        lines = (line for path in paths for _, line in read_sentence_lines(path) if line.strip())
        found[code] = list(islice(lines, most))
        if not found[code]:
            raise InputError(f"no sentence of {code}", "give at least one line", "empty", file=paths[0])
    return found


def check_sentence(line: str, path: str | Path, number: int) -> None:
    """Check that a line of a sentence file is not a row of a table.

    Raises:
        InputError: It contains a tab.
    """
    check_text(line, path, number)
    if "\t" in line:
        remedy = "if it is a table, write the column to a file of its own; else replace the tab by a blank"
        raise malformed(f"a tab in a file with one sentence per line: {shown(line)}", remedy, path, number)


def check_text(line: str, path: str | Path, number: int) -> None:
    """Check that a line of running text is not a row of an inference table.

    Raises:
        InputError: It is a premise, a hypothesis and a label, separated by tabs.
    """
    if "\t" not in line:
        return
    cells = line.split("\t")
    label = next((cell for cell in cells if cell.strip() in _LABELS), None)
    if len(cells) > 2 and label is not None:
        problem = f"a row of an inference table ({len(cells)} columns, one of them {shown(label)}), not text"
        raise malformed(problem, "write the column to a file of its own", path, number)


def write_documents(
    path: str | Path, documents: Iterable[Sequence[str]], *, provenance: Provenance | None = None
) -> int:
    """Write documents with blank lines between them; returns their number.

    Args:
        path: The file.
        documents: The lines of each.
        provenance: Recorded beside the file. Default: no record, so that it is unknown.

    Raises:
        InputError: A document is empty, or a line is blank or contains a line end.
        StorageError: The file cannot be written.
    """
    count = 0
    with recorded_writer(path, provenance) as writer:
        for count, document in enumerate(documents, start=1):
            if not document:
                raise writer.refusal(f"document {count} is empty", remedy="remove it")
            if count > 1:
                writer.write("")
            for line in document:
                if not line or line.isspace():
                    problem = f"the blank line {shown(line)} inside document {count}"
                    raise writer.refusal(problem, remedy="remove it: a blank line ends a document")
                writer.write(line)
    return count


def sentences_from(text: str | None, file: Path | None = None, stream: TextIO | None = None) -> list[str]:
    """Return the sentences of a text, a file or a stream, one per line, without blank ones.

    >>> sentences_from("Yes.")
    ['Yes.']

    Args:
        text: The text; ``-`` or None for the stream.
        file: A file with it instead.
        stream: Standard input, unless it is a terminal and the text is None.

    Raises:
        ConfigError: None of these is given, or both text and file are.
        InputError: There is no sentence, or it is not UTF-8.
        StorageError: The file cannot be read.
    """
    from isoglot.text.cleaning.processing import check_as_written

    typed = text is not None and text != "-"
    if typed and file is not None:
        raise ConfigError("TEXT and --text are both given", "give one of them", "conflicting-options")
    where = "the text" if typed else "standard input"
    if file is not None:
        check_as_written(file)
        lines, where = [line for _, line in read_sentence_lines(file)], str(file)
    elif typed or (stream is not None and (text == "-" or not stream.isatty())):
        try:
            # Bytes of a command line that are not UTF-8 arrive as lone surrogates; some locales let any byte pass.
            read = (text or "").encode() if typed or stream is None else stream.buffer.read()
            lines = read.decode().splitlines()
        except UnicodeError as error:
            typed_at = f"character {error.start + 1} cannot be read" if isinstance(error, UnicodeEncodeError) else ""
            why = typed_at or getattr(error, "reason", "")
            raise InputError(f"{where} is not UTF-8: {why}", "convert it, as with iconv", "not-utf8") from error
    else:
        remedy = f"write it in quotes: isoglot steer translate {chr(34)}Yes.{chr(34)} --from en --to de"
        raise ConfigError("no text to translate", remedy, "missing-option")
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise InputError(f"{where} is empty", "give at least one sentence, one a line", "empty")
    return found

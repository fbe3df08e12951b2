"""Parallel text: the same sentences in several languages, as one table or as files aligned line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.language_codes import language_code
from isoglot.text.lines import line_writer, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


def read_parallel(path: str | Path, *, languages: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
    """The rows of a tab-separated table, each a sentence by language; an empty cell is ``""``.

    Args:
        path: The table. Its first line has the language codes, in any form :func:`language_code` understands.
        languages: The languages of the columns, where the first line is a row like any other.

    Raises:
        InputError: The header has no such language or one twice, or a row has another number of columns.
        StorageError: The file cannot be read.
    """
    lines = read_lines(path)
    if languages is None:
        number, header = next(lines, (1, ""))
        columns = _columns_of(header, path, number)
    else:
        columns = _canonical(languages)
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) != len(columns):
            raise InputError(
                f"{_counted(len(cells), 'column')} for {_counted(len(columns), 'language')} ({', '.join(columns)})",
                remedy="separate the columns with one tab each",
                file=path,
                line=number,
            )
        yield dict(zip(columns, cells, strict=True))


def write_parallel(path: str | Path, languages: Sequence[str], rows: Iterable[Mapping[str, str]]) -> int:
    """Write rows as a tab-separated table with the canonical language codes as its header; returns how many rows.

    Args:
        path: The table to write.
        languages: The columns in order; a row may have more than these, and they are left out.
        rows: Sentences by language, named as in ``languages``.

    Raises:
        ConfigError: There is no such language, none at all, or one twice.
        InputError: A row lacks a language, or a sentence has a tab or a line end in it.
        StorageError: The file cannot be written.
    """
    columns = _canonical(languages)
    count = 0
    with line_writer(path) as writer:
        writer.write_cells(*columns)
        for count, row in enumerate(rows, start=1):
            for language in languages:
                if language not in row:
                    raise writer.refusal(
                        f"row {count} has no {shown(language)}", remedy="give every row every language, '' for none"
                    )
            writer.write_cells(*(row[language] for language in languages))
    return count


def read_aligned(paths: Mapping[str, str | Path]) -> Iterator[dict[str, str]]:
    """The rows of files that hold the same sentences line by line: ``{"en": "x.en", "fr": "x.fr"}``.

    Raises:
        ConfigError: There is no such language, none at all, or one twice.
        InputError: The files have different numbers of lines (known only at the end of the shortest).
        StorageError: A file cannot be read.
    """
    columns = _canonical(list(paths))
    files = list(paths.values())
    readers = [read_lines(path) for path in files]
    count = 0
    while True:
        lines = [next(reader, None) for reader in readers]
        row = {column: line[1] for column, line in zip(columns, lines, strict=True) if line is not None}
        if len(row) < len(columns):
            break
        yield row
        count += 1
    for path, reader, line in zip(files, readers, lines, strict=True):
        if line is not None:
            shortest = files[lines.index(None)]
            total = count + 1 + sum(1 for _ in reader)
            raise InputError(
                f"{_counted(total, 'line')}, but {shortest} has {count}",
                remedy="aligned files have the same sentence on the same line: find where one is missing",
                file=path,
                line=count + 1,
            )


def _columns_of(header: str, path: str | Path, number: int) -> list[str]:
    try:
        return _canonical(header.split("\t"))
    except ConfigError as error:
        raise InputError(
            f"the header {shown(header)}: {error.problem}",
            remedy="name the language of each column in the first line, as in en<tab>fr; or give languages yourself",
            file=path,
            line=number,
        ) from error


def _canonical(languages: Sequence[str]) -> list[str]:
    columns = [language_code(language) for language in languages]
    if not columns:
        raise ConfigError("no languages", remedy="name at least one, such as en")
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise ConfigError(f"the language {shown(twice[0])} is there twice", remedy="name each language once")
    return columns


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

"""Parallel text: the same sentences in several languages, in one table or in files aligned line by line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import counted
from isoglot.text.formats.lines import Skip, line_writer, malformed, parsed, read_lines, scan_lines
from isoglot.text.formats.plain import check_sentence
from isoglot.text.formats.tmx import is_tmx, read_tmx

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


def read_parallel(
    path: str | Path, *, languages: Sequence[str] | None = None, skip: Skip | None = None
) -> Iterator[dict[str, str]]:
    """Read the rows of a tab-separated table or a translation memory (``.tmx``), each a sentence by language.

    Args:
        path: The file. The first line of a table has the language codes, as :func:`language_code` accepts them.
        languages: The languages of the columns of a table without a header.
        skip: Tolerance for malformed rows. Default: raise at the first.

    Raises:
        InputError: A language of the header is unknown or repeated, or a row has another number of columns.
        StorageError: The file cannot be read.
    """
    if is_tmx(path):
        yield from read_tmx(path, skip=skip)
        return
    lines = read_lines(path, skip=skip)
    if languages is None:
        number, header = next(lines, (1, ""))
        columns = _columns_of(header, path, number)
    else:
        columns = _canonical(languages)
    yield from parsed(lines, lambda line: _parse_row(line[1], columns, path, line[0]), skip)


def _parse_row(line: str, columns: list[str], path: str | Path, number: int) -> dict[str, str]:
    cells = line.split("\t")
    if len(cells) != len(columns):
        problem = f"{counted(len(cells), 'columns')} for {counted(len(columns), 'languages')} ({', '.join(columns)})"
        raise malformed(problem, "separate the columns with one tab each", path, number, "input.column-count")
    return dict(zip(columns, cells, strict=True))


def write_parallel(path: str | Path, languages: Sequence[str], rows: Iterable[Mapping[str, str]]) -> int:
    """Write rows as a tab-separated table with a header of canonical language codes; returns the number of rows.

    Args:
        path: The table to write.
        languages: The columns, in order; other languages of a row are ignored.
        rows: Sentences by language, named as in ``languages``.

    Raises:
        ConfigError: A language is unknown or repeated, or there is none.
        InputError: A row lacks a language, or a sentence contains a tab or a line end.
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


def read_aligned(paths: Mapping[str, str | Path], *, skip: Skip | None = None) -> Iterator[dict[str, str]]:
    """Read files that are aligned line by line: ``{"en": "x.en", "fr": "x.fr"}``.

    This is the Moses format of OPUS and the format of the Tatoeba test sets (:func:`tatoeba_files`).

    Args:
        paths: The file of each language.
        skip: Tolerance for rows with a malformed line; the files stay aligned.

    Raises:
        ConfigError: A language is unknown or repeated, or there is none.
        InputError: The files have different numbers of lines (known only at the end of the shortest), or one of them
            is a table.
        StorageError: A file cannot be read.
    """
    columns = _canonical(list(paths))
    files = list(paths.values())
    readers = [_sentences(path) for path in files]
    count = 0
    while True:
        lines = [next(reader, None) for reader in readers]
        if None in lines:
            break
        count += 1
        cells = [line[1] for line in lines if line is not None]
        wrong = next((cell for cell in cells if not isinstance(cell, str)), None)
        if wrong is None:
            yield dict(zip(columns, (cell for cell in cells if isinstance(cell, str)), strict=True))
        elif skip is None:
            raise wrong
        else:
            skip.take(wrong)
    for path, reader, line in zip(files, readers, lines, strict=True):
        if line is not None:
            shortest = files[lines.index(None)]
            total = count + 1 + sum(1 for _ in reader)
            problem = f"{counted(total, 'lines')}, but {shortest} has {count}"
            remedy = "aligned files need the same number of lines: find the missing one"
            raise malformed(problem, remedy, path, count + 1, "input.line-count")


def _sentences(path: str | Path) -> Iterator[tuple[int, str | InputError]]:
    """Every line of a file, or its error."""
    for number, line in scan_lines(path):
        try:
            if isinstance(line, str):
                check_sentence(line, path, number)
        except InputError as error:
            yield number, error
        else:
            yield number, line


def unrepeated(rows: Iterable[Sequence[str]]) -> Iterator[tuple[int, Sequence[str]]]:
    """Rows that repeat no sentence of an earlier one, in any language, with their indices.

    If a sentence has two translations, either one is a right answer, and a map fitted on one has seen the other.

    >>> [number for number, _ in unrepeated([("a", "b"), ("c", "d"), ("a", "e"), ("f", "d ")])]
    [0, 1]
    """
    seen: set[tuple[int, str]] = set()
    for number, row in enumerate(rows):
        own = {(column, text.strip()) for column, text in enumerate(row)}
        if seen.isdisjoint(own):
            seen |= own
            yield number, row


def tatoeba_files(folder: str | Path, language: str) -> dict[str, Path]:
    """The two files of a Tatoeba test set, ``tatoeba.deu-eng.deu`` and ``tatoeba.deu-eng.eng``, by language.

    Args:
        folder: Where the files are.
        language: The language that is not English.

    Raises:
        InputError: The language has no test set.
    """
    code = language_code(language)
    for path in sorted(Path(folder).glob("tatoeba.*-eng.eng")):
        name = path.name.split(".")[1].removesuffix("-eng")
        if language_code(name) == code:
            return {code: path.with_name(f"tatoeba.{name}-eng.{name}"), "en": path}
    raise InputError(
        f"no Tatoeba test set of {shown(language)}",
        "there should be tatoeba.xxx-eng.xxx and .eng",
        "empty",
        file=folder,
    )


def _columns_of(header: str, path: str | Path, number: int) -> list[str]:
    try:
        return _canonical(header.split("\t"))
    except ConfigError as error:
        remedy = "name the language of each column in the first line, as in en<tab>fr, or pass the languages"
        raise malformed(f"the header {shown(header)}: {error.problem}", remedy, path, number) from error


def _canonical(languages: Sequence[str]) -> list[str]:
    columns = [language_code(language) for language in languages]
    if not columns:
        raise ConfigError("no languages", "name at least one, such as en", "missing-data")
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise ConfigError(f"the language {shown(twice[0])} is there twice", "name each language once", "duplicate")
    return columns

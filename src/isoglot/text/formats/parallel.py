"""Parallel text: the same sentences in several languages, in one table, in files aligned line by line, or in a TMX.

A translation memory in TMX (XML with a ``tu`` element per unit and a ``tuv`` per language) is read as a stream. Word
alignments of parallel text are in the Pharaoh format: ``0-0 1-2`` links word 0 to word 0 and word 1 to word 2, with one
sentence pair per line; gold alignments may have possible links, written ``1?2``.

>>> parse_links("0-0 1-2")
[(0, 0), (1, 2)]
>>> parse_gold("0-0 1?2")
GoldLinks(sure=[(0, 0)], possible=[(1, 2)])
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from isoglot.core.errors import ConfigError, InputError, IsoglotError, shown
from isoglot.core.files import storage_error
from isoglot.core.language_codes import language_code
from isoglot.core.progress import counted
from isoglot.text.formats.lines import (
    Skip,
    damaged,
    damaged_file,
    line_writer,
    longest_line,
    malformed,
    open_to_read,
    parsed,
    read_lines,
    scan_lines,
    too_long,
)
from isoglot.text.formats.plain import check_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


# --- TMX ---


_PART = 1 << 16
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def is_tmx(path: str | Path) -> bool:
    """Whether a file is a translation memory, by its name: ``.tmx``, compressed or not."""
    return ".tmx" in Path(path).suffixes[-2:]


def read_tmx(path: str | Path, *, skip: Skip | None = None) -> Iterator[dict[str, str]]:
    """Read the units of a translation memory, each a sentence by language; one unit is in memory at a time.

    The languages are those of the first unit. Mark-up inside a sentence is removed, its text is kept.

    Args:
        path: The memory, compressed or not.
        skip: Tolerance for malformed units. Default: raise at the first.

    Raises:
        InputError: It is not XML, or a unit has no sentences, lacks a language, or has an unknown language code.
        StorageError: The file cannot be read.
    """
    languages: list[str] = []

    def parse(unit: tuple[int, ElementTree.Element]) -> dict[str, str]:
        row = _parse_unit(unit[1], path, unit[0])
        languages.extend([] if languages else row)
        missing = next((code for code in languages if code not in row), None)
        if missing is not None:
            raise _malformed(f"a unit without {missing}", "give every unit a tuv in every language", path, unit[0])
        return {code: row[code] for code in languages}

    return parsed(_units(path), parse, skip)


def _units(path: str | Path) -> Iterator[tuple[int, ElementTree.Element]]:
    """Every ``tu`` element with the line it ends on; parsed elements are freed."""
    parser: Any = ElementTree.XMLPullParser(("start", "end"))  # expat itself limits the expansion of entities
    number = 1
    open_elements: list[Any] = []
    try:
        with open_to_read(Path(path)) as file:
            for line, raw in _parts(file, path):
                number = line
                parser.feed(raw) if raw else parser.close()
                for event, element in parser.read_events():
                    if event == "start":
                        open_elements.append(element)
                        continue
                    open_elements.pop()
                    if element.tag == "tu":
                        yield number, element
                    if open_elements and not any(one.tag == "tu" for one in open_elements):
                        open_elements[-1].remove(element)  # or the parent would hold every unit of the file
    except ElementTree.ParseError as error:
        line, column = error.position
        problem = f"malformed XML: {error.msg.partition(':')[0]}"
        remedy = "correct it there"
        raise InputError(problem, remedy, "malformed-xml", file=path, line=line, column=column + 1) from error
    except IsoglotError:
        raise
    except (UnicodeError, LookupError, ValueError) as error:
        problem = "not in the declared encoding"
        raise _malformed(problem, "save it as UTF-8 and declare that in line 1", path, number) from error
    except damaged() as error:
        raise damaged_file(error, path, number) from error
    except OSError as error:
        raise storage_error(error, path, doing="read") from error


def _parts(file: IO[bytes], path: str | Path) -> Iterator[tuple[int, bytes]]:
    """The file in chunks of at most a line, each with its line number; an empty one at the end.

    Raises:
        InputError: A unit is longer than a line may be.
    """
    number, since = 1, 0
    while part := file.readline(_PART):
        since = len(part) if b"</tu>" in part else since + len(part)
        if since > longest_line():
            raise too_long(path, number, "unit")
        yield number, part
        number += part.endswith(b"\n")
    yield number, b""


def _parse_unit(unit: ElementTree.Element, path: str | Path, number: int) -> dict[str, str]:
    row: dict[str, str] = {}
    for variant in unit.iter("tuv"):
        declared = variant.get(_LANGUAGE) or variant.get("lang") or ""
        segment = variant.find("seg")
        try:
            code = language_code(declared)
        except ConfigError as error:
            raise _malformed(error.problem, error.remedy, path, number) from error
        if segment is not None:
            row[code] = " ".join("".join(segment.itertext()).split())
    if not row:
        raise _malformed("a unit without sentences", "give it a tuv with a seg for each language", path, number)
    return row


def _malformed(problem: str, remedy: str, path: str | Path, line: int) -> InputError:
    return InputError(problem, remedy, "malformed-xml", file=path, line=line)


# --- tables and files ---


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
                    problem = f"row {count} has no {shown(language)}"
                    raise writer.refusal(problem, remedy="give every row every language, '' for none")
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
    problem = f"no Tatoeba test set of {shown(language)}"
    raise InputError(problem, "there should be tatoeba.xxx-eng.xxx and .eng", "empty", file=folder)


def _columns_of(header: str, path: str | Path, number: int) -> list[str]:
    try:
        return _canonical(header.split("\t"))
    except ConfigError as error:
        remedy = (
            "a table names the language of each column in its first line, as in en<tab>fr; for a file of one language,"
            " write LANG=FILE, such as en=a.txt"
        )
        problem = f"the header {shown(header)}: {error.problem}" if "\t" in header else error.problem
        raise malformed(problem, remedy, path, number) from error


def _canonical(languages: Sequence[str]) -> list[str]:
    columns = [language_code(language) for language in languages]
    if not columns:
        raise ConfigError("no languages", "name at least one, such as en", "missing-data")
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise ConfigError(f"the language {shown(twice[0])} is there twice", "name each language once", "duplicate")
    return columns


# --- word alignments (Pharaoh) ---


Links = list[tuple[int, int]]

_LINK = re.compile(r"([0-9]{1,9})([-?])([0-9]{1,9})")


class GoldLinks(NamedTuple):
    """Gold alignment of a sentence pair (Och & Ney 2003)."""

    sure: Links  # links that should be found
    possible: Links  # other links that are not wrong


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
            problem = f"{shown(word)} is not a link"
            raise malformed(problem, "write source-target with positions from 0, as in 0-0 1-2", file, line)
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

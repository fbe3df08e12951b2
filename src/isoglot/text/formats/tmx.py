"""Translation memories in TMX: XML with one ``tu`` a unit and one ``tuv`` a language, read as a stream."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from isoglot.core.errors import ConfigError, InputError, IsoglotError, shown
from isoglot.core.files import storage_error
from isoglot.core.language_codes import language_code
from isoglot.text.formats.lines import damaged, damaged_file, line_writer, longest_line, open_to_read, too_long
from isoglot.text.formats.malformed import Skip, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_PART = 1 << 16
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def read_tmx(path: str | Path, *, skip: Skip | None = None) -> Iterator[dict[str, str]]:
    """The units of a memory, each a sentence by language; one unit is in memory at a time.

    Mark-up inside a sentence is left out, its text is kept.

    Args:
        path: The memory, compressed or not.
        skip: How many malformed units may be skipped, and what was.

    Raises:
        InputError: It is not XML, or a unit has no sentences or a language that does not exist.
        StorageError: The file cannot be read.
    """
    return parsed(_units(path), lambda unit: _parse_unit(unit[1], path, unit[0]), skip)


def _units(path: str | Path) -> Iterator[tuple[int, ElementTree.Element]]:
    """Every ``tu`` with the line it ends on; what has been read is let go."""
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
        raise InputError(
            problem, remedy="correct it there", code="input.malformed-xml", file=path, line=line, column=column + 1
        ) from error
    except IsoglotError:
        raise
    except (UnicodeError, LookupError, ValueError) as error:
        raise InputError(
            "not in the encoding it names",
            remedy="save it as UTF-8 and say so in line 1",
            code="input.malformed-xml",
            file=path,
            line=number,
        ) from error
    except damaged() as error:
        raise damaged_file(error, path, number) from error
    except OSError as error:
        raise storage_error(error, path, doing="read") from error


def _parts(file: IO[bytes], path: str | Path) -> Iterator[tuple[int, bytes]]:
    """The file in parts of a line at most, each with its line number; an empty one at the end.

    Raises:
        InputError: There is more between two ends of units than a line may have.
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
        said = variant.get(_LANGUAGE) or variant.get("lang") or ""
        segment = variant.find("seg")
        try:
            code = language_code(said)
        except ConfigError as error:
            raise InputError(
                error.problem, remedy=error.remedy, code="input.malformed-xml", file=path, line=number
            ) from error
        if segment is not None:
            row[code] = " ".join("".join(segment.itertext()).split())
    if not row:
        raise InputError(
            "a unit without sentences",
            remedy="give it a tuv with a seg a language",
            code="input.empty",
            file=path,
            line=number,
        )
    return row


def write_tmx(path: str | Path, languages: Sequence[str], rows: Iterable[Mapping[str, str]]) -> int:
    """Write rows as a memory; the first language is the source language. Returns how many rows.

    Raises:
        InputError: A row lacks a language, or a sentence has what XML cannot hold.
        StorageError: The file cannot be written.
    """
    count = 0
    with line_writer(path) as writer:
        writer.write('<?xml version="1.0" encoding="UTF-8"?>')
        writer.write('<tmx version="1.4">')
        writer.write(
            f'<header creationtool="isoglot" creationtoolversion="1" segtype="sentence" o-tmf="tsv" adminlang="en" '
            f'srclang={quoteattr(languages[0])} datatype="plaintext"/>'
        )
        writer.write("<body>")
        for count, row in enumerate(rows, start=1):
            writer.write("<tu>")
            for language in languages:
                if language not in row:
                    raise writer.refusal(
                        f"row {count} has no {shown(language)}", remedy="give every row every language"
                    )
                text = row[language]
                if any(ord(c) < 32 or 0xFFFE <= ord(c) <= 0xFFFF for c in text):
                    raise writer.refusal(f"a control character in {shown(text)}", remedy="remove it")
                writer.write(f"<tuv xml:lang={quoteattr(language)}><seg>{escape(text)}</seg></tuv>")
            writer.write("</tu>")
        writer.write("</body>")
        writer.write("</tmx>")
    return count

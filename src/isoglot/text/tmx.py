"""Translation memories in TMX: XML with one ``tu`` a unit and one ``tuv`` a language, read as a stream."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.files import storage_error
from isoglot.core.language_codes import language_code
from isoglot.text.bad import Skip, parsed
from isoglot.text.lines import line_writer, open_to_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    number = 0
    root: Any = None
    try:
        with open_to_read(Path(path)) as file:
            for number, raw in enumerate(chain(file, [b""]), start=1):
                parser.feed(raw) if raw else parser.close()
                for event, element in parser.read_events():
                    root = element if root is None else root
                    if event == "end" and element.tag == "tu":
                        yield number, element
                        root.clear()
    except ElementTree.ParseError as error:
        line, column = error.position
        problem = f"malformed XML: {error.msg.partition(':')[0]}"
        raise InputError(problem, remedy="correct it there", file=path, line=line, column=column + 1) from error
    except (UnicodeError, LookupError, ValueError) as error:
        raise InputError(
            "not in the encoding it names", remedy="save it as UTF-8 and say so in line 1", file=path, line=number
        ) from error
    except OSError as error:
        raise storage_error(error, path, doing="read") from error


def _parse_unit(unit: ElementTree.Element, path: str | Path, number: int) -> dict[str, str]:
    row: dict[str, str] = {}
    for variant in unit.iter("tuv"):
        said = variant.get(_LANGUAGE) or variant.get("lang") or ""
        segment = variant.find("seg")
        try:
            code = language_code(said)
        except ConfigError as error:
            raise InputError(error.problem, remedy=error.remedy, file=path, line=number) from error
        if segment is not None:
            row[code] = " ".join("".join(segment.itertext()).split())
    if not row:
        raise InputError(
            "a unit without sentences", remedy="give it a tuv with a seg a language", file=path, line=number
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

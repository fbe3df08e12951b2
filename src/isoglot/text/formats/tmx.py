"""Streaming reader of translation memories in TMX: XML with a ``tu`` element per unit and a ``tuv`` per language."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.etree import ElementTree

from isoglot.core.errors import ConfigError, InputError, IsoglotError
from isoglot.core.files import storage_error
from isoglot.core.language_codes import language_code
from isoglot.text.formats.lines import Skip, damaged, damaged_file, longest_line, open_to_read, parsed, too_long

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        raise InputError(
            problem, "correct it there", "malformed-xml", file=path, line=line, column=column + 1
        ) from error
    except IsoglotError:
        raise
    except (UnicodeError, LookupError, ValueError) as error:
        raise _malformed(
            "not in the declared encoding", "save it as UTF-8 and declare that in line 1", path, number
        ) from error
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

"""Which dictionaries a text was made with, kept in a file beside it: so that no score is taken on words it has seen.

The record of ``en.txt`` is ``en.txt.dictionary.json``: each dictionary's file, hash and words, on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import CorruptFileError
from isoglot.core.files import file_hash, read_json, write_json
from isoglot.core.language_codes import language_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.text.dictionary import Entry

FORMAT = "isoglot dictionary record 1"


@dataclass(frozen=True, kw_only=True)
class UsedDictionary:
    """A dictionary that went into a text."""

    source: str
    target: str
    file: str
    sha256: str
    source_words: frozenset[str]
    target_words: frozenset[str]


@dataclass(frozen=True)
class RecordedDictionary:
    """All dictionaries that went into a text."""

    dictionaries: tuple[UsedDictionary, ...]

    def words(self, language: str) -> frozenset[str]:
        """The words of a language that have been seen with a translation."""
        code = language_code(language)
        sources = (used.source_words for used in self.dictionaries if used.source == code)
        targets = (used.target_words for used in self.dictionaries if used.target == code)
        return frozenset().union(*sources, *targets)


def use_dictionary(source: str, target: str, path: str | Path, entries: Iterable[Entry]) -> UsedDictionary:
    """The record of one dictionary.

    Raises:
        StorageError: The file cannot be read.
    """
    pairs = list(entries)
    return UsedDictionary(
        source=language_code(source),
        target=language_code(target),
        file=str(path),
        sha256=file_hash(path),
        source_words=frozenset(entry.source for entry in pairs),
        target_words=frozenset(entry.target for entry in pairs),
    )


def record_path(path: str | Path) -> Path:
    """Where the record of a text is kept."""
    return Path(f"{path}.dictionary.json")


def write_record(path: str | Path, dictionaries: Sequence[UsedDictionary]) -> Path:
    """Record the dictionaries that went into a text; returns where.

    Raises:
        StorageError: It cannot be written.
    """
    target = record_path(path)
    used = [
        vars(one) | {"source_words": sorted(one.source_words), "target_words": sorted(one.target_words)}
        for one in dictionaries
    ]
    write_json(target, {"format": FORMAT, "dictionaries": used})
    return target


def recorded_dictionary(path: str | Path) -> RecordedDictionary | None:
    """The dictionaries that went into a text, by the record beside it; None where there is no record.

    Args:
        path: The text, or the record itself.

    Raises:
        CorruptFileError: The record is not one.
        InputError: It is not JSON.
        StorageError: It cannot be read.
    """
    place = Path(path) if str(path).endswith(".dictionary.json") else record_path(path)
    if not place.exists():
        return None
    content = read_json(place)
    try:
        return _parse(content)
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFileError(
            "this is no record of dictionaries", remedy="make the switched text again", file=place
        ) from error


def _parse(content: Any) -> RecordedDictionary:  # noqa: ANN401 - whatever the file has
    if content["format"] != FORMAT:
        raise ValueError(content["format"])
    return RecordedDictionary(
        tuple(
            UsedDictionary(
                **used
                | {"source_words": frozenset(used["source_words"]), "target_words": frozenset(used["target_words"])}
            )
            for used in content["dictionaries"]
        )
    )

"""Parallel sentences of two or more languages, from aligned files, tables and Tatoeba test sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError, InputError, check_counts
from isoglot.core.language_codes import language_code
from isoglot.core.progress import counted
from isoglot.text.cleaning.processing import check_as_written
from isoglot.text.formats.lines import read_lines
from isoglot.text.formats.parallel import read_aligned, read_parallel, tatoeba_files, unrepeated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ParallelSet:
    """Parallel sentences by language.

    Attributes:
        name: Where they come from.
        sentences: Sentences by language, row by row.
        numbers: Line numbers.
        left_out: Rows left out because of a blank sentence.
        repeated: Rows left out because they repeat a sentence of an earlier one.
    """

    name: str
    sentences: Mapping[str, list[str]]
    numbers: list[int]
    left_out: int = 0
    repeated: int = 0

    @classmethod
    def from_lists(cls, sentences: Mapping[str, Sequence[str]], *, name: str = "the given sentences") -> ParallelSet:
        """Build a set from lists of sentences that are translations of each other, position by position.

        >>> len(ParallelSet.from_lists({"en": ["Yes.", "No."], "de": ["Ja.", "Nein."]}))
        2

        Args:
            sentences: A list for each language, all of the same length; rows with a blank sentence are left out.
            name: How messages refer to the set.

        Raises:
            ConfigError: There are fewer than two languages.
            InputError: The lists have different lengths.
        """
        lists = {language_code(code): list(texts) for code, texts in sentences.items()}
        if len(lists) < 2:
            raise ConfigError(
                f"sentences of {counted(len(lists), 'languages')}", "give lists of two or more", "other-language"
            )
        counts = {code: len(texts) for code, texts in lists.items()}
        check_counts("sentences", counts, "give lists of the same length, translations at the same position")
        kept = [row for row in range(min(counts.values())) if all(one[row].strip() for one in lists.values())]
        return cls(
            name=name,
            sentences={code: [one[row] for row in kept] for code, one in lists.items()},
            numbers=[row + 1 for row in kept],
            left_out=min(counts.values()) - len(kept),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of languages, in order."""
        return list(combinations(self.sentences, 2))

    @property
    def remarks(self) -> list[str]:
        """Why rows were left out, one line per reason."""
        reasons = {"a sentence is blank": self.left_out, "a sentence repeats one of an earlier row": self.repeated}
        return [
            f"{counted(count, 'rows')} of {self.name} left out because {why}" for why, count in reasons.items() if count
        ]

    def without_repeats(self) -> ParallelSet:
        """The set without rows that repeat a sentence of an earlier row in any language."""
        kept = [number for number, _ in unrepeated(zip(*self.sentences.values(), strict=True))]
        return replace(
            self,
            sentences={code: [texts[row] for row in kept] for code, texts in self.sentences.items()},
            numbers=[self.numbers[row] for row in kept],
            repeated=self.repeated + len(self) - len(kept),
        )


def aligned_set(files: Mapping[str, Path], *, limit: int | None = None) -> ParallelSet:
    """Set from files that correspond line by line.

    Raises:
        ConfigError: There is only one language, or a file was segmented.
        InputError: The files have different numbers of lines, or no row is complete.
        StorageError: A file cannot be read.
    """
    if len(files) < 2:
        raise ConfigError(
            f"parallel sentences of one language, {next(iter(files), None)}",
            "give files of two or more languages",
            "other-language",
        )
    check_as_written(*files.values())
    first = next(iter(files.values()))
    found = _collected(read_aligned(files), list(files), first, first_line=1, limit=limit)
    return replace(found, name=", ".join(map(str, files.values())))


def pairs_set(files: Mapping[str, Path], *, limit: int | None = None) -> ParallelSet:
    """Set from files of text pairs, such as XNLI's: one tab-separated pair per line, the same in every file.

    Lines are kept unchanged, including labels after the pairs.

    Raises:
        InputError: The files have different numbers of lines, or none.
        StorageError: A file cannot be read.
    """
    lines = {code: [line for _, line in islice(read_lines(path), limit)] for code, path in files.items()}
    (first, rows), *others = lines.items()
    for code, found in others:
        if len(found) != len(rows) or not rows:
            raise InputError(
                f"{len(found):,} pairs of {code} for {len(rows):,} of {first}",
                "give files with the same pairs line by line",
                "row-count",
                file=files[code],
            )
    numbers = list(range(1, len(rows) + 1))
    return ParallelSet(name=", ".join(map(str, files.values())), sentences=lines, numbers=numbers)


def table_set(path: Path, languages: Sequence[str] = (), *, limit: int | None = None) -> ParallelSet:
    """Set from a tab-separated table whose first line, or else ``languages``, names the languages.

    Args:
        path: The table.
        languages: Columns to read, in this order. Default: all. For a table without a header: names of all columns.
        limit: Maximum number of rows.

    Raises:
        ConfigError: A column does not exist, or only one is left.
        InputError: The table is malformed, or no row is complete.
        StorageError: It cannot be read.
    """
    rows, first_line = read_parallel(path), 2
    try:
        first = next(rows, None)
    except InputError as error:
        if not languages or error.line != 1:
            raise
        rows, first_line = read_parallel(path, languages=languages), 1
        first = next(rows, None)
    if first is None:
        raise InputError("no sentences", "write them below the line of languages", "empty", file=path)
    wanted = [language_code(code) for code in languages] or list(first)
    missing = [code for code in wanted if code not in first]
    if missing:
        raise ConfigError(f"{path} has no column {missing[0]}", f"choose among {', '.join(first)}", "unknown-language")
    if len(set(wanted)) < 2:
        raise ConfigError(
            f"only one language of {path} is chosen, {wanted[0]}",
            f"choose two among {', '.join(first)}",
            "other-language",
        )
    return _collected(_chained(first, rows), wanted, path, first_line=first_line, limit=limit)


def tatoeba_sets(folder: Path, languages: Sequence[str], *, limit: int | None = None) -> list[ParallelSet]:
    """Tatoeba's test set of each language with English, which comes second unless it is named before the language.

    Raises:
        ConfigError: No language other than English is named.
        InputError: A language has no test set.
        StorageError: A file cannot be read.
    """
    named = list(dict.fromkeys(map(language_code, languages)))
    others = [code for code in named if code != "en"]
    if not others:
        raise ConfigError(
            f"{folder} is a folder of test sets with English, and no language is chosen",
            "choose some, such as de and fr",
            "missing-option",
        )
    found = []
    for code in others:
        files = tatoeba_files(folder, code)
        order = [each for each in named if each in files] if "en" in named else list(files)
        found.append(aligned_set({each: files[each] for each in order}, limit=limit))
    return found


def _chained(first: dict[str, str], rest: Iterable[dict[str, str]]) -> Iterator[dict[str, str]]:
    yield first
    yield from rest


def _collected(
    rows: Iterable[dict[str, str]], codes: Sequence[str], path: Path, *, first_line: int, limit: int | None
) -> ParallelSet:
    """Rows in memory, without those that have a blank sentence.

    Rows beyond the limit are read too, so that files that do not correspond are always detected.
    """
    sentences: dict[str, list[str]] = {language_code(code): [] for code in codes}
    numbers: list[int] = []
    left_out = 0
    numbered = enumerate(rows, start=first_line)
    for number, row in islice(numbered, limit):
        if all(row[code].strip() for code in sentences):
            numbers.append(number)
            for code, column in sentences.items():
                column.append(row[code])
        else:
            left_out += 1
    for _ in numbered:
        pass
    if not numbers:
        raise InputError(
            f"no row has a sentence in all of {', '.join(sentences)}", "give at least one", "no-match", file=path
        )
    return ParallelSet(name=str(path), sentences=sentences, numbers=numbers, left_out=left_out)

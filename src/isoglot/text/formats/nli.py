"""Natural language inference: tab-separated premise, hypothesis and label, or the published layouts of XNLI."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from isoglot.core.errors import nearest_name, shown
from isoglot.core.language_codes import language_code
from isoglot.text.formats.lines import Skip, line_writer, malformed, parsed, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Label = Literal["entailment", "neutral", "contradiction"]
LABELS: tuple[Label, ...] = get_args(Label)

_HEADER = ("premise", "hypothesis", "label")
KEYS = ("sentence1", "sentence2", "gold_label")
# the label in XNLI's training files
_ALIASES = {"contradictory": "contradiction"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Premise, hypothesis and label."""

    premise: str
    hypothesis: str
    label: Label


def read_inference(path: str | Path, *, language: str | None = None, skip: Skip | None = None) -> Iterator[Pair]:
    """Read the pairs of a file.

    Args:
        path: A table of premise, hypothesis and label, with a header if the first line ends in ``label``; or a table as
            XNLI is published, whose header has ``sentence1``, ``sentence2``, ``gold_label`` and possibly ``language``;
            or a file with ``.jsonl`` in its name, with objects of these keys.
        language: Read only the pairs of this language, if the file has languages.
        skip: Tolerance for malformed pairs. Default: raise at the first.

    Raises:
        InputError: A line lacks a column or key, a sentence is empty, or a label is unknown.
        StorageError: The file cannot be read.
    """
    return (pair for _, pair in numbered_inference(path, language=language, skip=skip))


def numbered_inference(
    path: str | Path, *, language: str | None = None, skip: Skip | None = None
) -> Iterator[tuple[int, Pair]]:
    """Read the pairs of a file, each with its line number."""
    wanted = None if language is None else language_code(language)
    lines = read_lines(path, skip=skip)
    parse: Callable[[str, str | None, str | Path, int], Pair | None] = _parse_object
    if ".jsonl" not in Path(path).suffixes:
        opening = next(lines, (0, ""))
        header = _header(opening[1]) if opening[0] == 1 else None
        parse = partial(_parse_row, header or _PLAIN)
        lines = lines if header or not opening[0] else chain([opening], lines)
    pairs = parsed(lines, lambda line: (line[0], parse(line[1], wanted, path, line[0])), skip)
    yield from ((number, pair) for number, pair in pairs if pair is not None)


class _Header(NamedTuple):
    """Positions of the columns."""

    columns: int
    premise: int
    hypothesis: int
    label: int
    language: int | None = None


_PLAIN = _Header(3, 0, 1, 2)


def _header(line: str) -> _Header | None:
    """The columns if the line is a header, else None."""
    names = line.lower().split("\t")
    if set(KEYS) <= set(names):
        premise, hypothesis, label = map(names.index, KEYS)
        return _Header(len(names), premise, hypothesis, label, names.index("language") if "language" in names else None)
    return _PLAIN if names[-1].endswith("label") else None


def _parse_object(line: str, language: str | None, path: str | Path, number: int) -> Pair | None:
    """The pair of a JSON object; None if it is in another language."""
    try:
        value = json.loads(line)
        cells = [value[key] for key in KEYS]
        spoken = value.get("language")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        remedy = 'write {"sentence1": …, "sentence2": …, "gold_label": …}'
        raise malformed(f"{shown(line)} is not a pair: {error}", remedy, path, number) from error
    if language is not None and isinstance(spoken, str) and language_code(spoken) != language:
        return None
    if not all(isinstance(cell, str) for cell in cells):
        raise malformed(f"{shown(line)} is not a pair of texts", "quote them", path, number)
    return _pair(*cells, path=path, number=number)


def _parse_row(header: _Header, line: str, language: str | None, path: str | Path, number: int) -> Pair | None:
    """The pair of a row; None if it is in another language."""
    cells = line.split("\t")
    if len(cells) != header.columns:
        plain = header == _PLAIN
        problem = f"{len(cells)} columns where the header has {header.columns}"
        problem = f"{shown(line)} is not a premise, a hypothesis and a label" if plain else problem
        remedy = f"write the {'three' if plain else 'cells'} with one tab between them"
        raise malformed(problem, remedy, path, number, "input.column-count")
    if language is not None and header.language is not None and language_code(cells[header.language]) != language:
        return None
    return _pair(cells[header.premise], cells[header.hypothesis], cells[header.label], path=path, number=number)


def _pair(premise: str, hypothesis: str, label: str, *, path: str | Path, number: int) -> Pair:
    if not premise.strip() or not hypothesis.strip():
        raise malformed("an empty sentence", "remove the pair", path, number, "input.empty")
    label = _ALIASES.get(label, label)
    if label not in LABELS:
        raise malformed(f"no label {shown(label)}", nearest_name(label, LABELS), path, number, "input.unknown-label")
    return Pair(premise, hypothesis, label)


def write_inference(path: str | Path, pairs: Iterable[Pair]) -> int:
    """Write pairs with a header; returns the number of pairs.

    Raises:
        InputError: A sentence is empty or contains a tab or a line end, or a label is unknown.
        StorageError: The file cannot be written.
    """
    count = 0
    with line_writer(path) as writer:
        writer.write_cells(*_HEADER)
        for count, pair in enumerate(pairs, start=1):
            if not pair.premise.strip() or not pair.hypothesis.strip():
                raise writer.refusal(f"a sentence of pair {count} is empty", remedy="remove the pair")
            if pair.label not in LABELS:
                raise writer.refusal(f"no label {shown(pair.label)}", remedy=nearest_name(pair.label, LABELS))
            writer.write_cells(pair.premise, pair.hypothesis, pair.label)
    return count

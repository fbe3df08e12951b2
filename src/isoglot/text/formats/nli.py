"""Natural language inference in XNLI's layouts: premise, hypothesis, label with tabs between, or as it is published."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from isoglot.core.errors import InputError, nearest_name, shown
from isoglot.core.language_codes import language_code
from isoglot.text.formats.lines import line_writer, read_lines
from isoglot.text.formats.malformed import Skip, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Label = Literal["entailment", "neutral", "contradiction"]
LABELS: tuple[Label, ...] = get_args(Label)

_HEADER = ("premise", "hypothesis", "label")
KEYS = ("sentence1", "sentence2", "gold_label")
# XNLI's training files have their own word for it.
_ALIASES = {"contradictory": "contradiction"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences and whether the second follows from the first."""

    premise: str
    hypothesis: str
    label: Label


def read_inference(path: str | Path, *, language: str | None = None, skip: Skip | None = None) -> Iterator[Pair]:
    """The pairs of a file.

    Args:
        path: A table: premise, hypothesis, label, where a first line that ends in ``label`` is a header; or, as XNLI
            is published, columns under a header that names ``sentence1``, ``sentence2``, ``gold_label`` and perhaps
            ``language``. Or a file with ``.jsonl`` in its name: objects with these keys.
        language: Only the pairs of this language, where the file names theirs.
        skip: How many malformed pairs may be skipped, and what was.

    Raises:
        InputError: A line does not have its columns or keys, a sentence is empty, or a label is not one.
        StorageError: The file cannot be read.
    """
    return (pair for _, pair in numbered_inference(path, language=language, skip=skip))


def numbered_inference(
    path: str | Path, *, language: str | None = None, skip: Skip | None = None
) -> Iterator[tuple[int, Pair]]:
    """The same with the number of each pair's line."""
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
    """Where in a row things stand."""

    columns: int
    premise: int
    hypothesis: int
    label: int
    language: int | None = None


_PLAIN = _Header(3, 0, 1, 2)


def _header(line: str) -> _Header | None:
    """What a first line says of its columns; None where it is a pair."""
    names = line.lower().split("\t")
    if set(KEYS) <= set(names):
        premise, hypothesis, label = map(names.index, KEYS)
        return _Header(len(names), premise, hypothesis, label, names.index("language") if "language" in names else None)
    return _PLAIN if names[-1].endswith("label") else None


def _parse_object(line: str, language: str | None, path: str | Path, number: int) -> Pair | None:
    """The pair of a JSON object, or None if it is one of another language."""
    try:
        value = json.loads(line)
        cells = [value[key] for key in KEYS]
        spoken = value.get("language")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{shown(line)} is not a pair: {error}",
            remedy='write {"sentence1": …, "sentence2": …, "gold_label": …}',
            code="input.malformed-line",
            file=path,
            line=number,
        ) from error
    if language is not None and isinstance(spoken, str) and language_code(spoken) != language:
        return None
    if not all(isinstance(cell, str) for cell in cells):
        raise InputError(
            f"{shown(line)} is not a pair of texts",
            remedy="quote them",
            code="input.malformed-line",
            file=path,
            line=number,
        )
    return _pair(*cells, path=path, number=number)


def _parse_row(header: _Header, line: str, language: str | None, path: str | Path, number: int) -> Pair | None:
    """The pair of a row, or None if it is one of another language."""
    cells = line.split("\t")
    if len(cells) != header.columns:
        plain = header == _PLAIN
        raise InputError(
            f"{shown(line)} is not a premise, a hypothesis and a label"
            if plain
            else f"{len(cells)} columns where the header has {header.columns}",
            remedy=f"write the {'three' if plain else 'cells'} with one tab between them",
            code="input.column-count",
            file=path,
            line=number,
        )
    if language is not None and header.language is not None and language_code(cells[header.language]) != language:
        return None
    return _pair(cells[header.premise], cells[header.hypothesis], cells[header.label], path=path, number=number)


def _pair(premise: str, hypothesis: str, label: str, *, path: str | Path, number: int) -> Pair:
    if not premise.strip() or not hypothesis.strip():
        raise InputError("an empty sentence", remedy="remove the pair", code="input.empty", file=path, line=number)
    label = _ALIASES.get(label, label)
    if label not in LABELS:
        raise InputError(
            f"no label {shown(label)}",
            remedy=nearest_name(label, LABELS),
            code="input.unknown-label",
            file=path,
            line=number,
        )
    return Pair(premise, hypothesis, label)


def write_inference(path: str | Path, pairs: Iterable[Pair]) -> int:
    """Write the pairs under a header; returns how many pairs.

    Raises:
        InputError: A sentence is empty or has a tab or line end in it, or a label is not one.
        StorageError: The file cannot be written.
    """
    count = 0
    with line_writer(path) as writer:
        writer.write_cells(*_HEADER)
        for count, pair in enumerate(pairs, start=1):
            if not pair.premise.strip() or not pair.hypothesis.strip():
                raise writer.refusal(f"a sentence of pair {count} is empty", remedy="leave the pair out")
            if pair.label not in LABELS:
                raise writer.refusal(f"no label {shown(pair.label)}", remedy=nearest_name(pair.label, LABELS))
            writer.write_cells(pair.premise, pair.hypothesis, pair.label)
    return count

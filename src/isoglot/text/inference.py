"""Natural language inference in XNLI's layouts: premise, hypothesis and label with tabs between, or JSON lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from isoglot.core.errors import InputError, nearest_name, shown
from isoglot.core.language_codes import language_code
from isoglot.text.bad import Skip, parsed
from isoglot.text.lines import line_writer, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Label = Literal["entailment", "neutral", "contradiction"]
LABELS: tuple[Label, ...] = get_args(Label)

_HEADER = ("premise", "hypothesis", "label")
# XNLI's training files have their own word for it.
_ALIASES = {"contradictory": "contradiction"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences and whether the second follows from the first."""

    premise: str
    hypothesis: str
    label: Label


def read_inference(path: str | Path, *, language: str | None = None, skip: Skip | None = None) -> Iterator[Pair]:
    """The pairs of a file; in a table, a first line that ends in ``label`` is a header and left out.

    Args:
        path: A table, or a file with ``.jsonl`` in its name: objects with ``sentence1``, ``sentence2``, ``gold_label``
            and perhaps ``language``, as XNLI is published.
        language: Only the pairs of this language, where the objects of a ``.jsonl`` file name theirs.
        skip: How many malformed pairs may be skipped, and what was.

    Raises:
        InputError: A line does not have its three columns or keys, a sentence is empty, or a label is not one.
        StorageError: The file cannot be read.
    """
    lines = read_lines(path, skip=skip)
    if ".jsonl" in Path(path).suffixes:
        wanted = None if language is None else language_code(language)
        pairs = parsed(lines, lambda line: _parse_object(line[1], wanted, path, line[0]), skip)
        return (pair for pair in pairs if pair is not None)
    rows = (line for line in lines if not (line[0] == 1 and line[1].lower().endswith("label")))
    return parsed(rows, lambda line: _parse_pair(line[1], path, line[0]), skip)


def _parse_object(line: str, language: str | None, path: str | Path, number: int) -> Pair | None:
    """The pair of a JSON object, or None if it is one of another language."""
    try:
        value = json.loads(line)
        cells = [value[key] for key in ("sentence1", "sentence2", "gold_label")]
        spoken = value.get("language")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{shown(line)} is not a pair: {error}",
            remedy='write {"sentence1": …, "sentence2": …, "gold_label": …}',
            file=path,
            line=number,
        ) from error
    if language is not None and isinstance(spoken, str) and language_code(spoken) != language:
        return None
    if not all(isinstance(cell, str) for cell in cells):
        raise InputError(f"{shown(line)} is not a pair of texts", remedy="quote them", file=path, line=number)
    return _pair(*cells, path=path, number=number)


def _parse_pair(line: str, path: str | Path, number: int) -> Pair:
    cells = line.split("\t")
    if len(cells) != 3:
        raise InputError(
            f"{shown(line)} is not a premise, a hypothesis and a label",
            remedy="write the three with one tab between them",
            file=path,
            line=number,
        )
    return _pair(*cells, path=path, number=number)


def _pair(premise: str, hypothesis: str, label: str, *, path: str | Path, number: int) -> Pair:
    if not premise.strip() or not hypothesis.strip():
        raise InputError("an empty sentence", remedy="remove the pair", file=path, line=number)
    label = _ALIASES.get(label, label)
    if label not in LABELS:
        raise InputError(f"no label {shown(label)}", remedy=nearest_name(label, LABELS), file=path, line=number)
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

"""Natural language inference in XNLI's layout: premise, hypothesis and label with tabs between, one pair a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from isoglot.core.errors import InputError, nearest_name, shown
from isoglot.text.lines import line_writer, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

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


def read_inference(path: str | Path) -> Iterator[Pair]:
    """The pairs of a file; a first line that ends in ``label`` is a header and left out.

    Raises:
        InputError: A line does not have three columns, a sentence is empty, or a label is not one.
        StorageError: The file cannot be read.
    """
    for number, line in read_lines(path):
        if number == 1 and line.lower().endswith("label"):
            continue
        yield _parse_pair(line, path, number)


def _parse_pair(line: str, path: str | Path, number: int) -> Pair:
    cells = line.split("\t")
    if len(cells) != 3 or not cells[0].strip() or not cells[1].strip():
        raise InputError(
            f"{shown(line)} is not a premise, a hypothesis and a label",
            remedy="write the three with one tab between them",
            file=path,
            line=number,
        )
    premise, hypothesis, label = cells
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

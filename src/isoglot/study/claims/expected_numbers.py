"""The numbers and verdicts of a study as a file to compare later runs with."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import InputError
from isoglot.study.claims.evidence import Index, in_words
from isoglot.study.claims.statistics import LEVEL, deviation
from isoglot.study.distributions import t_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isoglot.study.claims.evidence import Cell
    from isoglot.study.claims.verdicts import Verdict
    from isoglot.study.numbers import Number

VERSION = 1
"""Version of the format."""
EXACT = 1e-6
"""Largest relative difference of two numbers without intervals that count as equal."""


@dataclass(frozen=True)
class Difference:
    """Something that is not as expected.

    Attributes:
        what: The number, or the claim.
        kind: ``number``: it differs by more than its interval; ``missing``: it is not there; ``verdict``: a claim has
            another verdict.
        expected: What was expected.
        found: What was found; ``None`` where it is missing.
        allowed: Largest difference that the intervals allow, for numbers.
    """

    what: str
    kind: Literal["number", "missing", "verdict"]
    expected: float | str
    found: float | str | None
    allowed: float = 0.0


def expected(
    numbers: Iterable[Number], verdicts: Sequence[Verdict] = (), *, hashes: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Numbers with intervals, seeds, verdicts, hashes and versions of a study, for JSON.

    Numbers that have the same coordinates as others are listed by name and left out.

    Args:
        numbers: The numbers of the study.
        verdicts: Its verdicts.
        hashes: Hashes of inputs and results, by name.
    """
    from isoglot.core.optional import versions

    index = Index(numbers, apart=True)
    return {
        "version": VERSION,
        "numbers": [_entry(cell, index) for cell in sorted(set(index.cells) - set(index.ambiguous), key=in_words)],
        "left_out": sorted(map(in_words, index.ambiguous)),
        "verdicts": {one.claim: one.in_words for one in verdicts},
        "hashes": dict(hashes or {}),
        "versions": versions(),
    }


def against(file: Mapping[str, Any], numbers: Iterable[Number], verdicts: Sequence[Verdict] = ()) -> list[Difference]:
    """What differs from the expected numbers by more than the intervals allow.

    A difference is tested with the standard errors of both sides, at 95 % over all numbers together (Bonferroni).
    Numbers that have none must be equal. Numbers that were not expected are not compared.

    Args:
        file: What :func:`expected` wrote.
        numbers: The numbers of the study to compare.
        verdicts: Its verdicts; compared where given.

    Raises:
        InputError: The file is of another format.
    """
    if file.get("version") != VERSION:
        raise InputError(
            f"expected numbers of format {file.get('version')!r}",
            remedy=f"write them again, in format {VERSION}",
            code="input.unknown-format",
        )
    index = Index(numbers, apart=True)
    wanted = max(1, len(file["numbers"]))
    quantile = t_quantile(1 - (1 - LEVEL) / 2 / wanted, inf)
    found: list[Difference] = []
    for entry in file["numbers"]:
        cell: Cell = (entry["measure"], frozenset(entry["at"].items()))
        if cell not in index.cells or cell in index.ambiguous:
            found.append(Difference(in_words(cell), "missing", entry["value"], None))
            continue
        ours = _entry(cell, index)
        error = sqrt(entry["error"] ** 2 + ours["error"] ** 2)
        allowed = max(quantile * error, EXACT * abs(entry["value"]))
        if abs(ours["value"] - entry["value"]) > allowed:
            found.append(Difference(in_words(cell), "number", entry["value"], ours["value"], allowed))
    for verdict in verdicts:
        before = file["verdicts"].get(verdict.claim)
        if before not in (None, verdict.in_words):
            found.append(Difference(verdict.claim, "verdict", before, verdict.in_words))
    return found


def _entry(cell: Cell, index: Index) -> dict[str, Any]:
    measure, at = cell
    values = index.value(cell)
    error, value = deviation(values), float(values[0])
    half = t_quantile((1 + LEVEL) / 2, index.freedom(cell)) * error
    found = index.cells[cell]
    return {
        "measure": measure,
        "at": dict(sorted(at)),
        "value": value,
        "low": value - half,
        "high": value + half,
        "error": error,
        "seeds": sorted(seed for seed in found if seed),
        "items": sorted({number.items for number in found.values()} - {""}),
    }

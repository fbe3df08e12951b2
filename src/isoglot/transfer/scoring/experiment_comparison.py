"""Paired tests between two experiments on the same sentences, Holm-corrected over languages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.artifact import load_arrays, read_sealed
from isoglot.core.errors import InputError, StorageError
from isoglot.retrieve.simultaneous_intervals import holm
from isoglot.transfer.experiment import COUNTS, RESULT, SENTENCES
from isoglot.transfer.scoring.significance import compare

if TYPE_CHECKING:
    import numpy as np

    from isoglot.transfer.scoring.significance import PairedComparison
    from isoglot.transfer.tuning.epoch_selection import SelectionRule


_MISSING: dict[SelectionRule, str] = {
    "source dev": "run it again with isoglot transfer",
    "oracle": "run it with dev sets of the test languages, or choose another selection rule",
    "averaged": "run it for at least two epochs, or choose another selection rule",
}
"""Remedy for experiments without tests of a selection rule."""


@dataclass(frozen=True)
class Compared:
    """Comparison of two experiments on the test set of one language."""

    language: str
    one: float
    other: float
    comparison: PairedComparison
    corrected: float
    """p-value after Holm's correction over all languages."""

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "language": self.language,
            "one": round(self.one, 4),
            "other": round(self.other, 4),
            **self.comparison.facts(),
            "p_corrected": self.corrected,
        }


def compare_experiments(one: str | Path, other: str | Path, *, way: SelectionRule = "source dev") -> list[Compared]:
    """Compare two folders of :func:`~isoglot.transfer.experiment.run_experiment`, language by language.

    All seeds and selected settings are used; both experiments must have the same number.

    Args:
        one: Folder of an experiment.
        other: Folder of another, of the same task and test sentences.
        way: The selection rule.

    Raises:
        InputError: Tasks or test sets differ, or there is no common language with that selection rule.
        StorageError: A folder has no experiment.
    """
    facts = [_facts(Path(folder)) for folder in (one, other)]
    if facts[0]["task"] != facts[1]["task"]:
        raise InputError(
            f"{facts[0]['task']} in {one}, {facts[1]['task']} in {other}",
            remedy="compare experiments of one task",
            code="input.other-data",
        )
    counts = [_counts(Path(folder), way) for folder in (one, other)]
    for folder, own in zip((one, other), counts, strict=True):
        if not own:
            raise InputError(
                f"no test in {folder} has epochs chosen by {way}", remedy=_MISSING[way], code="input.no-match"
            )
    languages = [language for language in counts[0] if language in counts[1]]
    if not languages:
        raise InputError(
            f"{one} and {other} have no test of one language with epochs chosen by {way}",
            remedy="test both on the same files",
            code="input.no-match",
        )
    for language in languages:
        if facts[0]["tests"].get(language) != facts[1]["tests"].get(language):
            raise InputError(
                f"{one} and {other} were tested on different {language} sentences",
                remedy="test both on the same file",
                code="input.other-data",
            )
    found = [compare(counts[0][language], counts[1][language]) for language in languages]
    corrected = holm([each.p for each in found])
    return [
        Compared(language, _mean(counts[0][language]), _mean(counts[1][language]), each, float(p))
        for language, each, p in zip(languages, found, corrected, strict=True)
    ]


def _facts(folder: Path) -> dict[str, Any]:
    if not (folder / RESULT).exists() or not (folder / SENTENCES).exists():
        raise StorageError(
            "no experiment in this folder",
            remedy="make one with isoglot transfer",
            code="storage.not-found",
            file=folder,
        )
    form = {"task": str, "tests": dict}
    return read_sealed(folder / RESULT, form, remedy="make it again with isoglot transfer")


def _counts(folder: Path, way: SelectionRule) -> dict[str, list[np.ndarray]]:
    """Counts per sentence for every seed and setting, by language."""
    _, counts = load_arrays(folder / SENTENCES, COUNTS, remedy="make it again with isoglot transfer")
    found: dict[str, list[np.ndarray]] = {}
    for name, counts_S2 in sorted(counts.items()):
        _, language, chosen = name.rsplit("/", 2)
        if chosen == way:
            found.setdefault(language, []).append(counts_S2)
    return found


def _mean(counts: list[np.ndarray]) -> float:
    shares = [100 * each[:, 0].sum() / max(1, each[:, 1].sum()) for each in counts]
    return float(sum(shares) / len(shares))

"""Verdicts on the claims of a paper, from the numbers of a study; and files of both to compare later runs with."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoglot.core.distributions import t_quantile
from isoglot.core.errors import InputError, check_name
from isoglot.core.table import Column, Table
from isoglot.study.claims.evidence import Alias, Cell, Claim, Evidence, Index, NotMeasuredError, claim_words, in_words
from isoglot.study.claims.printed_numbers import paper_numbers
from isoglot.study.claims.statistics import LEVEL, Outcome, PartResult, claim_p, decide, deviation, judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isoglot.study.numbers import Number

Check = Literal["holds", "does not hold", "stated, not printed"]
_LISTED = 3
VERSION = 1
"""Version of the format of expected numbers."""
EXACT = 1e-6
"""Largest relative difference of two numbers without intervals that count as equal."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim, what the paper prints, and what a study's numbers say.

    Attributes:
        claim: Name of the claim.
        sentence: What the paper claims.
        test: What was tested.
        paper: Whether it holds for the numbers that the paper prints, without intervals.
        paper_values: The tested statistics of the paper by name.
        outcome: The verdict on the study's numbers.
        one_model: Whether it is about these models only, because no variance over seeds is known.
        parts: The tested statistics with their intervals.
        p: p-value after Holm's correction over the claims of the paper that were run; ``None`` if it was not run.
        reason: Why it is undecided or was not run.
        beside: The same test against other references or with other estimators, uncorrected, by label.
        seeds: Seeds of an arm: the fewest and the most.
        languages: Languages that were tested.
        about: Budget and data.
        notes: What else the reader should know.
    """

    claim: str
    sentence: str
    test: str
    paper: Check
    paper_values: dict[str, float]
    outcome: Outcome
    one_model: bool
    parts: tuple[PartResult, ...]
    p: float | None
    reason: str
    beside: dict[str, Outcome]
    seeds: tuple[int, int]
    languages: tuple[str, ...]
    about: str
    notes: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """The verdict, as a table shows it."""
        decided = self.outcome in {"holds", "does not hold"}
        return f"{self.outcome} (this model only)" if decided and self.one_model else self.outcome

    @property
    def weakest(self) -> PartResult | None:
        """The part that decides: the one on the wrong side, or the one that is least sure."""
        return max(self.parts, key=lambda part: (-part.fail_p, part.hold_p), default=None)

    @property
    def note(self) -> str:
        """Languages, seeds and notes in one line."""
        few, many = self.seeds
        seeds = f"{few} to {many} seeds" if few < many else f"{many} {'seed' if many == 1 else 'seeds'}"
        return "; ".join(filter(None, [", ".join(self.languages), seeds if many else "", *self.notes]))

    def as_json(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self) | {"verdict": self.in_words}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A claim before Holm's correction.

    Attributes:
        claim: The claim.
        evidence: What it read, and what is missing.
        parts: Its parts; none where something is missing.
        p: Its p-value.
    """

    claim: Claim
    evidence: Evidence
    parts: tuple[PartResult, ...]
    p: float

    @property
    def run(self) -> bool:
        """Whether nothing is missing."""
        return not self.evidence.missing


def claims_of(paper: str) -> dict[str, Claim]:
    """The claims of a paper by name.

    Raises:
        ConfigError: There is no such paper.
    """
    from isoglot.study.claims.liu2020 import LIU2020
    from isoglot.study.claims.wu2020 import WU2020

    papers = {"wu2020": WU2020, "liu2020": LIU2020}
    check_name("paper", paper, papers)
    return {name: papers[paper][name] for name in claim_words() if name in papers[paper]}


def verify(numbers: Iterable[Number], paper: str = "wu2020", *, about: str = "") -> list[Verdict]:
    """Verdicts on all claims of a paper.

    Args:
        numbers: The numbers of a study. See :mod:`isoglot.study.claims` for the measures and coordinates that are read.
        paper: ``wu2020`` or ``liu2020``.
        about: Budget and data, shown with every verdict.

    Raises:
        ConfigError: There is no such paper.
        InputError: Two numbers that a claim reads have the same coordinates, or different counts of draws.
    """
    from isoglot.retrieve.simultaneous_intervals import holm

    index, printed = Index(numbers), Index(paper_numbers(paper))
    judged = [judge_claim(claim, index) for claim in claims_of(paper).values()]
    corrected = holm([one.p if one.run else np.nan for one in judged])
    return [_verdict(one, float(p), printed, about) for one, p in zip(judged, corrected, strict=True)]


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Verdicts as a table: of each claim the part that decides; budget and data in the caption."""
    rows = []
    for one in verdicts:
        part = one.weakest
        more = f"; and {len(one.parts) - 1} more" if len(one.parts) > 1 else ""
        printed = one.paper_values.get(part.name) if part else None
        rows.append(
            {
                "claim": one.claim,
                "sentence": one.sentence,
                "paper": one.paper if printed is None or not part else f"{one.paper} ({printed:.{part.digits}f})",
                "ours": f"{part}{more}" if part else "",
                "verdict": one.in_words,
                "p": one.p,
                "note": "; ".join(filter(None, [one.reason, *(f"{k}: {v}" for k, v in one.beside.items()), one.note])),
            }
        )
    columns = [
        Column("claim"),
        Column("sentence", title="the paper says"),
        Column("paper", note="On the paper's printed numbers, without intervals; in parentheses the same statistic."),
        Column("ours", note="The part of the test that decides, with its 95 % interval over test items and seeds."),
        Column("verdict"),
        Column("p", format=".2g", note="Holm's correction over all claims of the paper that were run."),
        Column("note"),
    ]
    return Table.from_rows(rows, columns, caption="; ".join(dict.fromkeys(one.about for one in verdicts if one.about)))


def check_paper(claim: Claim, printed: Index) -> tuple[Check, dict[str, float]]:
    """Whether a claim holds for the printed numbers, and the tested statistics by name."""
    if not claim.printed:
        return "stated, not printed", {}
    parts = list(claim.parts(Evidence(printed)))
    values = {part.name: float(part.values[0]) for part in parts}
    return ("holds" if all(part.right for part in parts) else "does not hold"), values


def judge_claim(claim: Claim, index: Index, aliases: Sequence[Alias] = ()) -> Judged:
    """Test a claim alone.

    Args:
        claim: The claim.
        index: The numbers.
        aliases: Coordinates to read in place of others.
    """
    evidence = Evidence(index, aliases=aliases)
    with suppress(NotMeasuredError):  # recorded in evidence.missing
        parts = list(claim.parts(evidence))
    if evidence.missing:
        return Judged(claim=claim, evidence=evidence, parts=(), p=1.0)
    evidence.check_draws()
    found = tuple(judge(part, evidence.freedom) for part in parts)
    p = 1.0 if evidence.without_interval else claim_p(found)[0]
    return Judged(claim=claim, evidence=evidence, parts=found, p=p)


def _verdict(judged: Judged, p: float, printed: Index, about: str) -> Verdict:
    claim, evidence = judged.claim, judged.evidence
    paper, paper_values = check_paper(claim, printed)
    outcome: Outcome = decide(judged.parts, p) if judged.run else "not run"
    languages = {str(dict(cell[1]).get("language", "")) for cell in evidence.read} - {""}
    return Verdict(
        claim=claim.name,
        sentence=claim.sentence,
        test=claim.test,
        paper=paper,
        paper_values=paper_values,
        outcome=outcome,
        one_model=judged.run and evidence.one_model,
        parts=judged.parts,
        p=p if judged.run else None,
        reason=_reason(judged, outcome),
        beside=_beside(judged) if judged.run else {},
        seeds=evidence.seeds if judged.run else (0, 0),
        languages=tuple(sorted(languages)) if judged.run else (),
        about=about,
        notes=_notes(evidence) if judged.run else (),
    )


def _notes(evidence: Evidence) -> tuple[str, ...]:
    found = list(evidence.notes)
    if evidence.one_test_set and not evidence.without_interval:
        found.append("test items are not resampled: intervals are over seeds")
    if different := evidence.different_items:
        found.append(f"not all were tested on the same items: {', '.join(different)}")
    return tuple(found)


def _reason(judged: Judged, outcome: Outcome) -> str:
    """Reason that a claim is undecided or was not run; empty if it is decided."""
    if outcome == "not run":
        missing = list(judged.evidence.missing)
        more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
        return f"missing: {'; '.join(missing[:_LISTED])}{more}"
    if bare := judged.evidence.without_interval:
        return f"no interval: neither bootstrap draws nor several seeds of {'; '.join(bare[:_LISTED])}"
    same = [part for part in judged.parts if part.outcome == outcome]
    if outcome == "undecided: at floor":
        return f"at floor: {'; '.join(part.name for part in same[:_LISTED])}"
    if outcome == "undecided" and same:
        return f"the interval includes the bound: {'; '.join(str(part) for part in same[:_LISTED])}"
    if outcome == "undecided":
        return "decided alone, but not after the correction for several parts and claims"
    return ""


def _beside(judged: Judged) -> dict[str, Outcome]:
    """The same test with other numbers, uncorrected: where these were measured."""
    found: dict[str, Outcome] = {}
    for label, aliases in judged.claim.beside.items():
        other = judge_claim(judged.claim, judged.evidence.index, aliases)
        if other.run:
            found[label] = decide(other.parts, other.p)
    return found


# --- numbers and verdicts to compare later runs with ---


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
    """Differences from the expected numbers beyond the intervals.

    A difference is tested with the standard errors of both sides, at 95 % over all numbers together (Bonferroni).
    Numbers that have none must be equal. Numbers that were not expected are not compared, nor claims that were not run.

    Args:
        file: What :func:`expected` wrote.
        numbers: The numbers of the study to compare.
        verdicts: Its verdicts; compared where given.

    Raises:
        InputError: The file is of another format.
    """
    if file.get("version") != VERSION:
        problem = f"expected numbers of format {file.get('version')!r}"
        remedy = f"write them again, in format {VERSION}"
        raise InputError(problem, remedy, "unknown-format")
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
        if before not in (None, "not run", verdict.in_words):
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

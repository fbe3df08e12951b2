"""Table 1 and Figure 3 of Wu et al. (2020) beside a study's own numbers: scores of every arm, and losses to Default."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from isoglot.core.table import Column, Table
from isoglot.study.claims.printed_numbers import printed
from isoglot.study.numbers import Number, Numbers, mean_cell
from isoglot.study.tables.arm_tests import baseline_of, paired_arms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.study.study import Study

TASKS = {"nli": "NLI, accuracy", "ner": "NER, F1", "parsing": "parsing, LAS"}
ANCHORS, SEPARATE = "default-anchors", "sep-"
"""The arm that Sep arms are compared with beside Default, and how their names begin."""


@dataclass(frozen=True, kw_only=True)
class ArmLoss:
    """Difference of an arm to the baseline in one task, mean over the languages that were not trained on.

    Attributes:
        pair: Languages.
        name: Name of the arm.
        arm: Its title.
        task: ``nli``, ``ner`` or ``parsing``.
        value: Points; negative where the arm is worse.
        half: Half of a 95 % interval over seeds and test items; NaN where there are neither.
        paper: What the paper prints; None where it does not.
    """

    pair: str
    name: str
    arm: str
    task: str
    value: float
    half: float
    paper: float | None


def arm_losses(study: Study, base: str | None = None) -> list[ArmLoss]:
    """Every arm but the baseline, in every task that both were tested in.

    Args:
        study: The study.
        base: The arm to compare with; default: the study's baseline. With ``default-anchors``, the Sep arms alone.
    """
    numbers, base, found = study.numbers(), base or baseline_of(study), []
    table = _printed(study)
    for pair in numbers.values_of("pair"):
        here = numbers.select(pair=pair, variant=None, layer=None, map=None)
        for arm, title in study.about.get("arms", {}).items():
            for task in TASKS if _is_compared(arm, base) else ():
                tested = _difference(here, task, arm, base)
                if tested is not None:
                    paper = printed_difference(table, arm, base, task)
                    of_arm = {"pair": pair, "name": arm, "arm": title, "task": task}
                    found.append(ArmLoss(**of_arm, value=tested[0], half=tested[1], paper=paper))
    return found


def _is_compared(arm: str, base: str) -> bool:
    """Whether the table has the difference of an arm to a base; to Default anchors only Sep arms have one.

    Their vocabularies are of the same kind, so this difference is that of sharing alone.
    """
    return arm != base and (base != ANCHORS or arm.startswith(SEPARATE))


def paper_table(study: Study) -> Table | None:
    """Table 1 as printed beside the study's: a row for each arm, averages over the languages not trained on.

    None for studies of other papers, or without a task of that table. Where the study has tested some of the paper's
    languages, the printed average is over those.
    """
    table, here = _printed(study), _tested(study)
    tasks = [task for task in TASKS if _targets(here, task)]
    if not table or not tasks:
        return None
    titles: dict[str, str] = study.about.get("arms", {})
    shared = _shared(table, here)
    rows = []
    for arm in [*table["arms"], *(arm for arm in titles if arm not in table["arms"])]:
        row: dict[str, Any] = {"arm": titles.get(arm, arm)}
        for task in tasks:
            row |= _ours(here, arm, task)
            if arm in table["arms"]:
                row[f"{task}_paper"] = _printed_mean(table, arm, task, shared)
        if len(row) > 1:
            rows.append(row)
    columns = [Column("arm"), *_beside(tasks, ".1f")]
    notes = (
        _means_of(table, here),
        "Languages, tests, size of the encoder and budget differ: compare differences rather than levels.",
        "± is half a 95 % interval over test items (bootstrap); – was not run, or not printed.",
    )
    caption = "Table 1, the paper's beside ours"
    return Table.from_rows(rows, columns, caption=caption, footnotes=notes, intervals="plus-minus")


def loss_table(study: Study) -> Table | None:
    """Differences of every arm to Default, and of Sep arms to Default anchors as well; the paper's beside ours.

    None for studies of other papers, or where no arm can be compared.
    """
    table, here = _printed(study), _tested(study)
    titles: dict[str, str] = study.about.get("arms", {})
    tasks = [task for task in TASKS if _targets(here, task)]
    shared = _shared(table, here) if table else []
    rows = []
    for base in ("default", ANCHORS) if table and "default" in titles else ():
        for arm, title in titles.items():
            cells = _losses(here, table, arm, base, tasks, shared) if _is_compared(arm, base) else {}
            if any(name.endswith("_ours") for name in cells):
                rows.append({"arm": title, "base": titles.get(base, base), **cells})
    if not rows:
        return None
    columns = [Column("arm"), Column("base", title="Δ against"), *_beside(tasks, "+.1f")]
    notes = [
        _means_of(table, here),
        "± is half a 95 % interval over test items and seeds, paired; – was not run, or not printed.",
    ]
    if ANCHORS in titles:
        notes.append(
            f"{titles[ANCHORS]}, like the Sep arms, has a vocabulary learned for each language: differences to it do "
            "not mix vocabulary with sharing."
        )
    caption = "Δ, points: differences between arms, the paper's beside ours"
    return Table.from_rows(rows, columns, caption=caption, footnotes=tuple(notes), intervals="plus-minus")


def _losses(
    numbers: Numbers, table: dict[str, Any], arm: str, base: str, tasks: Sequence[str], shared: Sequence[str]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for task in tasks:
        tested = _difference(numbers, task, arm, base)
        if tested is not None:
            value, half = tested
            ends = {} if isnan(half) else {"low": value - half, "high": value + half}
            found[f"{task}_ours"] = {"value": value, **ends} if ends else value
        paper = printed_difference(table, arm, base, task, shared)
        if paper is not None:
            found[f"{task}_paper"] = paper
    return found


def _beside(tasks: Sequence[str], digits: str) -> list[Column]:
    """A column of the paper and one of the study for each task."""
    return [
        Column(f"{task}_{side}", title=side, above=TASKS[task], format=digits, kind="number")
        for task in tasks
        for side in ("paper", "ours")
    ]


def _tested(study: Study) -> Numbers:
    return study.numbers().select(variant=None, layer=None, map=None)


def _means_of(table: dict[str, Any], numbers: Numbers) -> str:
    ours = sorted({code for task in TASKS for code in _targets(numbers, task)})
    return f"Paper: mean of {', '.join(_shared(table, numbers))}; ours: mean of {', '.join(ours)}."


def _shared(table: dict[str, Any], numbers: Numbers) -> list[str]:
    """The paper's languages that the study has tested; all of them where it has tested none."""
    ours = {code for task in TASKS for code in _targets(numbers, task)}
    return [code for code in table["languages"] if code in ours] or list(table["languages"])


# --- the paper's numbers ---


def _printed(study: Study) -> dict[str, Any]:
    found: dict[str, Any] = printed("wu2020")["table1"] if study.about.get("paper") == "wu2020" else {}
    return found


def printed_difference(
    table: dict[str, Any], arm: str, base: str, task: str, languages: Sequence[str] = ()
) -> float | None:
    """Difference of two arms in the printed table, mean over languages (default: all); None where it has them not."""
    arms = table.get("arms", {})
    if arm not in arms or base not in arms:
        return None
    asked = languages or table["languages"]
    if base == "default" and len(asked) == len(table["languages"]):  # printed, from scores that were not rounded
        return float(arms[arm]["change"][list(TASKS).index(task)])
    return _printed_mean(table, arm, task, asked) - _printed_mean(table, base, task, asked)


def _printed_mean(table: dict[str, Any], arm: str, task: str, languages: Sequence[str]) -> float:
    places = [table["languages"].index(code) for code in languages]
    return float(sum(table["arms"][arm][task][place] for place in places) / len(places))


# --- the study's ---


def _ours(numbers: Numbers, arm: str, task: str) -> dict[str, Any]:
    by_language = [list(numbers.select(task, arm=arm, language=code)) for code in _targets(numbers, task)]
    if not all(by_language):
        return {}
    return {f"{task}_ours": mean_cell([[one for some in by_language for one in some]])}


def _targets(numbers: Numbers, task: str) -> list[str]:
    """Languages of a task that were not trained on: those without a score on development data."""
    trained = numbers.select(f"{task}_dev").values_of("language")
    return [code for code in numbers.select(task).values_of("language") if code not in trained]


def _difference(numbers: Numbers, task: str, arm: str, base: str) -> tuple[float, float] | None:
    """Mean difference over targets and seeds, and half of its interval; None unless both arms were tested."""
    targets = _targets(numbers, task)
    sides = [_by_seed(numbers.select(task, arm=name), targets) for name in (arm, base)]
    seeds = [seed for seed in sides[0] if seed in sides[1]]
    if not targets or not seeds:
        return None
    value, half, _ = paired_arms(*([side[seed] for seed in seeds] for side in sides))
    return value, half


def _by_seed(numbers: Numbers, languages: Sequence[str]) -> dict[Any, list[Number]]:
    """The number of each language, in order, of the seeds that have them all."""
    found = {seed: {one.at["language"]: one for one in some} for seed, some in numbers.by("seed").items()}
    return {seed: [some[code] for code in languages] for seed, some in found.items() if set(languages) <= set(some)}

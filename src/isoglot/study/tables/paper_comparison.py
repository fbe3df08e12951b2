"""Table 1 and Figure 3 of Wu et al. (2020) beside a study's own numbers: scores of every arm, and losses to Default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoglot.core.table import Column, Table
from isoglot.study.claims.printed_numbers import printed
from isoglot.study.tables.arm_tests import baseline_of, paired_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.study.numbers import Number, Numbers
    from isoglot.study.study import Study

TASKS = {"nli": "NLI, accuracy", "ner": "NER, F1", "parsing": "parsing, LAS"}


@dataclass(frozen=True, kw_only=True)
class ArmLoss:
    """Difference of an arm to the baseline in one task, mean over the languages that were not trained on.

    Attributes:
        pair: Languages.
        arm: Title of the arm.
        task: ``nli``, ``ner`` or ``parsing``.
        value: Points; negative where the arm is worse.
        half: Half of a 95 % interval over seeds and test items; NaN where there are neither.
        paper: What the paper prints; None where it does not.
    """

    pair: str
    arm: str
    task: str
    value: float
    half: float
    paper: float | None


def arm_losses(study: Study) -> list[ArmLoss]:
    """Every arm but the baseline, in every task that both were tested in."""
    numbers, base, found = study.numbers(), baseline_of(study), []
    table = _printed(study)
    for pair in numbers.values_of("pair"):
        here = numbers.select(pair=pair, variant=None, layer=None, map=None)
        for arm, title in study.about.get("arms", {}).items():
            change = table.get("arms", {}).get(arm, {}).get("change") if base == "default" else None
            for place, task in enumerate(TASKS):
                tested = None if arm == base else _difference(here, task, arm, base)
                if tested is not None:
                    paper = None if change is None else change[place]
                    value, half = tested
                    found.append(ArmLoss(pair=pair, arm=title, task=task, value=value, half=half, paper=paper))
    return found


def paper_table(study: Study) -> Table | None:
    """Table 1 as printed beside the study's: a row for each arm, averages over the languages not trained on.

    None for studies of other papers, or without a task of that table. Where the study has tested some of the paper's
    languages, the printed average is over those.
    """
    table, numbers = _printed(study), study.numbers()
    here = numbers.select(variant=None, layer=None, map=None)
    tasks = [task for task in TASKS if _targets(here, task)]
    if not table or not tasks:
        return None
    ours = sorted({code for task in tasks for code in _targets(here, task)})
    shared = [code for code in table["languages"] if code in ours] or table["languages"]
    titles: dict[str, str] = study.about.get("arms", {})
    rows = []
    for arm in [*table["arms"], *(arm for arm in titles if arm not in table["arms"])]:
        row: dict[str, Any] = {"arm": titles.get(arm, arm)}
        for task in tasks:
            row |= _theirs(table, arm, task, shared) | _ours(here, arm, task, baseline_of(study))
        if len(row) > 1:
            rows.append(row)
    columns = [Column("arm")]
    for task in tasks:
        for name, title, digits in (
            (f"{task}_paper", "paper", ".1f"),
            (f"{task}_paper_delta", "Δ", "+.1f"),
            (f"{task}_ours", "ours", ".1f"),
            (f"{task}_ours_delta", "Δ", "+.1f"),
        ):
            if any(name in row for row in rows):
                columns.append(Column(name, title=title, above=TASKS[task], format=digits, kind="number"))
    names = [column.name for column in columns]
    notes = (
        f"Paper: mean of {', '.join(shared)}; ours: mean of {', '.join(ours)}. Δ: difference to Default.",
        "Languages, tests, size of the encoder and budget differ: compare differences rather than levels.",
        "± is half a 95 % interval over test items (bootstrap); – was not run, or not printed.",
    )
    return Table.from_rows(
        [{name: row.get(name) for name in names} for row in rows], columns, footnotes=notes, intervals="plus-minus"
    )


def _printed(study: Study) -> dict[str, Any]:
    found: dict[str, Any] = printed("wu2020")["table1"] if study.about.get("paper") == "wu2020" else {}
    return found


def _theirs(table: dict[str, Any], arm: str, task: str, languages: Sequence[str]) -> dict[str, float]:
    if arm not in table["arms"]:
        return {}
    places = [table["languages"].index(code) for code in languages]
    value, base = (sum(table["arms"][name][task][place] for place in places) / len(places) for name in (arm, "default"))
    delta = value - base
    if len(places) == len(table["languages"]):  # printed, from scores that were not rounded
        delta = table["arms"][arm]["change"][list(TASKS).index(task)]
    return {f"{task}_paper": value} | ({f"{task}_paper_delta": delta} if arm != "default" else {})


def _ours(numbers: Numbers, arm: str, task: str, base: str) -> dict[str, Any]:
    from isoglot.study.tables.results import with_interval

    by_language = [list(numbers.select(task, arm=arm, language=code)) for code in _targets(numbers, task)]
    if not all(by_language):
        return {}
    some = [one for numbers_of_one in by_language for one in numbers_of_one]
    tested = None if arm == base else _difference(numbers, task, arm, base)
    return {f"{task}_ours": with_interval(some)} | ({f"{task}_ours_delta": tested[0]} if tested else {})


def _targets(numbers: Numbers, task: str) -> list[str]:
    """Languages of a task that were not trained on: those without a score on development data."""
    trained = numbers.select(f"{task}_dev").values_of("language")
    return [code for code in numbers.select(task).values_of("language") if code not in trained]


def _difference(numbers: Numbers, task: str, arm: str, base: str) -> tuple[float, float] | None:
    """Mean difference over targets and seeds, and half of its interval; None unless both arms were tested."""
    import numpy as np

    targets = _targets(numbers, task)
    sides = [_by_seed(numbers.select(task, arm=name), targets) for name in (arm, base)]
    seeds = [seed for seed in sides[0] if seed in sides[1]]
    if not targets or not seeds:
        return None
    cells = [(sides[0][seed], sides[1][seed]) for seed in seeds]
    paired = all(
        one.draws and other.draws and one.items == other.items
        for ones, others in cells
        for one, other in zip(ones, others, strict=True)
    )
    draws_SR = None
    if paired:
        draws_SR = np.array([_mean_draws(ones) - _mean_draws(others) for ones, others in cells])
    means = [[sum(one.value for one in side) / len(side) for side in cell] for cell in cells]
    value, half, _ = paired_test([one for one, _ in means], [other for _, other in means], draws_SR)
    return value, half


def _by_seed(numbers: Numbers, languages: Sequence[str]) -> dict[Any, list[Number]]:
    """The number of each language, in order, of the seeds that have them all."""
    found = {
        seed: [list(numbers.select(seed=seed, language=code)) for code in languages]
        for seed in numbers.values_of("seed")
    }
    return {seed: [some[0] for some in cells] for seed, cells in found.items() if all(cells)}


def _mean_draws(numbers: Sequence[Number]) -> Any:  # noqa: ANN401 - an array
    import numpy as np

    return np.mean([number.draws for number in numbers], axis=0)

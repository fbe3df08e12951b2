"""Several studies in a table: what ran in each, the verdicts on every claim, and an arm study by study."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from isoglot.core.table import Column, Table
from isoglot.study.claims.verdicts import claims_of
from isoglot.study.steps import KINDS
from isoglot.study.tables.paper_comparison import ArmLoss, arm_losses
from isoglot.study.tables.results import budget_words, trained_encoders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.study.claims import Verdict
    from isoglot.study.study import Study

_PAPERS = {"wu2020": "Wu et al. (2020)", "liu2020": "Liu et al. (2020)"}
NOT_RUN = "not run"
_BASE = "default"


def studies_table(studies: Mapping[str, Study]) -> Table:
    """A row for each study: its question, budget and time.

    Args:
        studies: The studies by name.
    """
    rows = []
    for name, study in studies.items():
        minutes = {"gpu": 0.0, "cpu": 0.0}
        for key, step in study.steps.items():
            record = study.store.record(key) or {}
            uses_gpu = not KINDS[step.kind].on_cpu and record.get("device") != "cpu"
            minutes["gpu" if uses_gpu else "cpu"] += record.get("seconds", 0.0) / 60
        rows.append(
            {
                "study": name,
                "title": str(study.about.get("title") or study.about.get("recipe")),
                "languages": ", ".join(study.about.get("pairs", [])),
                "encoders": trained_encoders(study),
                "seeds": study.about.get("seeds"),
                "tokens": budget_words(study),
                **minutes,
            }
        )
    columns = [
        Column("study"),
        Column("title", title="question"),
        Column("languages"),
        Column("encoders", title="encoders trained"),
        Column("seeds"),
        Column("tokens", title="tokens of an encoder", align="right"),
        Column("gpu", title="GPU", above="minutes", format=",.0f"),
        Column("cpu", title="CPU", above="minutes", format=",.0f"),
    ]
    note = "Minutes of all steps added up; steps that ran side by side on one GPU took less by the clock."
    return Table.from_rows(rows, columns, caption="What ran", footnotes=(note,))


def verdicts_overview(verdicts: Mapping[str, Sequence[Verdict]], papers: Sequence[str] = ()) -> Table | None:
    """A row for each claim, a column for each study that tests claims; None without any.

    Args:
        verdicts: Verdicts by the name of the study; those without are left out.
        papers: Papers all of whose claims have a row; of others, only the claims that a study names have one.
    """
    studies = {name: {one.claim: one for one in found} for name, found in verdicts.items() if found}
    named = {claim for found in studies.values() for claim in found}
    rows = [
        {"paper": title, "claim": name, "sentence": claim.sentence}
        | {f"study-{at}": one[name].in_words if name in one else NOT_RUN for at, one in enumerate(studies.values())}
        for paper, title in _PAPERS.items()
        for name, claim in claims_of(paper).items()
        if name in named or paper in papers
    ]
    columns = [Column("paper"), Column("claim"), Column("sentence", title="the paper says")]
    columns += [Column(f"study-{at}", title=name) for at, name in enumerate(studies)]
    return Table.from_rows(rows, columns, group_by="paper") if rows and studies else None


def arms_by_study(studies: Mapping[str, Study]) -> list[tuple[str, list[ArmLoss]]]:
    """Differences of an arm to Default, of the arms that several studies of a pair have, by arm and pair.

    Only the tasks of all these studies are in it. The differences have the budget of the study in place of the arm, the
    smallest first; its name where two have the same budget.

    Args:
        studies: The studies by name.
    """
    found: dict[tuple[str, str], dict[str, list[ArmLoss]]] = {}
    for name, study in sorted(studies.items(), key=lambda one: one[1].about.get("tokens", 0)):
        for loss in arm_losses(study, _BASE) if study.about.get("paper") == "wu2020" else ():
            found.setdefault((loss.name, loss.pair), {}).setdefault(name, []).append(loss)
    several = []
    for by_study in found.values():
        budgets = {name: budget_words(studies[name]) for name in by_study}
        counts = Counter(budgets.values())
        labels = {name: one if counts[one] == 1 else name for name, one in budgets.items()}
        tasks = set.intersection(*({loss.task for loss in some} for some in by_study.values()))
        losses = [
            replace(loss, arm=labels[name]) for name, some in by_study.items() for loss in some if loss.task in tasks
        ]
        if len(by_study) > 1 and losses:
            several.append(([*by_study.values()][-1][0].arm, losses))
    return several

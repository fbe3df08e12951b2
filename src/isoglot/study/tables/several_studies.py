"""Several studies in a table: what ran in each, the verdicts on every claim, and an arm by the budget of its study."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from isoglot.core.table import Column, Table
from isoglot.study.claims.verdicts import claims_of
from isoglot.study.tables.paper_comparison import ArmLoss, arm_losses
from isoglot.study.tables.results import budget_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.study.claims import Verdict
    from isoglot.study.study import Study

_PAPERS = {"wu2020": "Wu et al. (2020)", "liu2020": "Liu et al. (2020)"}
BASE, NOT_RUN = "Default", "not run"


def studies_table(studies: Mapping[str, Study]) -> Table:
    """A row for each study: its question, budget and time.

    Args:
        studies: The studies by name.
    """
    rows = []
    for name, study in studies.items():
        records = [record for key in study.steps if (record := study.store.record(key)) is not None]
        on_gpu = [one for one in records if str(one.get("device", "")).startswith("cuda")]
        numbers = study.numbers().select("training_tokens", variant=None)
        rows.append(
            {
                "study": name,
                "title": str(study.about.get("title") or study.about.get("recipe")),
                "languages": ", ".join(study.about.get("pairs", [])),
                "encoders": len({(one.at.get("arm"), one.at.get("pair"), one.at.get("seed")) for one in numbers}),
                "seeds": len({one.at.get("seed") for one in numbers}),
                "tokens": budget_words(study),
                "gpu": sum(one.get("seconds", 0.0) for one in on_gpu) / 60,
                "cpu": sum(one.get("seconds", 0.0) for one in records if one not in on_gpu) / 60,
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
        | {study: found[name].in_words if name in found else NOT_RUN for study, found in studies.items()}
        for paper, title in _PAPERS.items()
        for name, claim in claims_of(paper).items()
        if name in named or paper in papers
    ]
    columns = [Column("paper"), Column("claim"), Column("sentence", title="the paper says"), *map(_study, studies)]
    return Table.from_rows(rows, columns, group_by="paper") if rows and studies else None


def _study(name: str) -> Column:
    return Column(name, title=name)


def arms_by_budget(studies: Mapping[str, Study]) -> list[tuple[str, list[ArmLoss]]]:
    """Differences of an arm to Default, of the arms that several studies of a pair have, by arm and pair.

    The differences have the budget of the study in place of the arm, the smallest first; its name where two have the
    same budget.

    Args:
        studies: The studies by name.
    """
    found: dict[tuple[str, str], dict[str, list[ArmLoss]]] = {}
    for name, study in sorted(studies.items(), key=lambda one: one[1].about.get("tokens", 0)):
        if study.about.get("paper") != "wu2020" or study.about.get("arms", {}).get("default") != BASE:
            continue
        for loss in arm_losses(study, "default"):
            found.setdefault((loss.arm, loss.pair), {}).setdefault(name, []).append(loss)
    several = []
    for (arm, _), by_study in found.items():
        budgets = {name: budget_words(studies[name]) for name in by_study}
        counts = Counter(budgets.values())
        labels = {name: one if counts[one] == 1 else name for name, one in budgets.items()}
        losses = [replace(loss, arm=labels[name]) for name, some in by_study.items() for loss in some]
        if len(by_study) > 1:
            several.append((arm, losses))
    return several

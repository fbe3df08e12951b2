"""The page of several studies: what ran, the verdicts on every claim, arms by budget, then each study's sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.report.page import Filtered, Folded, Page, Section
from isoglot.report.study import RAN, SCORES, loss_figure, study_page
from isoglot.study.tables.results import study_verdicts
from isoglot.study.tables.several_studies import BASE, NOT_RUN, arms_by_budget, studies_table, verdicts_overview

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.core.table import Table
    from isoglot.study.study import Study


def studies_page(
    studies: Sequence[Study], *, title: str | None = None, papers: Sequence[str] = (), facts: Sequence[str] = ()
) -> Page:
    """Several studies on one page: what all of them show together, then each one's sections under its name.

    Args:
        studies: The studies.
        title: Title of the page. Default: how many studies there are.
        papers: Papers all of whose claims are listed, also those that no study tests.
        facts: Lines for its foot.
    """
    named = _by_name(studies)
    pages = {name: study_page(study) for name, study in named.items()}
    verdicts = {name: study_verdicts(study) for name, study in named.items() if study.about.get("paper")}
    overview = verdicts_overview(verdicts, papers)
    first = [f"{name}: {page.lead}" for name, page in pages.items()]
    sections = [Section(title="In short", body=[*first, studies_table(named)])]
    if overview is not None:
        sections.append(Section(title=overview_finding(overview), body=[Filtered(overview, "does not hold")]))
    for arm, losses in arms_by_budget(named):
        figure = loss_figure(losses, BASE, arm)
        sections.append(Section(title=figure.title, body=[figure]))
    for name, page in pages.items():
        last = [one for one in page.sections if one.title in (SCORES, RAN)]
        sections += [Section(title=f"{name}: {one.title}", body=one.body) for one in page.sections if one not in last]
        if last:
            folded = [Folded(one.title, one.body) for one in last]
            sections.append(Section(title=f"{name}: scores and what ran", body=folded))
    return Page(title=title or f"{len(studies)} studies side by side", lead="", sections=sections, facts=facts)


def _by_name(studies: Sequence[Study]) -> Mapping[str, Study]:
    """Studies by the names of their folders, numbered where two have the same."""
    found: dict[str, Study] = {}
    for study in studies:
        name, number = study.out.name, 2
        while name in found:
            name, number = f"{study.out.name} ({number})", number + 1
        found[name] = study
    return found


def overview_finding(overview: Table) -> str:
    """Which claims hold, do not hold and are undecided, over all studies, in a sentence without a full stop."""
    found: dict[str, list[str]] = {}
    for row in overview.dicts():
        verdicts = [str(value) for name, value in row.items() if name not in ("paper", "claim", "sentence")]
        # "undecided: at floor" is undecided, and "holds (this model only)" holds
        outcomes = {one.partition(":")[0].partition(" (")[0] for one in verdicts} - {NOT_RUN}
        outcome = outcomes.pop() if len(outcomes) == 1 else "depends on the study" if outcomes else NOT_RUN
        found.setdefault(outcome, []).append(str(row["claim"]))
    words = {
        "holds": ("holds", "hold"),
        "does not hold": ("does not hold", "do not hold"),
        "depends on the study": ("depends on the study", "depend on the study"),
        "undecided": ("is undecided", "are undecided"),
    }
    parts = [f"{', '.join(found[one])} {said[len(found[one]) > 1]}" for one, said in words.items() if one in found]
    rest = len(found.get(NOT_RUN, ()))
    waiting = f"{rest} of {len(overview.rows)} claims {'has' if rest == 1 else 'have'} not been run" if rest else ""
    return "; ".join([*parts, *([waiting] if waiting else [])])

"""The page of several studies: what ran, verdicts on all claims, arms study by study, then each study's sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.report.page import Filtered, Folded, Page, Section
from isoglot.report.study import OUTCOMES, RAN, SCORES, loss_figure, study_page
from isoglot.study.tables.results import study_verdicts
from isoglot.study.tables.several_studies import NOT_RUN, arms_by_study, studies_table, verdicts_overview

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.study.claims import Verdict
    from isoglot.study.study import Study

_DEPENDS = "depends on the study"
_SAID = {**OUTCOMES, _DEPENDS: (_DEPENDS, "depend on the study")}


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
        finding = overview_finding(verdicts, len(overview.rows))
        sections.append(Section(title=finding, body=[Filtered(overview, "does not hold")]))
    for arm, losses in arms_by_study(named):
        figure = loss_figure(losses, "Default", arm)
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


def overview_finding(verdicts: Mapping[str, Sequence[Verdict]], claims: int) -> str:
    """Which claims hold, do not hold and are undecided, over all studies, in a sentence without a full stop.

    Args:
        verdicts: Verdicts by study.
        claims: How many claims there are, with those that no study tests.
    """
    outcomes: dict[str, set[str]] = {}
    for verdict in (one for found in verdicts.values() for one in found if one.outcome != NOT_RUN):
        outcomes.setdefault(verdict.claim, set()).add(verdict.outcome)
    by_outcome: dict[str, list[str]] = {}
    for claim, told in sorted(outcomes.items(), key=lambda one: (one[0][0] != "W", int(one[0][1:]))):
        decided = told & {"holds", "does not hold"}
        outcome = _DEPENDS if len(decided) > 1 else decided.pop() if decided else "undecided"
        by_outcome.setdefault(outcome, []).append(claim)
    parts = [
        f"{', '.join(found)} {said[len(found) > 1]}" for one, said in _SAID.items() if (found := by_outcome.get(one))
    ]
    rest = claims - len(outcomes)
    waiting = [f"{rest} of {claims} claims {'has' if rest == 1 else 'have'} not been run"] if rest else []
    return "; ".join([*parts, *waiting])

"""The page of a ranking of encoders: scores with intervals, groups that cannot be told apart, and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.language_codes import language_name
from isoglot.core.progress import counted, listed
from isoglot.core.table import Column, Table
from isoglot.diagnose.findings import percent
from isoglot.report.figures import Bar, Figure, bars
from isoglot.report.page import Page, Section
from isoglot.report.results import Rendering
from isoglot.retrieve.simultaneous_intervals import LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.diagnose import Ranking

_PERCENT: dict[str, Any] = {"scale": 100, "format": ".1f"}


def ranking_result(found: Ranking) -> Rendering:
    """A ranking: a row for every model, and the finding."""
    from rich.console import Group
    from rich.text import Text

    said = [ranking_finding(found), _about(found), *found.remarks]
    return Rendering(
        found.as_dict(),
        Group(_models_table(found), Text(), *(Text(f"{one}.") for one in said)),
        lambda facts: ranking_page(found, facts=facts).files(),
    )


def ranking_page(found: Ranking, *, facts: Sequence[str] = ()) -> Page:
    """The page.

    Args:
        found: The ranking.
        facts: Lines for its foot.
    """
    return Page(
        title=f"Ranking of {counted(len(found.models), 'models')}",
        lead=f"{ranking_finding(found)}.",
        sections=[
            Section(title=ranking_finding(found), body=[_figure(found), _models_table(found), f"{_about(found)}."]),
            Section(title="By language", body=[_languages_table(found)]),
            Section(title="Tests of every two", body=[_tests_table(found)]),
        ],
        facts=[*found.remarks, *facts],
    )


def ranking_finding(found: Ranking) -> str:
    """The best model, and those it cannot be told apart from."""
    best, *others = found.models
    tied = [each.name for at, each in enumerate(others, start=1) if found.p_MM[0, at] >= 1 - LEVEL]
    text = f"{best.name} finds most translations, {percent(best.score)}"
    if not tied:
        return f"{text}, significantly more than {'the other' if len(others) == 1 else 'every other'}"
    if len(tied) == len(others):
        return f"{text}, but cannot be told apart from {listed(tied)}"
    return f"{text}, but cannot be told apart from {listed(tied)}; the others are significantly behind"


def _about(found: Ranking) -> str:
    counts = sorted(set(found.sentences.values()))
    sentences = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    layer = (
        "each model in the layer that is best for it on the other half of the sentences"
        if found.settings["layer"] is None
        else f"layer {found.settings['layer']}"
    )
    centered = ", each language's mean removed" if found.settings["center"] == "mean" else ""
    resampled = "sentences" + (
        " and languages (--over sentences: for these alone)" if found.over == "languages" else ""
    )
    return (
        f"P@1 in % by {found.settings['method']}{centered} among {sentences} sentences, the mean of both directions "
        f"and of {counted(len(found.pairs), 'pairs')} of languages, {layer}. Intervals and paired tests over "
        f"{resampled}; models that share a letter do not differ significantly (5 %, Holm), "
        "which does not show that they are equal"
    )


def _figure(found: Ranking) -> Figure:
    drawn = [
        Bar(group=each.name, value=100 * each.score.value, low=100 * each.score.low, high=100 * each.score.high)
        for each in found.models
    ]
    return bars(
        drawn,
        name="ranking",
        title=ranking_finding(found),
        caption="Translations found by each model with 95 % intervals. Differences are paired and known better than "
        "the intervals suggest: models whose intervals overlap may differ significantly.",
        x="translations found (P@1), %",
    )


def _models_table(found: Ranking) -> Table:
    rows = [
        {
            "rank": "–".join(dict.fromkeys(map(str, each.ranks))),
            "model": each.name,
            "score": each.score,
            "behind": each.behind,
            "layer": ", ".join(map(str, each.layers)),
            "groups": each.groups,
        }
        for each in found.models
    ]
    columns = [
        Column("rank", note="All ranks that the tests leave open."),
        Column("model"),
        Column("score", "P@1, %", **_PERCENT),
        Column("behind", "behind the first, points", **_PERCENT),
        Column("layer", align="right", note="Two where the halves of the sentences chose differently."),
        Column("groups", "ties"),
    ]
    return Table.from_rows(rows, columns, caption="Ranking; models that share a letter are ties")


def _languages_table(found: Ranking) -> Table:
    codes = found.models[0].by_language
    rows = [{"model": each.name, **each.by_language} for each in found.models]
    columns = [Column("model"), *(Column(code, language_name(code), best="max", **_PERCENT) for code in codes)]
    return Table.from_rows(rows, columns, caption="Ranking by language: P@1 in %, the mean over its pairs")


def _tests_table(found: Ranking) -> Table:
    rows = [
        {"better": one.name, "worse": other.name, "lead": one.score.value - other.score.value, "p": found.p_MM[at, to]}
        for at, one in enumerate(found.models)
        for to, other in enumerate(found.models)
        if at < to
    ]
    columns = [
        Column("better", "higher score"),
        Column("worse", "lower score"),
        Column("lead", "difference, points", **_PERCENT),
        Column("p", format=".2g", note="Corrected for the number of tests (Holm)."),
    ]
    return Table.from_rows(rows, columns, caption="Ranking: tests of every two")

"""Result of ``isoglot fix``: what was tried, before and after by pair, and the cost to each language alone."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from isoglot.core.table import Column, Table
from isoglot.diagnose.findings import percent, points
from isoglot.diagnose.repair.fixing import in_words
from isoglot.diagnose.repair.onnx_model import ONNX
from isoglot.diagnose.repair.own_task import FIGURES
from isoglot.diagnose.repair.treatments import TREATMENTS
from isoglot.report.page import Page, Section
from isoglot.report.results import Rendering

if TYPE_CHECKING:
    from isoglot.diagnose.repair.fixing import FixedModel

_PERCENT: dict[str, Any] = {"unit": "%", "scale": 100, "format": ".1f"}
_POINTS: dict[str, Any] = {"unit": "points", "scale": 100, "format": "+.1f"}


def fix_result(found: FixedModel) -> Rendering:
    """A fix as JSON, a page and tables."""
    from rich.console import Group
    from rich.text import Text

    said, tables = findings(found), fix_tables(found)
    page = Page(
        title=f"A fix for {found.model}",
        lead=said[0][:1].upper() + said[0][1:],
        sections=[
            Section(title="What to know", body=list(said[1:])),
            *(Section(title=name, body=[table]) for name, table in tables.items()),
        ],
    )
    shown = [part for name, table in tables.items() for part in (Text(f"\n{name}"), table)]
    return Rendering(
        found.as_dict() | {"findings": said},
        Group(*map(Text, said), *shown),
        lambda foot: replace(page, facts=[*found.remarks, *foot]).files(),
        found.remarks,
    )


def findings(found: FixedModel) -> list[str]:
    """The result in sentences; the first is the verdict."""
    choice = found.choice
    before = next(each.found for each in choice.tried if (each.layer, each.name) == choice.before)
    after = next(each.found for each in choice.tried if (each.layer, each.name) == choice.best)
    if choice.best == choice.before:
        said = [f"Nothing that was tried is better than the model as it is: P@1 {percent(before)}."]
    else:
        sure = "" if choice.recommended else ", which may be chance: it is not recommended"
        low, high = 100 * choice.gain.low, 100 * choice.gain.high
        verdict = (
            f"{in_words(found, choice.best)}: P@1 from {percent(before)} to {percent(after)}, a gain of "
            f"{100 * choice.gain.value:+.1f} points ({low:+.1f} to {high:+.1f}){sure}."
        )
        said = [verdict]
    for task in found.tasks:
        sure = "surely worse" if task.is_worse else "better" if task.gain["ndcg"].low > 0 else "not surely different"
        gain = points(task.gain["ndcg"])
        said.append(f"Your own task {task.title} is {sure} after the fix: {FIGURES['ndcg']} {gain}.")
    worse = [each.code for each in choice.languages if each.change is not None and each.change.high < 0]
    if worse:
        said.append(f"Retrieval inside {', '.join(worse)} is worse after the fix: see the cost to each language.")
    if choice.beyond_repair:
        said.append(f"Beyond repair: no fix finds translations of {', '.join(choice.beyond_repair)}.")
    if choice.csls[1].low > 0:
        said.append(f"CSLS at search time would add {100 * choice.csls[1].value:.1f} points after the fix.")
    if choice.fallback is not None:
        said.append(
            f"The fix needs the language of a text; the best that does not: {in_words(found, choice.fallback)}."
        )
    if found.written is None:
        said.append("No model is written; --out DIR --set method=NAME writes one with the fix of that name.")
    else:
        call = 'encode(texts, task="de"), or encode(texts) for other languages' if choice.fallback else "encode(texts)"
        said.append(
            f"Written with: {in_words(found, found.written)}. Loaded again, its vectors differ by at most "
            f"{found.difference:.1g}. Use it as SentenceTransformer(DIR).{call}."
        )
    if found.onnx_difference is not None:
        said.append(f"With onnxruntime, the vectors of {ONNX} differ by at most {found.onnx_difference:.1g}.")
    return said


def fix_tables(found: FixedModel) -> dict[str, Table]:
    """Tables of pairs, of languages and of all that was tried."""
    choice = found.choice
    pairs = [
        {"pair": f"{each.source}-{each.target}", "before": each.before, "after": each.after, "gain": each.gain}
        for each in choice.pairs
    ]
    alone = [
        {"language": each.code, "before": each.before, "after": each.after, "change": each.change, "kept": each.kept}
        for each in choice.languages
        if each.before is not None
    ]
    tried = [
        {
            "layer": each.layer,
            "fix": TREATMENTS[each.name].title,
            "needs": "yes" if each.needs_language else "no",
            "found": each.found,
            "gain": each.gain,
        }
        for each in choice.tried
    ]
    shares = [Column("before", **_PERCENT), Column("after", **_PERCENT)]
    own = [Column("language"), *shares, Column("change", **_POINTS), Column("kept", "neighbors kept", **_PERCENT)]
    one_layer = len({each.layer for each in choice.tried}) == 1
    fixes = [
        *([] if one_layer else [Column("layer")]),
        Column("fix"),
        Column("needs", "needs the language"),
        Column("found", "P@1", **_PERCENT),
    ]
    tables = {"Translations found": Table.from_rows(pairs, [Column("pair"), *shares, Column("gain", **_POINTS)])}
    if len(choice.languages) > 1:
        mixed = [asdict(each) for each in choice.mixed]
        columns = [Column("finds", "nearest neighbor"), *shares, Column("change", **_POINTS)]
        tables["In one pool of all languages"] = Table.from_rows(mixed, columns)
    for task in found.tasks:
        rows = [
            {"figure": words, "before": task.before[name], "after": task.after[name], "gain": task.gain[name]}
            for name, words in FIGURES.items()
        ]
        name = f"Your own task {task.title}: {task.queries:,} queries, {task.documents:,} documents"
        tables[name] = Table.from_rows(rows, [Column("figure"), *shares, Column("gain", **_POINTS)])
    if alone:
        tables["Inside each language: shortened copies found"] = Table.from_rows(alone, own)
    return tables | {"What was tried": Table.from_rows(tried, [*fixes, Column("gain", **_POINTS)])}

"""The page of erasing: what each way to take the language out costs, in one figure, and layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.report.lines import Line, line_chart
from isoglot.report.page import Figure, Section, page, table
from isoglot.report.scatter import Point, colours_of, scatter
from isoglot.report.svg_file import svg_file
from isoglot.steer.erasers.trade_off import NOTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.steer.erasers.trade_off import ErasureScore, TradeOff

_MOST_LINES = 7
HEAD = ("", "language told, %", "not linearly, %", "translations found, %", "control", "harmonic", "change")
_ABOUT = (
    "Language told: how often a linear probe names the language of a sentence it has not seen; chance is as good as no "
    "language left. Not linearly: the same with squares of coordinates beside them, for what a linear probe cannot "
    "see. Translations found: P@1 by cosine among all sentences, every pair of languages in both directions. Control: "
    "1 where the probe is at chance, 0 where it is always right; harmonic: its harmonic mean with translations found. "
    "Change: how far sentences moved, their own squared spread being 1."
)


def erase_page(found: Sequence[TradeOff], shown: TradeOff, *, saved: str, facts: Sequence[str] = ()) -> str:
    """The page.

    Args:
        found: The trade-off in every layer.
        shown: That of the layer to show in full.
        saved: What was saved, in a sentence.
        facts: Lines for the foot.
    """
    sections = [
        Section(
            title=f"Layer {shown.layer}: every way from where it begins to where it ends",
            words=(saved,),
            figures=(Figure(drawing=_drawn(shown), caption=_caption(shown)),),
        ),
        Section(
            title="In figures",
            words=(_ABOUT, _learned(shown)),
            table=table(HEAD, [figures(row) for row in shown.rows]),
        ),
    ]
    if len(found) > 1:
        sections.append(_layers(found))
    return page("What taking the language out costs", erase_finding(shown), sections, facts=facts)


def erase_svg(shown: TradeOff) -> str:
    """The figure as a picture on its own."""
    note = f"layer {shown.layer}, {', '.join(shown.languages)}, {shown.sentences:,} sentences; up and left is better"
    return svg_file(_drawn(shown), _short(shown), note)


def erase_finding(shown: TradeOff) -> str:
    """What the best way does to the probe and to retrieval, in a sentence or two."""
    before, best = shown.before, shown.best
    if best.name == before.name:
        return f"In layer {shown.layer} no way to take the language out is better than to leave it."
    text = (
        f"In layer {shown.layer}, {best.name} brings the language probe from {_percent(before.probe)} to "
        f"{_percent(best.probe)} (chance is {_percent(shown.chance)}), and translations found go from "
        f"{_percent(before.retrieval)} to {_percent(best.retrieval)}."
    )
    if best.spread - shown.chance > 0.1:
        text += f" A probe that is not linear still tells {_percent(best.spread)}."
    return text


def figures(row: ErasureScore) -> list[str]:
    """One way as a line of a table."""
    return [
        way_name(row),
        *(f"{100 * value:.1f}" for value in (row.probe, row.spread, row.retrieval)),
        *(f"{value:.3f}" for value in (row.control, row.harmonic, row.change)),
    ]


def way_name(row: ErasureScore) -> str:
    """A way as it is called where it is shown."""
    return "as it is" if row.name == NOTHING else row.name


def _short(shown: TradeOff) -> str:
    best = shown.best
    return f"{best.name}: language told {_percent(best.probe)}, translations found {_percent(best.retrieval)}"


def _drawn(shown: TradeOff) -> str:
    start, *ends = (Point(name=way_name(row), x=100 * row.probe, y=100 * row.retrieval) for row in shown.rows)
    return scatter(
        start,
        ends,
        across="language told by a linear probe, %",
        up="translations found (P@1), %",
        line_at=100 * shown.chance,
        line_name="chance",
    )


def _caption(shown: TradeOff) -> str:
    return (
        f"The square is where all begin; up is more meaning kept, left is less language. {', '.join(shown.languages)}, "
        f"{shown.sentences:,} parallel sentences. The shift brings every language to {shown.pivot}."
    )


def _learned(shown: TradeOff) -> str:
    return (
        f"Each is learned on {shown.folds - 1} of {shown.folds} parts of the sentences and tried on the other, in turn."
    )


def _layers(found: Sequence[TradeOff]) -> Section:
    names = [row.name for row in found[0].rows]
    best = max(found, key=lambda each: each.best.rank)
    ranked = sorted(names, key=lambda name: -max(each.of(name).harmonic for each in found))[:_MOST_LINES]
    lines = [
        Line(
            name=way_name(found[0].of(name)),
            points=[(float(each.layer or 0), each.of(name).harmonic) for each in found],
            color=color,
        )
        for name, color in zip(names, colours_of(len(names)), strict=True)
        if name in ranked
    ]
    caption = "1: no language left and every translation found."
    if len(names) > len(ranked):
        low = (way_name(found[0].of(name)) for name in names if name not in ranked)
        caption += f" Not drawn, for they stay lowest: {', '.join(low)}."
    drawing = line_chart(lines, across="layer", up="harmonic mean of control and P@1", whole=True)
    rows = [
        [str(each.layer), way_name(each.best), *figures(each.best)[1:4], f"{100 * each.before.retrieval:.1f}"]
        for each in found
    ]
    head = ("layer", "best way", "language told, %", "not linearly, %", "translations found, %", "before, %")
    return Section(
        title=f"Layer by layer: best in layer {best.layer}, by {best.best.name}",
        figures=(Figure(drawing=drawing, caption=caption),),
        table=table(head, rows, numbers_from=2),
    )


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"

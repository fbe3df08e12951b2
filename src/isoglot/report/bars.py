"""A chart of horizontal bars as SVG: groups of bars with a name each, whiskers, and a legend of what the bars are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.report.axes import round_step, rounded_up, ticks
from isoglot.report.lines import COLORS
from isoglot.report.markup import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_BAR, _GAP, _TOP, _BOTTOM = 11, 10, 30, 46
_ROW = 18  # of the legend


@dataclass(frozen=True)
class Bar:
    """A value, with the ends of its interval where there is one."""

    value: float
    low: float | None = None
    high: float | None = None


def bar_chart(groups: Mapping[str, Mapping[str, Bar]], *, across: str, width: int = 720) -> str:
    """Draw a group of bars for each name, from 0 to the right or to the left.

    Args:
        groups: Bars by name of the group and by what they are; at most six of a group.
        across: What the horizontal axis is, with its unit.
        width: The drawing's width.

    Returns:
        An ``svg`` element.
    """
    kinds = list(dict.fromkeys(kind for bars in groups.values() for kind in bars))
    every = [bar for bars in groups.values() for bar in bars.values()]
    ends = [0.0, *(end for bar in every for end in (bar.value, bar.low, bar.high) if end is not None)]
    least = min(ends)
    most = max(ends) if max(ends) > least else 1.0
    step = round_step(least, most)
    marks = ticks(-rounded_up(-least, step), rounded_up(most, step), step)
    left = 24 + int(7.2 * max(map(len, groups), default=0))
    block = _BAR * len(kinds) + _GAP
    legend, top = _legend(kinds, left, width)
    height = top + block * len(groups) + _BOTTOM
    inside = width - left - 20

    def x(value: float) -> float:
        return left + (value - marks[0]) / (marks[-1] - marks[0]) * inside

    foot = top + block * len(groups)
    parts = [
        f"<line x1='{x(mark):.1f}' x2='{x(mark):.1f}' y1='{top}' y2='{foot}' class='grid'/>"
        f"<text x='{x(mark):.1f}' y='{foot + 16}' class='tick' text-anchor='middle'>{mark:g}</text>"
        for mark in marks
    ]
    for row, (name, bars) in enumerate(groups.items()):
        first = top + row * block + _GAP / 2
        middle = first + _BAR * len(kinds) / 2 + 4
        parts.append(f"<text x='{left - 8}' y='{middle:.1f}' class='tick' text-anchor='end'>{escape(name)}</text>")
        for place, kind in enumerate(kinds):
            if kind in bars:
                parts.append(_drawn(bars[kind], x, first + place * _BAR, COLORS[place % len(COLORS)], kind))
    parts.append(f"<line x1='{x(0):.1f}' x2='{x(0):.1f}' y1='{top}' y2='{foot}' stroke='#323f4b'/>")
    center = left + inside / 2
    parts.append(f"<text x='{center:.1f}' y='{foot + 38}' class='axis' text-anchor='middle'>{escape(across)}</text>")
    parts += legend
    return f"<svg viewBox='0 0 {width} {height}' role='img'>{''.join(parts)}</svg>"


def _legend(kinds: Sequence[str], left: int, width: int) -> tuple[list[str], int]:
    """What the bars are, in as many rows as it takes, and where the bars begin below it."""
    parts, start, row = [], float(left), 0
    for place, kind in enumerate(kinds):
        wide = 34 + 7.2 * len(kind)
        if start + wide > width and start > left:
            start, row = float(left), row + 1
        color, y = COLORS[place % len(COLORS)], 8 + _ROW * row
        parts.append(f"<rect x='{start:.1f}' y='{y}' width='11' height='11' fill='{color}'/>")
        parts.append(f"<text x='{start + 16:.1f}' y='{y + 10}' class='name' fill='{color}'>{escape(kind)}</text>")
        start += wide
    return parts, _TOP + _ROW * row


def _drawn(bar: Bar, place: Callable[[float], float], top: float, color: str, kind: str) -> str:
    start, end = sorted((place(0.0), place(bar.value)))
    found = (
        f"<rect x='{start:.1f}' y='{top:.1f}' width='{max(end - start, 0.8):.1f}' height='{_BAR - 2}' fill='{color}'>"
        f"<title>{escape(kind)}: {bar.value:.3g}</title></rect>"
    )
    if bar.low is not None and bar.high is not None:
        y = top + _BAR / 2 - 1
        found += (
            f"<line x1='{place(bar.low):.1f}' x2='{place(bar.high):.1f}' y1='{y:.1f}' y2='{y:.1f}' "
            "stroke='#1f2933' stroke-width='1.2'/>"
        )
    return found

"""A line chart as SVG: a title that states the finding, labelled axes, and each line's name at its end.

It needs no drawing library, scales with the page, and is the same bytes for the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from statistics import fmean
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

# Okabe and Ito's colours, which stay apart for the colour-blind; lines also differ in their dashes, for print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#9A5B8F", "#5B5B5B", "#B8860B")
DASHES = ("", "7 4", "2 4", "9 3 2 3", "", "7 4")
_LEFT, _TOP, _BOTTOM = 58, 20, 52
_NAME = 13


@dataclass(frozen=True, kw_only=True)
class Line:
    """A named line through points."""

    name: str
    points: Sequence[tuple[float, float]]


def line_chart(
    lines: Sequence[Line],
    *,
    across: str,
    up: str,
    floor_at: float | None = None,
    floor_name: str = "chance",
    whole: bool = False,
    width: int = 720,
    height: int = 340,
) -> str:
    """Draw lines over the same axes, from 0 up, or from what is below 0.

    Args:
        lines: What to draw, at most six.
        across: What the horizontal axis is, with its unit.
        up: What the vertical axis is, with its unit.
        floor_at: A value to mark with a thin level line, such as chance.
        floor_name: Its name.
        whole: Whether the horizontal axis counts whole things, such as layers.
        width: The drawing's width; names of lines are inside it.
        height: Its height.

    Returns:
        HTML: an ``svg`` element, and a legend for screens so narrow that the ends of lines are out of sight.
    """
    right = 16 + int(7.0 * max([len(line.name) for line in lines] + [len(floor_name)]))
    plot = _Plot(lines, width - _LEFT - right, height - _TOP - _BOTTOM, whole=whole)
    parts = [*_axes(plot, across, up)]
    ends = [plot.y(line.points[-1][1] if line.points else 0.0) for line in lines]
    if floor_at is not None:
        ends.append(plot.y(floor_at))
    places = spread(ends, 8, height - 8, _NAME)
    if floor_at is not None:
        parts.append(
            f"<line x1='{_LEFT}' x2='{_LEFT + plot.width}' y1='{ends[-1]:.1f}' y2='{ends[-1]:.1f}' class='floor'/>"
            f"<text x='{_LEFT + plot.width + 8}' y='{places[-1] + 4:.1f}' class='name' fill='#777'>"
            f"{escape(floor_name)}</text>"
        )
    for number, (line, place) in enumerate(zip(lines, places, strict=False)):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        points = [(plot.x(x), plot.y(y)) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dots = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3'/>" for x, y in points) if len(points) < 20 else ""
        parts.append(
            f"<g fill='{colour}' stroke='{colour}'><polyline points='{path}' fill='none' stroke-width='2' "
            f"stroke-dasharray='{dash}'/>{dots}</g><text x='{_LEFT + plot.width + 8}' y='{place + 4:.1f}' class='name' "
            f"fill='{colour}'>{escape(line.name)}</text>"
        )
    said = escape(f"{up} over {across}: {', '.join(line.name for line in lines)}", {"'": "&#39;"})
    legend = "".join(
        f"<li style='--c:{COLOURS[number % len(COLOURS)]}'>{escape(line.name)}</li>"
        for number, line in enumerate(lines)
    )
    return (
        f"<div class='scroll'><svg viewBox='0 0 {width} {height}' role='img' aria-label='{said}'>{''.join(parts)}</svg>"
        f"</div><ul class='legend'>{legend}</ul>"
    )


class _Plot:
    """Where values are drawn."""

    def __init__(self, lines: Sequence[Line], width: int, height: int, *, whole: bool) -> None:
        xs = [x for line in lines for x, _ in line.points] or [0.0, 1.0]
        self.width, self.height = width, height
        self.low, self.high = min(xs), max([*xs, min(xs) + 1e-9])
        heights = [y for line in lines for _, y in line.points]
        self.foot, self.top = min([0.0, *heights]), max([1e-9, *heights]) * 1.05
        self.across = _ticks(self.low, self.high, whole=whole)
        self.up = _ticks(self.foot, self.top, whole=False)

    def x(self, value: float) -> float:
        return _LEFT + (value - self.low) / (self.high - self.low) * self.width

    def y(self, value: float) -> float:
        return _TOP + (self.top - value) / (self.top - self.foot) * self.height


def _ticks(low: float, high: float, *, whole: bool) -> list[float]:
    """Round numbers between two values, about five."""
    if whole:
        step: float = max(1, round((high - low) / 8))
    else:
        rough = (high - low) / 5
        unit = 10.0 ** floor(log10(rough))
        step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough * 0.999)
    first = -floor(-low / step)
    count = floor(high / step + 1e-9) - first + 1
    return [(first + number) * step for number in range(count)]


def spread(wanted: Sequence[float], top: float, foot: float, gap: float) -> list[float]:
    """Places for names: as near to the wanted ones as can be, in the same order, no two nearer than a gap.

    With a gap taken off for each name above, places need only never fall: where wanted ones do, they become their mean.

    >>> spread([50.0, 10.0, 52.0], 0, 100, 12)
    [45.0, 10.0, 57.0]
    """
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    groups: list[list[float]] = []
    for number, at in enumerate(order):
        groups.append([wanted[at] - number * gap])
        while len(groups) > 1 and fmean(groups[-2]) > fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    level = [fmean(group) for group in groups for _ in group]
    last = foot - (len(order) - 1) * gap
    places = list(wanted)
    for number, at in enumerate(order):
        places[at] = max(top, min(level[number], last)) + number * gap
    return places


def _axes(plot: _Plot, across: str, up: str) -> list[str]:
    foot = _TOP + plot.height
    parts = []
    for value in plot.up:
        y = plot.y(value)
        parts.append(
            f"<line x1='{_LEFT}' x2='{_LEFT + plot.width}' y1='{y:.1f}' y2='{y:.1f}' class='grid'/>"
            f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' class='tick' text-anchor='end'>{value:g}</text>"
        )
    for value in plot.across:
        x = plot.x(value)
        parts.append(f"<text x='{x:.1f}' y='{foot + 18}' class='tick' text-anchor='middle'>{value:g}</text>")
    middle = _LEFT + plot.width / 2
    parts.append(f"<text x='{middle:.1f}' y='{foot + 42}' class='axis' text-anchor='middle'>{escape(across)}</text>")
    height = _TOP + plot.height / 2
    parts.append(
        f"<text transform='translate(14 {height:.1f}) rotate(-90)' class='axis' text-anchor='middle'>"
        f"{escape(up)}</text>"
    )
    return parts

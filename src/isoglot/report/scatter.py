"""Points as SVG: where each of several ways ends that all begin at one point, every name beside the drawing.

Ways that come to nearly the same lie on top of each other; so names stand in a column at the right, each with a line
from its point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.report.axes import LEFT, Axes, round_step, rounded_up, ticks
from isoglot.report.lines import COLORS, spread
from isoglot.report.markup import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH, _HEIGHT = 720, 400
_TOP, _BOTTOM, _GAP, _LETTER = 26, 56, 17, 7.0
_START = "#1f2933"


@dataclass(frozen=True, kw_only=True)
class Point:
    """A named point, both coordinates from 0 to 100."""

    name: str
    x: float
    y: float


def scatter(
    start: Point,
    ends: Sequence[Point],
    *,
    across: str,
    up: str,
    line_at: float,
    line_name: str,
) -> str:
    """Draw a point that all begin at and where each of them ends, with an arrow to it.

    Args:
        start: Where all begin.
        ends: Where each ends.
        across: What the horizontal axis is, in percent.
        up: What the vertical axis is, in percent.
        line_at: A value of the horizontal axis to mark, such as chance.
        line_name: Its name.

    Returns:
        HTML: an ``svg`` element, and a legend for screens so narrow that the column of names is out of sight.
    """
    points = [start, *ends]
    longest = max(len(point.name) for point in points)
    plot = _axes(points, line_at, _WIDTH - LEFT - 44 - int(_LETTER * longest), _HEIGHT - _TOP - _BOTTOM)
    colors = colours_of(len(points))
    parts = [*plot.drawn(across, up), _marked(plot, line_at, line_name)]
    x0, y0 = plot.x(start.x), plot.y(start.y)
    for point, color in zip(ends, colors[1:], strict=True):
        parts.append(
            f"<line x1='{x0:.1f}' y1='{y0:.1f}' x2='{plot.x(point.x):.1f}' y2='{plot.y(point.y):.1f}' "
            f"stroke='{color}' stroke-opacity='.35' stroke-width='1.5'/>"
        )
    places = spread([plot.y(point.y) for point in points], _TOP + 4, _TOP + plot.height, _GAP)
    column = LEFT + plot.width + 30
    for point, color, place in zip(points, colors, places, strict=True):
        x, y = plot.x(point.x), plot.y(point.y)
        said = escape(f"{point.name}: {point.x:.1f} % and {point.y:.1f} %")
        mark = (
            f"<rect x='{x - 5:.1f}' y='{y - 5:.1f}' width='10' height='10' fill='{color}'>"
            if point is start
            else f"<circle cx='{x:.1f}' cy='{y:.1f}' r='5' fill='{color}' stroke='#fff'>"
        )
        end = "</rect>" if point is start else "</circle>"
        parts.append(
            f"<polyline points='{x:.1f},{y:.1f} {column - 14},{place:.1f} {column - 4},{place:.1f}' fill='none' "
            f"stroke='{color}' stroke-width='.8' stroke-dasharray='2 3'/>{mark}<title>{said}</title>{end}"
            f"<text x='{column}' y='{place + 4:.1f}' class='name' fill='{color}'>{escape(point.name)}</text>"
        )
    legend = "".join(
        f"<li style='--c:{color}'>{escape(point.name)}</li>" for point, color in zip(points, colors, strict=True)
    )
    label = escape(f"{up} against {across}: {', '.join(point.name for point in points)}")
    return (
        f"<div class='scroll'><svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='{label}'>"
        f"{''.join(parts)}</svg></div><ul class='legend'>{legend}</ul>"
    )


def colours_of(points: int) -> list[str]:
    """The colors of the point that all begin at and of each end, for other drawings of the same ways.

    >>> colours_of(2)
    ['#1f2933', '#0072B2']
    """
    return [_START, *(COLORS[number % len(COLORS)] for number in range(points - 1))]


def _axes(points: Sequence[Point], line_at: float, width: int, height: int) -> Axes:
    """Both axes; the horizontal one begins a little before what is lowest."""
    low = max(0.0, 10 * ((min([line_at, *(point.x for point in points)]) - 2) // 10))
    most = max([1e-9, *(point.y for point in points)])
    step = round_step(0.0, most)
    top = rounded_up(most, step)
    return Axes(
        low=low,
        high=100.0,
        across=ticks(low, 100.0, 10 if low >= 40 else 20),
        foot=0.0,
        top=top,
        up=ticks(0.0, top, step),
        width=width,
        height=height,
        head=_TOP,
    )


def _marked(plot: Axes, value: float, name: str) -> str:
    x = plot.x(value)
    return (
        f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{_TOP}' y2='{_TOP + plot.height}' class='floor'/>"
        f"<text x='{x + 4:.1f}' y='{_TOP - 8}' class='tick'>{escape(name)}</text>"
    )

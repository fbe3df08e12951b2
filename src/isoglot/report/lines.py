"""A line chart as SVG: a title that states the finding, labeled axes, and each line's name at its end.

It needs no drawing library, scales with the page, and is the same bytes for the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from isoglot.report.axes import LEFT, Axes, round_step, rounded_up, ticks
from isoglot.report.markup import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

# Okabe and Ito's colors, which stay apart for the color-blind; lines also differ in their dashes, for print.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#9A5B8F", "#5B5B5B", "#B8860B")
DASHES = ("", "7 4", "2 4", "9 3 2 3", "", "7 4")
_TOP, _BOTTOM = 20, 52
_NAME = 13


@dataclass(frozen=True, kw_only=True)
class Line:
    """A named line through points."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()
    """A place on the horizontal axis with what is shaded there, from a value to another: such as an interval."""
    color: str | None = None
    """Left out: by its place among the lines."""


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
        lines: What to draw, at most six unless they have colors.
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
    plot = _axes(lines, floor_at, width - LEFT - right, height - _TOP - _BOTTOM, whole=whole)
    parts = plot.drawn(across, up)
    ends = [plot.y(line.points[-1][1] if line.points else 0.0) for line in lines]
    if floor_at is not None:
        ends.append(plot.y(floor_at))
    places = spread(ends, 8, height - 8, _NAME)
    if floor_at is not None:
        parts.append(
            f"<line x1='{LEFT}' x2='{LEFT + plot.width}' y1='{ends[-1]:.1f}' y2='{ends[-1]:.1f}' class='floor'/>"
            f"<text x='{LEFT + plot.width + 8}' y='{places[-1] + 4:.1f}' class='name' fill='#777'>"
            f"{escape(floor_name)}</text>"
        )
    colors = [line.color or COLORS[number % len(COLORS)] for number, line in enumerate(lines)]
    for number, (line, color, place) in enumerate(zip(lines, colors, places, strict=False)):
        dash = DASHES[number % len(DASHES)]
        points = [(plot.x(x), plot.y(y)) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dots = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3'/>" for x, y in points) if len(points) < 20 else ""
        if line.band:
            parts.append(_shaded(plot, line.band, color))
        parts.append(
            f"<g fill='{color}' stroke='{color}'><polyline points='{path}' fill='none' stroke-width='2' "
            f"stroke-dasharray='{dash}'/>{dots}</g><text x='{LEFT + plot.width + 8}' y='{place + 4:.1f}' class='name' "
            f"fill='{color}'>{escape(line.name)}</text>"
        )
    said = escape(f"{up} over {across}: {', '.join(line.name for line in lines)}")
    legend = "".join(
        f"<li style='--c:{color}'>{escape(line.name)}</li>" for line, color in zip(lines, colors, strict=True)
    )
    return (
        f"<div class='scroll'><svg viewBox='0 0 {width} {height}' role='img' aria-label='{said}'>{''.join(parts)}</svg>"
        f"</div><ul class='legend'>{legend}</ul>"
    )


def _axes(lines: Sequence[Line], floor_at: float | None, width: int, height: int, *, whole: bool) -> Axes:
    """Both axes; the vertical one from 0, or what is below it, to the first tick that nothing is above."""
    xs = [x for line in lines for x, _ in line.points] or [0.0, 1.0]
    low, high = min(xs), max(xs)
    if high - low < 1e-9:  # one place has one tick
        across, high = [low], low + 1
    else:
        across = ticks(low, high, max(1, round((high - low) / 8)) if whole else round_step(low, high))
    ys = [0.0 if floor_at is None else floor_at, *(y for line in lines for _, y in line.points)]
    ys += [y for line in lines for _, *ends in line.band for y in ends]
    least, most = min([0.0, *ys]), max([1e-9, *ys])
    step = round_step(least, most)
    foot, top = min(least, round(least / step) * step), rounded_up(most, step)
    return Axes(
        low=low,
        high=high,
        across=across,
        foot=foot,
        top=top,
        up=ticks(foot, top, step),
        width=width,
        height=height,
        head=_TOP,
    )


def _shaded(plot: Axes, band: Sequence[tuple[float, float, float]], color: str) -> str:
    around = [(x, low) for x, low, _ in band] + [(x, high) for x, _, high in reversed(band)]
    points = " ".join(f"{plot.x(x):.1f},{plot.y(y):.1f}" for x, y in around)
    return f"<polygon points='{points}' fill='{color}' fill-opacity='.14'/>"


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

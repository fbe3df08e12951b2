"""A heat map as SVG: rows by columns, the color and the number in each cell, a bar that says what colors mean.

Like the line chart it needs no drawing library and is the same bytes for the same numbers.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from isoglot.report.markup import escape

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# ColorBrewer's YlGnBu: light is low, dark is high, and lightness falls all the way, so that it is read the same by the
# color-blind and from a black and white print.
RAMP = ("#ffffd9", "#edf8b1", "#c7e9b4", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#253494", "#081d58")
_DARK, _LIGHT = "#000000", "#ffffff"  # the better of the two has a contrast of at least 4.5 on any ground
_LETTER = 6.9  # about the width of a letter at 12.5 px
_CELL, _LEAST, _TALL, _SLANT = 64, 14, 34, 20
_BAR, _BAR_AT, _BAR_SPACE, _STEPS = 14, 28, 84, 48
_HATCH = (
    "<defs><pattern id='gap' width='6' height='6' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
    "<rect width='6' height='6' fill='#fff'/><line x1='0' x2='0' y1='0' y2='6' stroke='#b8b2a3' stroke-width='2'/>"
    "</pattern></defs>"
)


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    across: str,
    up: str,
    low: float,
    high: float,
    form: str = "z.2f",
    marked: Collection[tuple[int, int]] = (),
    scale: str = "",
    width: int = 720,
) -> str:
    """Draw a table of numbers as colors.

    Args:
        rows: The rows' names, from the top down.
        columns: The columns' names, from the left.
        values: A row of cells for each row; None or NaN is a missing cell, which is hatched.
        across: What the columns are.
        up: What the rows are.
        low: The value of the lightest color; values below it have the same.
        high: The value of the darkest color.
        form: How numbers are written, as in ``format(value, form)``.
        marked: Cells to put a frame around, as (row, column) from 0; the caption says why.
        scale: What the numbers are, in a word or two, above the color bar.
        width: The least width of the drawing; one with more columns than fit is wider, and scrolls.

    Returns:
        HTML: an ``svg`` element in a block that scrolls where the screen is narrow.
    """
    if len(values) != len(rows) or any(len(row) != len(columns) for row in values):
        raise ValueError(f"{len(rows)} rows and {len(columns)} columns need as many values")
    plan = _Plan(rows, columns, values, up, form, scale, width)
    cells = [
        _cell(plan, at, value, low, high, form, f"{rows[at[0]]}, {columns[at[1]]}")
        for at, value in (((r, c), values[r][c]) for r in range(len(rows)) for c in range(len(columns)))
    ]
    gaps = any(not _known(value) for row in values for value in row)
    parts = [
        _HATCH if gaps else "",
        *cells,
        _outline(plan),
        *(_frame(plan, at) for at in marked),
        *_names(plan, rows, columns, across, up),
        *_bar(plan, low, high, form, scale),
    ]
    if gaps:
        parts.append(_gap_key(plan))
    known = [value for row in values for value in row if value is not None and _known(value)]
    span = f", from {min(known):{form}} to {max(known):{form}}" if known else ""
    said = escape(f"{scale or 'values'} by {up} and {across}{span}")
    least = f" style='min-width:{plan.width:.0f}px'" if plan.width > width else ""
    return (
        f"<div class='scroll'><svg viewBox='0 0 {plan.width:.0f} {plan.height:.0f}' role='img' aria-label='{said}'"
        f"{least}>{''.join(parts)}</svg></div>"
    )


def color(value: float, low: float, high: float) -> str:
    """The color of a value between two ends.

    >>> color(0.0, 0.0, 1.0), color(1.0, 0.0, 1.0), color(7.0, 0.0, 1.0)
    ('#ffffd9', '#081d58', '#081d58')
    """
    share = 0.0 if high <= low else min(1.0, max(0.0, (value - low) / (high - low)))
    place = share * (len(RAMP) - 1)
    first = min(int(place), len(RAMP) - 2)
    ends = [_channels(RAMP[first + step]) for step in (0, 1)]
    mixed = [round(one + (other - one) * (place - first)) for one, other in zip(*ends, strict=True)]
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def contrast(one: str, other: str) -> float:
    """How far apart two colors are to the eye, from 1 to 21, as the Web Content Accessibility Guidelines reckon it.

    >>> round(contrast("#000000", "#ffffff"))
    21
    """
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def ink(ground: str) -> str:
    """The text color, dark or white, that is read better on that ground."""
    return max((_DARK, _LIGHT), key=lambda text: contrast(text, ground))


class _Plan:
    """Where everything stands."""

    def __init__(
        self,
        rows: Sequence[str],
        columns: Sequence[str],
        values: Sequence[Sequence[float | None]],
        up: str,
        form: str,
        scale: str,
        width: int,
    ) -> None:
        self.left = 40 + _LETTER * max([len(name) for name in rows], default=1)
        right = max(_BAR_SPACE, _BAR_AT + _LETTER * len(scale) + 8)
        room = (width - self.left - right) / max(1, len(columns))
        self.cell = max(_LEAST, min(_CELL, room))
        self.tall = max(_LEAST, min(_TALL, self.cell))
        longest = max((len(name) for name in columns), default=1)
        fits = longest * _LETTER <= self.cell - 4
        self.turned = 0 if fits else 45 if self.cell >= _SLANT else 90
        self.foot = 22.0 if fits else 16 + longest * _LETTER * (0.72 if self.turned == 45 else 1.0)
        self.grid_width, self.grid_height = self.cell * len(columns), self.tall * len(rows)
        # What the rows are stands beside them, or above where it is longer than they are tall.
        self.beside = len(up) * _LETTER <= self.grid_height + 20
        self.top = 30.0 if scale or not self.beside else 12.0
        # A heat map of one row is still as tall as its color bar.
        self.bar_height = max(self.grid_height, 90.0)
        texts = [format(value, form) for row in values for value in row if value is not None and _known(value)]
        self.numbers = max((len(text) for text in texts), default=0) * _LETTER + 5 <= self.cell
        self.width = max(float(width), self.left + self.grid_width + right)
        self.axis = self.top + self.grid_height + self.foot + 20
        self.height = max(self.axis + 14, self.top + self.bar_height + 44)

    def x(self, column: int) -> float:
        return self.left + column * self.cell

    def y(self, row: int) -> float:
        return self.top + row * self.tall

    @property
    def bar(self) -> float:
        return self.left + self.grid_width + _BAR_AT


def _known(value: float | None) -> bool:
    return value is not None and isfinite(value)


def _cell(plan: _Plan, at: tuple[int, int], value: float | None, low: float, high: float, form: str, name: str) -> str:
    x, y = plan.x(at[1]), plan.y(at[0])
    box = f"x='{x:.1f}' y='{y:.1f}' width='{plan.cell:.1f}' height='{plan.tall:.1f}' stroke='#fff'"
    if value is None or not isfinite(value):
        return f"<rect {box} fill='url(#gap)'><title>{escape(name)}: none</title></rect>"
    fill, text = color(value, low, high), format(value, form)
    number = (
        f"<text x='{x + plan.cell / 2:.1f}' y='{y + plan.tall / 2 + 4:.1f}' font-size='12' text-anchor='middle' "
        f"fill='{ink(fill)}' pointer-events='none'>{escape(text)}</text>"
        if plan.numbers
        else ""
    )
    return f"<rect {box} fill='{fill}'><title>{escape(f'{name}: {text}')}</title></rect>{number}"


def _outline(plan: _Plan) -> str:
    """The lightest color is near the paper's: a line says where the map ends."""
    return (
        f"<rect x='{plan.left:.1f}' y='{plan.top:.1f}' width='{plan.grid_width:.1f}' "
        f"height='{plan.grid_height:.1f}' fill='none' stroke='#dedad0'/>"
    )


def _frame(plan: _Plan, at: tuple[int, int]) -> str:
    """Dark with a white line inside it, to be seen on every color."""
    x, y = plan.x(at[1]), plan.y(at[0])
    return "".join(
        f"<rect x='{x + inset:.1f}' y='{y + inset:.1f}' width='{plan.cell - 2 * inset:.1f}' "
        f"height='{plan.tall - 2 * inset:.1f}' fill='none' stroke='{stroke}' stroke-width='{wide}' class='marked'/>"
        for inset, stroke, wide in ((0.0, "#1f2933", 2.5), (2.0, "#ffffff", 1.5))
    )


def _names(plan: _Plan, rows: Sequence[str], columns: Sequence[str], across: str, up: str) -> list[str]:
    parts = [
        f"<text x='{plan.left - 7:.1f}' y='{plan.y(number) + plan.tall / 2 + 4:.1f}' class='tick' text-anchor='end'>"
        f"{escape(name)}</text>"
        for number, name in enumerate(rows)
    ]
    under = plan.top + plan.grid_height + 16
    for number, name in enumerate(columns):
        x = plan.x(number) + plan.cell / 2
        place = (
            f"transform='translate({x + 4:.1f} {under - 3:.1f}) rotate(-{plan.turned})' text-anchor='end'"
            if plan.turned
            else f"x='{x:.1f}' y='{under:.1f}' text-anchor='middle'"
        )
        parts.append(f"<text {place} class='tick'>{escape(name)}</text>")
    middle = plan.left + plan.grid_width / 2
    parts.append(
        f"<text x='{middle:.1f}' y='{plan.axis:.1f}' class='axis' text-anchor='middle'>{escape(across)}</text>"
    )
    middle = plan.top + plan.grid_height / 2
    place = (
        f"transform='translate(14 {middle:.1f}) rotate(-90)' text-anchor='middle'" if plan.beside else "x='6' y='18'"
    )
    parts.append(f"<text {place} class='axis'>{escape(up)}</text>")
    return parts


def _bar(plan: _Plan, low: float, high: float, form: str, scale: str) -> list[str]:
    """The color bar, the high end at the top."""
    step = plan.bar_height / _STEPS
    parts = [
        f"<rect x='{plan.bar:.1f}' y='{plan.top + number * step:.2f}' width='{_BAR}' height='{step + 0.5:.2f}' "
        f"fill='{color(1 - number / (_STEPS - 1), 0.0, 1.0)}'/>"
        for number in range(_STEPS)
    ]
    parts.append(
        f"<rect x='{plan.bar:.1f}' y='{plan.top:.1f}' width='{_BAR}' height='{plan.bar_height:.1f}' fill='none' "
        "stroke='#b8b2a3'/>"
    )
    for share, value in ((0.0, high), (0.5, (low + high) / 2), (1.0, low)):
        y = plan.top + share * plan.bar_height + (9, 4, 0)[int(2 * share)]
        parts.append(
            f"<text x='{plan.bar + _BAR + 6:.1f}' y='{y:.1f}' class='tick'>{escape(format(value, form))}</text>"
        )
    if scale:
        parts.append(f"<text x='{plan.bar:.1f}' y='{plan.top - 12:.1f}' class='axis'>{escape(scale)}</text>")
    return parts


def _gap_key(plan: _Plan) -> str:
    y = plan.top + plan.bar_height + 14
    return (
        f"<rect x='{plan.bar:.1f}' y='{y:.1f}' width='{_BAR}' height='{_BAR}' fill='url(#gap)' stroke='#b8b2a3'/>"
        f"<text x='{plan.bar + _BAR + 6:.1f}' y='{y + 11:.1f}' class='tick'>none</text>"
    )


def _channels(text: str) -> tuple[int, ...]:
    return tuple(int(text[at : at + 2], 16) for at in (1, 3, 5))


def _luminance(text: str) -> float:
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in (part / 255 for part in _channels(text))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

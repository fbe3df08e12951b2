"""The axes of a drawing: where values stand between them, and ticks at round numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from isoglot.report.markup import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

LEFT = 58
"""What stands left of the vertical axis is so wide."""


@dataclass(frozen=True, kw_only=True)
class Axes:
    """Two axes: the values at their ends, their ticks, and their place in the drawing."""

    low: float
    high: float
    across: Sequence[float]
    """Ticks of the horizontal axis."""
    foot: float
    top: float
    up: Sequence[float]
    """Ticks of the vertical axis."""
    width: int
    height: int
    head: int
    """So far below the drawing's edge the vertical axis ends."""

    def x(self, value: float) -> float:
        """Where a value of the horizontal axis stands."""
        return LEFT + (value - self.low) / (self.high - self.low) * self.width

    def y(self, value: float) -> float:
        """Where a value of the vertical axis stands."""
        return self.head + (self.top - value) / (self.top - self.foot) * self.height

    def drawn(self, across: str, up: str) -> list[str]:
        """Level lines, ticks, and what the axes are."""
        parts, end, foot = [], LEFT + self.width, self.head + self.height
        for value in self.up:
            y = self.y(value)
            parts.append(
                f"<line x1='{LEFT}' x2='{end}' y1='{y:.1f}' y2='{y:.1f}' class='grid'/>"
                f"<text x='{LEFT - 8}' y='{y + 4:.1f}' class='tick' text-anchor='end'>{value:g}</text>"
            )
        for value in self.across:
            x = self.x(value)
            parts.append(f"<text x='{x:.1f}' y='{foot + 18}' class='tick' text-anchor='middle'>{value:g}</text>")
        x, y = LEFT + self.width / 2, self.head + self.height / 2
        parts.append(f"<text x='{x:.1f}' y='{foot + 42}' class='axis' text-anchor='middle'>{escape(across)}</text>")
        turned = f"transform='translate(14 {y:.1f}) rotate(-90)'"
        parts.append(f"<text {turned} class='axis' text-anchor='middle'>{escape(up)}</text>")
        return parts


def round_step(low: float, high: float) -> float:
    """A round number that is about a fifth of the way from one value to another.

    >>> [round_step(0, high) for high in (67, 100, 130)]
    [20.0, 20.0, 50.0]
    """
    rough = (high - low) / 5
    unit = 10.0 ** floor(log10(rough))
    return next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough * 0.999)


def ticks(low: float, high: float, step: float) -> list[float]:
    """The multiples of a step between two values.

    >>> ticks(-3, 10, 5)
    [0, 5, 10]
    """
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def rounded_up(value: float, step: float) -> float:
    """The first tick that is no lower than a value.

    >>> rounded_up(67, 20), rounded_up(60, 20)
    (80, 60)
    """
    return ceil(value / step - 1e-9) * step

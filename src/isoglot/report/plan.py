"""A sharing plan as a drawing: what each language has to itself side by side, what all share across the whole width.

It is Figure 1 of Wu et al. (2020) for any plan, any depth and any number of languages.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.report.markup import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.model.plan import SharingPlan

# Okabe and Ito's colors, which stay apart for the color-blind; private boxes also have a dashed border, for print.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_SHARED = "#6b7280"
_INK = "#1f2937"
_FONT = "font-family='Helvetica, Arial, sans-serif'"

_COLUMN, _GAP, _ROW, _SPACE, _MARGIN, _LABEL = 132, 12, 30, 8, 24, 118


@dataclass(frozen=True)
class _Row:
    label: str
    private: bool


def plan_svg(plan: SharingPlan, languages: Sequence[str], *, depth: int, positions: bool = True) -> str:
    """Draw a plan.

    Args:
        plan: What to draw.
        languages: The languages, one column each.
        depth: The layers of the encoder.
        positions: Whether it has a table of positions.

    Returns:
        A whole SVG document.
    """
    rows = _rows(plan, depth, positions=positions)
    width = len(languages) * _COLUMN + (len(languages) - 1) * _GAP
    across = max(2 * _MARGIN + _LABEL + width, 420)
    lines = textwrap.wrap(said(plan), (across - 2 * _MARGIN) // 7)  # a letter of this size is no wider than 7
    left = _MARGIN + _LABEL
    drawn = [_text(_MARGIN, 32, plan.name, size=16, weight="bold")]
    drawn += [_text(_MARGIN, 52 + 16 * number, line) for number, line in enumerate(lines)]
    y = 60 + 16 * len(lines)
    total = (across, y + 60 + len(rows) * (_ROW + _SPACE))
    for row in rows:
        drawn.append(_text(left - 12, y + _ROW / 2 + 4, row.label, anchor="end"))
        if row.private:
            for column, language in enumerate(languages):
                x = left + column * (_COLUMN + _GAP)
                drawn.append(_box(x, y, _COLUMN, language, _COLORS[column % len(_COLORS)], private=True))
        else:
            drawn.append(_box(left, y, width, "shared", _SHARED, private=False))
        y += _ROW + _SPACE
    for column, language in enumerate(languages):
        x = left + column * (_COLUMN + _GAP) + _COLUMN // 2
        color = _COLORS[column % len(_COLORS)]
        drawn += [
            f"<path d='M{x},{y + 22} L{x},{y + 2} m-5,7 l5,-7 l5,7' fill='none' stroke='{color}' stroke-width='2'/>",
            _text(x, y + 40, f"{language} text", size=13, weight="bold", color=color, anchor="middle"),
        ]
    body = "\n".join(drawn)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {total[0]} {total[1]}' width='{total[0]}' "
        f"height='{total[1]}' role='img' aria-label='{escape(said(plan))}'>\n"
        f"<rect width='100%' height='100%' fill='white'/>\n{body}\n</svg>\n"
    )


def said(plan: SharingPlan) -> str:
    """The plan in a sentence.

    >>> from isoglot.model.plan import SharingPlan
    >>> said(SharingPlan.parse("sep-emb+l1-3"))
    'Each language has its own token embeddings, positions, layers 1-3 and softmax; all else is shared.'
    """
    if plan.is_default:
        return "All languages share every part."
    words = {"emb": "token embeddings", "pos": "positions", "transform": "transform", "softmax": "softmax"}
    parts = [words.get(part) or f"layer{'s' * ('-' in part)} {part}" for part in plan.text.split(",")]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"Each language has its own {listed}; all else is shared."


def _rows(plan: SharingPlan, depth: int, *, positions: bool) -> list[_Row]:
    """From the top of the drawing, where the predictions come out, to the text."""
    rows = [_Row("softmax", plan.is_private("softmax")), _Row("transform", plan.is_private("transform"))]
    rows += [_Row(f"layer {number}", plan.layer_is_private(number)) for number in range(depth, 0, -1)]
    if positions:
        rows.append(_Row("positions", plan.is_private("pos")))
    return [*rows, _Row("token embeddings", plan.is_private("emb"))]


def _box(x: float, y: float, width: float, text: str, color: str, *, private: bool) -> str:
    border = "stroke-dasharray='5 3'" if private else ""
    return (
        f"<rect x='{x}' y='{y}' width='{width}' height='{_ROW}' rx='5' fill='{color}' fill-opacity='0.16' "
        f"stroke='{color}' stroke-width='1.5' {border}/>"
        + _text(x + width / 2, y + _ROW / 2 + 4, text, anchor="middle")
    )


def _text(
    x: float, y: float, text: str, *, size: int = 12, weight: str = "normal", color: str = _INK, anchor: str = "start"
) -> str:
    look = f"{_FONT} font-size='{size}' font-weight='{weight}' fill='{color}' text-anchor='{anchor}'"
    return f"<text x='{x}' y='{y}' {look}>{escape(text)}</text>"

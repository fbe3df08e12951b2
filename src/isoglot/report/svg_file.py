"""A drawing of a page as a file of its own."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from isoglot.report.markup import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

_TITLE = 62  # above the drawing, where title and note have a line each
_STYLE = (
    "text { font-family: Helvetica, Arial, sans-serif; } .title { font-size: 16px; font-weight: bold; fill: #1f2933; } "
    ".note { font-size: 12.5px; fill: #52606d; } .tick { font-size: 12px; fill: #52606d; } "
    ".axis { font-size: 13px; fill: #323f4b; } .name { font-size: 12.5px; font-weight: bold; } "
    ".grid { stroke: #e8e5dd; } .floor { stroke: #888; stroke-dasharray: 3 3; }"
)


_SVG = re.compile(r"<svg viewBox='0 0 (\d+) (\d+)'(.*)</svg>", re.DOTALL)


def stacked(drawings: Sequence[str]) -> str:
    """The ``svg`` elements of several drawings as one, below each other.

    Args:
        drawings: What :func:`isoglot.report.lines.line_chart` drew; all as wide as the first.
    """
    parts, height, width = [], 0, 0
    for drawing in drawings:
        found = _SVG.search(drawing)
        assert found is not None  # noqa: S101 - for the type checker
        parts.append(f"<g transform='translate(0 {height})'>{found[3].partition('>')[2]}</g>")
        width, height = max(width, int(found[1])), height + int(found[2])
    return f"<svg viewBox='0 0 {width} {height}' role='img'>{''.join(parts)}</svg>"


def svg_file(drawing: str, title: str, note: str) -> str:
    """The first ``svg`` element of a drawing as a whole file, with its style, a white ground and a title above.

    Title and note have as many lines as they need.

    Args:
        drawing: What :func:`isoglot.report.lines.line_chart` or :func:`isoglot.report.heatmap.heat_map` drew.
        title: What it shows.
        note: What there is to know about it.
    """
    found = _SVG.search(drawing)
    assert found is not None  # noqa: S101 - for the type checker
    width, height, rest = int(found[1]), int(found[2]), found[3]
    attributes, _, body = rest.partition(">")
    # A letter of the title is 8 wide on average, one of the note 5.6.
    titles, notes = (
        textwrap.wrap(text, (width - 28) // letter, break_on_hyphens=False) for text, letter in ((title, 9), (note, 6))
    )
    lines = [("title", 26 + 20 * number, line) for number, line in enumerate(titles)]
    lines += [("note", 26 + 20 * len(titles) + 16 * number, line) for number, line in enumerate(notes)]
    above = _TITLE + 20 * (len(titles) - 1) + 16 * (len(notes) - 1)
    said = "".join(f"<text x='14' y='{y - above}' class='{kind}'>{escape(line)}</text>" for kind, y, line in lines)
    box = f"0 {-above} {width} {height + above}"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height + above}' viewBox='{box}'"
        f"{attributes}>\n<title>{escape(title)}</title><style>{_STYLE}</style>"
        f"<rect x='0' y='{-above}' width='{width}' height='{height + above}' fill='#fff'/>{said}{body}</svg>\n"
    )

"""A drawing of a page as a file of its own."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

_TITLE = 62  # above the drawing
_STYLE = (
    "text { font-family: Helvetica, Arial, sans-serif; } .title { font-size: 16px; font-weight: bold; fill: #1f2933; } "
    ".note { font-size: 12.5px; fill: #52606d; } .tick { font-size: 12px; fill: #52606d; } "
    ".axis { font-size: 13px; fill: #323f4b; } .name { font-size: 12.5px; font-weight: bold; } "
    ".grid { stroke: #e8e5dd; } .floor { stroke: #888; stroke-dasharray: 3 3; }"
)


def svg_file(drawing: str, title: str, note: str) -> str:
    """The first ``svg`` element of a drawing as a whole file, with its style, a white ground and a title above.

    Args:
        drawing: What :func:`isoglot.report.lines.line_chart` or :func:`isoglot.report.heatmap.heat_map` drew.
        title: What it shows.
        note: What there is to know about it.
    """
    found = re.search(r"<svg viewBox='0 0 (\d+) (\d+)'(.*)</svg>", drawing, re.DOTALL)
    assert found is not None  # noqa: S101 - for the type checker
    width, height, rest = int(found[1]), int(found[2]), found[3]
    attributes, _, body = rest.partition(">")
    box = f"0 {-_TITLE} {width} {height + _TITLE}"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height + _TITLE}' viewBox='{box}'"
        f"{attributes}>\n<title>{escape(title)}</title><style>{_STYLE}</style>"
        f"<rect x='0' y='{-_TITLE}' width='{width}' height='{height + _TITLE}' fill='#fff'/>"
        f"<text x='14' y='{26 - _TITLE}' class='title'>{escape(title)}</text>"
        f"<text x='14' y='{46 - _TITLE}' class='note'>{escape(note)}</text>{body}</svg>\n"
    )

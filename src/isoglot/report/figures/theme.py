"""Colors, fonts and line widths of all figures, and how a figure adapts to the width it is drawn at.

Pages take colors from the style sheet (``var(--ink)``), so that figures follow its light and dark scheme; files have
the light ones. ``templates/page.js`` adapts figures in a browser by the same rules as :func:`fitted`.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# Okabe and Ito's colors, which stay apart for the color-blind; lines also differ in their dashes, for print.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#9A5B8F", "#5B5B5B", "#B8860B")
DASHES = ([1, 0], [7, 4], [2, 3], [9, 3, 2, 3], [1, 0], [7, 4])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
# ColorBrewer's YlGnBu: lightness falls all the way, so that it reads the same in grayscale. Dark pages reverse it.
RAMP = ("#ffffd9", "#edf8b1", "#c7e9b4", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#253494", "#081d58")
LETTER = 0.56
"""Mean width of a letter in units of the font size."""
_LIGHT = {"ink": "#1f2933", "soft": "#52606d", "grid": "#e8e5dd", "paper": "#ffffff"}


def config(*, font_size: float = 12.0, pages: bool = False) -> dict[str, Any]:
    """The Vega-Lite ``config`` of all figures.

    Args:
        font_size: Size of axis labels, in pixels.
        pages: Take colors from the page's style sheet.
    """
    ink, soft, grid, paper = (f"var(--{name})" if pages else color for name, color in _LIGHT.items())
    category = [f"var(--c{number + 1})" for number in range(len(COLORS))] if pages else list(COLORS)
    font = "Helvetica, Arial, Liberation Sans, sans-serif"
    words = {"labelFontSize": font_size, "titleFontSize": font_size, "labelColor": soft, "titleColor": ink}
    return {
        "font": font,
        "background": None if pages else paper,
        "view": {"stroke": None},
        "axis": {
            **words,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "domainColor": soft,
            "tickColor": soft,
            "gridColor": grid,
            "labelLimit": 260,
            "labelOverlap": True,
            "labelFlush": False,
            "labelPadding": 6,
            "tickCount": 6,
        },
        "axisX": {"grid": False},
        "axisY": {"domain": False, "ticks": False},
        "header": words | {"titleFontSize": 0, "labelFontWeight": "bold", "labelColor": ink},
        "legend": words | {"labelColor": ink, "titleFontWeight": "normal", "symbolStrokeWidth": 2, "labelLimit": 300},
        "title": {
            "anchor": "start",
            "frame": "group",
            "fontSize": round(1.3 * font_size, 1),
            "subtitleFontSize": font_size,
            "color": ink,
            "subtitleColor": soft,
            "offset": 14,
            "subtitlePadding": 5,
        },
        "text": {"fontSize": font_size, "color": ink},
        "rule": {"color": ink},
        "tick": {"color": ink},
        "line": {"strokeWidth": 2},
        "range": {"category": category, "heatmap": list(RAMP), "ramp": list(RAMP), "ordinal": list(RAMP)},
    }


def fitted(spec: dict[str, Any], width: float, font_size: float = 12.0) -> dict[str, Any]:
    """A copy of a specification for a total width in pixels; ``page.js`` does the same in a browser.

    Names of lines and levels stand at their ends if they take less than a third of the width, else in a legend. A heat
    map has numbers if they fit its cells. Panels stand in as many columns as have room.
    """
    spec, letter = deepcopy(spec), LETTER * font_size
    about = spec.get("usermeta", {}).get("isoglot", {})
    if "natural" in about:
        width = min(width, about["natural"] * font_size / 12)
    names = about.get("names", ())
    layers = spec.get("spec", spec)
    encoding = layers["encoding"]
    most = max(60, round(0.4 * width))  # longer names of rows are cut
    if "left" in about:
        encoding["y"]["axis"] = {**(encoding["y"].get("axis") or {}), "labelLimit": most}
    if "facet" in spec:
        columns = spec["columns"] = max(1, min(about["panels"], int(width // 260)))
        left = min(about.get("left", 4) * letter, most) + 4 * letter
        shared = encoding.get("y", {}).get("type") == "nominal" and columns == about["panels"]
        layers["width"] = max(80, (width - left - (columns - 1) * (20 if shared else left) - 14) / columns)
    else:
        spec["width"] = width
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    direct = names and (max(map(len, names)) + 2) * letter <= width / 3 and "facet" not in spec
    drop = set() if direct else {"labels", "labels_levels", "labels_lines"}
    narrow = width < 430 * font_size / 12  # the legend of colors stands below
    left = min(about.get("left", 0) * letter, most)
    sides = left + (4 if narrow else 12) * letter
    if "number" in about:
        cell = (width - sides) / about["columns"]
        drop |= {"numbers"} if cell < about["number"] * letter + 4 else set()
        if encoding["x"]["axis"]["labelAngle"] and cell > 1.6 * font_size:
            encoding["x"]["axis"]["labelOverlap"] = False  # slanted names need no more room
    layers["layer"] = [one for one in layers["layer"] if one.get("name") not in drop]
    if names and not direct:
        legend: dict[str, Any] = {"orient": "bottom", "columns": _columns(names, width, letter), "title": None}
        legend |= {} if "shape" in encoding else {"symbolType": "stroke"}
        for channel in ("color", "strokeDash", "shape"):
            if channel in encoding:
                encoding[channel]["legend"] = dict(legend)
    if "keys" in about:
        encoding["color"]["legend"]["columns"] = max(1, int((width - left) // (about["keys"] * letter + 40)))
    if "left" in about and "number" not in about and "facet" not in spec:
        for axis in [one["encoding"]["x"].get("axis") for one in layers["layer"]]:
            if axis and len(axis.get("title") or "") * letter > width - left:
                axis["titleAnchor"] = "end"
    if "number" in about and narrow:
        low = {"orient": "bottom", "direction": "horizontal", "gradientLength": 160}
        for one in layers["layer"]:
            if isinstance(keys := one["encoding"].get("color", {}).get("legend"), dict):
                keys |= low
    return spec


def _columns(names: Sequence[str], width: float, letter: float) -> int:
    """Most columns of a legend, row by row, that have room beside each other."""
    for count in range(len(names), 1, -1):
        if sum(max(map(len, names[at::count])) * letter + 36 for at in range(count)) <= width:
            return count
    return 1

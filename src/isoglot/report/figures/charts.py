"""Charts that every page is made of: lines with bands, bars with intervals, heat maps and scatter plots.

A builder returns a :class:`Figure`: the specification without colors and sizes, which the theme adds when it is drawn,
and the table behind it for screen readers and for copying.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor, isfinite, log10
from statistics import fmean
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import visible
from isoglot.core.table import Column, Table
from isoglot.report.figures.theme import COLORS, DASHES, RAMP, SHAPES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
GREY = "#8a8a8a"
_MOST_POINTS = 40  # a longer line has no marks
_GAP = 15  # pixels between two names at the ends of lines
_TABLE_ROWS = 2000


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: its specification, the finding it shows, a caption, and the numbers behind it.

    Attributes:
        name: Name of its files.
        spec: Vega-Lite specification without a theme.
        title: What it shows, in a sentence without a full stop; the title of a file.
        caption: What a reader needs to know about it.
        table: The numbers.
    """

    name: str
    spec: dict[str, Any] = field(repr=False)
    title: str
    caption: str = ""
    table: Table | None = field(default=None, repr=False)

    def titled(self) -> dict[str, Any]:
        """The specification as it is saved: with title, caption and an address of its schema."""
        heading = {"text": visible(self.title), "subtitle": visible(self.caption)}
        return {"$schema": SCHEMA, "description": heading["text"], "title": heading, **self.spec}

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        """Interactive in notebooks that know Vega-Lite."""
        from isoglot.report.rendering import styled

        return {
            "application/vnd.vegalite.v6+json": styled(self.titled(), width=640),
            "application/vnd.vegalite.v5+json": styled(self.titled(), width=640),
            "text/plain": f"{self.title}\n{self.caption}",
        }

    def save(self, path: str) -> None:
        """Write the figure as .svg, .png, .pdf, .html or .json."""
        from isoglot.report.rendering import save_figure

        save_figure(self.titled(), path)


# --- lines ---


@dataclass(frozen=True, kw_only=True)
class Line:
    """A named line through points.

    Attributes:
        name: Its name.
        points: Pairs of x and y.
        band: Triples of x, lower and upper limit, such as confidence intervals.
        color: A color of its own. Default: by its position among the lines.
        panel: Name of its panel, where lines stand in several.
        frame: Position of the slider at which it shows.
    """

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()
    color: str | None = None
    panel: str = ""
    frame: int = 0


def lines(
    given: Sequence[Line],
    *,
    name: str,
    title: str,
    x: str,
    y: str,
    caption: str = "",
    levels: Mapping[str, float] | None = None,
    whole: bool = False,
    log: bool = False,
    ordered: bool = False,
    frames: Sequence[str] = (),
    categories: Sequence[str] = (),
    height: int = 300,
) -> Figure:
    """Lines over common axes, with bands, names at their ends, and highlighting of the line under the pointer.

    Args:
        given: The lines.
        name: Name of the figure's files.
        title: What it shows.
        x: Title of the horizontal axis, with its unit.
        y: Title of the vertical axis, with its unit.
        caption: What a reader needs to know.
        levels: Named values to mark with horizontal lines, such as chance.
        whole: Whether the horizontal axis counts whole things, such as layers.
        log: Whether the horizontal axis is logarithmic; points at 0 are left out.
        ordered: Whether the lines have an order, such as layers: colors run from light to dark.
        frames: What the slider shows at each position, such as steps of training; empty for no slider.
        categories: Names of the places on a horizontal axis without numbers; points have their positions from 0, and
            intervals are drawn as bars.
        height: Height of the plot in pixels.
    """
    names = list(dict.fromkeys(line.name for line in given))
    rows: list[dict[str, Any]] = [
        {"s": visible(line.name), "x": at, "y": value, "t": f"{value:.4g}", "p": visible(line.panel), "f": line.frame}
        | ({"lo": ends[0], "hi": ends[1], "t": f"{value:.4g} [{ends[0]:.4g}, {ends[1]:.4g}]"} if ends else {})
        for line in given
        for at, value in line.points
        if isfinite(value) and not (log and at <= 0)
        for ends in [{at: tuple(edges) for at, *edges in line.band}.get(at)]
    ]
    ys = [edge for row in rows for key in ("y", "lo", "hi") if (edge := row.get(key)) is not None]
    low, high = _domain([*ys, *(levels or {}).values()])
    xs = [row["x"] for row in rows] or [0.0, 1.0]
    hover = {"condition": {"param": "hover", "empty": True, "value": 1}, "value": 0.2}
    axis: dict[str, Any] = {"title": visible(x)}
    if whole:
        axis |= {"tickMinStep": 1, "format": "d"}
    scale_x: dict[str, Any] = {"type": "log"} if log else {"domain": _widened(min(xs), max(xs)), "nice": False}
    scale_y = {"domain": [low, high], "nice": False}
    value = {"field": "y", "type": "quantitative", "scale": scale_y, "title": visible(y)}
    place: dict[str, Any] = {"field": "x", "type": "quantitative", "axis": axis, "scale": scale_x}
    if categories:
        for row in rows:
            row["x"] = visible(categories[int(row["x"])])
        place = _ordinal("x", categories, x, {"labelAngle": 0}) | {"scale": {"type": "point", "padding": 0.4}}
    tips = [_tip("s", "series"), _tip("x", x, kind="nominal" if categories else "quantitative"), _tip("t", y)]
    tips += [_tip("p", "panel")] if any(line.panel for line in given) else []
    layers: list[dict[str, Any]] = [
        *_levels(levels or {}, scale_y),
        *_bands(rows, scale_y, bars=bool(categories)),
        {"mark": {"type": "line", "clip": True}, "encoding": {"y": value, "opacity": hover}},
    ]
    marks = {"type": "point", "filled": True, "size": 36 if len(xs) <= _MOST_POINTS * len(names) else 0, "opacity": 1}
    point = {"type": "point", "fields": ["s"], "on": "pointerover", "clear": "pointerout", "nearest": True}
    encoding = {"y": value, "tooltip": tips, "opacity": hover}
    layers.append({"mark": marks, "params": [{"name": "hover", "select": point}], "encoding": encoding})
    several = len(names) > 1
    if several and not frames:
        layers.append(_end_labels(given, (low, high), scale_y, height))
    spec: dict[str, Any] = {
        "data": {"values": rows},
        "height": height,
        "encoding": {"x": place, **_series(given, names, ordered=ordered)},
        "layer": layers,
    }
    about: dict[str, Any] = {"label": max(map(len, names), default=0)} if several else {}
    spec = _framed(spec, frames) if frames else spec
    spec = _panels(spec, list(dict.fromkeys(line.panel for line in given)), about)
    spec["usermeta"] = {"isoglot": about}
    columns = [
        Column("p", "panel", hidden=not any(line.panel for line in given)),
        Column("f", "frame", hidden=not frames),
        Column("s", "series"),
        Column("x", x),
        Column("y", y, format=".4g", interval=("lo", "hi") if any("lo" in row for row in rows) else None),
    ]
    return Figure(name=name, spec=spec, title=title, caption=caption, table=_behind(rows, columns))


def _series(given: Sequence[Line], names: Sequence[str], *, ordered: bool) -> dict[str, Any]:
    """Colors and dashes of the series."""
    own = {line.name: line.color for line in given if line.color}
    domain = [visible(name) for name in names]
    color: dict[str, Any] = {"domain": domain}
    if ordered:
        color["range"] = [_between(0.4 + 0.45 * at / max(1, len(names) - 1)) for at in range(len(names))]
    elif own:
        rest = iter(list(COLORS) * (len(names) // len(COLORS) + 1))
        color["range"] = [own.get(one) or next(rest) for one in names]
    dashes = [list(DASHES[0 if ordered else at % len(DASHES)]) for at in range(len(names))]
    return {
        "color": {"field": "s", "type": "nominal", "scale": color, "legend": None},
        "strokeDash": {"field": "s", "type": "nominal", "scale": {"domain": domain, "range": dashes}, "legend": None},
    }


def _levels(levels: Mapping[str, float], scale: dict[str, Any]) -> list[dict[str, Any]]:
    """Horizontal lines with their names."""
    if not levels:
        return []
    data = {"values": [{"level": visible(name), "y": value} for name, value in levels.items()]}
    at = {"field": "y", "type": "quantitative", "scale": scale}
    off = {"color": {"value": GREY}, "strokeDash": {"value": [3, 3]}}
    text = {"type": "text", "align": "left", "baseline": "bottom", "dx": 4, "dy": -2, "color": GREY}
    return [
        {"data": data, "mark": "rule", "encoding": {"x": {"value": 0}, "x2": {"value": "width"}, "y": at, **off}},
        {
            "data": data,
            "mark": text,
            "encoding": {"x": {"value": 0}, "y": at, "text": {"field": "level"}, "color": {"value": GREY}},
        },
    ]


def _bands(rows: Sequence[Mapping[str, Any]], scale: dict[str, Any], *, bars: bool) -> list[dict[str, Any]]:
    """Intervals as areas, or as bars where the horizontal axis has categories."""
    if not any("lo" in row for row in rows):
        return []
    ends = {"y": {"field": "lo", "type": "quantitative", "scale": scale}, "y2": {"field": "hi"}}
    faint = {"condition": {"param": "hover", "empty": True, "value": 0.14}, "value": 0.03}
    return [
        {
            "transform": [{"filter": "isValid(datum.lo)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5} if bars else {"type": "area", "clip": True, "strokeWidth": 0},
            "encoding": {**ends, **({"strokeDash": {"value": [1, 0]}} if bars else {"opacity": faint})},
        }
    ]


def _end_labels(
    given: Sequence[Line], domain: tuple[float, float], scale: dict[str, Any], height: int
) -> dict[str, Any]:
    """The names of lines at their ends, none on top of another."""
    low, high = domain
    ended = [line for line in given if line.points]
    wanted = [(high - line.points[-1][1]) / (high - low) * height for line in ended]
    places = spread(wanted, 4, height - 4, _GAP)
    data = [
        {"s": visible(line.name), "y": high - place / height * (high - low)}
        for line, place in zip(ended, places, strict=True)
    ]
    return {
        "name": "labels",
        "data": {"values": data},
        "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 8, "fontWeight": "bold"},
        "encoding": {
            "x": {"value": "width"},
            "y": {"field": "y", "type": "quantitative", "scale": scale},
            "text": {"field": "s"},
        },
    }


def _framed(spec: dict[str, Any], frames: Sequence[str]) -> dict[str, Any]:
    """A slider that chooses which rows are drawn; the last ones at first."""
    last = len(frames) - 1
    bound = {"input": "range", "min": 0, "max": last, "step": 1, "name": "training "}
    shown = {
        "data": {"values": [{"f": at, "frame": visible(name)} for at, name in enumerate(frames)]},
        "transform": [{"filter": "datum.f == moment"}],
        "mark": {"type": "text", "align": "right", "baseline": "top", "fontWeight": "bold", "dx": -4},
        "encoding": {
            "x": {"value": "width"},
            "y": {"value": 2},
            "text": {"field": "frame"},
            "color": {"value": GREY},
            "strokeDash": {"value": [1, 0]},
        },
    }
    for layer in spec["layer"]:
        if "data" not in layer:
            layer["transform"] = [{"filter": "datum.f == moment"}, *layer.get("transform", [])]
    return {**spec, "params": [{"name": "moment", "value": last, "bind": bound}], "layer": [*spec["layer"], shown]}


# --- bars ---


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A value of a group, with its interval and the paper's value where there are any."""

    group: str
    value: float
    kind: str = ""
    low: float | None = None
    high: float | None = None
    paper: float | None = None
    panel: str = ""


def bars(
    given: Sequence[Bar],
    *,
    name: str,
    title: str,
    x: str,
    caption: str = "",
    stacked: bool = False,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Horizontal bars with intervals; a diamond where the paper has a number.

    Args:
        given: The bars, in order; those of one group stand together.
        name: Name of the figure's files.
        title: What it shows.
        x: Title of the horizontal axis, with its unit.
        caption: What a reader needs to know.
        stacked: Whether the bars of a group are parts of a whole.
        limits: Ends of the horizontal axis.
    """
    groups, kinds, panels = (
        [visible(one) for one in dict.fromkeys(getattr(bar, key) for bar in given)]
        for key in ("group", "kind", "panel")
    )
    rows = [
        {
            "g": visible(bar.group),
            "k": visible(bar.kind),
            "p": visible(bar.panel),
            "v": bar.value,
            "i": kinds.index(visible(bar.kind)),
            "t": _with_interval(bar.value, bar.low, bar.high),
        }
        | ({"lo": bar.low, "hi": bar.high} if _finite(bar.low) and _finite(bar.high) else {})
        | ({"paper": bar.paper} if bar.paper is not None else {})
        for bar in given
    ]
    scale: dict[str, Any] = {"domain": list(limits)} if limits else {}
    at = {"type": "quantitative", "scale": scale, "axis": {"grid": True, "title": visible(x)}}
    tips = [_tip("g", "group"), *([_tip("k", "bar")] if len(kinds) > 1 else []), _tip("t", x)]
    papers = any("paper" in row for row in rows)
    tips += [_tip("paper", "paper", kind="quantitative")] if papers else []
    stack = {"stack": "zero"} if stacked else {"stack": None}
    encoding: dict[str, Any] = {"y": {"field": "g", "type": "nominal", "sort": groups, "title": None}}
    key, domain = ("p", panels) if len(panels) > 1 else ("k", kinds)
    colors: dict[str, Any] = {"domain": domain}
    if stacked:
        colors["range"] = list(RAMP[7:1:-2])
    legend = {"orient": "top", "title": None} if key == "k" and len(kinds) > 1 else None
    encoding["color"] = {"field": key, "type": "nominal", "scale": colors, "legend": legend}
    if len(kinds) > 1 and not stacked:
        encoding["yOffset"] = {"field": "k", "type": "nominal", "sort": kinds}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "bar", "opacity": 0.85, "cornerRadiusEnd": 1},
            "encoding": {"x": {"field": "v", **at, **stack}, "tooltip": tips, "order": {"field": "i"}},
        },
        {
            "mark": {"type": "rule", "opacity": 0.6},
            "encoding": {"x": {"datum": 0}, "y": None, "yOffset": None, "color": None},
        },
    ]
    if stacked:
        layers = layers[:1]
    if any("lo" in row for row in rows):
        ends = {"x": {"field": "lo", **at}, "x2": {"field": "hi"}, "color": None}
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.lo)"}],
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": ends,
            }
        )
    if papers:
        mark = {"type": "point", "shape": "diamond", "filled": True, "size": 70, "opacity": 1, "stroke": "white"}
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.paper)"}],
                "mark": mark,
                "encoding": {"x": {"field": "paper", **at}, "color": {"value": GREY}, "tooltip": tips},
            }
        )
    spec = {"data": {"values": rows}, "height": {"step": 22 if len(kinds) == 1 or stacked else 13}}
    spec |= {"encoding": encoding, "layer": layers}
    about: dict[str, Any] = {"left": max(map(len, groups), default=0)}
    about |= {"keys": max(map(len, kinds))} if legend else {}
    spec = _panels(spec, panels, about)
    spec["usermeta"] = {"isoglot": about}
    columns = [
        Column("p", "panel", hidden=len(panels) < 2),
        Column("g", "group"),
        Column("k", "bar", hidden=len(kinds) < 2),
        Column("v", x, format=".4g", interval=("lo", "hi") if any("lo" in row for row in rows) else None),
        Column("paper", "paper", format=".4g", hidden=not papers),
    ]
    return Figure(name=name, spec=spec, title=title, caption=caption, table=_behind(rows, columns))


# --- heat maps ---


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    name: str,
    title: str,
    x: str,
    y: str,
    scale: str = "",
    limits: tuple[float, float] = (0.0, 1.0),
    form: str = "z.2f",
    marked: Collection[tuple[int, int]] = (),
    caption: str = "",
) -> Figure:
    """A table of numbers as colors.

    Args:
        rows: Names of the rows, from the top.
        columns: Names of the columns, from the left.
        values: Cells of each row; None or NaN is a missing cell.
        name: Name of the figure's files.
        title: What it shows.
        x: What the columns are.
        y: What the rows are.
        scale: What the numbers are, over the color scale.
        limits: Values of the first and the last color.
        form: How numbers are written, as in ``format(value, form)``.
        marked: Cells to frame, as (row, column) from 0; the caption says why.
        caption: What a reader needs to know.
    """
    if len(values) != len(rows) or any(len(row) != len(columns) for row in values):
        raise ValueError(f"{len(rows)} rows and {len(columns)} columns need as many values")
    cells: list[dict[str, Any]] = [
        {
            "r": visible(row),
            "c": visible(column),
            "v": value if _finite(value) else None,
            "t": format(value, form) if value is not None and isfinite(value) else "–",
            "m": (at, place) in marked,
        }
        for at, (row, line) in enumerate(zip(rows, values, strict=True))
        for place, (column, value) in enumerate(zip(columns, line, strict=True))
    ]
    tall = max(15, min(30, 480 // max(1, len(rows))))
    legend = {"title": visible(scale) or None, "gradientLength": max(80, min(200, tall * len(rows)))}
    color = {
        "field": "v",
        "type": "quantitative",
        "legend": legend,
        "scale": {"domain": list(limits), "clamp": True, "range": "heatmap"},
    }
    tips = [_tip("r", y), _tip("c", x), _tip("t", scale or "value")]
    ink = {"condition": {"test": "luminance(scale('color', datum.v)) < 0.3", "value": "#fff"}, "value": "#000"}
    letters = max((len(cell["t"]) for cell in cells), default=1)
    narrow = {"labelAngle": -40, "labelAlign": "right"} if max(map(len, columns), default=0) > 6 else {"labelAngle": 0}
    layers: list[dict[str, Any]] = [
        {
            "transform": [{"filter": "!isValid(datum.v)"}],
            "mark": {"type": "text", "text": "–", "color": GREY},
            "encoding": {"tooltip": tips},
        },
        {
            "transform": [{"filter": "isValid(datum.v)"}],
            "mark": {"type": "rect", "stroke": None},
            "encoding": {"color": color, "tooltip": tips},
        },
    ]
    if marked:
        for wide, stroke in ((3.5, "white"), (2, "black")):
            frame = {"type": "rect", "fill": None, "filled": False, "stroke": stroke, "strokeWidth": wide}
            layers.append({"transform": [{"filter": "datum.m"}], "mark": frame, "encoding": {}})
    if tall >= 15:
        layers.append(
            {
                "name": "numbers",
                "transform": [{"filter": "isValid(datum.v)"}],
                "mark": {"type": "text", "tooltip": None},
                "encoding": {"text": {"field": "t"}, "color": ink},
            }
        )
    axis = {"domain": False, "ticks": False}
    spec = {
        "data": {"values": cells},
        "height": {"step": tall},
        "encoding": {"x": _ordinal("c", columns, x, axis | narrow), "y": _ordinal("r", rows, y, axis)},
        "layer": layers,
    }
    left = max(map(len, rows), default=0)
    natural = round(110 + 6.7 * left + 64 * len(columns))
    spec["usermeta"] = {
        "isoglot": {"natural": max(280, natural), "left": left, "columns": len(columns), "number": letters}
    }
    behind = [{"row": visible(row), **dict(zip(map(str, range(len(columns))), line, strict=True))}
              for row, line in zip(rows, values, strict=True)]  # fmt: skip
    shown = [Column("row", y)] + [Column(str(at), visible(one), format=".4g") for at, one in enumerate(columns)]
    table = Table.from_rows(behind, shown) if behind else None
    return Figure(name=name, spec=spec, title=title, caption=caption, table=table)


def _ordinal(key: str, names: Sequence[str], title: str, axis: dict[str, Any]) -> dict[str, Any]:
    sort = [visible(name) for name in names]
    return {"field": key, "type": "ordinal", "sort": sort, "title": visible(title), "axis": axis}


# --- scatter plots ---


def scatter(
    points: Mapping[str, tuple[float, float]],
    *,
    name: str,
    title: str,
    x: str,
    y: str,
    caption: str = "",
    from_first: bool = False,
    level: tuple[str, float] | None = None,
    height: int = 360,
) -> Figure:
    """Named points, each name in a column at the right with a line to its point, so that none hides another.

    Args:
        points: Points by name.
        name: Name of the figure's files.
        title: What it shows.
        x: Title of the horizontal axis, with its unit.
        y: Title of the vertical axis, with its unit.
        caption: What a reader needs to know.
        from_first: Draw a line from the first point to each of the others.
        level: Name and value of a vertical line, such as chance.
        height: Height of the plot in pixels.
    """
    (x0, y0), *_ = points.values()
    low, high = _domain([value for _, value in points.values()])
    xs = [value for value, _ in points.values()] + ([level[1]] if level else [])
    places = spread([(high - one) / (high - low) * height for _, one in points.values()], 6, height - 6, _GAP)
    rows: list[dict[str, Any]] = [
        {"s": visible(one), "x": at, "y": up, "ly": high - place / height * (high - low), "x0": x0, "y0": y0}
        for (one, (at, up)), place in zip(points.items(), places, strict=True)
    ]
    names = [row["s"] for row in rows]
    scales = {"x": {"zero": False, "domain": _padded(xs), "nice": False}, "y": {"domain": [low, high], "nice": False}}
    place_x = {"field": "x", "type": "quantitative", "title": visible(x), "scale": scales["x"]}
    place_y = {"field": "y", "type": "quantitative", "title": visible(y), "scale": scales["y"]}
    label_y = {"field": "ly", "type": "quantitative", "scale": scales["y"]}
    layers: list[dict[str, Any]] = []
    if level is not None:
        data = {"values": [{"x": level[1], "level": visible(level[0])}]}
        text = {"type": "text", "align": "left", "dx": 4, "baseline": "top", "color": GREY}
        grey = {"color": {"value": GREY}, "shape": None, "y": {"value": 0}}
        layers += [
            {
                "data": data,
                "mark": {"type": "rule", "strokeDash": [3, 3]},
                "encoding": {"x": place_x, **grey, "y": None},
            },
            {"data": data, "mark": text, "encoding": {"x": place_x, "text": {"field": "level"}, **grey}},
        ]
    if from_first:
        ends = {"x": {**place_x, "field": "x0"}, "y": {**place_y, "field": "y0"}, "x2": {"field": "x"}}
        layers.append({"mark": {"type": "rule", "opacity": 0.35}, "encoding": {**ends, "y2": {"field": "y"}}})
    layers += [
        {
            "name": "labels_lines",
            "mark": {"type": "rule", "strokeDash": [1, 3], "strokeWidth": 0.8},
            "encoding": {"x": place_x, "y": place_y, "x2": {"value": "width"}, "y2": {"field": "ly"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {
                "x": place_x,
                "y": place_y,
                "tooltip": [_tip("s", "point"), _tip("x", x, kind="quantitative"), _tip("y", y, kind="quantitative")],
            },
        },
        {
            "name": "labels",
            "mark": {"type": "text", "align": "left", "dx": 6, "fontWeight": "bold"},
            "encoding": {"x": {"value": "width"}, "y": label_y, "text": {"field": "s"}},
        },
    ]
    scale = {"domain": names, "range": (list(SHAPES) * (len(names) // len(SHAPES) + 1))[: len(names)]}
    spec = {
        "data": {"values": rows},
        "height": height,
        "encoding": {
            "color": {"field": "s", "type": "nominal", "scale": {"domain": names}, "legend": None},
            "shape": {"field": "s", "type": "nominal", "scale": scale, "legend": None},
        },
        "layer": layers,
        "usermeta": {"isoglot": {"label": max(map(len, names), default=0)}},
    }
    columns = [Column("s", "point"), Column("x", x, format=".4g"), Column("y", y, format=".4g")]
    return Figure(name=name, spec=spec, title=title, caption=caption, table=_behind(rows, columns))


# --- parts ---


def _tip(key: str, title: str, *, kind: str = "nominal") -> dict[str, Any]:
    form = {"format": ".4~g"} if kind == "quantitative" else {}
    return {"field": key, "type": kind, "title": visible(title), **form}


def _panels(spec: dict[str, Any], panels: Sequence[str], about: dict[str, Any]) -> dict[str, Any]:
    """A panel for each name, side by side; one alone is the chart itself."""
    if len(panels) < 2:
        return spec
    about["panels"] = len(panels)
    data, inner = spec["data"], {key: value for key, value in spec.items() if key != "data"}
    inner["layer"] = [layer for layer in inner["layer"] if not layer.get("name", "").startswith("labels")]
    facet = {"field": "p", "type": "nominal", "sort": [visible(one) for one in panels], "title": None}
    return {"data": data, "facet": facet, "columns": len(panels), "spec": inner}


def _behind(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Table | None:
    """The numbers of a figure as a table, none if there are too many to read."""
    if not rows or len(rows) > _TABLE_ROWS:
        return None
    names = {name for column in columns if not column.hidden for name in (column.name, *(column.interval or ()))}
    return Table.from_rows(
        [{key: value for key, value in row.items() if key in names} for row in rows],
        [column for column in columns if not column.hidden],
    )


def _with_interval(value: float, low: float | None, high: float | None) -> str:
    return f"{value:.4g} [{low:.4g}, {high:.4g}]" if _finite(low) and _finite(high) else f"{value:.4g}"


def _finite(value: float | None) -> bool:
    return value is not None and isfinite(value)


def _between(share: float) -> str:
    """A color of the ramp, from its beginning (0) to its end (1)."""
    place = min(1.0, max(0.0, share)) * (len(RAMP) - 1)
    first = min(int(place), len(RAMP) - 2)
    ends = [[int(RAMP[first + step][at : at + 2], 16) for at in (1, 3, 5)] for step in (0, 1)]
    mixed = [round(one + (other - one) * (place - first)) for one, other in zip(*ends, strict=True)]
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """From 0, or a round number below the least value, to the first round number that nothing exceeds."""
    known = [value for value in values if isfinite(value)]
    low, high = min([0.0, *known]), max([1e-9, *known])
    rough = (high - low) / 5
    unit = 10.0 ** floor(log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough * 0.999)
    return floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step


def _widened(low: float, high: float) -> list[float]:
    return [low, high] if high - low > 1e-9 else [low - 0.5, high + 0.5]


def _padded(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 1.0
    return [low - room, high + room]


def spread(wanted: Sequence[float], top: float, foot: float, gap: float) -> list[float]:
    """Positions of labels: as near to the wanted ones as possible, in the same order, no two nearer than a gap.

    With the gaps above it subtracted, a position need only not be less than the one before: where wanted ones are,
    they become their mean.

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


def chosen(items: Sequence[int], most: int) -> list[int]:
    """At most so many items, spread evenly, the first and the last among them.

    >>> chosen(range(13), 6)
    [0, 2, 5, 7, 10, 12]
    """
    if len(items) <= most:
        return list(items)
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]

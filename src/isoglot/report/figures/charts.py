"""Charts that every page is made of: lines with bands, bars with intervals, heat maps and scatter plots.

A builder returns a :class:`Figure`: the specification without colors and sizes, which the theme adds when it is drawn,
and the table behind it for screen readers and for copying.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
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
_HEIGHT = 300  # pixels of a plot of lines or points
_GAP = 15  # pixels between two names at the ends of lines
_TABLE_ROWS = 2000
_MOST_TICKS = 16


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
        """Interactive in notebooks that know Vega-Lite, a picture in others where vl-convert-python is installed."""
        from isoglot.report.rendering import rendered, styled

        spec = styled(self.titled(), width=640)
        bundle: dict[str, Any] = {f"application/vnd.vegalite.{version}+json": spec for version in ("v6", "v5")}
        if find_spec("vl_convert") is not None:
            bundle["image/svg+xml"] = rendered(self.titled(), "svg").decode()
        return {**bundle, "text/plain": f"{self.title}\n{self.caption}"}

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
    ordered: bool = False,
    frames: Sequence[str] = (),
    slider: str = "",
    categories: Sequence[str] = (),
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
        ordered: Whether the lines have an order, such as layers: colors run from light to dark.
        frames: What the slider shows at each position, such as steps of training; empty for no slider.
        slider: Name of a slider over the horizontal axis: lines fade behind its position, and a page shows the values
            there; empty for none.
        categories: Names of the places on a horizontal axis without numbers; points have their positions from 0, and
            intervals are drawn as bars.
    """
    names = list(dict.fromkeys(line.name for line in given))
    panels = list(dict.fromkeys(line.panel for line in given))
    rows = _line_rows(given, categories)
    edges = [row[key] for row in rows for key in ("y", "lo", "hi") if key in row]
    low, high, ticks = _domain([*edges, *(levels or {}).values()])
    scale = {"domain": [low, high], "nice": False}
    tips = [_tip("s", "series"), _tip("x", x, kind="nominal" if categories else "quantitative"), _tip("t", y)]
    tips += [_tip("p", "panel")] if any(panels) else []
    layers: list[dict[str, Any]] = [
        *_levels(levels or {}, scale),
        *_bands(rows, scale, bars=bool(categories)),
        *_curves(y, scale, ticks, tips, marked=len(rows) <= _MOST_POINTS * len(names)),
    ]
    several = len(names) > 1 or bool(levels)
    if several and not frames:
        layers += _end_labels(given, levels or {}, (low, high), scale)
    place = _category_axis(categories, x) if categories else _number_axis([row["x"] for row in rows], x, whole=whole)
    spec: dict[str, Any] = {
        "data": {"values": rows},
        "height": _HEIGHT,
        "encoding": {"x": place, **_series(given, names, list(levels or ()), ordered=ordered)},
        "layer": layers,
    }
    about: dict[str, Any] = {"names": [visible(one) for one in [*names, *(levels or ())]]} if several else {}
    spec = _framed(spec, frames) if frames else _traced(spec, slider) if slider else spec
    about |= {"slider": visible(x)} if slider else {}
    about |= {"dark": [*_shades(len(names), RAMP[::-1]), *(GREY for _ in levels or ())]} if ordered else {}
    spec = _panels(spec, panels, about)
    spec["usermeta"] = {"isoglot": about}
    columns = [
        Column("p", "panel", hidden=not any(panels)),
        Column("f", "frame", hidden=not frames),
        Column("s", "series"),
        Column("x", x),
        Column("y", y, format=".4g", interval=_interval(rows)),
    ]
    return Figure(name=name, spec=spec, title=title, caption=caption, table=_behind(rows, columns))


def _line_rows(given: Sequence[Line], categories: Sequence[str]) -> list[dict[str, Any]]:
    """A row for every point, with the limits of its band."""
    rows: list[dict[str, Any]] = []
    for line in given:
        limits = {at: (low, high) for at, low, high in line.band}
        for at, value in line.points:
            if isfinite(value):
                low, high = limits.get(at, (None, None))
                rows.append(
                    {
                        "s": visible(line.name),
                        "x": visible(categories[int(at)]) if categories else at,
                        "y": value,
                        "t": f"{value:.4g}" if low is None else f"{value:.4g} [{low:.4g}, {high:.4g}]",
                        "p": visible(line.panel),
                        "f": line.frame,
                    }
                    | ({} if low is None else {"lo": low, "hi": high})
                )
    return rows


def _category_axis(categories: Sequence[str], title: str) -> dict[str, Any]:
    return _ordinal("x", categories, title, {"labelAngle": 0}) | {"scale": {"type": "point", "padding": 0.4}}


def _number_axis(values: Sequence[float], title: str, *, whole: bool) -> dict[str, Any]:
    """A horizontal axis from the least to the greatest value."""
    ends = (min(values), max(values)) if values else (0.0, 1.0)
    axis: dict[str, Any] = {"title": visible(title)}
    if whole:
        axis["format"] = "d"
        first, last = ceil(ends[0]), floor(ends[1])
        if last - first <= _MOST_TICKS:  # or there would be ticks between two layers
            axis |= {
                "values": list(range(first, last + 1)),
                "tickCount": last - first + 1,
            }  # a lower count drops values
    scale = {"domain": _widened(*ends), "nice": False}
    return {"field": "x", "type": "quantitative", "axis": axis, "scale": scale}


def _curves(
    y: str, scale: dict[str, Any], ticks: dict[str, Any], tips: list[dict[str, Any]], *, marked: bool
) -> list[dict[str, Any]]:
    """Lines and their points; all but the series under the pointer fade."""
    value = {"field": "y", "type": "quantitative", "scale": scale, "axis": ticks, "title": visible(y)}
    hover = {"condition": {"param": "hover", "empty": True, "value": 1}, "value": 0.2}
    nearest = {"type": "point", "fields": ["s"], "on": "pointerover", "clear": "pointerout", "nearest": True}
    return [
        {"mark": {"type": "line"}, "encoding": {"y": value, "opacity": hover}},
        {
            "mark": {"type": "point", "filled": True, "size": 36 if marked else 0, "opacity": 1},
            "params": [{"name": "hover", "select": nearest}],
            "encoding": {"y": value, "tooltip": tips, "opacity": hover},
        },
    ]


def _series(given: Sequence[Line], names: Sequence[str], levels: Sequence[str], *, ordered: bool) -> dict[str, Any]:
    """Colors and dashes of the series, and of the levels, which a legend has too."""
    own = {line.name: line.color for line in given if line.color}
    domain = [visible(name) for name in [*names, *levels]]
    color: dict[str, Any] = {"domain": domain}
    if ordered:
        color["range"] = _shades(len(names), RAMP)
    elif own or levels:
        rest = iter(list(COLORS) * (len(names) // len(COLORS) + 1))
        color["range"] = [own.get(one) or next(rest) for one in names]
    if levels:
        color["range"] += [GREY] * len(levels)
    dashes = [list(DASHES[0 if ordered else _around(at, len(DASHES))]) for at in range(len(names))]
    dashes += [[3, 3]] * len(levels)
    return {
        "color": {"field": "s", "type": "nominal", "scale": color, "legend": None},
        "strokeDash": {"field": "s", "type": "nominal", "scale": {"domain": domain, "range": dashes}, "legend": None},
    }


def _levels(levels: Mapping[str, float], scale: dict[str, Any]) -> list[dict[str, Any]]:
    """Horizontal lines."""
    if not levels:
        return []
    at = {"field": "y", "type": "quantitative", "scale": scale}
    off = {"color": {"value": GREY}, "strokeDash": {"value": [3, 3]}}
    ends = {"x": {"value": 0}, "x2": {"value": "width"}, "y": at}
    data = {"values": [{"level": visible(name), "y": value} for name, value in levels.items()]}
    return [{"data": data, "mark": "rule", "encoding": {**ends, **off}}]


def _bands(rows: Sequence[Mapping[str, Any]], scale: dict[str, Any], *, bars: bool) -> list[dict[str, Any]]:
    """Intervals as areas, or as bars where the horizontal axis has categories."""
    if not _interval(rows):
        return []
    ends = {"y": {"field": "lo", "type": "quantitative", "scale": scale}, "y2": {"field": "hi"}}
    faint = {"condition": {"param": "hover", "empty": True, "value": 0.14}, "value": 0.03}
    return [
        {
            "transform": [{"filter": "isValid(datum.lo)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5} if bars else {"type": "area", "strokeWidth": 0},
            "encoding": {**ends, **({"strokeDash": {"value": [1, 0]}} if bars else {"opacity": faint})},
        }
    ]


def _end_labels(
    given: Sequence[Line],
    levels: Mapping[str, float],
    domain: tuple[float, float],
    scale: dict[str, Any],
) -> list[dict[str, Any]]:
    """The names of lines and levels at their ends, none on top of another."""
    low, high = domain
    ends = [(line.name, line.points[-1][1]) for line in given if line.points]
    places = spread(
        [(high - value) / (high - low) * _HEIGHT for _, value in [*ends, *levels.items()]], 4, _HEIGHT - 4, _GAP
    )
    data = [
        {"s": visible(name), "y": high - place / _HEIGHT * (high - low), "end": end}
        for (name, end), place in zip([*ends, *levels.items()], places, strict=True)
    ]
    text = {"type": "text", "align": "left", "baseline": "middle", "dx": 8}
    at = {"x": {"value": "width"}, "y": {"field": "y", "type": "quantitative", "scale": scale}, "text": {"field": "s"}}
    named, others = ({"data": {"values": rows}} for rows in (data[: len(ends)], data[len(ends) :]))
    layers = [{"name": "labels", **named, "mark": {**text, "fontWeight": "bold"}, "encoding": at}]
    if levels:
        layers.append({"name": "labels_levels", **others, "mark": text, "encoding": {**at, "color": {"value": GREY}}})
    return layers


def _framed(spec: dict[str, Any], frames: Sequence[str]) -> dict[str, Any]:
    """A slider that chooses which rows are drawn; the last ones at first."""
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
    return _with_slider(spec, "training", len(frames) - 1, "datum.f == moment", [shown])


def _traced(spec: dict[str, Any], name: str) -> dict[str, Any]:
    """A slider over the horizontal axis; at its end, where it begins, the figure looks as it does without one."""
    rows = spec["data"]["values"]
    places = sorted({row["x"] for row in rows})
    for row in rows:
        row["n"] = places.index(row["x"])
    curve = next(layer for layer in spec["layer"] if layer["mark"] == {"type": "line"})
    whole = {"mark": curve["mark"], "encoding": {"y": curve["encoding"]["y"], "opacity": {"value": 0.2}}}
    rule = {
        "data": {"values": [{"n": at, "x": place} for at, place in enumerate(places[:-1])]},
        "transform": [{"filter": "datum.n == moment"}],
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {"color": {"value": GREY}, "strokeDash": {"value": [3, 3]}},
    }
    return _with_slider(spec, name, len(places) - 1, "datum.n <= moment", [rule, whole])


def _with_slider(
    spec: dict[str, Any], name: str, last: int, kept: str, more: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """A slider from 0 to ``last``, which chooses the rows of the layers, and more layers that it does not."""
    for layer in spec["layer"]:
        if "data" not in layer:
            layer["transform"] = [{"filter": kept}, *layer.get("transform", [])]
    bound = {"input": "range", "min": 0, "max": last, "step": 1, "name": f"{visible(name)} "}
    return {**spec, "params": [{"name": "moment", "value": last, "bind": bound}], "layer": [*spec["layer"], *more]}


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
    papers = any("paper" in row for row in rows)
    tips = [_tip("g", "group"), *([_tip("k", "bar")] if len(kinds) > 1 else []), _tip("t", x)]
    tips += [_tip("paper", "paper", kind="quantitative")] if papers else []
    scale: dict[str, Any] = {"domain": list(limits)} if limits else {}
    at = {"type": "quantitative", "scale": scale, "axis": {"grid": True, "title": visible(x)}}
    encoding = _bar_encoding(groups, kinds, panels, stacked=stacked)
    spec = {
        "data": {"values": rows},
        "height": {"step": 22 if len(kinds) == 1 or stacked else 13},
        "encoding": encoding,
        "layer": _bar_layers(rows, at, tips, stacked=stacked),
    }
    about: dict[str, Any] = {"left": max(map(len, groups), default=0)}
    about |= {"keys": max(map(len, kinds))} if encoding["color"]["legend"] else {}
    spec = _panels(spec, panels, about)
    spec["usermeta"] = {"isoglot": about}
    columns = [
        Column("p", "panel", hidden=len(panels) < 2),
        Column("g", "group"),
        Column("k", "bar", hidden=len(kinds) < 2),
        Column("v", x, format=".4g", interval=_interval(rows)),
        Column("paper", "paper", format=".4g", hidden=not papers),
    ]
    return Figure(name=name, spec=spec, title=title, caption=caption, table=_behind(rows, columns))


def _bar_encoding(
    groups: Sequence[str], kinds: Sequence[str], panels: Sequence[str], *, stacked: bool
) -> dict[str, Any]:
    """Vertical places and colors of bars: a color for each panel, or else for each kind."""
    key, domain = ("p", panels) if len(panels) > 1 else ("k", kinds)
    colors: dict[str, Any] = {"domain": domain} | ({"range": list(RAMP[7:1:-2])} if stacked else {})
    legend = {"orient": "top", "title": None} if key == "k" and len(kinds) > 1 else None
    encoding: dict[str, Any] = {
        "y": {"field": "g", "type": "nominal", "sort": groups, "title": None},
        "color": {"field": key, "type": "nominal", "scale": colors, "legend": legend},
    }
    if len(kinds) > 1 and not stacked:
        encoding["yOffset"] = {"field": "k", "type": "nominal", "sort": kinds}
    return encoding


def _bar_layers(
    rows: Sequence[Mapping[str, Any]], at: dict[str, Any], tips: list[dict[str, Any]], *, stacked: bool
) -> list[dict[str, Any]]:
    """Bars, a line at 0 unless they are stacked, and intervals and the paper's numbers where there are any."""
    stack = {"stack": "zero"} if stacked else {"stack": None}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "bar", "opacity": 0.85, "cornerRadiusEnd": 1},
            "encoding": {"x": {"field": "v", **at, **stack}, "tooltip": tips, "order": {"field": "i"}},
        }
    ]
    if not stacked:
        layers.append(
            {
                "mark": {"type": "rule", "opacity": 0.6},
                "encoding": {"x": {"datum": 0}, "y": None, "yOffset": None, "color": None},
            }
        )
    if _interval(rows):
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.lo)"}],
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"x": {"field": "lo", **at}, "x2": {"field": "hi"}, "color": None},
            }
        )
    if any("paper" in row for row in rows):
        mark = {"type": "point", "shape": "diamond", "filled": True, "size": 70, "opacity": 1, "stroke": "white"}
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.paper)"}],
                "mark": mark,
                "encoding": {"x": {"field": "paper", **at}, "color": {"value": GREY}, "tooltip": tips},
            }
        )
    return layers


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
    color = {
        "field": "v",
        "type": "quantitative",
        "legend": {"title": visible(scale) or None, "gradientLength": max(80, min(200, tall * len(rows)))},
        "scale": {"domain": list(limits), "clamp": True, "range": "heatmap"},
    }
    tips = [_tip("r", y), _tip("c", x), _tip("t", scale or "value")]
    narrow = {"labelAngle": -40, "labelAlign": "right"} if max(map(len, columns), default=0) > 6 else {"labelAngle": 0}
    axis = {"domain": False, "ticks": False}
    left = max(map(len, rows), default=0)
    about = {
        "natural": max(280, round(110 + 6.7 * left + 64 * len(columns))),
        "left": left,
        "columns": len(columns),
        "number": max((len(cell["t"]) for cell in cells), default=1),
    }
    spec = {
        "data": {"values": cells},
        "height": {"step": tall},
        "encoding": {"x": _ordinal("c", columns, x, axis | narrow), "y": _ordinal("r", rows, y, axis)},
        "layer": _cell_layers(color, tips, marked=bool(marked)),
        "usermeta": {"isoglot": about},
    }
    behind = [{"row": visible(row), **dict(zip(map(str, range(len(columns))), line, strict=True))}
              for row, line in zip(rows, values, strict=True)]  # fmt: skip
    shown = [Column("row", y)] + [Column(str(at), visible(one), format=".4g") for at, one in enumerate(columns)]
    table = Table.from_rows(behind, shown) if behind else None
    return Figure(name=name, spec=spec, title=title, caption=caption, table=table)


def _cell_layers(color: dict[str, Any], tips: list[dict[str, Any]], *, marked: bool) -> list[dict[str, Any]]:
    """Missing cells as dashes, the others as colored rectangles with their numbers, and frames of marked cells."""
    ink = {"condition": {"test": "luminance(scale('color', datum.v)) < 0.3", "value": "#fff"}, "value": "#000"}
    frames = [
        {
            "transform": [{"filter": "datum.m"}],
            "mark": {"type": "rect", "fill": None, "filled": False, "stroke": stroke, "strokeWidth": wide},
            "encoding": {},
        }
        for wide, stroke in ((3.5, "white"), (2, "black"))
    ]
    return [
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
        *(frames if marked else []),
        {
            "name": "numbers",
            "transform": [{"filter": "isValid(datum.v)"}],
            "mark": {"type": "text", "tooltip": None},
            "encoding": {"text": {"field": "t"}, "color": ink},
        },
    ]


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
    """
    (x0, y0), *_ = points.values()
    low, high, ticks = _domain([value for _, value in points.values()])
    xs = [value for value, _ in points.values()] + ([level[1]] if level else [])
    places = spread([(high - one) / (high - low) * _HEIGHT for _, one in points.values()], 6, _HEIGHT - 6, _GAP)
    rows: list[dict[str, Any]] = [
        {"s": visible(one), "x": at, "y": up, "ly": high - place / _HEIGHT * (high - low), "x0": x0, "y0": y0}
        for (one, (at, up)), place in zip(points.items(), places, strict=True)
    ]
    names = [row["s"] for row in rows]
    scale_x = {"zero": False, "domain": _padded(xs), "nice": False}
    place_x = {"field": "x", "type": "quantitative", "title": visible(x), "scale": scale_x}
    scale_y = {"domain": [low, high], "nice": False}
    place_y = {"field": "y", "type": "quantitative", "axis": ticks, "title": visible(y), "scale": scale_y}
    layers = [] if level is None else _vertical_level(*level, place_x)
    if from_first:
        ends = {"x": {**place_x, "field": "x0"}, "y": {**place_y, "field": "y0"}, "x2": {"field": "x"}}
        layers.append({"mark": {"type": "rule", "opacity": 0.35}, "encoding": {**ends, "y2": {"field": "y"}}})
    tips = [_tip("s", "point"), _tip("x", x, kind="quantitative"), _tip("y", y, kind="quantitative")]
    layers += _labeled_points(place_x, place_y, tips)
    scale = {"domain": names, "range": [SHAPES[_around(at, len(SHAPES))] for at in range(len(names))]}
    spec = {
        "data": {"values": rows},
        "height": _HEIGHT,
        "encoding": {
            "color": {"field": "s", "type": "nominal", "scale": {"domain": names}, "legend": None},
            "shape": {"field": "s", "type": "nominal", "scale": scale, "legend": None},
        },
        "layer": layers,
        "usermeta": {"isoglot": {"names": names}},
    }
    columns = [Column("s", "point"), Column("x", x, format=".4g"), Column("y", y, format=".4g")]
    return Figure(name=name, spec=spec, title=title, caption=caption, table=_behind(rows, columns))


def _vertical_level(name: str, value: float, place: dict[str, Any]) -> list[dict[str, Any]]:
    """A vertical line with its name."""
    data = {"values": [{"x": value, "level": visible(name)}]}
    text = {"type": "text", "align": "left", "dx": 4, "baseline": "top", "color": GREY}
    grey = {"color": {"value": GREY}, "shape": None, "y": {"value": 0}}
    return [
        {"data": data, "mark": {"type": "rule", "strokeDash": [3, 3]}, "encoding": {"x": place, **grey, "y": None}},
        {"data": data, "mark": text, "encoding": {"x": place, "text": {"field": "level"}, **grey}},
    ]


def _labeled_points(
    place_x: dict[str, Any], place_y: dict[str, Any], tips: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Points, their names at the right, and lines between the two."""
    label_y = {"field": "ly", "type": "quantitative", "scale": place_y["scale"]}
    return [
        {
            "name": "labels_lines",
            "mark": {"type": "rule", "strokeDash": [1, 3], "strokeWidth": 0.8},
            "encoding": {"x": place_x, "y": place_y, "x2": {"value": "width"}, "y2": {"field": "ly"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {"x": place_x, "y": place_y, "tooltip": tips},
        },
        {
            "name": "labels",
            "mark": {"type": "text", "align": "left", "dx": 6, "fontWeight": "bold"},
            "encoding": {"x": {"value": "width"}, "y": label_y, "text": {"field": "s"}},
        },
    ]


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


def _interval(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """Names of the limits of intervals, if any row has them."""
    return ("lo", "hi") if any("lo" in row for row in rows) else None


def _with_interval(value: float, low: float | None, high: float | None) -> str:
    return f"{value:.4g} [{low:.4g}, {high:.4g}]" if _finite(low) and _finite(high) else f"{value:.4g}"


def _finite(value: float | None) -> bool:
    return value is not None and isfinite(value)


def _around(at: int, length: int) -> int:
    """A place in a cycle that moves on by one with every round of colors, so that a color comes with another sign."""
    return (at + at // len(COLORS)) % length


def _shades(count: int, ramp: Sequence[str]) -> list[str]:
    """Colors of ordered lines: the middle of a ramp, which is seen on the ground that the ramp begins with."""
    return [_between(0.4 + 0.45 * at / max(1, count - 1), ramp) for at in range(count)]


def _between(share: float, ramp: Sequence[str]) -> str:
    """A color of a ramp, from its beginning (0) to its end (1)."""
    place = min(1.0, max(0.0, share)) * (len(ramp) - 1)
    first = min(int(place), len(ramp) - 2)
    ends = [[int(ramp[first + step][at : at + 2], 16) for at in (1, 3, 5)] for step in (0, 1)]
    mixed = [round(one + (other - one) * (place - first)) for one, other in zip(*ends, strict=True)]
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _domain(values: Sequence[float]) -> tuple[float, float, dict[str, Any]]:
    """From 0, or a round number below the least value, to the first that nothing exceeds; and the ticks between."""
    known = [value for value in values if isfinite(value)]
    low, high = min([0.0, *known]), max([1e-9, *known])
    rough = (high - low) / 5
    unit = 10.0 ** floor(log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough * 0.999)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    places = [round(at * step, 12) for at in range(first, last + 1)]
    return first * step, last * step, {"values": places, "tickCount": len(places)}


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


def respaced(spec: dict[str, Any], font_size: float) -> None:
    """Move the names at the ends of lines apart again, in a figure that is lower, or has larger letters, than planned.

    A figure that is too low for them grows.
    """
    gap = _GAP * font_size / 12
    layers = [layer for layer in spec.get("layer", ()) if layer.get("name") in ("labels", "labels_levels")]
    rows = [row for layer in layers for row in layer.get("data", {}).get("values", ()) if "end" in row]
    if not rows or not isinstance(spec.get("height"), int):
        return
    spec["height"] = height = max(spec["height"], ceil(len(rows) * gap))
    low, high = layers[0]["encoding"]["y"]["scale"]["domain"]
    places = spread([(high - row["end"]) / (high - low) * height for row in rows], 4, height - 4, gap)
    for row, place in zip(rows, places, strict=True):
        row["y"] = high - place / height * (high - low)


def chosen(items: Sequence[int], most: int) -> list[int]:
    """At most so many items, spread evenly, the first and the last among them.

    >>> chosen(range(13), 6)
    [0, 2, 5, 7, 10, 12]
    """
    if len(items) <= most:
        return list(items)
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]

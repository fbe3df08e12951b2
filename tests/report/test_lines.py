"""Line charts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from isoglot.report.lines import COLOURS, Line, line_chart

VALUE = st.floats(0, 1e6, allow_nan=False)


def numbers(drawing: str) -> list[list[tuple[float, float]]]:
    return [
        [(float(x), float(y)) for x, y in (point.split(",") for point in points.split())]
        for points in re.findall(r"points='([^']*)'", drawing)
    ]


@given(st.lists(st.lists(st.tuples(VALUE, VALUE), min_size=1, max_size=30), min_size=1, max_size=6))
def test_everything_is_inside_the_drawing(lines):
    drawing = line_chart(
        [Line(name=f"line {n}", points=sorted(points)) for n, points in enumerate(lines)],
        across="x",
        up="y",
        floor_at=0,
    )
    ElementTree.fromstring(f"<div>{drawing}</div>")  # noqa: S314 - we wrote it
    for points in numbers(drawing):
        assert all(57 <= x <= 720 and 19 <= y <= 289 for x, y in points)


def test_points_are_where_their_values_are():
    drawing = line_chart([Line(name="a", points=[(0, 0), (1, 50), (2, 100)])], across="x", up="y")
    (points,) = numbers(drawing)
    (x0, y0), (x1, y1), (x2, y2) = points
    assert abs((x0 + x2) / 2 - x1) < 0.11
    assert abs((y0 + y2) / 2 - y1) < 0.11
    assert y0 > y1 > y2


def test_names_do_not_lie_on_each_other():
    lines = [Line(name=f"line {n}", points=[(0, 1), (1, 1 + n / 1000)]) for n in range(6)]
    drawing = line_chart(lines, across="x", up="y", floor_at=1)
    heights = [float(y) for y in re.findall(r"y='([0-9.]+)' class='name'", drawing)]
    assert len(heights) == 7
    assert min(b - a for a, b in zip(sorted(heights), sorted(heights)[1:], strict=False)) >= 12.9


def test_ticks_are_round_and_layers_are_whole():
    layers = line_chart([Line(name="a", points=[(n, n) for n in range(13)])], across="layer", up="y", whole=True)
    ticks = re.findall(r"class='tick' text-anchor='middle'>([^<]*)<", layers)
    assert ticks == ["0", "2", "4", "6", "8", "10", "12"]


def test_what_is_said_is_escaped():
    drawing = line_chart([Line(name="<b>", points=[(0, 1)])], across="a & b", up="y")
    assert "<b>" not in drawing
    assert "&lt;b&gt;" in drawing
    assert len(set(COLOURS)) == len(COLOURS)

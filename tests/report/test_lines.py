"""Line charts."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from isoglot.report.lines import COLORS, Line, line_chart, spread

VALUE = st.floats(-1e6, 1e6, allow_nan=False)


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


def test_a_band_lies_around_its_line_and_inside_the_drawing():
    line = Line(name="a", points=[(0, 1), (1, 2)], band=[(0, -3, 4), (1, 1, 9)])
    around, along = numbers(line_chart([line], across="x", up="y"))
    assert [x for x, _ in around] == [along[0][0], along[1][0], along[1][0], along[0][0]]
    assert around[3][1] < along[0][1] < around[0][1] <= 288
    assert 20 <= around[2][1] < along[1][1] < around[1][1]


def test_what_is_below_0_is_drawn_there():
    drawing = line_chart([Line(name="a", points=[(0, -1), (1, 0), (2, 1)])], across="x", up="y")
    ((_, y0), (_, y1), (_, y2)), *_ = numbers(drawing)
    assert abs((y0 + y2) / 2 - y1) < 0.11
    assert y0 > y1 > y2
    ticks = {tick: float(y) for y, tick in re.findall(r"y='([0-9.]+)' class='tick' text-anchor='end'>([^<]*)", drawing)}
    assert abs(ticks["0"] - 4 - y1) < 0.11


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6), st.none() | st.integers(0, 1000))
def test_names_stand_in_the_order_of_the_ends_of_their_lines_and_not_on_each_other(ends, floor):
    lines = [Line(name=f"line {n}", points=[(0, 1), (1, end)]) for n, end in enumerate(ends)]
    drawing = line_chart(lines, across="x", up="y", floor_at=floor)
    places = {name: float(y) for y, name in re.findall(r"y='([0-9.]+)' class='name'[^>]*>([^<]*)<", drawing)}
    values = {line.name: line.points[-1][1] for line in lines} | ({} if floor is None else {"chance": floor})
    assert places.keys() == values.keys()
    for above, below in pairwise(sorted(places, key=lambda name: places[name])):
        assert values[above] >= values[below]
        assert places[below] - places[above] >= 12.9 - 1e-6


def test_names_stay_where_there_is_room():
    assert spread([10.0, 90.0, 50.0], 0, 100, 17) == [10.0, 90.0, 50.0]
    assert spread([95.0, 99.0], 0, 100, 17) == [83.0, 100.0]
    assert spread([1.0, 2.0], 0, 100, 17) == [0.0, 17.0]


def test_ticks_are_round_and_layers_are_whole():
    layers = line_chart([Line(name="a", points=[(n, n) for n in range(13)])], across="layer", up="y", whole=True)
    ticks = re.findall(r"class='tick' text-anchor='middle'>([^<]*)<", layers)
    assert ticks == ["0", "2", "4", "6", "8", "10", "12"]


def test_one_place_has_one_tick():
    drawing = line_chart([Line(name="a", points=[(0.4874, 1)])], across="x", up="y")
    assert re.findall(r"class='tick' text-anchor='middle'>([^<]*)<", drawing) == ["0.4874"]


@given(st.lists(VALUE, min_size=1, max_size=9), st.none() | VALUE)
def test_the_highest_tick_is_above_all_that_is_drawn(values, floor):
    drawing = line_chart([Line(name="a", points=list(enumerate(values)))], across="x", up="y", floor_at=floor)
    heights = [float(y) - 4 for y in re.findall(r"y='([0-9.]+)' class='tick' text-anchor='end'", drawing)]
    drawn = [float(y) for y in re.findall(r"(?:cy|y1)='([0-9.]+)'", drawing)]
    assert min(heights) <= min(drawn) + 0.11
    assert 2 <= len(heights) <= 8


def test_what_is_said_is_escaped():
    drawing = line_chart([Line(name="<b>", points=[(0, 1)])], across="a & b", up="y")
    assert "<b>" not in drawing
    assert "&lt;b&gt;" in drawing
    assert len(set(COLORS)) == len(COLORS)

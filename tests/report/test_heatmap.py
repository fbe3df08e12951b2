"""Heat maps."""

from __future__ import annotations

import itertools
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.report.heatmap import RAMP, color, contrast, heat_map, ink

VALUE = st.one_of(st.none(), st.just(float("nan")), st.floats(-2, 2))


def drawn(values: Any, **more: Any) -> str:
    rows, columns = [f"r{n}" for n in range(len(values))], [f"c{n}" for n in range(len(values[0]))]
    given: dict[str, Any] = {"across": "x", "up": "y", "low": 0.0, "high": 1.0, **more}
    return heat_map(rows, columns, values, **given)


def cells(drawing: str) -> list[Any]:
    """The boxes with a title: x, y, width, height, fill and what is said of each."""
    tree: Any = ElementTree.fromstring(drawing)  # noqa: S314 - we wrote it
    found = [box for box in tree.iter("rect") if box.find("title") is not None]
    sides = ("x", "y", "width", "height")
    return [(*(float(box.get(side)) for side in sides), box.get("fill"), box.find("title").text) for box in found]


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(VALUE, min_size=n, max_size=n), min_size=1, max_size=6)))
def test_cells_are_inside_and_do_not_overlap(values):
    drawing = drawn(values)
    box = [float(side) for side in re.findall(r"viewBox='0 0 (\S+) (\S+)'", drawing)[0]]
    found = cells(drawing)
    assert len(found) == len(values) * len(values[0])
    assert all(x >= 0 and x + w <= box[0] and y >= 0 and y + h <= box[1] for x, y, w, h, *_ in found)
    assert len({(x, y) for x, y, *_ in found}) == len(found)


def test_a_number_stands_in_its_cell_and_a_missing_one_is_hatched():
    drawing = drawn([[0.25, None], [float("nan"), 1.0]], scale="CKA")
    found = [(fill, said) for *_, fill, said in cells(drawing)]
    assert found == [
        (color(0.25, 0, 1), "r0, c0: 0.25"),
        ("url(#gap)", "r0, c1: none"),
        ("url(#gap)", "r1, c0: none"),
        (RAMP[-1], "r1, c1: 1.00"),
    ]
    assert drawing.count("id='gap'") == 1
    assert ">0.25</text>" in drawing
    assert "aria-label='CKA by y and x, from 0.25 to 1.00'" in drawing
    assert "url(#gap)" not in drawn([[0.5]])
    assert [said for *_, said in cells(drawn([[-0.001, -0.01]]))] == ["r0, c0: 0.00", "r0, c1: -0.01"]


def test_many_columns_scroll_and_drop_their_numbers():
    drawing = drawn([[0.123] * 60])
    assert "0.12</text>" not in drawing
    assert float(re.findall(r"min-width:(\d+)px", drawing)[0]) > 60 * 14
    assert "min-width" not in drawn([[0.5] * 9])


@given(st.floats(0, 1))
def test_numbers_can_be_read_on_every_colour(value):
    ground = color(value, 0, 1)
    assert contrast(ink(ground), ground) >= 4.5


def test_the_scale_darkens_all_the_way():
    lightness = [contrast(color(n / 100, 0, 1), "#000000") for n in range(101)]
    assert all(one > other for one, other in itertools.pairwise(lightness))
    assert color(0.3, 1.0, 1.0) == RAMP[0]


def test_marked_cells_have_a_frame():
    assert drawn([[0.1, 0.2]]).count("class='marked'") == 0
    assert drawn([[0.1, 0.2]], marked=[(0, 1)]).count("class='marked'") == 2  # a dark line and a white one


def test_what_is_said_is_escaped():
    drawing = heat_map(["<b>"], ["en-en'"], [[0.5]], across="a & b", up="y", low=0, high=1, scale="it's")
    ElementTree.fromstring(drawing)  # noqa: S314 - we wrote it
    assert "<b>" not in drawing


def test_numbers_that_do_not_fit_the_names_are_refused():
    with pytest.raises(ValueError, match="1 rows and 2 columns need as many values"):
        heat_map(["a"], ["b", "c"], [[1.0]], across="x", up="y", low=0, high=1)


def test_numbers_are_written_as_asked():
    drawing = drawn([[0.5, 12.0]], form=".0%", high=12.0)
    assert ">1200%</text>" in drawing
    assert "from 50% to 1200%" in drawing

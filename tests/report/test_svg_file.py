"""Titles and notes above a drawing stay inside it, in as many lines as they need."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from isoglot.report.lines import Line, line_chart
from isoglot.report.svg_file import svg_file


@pytest.mark.parametrize(
    ("title", "note", "lines", "above"),
    [
        ("Short", "and to the point", [("title", -36), ("note", -16)], 62),
        ("A finding " * 12, "short", [("title", -56), ("title", -36), ("note", -16)], 82),
        ("Short", "with a note " * 14, [("title", -52), ("note", -32), ("note", -16)], 78),
    ],
)
def test_long_lines_are_broken_and_the_ground_grows(title, note, lines, above):
    drawing = line_chart([Line(name="en", points=[(0, 1), (1, 2)])], across="x", up="y", width=720, height=340)
    tree = ET.fromstring(svg_file(drawing, title.strip(), note.strip()))  # noqa: S314 - our own drawing
    heads = [text for text in tree.findall("{*}text") if text.get("class") in ("title", "note")]
    assert [(text.get("class"), int(text.get("y") or 0)) for text in heads] == lines
    for kind, wide, whole in (("title", 9, title), ("note", 6, note)):
        shown = [text.text or "" for text in heads if text.get("class") == kind]
        assert " ".join(shown) == whole.strip()
        assert max(map(len, shown)) * wide <= 720 - 28
    assert tree.get("viewBox") == f"0 {-above} 720 {340 + above}"
    assert tree.get("height") == str(340 + above)
    ground = tree.findall("{*}rect")[0]
    assert (ground.get("y"), ground.get("height")) == (str(-above), str(340 + above))

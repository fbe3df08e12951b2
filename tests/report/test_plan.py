"""The drawing of a plan says what the plan says."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from isoglot.model.plan import NAMES, SharingPlan
from isoglot.report.plan import plan_svg, said

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", [*NAMES, "pos,4-5,transform"])
def test_a_private_part_is_a_box_for_each_language_and_a_shared_one_is_one(name: str):
    plan = SharingPlan.parse(name, 8)
    tree = ElementTree.fromstring(plan_svg(plan, ("en", "fr", "ru"), depth=8))  # noqa: S314 - we wrote it
    texts = [element.text for element in tree.iter(f"{SVG}text")]
    private = len(plan.private) + len(plan.private_layers)
    assert texts.count("shared") == 12 - private
    assert [texts.count(code) for code in ("en", "fr", "ru")] == [private] * 3
    assert texts[0] == plan.name
    assert said(plan) in " ".join(str(text) for text in texts)


def test_an_encoder_without_a_table_of_positions():
    assert "positions" not in plan_svg(SharingPlan(), ("en",), depth=2, positions=False)


def test_boxes_lie_inside_the_drawing():
    tree = ElementTree.fromstring(plan_svg(SharingPlan.parse("sep-emb"), ("en", "fr"), depth=12))  # noqa: S314
    width, height = float(tree.attrib["width"]), float(tree.attrib["height"])
    boxes = list(tree.iter(f"{SVG}rect"))[1:]
    assert all(float(b.attrib["x"]) + float(b.attrib["width"]) <= width for b in boxes)
    assert all(float(b.attrib["y"]) + float(b.attrib["height"]) <= height for b in boxes)


def test_one_layer_is_no_layers():
    assert said(SharingPlan.parse("7")) == "Each language has its own layer 7; all else is shared."

"""Figures: what is in their specifications, how they adapt to a width, and that they can be drawn."""

from __future__ import annotations

import itertools
import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from isoglot.core.errors import ConfigError, InputError
from isoglot.model.config import PLAN_NAMES, SharingPlan
from isoglot.report.figures import (
    Bar,
    Figure,
    Line,
    bars,
    heat_map,
    lines,
    plan_figure,
    plan_in_words,
    scatter,
    tokens_figure,
)
from isoglot.report.figures.charts import spread
from isoglot.report.figures.theme import fitted
from isoglot.report.rendering import Style, render_folder, rendered, save_figure, styled
from tests.errors import raises

HOSTILE = "</script><script>alert(1)</script>\x1b[31m \udc9b & 'x'"
needs_vl_convert = pytest.mark.skipif(find_spec("vl_convert") is None, reason="vl-convert is not installed")


def every_figure(name: str = "a") -> dict[str, Figure]:
    about: dict[str, Any] = {"title": f"Finding {name}", "caption": f"Caption {name}", "x": f"x {name}"}
    curve = [Line(name=f"{name} {at}", points=[(0, at), (1, 2.0)], band=[(0, 0.5, 1.5)]) for at in range(3)]
    framed = [Line(name=name, points=[(0, at), (1, 2.0)], frame=at) for at in range(3)]
    panels = [Line(name=name, points=[(0, 1), (1, 2.0)], panel=f"{name} {at}") for at in range(2)]
    one = [Bar(group=f"{name} {at}", value=at - 1.0, low=at - 2.0, high=at, paper=at) for at in range(3)]
    several = [Bar(group=f"{name} {at}", kind=kind, value=at) for at in range(3) for kind in (name, "b")]
    tasks = [Bar(group=f"{name} {at}", panel=task, value=-at) for task in (name, "b") for at in range(3)]
    found = [
        lines(curve, name="lines", y=name, levels={name: 0.5}, **about),
        lines(curve, name="ordered", y=name, ordered=True, **about),
        lines(curve, name="places", y=name, categories=[f"{name} left", "right"], **about),
        lines(framed, name="slider", y=name, frames=[f"step {at} {name}" for at in range(3)], **about),
        lines(panels, name="panels", y=name, **about),
        bars(one, name="bars", **about),
        bars(several, name="kinds", **about),
        bars(several, name="stacked", stacked=True, limits=(0, 10), **about),
        bars(tasks, name="tasks", **about),
        heat_map([name, "b"], [name, "b"], [[0.1, None], [float("nan"), 1]], name="heat", y=name, scale=name,
                 marked=[(0, 0)], **about),
        scatter({name: (1.0, 2.0), "b": (2.0, 1.0)}, name="scatter", y=name, from_first=True, level=(name, 1.0), **about),
        plan_figure(SharingPlan.parse("sep-emb+l1-3"), (name, "de"), depth=4),
        tokens_figure([[(name, "b", name)] * 20, [("c", name, "d")]], name="tokens",
                      title=f"Finding {name}", caption=f"Caption {name}"),
    ]  # fmt: skip
    return {figure.name: figure for figure in found}


@needs_vl_convert
@pytest.mark.parametrize("name", list(every_figure()))
@pytest.mark.parametrize("text", ["a", HOSTILE], ids=["plain", "hostile"])
def test_every_figure_is_drawn_at_its_width(name: str, text: str) -> None:
    spec = every_figure(text)[name].titled()
    natural = spec.get("usermeta", {}).get("isoglot", {}).get("natural", 10_000)
    for style in (Style(), Style(width="84mm", font_size=8, titles=False)):
        root = ElementTree.fromstring(rendered(spec, "svg", style))  # noqa: S314 - our own drawing
        assert (
            float(root.attrib["width"]) == pytest.approx(style.pixels, abs=3) or natural < style.pixels or text != "a"
        )
        texts = " ".join(root.itertext())
        assert name == "plan" or ("Finding" in texts) == style.titles
        assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert rendered(spec, "pdf").startswith(b"%PDF")
    assert rendered(spec, "png").startswith(b"\x89PNG")
    assert rendered(spec, "svg") == rendered(spec, "svg")


def test_specifications_are_json_without_control_characters() -> None:
    for figure in every_figure(HOSTILE).values():
        text = json.dumps(figure.titled()["data"], ensure_ascii=False, allow_nan=False)
        assert not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", text.replace("\\", ""))


def test_names_stand_at_the_ends_of_lines_or_in_a_legend() -> None:
    spec = every_figure()["lines"].spec
    wide, narrow = fitted(spec, 700), fitted(every_figure("a long name of a line")["lines"].spec, 300)
    assert [layer for layer in wide["layer"] if layer.get("name") == "labels"]
    assert wide["encoding"]["color"]["legend"] is None
    assert not [layer for layer in narrow["layer"] if layer.get("name") == "labels"]
    assert narrow["encoding"]["color"]["legend"]["orient"] == "bottom"
    assert "labels" in json.dumps(spec)  # the figure itself is not changed


def test_names_of_levels_stand_among_those_of_lines_where_these_are_at_the_ends() -> None:
    curve = [Line(name=name, points=[(0, 0.0), (1, 1.0)]) for name in ("one", "two")]
    spec = lines(curve, name="lines", title="t", x="x", y="y", levels={"chance": 0.99}).spec
    places = [
        row["y"] for layer in spec["layer"] if "labels" in layer.get("name", "") for row in layer["data"]["values"]
    ]
    assert len(places) == 3
    assert min(abs(one - other) for one, other in itertools.combinations(places, 2)) > 0.04
    names = {width: {layer.get("name") for layer in fitted(spec, width)["layer"]} for width in (700, 80)}
    assert {"labels", "labels_levels"} < names[700]
    assert not {"labels", "labels_levels"} & names[80]
    for width, legend in ((700, None), (80, 1), (150, 2)):
        color = fitted(spec, width)["encoding"]["color"]
        assert color["scale"]["domain"] == ["one", "two", "chance"]
        assert legend == (color["legend"] and color["legend"]["columns"])


def test_names_do_not_overlap_in_a_low_figure() -> None:
    curve = [Line(name=f"layer {at}", points=[(0, 0.0), (1, 0.9 + at / 100)]) for at in range(9)]
    spec = lines(curve, name="lines", title="t", x="x", y="y", levels={"chance": 0.95}).titled()
    for width, font_size in ((317.0, 12.0), (317.0, 16.0), (720.0, 12.0)):
        made = styled(spec, width=width, font_size=font_size)
        rows = [row for layer in made["layer"] if "labels" in layer.get("name", "") for row in layer["data"]["values"]]
        assert len(rows) == 10
        places = sorted(row["y"] * made["height"] for row in rows)
        assert min(b - a for a, b in itertools.pairwise(places)) > 1.1 * font_size


def test_layers_have_whole_numbers_once() -> None:
    for last in (1, 2, 12, 40):
        spec = lines(
            [Line(name="a", points=[(0, 0.0), (last, 1.0)])], name="w", title="t", x="x", y="y", whole=True
        ).spec
        axis = spec["encoding"]["x"]["axis"]
        assert axis.get("values") == (list(range(last + 1)) if last < 20 else None)
        assert axis.get("tickCount") == (last + 1 if last < 20 else None)  # fewer, and Vega leaves every other out


def test_long_names_of_bars_leave_room_for_them() -> None:
    given = [Bar(group="an arm with a long and winding name", kind=kind, value=1.0) for kind in ("one", "two", "three")]
    spec = bars(given, name="b", title="t", x="accuracy (NLI), F1 (NER), LAS (parsing), all of them").spec
    narrow, wide = fitted(spec, 317), fitted(spec, 900)
    assert [one["encoding"]["y"]["axis"]["labelLimit"] for one in (narrow, wide)] == [127, 360]
    assert [one["encoding"]["color"]["legend"]["columns"] for one in (narrow, wide)] == [2, 9]
    assert [one["layer"][0]["encoding"]["x"]["axis"].get("titleAnchor") for one in (narrow, wide)] == ["end", None]


def test_tokens_of_a_long_sentence_stand_in_several_lines() -> None:
    spec = tokens_figure([[("given", "made", "de")] * 20], name="t", title="t").spec
    rows = spec["data"]["values"]
    assert [row["at"] for row in rows[:3]] == [0, 6, 12]
    assert {row["line"] for row in rows} == {0, 1, 2}
    assert all(row["at"] + 5 <= 46 for row in rows)


def test_ordered_lines_are_seen_on_dark_ground() -> None:
    def lightness(color: str) -> int:
        return sum(int(color[at : at + 2], 16) for at in (1, 3, 5))

    spec = every_figure()["ordered"].spec
    light, dark = spec["encoding"]["color"]["scale"]["range"], spec["usermeta"]["isoglot"]["dark"]
    assert max(map(lightness, light)) < 3 * 200
    assert min(map(lightness, dark)) > 3 * 110
    assert list(map(lightness, light)) == sorted(map(lightness, light), reverse=True)


def test_numbers_in_cells_are_dropped_where_they_do_not_fit() -> None:
    grid = heat_map([*"abc"], [str(at) for at in range(12)], [[0.5] * 12] * 3, name="h", title="t", x="x", y="y")
    assert "numbers" in [layer.get("name") for layer in fitted(grid.spec, 900)["layer"]]
    assert "numbers" not in [layer.get("name") for layer in fitted(grid.spec, 320)["layer"]]
    with pytest.raises(ValueError, match="2 rows and 1 columns"):
        heat_map(["a", "b"], ["c"], [[1.0]], name="h", title="t", x="x", y="y")


def test_there_are_numbers_behind_every_figure() -> None:
    for figure in every_figure().values():
        assert figure.table is not None
        assert figure.table.rows
    table = every_figure()["lines"].table
    assert table is not None
    assert "1 [0.5, 1.5]" in table.text()


def test_axes_begin_at_0_or_below() -> None:
    for low, high, expected in ((1.0, 67.0, [0, 80]), (-0.2, 0.3, [-0.2, 0.3])):
        figure = lines([Line(name="a", points=[(0, low), (1, high)])], name="l", title="t", x="x", y="y")
        domain = figure.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
        assert domain == pytest.approx(expected)
        axis = figure.spec["layer"][0]["encoding"]["y"]["axis"]
        assert [axis["values"][0], axis["values"][-1]] == pytest.approx(expected)
        assert axis["tickCount"] == len(axis["values"])


def test_names_never_overlap() -> None:
    places = sorted(spread([30.0] * 9, 6, 354, 15))
    assert all(low + 14.9 <= high for low, high in itertools.pairwise(places))
    assert places[0] >= 6


@pytest.mark.parametrize("name", [*PLAN_NAMES, "pos,4-5,transform"])
def test_a_private_part_is_a_box_for_each_language_and_a_shared_one_is_one(name: str) -> None:
    plan = SharingPlan.parse(name, 8)
    figure = plan_figure(plan, ("en", "fr", "ru"), depth=8)
    boxes = [row["whose"] for row in figure.spec["data"]["values"] if "to" in row]
    private = len(plan.private) + len(plan.private_layers)
    assert boxes.count("shared") == 12 - private
    assert [boxes.count(code) for code in ("en", "fr", "ru")] == [private] * 3
    assert (figure.caption, figure.title) == (plan.name, plan_in_words(plan).rstrip("."))


def test_a_plan_in_words() -> None:
    assert plan_in_words(SharingPlan.parse("7")) == "Each language has its own layer 7; all else is shared."
    parts = [
        row["part"] for row in plan_figure(SharingPlan(), ("en",), depth=2, positions=False).spec["data"]["values"]
    ]
    assert "positions" not in parts


# --- files ---


def test_a_figure_is_saved_in_the_format_of_its_suffix(tmp_path: Path) -> None:
    spec = every_figure()["lines"].titled()
    save_figure(spec, tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["title"]["text"] == "Finding a"
    save_figure(spec, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "Finding a" in page
    assert 'src="vega.js"' not in page
    with pytest.raises(InputError) as caught:
        save_figure(spec, tmp_path / "a.gif")
    assert caught.value.code == "input.unknown-format"


def test_images_without_vl_convert_are_refused_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with raises("missing-extra", "isoglot[report]", "plan.html"):
        save_figure(every_figure()["lines"].titled(), tmp_path / "plan.svg")


@pytest.mark.parametrize("width", ["84 miles", "5px", "", "1e9mm", "1.2.3mm"])
def test_widths_that_are_none_are_refused(width: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Style(width=width).pixels  # noqa: B018
    assert caught.value.code == "config.invalid-value"


def test_a_width_in_millimeters() -> None:
    assert Style(width="84mm").pixels == pytest.approx(317.5, abs=0.1)
    assert styled(every_figure()["lines"].titled(), titles=False).get("title") is None


@needs_vl_convert
def test_figures_of_a_folder_are_drawn_from_their_specifications(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        list(render_folder(tmp_path, "svg"))
    assert caught.value.code == "config.missing-file"
    (tmp_path / "figures").mkdir()
    save_figure(every_figure()["bars"].titled(), tmp_path / "figures" / "bars.vl.json")
    assert [path.name for path in render_folder(tmp_path, "pdf", Style(width="84mm"))] == ["bars.pdf"]

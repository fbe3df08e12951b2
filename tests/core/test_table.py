"""The result table: exact examples of every rendering, and properties of each for any text."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from isoglot.core.errors import visible
from isoglot.core.table import Column, Table
from isoglot.core.table_rendering import MISSING, TIES
from tests.errors import raises

ROWS = [
    {"task": "NER", "arm": "default", "f1": {"value": 70.04, "low": 68.5, "high": 71.5}, "seeds": 3},
    {"task": "NER", "arm": "sep_emb & co", "f1": {"value": 61.25, "low": 60.0, "high": 62.5}, "seeds": 3},
    {"task": "NLI", "arm": "default", "f1": {"value": 65.5, "low": 64.0, "high": 67.0}, "seeds": None},
]
COLUMNS = [
    Column("task"),
    Column("arm", title="Arm"),
    Column("f1", title="F1", unit="%", format=".1f", best="max", note="95 % over sentences"),
    Column("seeds"),
]
EXAMPLE = Table.from_rows(ROWS, COLUMNS, caption="Zero-shot <F1>", footnotes=("Built-in text.",), group_by="task")

texts = st.text(max_size=12)
cells = {
    "text": texts,
    "integer": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(),
    "boolean": st.booleans(),
}


@st.composite
def tables(draw: st.DrawFn) -> Table:
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    columns = [
        Column(
            name,
            kind=draw(st.sampled_from(["text", "integer", "number", "boolean"])),
            title=draw(st.none() | texts),
            unit=draw(texts),
            note=draw(texts),
            above=draw(texts),
            best=draw(st.sampled_from([None, "max", "min"])),
        )
        for name in names
    ]
    row = st.tuples(*(st.none() | cells[column.kind or "text"] for column in columns))
    return Table(
        tuple(columns),
        tuple(draw(st.lists(row, max_size=4))),
        caption=draw(texts),
        footnotes=tuple(draw(st.lists(texts, max_size=2))),
        group_by=draw(st.none() | st.sampled_from(names)),
        bold_rows=tuple(draw(st.sets(st.integers(0, 3)))),
    )


# --- exact examples ---


def test_text():
    assert EXAMPLE.text().split("\n") == [
        "Zero-shot <F1>",
        "Arm                    F1, % (a)  seeds",
        "NER",
        "default       *70.0 [68.5, 71.5]      3",
        "sep_emb & co   61.2 [60.0, 62.5]      3",
        "NLI",
        "default       *65.5 [64.0, 67.0]      –",
        "(a) 95 % over sentences",
        TIES,
        "Built-in text.",
    ]


def test_rich_has_the_best_in_bold():
    file = io.StringIO()
    Console(file=file, width=80, force_terminal=True, color_system="standard").print(EXAMPLE)
    assert "\x1b[1m70.0 [68.5, 71.5]\x1b[0m" in file.getvalue()
    assert "\x1b[1m61.2" not in file.getvalue()


def test_html():
    assert EXAMPLE.html() == (
        "<div class='scroll' tabindex='0'><table><caption>Zero-shot &lt;F1&gt;</caption>"
        "<thead><tr><th scope='col'>Arm</th><th scope='col' class='number'>F1, %<sup>a</sup></th>"
        "<th scope='col' class='number'>seeds</th></tr></thead>"
        "<tbody><tr><th scope='rowgroup' colspan='3'>NER</th></tr>"
        "<tr><th scope='row'>default</th><td class='number'><b>70.0 [68.5, 71.5]</b></td><td class='number'>3</td></tr>"
        "<tr><th scope='row'>sep_emb &amp; co</th><td class='number'>61.2 [60.0, 62.5]</td><td class='number'>3</td></tr>"
        "</tbody><tbody><tr><th scope='rowgroup' colspan='3'>NLI</th></tr>"
        "<tr><th scope='row'>default</th><td class='number'><b>65.5 [64.0, 67.0]</b></td><td class='number'>–</td></tr>"
        "</tbody></table></div><p class='notes'><sup>a</sup> 95 % over sentences</p>"
        f"<p class='notes'>{TIES}</p><p class='notes'>Built-in text.</p>"
    )


def test_markdown():
    assert EXAMPLE.markdown().split("\n") == [
        "Zero-shot &lt;F1&gt;",
        "",
        "| Arm | F1, %<sup>a</sup> | seeds |",
        "| :-- | --: | --: |",
        "| **NER** |  |  |",
        "| default | **70.0 [68.5, 71.5]** | 3 |",
        r"| sep\_emb &amp; co | 61.2 [60.0, 62.5] | 3 |",
        "| **NLI** |  |  |",
        "| default | **65.5 [64.0, 67.0]** | – |",
        "",
        "<sup>a</sup> 95 % over sentences",
        "",
        TIES,
        "",
        "Built-in text.",
        "",
    ]


def test_latex():
    assert EXAMPLE.latex().split("\n") == [
        r"\begin{table}",
        r"\centering",
        r"\caption{Zero-shot \textless{}F1\textgreater{}}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"Arm & F1, \%\textsuperscript{a} & seeds \\",
        r"\midrule",
        r"\multicolumn{3}{l}{\textit{NER}} \\",
        r"default & \textbf{70.0 [68.5, 71.5]} & 3 \\",
        r"sep\_emb \& co & 61.2 [60.0, 62.5] & 3 \\",
        r"\midrule",
        r"\multicolumn{3}{l}{\textit{NLI}} \\",
        r"default & \textbf{65.5 [64.0, 67.0]} & – \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\footnotesize \textsuperscript{a} 95 \% over sentences",
        rf"\par\footnotesize {TIES}",
        r"\par\footnotesize Built-in text.",
        r"\end{table}",
        "",
    ]


def test_csv():
    assert EXAMPLE.csv() == (
        "task,arm,f1,f1_low,f1_high,seeds\n"
        "NER,default,70.04,68.5,71.5,3\nNER,sep_emb & co,61.25,60.0,62.5,3\nNLI,default,65.5,64.0,67.0,\n"
    )


def test_json():
    found = json.loads(EXAMPLE.json())
    assert found["columns"][2] == {
        "name": "f1", "title": "F1", "unit": "%", "kind": "number", "format": ".1f", "interval": ["f1_low", "f1_high"],
        "best": "max", "note": "95 % over sentences",
    }  # fmt: skip
    assert found["rows"][2] == ["NLI", "default", 65.5, 64.0, 67.0, None]
    assert (found["group_by"], found["caption"]) == ("task", "Zero-shot <F1>")


def test_frame():
    pytest.importorskip("pandas")
    frame = EXAMPLE.to_frame()
    assert [str(kind) for kind in frame.dtypes] == ["object"] * 2 + ["float64"] * 3 + ["Int64"]
    assert frame["f1"].tolist() == [70.04, 61.25, 65.5]
    assert frame["seeds"].isna().tolist() == [False, False, True]


def test_parquet_is_read_by_others():
    arrow = pytest.importorskip("pyarrow.parquet")
    found = arrow.read_table(io.BytesIO(EXAMPLE.parquet()))
    assert found.to_pylist() == EXAMPLE.dicts()


@pytest.mark.parametrize("ending", ["csv", "html", "json", "md", "tex", "txt"])
def test_files_by_ending(tmp_path: Path, ending: str):
    EXAMPLE.write(tmp_path / f"table.{ending}")
    renderings = {"md": "markdown", "tex": "latex", "txt": "text"}
    rendered: str = getattr(EXAMPLE, renderings.get(ending, ending))()
    assert (tmp_path / f"table.{ending}").read_text("utf-8").rstrip("\n") == rendered.rstrip("\n")


def test_an_unknown_ending_is_refused(tmp_path: Path):
    with raises("input.unknown-format", "'.xls'") as error:
        EXAMPLE.write(tmp_path / "table.xls")
    assert "\n" not in str(error.value)


# --- how cells are shown ---


def test_plus_minus_is_half_the_interval():
    row = {"delta": {"value": -2.0, "low": -2.5, "high": -1.25}}
    table = Table.from_rows([row], [Column("delta", format="+.2f")], intervals="plus-minus")
    assert table.text().split()[-3:] == ["-2.00", "±", "0.62"]
    assert "$-$2.00 $\\pm$ 0.62" in table.latex()


def test_the_smallest_is_best_where_that_is_asked_for_and_what_looks_the_same_is_as_good():
    rows = [{"loss": value} for value in (2.04, 2.01, 3.0, math.nan, None)]
    lines = Table.from_rows(rows, [Column("loss", format=".1f", best="min")]).markdown().split("\n")
    assert lines[2:-1] == ["| **2.0** |", "| **2.0** |", "| 3.0 |", "| nan |", f"| {MISSING} |"]


@pytest.mark.parametrize(("best", "bold"), [("max", [2, 3]), ("min", [0, 1])])
def test_what_ties_with_the_best_is_marked_too(best: Literal["max", "min"], bold: list[int]):
    given = [(0.50, 0.45, 0.55), (0.53, 0.48, 0.58), (0.80, 0.75, 0.85), (0.84, 0.79, 0.89), (0.65, None, None)]
    rows = [{"p1": value, "p1_low": low, "p1_high": high} for value, low, high in given]
    table = Table.from_rows(rows, [Column("p1", format=".2f", best=best)])
    lines = table.text().split("\n")
    assert [at for at, line in enumerate(lines[1:6]) if "*" in line] == bold
    assert lines[6] == TIES


def test_a_column_without_intervals_has_no_note_about_ties():
    assert TIES not in Table.from_rows([{"x": 1}, {"x": 2}], [Column("x", best="max")]).text()


def test_there_is_no_negative_zero():
    rows = [{"x": -0.04}, {"x": -0.06}]
    assert Table.from_rows(rows, [Column("x", format=".1f")]).text().split() == ["x", "0.0", "-0.1"]


def test_shares_are_shown_as_percentages_and_stay_shares():
    table = Table.from_rows([{"p1": 0.123}], [Column("p1", unit="%", scale=100, format=".1f")])
    assert (table.text().split()[-1], table.column("p1")) == ("12.3", [0.123])


def test_headings_over_several_columns():
    columns = (
        Column("arm"),
        *(Column(f"{task}_{code}", title=code, above=task) for task in ("NLI", "NER") for code in ("de", "fr")),
    )
    table = Table(columns, (("a", 1, 2, 3, 4),))
    assert table.text().split("\n") == ["     NLI  NLI  NER  NER", "arm   de   fr   de   fr", "a      1    2    3    4"]
    assert table.markdown().split("\n")[0] == "| arm | NLI<br>de | NLI<br>fr | NER<br>de | NER<br>fr |"
    assert table.latex().split("\n")[2:5] == [
        r" & \multicolumn{2}{c}{NLI} & \multicolumn{2}{c}{NER} \\",
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}",
        r"arm & de & fr & de & fr \\",
    ]
    head = table.html().partition("<thead>")[2].partition("</thead>")[0]
    assert head == (
        "<tr><th scope='col' rowspan='2'>arm</th><th scope='colgroup' colspan='2'>NLI</th>"
        "<th scope='colgroup' colspan='2'>NER</th></tr><tr>"
        + "".join(f"<th scope='col' class='number'>{code}</th>" for code in ("de", "fr", "de", "fr"))
        + "</tr>"
    )


def test_hidden_columns_are_for_programs():
    table = Table.from_rows([{"a": 1, "seed": 7}], [Column("a"), Column("seed", hidden=True)])
    assert "seed" not in table.text() + table.html() + table.latex() + table.markdown()
    assert table.csv() == "a,seed\n1,7\n"


# --- what rows may be ---


def test_rows_may_be_dataclasses_and_numpy_scalars():
    @dataclass(frozen=True)
    class Score:
        value: float
        low: float
        high: float

    @dataclass(frozen=True)
    class Row:
        layer: object
        p1: Score

    table = Table.from_rows([Row(np.int64(3), Score(0.5, 0.25, 0.75)), Row(4, Score(0.5, 0.5, 0.5))])
    assert table.csv() == "layer,p1,p1_low,p1_high\n3,0.5,0.25,0.75\n4,0.5,0.5,0.5\n"
    assert [column.kind for column in table.columns] == ["integer", "number", "number", "number"]


def test_mixed_values_are_text():
    table = Table.from_rows([{"layer": "emb"}, {"layer": 3}, {"other": Path("a")}])
    assert table.column("layer") == ["emb", "3", None]
    assert table.column("other") == [None, None, "a"]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Column("a", format=">9"), ("input.malformed-line", "'>9'")),
        (lambda: Table((Column("a"), Column("a")), ()), ("input.duplicate-column", "'a'")),
        (lambda: Table((Column("a"),), ((1, 2),)), ("input.column-count", 1)),
        (lambda: Table((Column("a", kind="integer"),), ((1.5,),)), ("input.malformed-line", 1.5)),
        (lambda: Table((Column("a", kind="integer"),), ((2**63,),)), ("input.malformed-line", 2**63)),
        (lambda: Table((Column("a", interval=("low", "high")),), ()), ("input.unknown-column", "'low'")),
        (lambda: Table((Column("a"),), (), group_by="b"), ("input.unknown-column", "'b'")),
        (lambda: EXAMPLE.column("amr"), ("input.unknown-column", "'amr'", "'arm'")),
        (lambda: Table.from_json("[1]"), ("input.unknown-format",)),
        (lambda: Table.from_json('{"columns": [{"nmae": 1}], "rows": []}'), ("input.unknown-format", "nmae")),
        (lambda: Table.from_json('{"columns": [{"name": "a"}], "rows": [[1, 2]]}'), ("input.unknown-format",)),
        (lambda: Table.from_json("{"), ("input.malformed-json",)),
    ],
)
def test_what_is_no_table_is_refused_in_a_line(make, expected: tuple[Any, ...]):
    with raises(*expected) as error:
        make()
    assert "\n" not in str(error.value)


def test_damaged_parquet_is_refused():
    pytest.importorskip("pyarrow")
    with raises("input.unknown-format"):
        Table.from_parquet(EXAMPLE.parquet()[:-9])


# --- any text ---


@given(tables())
def test_json_round_trip(table: Table):
    assert repr(Table.from_json(table.json())) == repr(table)  # as text: NaN is not itself


@given(tables())
def test_parquet_round_trip(table: Table):
    pytest.importorskip("pyarrow")
    assert repr(Table.from_parquet(table.parquet())) == repr(table)


@given(tables())
def test_csv_is_read_by_others(table: Table):
    found = list(csv.reader(io.StringIO(table.csv(), newline=""), strict=True))
    assert found == [
        [column.name for column in table.columns],
        *(["" if cell is None else str(cell) for cell in row] for row in table.rows),
    ]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.cells: list[list[str]] = []
        self.tags: set[str] = set()
        self.depth = 0

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.cells.append([])
        elif tag in ("td", "th"):
            self.cells[-1].append("")
            self.depth += 1
        elif tag == "br" and self.depth:
            self.cells[-1][-1] += "\n"

    def handle_endtag(self, tag):
        self.depth -= tag in ("td", "th")

    def handle_data(self, data):
        if self.depth:
            self.cells[-1][-1] += data


@given(st.lists(st.tuples(texts, texts), max_size=4), texts)
def test_html_shows_any_text_as_it_is(rows, title):
    reader = _Reader()
    reader.feed(Table.from_cells(["a", title], rows).html())
    assert reader.cells == [["a", visible(title)], *([visible(one), visible(other)] for one, other in rows)]
    assert reader.tags <= {"div", "table", "thead", "tbody", "tr", "th", "td", "br"}


def seen(text: str) -> list[str]:
    return visible(text).split()


@given(st.lists(st.tuples(texts | st.text("\\|`*_[]()<>&!~$#-=+:1. \n", max_size=9), texts), max_size=4), texts)
def test_markdown_shows_any_text_as_it_is(rows, title):
    written = Table.from_cells(["a", title], rows).markdown()
    reader = _Reader()
    reader.feed(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(written))
    assert [[seen(cell) for cell in line] for line in reader.cells] == [
        [["a"], seen(title)],
        *([seen(one), seen(other)] for one, other in rows),
    ]
    assert reader.tags <= {"table", "thead", "tbody", "tr", "th", "td", "br"}


@given(st.lists(st.tuples(texts | st.text("\\{}$&#%_^~<>|`'-[]*\n", max_size=9), texts), max_size=4))
def test_latex_has_only_its_own_commands(rows):
    body = Table.from_cells(["a", "b"], rows).latex().split("\\midrule\n")[1].split("\\bottomrule")[0]
    lines = body.removesuffix("\n").split("\n") if body else []
    assert len(lines) == len(rows)
    for line in lines:
        cell = line.removesuffix(" \\\\")
        assert not line.startswith(("[", "*"))
        for known in ("backslash", "asciitilde", "asciicircum", "less", "greater", "bar", "asciigrave"):
            cell = cell.replace(rf"\text{known}{{}}", "")
        cell = re.sub(r"\$(-|\\(pm|times|Delta|alpha|rightarrow|leq|geq))\$", "", cell)
        for sign in "&%$#_{}":
            cell = cell.replace(f"\\{sign}", "")
        cell = cell.replace("{}", "")
        assert cell.count("&") == 1  # between the two cells
        assert not set("\\%$#_{}~^<>|`") & set(cell)


@given(tables())
def test_no_rendering_for_people_has_control_characters(table: Table):
    for rendered in (table.text(), table.html(), table.markdown(), table.latex()):
        assert visible(rendered) == rendered


def test_lone_surrogates_can_be_written(tmp_path: Path):
    table = Table.from_rows([{"a": "\ud800"}])
    table.write(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text("utf-8") == "a\n\\ud800\n"


def test_without_rows_a_terminal_shows_the_caption_alone():
    table = Table.from_rows([], [Column("what"), Column("found")], caption="Nothing differs beyond its interval")
    assert table.text() == "Nothing differs beyond its interval"

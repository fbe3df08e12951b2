"""No control character of an input reaches a terminal, an XML reader or a JSON reader as it is."""

from __future__ import annotations

import io
import json
import unicodedata

import pytest
from rich.table import Table
from rich.text import Text

from isoglot.cli.output import Output, safe_console
from isoglot.core.errors import visible
from isoglot.core.progress import LineProgress
from isoglot.report.page import Page, Section

CONTROLS = "".join(chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)))
NAME = f"m\x1b[31m{CONTROLS}\udc9b\ufffe<&'\">[bold]x[/nope]:smile:"


def controls(text: str) -> str:
    return "".join(sign for sign in text if unicodedata.category(sign) in ("Cc", "Cs") and sign not in "\n\t")


def test_every_control_character_has_a_visible_sign():
    assert controls(visible(CONTROLS + "\ud800")) == ""
    assert len(visible(CONTROLS)) == len(CONTROLS)
    assert visible("a\tb\n é 会 \U0001f600") == "a\tb\n é 会 \U0001f600"
    assert visible("\x00\x1b\x7f\x9b") == "␀␛␡�"


def test_a_console_shows_names_as_they_are_and_no_escape_of_theirs():
    shown = io.StringIO()
    console = safe_console(shown, width=300)
    grid = Table()
    grid.add_column(NAME)
    grid.add_row(NAME)
    console.print(NAME, Text(NAME), grid)
    assert controls(shown.getvalue()) == ""
    assert shown.getvalue().count("[bold]x[/nope]:smile:") == 4


def test_output_remarks_json_and_progress(capsys: pytest.CaptureFixture[str]):
    output = Output(json=True, quiet=False)
    output.remark(NAME)
    output.result({"name": CONTROLS}, "")
    said = capsys.readouterr()
    assert controls(said.out) == controls(said.err) == ""
    assert json.loads(said.out) == {"name": CONTROLS}
    lines = io.StringIO()
    with LineProgress(lines, every=0.0).task(NAME, total=1, unit="models") as task:
        task.note(NAME)
        task.advance()
    assert controls(lines.getvalue()) == ""


@pytest.mark.parametrize("name", [NAME, "\x1b[31mred", "a\x9bb", "\x00"])
def test_pages_are_valid_for_any_name(name: str):
    html = Page(title=name, lead=name, sections=[Section(title=name, body=[name])], facts=[name]).html()
    assert controls(html) == ""
    html.encode()

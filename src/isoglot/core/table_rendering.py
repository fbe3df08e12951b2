"""Renderings of a result table for people: terminals, plain text, HTML, Markdown and LaTeX."""

from __future__ import annotations

import dataclasses
import html
import io
import math
import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from isoglot.core.errors import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType

    from isoglot.core.table import Cell, Column, Table

MISSING = "–"  # how a missing value is shown
TIES = "Marked: the best of each column, and values whose interval overlaps with that of the best."

HTML_STYLE = """
/* Shadows show that there is more to scroll to; the first two backgrounds scroll along and cover them at the ends. */
.scroll { overflow-x: auto; background: linear-gradient(to right, #fff 40%, #fff0) 0 / 3rem 100% no-repeat local,
  linear-gradient(to left, #fff 40%, #fff0) 100% / 3rem 100% no-repeat local,
  linear-gradient(to right, #1f293340, #1f293300) 0 / 1rem 100% no-repeat,
  linear-gradient(to left, #1f293340, #1f293300) 100% / 1rem 100% no-repeat, #fff; }
.scroll table { background: none; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; background: #fff;
  font-family: Helvetica, Arial, sans-serif; }
caption { text-align: left; padding: .45rem .5rem; color: #52606d; }
th, td { padding: .45rem .5rem; border-bottom: 1px solid #e4e0d6; text-align: left; vertical-align: top; }
thead th[scope=colgroup] { text-align: center; }
thead tr:last-child th, thead th[rowspan] { border-bottom: 2px solid #b8b2a3; vertical-align: bottom; }
tbody th { font-weight: normal; }
tbody th[scope=rowgroup], tr.bold > * { font-weight: bold; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.number { white-space: normal; }
.notes { font-size: .85rem; color: #52606d; margin: .4rem 0 0; }
"""
"""Style sheet of :meth:`Table.html`."""


# --- terminals ---


def render_rich(table: Table, *, stars: bool = False) -> RenderableType:
    """Render for a terminal; with ``stars`` a star precedes the best value of a column."""
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    columns, right = _shown(table), _right(table)
    title = visible(table.caption) if table.caption else None
    grid = RichTable(box=None, padding=(0, 2, 0, 0), title=title and Text(title), title_justify="left")
    for (head, mark), side in zip(_heads(table, above=True), right, strict=True):
        grid.add_column(Text(visible(f"{head} ({mark})" if mark else head)), justify="right" if side else "left")
    for group, lines in _groups(table):
        if group is not None:
            grid.add_row(Text(visible(group), style="bold"))
        for line in lines:
            cells = [
                Text(f"{'*' * (bold and stars)}{visible(text)}", style="bold" if bold else "")
                for text, bold in zip(line.cells, line.bold, strict=True)
            ]
            grid.add_row(*cells, style="bold" if line.whole else None)
    notes = [visible(f"({mark}) {note}" if mark else note) for mark, note in _notes(table)]
    whole: RenderableType = grid if table.rows or title is None else Text(title)  # without rows, no headings
    parts = [whole] if columns else []
    return Group(*parts, Text("\n".join(notes))) if notes else Group(*parts)


def render_text(table: Table) -> str:
    """Render as plain text; a star precedes the best value of a column."""
    from rich.console import Console

    file = io.StringIO()
    console = Console(file=file, width=100_000, color_system=None, markup=False, emoji=False, highlight=False)
    console.print(render_rich(table, stars=True))
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip("\n").split("\n"))


# --- HTML ---


def render_html(table: Table) -> str:
    """Render as an HTML fragment; :data:`HTML_STYLE` is its style sheet."""
    kinds = [" class='number'" if right else "" for right in _right(table)]
    bodies = []
    for title, lines in _groups(table):
        span = f"<tr><th scope='rowgroup' colspan='{len(kinds)}'>{_html(title or '')}</th></tr>"
        rows = [] if title is None else [span]
        for line in lines:
            marked = zip(line.cells, line.bold, strict=True)
            cells = [f"<b>{_html(text)}</b>" if bold else _html(text) for text, bold in marked]
            first = f"<th scope='row'{kinds[0]}>{cells[0]}</th>" if cells else ""
            rest = "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds[1:], cells[1:], strict=True))
            row = "<tr class='bold'>" if line.whole else "<tr>"
            rows.append(f"{row}{first}{rest}</tr>")
        bodies.append(f"<tbody>{''.join(rows)}</tbody>")
    caption = f"<caption>{_html(table.caption)}</caption>" if table.caption else ""
    notes = "".join(
        f"<p class='notes'>{f'<sup>{mark}</sup> ' if mark else ''}{_html(note)}</p>" for mark, note in _notes(table)
    )
    named = any(title for title, _ in _heads(table))
    head = f"<thead>{_html_head(table, kinds)}</thead>" if named else ""
    return f"<div class='scroll' tabindex='0'><table>{caption}{head}{''.join(bodies)}</table></div>{notes}"


def _html_head(table: Table, kinds: Sequence[str]) -> str:
    heads = [
        f"{kind}>{_html(title)}{f'<sup>{mark}</sup>' if mark else ''}</th>"
        for kind, (title, mark) in zip(kinds, _heads(table), strict=True)
    ]
    upper, lower = "", ""
    for above, places in _spans(table):
        cells = [f"<th scope='col'{heads[place]}" for place in places]
        if above:
            upper += f"<th scope='colgroup' colspan='{len(places)}'>{_html(above)}</th>"
            lower += "".join(cells)
        else:
            upper += "".join(f"<th scope='col' rowspan='2'{heads[place]}" for place in places)
    plain = "".join(f"<th scope='col'{head}" for head in heads)
    return f"<tr>{upper}</tr><tr>{lower}</tr>" if lower else f"<tr>{plain}</tr>"


def _html(text: str) -> str:
    return html.escape(visible(text)).replace("\n", "<br>")


# --- Markdown ---


def render_markdown(table: Table) -> str:
    """Render as GitHub-flavored Markdown."""
    right = _right(table)
    lines = [[_markdown(title) + (f"<sup>{mark}</sup>" if mark else "") for title, mark in _heads(table, above=True)]]
    lines.append(["--:" if side else ":--" for side in right])
    for title, rows in _groups(table):
        if title is not None:
            lines.append([f"**{_markdown(title)}**", *[""] * (len(right) - 1)])
        for line in rows:
            marked = zip(line.cells, _shown(table), line.bold, strict=True)
            lines.append([_markdown_cell(text, of, bold=bold or line.whole) for text, of, bold in marked])
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = [f"{f'<sup>{mark}</sup> ' if mark else ''}{_markdown(note)}" for mark, note in _notes(table)]
    return "\n\n".join([*([_markdown(table.caption)] if table.caption else []), body, *notes]) + "\n"


def _markdown(text: str) -> str:
    """Escape Markdown; line ends become ``<br>``."""
    text = html.escape(visible(text), quote=False)
    text = re.sub(r"[\\`*_\[\]|~$#]", lambda sign: "\\" + sign[0], " ".join(text.split(" ")))
    return "<br>".join(line.strip() for line in text.replace("\t", " ").split("\n")).strip()


def _markdown_cell(text: str, column: Column, *, bold: bool) -> str:
    written = _markdown(text) if column.kind == "text" else text  # a number's brackets are no link
    return f"**{written}**" if bold and written else written


# --- LaTeX ---


def render_latex(table: Table) -> str:
    """Render for LaTeX with ``booktabs``: a ``table`` if there is a caption or a note, else a bare ``tabular``."""
    right = _right(table)
    heads = [_latex(title) + (rf"\textsuperscript{{{mark}}}" if mark else "") for title, mark in _heads(table)]
    lines = [rf"\begin{{tabular}}{{{''.join('r' if side else 'l' for side in right)}}}", r"\toprule"]
    lines += [*_latex_spans(table), _latex_row(heads)]
    for number, (title, rows) in enumerate(_groups(table)):
        lines += [r"\midrule"] if title is not None or number == 0 else []
        if title is not None:
            lines.append(_latex_row([rf"\multicolumn{{{len(right)}}}{{l}}{{\textit{{{_latex(title)}}}}}"]))
        for line in rows:
            marked = zip(line.cells, _shown(table), line.bold, strict=True)
            lines.append(_latex_row([_latex_cell(text, of, bold=bold or line.whole) for text, of, bold in marked]))
    lines += [r"\bottomrule", r"\end{tabular}"]
    if table.caption or _notes(table):
        caption = [rf"\caption{{{_latex(table.caption)}}}"] if table.caption else []
        notes = [
            r"\par\footnotesize " + (rf"\textsuperscript{{{mark}}} " if mark else "") + _latex(note)
            for mark, note in _notes(table)
        ]
        lines = [r"\begin{table}", r"\centering", *caption, *lines, *notes, r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex_spans(table: Table) -> list[str]:
    """Second headings and the rules under them."""
    spans = _spans(table)
    if not any(above for above, _ in spans):
        return []
    cells = [
        rf"\multicolumn{{{len(places)}}}{{c}}{{{_latex(above)}}}" if above else " & " * (len(places) - 1)
        for above, places in spans
    ]
    rules = [rf"\cmidrule(lr){{{places[0] + 1}-{places[-1] + 1}}}" for above, places in spans if above]
    return [_latex_row(cells), "".join(rules)]


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\textasciigrave{}", "-": "-{}", "'": "'{}", ",": ",{}",
    "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "Δ": r"$\Delta$", "α": r"$\alpha$", "→": r"$\rightarrow$",
    "≤": r"$\leq$", "≥": r"$\geq$", **{sign: "\\" + sign for sign in "&%$#_{}"},
}  # fmt: skip


def _latex(text: str) -> str:
    """Escape LaTeX commands and ligatures; line ends become blanks."""
    text = re.sub(r"\s+", " ", visible(text)).strip()
    # A ligature needs two of the same sign, or a sign and a grave accent, which is a command here.
    kept = {"-", "'", ","}
    return "".join(
        sign if sign in kept and text[place + 1 : place + 2] != sign else _LATEX.get(sign, sign)
        for place, sign in enumerate(text)
    )


def _latex_cell(text: str, column: Column, *, bold: bool) -> str:
    written = _latex(text)
    if column.kind != "text":
        written = written.replace("-", "$-$")
    return rf"\textbf{{{written}}}" if bold else written


def _latex_row(cells: Sequence[str]) -> str:
    """A table row; LaTeX would take a leading bracket or star for an argument of the line end before it."""
    first = "{}" if cells and cells[0].startswith(("[", "*")) else ""
    return f"{first}{' & '.join(cells)} \\\\"


# --- the parts of a table ---


class _Line(NamedTuple):
    """A row as it is shown."""

    cells: list[str]
    bold: list[bool]
    whole: bool  # whether the whole row is bold


class _Group(NamedTuple):
    title: str | None
    lines: list[_Line]


def _shown(table: Table) -> list[Column]:
    """The columns that are shown."""
    ends = {end for column in table.columns for end in column.interval or ()}
    return [one for one in table.columns if not one.hidden and one.name not in ends and one.name != table.group_by]


def _right(table: Table) -> list[bool]:
    return [column.align == "right" if column.align else column.kind != "text" for column in _shown(table)]


def _heads(table: Table, *, above: bool = False) -> list[tuple[str, str]]:
    """Headings with their footnote marks; with ``above``, second headings stand on a line before them."""
    marks = iter("abcdefghijklmnopqrstuvwxyz" * len(table.columns))
    return [
        (
            f"{column.above}\n{column.heading}" if above and column.above else column.heading,
            next(marks) if column.note else "",
        )
        for column in _shown(table)
    ]


def _spans(table: Table) -> list[tuple[str, list[int]]]:
    """Second headings with the positions of their columns."""
    return [
        (above, [place for place, _ in columns])
        for above, columns in groupby(enumerate(_shown(table)), key=lambda one: one[1].above)
    ]


def _notes(table: Table) -> list[tuple[str, str]]:
    """Footnotes with their marks; those without a mark come last."""
    marked = [
        (mark, column.note) for (_, mark), column in zip(_heads(table), _shown(table), strict=True) if column.note
    ]
    ties = len(table.rows) > 1 and any(column.best and column.interval for column in _shown(table))
    return [*marked, *(("", note) for note in (*([TIES] if ties else []), *table.footnotes))]


def _groups(table: Table) -> list[_Group]:
    numbered = list(enumerate(table.dicts()))
    if table.group_by is None:
        return [_group(table, None, numbered)]
    by = table.columns[table.position(table.group_by)]
    return [
        _group(table, _formatted(value, by), list(rows))
        for value, rows in groupby(numbered, key=lambda one: one[1][by.name])
    ]


def _group(table: Table, title: str | None, rows: list[tuple[int, dict[str, Cell]]]) -> _Group:
    columns = _shown(table)
    best = {column.name: _best(column, [row for _, row in rows]) for column in columns}
    lines = [
        _Line(
            [_cell(table, column, row) for column in columns],
            [_is_best(column, row, best[column.name]) for column in columns],
            number in table.bold_rows,
        )
        for number, row in rows
    ]
    return _Group(title, lines)


def _cell(table: Table, column: Column, row: Mapping[str, Cell]) -> str:
    text = _formatted(row[column.name], column)
    low, high = (row[end] for end in column.interval or (column.name, column.name))
    if column.interval is None or not isinstance(low, int | float) or not isinstance(high, int | float):
        return text
    if table.intervals == "brackets":
        return f"{text} [{_formatted(low, column)}, {_formatted(high, column)}]"
    half = dataclasses.replace(column, format=column.format.lstrip("+ "), kind="number")
    return f"{text} ± {_formatted((high - low) / 2, half)}"


def _formatted(value: Cell, column: Column) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    scaled = value if column.scale == 1 else value * column.scale
    spec = column.format or ("," if isinstance(scaled, int) else ".4g")
    text = format(scaled, spec if spec[-1:] in "defgEG%" else spec + ("" if isinstance(scaled, int) else "g"))
    return text[1:] if re.fullmatch(r"-[0.,]+(e[+-]\d+)?%?", text) else text  # no negative zero


def _best(column: Column, rows: Sequence[Mapping[str, Cell]]) -> Mapping[str, Cell] | None:
    """The row with the best number of a column."""
    numbers = [
        (value, row) for row in rows if isinstance(value := row[column.name], int | float) and not math.isnan(value)
    ]
    if column.best is None or column.kind == "boolean" or not numbers:
        return None
    return (max if column.best == "max" else min)(numbers, key=lambda one: one[0])[1]


def _is_best(column: Column, row: Mapping[str, Cell], best: Mapping[str, Cell] | None) -> bool:
    """Whether a value looks the same as the best one, or ties with it."""
    if best is None or row[column.name] is None:
        return False
    if _formatted(row[column.name], column) == _formatted(best[column.name], column):
        return True
    ends = [one[end] for one in (row, best) for end in column.interval or ()]
    if not ends or None in ends:
        return False
    low, high, best_low, best_high = ends
    return high >= best_low if column.best == "max" else low <= best_high  # type: ignore[operator]

r"""The result table: typed columns and rows, rendered for terminals, pages, papers and programs.

A table is data. ``rich``, ``text``, ``html``, ``markdown`` and ``latex`` show it to people: numbers rounded, intervals
in brackets, the best in bold. ``csv``, ``json``, ``parquet`` and ``to_frame`` hand on the values as they are.

>>> table = Table.from_rows(
...     [
...         {"arm": "default", "p1": {"value": 0.71, "low": 0.68, "high": 0.74}},
...         {"arm": "no-anchors", "p1": {"value": 0.64, "low": 0.61, "high": 0.67}},
...     ],
...     [Column("arm"), Column("p1", title="P@1", unit="%", scale=100, format=".1f", best="max")],
... )
>>> print(table.text())
arm                     P@1, %
default     *71.0 [68.0, 74.0]
no-anchors   64.0 [61.0, 67.0]
>>> print(table.csv(), end="")
arm,p1,p1_low,p1_high
default,0.71,0.68,0.74
no-anchors,0.64,0.61,0.67
"""

from __future__ import annotations

import dataclasses
import html
import math
import re
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoglot.core.errors import InputError, IsoglotError, nearest_name, shown, visible
from isoglot.core.files import as_json, parse_json, write_bytes
from isoglot.core.optional import import_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import RenderableType

Cell = str | int | float | bool | None
Kind = Literal["text", "integer", "number", "boolean"]
"""What a column holds; a cell of any column may be missing (None)."""

MISSING = "–"
"""What is shown for a missing value."""

HTML_STYLE = """
/* A shadow at an edge says that there is more: the first two grounds move with what is scrolled, and cover it. */
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

_FORMAT = re.compile(r"[+ ]?,?(\.\d{1,2})?[defgEG%]?")  # no fill and no width: every rendering aligns by itself
_LARGEST = 2**63


@dataclass(frozen=True)
class Column:
    """One column: where its values come from and how they are shown.

    Attributes:
        name: Key of the values in rows; header in CSV, JSON, Parquet and data frames.
        title: Heading; by default the name with blanks for underscores.
        unit: Unit, shown behind the title.
        kind: Type of the values; by default inferred from them.
        format: How numbers are shown, as in Python's format strings: ``.1f``, ``+.2f``, ``,d``, ``.3g``.
        scale: Factor for numbers that are shown: 100 shows a share as a percentage.
        align: ``left`` or ``right``; by default numbers stand to the right.
        interval: Names of the columns that hold the ends of an interval. They are not shown as columns.
        best: Show the largest (``max``) or smallest (``min``) number of the column, or of a row group, in bold.
        note: Footnote about the column.
        above: Second heading, over this column and its neighbors that have the same one.
        hidden: Leave the column out of everything that is for people.
    """

    name: str
    title: str | None = None
    unit: str = ""
    kind: Kind | None = None
    format: str = ""
    scale: float = 1.0
    align: Literal["left", "right"] | None = None
    interval: tuple[str, str] | None = None
    best: Literal["max", "min"] | None = None
    note: str = ""
    above: str = ""
    hidden: bool = False

    def __post_init__(self) -> None:
        if not _FORMAT.fullmatch(self.format):
            raise InputError(
                f"column {shown(self.name)}: {shown(self.format)} is not a number format",
                remedy="write .1f, +.2f or ,d",
                code="input.malformed-line",
            )

    @property
    def heading(self) -> str:
        """Title and unit."""
        title = self.name.replace("_", " ") if self.title is None else self.title
        return f"{title}, {self.unit}" if self.unit else title


class _Line(NamedTuple):
    """A row as people see it."""

    cells: list[str]
    bold: list[bool]
    whole: bool  # the whole row is in bold


class _Group(NamedTuple):
    title: str | None
    lines: list[_Line]


@dataclass(frozen=True)
class Table:
    """Columns and rows of values; :meth:`from_rows` makes one of dicts or dataclasses.

    Attributes:
        columns: The columns, each with its kind.
        rows: A tuple of values for each row, in the order of the columns.
        caption: What the table shows.
        footnotes: Lines below the table.
        group_by: Name of a column whose value heads a group of rows instead of being repeated in each of them.
        intervals: How intervals are shown: ``12.3 [11.8, 12.9]``, or half their width as ``12.3 ± 0.6``.
        bold_rows: Numbers of the rows that are shown in bold, from 0.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    footnotes: tuple[str, ...] = ()
    group_by: str | None = None
    intervals: Literal["brackets", "plus-minus"] = "brackets"
    bold_rows: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(
                f"two columns have the name {shown(twice)}",
                remedy="give every column its own name",
                code="input.duplicate-column",
            )
        ends = [end for column in self.columns for end in column.interval or ()]
        for name in [*ends, *([] if self.group_by is None else [self.group_by])]:
            self._position(name)
        if any(len(row) != len(names) for row in self.rows):
            raise InputError(
                f"a row has not {len(names)} values",
                remedy="give a value, or None, for every column",
                code="input.column-count",
            )
        values = list(zip(*self.rows, strict=True)) or [()] * len(names)
        typed = [_typed(column, cells) for column, cells in zip(self.columns, values, strict=True)]
        object.__setattr__(self, "columns", tuple(column for column, _ in typed))
        if self.rows:
            object.__setattr__(self, "rows", tuple(zip(*(cells for _, cells in typed), strict=True)))

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Any],
        columns: Iterable[Column | str] | None = None,
        **options: Any,  # noqa: ANN401 - the other fields of the class
    ) -> Table:
        """The table of dicts or dataclasses.

        A value with ``value``, ``low`` and ``high`` becomes three columns: ``p1``, ``p1_low`` and ``p1_high``, of which
        the last two are the first one's interval.

        Args:
            rows: The rows; what a row lacks is missing.
            columns: Which values, in which order; by default every name that a row has, in order of appearance.
            **options: Caption, footnotes and the other attributes of a table.
        """
        flat = [_flat(row) for row in rows]
        names = dict.fromkeys(name for row in flat for name in row)
        chosen = [Column(one) if isinstance(one, str) else one for one in (names if columns is None else columns)]
        given = {column.name for column in chosen}
        every: dict[str, Column] = {}
        for column in chosen:
            ends = column.interval or (f"{column.name}_low", f"{column.name}_high")
            if column.interval is not None or all(end in names for end in ends):
                every[column.name] = dataclasses.replace(column, interval=ends)
                every |= {end: Column(end) for end in ends if end not in given}
            else:
                every.setdefault(column.name, column)
        cells = tuple(tuple(row.get(name) for name in every) for row in flat)
        return cls(tuple(every.values()), cells, **options)

    @classmethod
    def from_cells(
        cls,
        head: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        align: str = "lr",
        **options: Any,  # noqa: ANN401 - the other fields of the class
    ) -> Table:
        """The table of cells that are texts already, such as two numbers in one cell.

        Args:
            head: Headings.
            rows: The cells.
            align: ``l`` or ``r`` for each column; the last one is that of all further columns.
            **options: Caption, footnotes and the other attributes of a table.
        """
        sides = align.ljust(len(head), align[-1])
        columns = [
            Column(str(place), title=title, kind="text", align="right" if side == "r" else "left")
            for place, (title, side) in enumerate(zip(head, sides, strict=False))
        ]
        return cls(tuple(columns), tuple(tuple(row) for row in rows), **options)

    # --- values ---

    def column(self, name: str) -> list[Cell]:
        """The values of a column."""
        place = self._position(name)
        return [row[place] for row in self.rows]

    def dicts(self) -> list[dict[str, Cell]]:
        """A dict for each row."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def with_delta(
        self, name: str, baseline: Mapping[str, Cell], *, within: Sequence[str] = (), title: str = "Δ"
    ) -> Table:
        """The table with a column of differences to a baseline row behind the named one; it is called ``NAME_delta``.

        Args:
            name: The column.
            baseline: Values by which the baseline row is found, such as ``{"arm": "default"}``.
            within: Columns in which the baseline row has the same values as the row that is compared.
            title: Heading of the new column.

        Raises:
            InputError: A row has two baselines, or a column is not there or has no numbers.
        """
        place, rows = self._position(name), self.dicts()
        old = self.columns[place]
        if old.kind not in ("integer", "number"):
            raise InputError(
                f"column {shown(name)} has no numbers", remedy="name a column of numbers", code="input.unknown-column"
            )
        for key in (*baseline, *within):
            self._position(key)
        bases: dict[tuple[Cell, ...], dict[str, Cell]] = {}
        for row in rows:
            if all(row[key] == value for key, value in baseline.items()):
                place_of_row = tuple(row[key] for key in within)
                if place_of_row in bases:
                    raise InputError(
                        f"two rows are the baseline {shown(dict(baseline))}",
                        remedy="name more columns in within",
                        code="input.duplicate",
                    )
                bases[place_of_row] = row
        deltas = [_difference(row, bases.get(tuple(row[key] for key in within)), name) for row in rows]
        signed = old.format if old.format.startswith("+") else "+" + old.format.lstrip(" ")
        new = Column(f"{name}_delta", title=title, unit=old.unit, kind=old.kind, format=signed, scale=old.scale)
        columns = (*self.columns[: place + 1], new, *self.columns[place + 1 :])
        cells = [(*row[: place + 1], delta, *row[place + 1 :]) for row, delta in zip(self.rows, deltas, strict=True)]
        return dataclasses.replace(self, columns=columns, rows=tuple(cells))

    # --- for people ---

    def __rich__(self) -> RenderableType:
        return self.rich()

    def _repr_html_(self) -> str:
        return self.html()

    def __str__(self) -> str:
        return self.text()

    def rich(self) -> RenderableType:
        """The table for a terminal."""
        return self._rich(marks=False)

    def text(self) -> str:
        """The table as plain text; a star precedes the best of a column."""
        import io

        from rich.console import Console

        file = io.StringIO()
        console = Console(file=file, width=100_000, color_system=None, markup=False, emoji=False, highlight=False)
        console.print(self._rich(marks=True))
        return "\n".join(line.rstrip() for line in file.getvalue().rstrip("\n").split("\n"))

    def html(self) -> str:
        """The table as an HTML fragment; :data:`HTML_STYLE` is its style sheet."""
        kinds = [" class='number'" if right else "" for right in self._right()]
        bodies = []
        for title, lines in self._groups():
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
        caption = f"<caption>{_html(self.caption)}</caption>" if self.caption else ""
        notes = "".join(
            f"<p class='notes'>{f'<sup>{mark}</sup> ' if mark else ''}{_html(note)}</p>" for mark, note in self._notes()
        )
        head = f"<thead>{self._html_head(kinds)}</thead>"
        return f"<div class='scroll' tabindex='0'><table>{caption}{head}{''.join(bodies)}</table></div>{notes}"

    def _html_head(self, kinds: Sequence[str]) -> str:
        heads = [
            f"{kind}>{_html(title)}{f'<sup>{mark}</sup>' if mark else ''}</th>"
            for kind, (title, mark) in zip(kinds, self._heads(), strict=True)
        ]
        upper, lower = "", ""
        for above, places in self._spans():
            cells = [f"<th scope='col'{heads[place]}" for place in places]
            if above:
                upper += f"<th scope='colgroup' colspan='{len(places)}'>{_html(above)}</th>"
                lower += "".join(cells)
            else:
                upper += "".join(f"<th scope='col' rowspan='2'{heads[place]}" for place in places)
        plain = "".join(f"<th scope='col'{head}" for head in heads)
        return f"<tr>{upper}</tr><tr>{lower}</tr>" if lower else f"<tr>{plain}</tr>"

    def markdown(self) -> str:
        """The table as GitHub-flavored Markdown."""
        right = self._right()
        lines = [[_markdown(title) + (f"<sup>{mark}</sup>" if mark else "") for title, mark in self._heads(above=True)]]
        lines.append(["--:" if side else ":--" for side in right])
        for title, rows in self._groups():
            if title is not None:
                lines.append([f"**{_markdown(title)}**", *[""] * (len(right) - 1)])
            for line in rows:
                marked = zip(line.cells, self._shown(), line.bold, strict=True)
                lines.append([_markdown_cell(text, of, bold=bold or line.whole) for text, of, bold in marked])
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        notes = [f"{f'<sup>{mark}</sup> ' if mark else ''}{_markdown(note)}" for mark, note in self._notes()]
        return "\n\n".join([*([_markdown(self.caption)] if self.caption else []), body, *notes]) + "\n"

    def latex(self) -> str:
        r"""The table for LaTeX with the package ``booktabs``.

        With a caption or footnotes it is a ``table``, else a bare ``tabular``.
        """
        right = self._right()
        heads = [_latex(title) + (rf"\textsuperscript{{{mark}}}" if mark else "") for title, mark in self._heads()]
        lines = [rf"\begin{{tabular}}{{{''.join('r' if side else 'l' for side in right)}}}", r"\toprule"]
        lines += [*self._latex_spans(), _latex_row(heads)]
        for number, (title, rows) in enumerate(self._groups()):
            lines += [r"\midrule"] if title is not None or number == 0 else []
            if title is not None:
                lines.append(_latex_row([rf"\multicolumn{{{len(right)}}}{{l}}{{\textit{{{_latex(title)}}}}}"]))
            for line in rows:
                marked = zip(line.cells, self._shown(), line.bold, strict=True)
                lines.append(_latex_row([_latex_cell(text, of, bold=bold or line.whole) for text, of, bold in marked]))
        lines += [r"\bottomrule", r"\end{tabular}"]
        if self.caption or self._notes():
            caption = [rf"\caption{{{_latex(self.caption)}}}"] if self.caption else []
            notes = [
                r"\par\footnotesize " + (rf"\textsuperscript{{{mark}}} " if mark else "") + _latex(note)
                for mark, note in self._notes()
            ]
            lines = [r"\begin{table}", r"\centering", *caption, *lines, *notes, r"\end{table}"]
        return "\n".join(lines) + "\n"

    def _latex_spans(self) -> list[str]:
        """The second headings and the rules under them."""
        spans = self._spans()
        if not any(above for above, _ in spans):
            return []
        cells = [
            rf"\multicolumn{{{len(places)}}}{{c}}{{{_latex(above)}}}" if above else " & " * (len(places) - 1)
            for above, places in spans
        ]
        rules = [rf"\cmidrule(lr){{{places[0] + 1}-{places[-1] + 1}}}" for above, places in spans if above]
        return [_latex_row(cells), "".join(rules)]

    # --- for programs ---

    def csv(self) -> str:
        """All values as CSV, unrounded; what is missing is empty."""
        head = ",".join(_csv(column.name) for column in self.columns)
        rows = [",".join(map(_csv, row)) or '""' for row in self.rows]  # a lone missing value is no blank line
        return "\n".join([head, *rows]) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """The table as values that JSON can hold; :meth:`from_dict` reads it."""
        return self._about() | {"rows": [[_to_json(cell) for cell in row] for row in self.rows]}

    @classmethod
    def from_dict(cls, value: Any, *, file: str | Path | None = None) -> Table:  # noqa: ANN401 - what was in a file
        """The table that :meth:`as_dict` wrote; ``file`` is for the error message.

        Raises:
            InputError: It is no such table.
        """
        try:
            columns = [Column(**{**about, "interval": _pair(about.get("interval"))}) for about in value["columns"]]
            kinds = [column.kind for column in columns]
            rows = [
                tuple(_from_json(cell, kind) for cell, kind in zip(row, kinds, strict=True)) for row in value["rows"]
            ]
            others = {key: value[key] for key in _OTHERS if key in value}
            others |= {key: tuple(others[key]) for key in ("footnotes", "bold_rows") if key in others}
            return cls(tuple(columns), tuple(rows), **others)
        except IsoglotError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"this is not a result table: {error}",
                remedy="name a table that isoglot wrote",
                code="input.unknown-format",
                file=file,
            ) from error

    def json(self) -> str:
        """The whole table, how it is shown included, as JSON; :meth:`from_json` reads it."""
        return as_json(self.as_dict()).decode()

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str | Path = "table.json") -> Table:
        """The table that :meth:`json` wrote; ``file`` is for the error message.

        Raises:
            InputError: It is no JSON, or no table.
        """
        return cls.from_dict(parse_json(text.encode() if isinstance(text, str) else text, file), file=file)

    def to_frame(self) -> Any:  # noqa: ANN401 - pandas has no types here
        """The values as a pandas ``DataFrame``.

        Raises:
            MissingPartError: pandas is not installed.
        """
        pandas = import_part("pandas")
        return pandas.DataFrame(
            {
                column.name: pandas.Series(self.column(column.name), dtype=_FRAME_TYPES[column.kind or "text"])
                for column in self.columns
            }
        )

    def parquet(self) -> bytes:
        """The whole table as a Parquet file; how it is shown is in the file's metadata.

        Raises:
            MissingPartError: pyarrow is not installed.
        """
        import io

        arrow, parquet = import_part("pyarrow"), import_part("pyarrow.parquet")
        types = {"text": arrow.string(), "integer": arrow.int64(), "number": arrow.float64(), "boolean": arrow.bool_()}
        schema = arrow.schema(
            [(column.name, types[column.kind or "text"]) for column in self.columns],
            metadata={_METADATA: as_json(self._about())},
        )
        file = io.BytesIO()
        arrays = [arrow.array(self.column(spec.name), spec.type) for spec in schema]
        parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), file)
        return file.getvalue()

    @classmethod
    def from_parquet(cls, data: bytes, *, file: str | Path = "table.parquet") -> Table:
        """The table that :meth:`parquet` wrote, or the values of any flat Parquet file; ``file`` is for the message.

        Raises:
            InputError: It is no Parquet file.
            MissingPartError: pyarrow is not installed.
        """
        import io

        arrow, parquet = import_part("pyarrow"), import_part("pyarrow.parquet")
        try:
            found = parquet.read_table(io.BytesIO(data))
        except (arrow.ArrowException, OSError) as error:
            raise InputError(
                "no Parquet file, or a damaged one", remedy="write it again", code="input.unknown-format", file=file
            ) from error
        about = (found.schema.metadata or {}).get(_METADATA)
        rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True)) or [()] * found.num_rows
        if about is None:
            return cls(tuple(Column(name) for name in found.schema.names), tuple(rows))
        return cls.from_dict({**parse_json(about, file), "rows": rows}, file=file)

    def write(self, path: str | Path) -> None:
        """Write the table as the file's ending asks for: .csv, .html, .json, .md, .parquet, .tex or .txt.

        Raises:
            InputError: Another ending.
            StorageError: The file cannot be written.
        """
        ending = Path(path).suffix.lower()
        if ending not in _WRITERS:
            raise InputError(
                f"tables are not written as {shown(ending)}",
                remedy=nearest_name(ending, _WRITERS),
                code="input.unknown-format",
                file=path,
            )
        written = _WRITERS[ending](self)
        write_bytes(path, written if isinstance(written, bytes) else (written.rstrip("\n") + "\n").encode())

    # --- what the renderings share ---

    def _position(self, name: str) -> int:
        names = [column.name for column in self.columns]
        if name not in names:
            raise InputError(
                f"the table has no column {shown(name)}", remedy=nearest_name(name, names), code="input.unknown-column"
            )
        return names.index(name)

    def _about(self) -> dict[str, Any]:
        return {"columns": [_not_default(column) for column in self.columns]} | _not_default(self, _OTHERS)

    def _shown(self) -> list[Column]:
        """The columns that people see."""
        ends = {end for column in self.columns for end in column.interval or ()}
        return [one for one in self.columns if not one.hidden and one.name not in ends and one.name != self.group_by]

    def _right(self) -> list[bool]:
        return [column.align == "right" if column.align else column.kind != "text" for column in self._shown()]

    def _heads(self, *, above: bool = False) -> list[tuple[str, str]]:
        """Headings, each with the mark of its footnote; with those above them in a line of their own, if asked for."""
        marks = iter("abcdefghijklmnopqrstuvwxyz" * len(self.columns))
        return [
            (
                f"{column.above}\n{column.heading}" if above and column.above else column.heading,
                next(marks) if column.note else "",
            )
            for column in self._shown()
        ]

    def _spans(self) -> list[tuple[str, list[int]]]:
        """Second headings, each with the places of its columns."""
        return [
            (above, [place for place, _ in columns])
            for above, columns in groupby(enumerate(self._shown()), key=lambda one: one[1].above)
        ]

    def _notes(self) -> list[tuple[str, str]]:
        """Marks and footnotes, those without a mark last."""
        marked = [
            (mark, column.note) for (_, mark), column in zip(self._heads(), self._shown(), strict=True) if column.note
        ]
        return [*marked, *(("", note) for note in self.footnotes)]

    def _groups(self) -> list[_Group]:
        numbered = list(enumerate(self.dicts()))
        if self.group_by is None:
            return [self._group(None, numbered)]
        by = self.columns[self._position(self.group_by)]
        return [
            self._group(_formatted(value, by), list(rows))
            for value, rows in groupby(numbered, key=lambda one: one[1][by.name])
        ]

    def _group(self, title: str | None, rows: list[tuple[int, dict[str, Cell]]]) -> _Group:
        columns = self._shown()
        best = {column.name: _best_text(column, [row[column.name] for _, row in rows]) for column in columns}
        lines = [
            _Line(
                [self._cell(column, row) for column in columns],
                [_formatted(row[column.name], column) == best[column.name] for column in columns],
                number in self.bold_rows,
            )
            for number, row in rows
        ]
        return _Group(title, lines)

    def _cell(self, column: Column, row: Mapping[str, Cell]) -> str:
        text = _formatted(row[column.name], column)
        low, high = (row[end] for end in column.interval or (column.name, column.name))
        if column.interval is None or not isinstance(low, int | float) or not isinstance(high, int | float):
            return text
        if self.intervals == "brackets":
            return f"{text} [{_formatted(low, column)}, {_formatted(high, column)}]"
        half = dataclasses.replace(column, format=column.format.lstrip("+ "), kind="number")
        return f"{text} ± {_formatted((high - low) / 2, half)}"

    def _rich(self, *, marks: bool) -> RenderableType:
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        columns, right = self._shown(), self._right()
        title = visible(self.caption) if self.caption else None
        table = RichTable(box=None, padding=(0, 2, 0, 0), title=title and Text(title), title_justify="left")
        for (head, mark), side in zip(self._heads(above=True), right, strict=True):
            table.add_column(Text(visible(f"{head} ({mark})" if mark else head)), justify="right" if side else "left")
        for group, lines in self._groups():
            if group is not None:
                table.add_row(Text(visible(group), style="bold"))
            for line in lines:
                cells = [
                    Text(f"{'*' * (bold and marks)}{visible(text)}", style="bold" if bold else "")
                    for text, bold in zip(line.cells, line.bold, strict=True)
                ]
                table.add_row(*cells, style="bold" if line.whole else None)
        notes = [visible(f"({mark}) {note}" if mark else note) for mark, note in self._notes()]
        parts: list[RenderableType] = [table] if columns else []
        return Group(*parts, Text("\n".join(notes))) if notes else Group(*parts)


_OTHERS = ("caption", "footnotes", "group_by", "intervals", "bold_rows")
_METADATA = b"isoglot.table"
_FRAME_TYPES = {"text": "object", "integer": "Int64", "number": "float64", "boolean": "boolean"}
_WRITERS: dict[str, Callable[[Table], str | bytes]] = {
    ".csv": Table.csv,
    ".html": Table.html,
    ".json": Table.json,
    ".md": Table.markdown,
    ".parquet": Table.parquet,
    ".tex": Table.latex,
    ".txt": Table.text,
}


# --- values ---


def _flat(row: Any) -> dict[str, Any]:  # noqa: ANN401 - a dict or a dataclass
    """Names and values of a row; a value with an interval is three."""
    if dataclasses.is_dataclass(row):
        row = {spec.name: getattr(row, spec.name) for spec in dataclasses.fields(row)}
    found: dict[str, Any] = {}
    for name, value in row.items():
        parts = (
            value if isinstance(value, dict) else {key: getattr(value, key, None) for key in ("value", "low", "high")}
        )
        if all(parts.get(key) is not None for key in ("value", "low", "high")):
            found |= {name: parts["value"], f"{name}_low": parts["low"], f"{name}_high": parts["high"]}
        else:
            found[name] = value
    return found


def _typed(column: Column, cells: Sequence[Any]) -> tuple[Column, list[Cell]]:
    """The column with its kind, and its values of that kind."""
    plain = [_plain(cell) for cell in cells]
    kind = column.kind or _kind([cell for cell in plain if cell is not None])
    if kind == "text":
        return dataclasses.replace(column, kind=kind), [None if cell is None else _valid(str(cell)) for cell in plain]
    for cell in plain:
        right = isinstance(cell, bool) if kind == "boolean" else _kind([cell]) in ("integer", kind)
        if cell is not None and not right:
            raise InputError(
                f"column {shown(column.name)}: {shown(cell)} is no {kind}",
                remedy="give the column another kind",
                code="input.malformed-line",
            )
    typed = [float(cell) if kind == "number" and cell is not None else cell for cell in plain]
    return dataclasses.replace(column, kind=kind), typed


def _plain(cell: Any) -> Any:  # noqa: ANN401 - any value
    """NumPy's scalars as Python's."""
    return cell.item() if hasattr(cell, "item") and getattr(cell, "ndim", None) == 0 else cell


def _kind(cells: Sequence[Any]) -> Kind:
    if not cells:
        return "text"
    if all(isinstance(cell, bool) for cell in cells):
        return "boolean"
    if any(isinstance(cell, bool) or not isinstance(cell, int | float) for cell in cells):
        return "text"
    if any(isinstance(cell, float) for cell in cells):
        return "number" if all(abs(cell) < _LARGEST for cell in cells if isinstance(cell, int)) else "text"
    return "integer" if all(-_LARGEST <= cell < _LARGEST for cell in cells) else "text"


def _valid(text: str) -> str:
    """The text without lone surrogates, which no file can hold."""
    return text.encode("utf-8", "backslashreplace").decode()


def _difference(row: Mapping[str, Any], base: Mapping[str, Any] | None, name: str) -> Cell:
    if base is None or base is row or row[name] is None or base[name] is None:
        return None
    difference: float = row[name] - base[name]
    return difference


def _not_default(of: Column | Table, names: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass, or those of the names, that were given."""
    fields = [spec for spec in dataclasses.fields(of) if not names or spec.name in names]
    return {spec.name: getattr(of, spec.name) for spec in fields if getattr(of, spec.name) != spec.default}


def _pair(value: Any) -> tuple[str, str] | None:  # noqa: ANN401 - what was in a file
    return None if value is None else (value[0], value[1])


def _to_json(cell: Cell) -> Cell:
    """JSON has no infinity and no NaN: those are words."""
    return str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell


def _from_json(cell: Any, kind: Kind | None) -> Any:  # noqa: ANN401 - what was in a file
    return float(cell) if kind == "number" and cell in ("nan", "inf", "-inf") else cell


# --- texts ---


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


def _best_text(column: Column, values: Sequence[Cell]) -> str | None:
    """How the best number of a column is shown: what looks the same is as good."""
    numbers = [value for value in values if isinstance(value, int | float) and not math.isnan(value)]
    if column.best is None or column.kind == "boolean" or not numbers:
        return None
    return _formatted(max(numbers) if column.best == "max" else min(numbers), column)


def _csv(cell: Cell) -> str:
    text = "" if cell is None else str(cell)
    quoted = cell == "" or any(sign in text for sign in ',"\n\r') or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if quoted else text


def _html(text: str) -> str:
    return html.escape(visible(text)).replace("\n", "<br>")


def _markdown(text: str) -> str:
    """Every sign that Markdown might read, as a character; line ends as ``<br>``."""
    text = html.escape(visible(text), quote=False)
    text = re.sub(r"[\\`*_\[\]|~$#]", lambda sign: "\\" + sign[0], " ".join(text.split(" ")))
    return "<br>".join(line.strip() for line in text.replace("\t", " ").split("\n")).strip()


def _markdown_cell(text: str, column: Column, *, bold: bool) -> str:
    written = _markdown(text) if column.kind == "text" else text  # a number's brackets are no link
    return f"**{written}**" if bold and written else written


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\textasciigrave{}", "-": "-{}", "'": "'{}", ",": ",{}",
    "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "Δ": r"$\Delta$", "α": r"$\alpha$", "→": r"$\rightarrow$",
    "≤": r"$\leq$", "≥": r"$\geq$", **{sign: "\\" + sign for sign in "&%$#_{}"},
}  # fmt: skip


def _latex(text: str) -> str:
    """Text in which LaTeX finds no command and no ligature; line ends are blanks."""
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
    """A line of cells; a bracket or a star at its beginning would be an argument of the line end before it."""
    first = "{}" if cells and cells[0].startswith(("[", "*")) else ""
    return f"{first}{' & '.join(cells)} \\\\"

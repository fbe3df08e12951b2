"""Result table: typed columns and rows, rendered for terminals, pages, papers and programs.

``rich``, ``text``, ``html``, ``markdown`` and ``latex`` round numbers, put intervals in brackets and the best value of
a column in bold, with those that tie with it. ``csv``, ``json``, ``parquet`` and ``to_frame`` keep values unrounded.

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
Marked: the best of each column, and values whose interval overlaps with that of the best.
>>> print(table.csv(), end="")
arm,p1,p1_low,p1_high
default,0.71,0.68,0.74
no-anchors,0.64,0.61,0.67
"""

from __future__ import annotations

import dataclasses
import io
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core import table_rendering as rendering
from isoglot.core.errors import InputError, IsoglotError, nearest_name, shown
from isoglot.core.files import as_json, parse_json, write_bytes
from isoglot.core.optional import import_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


Cell = str | int | float | bool | None
Kind = Literal["text", "integer", "number", "boolean"]
"""What a column holds; a cell of any column may be missing (None)."""


_FORMAT = re.compile(r"[+ ]?,?(\.\d{1,2})?[defgEG%]?")  # no fill and no width: renderings align by themselves
_LARGEST = 2**63


@dataclass(frozen=True)
class Column:
    """Column of a table: where its values come from and how they are shown.

    Attributes:
        name: Key of the values in rows; header in CSV, JSON, Parquet and data frames.
        title: Heading. Default: the name with blanks for underscores.
        unit: Unit, shown behind the title.
        kind: Type of the values. Default: inferred from them.
        format: How numbers are shown, as in Python's format strings: ``.1f``, ``+.2f``, ``,d``, ``.3g``.
        scale: Factor applied to shown numbers: 100 shows a share as a percentage.
        align: ``left`` or ``right``. Default: numbers are right-aligned.
        interval: Names of the columns with the lower and upper limit; these are not shown as columns.
        best: Show the largest (``max``) or smallest (``min``) number of the column, or of a row group, in bold, and
            those whose interval overlaps with its interval.
        note: Footnote about the column.
        above: Second heading, over this column and its neighbors that have the same one.
        hidden: Do not show the column; programs still get it.
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
            problem = f"column {shown(self.name)}: {shown(self.format)} is not a number format"
            raise InputError(problem, "write .1f, +.2f or ,d", "malformed-line")

    @property
    def heading(self) -> str:
        """Title and unit."""
        title = self.name.replace("_", " ") if self.title is None else self.title
        return f"{title}, {self.unit}" if self.unit else title


@dataclass(frozen=True)
class Table:
    """Table of typed values; :meth:`from_rows` builds one from dicts or dataclasses.

    Attributes:
        columns: The columns, each with its kind.
        rows: A tuple of values for each row, in the order of the columns.
        caption: What the table shows.
        footnotes: Lines below the table.
        group_by: Name of a column whose values become headings of groups of rows.
        intervals: Show intervals as ``12.3 [11.8, 12.9]`` (brackets) or as half their width, ``12.3 ± 0.6``.
        bold_rows: Indices of the rows shown in bold.
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
            problem = f"two columns have the name {shown(twice)}"
            raise InputError(problem, "give every column its own name", "duplicate-column")
        ends = [end for column in self.columns for end in column.interval or ()]
        for name in [*ends, *([] if self.group_by is None else [self.group_by])]:
            self.position(name)
        if any(len(row) != len(names) for row in self.rows):
            problem = f"a row does not have {len(names)} values"
            raise InputError(problem, "give a value, or None, for every column", "column-count")
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
        """Build a table from dicts or dataclasses.

        A value with ``value``, ``low`` and ``high`` becomes three columns, such as ``p1`` with the interval ``p1_low``
        and ``p1_high``.

        Args:
            rows: The rows; keys that a row lacks are missing values.
            columns: The columns, in order. Default: every key of a row, in order of appearance.
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
        """Build a table from cells that are text already, such as two numbers in one cell.

        Args:
            head: Headings.
            rows: The cells.
            align: ``l`` or ``r`` for each column; the last one applies to all further columns.
            **options: Caption, footnotes and the other attributes of a table.
        """
        sides = align.ljust(len(head), align[-1])
        names = [title or f"column {place + 1}" for place, title in enumerate(head)]
        names = names if len(set(names)) == len(names) else [str(place + 1) for place in range(len(head))]
        columns = [
            Column(name, title=title, kind="text", align="right" if side == "r" else "left")
            for name, title, side in zip(names, head, sides, strict=False)
        ]
        return cls(tuple(columns), tuple(tuple(row) for row in rows), **options)

    # --- values ---

    def column(self, name: str) -> list[Cell]:
        """The values of a column."""
        place = self.position(name)
        return [row[place] for row in self.rows]

    def dicts(self) -> list[dict[str, Cell]]:
        """A dict for each row."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    # --- for people ---

    rich = __rich__ = rendering.render_rich
    text = __str__ = rendering.render_text
    html = _repr_html_ = rendering.render_html
    markdown = rendering.render_markdown
    latex = rendering.render_latex

    # --- for programs ---

    def csv(self) -> str:
        """All values as CSV, unrounded; missing values are empty."""
        head = ",".join(_csv(column.name) for column in self.columns)
        rows = [",".join(map(_csv, row)) or '""' for row in self.rows]  # a row of one missing value is not a blank line
        return "\n".join([head, *rows]) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """The table as values that JSON can hold; :meth:`from_dict` reads it."""
        return self._about() | {"rows": [[_to_json(cell) for cell in row] for row in self.rows]}

    @classmethod
    def from_dict(cls, value: Any, *, file: str | Path | None = None) -> Table:  # noqa: ANN401 - what was in a file
        """Read what :meth:`as_dict` returned; ``file`` is for the error message.

        Raises:
            InputError: It is not such a table.
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
            problem, remedy = f"not a result table: {error}", "name a table that isoglot wrote"
            raise InputError(problem, remedy, "unknown-format", file=file) from error

    def json(self) -> str:
        """The whole table with its formatting as JSON; :meth:`from_json` reads it."""
        return as_json(self.as_dict()).decode()

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str | Path = "table.json") -> Table:
        """Read what :meth:`json` returned; ``file`` is for the error message.

        Raises:
            InputError: It is not JSON, or not a table.
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
        """Read what :meth:`parquet` returned, or any flat Parquet file; ``file`` is for the error message.

        Raises:
            InputError: It is not a Parquet file.
            MissingPartError: pyarrow is not installed.
        """
        arrow, parquet = import_part("pyarrow"), import_part("pyarrow.parquet")
        try:
            found = parquet.read_table(io.BytesIO(data))
        except (arrow.ArrowException, OSError) as error:
            problem = "not a Parquet file, or a damaged one"
            raise InputError(problem, "write it again", "unknown-format", file=file) from error
        about = (found.schema.metadata or {}).get(_METADATA)
        rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True)) or [()] * found.num_rows
        if about is None:
            return cls(tuple(Column(name) for name in found.schema.names), tuple(rows))
        return cls.from_dict({**parse_json(about, file), "rows": rows}, file=file)

    def write(self, path: str | Path) -> None:
        """Write the table in the format of the file's suffix: .csv, .html, .json, .md, .parquet, .tex or .txt.

        Raises:
            InputError: Another suffix.
            StorageError: The file cannot be written.
        """
        ending = Path(path).suffix.lower()
        if ending not in _WRITERS:
            problem = f"tables cannot be written as {shown(ending)}"
            raise InputError(problem, nearest_name(ending, _WRITERS), "unknown-format", file=path)
        written = _WRITERS[ending](self)
        write_bytes(path, written if isinstance(written, bytes) else (written.rstrip("\n") + "\n").encode())

    # --- columns ---

    def position(self, name: str) -> int:
        """The position of a column.

        Raises:
            InputError: There is no such column.
        """
        names = [column.name for column in self.columns]
        if name not in names:
            raise InputError(f"the table has no column {shown(name)}", nearest_name(name, names), "unknown-column")
        return names.index(name)

    def _about(self) -> dict[str, Any]:
        return {"columns": [_not_default(column) for column in self.columns]} | _not_default(self, _OTHERS)


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
    """Names and values of a row; a value with an interval becomes three."""
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
    """The column with its kind, and its values converted to it."""
    plain = [_plain(cell) for cell in cells]
    kind = column.kind or _kind([cell for cell in plain if cell is not None])
    if kind == "text":
        return dataclasses.replace(column, kind=kind), [None if cell is None else _valid(str(cell)) for cell in plain]
    for cell in plain:
        right = isinstance(cell, bool) if kind == "boolean" else _kind([cell]) in ("integer", kind)
        if cell is not None and not right:
            problem = f"column {shown(column.name)}: {shown(cell)} is not of the kind {kind!r}"
            raise InputError(problem, "give the column another kind", "malformed-line")
    typed = [float(cell) if kind == "number" and cell is not None else cell for cell in plain]
    return dataclasses.replace(column, kind=kind), typed


def _plain(cell: Any) -> Any:  # noqa: ANN401 - any value
    """Convert NumPy scalars to Python's."""
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
    """Escape lone surrogates, which cannot be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()


def _not_default(of: Column | Table, names: Sequence[str] = ()) -> dict[str, Any]:
    """Fields, or those of the given names, that differ from their defaults."""
    fields = [spec for spec in dataclasses.fields(of) if not names or spec.name in names]
    return {spec.name: getattr(of, spec.name) for spec in fields if getattr(of, spec.name) != spec.default}


def _pair(value: Any) -> tuple[str, str] | None:  # noqa: ANN401 - what was in a file
    return None if value is None else (value[0], value[1])


def _to_json(cell: Cell) -> Cell:
    """JSON has no infinity and no NaN: they become strings."""
    return str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell


def _from_json(cell: Any, kind: Kind | None) -> Any:  # noqa: ANN401 - what was in a file
    return float(cell) if kind == "number" and cell in ("nan", "inf", "-inf") else cell


def _csv(cell: Cell) -> str:
    text = "" if cell is None else str(cell)
    quoted = cell == "" or any(sign in text for sign in ',"\n\r') or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if quoted else text

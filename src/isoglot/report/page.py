"""Pages: findings with figures and tables in one style, and the files that belong to them.

A page holds its text, figures and tables; ``vega.js`` beside it draws the figures. It opens from a disk without a
network, and needs no library of Python.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from isoglot.core.errors import ConfigError, nearest_name, shown, visible
from isoglot.core.files import as_json, write_files
from isoglot.core.table import Table
from isoglot.report.figures.charts import Figure
from isoglot.report.figures.theme import COLORS, RAMP, config
from isoglot.report.rendering import SPECS, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jinja2 import Environment
    from markupsafe import Markup

PAGE, SCRIPT, TABLES = "index.html", "vega.js", "tables"
_HERE = Path(__file__).parent
_FEW_COLUMNS = 6


@dataclass(frozen=True)
class Side:
    """Figures beside each other where there is room."""

    figures: Sequence[Figure]


@dataclass(frozen=True)
class Folded:
    """Blocks that show when their title is clicked."""

    title: str
    body: Sequence[Block]


@dataclass(frozen=True)
class Filtered:
    """A table with a text box that filters its rows; the hint is an example of what to type."""

    table: Table
    hint: str


Block: TypeAlias = "str | Figure | Table | Side | Folded | Filtered | Markup | None"
"""Part of a section: a paragraph, a figure, a table, or HTML that was made here (Markup); None is nothing."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A finding and what shows it."""

    title: str
    body: Sequence[Any] = ()
    """Blocks."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page and its files.

    Attributes:
        title: What it is about.
        lead: What was found, in a sentence or two.
        sections: One finding each.
        facts: Lines for the foot: what ran, when, where; the command last.
    """

    title: str
    lead: str
    sections: Sequence[Section] = field(repr=False)
    facts: Sequence[str] = ()

    def html(self, *, inline: bool = False) -> str:
        """The page.

        Args:
            inline: Put the script that draws figures into it, instead of a link to ``vega.js`` beside it.
        """
        figures = dict(self._named("figure"))
        return str(
            _templates()
            .get_template("page.html")
            .render(
                page=self,
                script=markup(_vega().replace("</script", r"<\/script")) if inline else None,
                drawing=bool(figures),
                names={id(one): name for kind in ("figure", "table") for name, one in self._named(kind)},
                saved=not inline,
                parquet=find_spec("pyarrow") is not None,
            )
        )

    def figures(self) -> dict[str, Figure]:
        """The figures by the names of their files."""
        return dict(self._named("figure"))

    def figure(self, name: str | None = None) -> Figure:
        """A figure by name, or the first.

        Raises:
            ConfigError: There is no such figure.
        """
        figures = self.figures()
        if not figures or (name is not None and name not in figures):
            raise ConfigError(
                f"the page has no figure {shown(name)}" if figures else "the page has no figures",
                nearest_name(name or "", figures),
                "unknown-name",
            )
        return figures[name or next(iter(figures))]

    def tables(self) -> list[Table]:
        """The tables of the page, those behind figures last."""
        behind = [figure.table for figure in self.figures().values() if figure.table is not None]
        return [*(table for _, table in self._named("table")), *behind]

    def files(self) -> dict[str, str | bytes]:
        """All files of the page: itself, its script, the specifications of its figures, its tables."""
        figures = self.figures()
        found: dict[str, str | bytes] = {PAGE: self.html()}
        found |= {SCRIPT: _vega()} if figures else {}
        found |= {f"{SPECS}/{name}{SUFFIX}": as_json(figure.titled()) for name, figure in figures.items()}
        for name, table in self._named("table"):
            found |= {f"{TABLES}/{name}.csv": table.csv(), f"{TABLES}/{name}.tex": table.latex()}
            if find_spec("pyarrow") is not None:
                found[f"{TABLES}/{name}.parquet"] = table.parquet()
        return found

    def write(self, folder: Path, *, one_file: bool = False) -> list[Path]:
        """Write all files into a folder, and return their paths, that of the page first.

        Args:
            folder: The folder.
            one_file: Write the page alone, with the script in it, to be sent or published.

        Raises:
            StorageError: A file cannot be written.
        """
        return write_files(folder, {PAGE: self.html(inline=True)} if one_file else self.files())

    def _repr_html_(self) -> str:
        """A page within a page, for notebooks."""
        from html import escape

        frame = "width:100%;height:640px;border:1px solid #8884;border-radius:8px"
        return f'<iframe style="{frame}" srcdoc="{escape(self.html(inline=True))}"></iframe>'

    def _named(self, kind: str) -> Iterator[tuple[str, Any]]:
        """Figures, or tables that are not behind one, with names that are unique as files."""
        taken: dict[str, int] = {}
        for section in self.sections:
            for block in _walk(section.body):
                if isinstance(block, Figure if kind == "figure" else Table):
                    named = block.name if isinstance(block, Figure) else block.caption or section.title
                    slug = "-".join(re.findall(r"\w+", visible(named).lower(), re.ASCII)[:6])[:48] or kind
                    taken[slug] = taken.get(slug, 0) + 1
                    yield slug if taken[slug] == 1 else f"{slug}-{taken[slug]}", block


def _walk(body: Sequence[Block]) -> Iterator[Figure | Table]:
    for block in body:
        if isinstance(block, Side):
            yield from block.figures
        elif isinstance(block, Folded):
            yield from _walk(block.body)
        elif isinstance(block, Filtered):
            yield block.table
        elif isinstance(block, Figure | Table):
            yield block


def escape(text: str) -> str:
    """Text for HTML, whatever it contains; control characters become visible.

    >>> escape("<a> & 'b'")
    '&lt;a&gt; &amp; &#x27;b&#x27;'
    """
    from html import escape as escaped

    return escaped(visible(text))


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    made.globals |= {
        "style": markup((_HERE / "templates" / "style.css").read_text("utf-8")),
        "code": markup((_HERE / "templates" / "page.js").read_text("utf-8")),
        "theme": _script_json({"config": config(pages=True), "ramp": RAMP, "colors": COLORS}),
        "kind_of": _kind_of,
        "three": _three,
        "ident": id,
        "spec_of": lambda figure: _script_json({"description": visible(figure.title), **figure.spec}),
        "table_of": lambda table: markup(table.html()),
    }
    return made


def _kind_of(block: Block) -> str:
    if hasattr(block, "__html__"):
        return "html"
    return "text" if isinstance(block, str) else type(block).__name__.lower()


def _three(figures: Sequence[Figure]) -> bool:
    """Whether figures are three heat maps of so few columns that they stand in one row."""
    columns = [figure.spec["usermeta"]["isoglot"].get("columns", 99) for figure in figures]
    return len(columns) == 3 and max(columns) <= _FEW_COLUMNS


def _script_json(value: Any) -> Markup:  # noqa: ANN401 - whatever JSON can hold
    """JSON inside a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return markup(text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026"))


def markup(text: str) -> Markup:
    """HTML that was made here; everything in it that was read must have been escaped."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - made from escaped parts


@cache
def _vega() -> str:
    return (_HERE / "vega" / "vega.js").read_text("utf-8")

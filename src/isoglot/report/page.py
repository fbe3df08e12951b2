"""One HTML page that holds everything it shows: no script, no font and no picture from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.core.table import Table
from isoglot.core.table_rendering import HTML_STYLE
from isoglot.report.markup import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #f6f5f1; color: #1f2933; font: 17px/1.6 Georgia, 'Times New Roman', serif; }
main { max-width: 860px; margin: 0 auto; padding: 2.2rem 1.2rem 4rem; }
h1, h2, h3, figure text, .facts { font-family: Helvetica, Arial, sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .6rem; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 2.6rem 0 .4rem; }
p { margin: .6rem 0; }
.lead { font-size: 1.15rem; }
section { margin-top: 1.6rem; }
figure, section > .scroll { margin: 1rem 0 0; }
figure { padding: .8rem; background: #fff; border: 1px solid #dedad0; border-radius: 8px; }
figure svg { width: 100%; height: auto; display: block; }
figcaption { font-size: .92rem; color: #52606d; padding: .5rem .3rem 0; }
.scroll svg { min-width: 420px; }
.facts { font-size: .85rem; color: #616e7c; overflow-wrap: anywhere; }
code { font: .9em/1.4 Menlo, Consolas, monospace; background: #ece9e1; padding: .1em .3em; border-radius: 4px;
  overflow-wrap: anywhere; }
.tick { font-size: 12px; fill: #52606d; } .axis { font-size: 13px; fill: #323f4b; }
.name { font-size: 12.5px; font-weight: bold; }
.legend { display: none; flex-wrap: wrap; gap: .2rem 1rem; list-style: none; margin: .4rem .3rem; padding: 0;
  font: bold .85rem Helvetica, Arial, sans-serif; }
.legend li { color: var(--c); }
@media (max-width: 700px) { .legend { display: flex; } }
@media (max-width: 520px) { main { padding: 1.2rem .8rem 3rem; } figure { padding: .5rem; }
  .tick { font-size: 14px; } }
.side { display: flex; flex-wrap: wrap; gap: .8rem; margin-top: 1rem; }
.side figure { flex: 1 1 360px; min-width: 0; margin: 0; } .side .legend { display: none; }
.side .scroll svg { min-width: 0; }
h3 { font-size: 1rem; margin: 1.4rem 0 .2rem; }
details { background: #fff; border: 1px solid #dedad0; border-radius: 8px; margin: .6rem 0; padding: .5rem .8rem; }
details figure { border: 0; padding: .4rem 0; } summary { cursor: pointer; font-weight: bold; }
.grid { stroke: #e8e5dd; } .floor { stroke: #888; stroke-dasharray: 3 3; }
"""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A drawing with what it is and what it means."""

    drawing: str
    """An ``svg`` element, or HTML with one in it."""
    caption: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """A finding as its title, what to say about it, and what shows it."""

    title: str
    words: Sequence[str] = ()
    """Paragraphs of plain text."""
    figures: Sequence[Figure] = ()
    table: str = ""
    """A table from :func:`table`."""


def page(title: str, lead: str, sections: Sequence[Section], *, facts: Sequence[str] = ()) -> str:
    """A whole page.

    Args:
        title: What it is about.
        lead: What was found, in a sentence or two.
        sections: One finding each.
        facts: Lines for the foot: what ran, when, where.
    """
    body = "\n".join(_section(section) for section in sections)
    foot = "".join(f"<p>{escape(fact)}</p>" for fact in facts)
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<link rel='icon' href='data:,'>"
        f"<title>{escape(title)}</title><style>{_STYLE}{HTML_STYLE}</style></head>\n<body><main>\n"
        f"<h1>{escape(title)}</h1>\n<p class='lead'>{escape(lead)}</p>\n{body}\n"
        f"<footer class='facts'>{foot}</footer>\n</main></body></html>\n"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers_from: int = 1) -> str:
    """A table; columns from ``numbers_from`` on hold numbers and stand to the right."""
    return Table.from_cells(head, rows, align="l" * numbers_from + "r").html()


def folded(title: str, body: str) -> str:
    """Something that shows when its title is clicked."""
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def _section(section: Section) -> str:
    return f"<section><h2>{escape(section.title)}</h2>{section_body(section)}</section>"


def section_body(section: Section) -> str:
    """A section without its title."""
    words = "".join(f"<p>{escape(text)}</p>" for text in section.words)
    figures = "".join(
        f"<figure>{figure.drawing}<figcaption>{escape(figure.caption)}</figcaption></figure>"
        for figure in section.figures
    )
    return f"{words}{figures}{section.table}"

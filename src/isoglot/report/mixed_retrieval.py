"""The page of retrieval from one pool of all languages: whether a translation is nearest, or the own language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.language_codes import language_name
from isoglot.core.progress import counted
from isoglot.core.table import Column, Table
from isoglot.report.figures import Figure, Line, heat_map, lines
from isoglot.report.page import Page, Section, Side
from isoglot.report.retrieval import layer_name, way_name
from isoglot.retrieve.evaluation import NEIGHBORHOOD_METHODS
from isoglot.retrieve.mixed_pool import NEAREST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from isoglot.retrieve.estimates import Center
    from isoglot.retrieve.mixed_pool import MixedPool, MixedRetrieval

FIGURES = {
    "precision": "a translation first (P@1)",
    "own_language": "own language first",
    "own_share": f"own language among the {NEAREST} nearest others",
}
"""Fields of :class:`isoglot.retrieve.mixed_pool.MixedFigures` that are printed, in words."""
_PERCENT: dict[str, Any] = {"unit": "%", "scale": 100, "format": ".1f"}


def mixed_page(found: MixedRetrieval, *, facts: Sequence[str] = ()) -> Page:
    """The page of ``isoglot retrieve sentences --candidates mixed``.

    Args:
        found: The result.
        facts: Lines for its foot.
    """
    sections = []
    for pool in found.pools:
        figure = _layers_figure(pool) if len({each.layer for each in pool.scores}) > 1 else None
        body = [_about(pool), figure, _scores_table(pool), _languages_figure(pool)]
        sections.append(Section(title=mixed_finding(pool), body=body))
    lead = ". ".join([*found.remarks, "Every query searches the sentences of all languages but itself"])
    names = " and ".join(f"one pool of {pool.name}" for pool in found.pools)
    return Page(title=f"Translations found in {names}", lead=f"{lead}.", sections=sections, facts=facts)


def mixed_figure(found: MixedRetrieval) -> Figure:
    """Shares by layer, of the first pool."""
    return _layers_figure(found.pools[0])


def mixed_table(found: MixedRetrieval) -> RenderableType:
    """Show a table for each share, layer by method; then the finding."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for pool in found.pools:
        ways = dict.fromkeys((each.method, each.center) for each in pool.scores)
        for field, title in FIGURES.items():
            cells: dict[int | None, list[str]] = {}
            for each, figures in zip(pool.scores, pool.figures, strict=True):  # of a layer, in the order of the ways
                cells.setdefault(each.layer, [layer_name(each.layer)]).append(
                    f"{100 * getattr(figures, field).value:.1f}"
                )
            chance = f" (chance {100 / len(pool.sides):.1f})" if field == "own_share" else ""
            table = Table.from_cells(["layer", *(way_name(*way) for way in ways)], list(cells.values()))
            parts += [Text(f"{title}, %{chance}: {pool.name}"), table, Text()]
        parts.append(Text(f"{mixed_finding(pool)}\n{_about(pool)}"))
    return Group(*parts, *map(Text, found.remarks))


def mixed_finding(pool: MixedPool) -> str:
    """What is found best where, and how often a query's own language is found first with and without its mean."""
    best = pool.best
    where = "The vectors find" if best.layer is None else f"Layer {best.layer} finds"
    text = (
        f"{where} a translation first for {100 * best.value:.1f} % of queries by {way_name(best.method, best.center)} "
    )
    text += f"among {pool.candidates:,} candidates in {counted(len(pool.sides), 'languages')}"
    words: dict[Center, str] = {"none": "as it is", "mean": "with means removed"}
    said = []
    for center, word in words.items():
        at = pool.at(best.layer, center, best.method)
        if at is not None:
            share = pool.figures[at].own_language
            said.append(f"{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f}) {word}")
    return f"{text}; a sentence of the query's own language comes first for {' and '.join(said)}"


def _about(pool: MixedPool) -> str:
    best = pool.best
    text = f"95 % interval of the best: {100 * best.low:.1f} to {100 * best.high:.1f}"
    if best.chosen_among > 1:
        text += f", the best of {best.chosen_among} on the same data"
    if best.held_out is not None and best.chosen_among > 1:
        own = best.held_out
        text += f"; chosen on half of the sentences and scored on the others, both ways: {100 * own.value:.1f} % "
        text += f"({100 * own.low:.1f} to {100 * own.high:.1f})"
    return ". ".join([text, *_estimates_in_words(pool)]) + "."


def _estimates_in_words(pool: MixedPool) -> list[str]:
    estimates, said = pool.config.estimates, []
    if any(each.center == "mean" for each in pool.scores):
        said.append(f"Centered: each language's mean removed, means {estimates.means_in_words}")
    if {each.method for each in pool.scores} & set(NEIGHBORHOOD_METHODS):
        said.append(f"Neighborhoods {estimates.neighborhoods_in_words}, without the candidate and its translations")
    return said


def _layers_figure(pool: MixedPool) -> Figure:
    """By layer: how often a translation comes first, and how often the query's own language, by the best method."""
    method, drawn = pool.best.method, []
    for field, name in (("precision", "a translation"), ("own_language", "own language")):
        for center in dict.fromkeys(each.center for each in pool.scores):
            shares = [
                (float(each.layer or 0), getattr(figures, field))
                for each, figures in zip(pool.scores, pool.figures, strict=True)
                if (each.method, each.center) == (method, center)
            ]
            drawn.append(
                Line(
                    name=f"{name}, means removed" if center == "mean" else name,
                    points=[(layer, 100 * share.value) for layer, share in shares],
                    band=[(layer, 100 * share.low, 100 * share.high) for layer, share in shares],
                )
            )
    return lines(
        drawn,
        name="layers",
        title=mixed_finding(pool),
        caption=f"What the nearest neighbor of a query is, by {method}: a translation in any language, or an unrelated "
        "sentence of the query's own language. The rest are wrong sentences of other languages. Bands: 95 % intervals.",
        x="layer",
        y="queries, %",
        whole=True,
    )


def _scores_table(pool: MixedPool) -> Table:
    rows = [
        {"layer": each.layer, "by": way_name(each.method, each.center), **figures._asdict()}
        for each, figures in zip(pool.scores, pool.figures, strict=True)
    ]
    chance = f"Of the {NEAREST} nearest that are no translations; {100 / len(pool.sides):.1f} % at chance."
    columns = [
        Column("layer", hidden=all(row["layer"] is None for row in rows)),
        Column("by"),
        Column("precision", "translation (P@1)", best="max", **_PERCENT),
        Column("recall", "all translations", best="max", **_PERCENT,
               note=f"Share of the {len(pool.sides) - 1} translations among as many nearest neighbors."),
        Column("own_language", "own language first", best="min", **_PERCENT),
        Column("other_language", "other language, wrong", best="min", **_PERCENT),
        Column("own_share", "own-language share", **_PERCENT, note=chance),
    ]  # fmt: skip
    return Table.from_rows(rows, columns, caption=f"{pool.name}: what the nearest neighbor is, shares of all queries")


def _languages_figure(pool: MixedPool) -> Side:
    """The language of the nearest neighbor by the language of the query, in the best layer."""
    best, names = pool.best, [language_name(code) for code in pool.sides]
    words: dict[Center, str] = {"none": "vectors as they are", "mean": "means removed"}
    maps = []
    for center, word in words.items():
        at = pool.at(best.layer, center, best.method)
        if at is not None:
            cells = (100 * pool.scores[at].found_languages()).tolist()
            title = f"Language of the nearest neighbor, {word}"
            caption = f"{title}: layer {layer_name(best.layer)}, {best.method}."
            maps.append(
                heat_map(
                    names,
                    names,
                    cells,
                    name=f"languages-{center}",
                    title=title,
                    x="found",
                    y="query",
                    scale="queries, %",
                    limits=(0.0, 100.0),
                    form=".1f",
                    caption=caption,
                )
            )
    return Side(maps)

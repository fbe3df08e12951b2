"""The page of a migrated index: recall that is kept, by number of documents that the map was fitted on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.table import Column, Table
from isoglot.report.figures import Line, lines
from isoglot.report.page import Page, Section
from isoglot.report.results import Rendering

if TYPE_CHECKING:
    from isoglot.align.migration import Migration
    from isoglot.represent.matrix_files import MatrixFile

_CHANCE = "Recall is about that of chance: check that the sample's texts belong to the rows that they are given for"


def migration_result(new: MatrixFile, found: Migration | None) -> Rendering:
    """The new file and, if a map was fitted, what it keeps, in every form."""
    written = f"{new.rows:,} vectors of {new.width:,} numbers in {new.path.name}"
    facts = {"rows": new.rows, "hidden_size": new.width, "file": new.path.name}
    if found is None:
        from rich.text import Text

        page = Page(title="Index mapped to another model", lead=f"{written}.", sections=[])
        return Rendering(facts, Text(written), lambda foot: _with(page, foot))
    notes = [finding(found), *([_CHANCE] if found.is_chance else []), written]
    return Rendering({**facts, **found.as_dict()}, recall_table(found), lambda foot: _page(found, notes, foot), notes)


def finding(found: Migration) -> str:
    """What was found, in one sentence."""
    k = found.chosen_at if found.chosen_at in found.recall else max(found.recall)
    kept, old = found.recall[k], found.old[k]
    return (
        f"Of the new model's {k} nearest documents a search among mapped ones finds {100 * kept.value:.1f} % "
        f"[{100 * kept.low:.1f}, {100 * kept.high:.1f}]; the old model has {100 * old.value:.1f} % of them"
    )


def recall_table(found: Migration) -> Table:
    """Recall at every k by number of documents, and that of the old model."""
    rows = [
        {"documents": f"{point.documents:,}", **{str(k): each for k, each in point.recall.items()}}
        for point in found.curve
    ]
    rows.append({"documents": "old model", **{str(k): each for k, each in found.old.items()}})
    columns = [Column(str(k), f"recall at {k}", unit="%", scale=100, format=".1f") for k in found.recall]
    caption = f"Share of the new model's nearest documents found, {found.queries:,} queries among {found.documents:,}"
    return Table.from_rows(rows, [Column("documents", "fitted on", align="right"), *columns], caption=caption)


def _page(found: Migration, notes: list[str], foot: object) -> dict[str, str | bytes]:
    figure = None
    if len(found.curve) > 1:
        figure = lines(
            [
                Line(
                    name=f"at {k}",
                    points=[(point.documents, 100 * point.recall[k].value) for point in found.curve],
                    band=[(p.documents, 100 * p.recall[k].low, 100 * p.recall[k].high) for p in found.curve],
                )
                for k in found.recall
            ],
            name="recall",
            title=finding(found),
            caption="Mapped documents, queries of the new model. Bands: 95 % intervals over queries.",
            x="documents that the map was fitted on",
            y="recall, %",
            whole=True,
        )
    tried = Table.from_rows(
        [{"map": name, "recall": value} for name, value in found.tried.items()],
        [
            Column("map"),
            Column("recall", f"recall at {found.chosen_at}", unit="%", scale=100, format=".1f", best="max"),
        ],
        caption="Maps to choose from, on the part of the training documents kept for that",
    )
    sections = [
        Section(title="Recall by number of documents", body=[figure, recall_table(found)]),
        Section(title=f"The map: {found.name}", body=[tried]),
    ]
    lead = ". ".join(notes) + "."
    return _with(Page(title="Index mapped to another model", lead=lead, sections=sections), foot)


def _with(page: Page, foot: object) -> dict[str, str | bytes]:
    from dataclasses import replace

    return replace(page, facts=foot).files()  # type: ignore[arg-type]

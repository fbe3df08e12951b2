"""Results of a search as files and on a terminal, whether by pairs of languages or in one pool of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.report.mixed_retrieval import mixed_figure, mixed_page, mixed_table
from isoglot.report.rendering import save_figure
from isoglot.report.results import Rendering
from isoglot.report.retrieval import retrieval_figure, retrieval_page, retrieval_table
from isoglot.retrieve import MixedRetrieval

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoglot.core.run import RunRecord
    from isoglot.retrieve import Retrieval
    from isoglot.retrieve.results import Which


def write_retrieval(
    found: Retrieval | MixedRetrieval,
    record: RunRecord | None,
    *,
    pairs: Which = "best",
    figure: Path | None = None,
    facts: Sequence[str] = (),
) -> Rendering:
    """Write scores, predictions and page to the folder of a run, and a figure to a file of its own.

    Args:
        found: The result.
        record: Record of the run; None without a folder.
        pairs: Which predictions are written.
        figure: File of the figure. Default: none.
        facts: Lines for the foot of the page.

    Raises:
        ConfigError: The figure has an unknown ending.
        MissingPartError: A library to draw it is not installed.
        StorageError: A file cannot be written.
    """
    files = [] if record is None else found.save(record.folder, pairs)
    if record is not None:
        page = (
            mixed_page(found, facts=facts)
            if isinstance(found, MixedRetrieval)
            else retrieval_page(found.pairs, remarks=found.remarks, facts=facts)
        )
        files.append(page.write(record.folder)[0])
    if figure is not None:
        files.append(figure if record is None else record.place(figure))
        drawn = mixed_figure(found) if isinstance(found, MixedRetrieval) else retrieval_figure(found.pairs)
        save_figure(drawn.titled(), files[-1])
        if record is not None:
            record.add_output(files[-1])
    named = [str(path if record is None else record.shown(path)) for path in files]
    table = mixed_table(found) if isinstance(found, MixedRetrieval) else retrieval_table(found.pairs, found.remarks)
    notes = [f"Written: {', '.join(named)}"] if named else []
    return Rendering(found.as_dict() | {"files": named}, table, notes=notes)

"""``isoglot report``: the results of a study as one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.options import OptionalOut
from isoglot.cli.output import Output, page_facts

if TYPE_CHECKING:
    from isoglot.study.engines import RunResult
    from isoglot.study.study import Study

EXAMPLE = "Example: isoglot report studies/first --open"


def report(
    *,
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The --out of isoglot study run.")],
    out: OptionalOut = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    output: Output,
) -> None:
    """Write the results of a study as one page, index.html: tables beside the paper's, verdicts, figures, what ran.

    Without --out, it is written into the study's folder.
    """
    from isoglot.study.study import Study

    path = write_page(Study.open(study), out)
    output.result({"page": str(path)}, f"{path}: {path.stat().st_size / 1000:,.0f} kB")
    if open_:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


def write_page(study: Study, out: Path | None = None) -> Path:
    """Write the page of a study and return its path."""
    from isoglot.core.files import writable_folder, write_text
    from isoglot.report.study import PAGE, study_page

    path = writable_folder(study.out if out is None else out) / PAGE
    write_text(path, study_page(study, facts=page_facts()))
    return path


def finish_study(study: Study, result: RunResult, output: Output) -> None:
    """Write the figures and the page of a study that was run, and show its tables.

    Raises:
        IsoglotError: A step has failed.
    """
    from rich.console import Group

    from isoglot.core.errors import IsoglotError
    from isoglot.report.study_figures import FOLDER, write_figures
    from isoglot.study.tables.results import closing_tables

    output.say(result.in_words())
    figures, page = [str(path) for path in write_figures(study)], write_page(study)
    value = {"study": str(study.out), "steps": dict(study.counts()), "failed": result.failed}
    value |= {"figures": figures, "page": str(page)} | ({"jobs": result.jobs} if result.jobs else {})
    shown = [part for table in closing_tables(study) for part in ("", table)]
    output.result(value, Group(*shown) if shown else "No results yet.")
    if figures:
        output.say(f"figures: {study.out / FOLDER}")
    output.say(f"page: {page}")
    if result.failed:
        raise IsoglotError(
            f"{len(result.failed)} steps failed; the first: {next(iter(result.failed.values()))}",
            remedy=f"isoglot study status {study.out} lists them; the same command tries again",
        )

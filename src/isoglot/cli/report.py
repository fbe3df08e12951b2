"""``isoglot report``: the results of a study as one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.options import Debug, Json, OptionalOut, Quiet
from isoglot.cli.output import Output, page_facts

if TYPE_CHECKING:
    from isoglot.study.study import Study

EXAMPLE = "Example: isoglot report studies/first --open"


def report(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The --out of isoglot study run.")],
    out: OptionalOut = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the results of a study as one page, index.html: tables beside the paper's, verdicts, figures, what ran.

    Without --out, it is written into the study's folder.
    """
    from rich.text import Text

    from isoglot.study.study import Study

    path = write_page(Study.open(study), out)
    Output(json=json, quiet=quiet).result({"page": str(path)}, Text(f"{path}: {path.stat().st_size / 1000:,.0f} kB"))
    if open_:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


def write_page(study: Study, out: Path | None = None) -> Path:
    """Write the page of a study and return its path."""
    from isoglot.core.files import writable_folder, write_text
    from isoglot.report.study import PAGE, study_page

    folder = study.out if out is None else out
    writable_folder(folder)
    path = folder / PAGE
    write_text(path, study_page(study, facts=page_facts()))
    return path

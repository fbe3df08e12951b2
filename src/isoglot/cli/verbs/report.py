"""``isoglot report``: the results of studies as one page, and the figures of any result folder as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from isoglot.cli.options import OptionalOut
from isoglot.cli.output import Output, page_facts
from isoglot.report.rendering import Format, Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.study.engines import RunResult
    from isoglot.study.study import Study

EXAMPLE = "Example: isoglot report studies/first --figures pdf --width 84mm --bare"


@dataclass(frozen=True, kw_only=True)
class FigureOptions:
    """Options of figures as files."""

    SECTION: ClassVar[str] = "Figures"
    figures: Annotated[
        Format | None, typer.Option("--figures", metavar="svg|png|pdf", help="Draw every figure as a file.")
    ] = None
    width: Annotated[str, typer.Option("--width", metavar="LENGTH", help="Width, such as 84mm, 240pt or 720px.")] = (
        "720px"
    )
    font_size: Annotated[float, typer.Option("--font-size", metavar="POINTS", help="Font size in points.")] = 9.0
    titles: Annotated[bool, typer.Option("--titles/--bare", help="With title and caption, or without.")] = True


def report(
    *,
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER", help="The --out of isoglot study run, or of another command.")
    ],
    out: OptionalOut = None,
    drawing: FigureOptions,
    one_file: Annotated[
        bool, typer.Option("--one-file", help="Write the page of a study as one file, to be sent or published.")
    ] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    output: Output,
) -> None:
    """Write the results of a study as one page, index.html: tables beside the paper's, verdicts, figures, what ran.

    Without --out, it is written into the study's folder; several studies stand side by side in --out. --figures draws
    the figures of a study, or of any other result that has a page, into its folder figures.
    """
    from isoglot.core.run import record_outputs
    from isoglot.report.rendering import render_folder

    style = Style(width=drawing.width, font_size=drawing.font_size, titles=drawing.titles)
    path = _page(folders, out, one_file=one_file)
    files = [] if drawing.figures is None else list(render_folder(path.parent, drawing.figures, style))
    record_outputs(path.parent, files)
    drawn = [str(one) for one in files]
    value = {"page": str(path)} | ({"figures": drawn} if drawing.figures else {})
    output.result(value, "\n".join([f"{path}: {path.stat().st_size / 1000:,.0f} kB", *drawn]))
    if open_:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


def _page(folders: Sequence[Path], out: Path | None, *, one_file: bool = False) -> Path:
    """Write the page of studies, or find that of another result."""
    from isoglot.core.errors import ConfigError
    from isoglot.report.page import PAGE
    from isoglot.report.study import studies_page
    from isoglot.study.study import Study

    first = folders[0]
    if len(folders) == 1 and (first / PAGE).is_file() and not (first / "study.json").is_file():
        if one_file:
            raise ConfigError(
                f"{first} has the page of another command",
                "only studies are written as one file",
                "conflicting-options",
            )
        return first / PAGE
    studies = [Study.open(folder) for folder in folders]
    if len(studies) == 1:
        return write_page(studies[0], out, one_file=one_file)
    if out is None:
        raise ConfigError("the page of several studies needs a folder", "name it: --out DIR", "missing-option")
    return studies_page(studies, facts=page_facts()).write(out, one_file=one_file)[0]


def write_page(study: Study, out: Path | None = None, *, one_file: bool = False) -> Path:
    """Write the page of a study with its files, and return its path."""
    from isoglot.report.study import study_page

    return study_page(study, facts=page_facts()).write(study.out if out is None else out, one_file=one_file)[0]


def finish_study(study: Study, result: RunResult, output: Output) -> None:
    """Write the figures and the page of a study that was run, and show its tables.

    Raises:
        IsoglotError: A step has failed.
    """
    from rich.console import Group

    from isoglot.core.errors import IsoglotError
    from isoglot.report.rendering import SPECS
    from isoglot.report.study import write_figures
    from isoglot.study.tables.results import closing_tables

    output.say(result.in_words())
    figures, page = [str(path) for path in write_figures(study)], write_page(study)
    value = {"study": str(study.out), "steps": dict(study.counts()), "failed": result.failed}
    value |= {"figures": figures, "page": str(page)} | ({"jobs": result.jobs} if result.jobs else {})
    shown = [part for table in closing_tables(study) for part in ("", table)]
    output.result(value, Group(*shown) if shown else "No results yet.")
    if figures:
        output.say(f"figures: {study.out / SPECS}")
    output.say(f"page: {page}")
    if result.failed:
        raise IsoglotError(
            f"{len(result.failed)} steps failed; the first: {next(iter(result.failed.values()))}",
            remedy=f"isoglot study status {study.out} lists them; the same command tries again",
        )

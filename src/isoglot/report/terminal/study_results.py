"""What a study writes when it has run: its page, its figures, and the tables on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError
from isoglot.core.run import record_outputs
from isoglot.report.page import PAGE
from isoglot.report.rendering import SPECS, Style, render_folder
from isoglot.report.results import Rendering
from isoglot.report.several_studies import studies_page
from isoglot.report.study import study_page, write_figures
from isoglot.study.claims import verdict_table
from isoglot.study.study import Study
from isoglot.study.tables.results import (
    about_study,
    closing_tables,
    difference_table,
    expected_names,
    study_differences,
    study_verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoglot.report.rendering import Format
    from isoglot.study.engines import RunResult


def write_report(
    folders: Sequence[Path],
    out: Path | None = None,
    *,
    one_file: bool = False,
    figures: Format | None = None,
    style: Style = Style(),  # noqa: B008 - frozen
    facts: Sequence[str] = (),
) -> Rendering:
    """Write the page of one or more studies, and draw the figures of a study or of any other result that has a page.

    Args:
        folders: Folders of studies, or one of another result.
        out: Where the page goes. Default: the study's folder.
        one_file: Write the page of a study as one file.
        figures: File format of the figures. Default: they are not drawn.
        style: How they are drawn.
        facts: Lines for the foot of the page.

    Raises:
        ConfigError: There are several studies and no ``out``, or another result and ``one_file``.
        StorageError: A folder holds neither, or cannot be written to.
    """
    path = _page(folders, out, one_file=one_file, facts=facts)
    files = [] if figures is None else list(render_folder(path.parent, figures, style))
    record_outputs(path.parent, files)
    drawn = [str(one) for one in files]
    value = {"page": str(path)} | ({"figures": drawn} if figures else {})
    return Rendering(value, "\n".join([f"{path}: {path.stat().st_size / 1000:,.0f} kB", *drawn]))


def _page(folders: Sequence[Path], out: Path | None, *, one_file: bool, facts: Sequence[str]) -> Path:
    """Write the page of studies, or find that of another result."""
    first = folders[0]
    if len(folders) == 1 and (first / PAGE).is_file() and not (first / "study.json").is_file():
        if one_file:
            problem, remedy = f"{first} has the page of another command", "only studies are written as one file"
            raise ConfigError(problem, remedy, "conflicting-options")
        return first / PAGE
    studies = [Study.open(folder) for folder in folders]
    if len(studies) == 1:
        return study_page(studies[0], facts=facts).write(out or studies[0].out, one_file=one_file)[0]
    if out is None:
        raise ConfigError("the page of several studies needs a folder", "name it: --out DIR", "missing-option")
    return studies_page(studies, facts=facts).write(out, one_file=one_file)[0]


def finished_result(study: Study, result: RunResult, *, facts: Sequence[str] = ()) -> Rendering:
    """Write the figures and the page of a study that was run, and return its tables."""
    from rich.console import Group

    figures = [str(path) for path in write_figures(study)]
    page = study_page(study, facts=facts).write(study.out)[0]
    value = {"study": str(study.out), "steps": dict(study.counts()), "failed": result.failed}
    value |= {"figures": figures, "page": str(page)} | ({"jobs": result.jobs} if result.jobs else {})
    shown = [part for table in closing_tables(study) for part in ("", table)]
    notes = [*([f"figures: {study.out / SPECS}"] if figures else []), f"page: {page}"]
    return Rendering(value, Group(*shown) if shown else "No results yet.", notes=notes)


def verified_result(study: Study, against: str | None = None) -> Rendering:
    """The claims of a study's paper, tested; and with ``against`` what differs from expected numbers."""
    from rich.console import Group

    claims = against is None or study.about.get("paper")  # numbers of other recipes can be compared as well
    verdicts = study_verdicts(study) if claims else []
    shown: list[Any] = [verdict_table(verdicts)] if claims else [about_study(study)]
    value: dict[str, Any] = {"about": study.about, "verdicts": [one.as_json() for one in verdicts]}
    if against is not None:
        differences = study_differences(study, verdicts, against)
        value["differences"] = [vars(one) for one in differences]
        shown.append(difference_table(differences))
    return Rendering(value, Group(*shown))


def recipes_result() -> Rendering:
    """The recipes of studies, their scales, and the names of expected numbers."""
    from isoglot.core.table import Table
    from isoglot.study.recipe import load_scale, load_study, scale_names, study_names

    recipes = {name: load_study(name)[1].title for name in study_names()}
    scales = {name: load_scale(name).meaning for name in scale_names()}
    rows = [["recipe", *one] for one in recipes.items()] + [["scale", *one] for one in scales.items()]
    rows += [["expected", name, f"numbers of results/{name} in the repository"] for name in expected_names()]
    value = {"recipes": recipes, "scales": scales, "expected": expected_names()}
    return Rendering(value, Table.from_cells(["", "name", "what it is"], rows, align="l"))

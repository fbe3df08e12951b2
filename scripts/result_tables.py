"""The tables of docs/RESULTS.md, from the studies in results/.

``python scripts/result_tables.py`` writes them. A table stands between ``<!-- KIND STUDY -->`` and ``<!-- end -->``;
KIND is one of TABLES.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.table import Column, Table
from isoglot.study.study import Study
from isoglot.study.tables.layer_tables import emergence_curves, token_unit
from isoglot.study.tables.paper_comparison import loss_table
from isoglot.study.tables.results import result_table, short_verdict_table, study_verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.study.tables.layer_tables import EmergenceCurve

ROOT = Path(__file__).parents[1]
SOURCE = "en"
PAGE = ROOT / "docs" / "RESULTS.md"
BLOCK = re.compile(r"<!-- (?P<kind>[\w-]+) (?P<study>[\w.-]+) -->\n.*?<!-- end -->", re.DOTALL)


def scores(study: Study) -> Table:
    """Scores of every arm, the tested language before the language of training, P@1 with its best layer."""
    if len(study.about["pairs"]) > 1:
        raise SystemExit(f"{study.out}: a table for each pair of languages needs a study for each")
    whole, layers = result_table(study), {one.arm: one.layer for one in emergence_curves(study)}
    tasks = dict.fromkeys(column.above for column in whole.columns if column.above)
    shown = [Column("arm")]
    for task in tasks:
        of_task = [one for one in whole.columns if one.above == task and str(one.title) in study_languages(study)]
        of_task.sort(key=lambda one: one.title == SOURCE)
        shown += [replace(one, above="", title=f"{task} {one.title}") for one in of_task]
    shown += [one for one in whole.columns if one.name == "p1"]
    table = _with_columns(whole, shown)
    if not layers:
        return table
    column = Column("layer", title="in layer", kind="integer")
    rows = tuple((*row, layers.get(str(row[0]))) for row in table.rows)
    return replace(table, columns=(*table.columns, column), rows=rows)


def study_languages(study: Study) -> set[str]:
    """Languages of a study's pairs."""
    return {code for pair in study.about["pairs"] for code in pair.split("-", 1)}


def differences(study: Study) -> Table:
    """What each arm loses or gains against Default, beside what the paper prints."""
    whole = loss_table(study)
    if whole is None:
        raise SystemExit(f"{study.out}: no arm was tested beside another")
    base = whole.position("base")
    rows = tuple(row for row in whole.rows if row[base] == "Default")
    return _with_columns(replace(whole, rows=rows), [one for one in whole.columns if one.name != "base"])


def _with_columns(table: Table, columns: Sequence[Column]) -> Table:
    """A table with these columns alone, and the limits of their intervals; without caption and notes."""
    limits = {name for column in columns for name in column.interval or ()}
    names = [column.name for column in columns]
    chosen = [*columns, *(one for one in table.columns if one.name in limits and one.name not in names)]
    places = [table.position(column.name) for column in chosen]
    rows = tuple(tuple(row[place] for place in places) for row in table.rows)
    return replace(table, columns=tuple(chosen), rows=rows, caption="", footnotes=())


def p1_over_training(study: Study) -> Table:
    """P@1 in percent over training, a row for each arm."""
    return _over_training(study, "p1", 100, ".1f")


def cka_over_training(study: Study) -> Table:
    """Debiased CKA over training, likewise."""
    return _over_training(study, "cka", 1, ".2f")


def _over_training(study: Study, measure: str, scale: float, digits: str) -> Table:
    curves: Sequence[EmergenceCurve] = emergence_curves(study)
    factor, unit = token_unit(max(one.p1[-1][0] for one in curves))
    rows: list[dict[str, Any]] = []
    moments: dict[str, None] = {}
    for curve in curves:
        values = {f"{tokens / factor:.3g}": value for tokens, value in getattr(curve, measure)}
        moments |= dict.fromkeys(values)
        rows.append({"arm": curve.arm, **values})
    names = sorted(moments, key=float)
    heads = [
        Column("arm", title=f"{unit} tokens"),
        *(Column(one, title=one, scale=scale, format=digits) for one in names),
    ]
    return Table.from_rows([dict.fromkeys(names) | row for row in rows], heads)


def verdicts(study: Study) -> Table:
    """Claim, verdict and the number that decides."""
    return replace(short_verdict_table(study_verdicts(study)), caption="", footnotes=())


TABLES = {
    "scores": scores,
    "differences": differences,
    "p1-over-training": p1_over_training,
    "cka-over-training": cka_over_training,
    "verdicts": verdicts,
}


def filled(text: str) -> str:
    """A page with its tables as the studies have them now."""

    def fill(block: re.Match[str]) -> str:
        table = TABLES[block["kind"]](Study.open(ROOT / "results" / block["study"]))
        text = table.markdown().strip().replace(" ± ", "\u202f±\u202f")  # a number and its interval stay on a line
        return f"<!-- {block['kind']} {block['study']} -->\n{text}\n<!-- end -->"

    return BLOCK.sub(fill, text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="?", type=Path, default=PAGE, help="the page to fill (default: %(default)s)")
    page = parser.parse_args().page
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")

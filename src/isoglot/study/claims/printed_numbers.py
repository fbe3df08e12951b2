"""The numbers that the papers print, as numbers of a study.

>>> paper_numbers("wu2020").select("nli", arm="default", language="fr", variant=None).one.value
73.6
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import check_name
from isoglot.study.numbers import Number, Numbers

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def printed(paper: str) -> dict[str, Any]:
    """Tables of a paper as ``paper_numbers.toml`` has them.

    Raises:
        ConfigError: There is no such paper.
    """
    text = resources.files("isoglot.study").joinpath("paper_numbers.toml").read_text(encoding="utf-8")
    papers: dict[str, dict[str, Any]] = tomllib.loads(text)
    check_name("paper", paper, papers)
    return papers[paper]


def paper_numbers(paper: str) -> Numbers:
    """The printed numbers that claims read, with the coordinates of a study's numbers.

    The floor of every arm of Wu et al. (2020) is chance, because the paper prints no untrained encoders.

    Raises:
        ConfigError: There is no such paper.
    """
    tables = printed(paper)
    return Numbers(_wu2020(tables) if paper == "wu2020" else _liu2020(tables))


def _wu2020(tables: dict[str, Any]) -> Iterator[Number]:
    table1, figure7 = tables["table1"], tables["figure7"]
    for arm, row in table1["arms"].items():
        for task, chance in tables["chance"].items():
            for language, value in zip(table1["languages"], row[task], strict=True):
                yield Number(task, value, {"arm": arm, "language": language})
                yield Number(task, chance, {"arm": arm, "language": language, "variant": "untrained"})
    for pair, rows in figure7["pairs"].items():
        for arm, row in rows.items():
            at = {"arm": arm, "language": pair.partition("-")[2], "estimator": "paper", "depth": figure7["layers"]}
            for layer, value in enumerate(row["layers"]):
                yield Number("cka", value, {**at, "layer": layer})


def _liu2020(tables: dict[str, Any]) -> Iterator[Number]:
    table2, table4 = tables["table2"], tables["table4"]
    rates, bleu = table2["convert_rate"], table2["bleu1"]
    for column, pair in enumerate(table2["pairs"]):
        source, target = pair.split("-")
        at = {"source": source, "target": target, "depth": table2["layers"]}
        for alpha, values in zip(rates["alphas"], rates["values"], strict=True):
            yield Number("convert_rate", values[column], {**at, "layer": rates["layer"], "alpha": alpha})
        cells = {
            (bleu["layer"], bleu["alpha"]): bleu["values"][column],
            (table2["best_layer"][column], table2["best_alpha"][column]): table2["best_bleu1"][column],
        }
        for (layer, alpha), value in cells.items():
            yield Number("bleu1", value, {**at, "layer": layer, "alpha": alpha})
    for arm, row in table4["arms"].items():
        for language, value in zip(table4["languages"], row["values"], strict=True):
            yield Number("nli", value, {"arm": arm, "language": language})

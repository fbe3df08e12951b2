"""Tables of a study's numbers: an arm a row, a language and a measure a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.study.numbers import Number, Numbers
    from isoglot.study.study import Study

TASKS = {"nli": "NLI", "ner": "NER", "parsing": "LAS"}
LEVEL = 0.95


def result_table(study: Study) -> Table:
    """Every arm's scores by language, best layer of retrieval and CKA, perplexity and fertility beside them."""
    numbers = study.numbers()
    arms: dict[str, str] = study.about.get("arms", {})
    rows = []
    columns: dict[str, Column] = {"pair": Column("pair"), "arm": Column("arm")}
    for pair in numbers.values_of("pair"):
        for name, title in arms.items():
            of_arm = numbers.select(arm=name, pair=pair)
            for variant in [None, *of_arm.values_of("variant")]:
                row = _row(of_arm.select(variant=variant), columns)
                if row:
                    rows.append({"pair": pair, "arm": title + (f", {variant}" if variant else ""), **row})
    return Table.from_rows(
        [{name: row.get(name) for name in columns} for row in rows],
        list(columns.values()),
        caption=str(study.about.get("title", "")),
        footnotes=(
            "95 % intervals over test items (bootstrap); means over seeds.",
            "P@1: sentence retrieval in the best layer, each language's mean removed, estimated on other sentences.",
            "CKA: debiased, mean over layers.",
        ),
    )


def _row(numbers: Numbers, columns: dict[str, Column]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for measure, title in TASKS.items():
        for language in numbers.select(measure).values_of("language"):
            name = f"{measure}_{language}"
            columns.setdefault(name, Column(name, title=f"{title} {language}", format=".1f", best="max"))
            row[name] = _cell(list(numbers.select(measure, language=language)))
    by_layer = [list(numbers.select("sentence_p1", layer=layer)) for layer in numbers.values_of("layer")]
    best = max((some for some in by_layer if some), key=_mean, default=None)
    if best:
        columns.setdefault("p1", Column("p1", title="P@1", unit="%", scale=100, format=".1f", best="max"))
        row["p1"] = _cell(best)
    similar = list(numbers.select("cka", estimator="debiased"))
    if similar:
        columns.setdefault("cka", Column("cka", title="CKA", format=".2f", best="max"))
        row["cka"] = _mean(similar)
    for measure, title, digits in (("perplexity", "perplexity", ".1f"), ("fertility", "subwords a word", ".2f")):
        for language in numbers.select(measure).values_of("language"):
            name = f"{measure}_{language}"
            columns.setdefault(name, Column(name, title=f"{title} {language}", format=digits))
            row[name] = _mean(list(numbers.select(measure, language=language)))
    return row


def _mean(numbers: Sequence[Number]) -> float:
    return sum(number.value for number in numbers) / len(numbers)


def _cell(numbers: Sequence[Number]) -> dict[str, float] | float:
    """The mean over seeds with its interval over test items."""
    import numpy as np

    value = _mean(numbers)
    if not all(number.draws for number in numbers):
        return value
    draws = np.mean([number.draws for number in numbers], axis=0)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"value": value, "low": float(low), "high": float(high)}

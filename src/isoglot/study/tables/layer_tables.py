"""Tables of the figures of Wu et al. (2020): what was measured in each layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoglot.core.table import Column, Table
from isoglot.study.numbers import Number, interval

if TYPE_CHECKING:
    from isoglot.study.study import Study

FIGURE_ARMS = ("bilingual", "monolingual", "random", "ceiling")
MEASURES = {
    "word_p1": ("Words found after a map, P@1 in %", 100.0, ".1f"),
    "ner": ("NER through a map, F1", 1.0, ".1f"),
    "parsing": ("Parsing through a map, LAS", 1.0, ".1f"),
    "sentence_p1": ("Sentences found after a map, P@1 in %", 100.0, ".1f"),
    "cka": ("CKA as the paper computes it", 1.0, ".2f"),
}
"""Title, factor and format of each measure."""


Curves = dict[str, dict[Any, list[Number]]]
"""Numbers by system or arm and by layer; those of several seeds together."""


@dataclass(frozen=True, kw_only=True)
class SimilarityCurve:
    """CKA of two languages layer by layer, mean over seeds.

    Attributes:
        pair: Languages.
        name: Arm, or what an encoder of Figure 7 is.
        layers: Layers, and debiased CKA in each.
        band: Layers with their 95 % intervals over test items.
    """

    pair: str
    name: str
    layers: tuple[tuple[int, float], ...]
    band: tuple[tuple[int, float, float], ...]


def similarity_curves(study: Study) -> list[SimilarityCurve]:
    """A curve for every pair and arm, and one for the untrained encoder of the first arm that has one."""
    numbers = study.numbers().select("cka", estimator="debiased")
    titles = {**study.about.get("arms", {}), **{name: name.capitalize() for name in FIGURE_ARMS}}
    found = []
    for pair in numbers.values_of("pair"):
        here = numbers.select(pair=pair)
        untrained = here.select(variant="untrained")
        first = untrained.select(arm=next(iter(untrained.values_of("arm")), None))
        curves = {title: here.select(arm=arm, variant=None) for arm, title in titles.items()}
        for name, some in (curves | {"untrained": first}).items():
            by_layer = {int(layer): cells for layer, cells in sorted(some.by("layer").items())}
            if by_layer:
                ends = {layer: interval(cells) for layer, cells in by_layer.items()}
                found.append(
                    SimilarityCurve(
                        pair=pair,
                        name=name,
                        layers=tuple((layer, cells.mean) for layer, cells in by_layer.items()),
                        band=tuple((layer, *end) for layer, end in ends.items() if end is not None),
                    )
                )
    return found


def layer_tables(study: Study) -> list[Table]:
    """A table for each figure and pair of languages: a row a layer, a column for each system or arm."""
    return [_table(measure, place, columns) for (measure, place), columns in layer_curves(study).items()]


def layer_curves(study: Study) -> dict[tuple[str, str], Curves]:
    """Curves over layers of the figures, by measure and by pair of languages."""
    found: dict[tuple[str, str], Curves] = {}
    for number in study.numbers():
        if number.measure in MEASURES and _is_of_figure(number):
            table = found.setdefault((number.measure, _place(number)), {})
            table.setdefault(_column(number), {}).setdefault(number.at.get("layer"), []).append(number)
    return found


def _is_of_figure(number: Number) -> bool:
    at = number.at
    if at.get("estimator", "paper") != "paper" or "tokens" in at:
        return False
    return "vectors" in at or ("layer" in at and at.get("arm") in FIGURE_ARMS)


def _place(number: Number) -> str:
    """The table of a measure that a number is in."""
    kinds = {"embeddings": ", rows of the embedding matrix", "contexts": ", averages over contexts"}
    return f"{number.at['pair']}{kinds.get(str(number.at.get('vectors')), '')}"


def _column(number: Number) -> str:
    at = number.at
    parts = [str(at.get("system", at.get("arm")))]
    if not str(at["pair"]).endswith(f"-{at['language']}") and at.get("arm") != "ceiling":
        parts.append(str(at["language"]))
    parts += [str(at["variant"])] if "variant" in at else []
    if number.measure in ("ner", "parsing") and "map" in at:
        parts.append("mapped")
    return ", ".join(parts)


def _table(measure: str, place: str, columns: Curves) -> Table:
    title, factor, digits = MEASURES[measure]
    layers = sorted({layer for column in columns.values() for layer in column}, key=lambda one: (one is None, one or 0))
    rows = []
    for layer in layers:
        row: dict[str, Any] = {"layer": "none" if layer is None else str(layer)}
        for name, column in columns.items():
            some = column.get(layer, [])
            row[name] = factor * sum(one.value for one in some) / len(some) if some else None
        rows.append(row)
    heads = [Column("layer"), *(Column(name, title=name, format=digits) for name in columns)]
    return Table.from_rows(rows, heads, caption=f"{title}: {place}")

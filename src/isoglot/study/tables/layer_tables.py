"""Tables and curves of the figures of Wu et al. (2020): what was measured in each layer, and over training."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.table import Column, Table
from isoglot.study.numbers import Number, Numbers, interval

if TYPE_CHECKING:
    from collections.abc import Sequence

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
                layers = tuple((layer, cells.mean) for layer, cells in by_layer.items())
                band = tuple((layer, *end) for layer, end in ends.items() if end is not None)
                found.append(SimilarityCurve(pair=pair, name=name, layers=layers, band=band))
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


_ByLayer = dict[int, float]
Moment = tuple[int, float]
"""Tokens read until then, and a value."""
Censored = Literal["", "never", "before"]
"""Whether a threshold was reached between two measurements, not at all, or before the first one."""
THRESHOLDS = (0.1, 0.25, 0.5)
"""P@1 whose first crossing is timed."""


@dataclass(frozen=True, kw_only=True)
class EmergenceCurve:
    """Retrieval, CKA and a language probe of an arm over training, means over seeds.

    Attributes:
        pair: Languages.
        arm: Title of the arm.
        p1: P@1 of sentence retrieval, from 0 to 1, in the layer that is best at that moment; at 0 tokens where the
            untrained encoder was measured.
        cka: Debiased CKA, mean over layers, likewise.
        probe: Balanced accuracy of a linear probe that tells the languages apart, from 0 to 1, mean over layers; empty
            where it was not measured.
        layer: The best layer at the end.
        seeds: Encoders.
    """

    pair: str
    arm: str
    p1: tuple[Moment, ...]
    cka: tuple[Moment, ...]
    layer: int
    seeds: int
    probe: tuple[Moment, ...] = ()


def tokens_to_threshold(moments: Sequence[Moment], threshold: float) -> tuple[float, Censored]:
    """Tokens until a value reaches a threshold for the first time, and how that is censored.

    Between two measurements the value is taken to rise in a straight line over the logarithm of tokens. One that is
    never reached counts with the last moment, one that is there from the beginning with the first after 0 tokens.

    >>> moments = ((0, 0.0), (1000, 0.1), (4000, 0.3))
    >>> [tokens_to_threshold(moments, threshold) for threshold in (0.2, 0.1, 0.5)]
    [(2000.0, ''), (1000.0, 'before'), (4000.0, 'never')]
    """
    trained = [moment for moment in moments if moment[0]]
    first, last = trained[0], trained[-1]
    if max(first[1], moments[0][1]) >= threshold:
        return float(first[0]), "before"
    for (before, below), (tokens, value) in pairwise(trained):
        if value >= threshold:
            share = (threshold - below) / (value - below)
            return round(exp(log(before) + share * (log(tokens) - log(before))), 6), ""
    return float(last[0]), "never"


def emergence_curves(study: Study) -> list[EmergenceCurve]:
    """A curve for every pair and arm that was measured at two moments of training or more."""
    numbers, found = study.numbers(), []
    for pair in numbers.values_of("pair"):
        for arm, title in study.about.get("arms", {}).items():
            here = numbers.select(arm=arm, pair=pair)
            curve = _curve(here, pair, title)
            if curve is not None:
                found.append(curve)
    return found


def _curve(numbers: Numbers, pair: str, title: str) -> EmergenceCurve | None:
    p1, cka = (_by_moment(numbers.select(f"emergence_{name}", variant=None)) for name in ("p1", "cka"))
    if len(p1) < 2 or len(cka) < 2:
        return None
    floor_p1 = _by_layer(numbers.select("sentence_p1", variant="untrained", map=None))
    floor_cka = _by_layer(numbers.select("cka", variant="untrained", estimator="debiased"))
    probe = _by_moment(numbers.select("emergence_probe"))  # the untrained encoder's is at 0 tokens
    last = p1[max(p1)]
    return EmergenceCurve(
        pair=pair,
        arm=title,
        p1=tuple((at, max(layers.values())) for at, layers in _from_untrained(floor_p1, p1)),
        cka=_layer_means(_from_untrained(floor_cka, cka)),
        probe=_layer_means(sorted(probe.items())),
        layer=max(last, key=lambda layer: last[layer]),
        seeds=len(numbers.select("emergence_p1").values_of("seed")),
    )


def _from_untrained(floor: _ByLayer, moments: dict[int, _ByLayer]) -> list[tuple[int, _ByLayer]]:
    return sorted((moments | ({0: floor} if floor and 0 not in moments else {})).items())


def _layer_means(moments: Sequence[tuple[int, _ByLayer]]) -> tuple[Moment, ...]:
    return tuple((at, sum(layers.values()) / len(layers)) for at, layers in moments)


def _by_moment(numbers: Numbers) -> dict[int, _ByLayer]:
    return {int(tokens): _by_layer(some) for tokens, some in numbers.by("tokens").items()}


def _by_layer(numbers: Numbers) -> _ByLayer:
    """The mean over seeds in each layer."""
    return {int(layer): some.mean for layer, some in numbers.by("layer").items()}


def threshold_table(curves: Sequence[EmergenceCurve]) -> Table:
    """Tokens that every arm read until P@1 reached thresholds, and P@1 at the end."""
    rows: list[dict[str, Any]] = [
        {"pair": curve.pair, "arm": curve.arm, "p1": curve.p1[-1][1], "layer": curve.layer, "cka": curve.cka[-1][1]}
        | {"probe": curve.probe[-1][1] if curve.probe else None}
        for curve in curves
    ]
    factor, unit = token_unit(max((curve.p1[-1][0] for curve in curves), default=0))
    columns = [Column("pair"), Column("arm")]
    for threshold in THRESHOLDS:
        name, title = f"to_{100 * threshold:.0f}", f"to {100 * threshold:.0f} %"
        for row, curve in zip(rows, curves, strict=True):
            tokens, censored = tokens_to_threshold(curve.p1, threshold)
            row |= {name: None if censored == "never" else tokens, f"{name}_censored": censored or "no"}
        columns += [
            Column(name, title=title, above=f"{unit} tokens", kind="number", scale=1 / factor, format=".3g"),
            Column(f"{name}_censored", hidden=True),
        ]
    columns += [
        Column("p1", title="P@1", unit="%", scale=100, format=".1f", above="at the end"),
        Column("layer", title="in layer", above="at the end"),
        Column("cka", title="CKA", format=".2f", above="at the end"),
    ]
    if any(curve.probe for curve in curves):
        columns.append(Column("probe", title="probe", unit="%", scale=100, format=".0f", above="at the end"))
    notes: tuple[str, ...] = (
        "Interpolated between two measurements over the logarithm of tokens; – where the threshold is not reached.",
        "Where the first measurement is above it already, its tokens are given.",
    )
    if any(curve.probe for curve in curves):
        notes += ("Probe: balanced accuracy of a linear probe that tells the languages apart; 50 % is chance.",)
    caption = "Tokens until P@1 reaches a threshold"
    return Table.from_rows(rows, columns, caption=caption, footnotes=notes)


def token_unit(tokens: float) -> tuple[float, str]:
    """A factor and its name, so that a number of tokens is short.

    >>> token_unit(2e9), token_unit(5e8), token_unit(30_720)
    ((1000000000.0, 'billion'), (1000000.0, 'million'), (1000.0, 'thousand'))
    """
    return (1e9, "billion") if tokens >= 1e9 else (1e6, "million") if tokens >= 1e6 else (1e3, "thousand")

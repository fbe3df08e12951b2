"""Emergence of a shared space during training: P@1, CKA and a language probe over tokens."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.study.numbers import Numbers
    from isoglot.study.study import Study

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


def _from_untrained(
    floor: dict[int, float], moments: dict[int, dict[int, float]]
) -> list[tuple[int, dict[int, float]]]:
    return sorted((moments | ({0: floor} if floor and 0 not in moments else {})).items())


def _layer_means(moments: Sequence[tuple[int, dict[int, float]]]) -> tuple[Moment, ...]:
    return tuple((at, sum(layers.values()) / len(layers)) for at, layers in moments)


def _by_moment(numbers: Numbers) -> dict[int, dict[int, float]]:
    return {int(tokens): _by_layer(some) for tokens, some in numbers.by("tokens").items()}


def _by_layer(numbers: Numbers) -> dict[int, float]:
    """The mean over seeds in each layer."""
    return {int(layer): some.mean for layer, some in numbers.by("layer").items()}


def threshold_table(curves: Sequence[EmergenceCurve]) -> Table:
    """Tokens that every arm read until P@1 reached thresholds, and P@1 at the end."""
    rows = []
    for curve in curves:
        row: dict[str, Any] = {"pair": curve.pair, "arm": curve.arm}
        for threshold in THRESHOLDS:
            tokens, censored = tokens_to_threshold(curve.p1, threshold)
            name = _threshold_name(threshold)
            row |= {name: None if censored == "never" else tokens, f"{name}_censored": censored or "no"}
        row |= {"p1": curve.p1[-1][1], "layer": curve.layer, "cka": curve.cka[-1][1]}
        rows.append(row | {"probe": curve.probe[-1][1] if curve.probe else None})
    factor, unit = token_unit(max((curve.p1[-1][0] for curve in curves), default=0))
    columns = [Column("pair"), Column("arm")]
    for threshold in THRESHOLDS:
        name, title = _threshold_name(threshold), f"to {100 * threshold:.0f} %"
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


def _threshold_name(threshold: float) -> str:
    return f"to_{100 * threshold:.0f}"

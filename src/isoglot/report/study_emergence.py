"""Retrieval, CKA and a language probe over the training of every arm of a study, as charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from isoglot.report.lines import COLORS, Line, line_chart
from isoglot.report.svg_file import stacked, svg_file
from isoglot.study.tables.emergence_curves import THRESHOLDS, token_unit, tokens_to_threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.study.tables.emergence_curves import EmergenceCurve
    from isoglot.study.tables.layer_tables import SimilarityCurve

Curve = TypeVar("Curve", bound="EmergenceCurve | SimilarityCurve")
_LONGEST = 22  # letters of a name in a drawing
_NOT_COOLED = "The learning rate of checkpoints on the way is not cooled down; that of the last one is."


def emergence_figures(curves: Sequence[EmergenceCurve], note: str) -> dict[str, str]:
    """Files with all three measures below each other, and the tokens of each arm to thresholds; by name.

    Args:
        curves: What was measured.
        note: Budget and data.
    """
    found: dict[str, str] = {}
    for group in curve_groups(curves):
        name, pair = f"emergence-{group[0].pair}", group[0].pair
        if name in found:
            name += f"-{sum(one.startswith(name) for one in found) + 1}"
        drawing = stacked([chart for chart, _ in emergence_charts(group)])
        told = f"{thresholds_in_words(group)} {_NOT_COOLED} {note}."
        found[name] = svg_file(drawing, emergence_finding([one for one in group if one.pair == pair]), told)
    return found


def emergence_charts(group: Sequence[EmergenceCurve]) -> list[tuple[str, str]]:
    """A chart with a caption for each measure: P@1, CKA, and the probe where it was measured."""
    factor, unit = token_unit(max(curve.p1[-1][0] for curve in group))
    pair, moments, seeds = group[0].pair, len(group[0].p1), group[0].seeds
    retrieved = (
        f"{pair}: sentence retrieval in the best layer of each of {moments} moments (chosen on the same sentences), "
        f"mean of both directions, {seeds} seed{'' if seeds == 1 else 's'}. {_NOT_COOLED}"
    )
    probed = (
        f"{pair}: balanced accuracy of a linear probe that tells the language of a sentence, cross-validated, mean of "
        f"layers. At 50 %, no linear probe can tell the languages apart. {_NOT_COOLED}"
    )
    charts = [
        ("p1", "translation found (P@1), %", retrieved),
        ("cka", "debiased CKA, mean of layers", f"{pair}: the same encoders on the same sentences. {_NOT_COOLED}"),
        ("probe", "language told by a probe, %", probed),
    ]
    found = []
    for name, up, caption in charts:
        scale = 1 if name == "cka" else 100
        lines = [
            Line(name=label(curve.arm), points=[(at / factor, scale * value) for at, value in getattr(curve, name)])
            for curve in group
            if getattr(curve, name)
        ]
        if lines:
            chance = 50.0 if name == "probe" else None
            across = f"text read, {unit} tokens"
            found.append((line_chart(lines, across=across, up=up, floor_at=chance, height=300), caption))
    return found


def thresholds_in_words(curves: Sequence[EmergenceCurve]) -> str:
    """Tokens that each arm read until P@1 reached thresholds, in a sentence."""
    factor, unit = token_unit(max(curve.p1[-1][0] for curve in curves))
    parts = []
    for curve in curves:
        reached = [tokens_to_threshold(curve.p1, threshold) for threshold in THRESHOLDS]
        told = [
            "–" if censored == "never" else f"{'≤' if censored else ''}{tokens / factor:.3g}"
            for tokens, censored in reached
        ]
        parts.append(f"{curve.arm} {'/'.join(told)}")
    levels = "/".join(f"{100 * threshold:.0f}" for threshold in THRESHOLDS)
    return f"{unit.capitalize()} tokens until P@1 is {levels} %: {', '.join(parts)}."


def emergence_finding(curves: Sequence[EmergenceCurve]) -> str:
    """From where to where the arms get, in a sentence without a full stop; empty without curves."""
    if not curves:
        return ""
    best = max(curves, key=lambda curve: curve.p1[-1][1])
    (began, first), (tokens, last) = best.p1[0], best.p1[-1]
    factor, unit = token_unit(tokens)
    before, after = best.cka[0][1], best.cka[-1][1]
    others = [curve for curve in curves if curve is not best and curve.pair == best.pair]
    rest = ""
    if others:
        least = min(others, key=lambda curve: curve.p1[-1][1])
        rest = f"; {least.arm} gets to {_percent(least.p1[-1][1])}"
    cka = f"CKA {'rises' if after > before else 'falls'} from {before:z.2f} to {after:z.2f}"
    if abs(after - before) < 0.05:
        cka = f"CKA hardly moves ({before:z.2f} to {after:z.2f})"
    return (
        f"{best.arm} ({best.pair}) finds {_percent(last)} of translations after {tokens / factor:.3g} {unit} tokens, "
        f"{_percent(first)} {'at the first checkpoint' if began else 'untrained'}, while {cka}{rest}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.1 else 1}f} %"


def label(name: str) -> str:
    """A name that leaves room for the drawing; tables have the whole of it."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1].rstrip(' ,')}…"


def curve_groups(curves: Sequence[Curve]) -> list[list[Curve]]:
    """Curves by pair, at most as many in a figure as there are colors; the first one is in each figure of its pair."""
    most = len(COLORS) - 1
    by_pair = [[curve for curve in curves if curve.pair == pair] for pair in dict.fromkeys(one.pair for one in curves)]
    return [
        [some[0], *some[1 + start : 1 + start + most]]
        for some in by_pair
        for start in range(0, max(1, len(some) - 1), most)
    ]

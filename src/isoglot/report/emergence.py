"""The page of an emergence: a measure over the steps of a training run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.compare.emergence import KEEP_ALL
from isoglot.compare.measures.registry import find_measure
from isoglot.report.compare import MAIN
from isoglot.report.lines import COLORS, Line, line_chart
from isoglot.report.page import Figure, Section, page, table
from isoglot.report.svg_file import svg_file
from isoglot.represent.extraction import cut_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.compare.emergence import Emergence


def emergence_page(result: Emergence, *, facts: Sequence[str] = ()) -> str:
    """The page.

    Args:
        result: What was measured.
        facts: Lines for its foot.
    """
    one, other = result.languages
    return page(
        f"How {one} and {other} become alike",
        emergence_finding(result),
        [_section(result, name) for name in _ordered(result)],
        facts=[*cut_in_words(zip(result.languages, result.cut, strict=True), result.sentences), *facts],
    )


def emergence_svg(result: Emergence) -> str:
    """The curve of the first measure as a file of its own; it needs two checkpoints."""
    name = _ordered(result)[0]
    title = f"{find_measure(name).title} of {' and '.join(result.languages)} over the training"
    return svg_file(_curve(result, name), title, f"{result.sentences:,} held-out sentences at each checkpoint")


def emergence_finding(result: Emergence) -> str:
    """From the first checkpoint to the last, in a sentence."""
    name = _ordered(result)[0]
    first, last = result.moments[0], result.moments[-1]
    if len(result.moments) == 1:
        return f"The run has kept one checkpoint, of step {last.step:,}: a curve needs more. Train with {KEEP_ALL}."
    layer = max(result.layers, key=lambda layer: abs(last.values[name][layer] - first.values[name][layer]))
    before, after = first.values[name][layer], last.values[name][layer]
    way = "rises" if after > before else "falls"
    title, (one, other) = find_measure(name).title, result.languages
    return (
        f"{title} of {one} and {other} {way} most in layer {layer}: from {before:z.2f} at step {first.step:,} "
        f"to {after:z.2f} at step {last.step:,}, over {len(result.moments)} checkpoints and {result.sentences:,} "
        "sentences."
    )


def _ordered(result: Emergence) -> list[str]:
    """The measures, debiased CKA first."""
    return sorted(result.measures, key=lambda name: name != MAIN)


def _section(result: Emergence, name: str) -> Section:
    measure = find_measure(name)
    shown = chosen_layers(result.layers, len(COLORS))
    skipped = "" if len(shown) == len(result.layers) else f" {len(shown)} of {len(result.layers)} layers are drawn."
    rows = [
        [f"{moment.step:,}", *(f"{moment.values[name][layer]:z.3f}" for layer in result.layers)]
        for moment in result.moments
    ]
    caption = f"{result.sentences:,} sentences at each checkpoint.{skipped}"
    curve = [Figure(drawing=_curve(result, name), caption=caption)] if len(result.moments) > 1 else []
    return Section(
        title=f"{measure.title} over the training",
        words=(measure.meaning,),
        figures=curve,
        table=table(["step", *(f"layer {layer}" for layer in result.layers)], rows, numbers_from=0),
    )


def _curve(result: Emergence, name: str) -> str:
    """Over tokens where they were counted, else over steps."""
    tokens = [moment.tokens for moment in result.moments if moment.tokens is not None]
    counted = len(set(tokens)) == len(result.moments)
    places = [count / 1e6 for count in tokens] if counted else [float(moment.step) for moment in result.moments]
    lines = [
        Line(
            name=f"layer {layer}",
            points=[(place, moment.values[name][layer]) for place, moment in zip(places, result.moments, strict=True)],
        )
        for layer in chosen_layers(result.layers, len(COLORS))
    ]
    across = "text seen, million tokens" if counted else "step"
    return line_chart(lines, across=across, up=find_measure(name).title)


def chosen_layers(layers: Sequence[int], most: int) -> list[int]:
    """At most so many layers, spread evenly, the first and the last among them.

    >>> chosen_layers(range(13), 6)
    [0, 2, 5, 7, 10, 12]
    """
    if len(layers) <= most:
        return list(layers)
    return [layers[round(number * (len(layers) - 1) / (most - 1))] for number in range(most)]

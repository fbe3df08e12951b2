"""The figure of map transfer: a task's score over the layer at which a model is cut, with a map and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.progress import counted
from isoglot.core.table import Column, Table
from isoglot.report.lines import Line, line_chart
from isoglot.report.svg_file import svg_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.transfer.map_protocol import MapTransfer

_SCORES = {"f1": "F1 of names, %", "las": "labeled attachment (LAS), %", "accuracy": "right, %"}


def map_transfer_svg(result: MapTransfer, language: str) -> str:
    """The curves of one test language, as a file of its own.

    Args:
        result: What was measured.
        language: Which of its languages.
    """
    lines = [
        Line(name=name, points=[(float(layer), score) for layer, score in sorted(scores.items())])
        for name, scores in curves(result, language).items()
    ]
    seeds = result.lines[0].estimate.over_seeds.seeds
    note = (
        f"{result.source} learned on the first layers of one model and new ones above them; {language} read by "
        f"another, {counted(seeds, 'seeds')}"
    )
    up = _SCORES.get(result.metric, result.metric)
    drawing = line_chart(lines, across="layer where the models are cut (0: embeddings)", up=up, whole=True)
    return svg_file(drawing, finding(result, language), note)


def curves(result: MapTransfer, language: str) -> dict[str, dict[int, float]]:
    """Scores by layer, by the name of their curve; what was not measured is not there.

    Args:
        result: What was measured.
        language: A test language.
    """
    names = {
        ("monolingual", "source"): f"{result.source} itself",
        ("monolingual", "mapped"): f"{language}, mapped",
        ("bilingual", "unmapped"): f"{language}, bilingual",
        ("bilingual", "mapped"): f"{language}, bilingual, mapped",
        ("monolingual", "unmapped"): f"{language}, no map",
        ("bilingual", "source"): f"{result.source} itself, bilingual",
    }
    found: dict[str, dict[int, float]] = {}
    for (models, arm), name in names.items():
        scores = {
            line.layer: line.estimate.value
            for line in result.lines
            if (line.models, line.arm) == (models, arm) and line.language in (language, result.source)
        }
        if scores:
            found[name] = scores
    return found


def layer_table(result: MapTransfer, languages: Sequence[str]) -> Table:
    """Scores by layer, a column for each curve of some test languages."""
    columns: dict[str, dict[int, float]] = {}
    for code in languages:
        columns |= curves(result, code)
    rows = [(layer, *(scores[layer] for scores in columns.values())) for layer in result.layers]
    heads = (Column("layer"), *(Column(head, title=head, format=".1f") for head in columns))
    return Table(heads, tuple(rows), caption=f"{result.metric} by layer")


def finding(result: MapTransfer, language: str) -> str:
    """What was found for a language, in a few words; it says so where the test itself chose a layer."""
    found = curves(result, language)
    mapped, without = found.get(f"{language}, mapped"), found.get(f"{language}, no map")
    if mapped is None:
        return f"{result.source} read off the layers of another model of {language}, without a map"
    best = max(mapped, key=mapped.__getitem__)
    several = len(mapped) > 1
    title = f"{language} through a map: {mapped[best]:.1f} in layer {best}" + ", the best by test" * several
    if without is not None:
        title += f"; {without[best]:.1f} without it"
    both = found.get(f"{language}, bilingual")
    if both is None:
        return title
    its = max(both, key=both.__getitem__)
    return f"{title}; bilingual {both[its]:.1f} in layer {its}" + ", its best" * several

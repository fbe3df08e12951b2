"""The figures of a study as SVG files: bars of every arm, curves over training and over layers, grids of shifts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.report.bars import Bar, bar_chart
from isoglot.report.lines import COLORS, Line, line_chart
from isoglot.report.study_emergence import emergence_figures
from isoglot.report.study_multilingual import multilingual_parts
from isoglot.report.svg_file import svg_file
from isoglot.study.numbers import interval
from isoglot.study.tables.arm_tests import baseline_of
from isoglot.study.tables.emergence_curves import emergence_curves
from isoglot.study.tables.layer_tables import MEASURES, layer_curves
from isoglot.study.tables.results import TASKS, about_study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoglot.study.numbers import Number
    from isoglot.study.study import Study
    from isoglot.study.tables.layer_tables import Curves

FOLDER = "figures"
_NAMES = {"ner": "figure5-ner", "parsing": "figure5-parsing", "sentence_p1": "figure6", "cka": "figure7"}


def write_figures(study: Study) -> list[Path]:
    """Draw what a study has measured into its folder ``figures``; returns the files.

    Raises:
        StorageError: They cannot be written.
    """
    from isoglot.core.files import writable_folder, write_text

    found = study_figures(study)
    if not found:
        return []
    folder = writable_folder(study.out / FOLDER)
    paths = [folder / f"{name}.svg" for name in found]
    for path, drawing in zip(paths, found.values(), strict=True):
        write_text(path, drawing)
    return paths


def study_figures(study: Study) -> dict[str, str]:
    """The figures of a study that there are numbers for, by name."""
    found = {}
    for pair in study.about.get("pairs", []):
        drawing = arm_figure(study, pair)
        if drawing is not None:
            found[f"figure3-{pair}" if study.about.get("paper") == "wu2020" else f"arms-{pair}"] = drawing
    for (measure, place), curves in layer_curves(study).items():
        name = _NAMES.get(measure, "figure4a" if "embedding" in place else "figure4b")
        drawn = _bars(study, measure, place, curves) if name == "figure4a" else _lines(study, measure, place, curves)
        found[f"{name}-{place.partition(',')[0]}"] = drawn
    found |= emergence_figures(emergence_curves(study), study_note(study))
    for part in multilingual_parts(study.numbers(), study_note(study)):
        found |= part.figures
    return found


# --- bars ---


def arm_figure(study: Study, pair: str) -> str | None:
    """Scores of every arm in the second language, a bar for each task (Figure 3); None where there are none."""
    numbers = study.numbers().select(pair=pair, language=pair.partition("-")[2], variant=None, layer=None)
    groups: dict[str, dict[str, Bar]] = {}
    for arm, title in study.about.get("arms", {}).items():
        for task, words in TASKS.items():
            some = list(numbers.select(task, arm=arm))
            if some:
                groups.setdefault(title, {})[words] = _bar(some, 1.0)
    if len(groups) < 2:
        return None
    drawing = bar_chart(groups, across="accuracy (NLI), F1 (NER), LAS (parsing)")
    base = study.about["arms"].get(baseline_of(study), "")
    return svg_file(drawing, _farthest(groups, base, pair), _note(study))


def _farthest(groups: dict[str, dict[str, Bar]], base: str, pair: str) -> str:
    """Which arm differs most from the baseline, in words."""
    losses = {
        title: {task: bar.value - groups[base][task].value for task, bar in bars.items() if task in groups[base]}
        for title, bars in groups.items()
        if base in groups and title != base
    }
    losses = {title: found for title, found in losses.items() if found}
    if not losses:
        return f"Transfer by arm, {pair}"
    worst = max(losses, key=lambda title: abs(sum(losses[title].values())) / len(losses[title]))
    told = ", ".join(f"{task} {value:+.1f}" for task, value in losses[worst].items())
    return f"{worst} is farthest from {base} in {pair}: {told}"


def _bars(study: Study, measure: str, place: str, curves: Curves) -> str:
    title, factor, _ = MEASURES[measure]
    groups = {name: {"P@1": _bar(next(iter(layers.values())), factor)} for name, layers in curves.items()}
    told = ", ".join(f"{name} {bars['P@1'].value:.1f}" for name, bars in groups.items())
    return svg_file(bar_chart(groups, across="P@1, %"), f"{title}, {place}: {told}", _note(study))


def _bar(numbers: Sequence[Number], factor: float) -> Bar:
    ends = interval(numbers)
    value = factor * sum(one.value for one in numbers) / len(numbers)
    return Bar(value) if ends is None else Bar(value, factor * ends[0], factor * ends[1])


# --- curves over layers ---


def _lines(study: Study, measure: str, place: str, curves: Curves) -> str:
    title, factor, _ = MEASURES[measure]
    lines, level, level_name = [], None, ""
    best = []
    source = place.partition("-")[0]
    for name, layers in curves.items():
        if len(curves) > len(COLORS) and source in name.split(", "):
            continue  # the language that was trained on stands in the table
        bars = {layer: _bar(some, factor) for layer, some in layers.items()}
        if None in bars:  # what has no layers is a level line
            level, level_name = bars[None].value, name
            continue
        points = [(float(layer), bars[layer].value) for layer in sorted(bars)]
        band = [
            (float(layer), bar.low, bar.high)
            for layer, bar in sorted(bars.items())
            if bar.low is not None and bar.high is not None
        ]
        lines.append(Line(name=name, points=points, band=band if len(curves) < 5 else ()))
        layer, value = max(points, key=lambda point: point[1])
        best.append(f"{name} {value:.3g} in layer {layer:g}")
    drawing = line_chart(
        lines, across="layer (0: embeddings)", up=title, whole=True, floor_at=level, floor_name=level_name or "chance"
    )
    return svg_file(drawing, f"{place}: highest are {'; '.join(best[:4])}", _note(study))


def _note(study: Study) -> str:
    return f"{study_note(study)}; intervals: 95 % over test items"


def study_note(study: Study) -> str:
    """Budget, data and seeds."""
    seeds = study.about.get("seeds", 1)
    return f"{about_study(study)}, {seeds} seed{'s' if seeds != 1 else ''}"

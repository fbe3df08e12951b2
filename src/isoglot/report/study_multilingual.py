"""The figures of Liu et al. (2020) from a study's numbers: systems by size of the text, and the grid of a shift."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.report.figures import Bar, Figure, Line, bars, heat_map, lines
from isoglot.report.figures.charts import chosen
from isoglot.study.claims.printed_numbers import printed
from isoglot.study.numbers import mean_cell
from isoglot.study.tables.multilingual_tables import (
    SHIFT_ARMS,
    SYSTEMS,
    best_cell,
    bleu_table,
    directions,
    nearest_layer,
    numbers_of_languages,
    numbers_of_system,
    outside_table,
    rate_table,
    shift_table,
    size_language_table,
    size_systems,
    size_table,
    token_set_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isoglot.core.table import Table
    from isoglot.study.numbers import Number, Numbers

_ORDER = ("word2vec", "glove", "fasttext", "encoder", "released")


class Shown(NamedTuple):
    """A measure of the figures by size: its number, its name with unit and without, and what it is multiplied by."""

    measure: str
    axis: str
    name: str
    scale: float


MRR, NLI = Shown("word_mrr", "word retrieval, MRR in %", "MRR", 100.0), Shown("nli", "NLI, accuracy in %", "NLI", 1.0)


class MultilingualPart(NamedTuple):
    """A finding of a study on all languages at once, as a sentence without a full stop, with what shows it."""

    finding: str
    tables: Sequence[Table]
    figures: Mapping[str, Figure]
    """Figures by name."""


def multilingual_parts(numbers: Numbers, note: str) -> list[MultilingualPart]:
    """Data size, steering and fine-tuning with a shift: those that there are numbers for.

    Args:
        numbers: The study's.
        note: Budget, data and seeds.
    """
    found = []
    if len(numbers.select("word_mrr")):
        drawn = _size_figures(numbers, MRR, ("figure1", "figure3", "figure5"), note)
        drawn |= _size_figures(numbers, NLI, ("figure2", "figure4", "figure6"), note)
        drawn = dict(sorted(drawn.items(), key=lambda one: not one[0].startswith("sizes")))
        found.append(
            MultilingualPart(size_finding(numbers), [size_table(numbers), size_language_table(numbers)], drawn)
        )
    if len(numbers.select("outside_share")):
        drawn = {}
        for source, target in directions(numbers):
            drawn |= steering_figures(numbers.select(source=source, target=target), source, target, note)
        tables = [bleu_table(numbers), rate_table(numbers), outside_table(numbers), token_set_table(numbers)]
        found.append(MultilingualPart(steering_finding(numbers), tables, drawn))
    if len(numbers.select("shift_alpha")):
        found.append(MultilingualPart(shift_finding(numbers), [shift_table(numbers)], {}))
    return found


# --- systems by size of the text: Figures 1 to 6 ---


def _size_figures(numbers: Numbers, shown: Shown, names: tuple[str, str, str], note: str) -> dict[str, Figure]:
    """The smallest size, the largest, and windows, by language; all sizes, averaged."""
    sizes = sorted({at["sentences"] for at in _sized(numbers)})
    if not sizes or not len(numbers.select(shown.measure, layer=None, arm=None)):
        return {}
    small, large, windows = (f"{name}-{shown.name.lower()}" for name in names)
    found = [_by_system(numbers, shown, sizes[0], small, note)]
    if len(sizes) > 1:
        found.append(_by_system(numbers, shown, sizes[-1], large, note))
        found.append(_over_sizes(numbers, shown, note))
    found.append(_by_window(numbers, shown, sizes, windows, note))
    return {figure.name: figure for figure in found if figure is not None}


def _sized(numbers: Numbers) -> list[dict[str, Any]]:
    """Systems that were trained on a number of sentences, as they are; in the order of the paper."""
    found = [at for at in size_systems(numbers) if "sentences" in at and "variant" not in at]
    return sorted(found, key=lambda at: (_ORDER.index(at["system"]), -at.get("window", 0)))


def _names(systems: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of systems; encoders with their window where several differ in it."""
    several = len({at["window"] for at in systems if "window" in at}) > 1
    return [
        f"{SYSTEMS[at['system']]}, {at['window']} tokens" if several and "window" in at else SYSTEMS[at["system"]]
        for at in systems
    ]


def _over_sizes(numbers: Numbers, shown: Shown, note: str) -> Figure | None:
    """A line for each system, means over languages."""
    by_name: dict[str, dict[int, Bar]] = {}
    systems = _sized(numbers)
    for name, at in zip(_names(systems), systems, strict=True):
        bar = _bar(numbers_of_languages(numbers, shown.measure, at), shown.scale)
        if bar is not None:
            by_name.setdefault(name, {})[at["sentences"]] = bar
    if not by_name:
        return None
    sizes = sorted({size for given in by_name.values() for size in given})
    factor = 1000 if sizes[-1] >= 10_000 else 1
    drawn = []
    for name, given in by_name.items():
        ends = [(size / factor, bar) for size, bar in sorted(given.items())]
        band = [(at, bar.low, bar.high) for at, bar in ends if bar.low is not None and bar.high is not None]
        drawn.append(Line(name=name, points=[(at, bar.value) for at, bar in ends], band=band))
    levels: dict[str, float] = {}
    for name, at in _REFERENCES.items():
        bar = _bar(numbers_of_languages(numbers, shown.measure, at), shown.scale)
        levels |= {} if bar is None else {name: bar.value}
    return lines(
        drawn,
        name=f"sizes-{shown.name.lower()}",
        title=size_finding(numbers, shown),
        caption=f"Means over languages; {note}.",
        x="sentences of text in each language" + (", thousands" if factor > 1 else ""),
        y=shown.axis,
        levels=levels,
    )


_REFERENCES = {
    "released encoder": {"system": "released"},
    "untrained encoder": {"system": "encoder", "variant": "untrained"},
}


def size_finding(numbers: Numbers, shown: Shown = MRR) -> str:
    """Which system is best with the smallest and with the largest text, in a sentence without a full stop."""
    systems = _sized(numbers)
    bars: dict[int, dict[str, Bar]] = {}
    for name, at in zip(_names(systems), systems, strict=True):
        bar = _bar(numbers_of_languages(numbers, shown.measure, at), shown.scale)
        if bar is not None:
            bars.setdefault(at["sentences"], {})[name] = bar
    parts = []
    for size in dict.fromkeys([min(bars), max(bars)]) if bars else ():
        (best, bar), *others = sorted(bars[size].items(), key=lambda one: -one[1].value)
        near = any(bar.low is not None and other.value >= bar.low for _, other in others)
        sure = ", others within its interval" if near else ""
        parts.append(f"{_spoken(best)} on {size:,} ({shown.name} {bar.value:.1f} %{sure})")
    return f"Best by sentences of text in each language: {', '.join(parts)}"


def _spoken(name: str) -> str:
    """The name of a system in a sentence."""
    return f"the {name.replace(', ', ' with ')}" if name.startswith("encoder") else name


def _by_system(numbers: Numbers, shown: Shown, size: int, name: str, note: str) -> Figure | None:
    """Bars of every system with full inputs, by language, on text of one size."""
    systems = [at for at in _sized(numbers) if at["sentences"] == size]
    full = max((at["window"] for at in systems if "window" in at), default=None)
    systems = [at for at in systems if at.get("window", full) == full]
    if len(numbers.select(shown.measure, system="released")):
        systems.append({"system": "released"})
    given = _bars(numbers, shown, dict(zip(_names(systems), systems, strict=True)))
    if not given:
        return None
    groups = {bar.group: [one for one in given if one.group == bar.group] for bar in given}
    best = Counter(max(some, key=lambda bar: bar.value).kind for some in groups.values())
    told = ", ".join(f"for {_spoken(kind)} in {count}" for kind, count in best.most_common())
    title = f"{size:,} sentences of each language: {shown.name} is highest {told} of {len(groups)} languages"
    return bars(given, name=name, title=title, x=shown.axis, caption=_whiskers(note))


def _by_window(numbers: Numbers, shown: Shown, sizes: Sequence[int], name: str, note: str) -> Figure | None:
    """Bars of the encoder with short and with full inputs, by language, on the smallest and the largest text."""
    encoders = [at for at in _sized(numbers) if at["system"] == "encoder" and at["sentences"] in (sizes[0], sizes[-1])]
    encoders.sort(key=lambda at: (at["sentences"], at["window"]))
    windows = sorted({at["window"] for at in encoders})
    if len(windows) < 2:
        return None
    named = {f"{at['sentences']:,} sentences, {at['window']} tokens": at for at in encoders}
    given = _bars(numbers, shown, named)
    changes = []
    for size in dict.fromkeys([sizes[0], sizes[-1]]):
        ends = [
            _bar(
                numbers_of_languages(
                    numbers, shown.measure, {"system": "encoder", "sentences": size, "window": window}
                ),
                shown.scale,
            )
            for window in (windows[0], windows[-1])
        ]
        if ends[0] is not None and ends[1] is not None:
            changes.append(f"{ends[0].value - ends[1].value:+.1f} points with {size:,} sentences")
    if not given or not changes:
        return None
    title = f"Inputs of {windows[0]} tokens instead of {windows[-1]} change {shown.name} by {', '.join(changes)}"
    return bars(given, name=name, title=title, x=shown.axis, caption=_whiskers(note))


def _bars(numbers: Numbers, shown: Shown, systems: Mapping[str, Mapping[str, Any]]) -> list[Bar]:
    """Bars by language and system."""
    source = numbers.select("nli_dev").values_of("language")
    languages = numbers.select(shown.measure, layer=None, arm=None).values_of("language")
    found = []
    for code in [str(one) for one in languages if one not in source]:
        for name, at in systems.items():
            bar = _bar([numbers_of_system(numbers, shown.measure, at, code)], shown.scale, group=code, kind=name)
            if bar is not None:
                found.append(bar)
    return found


def _bar(groups: Iterable[Iterable[Number]], scale: float, *, group: str = "", kind: str = "") -> Bar | None:
    cell = mean_cell(groups, scale)
    if isinstance(cell, dict):
        return Bar(group=group, kind=kind, value=cell["value"], low=cell["low"], high=cell["high"])
    return None if cell is None else Bar(group=group, kind=kind, value=cell)


def _whiskers(note: str) -> str:
    return f"Lines on bars: 95 % intervals over test items; {note}."


# --- a shift at every layer by every alpha: Figures 7 and 8 ---


def steering_figures(numbers: Numbers, source: str, target: str, note: str) -> dict[str, Figure]:
    """Convert rate and BLEU-1 of one direction, over alpha and as a grid of layers and alphas.

    Args:
        numbers: Those of that direction.
        source: Language of the sentences.
        target: Language that is asked for.
        note: Budget, data and seeds.
    """
    way, found = f"{source} → {target}", {}
    rates, scores = (_grid(numbers, measure, scale) for measure, scale in (("convert_rate", 100.0), ("bleu1", 1.0)))
    if scores:
        unchanged, plain = (_mean(numbers, measure) for measure in ("bleu1_source", "bleu1_unshifted"))
        best = best_cell(numbers)
        assert best is not None  # noqa: S101 - there are scores
        title = f"{way}: BLEU-1 is highest in layer {best[0]} at α {best[1]:g}: {scores[best]:.1f}"
        if scores[best] - min(scores.values()) < 0.05:
            title = f"{way}: BLEU-1 is {scores[best]:.1f} in every layer at every α"
        title += "" if unchanged is None else f"; the unchanged source has {unchanged:.1f}"
        about = (f"figure8-{source}-{target}", title, "BLEU-1")
        found[about[0]] = _over_alpha(scores, about, note, level=unchanged, zero=plain)
        found[f"{about[0]}-grid"] = _heat(scores, about, note, ".1f")
    if rates:
        about = (f"figure7-{source}-{target}", f"{way}: {_rate_finding(rates)}", "convert rate, %")
        found[about[0]] = _over_alpha(rates, about, note)
        found[f"{about[0]}-grid"] = _heat(rates, about, note, ".0f")
    return found


def _mean(numbers: Numbers, measure: str) -> float | None:
    values = [one.value for one in numbers.select(measure)]
    return sum(values) / len(values) if values else None


_WAYS = {
    "lines": "A shift by α times the difference of the languages' means, at one layer, for each layer drawn;",
    "grid": "The highest cell has a frame;",
}


def _grid(numbers: Numbers, measure: str, scale: float) -> dict[tuple[int, float], float]:
    """Values by layer and alpha, means over seeds."""
    cells: dict[tuple[int, float], list[float]] = {}
    for one in numbers.select(measure):
        cells.setdefault((int(one.at["layer"]), float(one.at["alpha"])), []).append(scale * one.value)
    return {cell: sum(values) / len(values) for cell, values in cells.items()}


def _rate_finding(rates: Mapping[tuple[int, float], float]) -> str:
    far = max(alpha for _, alpha in rates)
    at_far = {layer: value for (layer, alpha), value in rates.items() if alpha == far}
    best, worst = (pick(at_far, key=at_far.__getitem__) for pick in (max, min))
    if at_far[best] - at_far[worst] < 0.5:
        return f"at α {far:g} the convert rate is {at_far[best]:.0f} % in every layer"
    return (
        f"at α {far:g} the convert rate is highest in layer {best} ({at_far[best]:.0f} %), "
        f"lowest in layer {worst} ({at_far[worst]:.0f} %)"
    )


def _over_alpha(
    grid: Mapping[tuple[int, float], float],
    about: tuple[str, str, str],
    note: str,
    *,
    level: float | None = None,
    zero: float | None = None,
) -> Figure:
    """A line for each of a few layers, that with the highest value among them."""
    name, title, y = about
    layers = sorted({layer for layer, _ in grid})
    best = max(grid, key=grid.__getitem__)[0]
    picked = chosen(layers, 6)
    if best not in picked:
        picked[min(range(len(picked)), key=lambda place: abs(picked[place] - best))] = best
    drawn = []
    for layer in picked:
        points = {alpha: value for (one, alpha), value in grid.items() if one == layer}
        if zero is not None:
            points.setdefault(0.0, zero)
        drawn.append(Line(name=f"layer {layer}", points=sorted(points.items())))
    return lines(
        drawn,
        name=name,
        title=title,
        caption=f"{_WAYS['lines']} {note}.",
        x="α, factor of the shift",
        y=y,
        levels=None if level is None else {"unchanged source": level},
        ordered=True,
    )


def _heat(grid: Mapping[tuple[int, float], float], about: tuple[str, str, str], note: str, form: str) -> Figure:
    name, title, scale = about
    layers = sorted({layer for layer, _ in grid}, reverse=True)
    alphas = sorted({alpha for _, alpha in grid})
    best = max(grid, key=grid.__getitem__)
    return heat_map(
        [str(layer) for layer in layers],
        [f"{alpha:g}" for alpha in alphas],
        [[grid.get((layer, alpha)) for alpha in alphas] for layer in layers],
        name=f"{name}-grid",
        title=title,
        x="α, factor of the shift",
        y="layer",
        limits=(0.0, max(*grid.values(), 1e-9)),
        form=form,
        marked=[(layers.index(best[0]), alphas.index(best[1]))],
        scale=scale,
        caption=f"{_WAYS['grid']} {note}.",
    )


# --- findings ---


def steering_finding(numbers: Numbers) -> str:
    """How far a shift converts, ours and the paper's, in a sentence without a full stop."""
    table = printed("liu2020")["table2"]
    rates = table["convert_rate"]
    late = nearest_layer(numbers, rates["layer"] / table["layers"])
    far = max(rates["alphas"])
    ours = [100 * one.value for one in numbers.select("convert_rate", layer=late, alpha=far)]
    theirs = [100 * value for value in rates["values"][rates["alphas"].index(far)]]
    if not ours:
        return "No decoded token belongs to one of the two languages alone: the encoder has learned too little to steer"
    return (
        f"A shift at layer {late} by α {far:g} turns {min(ours):.0f} to {max(ours):.0f} % of the tokens into the other "
        f"language; in the paper {min(theirs):.0f} to {max(theirs):.0f} %"
    )


def shift_finding(numbers: Numbers) -> str:
    """What fine-tuning of the upper half and a shift change, ours and the paper's; empty without them."""
    (source, *_) = numbers.select("nli_dev", arm="tune-all").values_of("language") or [""]
    scores = numbers.select("nli", system=None, variant=None)
    means = []
    for arm in SHIFT_ARMS:
        some = [one.value for one in scores.select(arm=arm) if one.at["language"] != source]
        if not some:
            return ""
        means.append(sum(some) / len(some))
    theirs = [printed("liu2020")["table4"]["arms"][arm]["average"] for arm in SHIFT_ARMS]
    (half, shift), (their_half, their_shift) = (
        (values[1] - values[0], values[2] - values[1]) for values in (means, theirs)
    )
    return (
        f"Fine-tuning the upper half instead of all layers changes NLI by {half:+.1f} points, a shift by {shift:+.1f} "
        f"more; in the paper by {their_half:+.1f} and {their_shift:+.1f}"
    )

"""The page of a comparison: which layers of two encoders are alike, and how much that is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.compare.measures.cka import FORMS, Form
from isoglot.core.progress import listed
from isoglot.report.heatmap import heat_map
from isoglot.report.lines import Line, line_chart
from isoglot.report.page import Figure, Section, page, table
from isoglot.report.svg_file import svg_file
from isoglot.represent.extraction import cut_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.compare.encoders import Comparison, LayerMeasurement
    from isoglot.compare.layer_grid import CKAGrid
    from isoglot.compare.measures.declaration import Measure

MAIN = "debiased-cka"
BIASED = ("paper-cka", "cka")
"""Forms of CKA that chance alone lifts far above 0; by how much, a formula says."""
MUCH = 0.1
"""Forms and figures that are farther apart than this are spoken of."""
_OTHERS = (
    "With fewer sentences than the spaces are wide, centered CKA is high even for noise; the form that the first paper "
    "prints is not centered, and high for any spaces that are far from the origin."
)
FORM_TITLES: dict[Form, str] = {"paper": "CKA as printed", "centered": "CKA, centered", "debiased": "CKA, debiased"}


def comparison_page(result: Comparison, *, facts: Sequence[str] = ()) -> str:
    """The page.

    Args:
        result: The comparison.
        facts: Lines for its foot.
    """
    one, other = result.languages
    said = findings(result)
    return page(
        f"{one} and {other}: how alike two encoders are"
        if len(set(result.models)) > 1
        else f"{one} and {other} compared",
        said[0],
        [
            _read(result, said[1:]),
            _grid(result),
            *([] if main_measure(result) is None else [_lines(result)]),
            *(_measure(result, measure) for measure in result.measures),
            _forms(result),
        ],
        facts=facts,
    )


def comparison_svg(result: Comparison) -> str:
    """The heat map of debiased CKA as a file of its own."""
    note = f"{FORM_TITLES['debiased']}, {result.grid.count:,} sentences; framed: layers of the same number"
    return svg_file(_heat(result, result.grid, "debiased"), _grid_title(result.grid), note)


def findings(result: Comparison) -> list[str]:
    """What was found, in sentences: the first is the main thing."""
    name = main_measure(result)
    if name is None:
        return [f"{_who(result)} compared on {result.sentences:,} sentences.", *few_rows(result), *_cut(result)]
    found = result.of(name)
    above = [each for each in found if each.null_edge is None or each.value > each.null_edge]
    best = best_layer(above or found, distance=False)
    said = [_best(result, best)]
    if low := [each for each in found if each is not best and not _beyond_floor(each)]:
        said.append(f"In {_pair_names(low)} the interval is not above what the untrained encoder has.")
    if best.without_top is not None and best.value - best.without_top > MUCH:
        said.append(
            f"Much of that is the strongest {'direction' if result.top == 1 else f'{result.top} directions'} of either "
            f"space: without, it is {two(best.without_top)}."
        )
    printed = {each.layer: each for each in result.of("paper-cka")}.get(best.layer)
    if printed is not None and printed.value - best.value > MUCH:
        null = printed.null_mean
        random = "" if null is None else f"; sentences paired at random would get {two(null)}"
        said.append(
            f"CKA as the first paper prints it would say {two(printed.value)} there, since it counts what all "
            f"sentences have in common{random}."
        )
    return [*said, _diagonal(result), *few_rows(result), *_cut(result)]


def few_rows(result: Comparison) -> list[str]:
    """Which measures have too few sentences for the columns of the spaces."""
    return [
        f"{measure.title} is too high in {_pair_names(few)}: {few[0].rows:,} sentences are no more than both spaces "
        "have columns together, so that some canonical correlations are 1 whatever the sentences are."
        for measure in result.measures
        if (few := [each for each in result.of(measure.name) if each.few_rows])
    ]


def main_measure(result: Comparison) -> str | None:
    """What the words speak of: debiased CKA, or else another form of it."""
    names = {measure.name for measure in result.measures}
    return next((name for name in (MAIN, "cka", "paper-cka") if name in names), None)


def best_layer(found: Sequence[LayerMeasurement], *, distance: bool) -> LayerMeasurement:
    """Where a measure finds the two most alike."""
    return min(found, key=lambda each: each.value if distance else -each.value)


def _best(result: Comparison, best: LayerMeasurement) -> str:
    title = next(measure.title for measure in result.measures if measure.name == best.measure)
    where = _pair_name(best)
    interval = "" if best.low is None or best.high is None else f" (95 % interval {two(best.low)} to {two(best.high)})"
    if best.null_edge is not None and best.value <= best.null_edge:
        return (
            f"In no layer are {_who(result)} more alike than sentences paired at random: {title} is {two(best.value)}"
            f"{interval} at best, in {where}, and random pairs reach {two(best.null_edge)}."
        )
    text = f"{_who(result)} are most alike in {where}: {title} {two(best.value)}{interval}"
    if best.null_mean is not None:
        text += f", where sentences paired at random get {two(best.null_mean)}"
    if best.floor is not None:
        text += f" and an untrained encoder reading {result.languages[1]} gets {two(best.floor)}"
    return f"{text}. {_scale(result, best)}".rstrip()


def _scale(result: Comparison, best: LayerMeasurement) -> str:
    """What the value is worth beside floor and ceiling."""
    beyond = _beyond_floor(best)
    poor = "" if beyond else "That is no more than the untrained encoder has."
    if best.ceiling is None:
        return poor
    text = f"Two trainings from different seeds, both reading {result.languages[0]}, reach {two(best.ceiling)}"
    if best.floor is None:
        return f"{text}."
    if best.place is None:
        return (
            f"{poor} {text}, no more than the untrained encoder either, so there is no scale to place this on.".strip()
        )
    if not beyond:
        return f"{poor} {text}."
    return f"{text}: this is {100 * best.place:.0f} % of the way from floor to ceiling."


def _beyond_floor(each: LayerMeasurement) -> bool:
    return each.floor is None or each.low is None or each.low > each.floor


def _cut(result: Comparison) -> list[str]:
    return [f"{said}." for said in cut_in_words(zip(result.languages, result.cut, strict=True), result.rows)]


def _diagonal(result: Comparison) -> str:
    grid, values = result.grid, result.grid.debiased
    agree = sum(
        int(values[row].argmax()) == grid.layers_y.index(layer)
        for row, layer in enumerate(grid.layers_x)
        if layer in grid.layers_y
    )
    shared = sum(layer in grid.layers_y for layer in grid.layers_x)
    if shared < 2:
        return ""
    whose = f" of {result.models[0]}" if result.models[0] != result.models[1] else ""
    there = f"of {result.models[1]}" if whose else "in the other language"
    return f"For {agree} of {shared} layers{whose} the most similar layer {there} is the one of the same number."


def _who(result: Comparison) -> str:
    one, other = result.languages
    if result.models[0] == result.models[1]:
        return f"{one} and {other} in {result.models[0]}"
    return f"{result.models[0]} reading {one} and {result.models[1]} reading {other}"


def _pair_name(each: LayerMeasurement) -> str:
    if each.layer == each.other_layer:
        return f"layer {each.layer}"
    return f"layers {each.layer} and {each.other_layer}"


def _pair_names(found: Sequence[LayerMeasurement]) -> str:
    if len(found) == 1 or any(each.layer != each.other_layer for each in found):
        return listed([_pair_name(each) for each in found])
    return f"layers {listed([str(each.layer) for each in found])}"


# --- sections ---


def _read(result: Comparison, said: Sequence[str]) -> Section:
    vector = "mean of its subwords" if result.pool == "mean" else "first token"
    about = (
        f"Both sides read the same {result.sentences:,} sentences, one in each language; a sentence is the {vector}. A "
        "measure says how far the two spaces arrange the sentences in the same way, without asking whether they lie in "
        "the same place."
    )
    held = [
        "Null: the same with sentences paired at random, its mean and what 95 % of such pairings stay below.",
        "For a distance: what they stay above." if any(each.kind == "distance" for each in result.measures) else "",
        "Expected by chance: the mean of the null over all pairings there are, by formula."
        if any(each.measure in BIASED and each.expected_null is not None for each in result.measured)
        else "",
        "Interval: what other sentences would give, 95 %.",
        f"Floor: {result.floor}." if result.floor else "",
        f"Ceiling: {result.ceiling}." if result.ceiling else "",
        "Place: 0 at the floor, 1 at the ceiling." if result.floor and result.ceiling else "",
    ]
    words = [*(text for text in said if text), about, " ".join(text for text in held if text)]
    return Section(title="What it means", words=words)


def _grid(result: Comparison) -> Section:
    grid = result.grid
    figures = [Figure(drawing=_heat(result, grid, "debiased"), caption=_caption(grid, "debiased"))]
    if result.grid_without_top is not None:
        figures.append(
            Figure(
                drawing=_heat(result, result.grid_without_top, "debiased"),
                caption=f"The same without the top {_components(result.top)} of every layer, "
                f"{result.grid_without_top.count:,} sentences: where it fades, a few strong directions made the layers "
                "alike.",
            )
        )
    return Section(title=_grid_title(grid), figures=figures)


def _grid_title(grid: CKAGrid) -> str:
    row, column = divmod(int(grid.debiased.argmax()), len(grid.layers_y))
    return f"Of all pairs of layers, {grid.layers_x[row]} and {grid.layers_y[column]} are the most alike"


def _heat(result: Comparison, grid: CKAGrid, form: Form) -> str:
    values = grid.form(form)
    rows = range(len(grid.layers_x) - 1, -1, -1)  # layer 0 at the foot, as models are drawn
    marked = [
        (len(grid.layers_x) - 1 - grid.layers_x.index(layer), grid.layers_y.index(layer))
        for layer in grid.layers_x
        if layer in grid.layers_y
    ]
    return heat_map(
        [str(grid.layers_x[row]) for row in rows],
        [str(layer) for layer in grid.layers_y],
        [[float(value) for value in values[row]] for row in rows],
        across=f"layer of {_short(result.models[1])}, reading {result.languages[1]}",
        up=f"layer of {_short(result.models[0])}, reading {result.languages[0]}",
        low=0.0,
        high=1.0,
        marked=marked,
        scale=FORM_TITLES[form],
    )


def _caption(grid: CKAGrid, form: Form) -> str:
    about = f"{FORM_TITLES[form]} ({FORMS[form]})"
    return f"{about} of every layer with every layer, {grid.count:,} sentences. Framed: layers of the same number."


def _lines(result: Comparison) -> Section:
    name = main_measure(result)
    assert name is not None  # noqa: S101 - the caller has looked
    found, measure = result.of(name), next(each for each in result.measures if each.name == name)
    band = [
        (float(each.layer), each.low, each.high) for each in found if each.low is not None and each.high is not None
    ]
    lines = [Line(name="these two", points=_points(found, "value"), band=band)]
    for title, what in (
        ("ceiling", "ceiling"),
        (f"without top {result.top}", "without_top"),
        ("floor", "floor"),
        ("random pairs, 95 %", "null_edge"),
    ):
        if points := _points(found, what):
            lines.append(Line(name=title, points=points))
    return Section(
        title=f"{measure.title} by layer, and what it is to be held against",
        figures=(
            Figure(
                drawing=line_chart(lines, across="layer", up=measure.title, whole=True),
                caption=f"{measure.meaning} On {found[0].rows:,} sentences."
                + (" Shaded: what other sentences would give, 95 %." if band else ""),
            ),
        ),
    )


def _points(found: Sequence[LayerMeasurement], what: str) -> list[tuple[float, float]]:
    values = [(each.layer, getattr(each, what)) for each in found]
    return [(float(layer), value) for layer, value in values if value is not None]


def _measure(result: Comparison, measure: Measure) -> Section:
    found = result.of(measure.name)
    best = best_layer(found, distance=measure.kind == "distance")
    kind = f"Less is more alike; identical spaces have {measure.ideal:g}." if measure.kind == "distance" else ""
    about = [f"{measure.meaning} {kind}".strip(), f"Measured on {found[0].rows:,} sentences, {_draws(found[0])}."]
    if full := [each for each in found if each.saturated]:
        about.append(
            f"Saturated in {_pair_names(full)}: every random pairing gives the same value there, so that it says "
            "nothing of which sentence goes with which. Fewer columns or more sentences would leave it room."
        )
    return Section(
        title=f"{measure.title}: most alike in {_pair_name(best)}",
        words=about,
        table=measure_table(result, measure.name),
    )


def _draws(each: LayerMeasurement) -> str:
    if not each.draws:
        return "without a null, since it does not look at which sentence goes with which"
    return f"{each.draws} random pairings"


def measure_table(result: Comparison, name: str) -> str:
    """A measure in every layer, with all it is to be held against."""
    found = result.of(name)
    head, columns = ["layer", "value", "95 % interval", "random pairs", "95 % of them", "p"], []
    if name in BIASED and any(each.expected_null is not None for each in found):
        columns.append(("expected by chance", "expected_null"))
    if result.floor:
        columns.append(("floor", "floor"))
    if result.ceiling:
        columns.append(("ceiling", "ceiling"))
    if result.floor and result.ceiling:
        columns.append(("place", "place"))
    if result.top:
        columns.append((f"without top {result.top}", "without_top"))
    rows = [
        [
            str(each.layer) if each.layer == each.other_layer else f"{each.layer} and {each.other_layer}",
            number(each.value),
            "–" if each.low is None or each.high is None else f"{number(each.low)} to {number(each.high)}",
            number(each.null_mean),
            number(each.null_edge),
            "saturated" if each.saturated else "–" if each.p is None else f"{each.p:.3f}",
            *(number(getattr(each, what)) for _, what in columns),
        ]
        for each in found
    ]
    return table([*head, *(title for title, _ in columns)], rows)


def _forms(result: Comparison) -> Section:
    others: tuple[Form, ...] = ("centered", "paper")
    return Section(
        title="The same layers by the other forms of CKA",
        words=(_OTHERS,),
        figures=[
            Figure(drawing=_heat(result, result.grid, form), caption=_caption(result.grid, form)) for form in others
        ],
    )


def _components(count: int) -> str:
    return "component" if count == 1 else f"{count} components"


def _short(name: str) -> str:
    """The end of a long path."""
    return name if len(name) <= 32 else f"…{name[-31:]}"


def two(value: float) -> str:
    """Two digits after the point, for words.

    >>> two(0.456), two(-0.001)
    ('0.46', '0.00')
    """
    return f"{value:z.2f}"


def number(value: float | None) -> str:
    """Three digits after the point, as many as there are to say; a dash for none.

    >>> number(0.12345), number(-0.0001), number(None)
    ('0.123', '0.000', '–')
    """
    if value is None:
        return "–"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:z.3f}"

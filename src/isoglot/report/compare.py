"""Pages of comparisons: two encoders, the first paper's Figure 7, and a measure over the training of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from isoglot.compare.emergence import KEEP_ALL
from isoglot.compare.figure7 import ROWS, paper_pair
from isoglot.compare.measures.cka import FORMS, Form
from isoglot.compare.measures.registry import find_measure
from isoglot.core.progress import listed
from isoglot.core.table import Column, Table
from isoglot.report.figures import Figure, Line, heat_map, lines
from isoglot.report.figures.charts import chosen
from isoglot.report.page import Filtered, Folded, Page, Section, Side
from isoglot.represent.extraction import POOLS_IN_WORDS, cut_in_words
from isoglot.study.claims.printed_numbers import printed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.compare.emergence import Emergence
    from isoglot.compare.encoders import Comparison, LayerMeasurement
    from isoglot.compare.figure7 import Figure7, Figure7Cell, Figure7Column
    from isoglot.compare.figure7_claims import Figure7Claim
    from isoglot.compare.layer_grid import CKAGrid
    from isoglot.compare.measures.measure import Measure

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


# --- two encoders ---


def comparison_page(result: Comparison, *, facts: Sequence[str] = ()) -> Page:
    """The page of a comparison: which layers of two encoders are alike, and how much that is worth.

    Args:
        result: The comparison.
        facts: Lines for its foot.
    """
    one, other = result.languages
    said = findings(result)
    two_models = len(set(result.models)) > 1
    others: tuple[Form, ...] = ("centered", "paper")
    without = result.grid_without_top
    grids = [comparison_figure(result)]
    if without is not None:
        grids.append(
            _heat(
                result,
                without,
                "debiased",
                name="grid-without-top",
                caption=f"The same without the top {_components(result.top)} of every layer, {without.count:,} "
                "sentences: where it fades, a few strong directions made the layers alike.",
            )
        )
    sections = [
        _read(result, said[1:]),
        Section(title=_grid_title(result.grid), body=[Side(grids) if len(grids) > 1 else grids[0]]),
        *([] if main_measure(result) is None else [_by_layer(result)]),
        *(_measure(result, measure) for measure in result.measures),
        Section(
            title="The same layers by the other forms of CKA",
            body=[
                _OTHERS,
                Side(
                    [
                        _heat(result, result.grid, form, name=f"grid-{form}", caption=_caption(result.grid, form))
                        for form in others
                    ]
                ),
            ],
        ),
    ]
    return Page(
        title=f"{one} and {other}: how alike two encoders are" if two_models else f"{one} and {other} compared",
        lead=said[0],
        sections=sections,
        facts=facts,
    )


def comparison_figure(result: Comparison) -> Figure:
    """Debiased CKA of every layer with every layer."""
    return _heat(result, result.grid, "debiased", name="grid", caption=_caption(result.grid, "debiased"))


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


def _read(result: Comparison, said: Sequence[str]) -> Section:
    about = (
        f"Both sides read the same {result.sentences:,} sentences, one in each language; a sentence is the "
        f"{POOLS_IN_WORDS[result.pool]}. A "
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
    return Section(title="What it means", body=words)


def _grid_title(grid: CKAGrid) -> str:
    row, column = divmod(int(grid.debiased.argmax()), len(grid.layers_y))
    return f"Of all pairs of layers, {grid.layers_x[row]} and {grid.layers_y[column]} are the most alike"


def _heat(result: Comparison, grid: CKAGrid, form: Form, *, name: str, caption: str) -> Figure:
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
        name=name,
        title=_grid_title(grid),
        x=f"layer of {_short(result.models[1])}, reading {result.languages[1]}",
        y=f"layer of {_short(result.models[0])}, reading {result.languages[0]}",
        scale=FORM_TITLES[form],
        marked=marked,
        caption=caption,
    )


def _caption(grid: CKAGrid, form: Form) -> str:
    about = f"{FORM_TITLES[form]} ({FORMS[form]})"
    return f"{about} of every layer with every layer, {grid.count:,} sentences. Framed: layers of the same number."


def _by_layer(result: Comparison) -> Section:
    name = main_measure(result)
    assert name is not None  # noqa: S101 - the caller has looked
    found, measure = result.of(name), next(each for each in result.measures if each.name == name)
    band = [
        (float(each.layer), each.low, each.high) for each in found if each.low is not None and each.high is not None
    ]
    drawn = [Line(name="these two", points=_points(found, "value"), band=band)]
    references = {
        "ceiling": "ceiling",
        f"without top {result.top}": "without_top",
        "floor": "floor",
        "random pairs, 95 %": "null_edge",
    }
    drawn += [Line(name=title, points=points) for title, what in references.items() if (points := _points(found, what))]
    title = f"{measure.title} by layer, and what to compare it with"
    figure = lines(
        drawn,
        name="by-layer",
        title=title,
        caption=f"{measure.meaning} On {found[0].rows:,} sentences."
        + (" Bands: 95 % intervals over sentences." if band else ""),
        x="layer",
        y=measure.title,
        whole=True,
    )
    return Section(title=title, body=[figure])


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
            "nothing about which sentence goes with which. Use fewer columns or more sentences."
        )
    return Section(
        title=f"{measure.title}: most alike in {_pair_name(best)}", body=[*about, measure_table(result, measure.name)]
    )


def _draws(each: LayerMeasurement) -> str:
    if not each.draws:
        return "without a null, since it does not look at which sentence goes with which"
    return f"{each.draws} random pairings"


def measure_table(result: Comparison, name: str) -> Table:
    """A measure in every layer, with all it is to be compared with."""
    found = result.of(name)
    measure = next(each for each in result.measures if each.name == name)
    optional = {
        "expected_null": ("expected by chance", name in BIASED),
        "floor": ("floor", result.floor),
        "ceiling": ("ceiling", result.ceiling),
        "place": ("place", result.floor and result.ceiling),
        "without_top": (f"without top {result.top}", result.top),
    }
    kept = {
        key: title
        for key, (title, wanted) in optional.items()
        if wanted and any(getattr(each, key) is not None for each in found)
    }
    rows = [
        {
            "layer": str(each.layer) if each.layer == each.other_layer else f"{each.layer} and {each.other_layer}",
            "value": each.value,
            "value_low": each.low,
            "value_high": each.high,
            "null_mean": each.null_mean,
            "null_edge": each.null_edge,
            "p": "saturated" if each.saturated else "–" if each.p is None else f"{each.p:.3f}",
            **{key: getattr(each, key) for key in kept},
        }
        for each in found
    ]
    form = ".1f" if any(abs(each.value) >= 100 for each in found) else ".3f"
    best: Literal["min", "max"] = "min" if measure.kind == "distance" else "max"
    columns = [
        Column("layer", align="right"),
        Column("value", format=form, interval=("value_low", "value_high"), best=best),
        Column("null_mean", "random pairs", format=form, kind="number"),
        Column("null_edge", "95 % of them", format=form, kind="number"),
        Column("p", align="right"),
        *(Column(key, title, format=form, kind="number") for key, title in kept.items()),
    ]
    return Table.from_rows(rows, columns, caption=f"{measure.title} by layer")


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


# --- Figure 7: bilingual, monolingual and random encoders ---

_CKA = (
    "CKA says how far both sides arrange the sentences in the same way. The first paper's form is not centered; the "
    "debiased form is 0 on average where there is nothing in common."
)
_PLUS_MINUS = "± is half of a 95 % interval: that of drawing other sentences (jackknife), not of training other models."
_THEIRS = (
    "The paper's models have 8 layers of 768 and were trained on Wikipedia for days; its sentences are XNLI's. Its "
    "values are not to be met here; their order is what can be compared."
)
_DECIDED = (
    "Decided where the 95 % interval leaves 0 out. The interval is that of drawing other sentences: one model of each "
    "kind says nothing of what another seed would give."
)
_FOUND = (
    "P@1 in % by cosine, the mean of both directions, of test sentences after a rotation fitted on other pairs: "
    "what the paper's Figure 6 shows (10,000 XNLI pairs, Tatoeba's sentences), and what its CKA goes with."
)


_PRINTED = printed("wu2020")["figure7"]["pairs"]


def paper_average(pair: str, row: str) -> float | None:
    """Mean over layers as printed in the paper; None for a pair it does not have.

    >>> paper_average("en-fr", "bilingual"), paper_average("en-sw", "bilingual")
    (0.69, None)
    """
    value: float | None = _PRINTED.get(pair, {}).get(row, {}).get("average")
    return value


def figure7_page(figure: Figure7, found: Sequence[Figure7Claim], *, facts: Sequence[str] = ()) -> Page:
    """The page of the Figure 7 grid.

    Args:
        figure: The grid.
        found: The paper's claims, tested on it.
        facts: Lines for its foot.
    """
    verdicts, behind = _claims(found)
    known = [column for column in figure.columns if paper_pair(column.languages) in _PRINTED]
    beside = [_averages(figure, "paper")]
    if known:
        values = [[paper_average(paper_pair(column.languages), row) for column in known] for row in ROWS]
        caption = "The paper's averages over layers 0 to 8 (Wu et al. 2020, Figure 7)."
        beside.append(
            _columns(list(ROWS), known, values, "paper", ("figure7-of-the-paper", "The paper's Figure 7"), caption)
        )
    sections = [
        Section(title="What is compared", body=_words(figure)),
        Section(
            title="CKA as printed, ours and the paper's"
            if known
            else "CKA as printed; the paper has none of these pairs",
            body=[_THEIRS if known else None, Side(beside), _beside_table(figure, known) if known else None],
        ),
        Section(
            title="The other forms of CKA, averaged over layers",
            body=[Side([_averages(figure, "debiased"), _averages(figure, "centered")]), averages_table(figure)],
        ),
        Section(
            title="What the paper reads off its figure, read off this one",
            body=[_DECIDED, Filtered(verdicts, "does not hold")],
        ),
        Section(title="Layer by layer", body=[Side([_layer(figure, form) for form in FORMS])]),
    ]
    if (retrieval := _retrieval(figure)) is not None:
        sections.append(Section(title="Translations found after a rotation", body=[_FOUND, retrieval]))
    sections.append(Section(title="The numbers behind the verdicts", body=[Folded("Show them", [behind])]))
    if figure.empty:
        rows = [{"column": column, "row": row, "why": why} for (column, row), why in figure.empty.items()]
        sections.append(Section(title="Cells that are empty", body=[Table.from_rows(rows)]))
    return Page(
        title="How alike languages are in bilingual, monolingual and random encoders",
        lead=figure7_finding(figure, found),
        sections=sections,
        facts=facts,
    )


def figure7_finding(figure: Figure7, found: Sequence[Figure7Claim]) -> str:
    """What it comes to, in a few sentences."""
    whole = len(figure.columns) * len(ROWS)
    said = [f"{len(figure.cells)} of {whole} cells are measured."] if len(figure.cells) < whole else []
    said += [f"“{claim.text.rstrip('.')}” {_says(claim)}." for claim in found if claim.form == "debiased"]
    return " ".join(said) + " All by debiased CKA; the other forms are below."


def _says(claim: Figure7Claim) -> str:
    return {"holds": "holds", "does not hold": "does not hold", "undecided": "is undecided"}[claim.verdict]


def _words(figure: Figure7) -> list[str]:
    counts = set(figure.sentences.values())
    sentences = f"{min(counts):,}" if len(counts) == 1 else f"{min(counts):,} to {max(counts):,}"
    about = (
        f"Each column is a pair of languages that reads the same {sentences} sentences; each row is a way to read them."
    )
    rows = " ".join([about, *(f"{row.capitalize()}: {meaning}" for row, meaning in ROWS.items())])
    return [rows, *untold_words(figure), *(f"{said}." for said in cut_words(figure)), f"{_CKA} {_PLUS_MINUS}"]


def untold_words(figure: Figure7) -> list[str]:
    """Which models are not known to fit their rows."""
    names = ", ".join(figure.untold)
    return [f"Not known is what {names} learned from: that it fits its row, the file alone says."] if names else []


def cut_words(figure: Figure7) -> list[str]:
    """How many sentences were too long, for each cell that has some."""
    languages = {column.title: column.languages for column in figure.columns}
    return [
        f"{title}, {row}: {said}"
        for (title, row), cell in figure.cells.items()
        for said in cut_in_words(zip(languages[title], cell.cut, strict=True), figure.sentences[title])
    ]


def averages_table(figure: Figure7) -> Table:
    """The averages over layers by every form, with half of their 95 % intervals."""
    rows = [
        {
            "form": FORM_TITLES[form],
            "row": row,
            **{column.title: _value(figure.cell(column.title, row), form) for column in figure.columns},
        }
        for form in FORMS
        for row in ROWS
    ]
    columns = [Column("form"), Column("row", "encoders"), *(Column(one.title, align="right") for one in figure.columns)]
    return Table.from_rows(rows, columns, group_by="form", caption="Average over layers ± half of its 95 % interval")


def _beside_table(figure: Figure7, known: Sequence[Figure7Column]) -> Table:
    rows = []
    for row in ROWS:
        ours: dict[str, Any] = {"row": row, "whose": "here"}
        theirs: dict[str, Any] = {"row": row, "whose": "the paper"}
        for column in known:
            printed = paper_average(paper_pair(column.languages), row)
            ours[column.title] = _value(figure.cell(column.title, row), "paper")
            theirs[column.title] = "–" if printed is None else f"{printed:.2f}"
        rows += [ours, theirs]
    columns = [Column("row", "encoders"), Column("whose", ""), *(Column(one.title, align="right") for one in known)]
    return Table.from_rows(rows, columns, caption="CKA as printed, ours and the paper's")


def _claims(found: Sequence[Figure7Claim]) -> tuple[Table, Table]:
    """The verdicts, and the numbers behind each."""
    texts = dict.fromkeys((claim.name, claim.text) for claim in found)
    verdicts = {(claim.text, claim.form): claim.verdict for claim in found}
    rows = [{"claim": name, "text": text, **{form: verdicts[text, form] for form in FORMS}} for name, text in texts]
    behind = [
        {"claim": claim.name, "by": FORM_TITLES[claim.form], "number": number}
        for claim in found
        for number in claim.numbers
    ]
    columns = [Column("claim"), Column("text", "the paper says"), *(Column(form, FORM_TITLES[form]) for form in FORMS)]
    return Table.from_rows(rows, columns, caption="Claims"), Table.from_rows(
        behind, ["claim", "by", "number"], caption="Numbers behind the claims"
    )


def _averages(figure: Figure7, form: Form) -> Figure:
    values = [
        [None if (cell := figure.cell(column.title, row)) is None else cell.average(form) for column in figure.columns]
        for row in ROWS
    ]
    caption = f"{FORM_TITLES[form]}: {FORMS[form]}. The average over layers; a dash: no models."
    about = (f"figure7-{form}", "How alike languages are in three kinds of encoders")
    return _columns(list(ROWS), figure.columns, values, form, about, caption)


def _layer(figure: Figure7, form: Form) -> Figure:
    """All layers: a block of rows for each kind of encoder."""
    names, values = [], []
    for row in ROWS:
        for layer in figure.layers:
            names.append(f"{row} L{layer}")
            values.append([_at(figure.cell(column.title, row), form, layer) for column in figure.columns])
    about = (f"figure7-{form}-layers", f"{FORM_TITLES[form]}, layer by layer")
    return _columns(names, figure.columns, values, form, about, f"{FORM_TITLES[form]}. Layer 0 is the embeddings.")


def _columns(
    rows: Sequence[str],
    columns: Sequence[Figure7Column],
    values: Sequence[Sequence[float | None]],
    form: Form,
    about: tuple[str, str],
    caption: str,
) -> Figure:
    name, title = about
    titles = [column.title for column in columns]
    return heat_map(rows, titles, values, name=name, title=title, x="", y="", scale=FORM_TITLES[form], caption=caption)


def _retrieval(figure: Figure7) -> Table | None:
    rows: list[dict[str, Any]] = []
    for column in figure.columns:
        for row in ROWS:
            cell = figure.cell(column.title, row)
            if cell is not None and cell.found is not None:
                values = {f"L{layer}": value for layer, value in zip(cell.layers, cell.found, strict=True)}
                tested = len(cell.hits[0]) if cell.hits else None
                rows.append({"cell": f"{column.title}, {row}", "pairs": cell.fitted, "tested": tested, **values})
    if not rows:
        return None
    layers = [Column(f"L{layer}", scale=100, format=".1f", best="max", kind="number") for layer in figure.layers]
    return Table.from_rows(rows, [Column("cell", ""), Column("pairs"), Column("tested"), *layers], caption="P@1, %")


def _at(cell: Figure7Cell | None, form: Form, layer: int) -> float | None:
    if cell is None or layer not in cell.layers:
        return None
    return cell.values[form][cell.layers.index(layer)]


def _value(cell: Figure7Cell | None, form: Form) -> str:
    if cell is None:
        return "–"
    half = cell.half_width(form)
    return f"{cell.average(form):z.3f}" if half is None else f"{cell.average(form):z.3f} ± {half:.3f}"


# --- a measure over the training of a run ---


def emergence_page(result: Emergence, *, facts: Sequence[str] = ()) -> Page:
    """The page of an emergence: measures over the checkpoints of a run, and over layers at each of them.

    Args:
        result: What was measured.
        facts: Lines for its foot.
    """
    one, other = result.languages
    return Page(
        title=f"How {one} and {other} become alike",
        lead=emergence_finding(result),
        sections=[_over_training(result, name) for name in _ordered(result)],
        facts=[*cut_in_words(zip(result.languages, result.cut, strict=True), result.sentences), *facts],
    )


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


def _over_training(result: Emergence, name: str) -> Section:
    measure = find_measure(name)
    rows = [
        {"step": moment.step, **{f"layer {layer}": moment.values[name][layer] for layer in result.layers}}
        for moment in result.moments
    ]
    layers = [Column(f"layer {layer}", format=".3f") for layer in result.layers]
    table = Table.from_rows(rows, [Column("step", format=",d"), *layers], caption=f"{measure.title} over the training")
    curves = [_curve(result, name), _snapshots(result, name)] if len(result.moments) > 1 else []
    return Section(title=f"{measure.title} over the training", body=[measure.meaning, *curves, table])


def _curve(result: Emergence, name: str) -> Figure:
    """A line for each layer over tokens where they were counted, else over steps."""
    tokens = [moment.tokens for moment in result.moments if moment.tokens is not None]
    counted = len(set(tokens)) == len(result.moments)
    places = [count / 1e6 for count in tokens] if counted else [float(moment.step) for moment in result.moments]
    shown = chosen(result.layers, 9)
    skipped = "" if len(shown) == len(result.layers) else f" {len(shown)} of {len(result.layers)} layers are drawn."
    title = find_measure(name).title
    return lines(
        [
            Line(
                name=f"layer {layer}",
                points=[(at, one.values[name][layer]) for at, one in zip(places, result.moments, strict=True)],
            )
            for layer in shown
        ],
        name=f"emergence-{name}",
        title=f"{title} of {' and '.join(result.languages)} over the training",
        caption=f"{result.sentences:,} sentences at each checkpoint.{skipped}",
        x="text seen, million tokens" if counted else "step",
        y=title,
        ordered=True,
    )


def _snapshots(result: Emergence, name: str) -> Figure:
    """The same over layers, with a slider over the training."""
    title = find_measure(name).title
    return lines(
        [
            Line(
                name="these two",
                frame=at,
                points=[(float(layer), moment.values[name][layer]) for layer in result.layers],
            )
            for at, moment in enumerate(result.moments)
        ],
        name=f"emergence-{name}-layers",
        title=f"{title} by layer at step {result.moments[-1].step:,}",
        caption="Move the slider to go through the training.",
        x="layer",
        y=title,
        whole=True,
        frames=[f"step {moment.step:,}" for moment in result.moments],
    )

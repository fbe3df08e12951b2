"""The page of an alignment: how often translations are found in each layer, before the map and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from isoglot.core.progress import counted
from isoglot.core.table import Column, Table
from isoglot.report.lines import Line, line_chart
from isoglot.report.page import Figure, Section, page, table
from isoglot.represent.extraction import cut_in_words
from isoglot.retrieve.dictionaries import Coverage
from isoglot.retrieve.leaks import left_out
from isoglot.retrieve.methods import Direction
from isoglot.retrieve.metrics import in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.align.alignment import Alignment, LayerAlignment
    from isoglot.retrieve import MethodScores

_WHAT = {
    "embeddings": "words by their static vectors",
    "types": "words averaged over their contexts",
    "words": "words in their contexts",
    "sentences": "sentences",
}


def finding(result: Alignment) -> str:
    """What was found, in one sentence."""
    best = result.best
    after = best.after.of(result.config.retrieval)
    before = result.scores(best, "before")
    where = "" if best.layer is None else f" in layer {best.layer}"
    without = "" if before is None else f", {_percent(before)} without it"
    layer, most = max(_points(result, "before"), key=lambda point: point[1], default=(0.0, 0.0))
    if before is not None and most > 100 * before.precision[1].value:
        without += f"; the most without a map is {most:.1f} %, in layer {layer:.0f}"
    return (
        f"After the map {_percent(after)} of {after.queries:,} held-out {result.languages[0]} {_WHAT[result.use]} have "
        f"their translation nearest by {after.how}{where}{without}."
    )


def searched(result: Alignment) -> str:
    """How translations were looked for in both directions: the method, its K, and among how many candidates."""
    source, target = result.languages
    scores = [result.layers[0].after.of(result.config.retrieval, way) for way in ("forward", "backward")]
    which = {"all": "whole vocabulary", "gold": "words of the test"}[result.config.candidates]
    kind = f" ({which})" if result.use in ("embeddings", "types") else ""
    return f"{source} to {target} by {scores[0].how}{kind}, {target} to {source} among {scores[1].candidates:,}"


def alignment_table(result: Alignment) -> Table:
    """P@1 and MRR of every layer, before the map and after."""
    one, other = result.languages
    figures = (f"P@1 {one}→{other}", f"P@1 {other}→{one}", f"MRR {one}→{other}")
    columns = [Column("layer", kind="text", align="right")]
    columns += [
        Column(f"{name} {when}", title=when, above=name, kind="number", format=".3f")
        for name in figures
        for when in ("before", "after")
    ]
    rows: list[tuple[str | float | None, ...]] = []
    for layer in result.layers:
        both = [(found, way) for way in get_args(Direction) for found in (layer.before, layer.after)]
        scores = [None if found is None else found.of(result.config.retrieval, way) for found, way in both]
        values = [None if each is None else each.precision[1].value for each in scores]
        values += [None if each is None else each.mrr.value for each in scores[:2]]
        name = "emb" if layer.layer is None else str(layer.layer)
        if layer.layer != layer.target_layer:
            name += f"→{layer.target_layer}"
        rows.append((name, *values))
    best = tuple(place for place, layer in enumerate(result.layers) if layer is result.best and len(rows) > 1)
    return Table(tuple(columns), tuple(rows), bold_rows=best)


def remarks(result: Alignment) -> list[str]:
    """What was left out or truncated; for word types also coverage, spelling and the check for leaks."""
    facts = result.facts
    lines = []
    if facts.get("repeated"):
        lines.append(f"{counted(facts['repeated'], 'pairs')} left out for a sentence of an earlier one")
    lines += cut_in_words(zip(result.languages, facts.get("cut", (0, 0)), strict=True), result.train + result.test)
    name = "test_dictionary" if "test_dictionary" in facts else "dictionary"
    if name not in facts:
        return lines
    lines.append(f"{name.replace('_', ' ').capitalize()}: {Coverage(**facts[name])}")
    sizes = zip(facts["vocabulary"], result.languages, strict=True)
    lines.append(
        f"Fitted on the whole vocabularies: {' and '.join(f'{count:,} {code}' for count, code in sizes)} words"
    )
    if any(facts["without_vector"]):
        lines.append(f"Left out for want of a vector: {' and '.join(map(str, facts['without_vector']))} words")
    if facts.get("left_out_known"):
        lines.append(left_out(facts["left_out_known"]))
    for when in ("before", "after"):
        scores = result.scores(result.best, when)
        if scores is not None and scores.other_spelling is not None:
            queries, other = scores.other_spelling
            said = in_words(scores.precision[1].value, scores.queries, None if other is None else other.value, queries)
            lines.append(f"All entries / spelled differently, {when} the map: {said}")
    return [*lines, facts["leak_check"]["sentence"]]


def alignment_page(result: Alignment, *, facts: Sequence[str] = ()) -> str:
    """The page: P@1 over layers before and after, and a table.

    Args:
        result: The alignment.
        facts: Lines for its foot.
    """
    source, target = result.languages
    chance = 100 / result.layers[0].after.of(result.config.retrieval).candidates
    figures = []
    if len(result.layers) > 1:
        lines = [
            Line(name=f"{source} → {target}, {name}", points=points)
            for name, when in (("mapped", "after"), ("as it is", "before"))
            if (points := _points(result, when))
        ]
        figures = [
            Figure(
                drawing=line_chart(lines, across="layer", up="translation found (P@1), %", floor_at=chance, whole=True),
                caption=f"Share of held-out {_WHAT[result.use]} whose nearest neighbor by "
                f"{result.layers[0].after.of(result.config.retrieval).how} is their translation. "
                f"The map: {result.config.method}"
                + ("" if result.config.normalize == "none" else f", after normalizing ({result.config.normalize})")
                + f", learned from {result.train:,} pairs.",
            )
        ]
    return page(
        f"{source} and {target}: {_WHAT[result.use]}, aligned",
        finding(result),
        [Section(title=_title(result), figures=figures, table=_table(result))],
        facts=(searched(result), *facts),
    )


def _title(result: Alignment) -> str:
    if len(result.layers) == 1:
        return "Held-out pairs, before the map and after"
    best, ends = result.best, (result.layers[0], result.layers[-1])
    if best in ends:
        first, last = (100 * layer.after.of(result.config.retrieval).precision[1].value for layer in ends)
        return f"Mapped, the layers {'fall' if first > last else 'rise'} from {first:.1f} % to {last:.1f} %"
    return f"Mapped, layer {best.layer} is the best of {len(result.layers)}"


def _points(result: Alignment, when: str) -> list[tuple[float, float]]:
    found = ((layer.layer, layer.after if when == "after" else layer.before) for layer in result.layers)
    return [
        (float(number), 100 * scores.of(result.config.retrieval).precision[1].value)
        for number, scores in found
        if number is not None and scores is not None
    ]


def _table(result: Alignment) -> str:
    source, target = result.languages
    ways = [f"P@1 {source} → {target}", f"P@1 {target} → {source}", f"MRR {source} → {target}"]
    head = ["layer", *(f"{way}, {when}" for way in ways for when in ("before", "after"))]
    return table(head, [_row(result, layer) for layer in result.layers])


def _row(result: Alignment, layer: LayerAlignment) -> list[str]:
    method = result.config.retrieval
    name = "embeddings" if layer.layer is None else str(layer.layer)
    cells = [name]
    for direction in ("forward", "backward"):
        cells += [
            "–" if found is None else _percent(found.of(method, direction)) for found in (layer.before, layer.after)
        ]
    for found in (layer.before, layer.after):
        cells.append("–" if found is None else f"{found.of(method).mrr.value:.3f}")
    return cells


def _percent(scores: MethodScores) -> str:
    return f"{100 * scores.precision[1].value:.1f} %"

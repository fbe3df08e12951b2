"""Pages of alignment: translations found before a map and after it, and word alignment by an encoder's layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from isoglot.align.maps.config import UNSUPERVISED
from isoglot.align.words.encoder_links import CENTERS, RULES
from isoglot.core.progress import counted
from isoglot.core.table import Column, Table
from isoglot.report.figures import Line, lines
from isoglot.report.page import Page, Section
from isoglot.report.results import Rendering
from isoglot.represent.extraction import cut_in_words
from isoglot.retrieve.dictionaries import Coverage
from isoglot.retrieve.leaks import left_out
from isoglot.retrieve.methods import Direction
from isoglot.retrieve.metrics import in_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from isoglot.align.alignment import Alignment
    from isoglot.align.words.encoder_links import LayerChoice
    from isoglot.align.words.linking import BitextDictionaries, LinkedBitext
    from isoglot.align.words.word_aligner import Aligner
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
    layer, most = max(_aligned(result, "before"), key=lambda point: point[1], default=(0.0, 0.0))
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
    notes: list[str] = []
    if facts.get("repeated"):
        pairs = counted(facts["repeated"], "pairs")
        notes.append(f"{pairs} left out because a sentence repeats one of an earlier pair")
    notes += convergence_in_words(result)
    notes += cut_in_words(zip(result.languages, facts.get("cut", (0, 0)), strict=True), result.train + result.test)
    name = "test_dictionary" if "test_dictionary" in facts else "dictionary"
    if name not in facts:
        return notes
    if "spelled_alike" in facts:
        alike = counted(facts["spelled_alike"], "words")
        notes.append(f"No dictionary: scored on some of {alike} that are spelled alike, which says little of others")
    notes.append(f"{name.replace('_', ' ').capitalize()}: {Coverage(**facts[name])}")
    sizes = zip(facts["vocabulary"], result.languages, strict=True)
    notes.append(
        f"Fitted on the whole vocabularies: {' and '.join(f'{count:,} {code}' for count, code in sizes)} words"
    )
    if any(facts["without_vector"]):
        notes.append(f"Left out for want of a vector: {' and '.join(map(str, facts['without_vector']))} words")
    if facts.get("left_out_known"):
        notes.append(left_out(facts["left_out_known"]))
    for when in ("before", "after"):
        scores = result.scores(result.best, when)
        if scores is not None and scores.other_spelling is not None:
            queries, other = scores.other_spelling
            said = in_words(scores.precision[1].value, scores.queries, None if other is None else other.value, queries)
            notes.append(f"All entries / spelled differently, {when} the map: {said}")
    return [*notes, facts["leak_check"]["sentence"]]


def alignment_result(result: Alignment, source: str, target: str, out: Path) -> Rendering:
    """An alignment as JSON, page and table.

    Args:
        result: The alignment.
        source: Name of the source.
        target: Name of the target.
        out: Folder of the maps.
    """
    checked = [result.facts["leak_check"]["sentence"]] if "leak_check" in result.facts else []
    models = f"source {source}, target {target}"
    linked = {"linked_by": result.facts["linked_by"]} if "linked_by" in result.facts else {}
    where = f"Maps and metrics in {out}"
    return Rendering(
        result.as_dict(),
        alignment_table(result),
        lambda facts: alignment_page(result, facts=(models, *checked, *facts)).files(),
        [*remarks(result), finding(result), f"Looked for: {searched(result)}", where],
        {"config": linked} if linked else {},
    )


def convergence_in_words(result: Alignment) -> list[str]:
    """For maps without pairs, whether each has converged."""
    name = {None: "The map"} | {each.layer: f"Layer {each.layer}" for each in result.layers if each.layer is not None}
    return [f"{name[each.layer]} {each.convergence}" for each in result.layers if each.convergence is not None]


def alignment_page(result: Alignment, *, facts: Sequence[str] = ()) -> Page:
    """The page of an alignment: P@1 over layers before the map and after, and a table.

    Args:
        result: The alignment.
        facts: Lines for its foot.
    """
    source, target = result.languages
    scores = result.layers[0].after.of(result.config.retrieval)
    figure = None
    if len(result.layers) > 1:
        normal = "" if result.config.normalize == "none" else f", after normalizing ({result.config.normalize})"
        figure = lines(
            [
                Line(name=f"{source} → {target}, {name}", points=points)
                for name, when in (("mapped", "after"), ("as it is", "before"))
                if (points := _aligned(result, when))
            ],
            name="alignment",
            title=_title(result),
            caption=f"Share of held-out {_WHAT[result.use]} whose nearest neighbor by {scores.how} is their "
            f"translation. The map: {result.config.method}{normal}, learned "
            f"{f'from {result.train:,}' if result.config.method not in UNSUPERVISED else 'without'} pairs.",
            x="layer",
            y="translations found (P@1), %",
            levels={"chance": 100 / scores.candidates},
            whole=True,
        )
    return Page(
        title=f"{source} and {target}: {_WHAT[result.use]}, aligned",
        lead=finding(result),
        sections=[Section(title=_title(result), body=[figure, _aligned_table(result)])],
        facts=(searched(result), *convergence_in_words(result), *facts),
    )


def _title(result: Alignment) -> str:
    if len(result.layers) == 1:
        return "Held-out pairs, before the map and after"
    best, ends = result.best, (result.layers[0], result.layers[-1])
    if best in ends:
        first, last = (100 * layer.after.of(result.config.retrieval).precision[1].value for layer in ends)
        return f"Mapped, the layers {'fall' if first > last else 'rise'} from {first:.1f} % to {last:.1f} %"
    return f"Mapped, layer {best.layer} is the best of {len(result.layers)}"


def _aligned(result: Alignment, when: str) -> list[tuple[float, float]]:
    found = ((layer.layer, layer.after if when == "after" else layer.before) for layer in result.layers)
    return [
        (float(number), 100 * scores.of(result.config.retrieval).precision[1].value)
        for number, scores in found
        if number is not None and scores is not None
    ]


def _aligned_table(result: Alignment) -> Table:
    source, target = result.languages
    method = result.config.retrieval
    rows = []
    for layer in result.layers:
        row: dict[str, Any] = {"layer": "embeddings" if layer.layer is None else layer.layer}
        for when, found in (("before", layer.before), ("after", layer.after)):
            if found is not None:
                row |= {f"{way}_{when}": found.of(method, way).precision[1] for way in ("forward", "backward")}
                row[f"mrr_{when}"] = found.of(method).mrr.value
        rows.append(row)
    columns = [Column("layer", align="left")]
    ways = {"forward": f"P@1 {source} → {target}, %", "backward": f"P@1 {target} → {source}, %"}
    for key, above in (ways | {"mrr": f"MRR {source} → {target}"}).items():
        look: dict[str, Any] = {"scale": 100, "format": ".1f"} if key != "mrr" else {"format": ".3f"}
        columns += [
            Column(f"{key}_{when}", when, above=above, best="max", **look)
            for when in ("before", "after")
            if any(f"{key}_{when}" in row for row in rows)
        ]
    return Table.from_rows(rows, columns, caption="Held-out pairs, before the map and after")


def _percent(scores: MethodScores) -> str:
    return f"{100 * scores.precision[1].value:.1f} %"


# --- word alignment by an encoder ---

_MEANS = {"mean": "means removed", "none": "as it is"}


def choice_in_words(choice: LayerChoice) -> str:
    """What was chosen, in one sentence."""
    chosen = choice.chosen
    way = chosen.way
    above = "" if way.threshold is None else f" above {way.threshold:g}"
    means = "means removed" if way.center == "mean" else "means kept"
    return (
        f"Of what could be chosen, layer {way.layer} by {way.rule}{above}, {means}, has the lowest alignment error "
        f"rate on {choice.pairs:,} pairs with gold links: {chosen.scores.error_rate:.3f}."
    )


def choice_table(choice: LayerChoice) -> Table:
    """AER of every layer by both rules, with and without centering."""
    kinds = [(rule, center) for rule in RULES for center in CENTERS]
    columns = [
        Column(f"{rule} {center}", title="centered" if center == "mean" else "as it is", above=rule, format=".3f")
        for rule, center in kinds
    ]
    tried = list(zip(*(choice.of_layers(rule, center) for rule, center in kinds), strict=True))
    rows = [(row[0].way.layer, *(each.scores.error_rate for each in row)) for row in tried]
    best = tuple(place for place, row in enumerate(rows) if row[0] == choice.chosen.way.layer)
    return Table((Column("layer"), *columns), tuple(rows), bold_rows=best)


def links_shown(linked: LinkedBitext) -> RenderableType:
    """Number of links and scores; where a layer was chosen, the table of all layers; and what was left out."""
    from rich.console import Group
    from rich.text import Text

    counts, scores = linked.counts, linked.scores
    text = f"{sum(map(len, linked.links)):,} links in {counts.used:,} of {counts.pairs:,} sentence pairs"
    if scores is not None:
        text += (
            f"; AER {scores.error_rate:.3f}, precision {scores.precision:.3f}, recall {scores.recall:.3f}, "
            f"F1 {scores.f1:.3f}"
        )
    if linked.leaked:
        text += f"\nMind the scores: {linked.leaked:,} of these pairs chose the layer"
    if counts.used < counts.pairs:
        text += f"\nLeft out: {counts.blank} blank, {counts.one_sided} one-sided, {counts.overlong} overlong"
    return Text(text) if linked.choice is None else Group(choice_table(linked.choice), Text(text))


def links_result(linked: LinkedBitext, model: str | None, out: Path) -> Rendering:
    """Word alignment of bitext as JSON and on a terminal, with a page if a layer of a model was chosen."""
    choice = linked.choice
    notes = ([] if choice is None else [choice_in_words(choice)]) + [f"Links, words and metrics in {out}"]

    def files(facts: Sequence[str]) -> dict[str, str | bytes]:
        if choice is None:
            return {}
        return link_layers_page(choice, linked.languages, facts=(f"model {model}", *facts)).files()

    record = {"device": linked.aligner.device, "config": linked.aligner.origin()}
    return Rendering(linked.facts(), links_shown(linked), files, notes, record)


def dictionaries_result(found: BitextDictionaries, aligner: Aligner | None, out: Path) -> Rendering:
    """Dictionaries induced from bitext, with a given aligner or one that was trained on it."""
    facts = found.facts()
    lines = [f"{name}: {facts[name]['words']:,} words, {facts[name]['entries']:,} entries" for name in found.entries]
    given = {} if aligner is None else {"align": aligner.config.model_dump(mode="json") | aligner.origin()}
    record = {"config": given} if given else {}
    return Rendering(facts, "\n".join(lines), notes=[f"Dictionaries in {out}"], record=record)


def link_layers_page(choice: LayerChoice, languages: tuple[str, str], *, facts: Sequence[str] = ()) -> Page:
    """The page of an encoder's word alignment: AER over layers by both rules, with and without means.

    Args:
        choice: What was tried and chosen.
        languages: Those of the two sides.
        facts: Lines for its foot.
    """
    tried = {f"{rule}, {_MEANS[center]}": choice.of_layers(rule, center) for rule in RULES for center in CENTERS}
    layers, way = len({each.way.layer for each in choice.tried}), choice.chosen.way
    title = f"By {way.rule}, {_MEANS[way.center]}, layer {way.layer} is the best of {layers}"
    drawn = [
        Line(name=name, points=[(float(each.way.layer), each.scores.error_rate) for each in some])
        for name, some in tried.items()
    ]
    figure = lines(
        drawn,
        name="link-layers",
        title=title,
        caption=f"Links that both directions have, beside the gold links of {choice.pairs:,} sentence pairs; lower is "
        "better. For softmax the best threshold of each layer.",
        x="layer",
        y="alignment error rate",
        whole=True,
    )
    rows = [
        {
            "rule": name,
            "layer": each.way.layer,
            "threshold": each.way.threshold,
            "aer": each.scores.error_rate,
            "precision": each.scores.precision,
            "recall": each.scores.recall,
            "f1": each.scores.f1,
        }
        for name, some in tried.items()
        for each in some
    ]
    columns = [
        Column("rule"),
        Column("layer"),
        Column("threshold", format="g"),
        Column("aer", "AER", format=".3f", best="min"),
    ]
    columns += [
        Column(key, title, format=".3f", best="max")
        for key, title in (("precision", "precision"), ("recall", "recall"), ("f1", "F1"))
    ]
    return Page(
        title=f"{languages[0]} and {languages[1]}: which word is which, by an encoder's layers",
        lead=choice_in_words(choice),
        sections=[
            Section(
                title=title, body=[figure if layers > 1 else None, Table.from_rows(rows, columns, caption="Every rule")]
            )
        ],
        facts=facts,
    )

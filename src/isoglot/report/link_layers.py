"""The page of an encoder's word alignment: how many links are wrong in each layer, by each rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.align.words.encoder_links import CENTERS, RULES
from isoglot.core.table import Column, Table
from isoglot.report.lines import Line, line_chart
from isoglot.report.page import Figure, Section, page, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from isoglot.align.words.encoder_links import Center, Rule
    from isoglot.align.words.layer_choice import LayerChoice, TriedSettings
    from isoglot.align.words.linking import LinkedBitext

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


def link_layers_page(choice: LayerChoice, languages: tuple[str, str], *, facts: Sequence[str] = ()) -> str:
    """The page: AER over layers by both rules, with and without means, and a table.

    Args:
        choice: What was tried and chosen.
        languages: Those of the two sides.
        facts: Lines for its foot.
    """
    kinds = [(rule, center) for rule in RULES for center in CENTERS]
    figures = []
    layers = len({each.way.layer for each in choice.tried})
    if layers > 1:
        lines = [
            Line(
                name=_name(rule, center),
                points=[(float(each.way.layer), each.scores.error_rate) for each in choice.of_layers(rule, center)],
            )
            for rule, center in kinds
        ]
        figures = [
            Figure(
                drawing=line_chart(lines, across="layer", up="alignment error rate", whole=True),
                caption=f"Links that both directions have, beside the gold links of {choice.pairs:,} sentence pairs; "
                "lower is better. For softmax the best threshold of each layer.",
            )
        ]
    rows = [_row(each) for rule, center in kinds for each in choice.of_layers(rule, center)]
    head = ["rule", "layer", "threshold", "AER", "precision", "recall", "F1"]
    way = choice.chosen.way
    return page(
        f"{languages[0]} and {languages[1]}: which word is which, by an encoder's layers",
        choice_in_words(choice),
        [
            Section(
                title=f"By {_name(way.rule, way.center)}, layer {way.layer} is the best of {layers}",
                figures=figures,
                table=table(head, rows),
            )
        ],
        facts=facts,
    )


def _name(rule: Rule, center: Center) -> str:
    return f"{rule}, {_MEANS[center]}"


def _row(each: TriedSettings) -> list[str]:
    way, scores = each.way, each.scores
    figures = (scores.error_rate, scores.precision, scores.recall, scores.f1)
    threshold = "–" if way.threshold is None else f"{way.threshold:g}"
    return [_name(way.rule, way.center), str(way.layer), threshold, *(f"{figure:.3f}" for figure in figures)]

"""Pages of steering: sentences in two languages at once, the sweep over layers and alphas, what erasing costs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import isnan
from typing import TYPE_CHECKING, Any

from isoglot.report.heatmap import color, heat_map
from isoglot.report.lines import Line, line_chart
from isoglot.report.markup import escape
from isoglot.report.page import Figure, Section, folded, page, section_body, table
from isoglot.report.steer_tables import (
    KEY,
    PAPER,
    PAPER_DEPTH,
    PAPER_PIECES,
    about_sets,
    before_note,
    best_bleu,
    judged_note,
    like_the_papers,
    readable,
    row_texts,
    runs,
    score_table,
    table_2,
    table_3,
    unshifted_bleu,
)
from isoglot.report.svg_file import svg_file
from isoglot.steer.scores import MIN_JUDGED
from isoglot.steer.shifted_pass import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.report.steer_tables import Look, Row
    from isoglot.steer.masked_decoding import MaskedLanguages
    from isoglot.steer.sweep import Figure as Score
    from isoglot.steer.sweep import Sweep
    from isoglot.steer.token_translation import Translation

MOST = 200
"""Sentences on a page; the files beside it have all."""
_STYLES: dict[Look, str] = {
    "plain": "",
    "switched": "font-weight:bold;color:#0072b2;border-bottom:2px solid #0072b2",
    "shared": "color:#0072b2",
    "neither": "font-style:italic;color:#9a5b8f",
}
LOOKS = (
    "Bold and underlined: a token that only the target language has. Blue alone: another token than before, which both "
    "languages have. Slanted: one that neither has."
)


def masked_words(found: MaskedLanguages) -> str:
    """In which language masked tokens come back without a shift, in a sentence."""
    return (
        f"With nothing shifted and one token masked in each of {found.masked:,} sentences of {found.language}, "
        f"{100 * found.other:.1f} % come back as a token that only another language has, {100 * found.neither:.1f} % "
        f"as one that none has, and {100 * found.right:.1f} % as what was there."
    )


def translation_page(
    swept: Sweep, references: Sequence[str] | None, *, origin: str, used: str = "", facts: Sequence[str] = ()
) -> str:
    """Sentences with every output below them, switched tokens colored, and the figures.

    Args:
        swept: The outputs of one layer.
        references: The sentences in the target language.
        origin: Where means and token sets come from.
        used: Where layer and alpha come from, if they were measured.
        facts: Lines for the foot.
    """
    source, target = swept.source, swept.target
    head, rows = score_table(swept)
    layer = next(iter(swept.translations)).layer
    words = [used, about_sets(swept.about_sets(), origin), before_note(swept), judged_note(swept), *key_words(head)]
    return page(
        f"From {source} to {target} by adding one vector",
        translation_finding(swept),
        [
            Section(title="What came out", words=[LOOKS], table=outputs(swept, references)),
            Section(
                title=f"In figures, at layer {layer}",
                words=[text for text in words if text],
                table=table(head, rows),
            ),
        ],
        facts=[*([swept.signature] if swept.signature else []), *facts],
    )


def translation_finding(swept: Sweep) -> str:
    """How much was switched at most, in a sentence."""
    layer, alpha = cell = most_switched(swept)
    scores = swept.scores[cell]
    rate = scores.convert_rate
    if rate is None:
        return "No token could be told to be of one language alone."
    if not scores.switched:
        return f"No token was switched to {swept.target}, at layer {layer} and no α."
    judged = ""
    if scores.precision is not None and (scores.judged or 0) >= MIN_JUDGED:
        judged = f"; {100 * scores.precision:.0f} % of the {scores.judged:,} that the dictionary can judge are right"
    return (
        f"With α = {alpha:g} at layer {layer}, {100 * rate:.0f} % of the tokens that can be told apart are "
        f"{swept.target}{judged}."
    )


def key_words(head: Sequence[str]) -> list[str]:
    """What the columns of a table of figures mean."""
    return ["; ".join(f"{name}: {KEY[name]}" for name in head if name in KEY) + "."]


def outputs(swept: Sweep, references: Sequence[str] | None, *, most: int = MOST) -> str:
    """A block for each of the first sentences, and how many more there are in ``translations.tsv``."""
    left = len(next(iter(swept.translations.values()))) - most
    more = f"<p>… and {left:,} more, in translations.tsv beside this page.</p>" if left > 0 else ""
    return blocks(swept, references, most=most) + more


def blocks(swept: Sweep, references: Sequence[str] | None, *, most: int) -> str:
    """A block for each sentence: the source, each alpha's output with its switched tokens colored, the reference."""
    translations = list(swept.translations.values())
    found = []
    for number, source in enumerate(translations[0].sources[:most]):
        lines = [(swept.source, escape(readable(source)))]
        lines += [(f"α = {one.alpha:g}", colored(one, number)) for one in translations]
        if references is not None:
            lines.append(("reference", f"<i>{escape(readable(references[number]))}</i>"))
        rows = "".join(
            f"<tr><td class='facts' style='white-space:nowrap;width:6em'>{escape(name)}</td>"
            f"<td style='overflow-wrap:anywhere'>{text}</td></tr>"
            for name, text in lines
        )
        found.append(f"<table style='margin:.8rem 0'>{rows}</table>")
    return "".join(found)


def colored(translation: Translation, sentence: int) -> str:
    """One output as HTML."""
    parts = []
    for words, look in runs(translation, sentence):
        bare = words.rstrip() if look != "plain" else words
        style = _STYLES[look]
        shown = f"<span class='{look}' style='{style}'>{escape(bare)}</span>" if style else escape(bare)
        parts.append(shown + words[len(bare) :])
    return "".join(parts)


# --- the sweep ---

EXAMPLES = 2
_MAPS: tuple[tuple[Score, str, str], ...] = (
    ("convert_rate", "convert rate", ".2f"),
    ("bleu", "BLEU-1", ".1f"),
    ("headline", "headline", ".2f"),
)
_CAPTIONS: dict[str, str] = {
    "convert_rate": "Tokens that only the target has, among those that not both languages have.",
    "bleu": "Words of the output that are in the reference, 0 to 100. Some are there without any shift: names, signs, "
    "words that both languages have.",
    "headline": "Convert rate × precision: switched and right by the dictionary.",
}
_INTERVALS = "In square brackets 95 % intervals over sentences (bootstrap)."
_SHOWN = (
    f"In round brackets what the paper has ({PAPER}, Table 2), on XNLI’s test set. Text and token sets are others "
    "here, so compare directions, not sizes."
)
_NOT_SHOWN = (
    f"The paper’s own numbers ({PAPER}) are of Google’s multilingual cased BERT, {PAPER_DEPTH} layers and "
    f"{PAPER_PIECES:,} pieces, on XNLI’s test set. This encoder or this way of counting is another, so they are not "
    "shown."
)


def about_paper(sweeps: Sequence[Sweep], depth: int) -> str:
    """Whether the paper's numbers stand in Table 2, and why not."""
    shown = any(number is not None for row in table_2(sweeps, depth) for number in row.papers)
    return _SHOWN if shown else _NOT_SHOWN


def sweep_page(
    sweeps: Sequence[Sweep], depth: int, *, sets: dict[str, Any], origin: str, facts: Sequence[str] = ()
) -> str:
    """The page of a sweep: the paper's Table 2, convert rate and BLEU-1 over alpha, examples; all cells folded away.

    Args:
        sweeps: One for each way from a language to another.
        depth: The encoder's layers.
        sets: What is to be known of the token sets, as ``TokenSets.about`` has it.
        origin: Where means and token sets come from.
        facts: Lines for the foot.
    """
    signatures = list(dict.fromkeys(one.signature for one in sweeps if one.signature))
    sections = [
        _table_2(sweeps, depth),
        *_lines(sweeps),
        Section(
            title="What came out",
            words=[LOOKS],
            table="".join(_examples(sweep, fold=number > 1) for number, sweep in enumerate(sweeps)),
        ),
        Section(
            title="Every layer and α",
            table="".join(folded(sweep_finding(sweep), _way(sweep, depth)) for sweep in sweeps),
        ),
        _table_3(sets, origin, papers=like_the_papers(sweeps[0], depth)),
    ]
    return page(
        "Where a language can be switched by adding one vector",
        " ".join(sweep_finding(sweep) for sweep in sweeps[:2]),
        sections,
        facts=[*signatures, *facts],
    )


def sweep_svg(sweep: Sweep) -> str:
    """The convert rate of one way as a picture on its own."""
    note = f"convert rate over {len(next(iter(sweep.translations.values()))):,} sentences; framed: the largest"
    return svg_file(_heat(sweep, "convert_rate", "convert rate", ".2f"), sweep_finding(sweep), note)


def sweep_finding(sweep: Sweep) -> str:
    """Where most was switched, and where most was switched rightly, in a sentence; plainly, where nothing was."""
    name = arrow(sweep)
    cell = most_switched(sweep)
    if sweep.scores[cell].convert_rate is None:
        return f"{name}: no token could be told to be of one language alone."
    if not sweep.scores[cell].switched:
        return f"{name}: no token was switched, at no layer and no α."
    text = f"{name}: most tokens are switched at layer {cell.layer}, α = {cell.alpha:g} ({_switched(sweep, cell)})"
    good = sweep.best("headline")
    if good is not None:
        where = f"layer {good[0].layer}, α = {good[0].alpha:g} (switched and right {good[1]:.2f})"
        return f"{text}, most rightly at {where}."
    return f"{text}{_not_judged(sweep)}."


def _not_judged(sweep: Sweep) -> str:
    """Why no cell can be named for being right, where a dictionary was given."""
    if not sweep.has("headline"):
        return ""
    judged = max(scores.judged or 0 for scores in sweep.scores.values())
    if judged < MIN_JUDGED:
        return (
            f"; how many are right cannot be said: the dictionary judges {judged:,} of them at most, and {MIN_JUDGED} "
            "are needed"
        )
    return "; none of those that the dictionary judges is right"


def most_switched(sweep: Sweep) -> Cell:
    """The cell with the largest share of all tokens switched.

    Not the one with the largest convert rate: where nearly all that comes out is one sign that both languages have, few
    tokens count, and their rate says little.
    """
    return max(sweep.scores, key=lambda cell: _share(sweep, cell))


def _share(sweep: Sweep, cell: Cell) -> float:
    """How many of all tokens are switched, those that both languages have among them."""
    return sweep.scores[cell].switched / max(sweep.scores[cell].tokens, 1)


def _switched(sweep: Sweep, cell: Cell) -> str:
    """Both shares of a cell."""
    return f"{100 * _share(sweep, cell):.0f} % of all, convert rate {sweep.scores[cell].convert_rate or 0:.2f}"


def sweep_words(sweep: Sweep, depth: int) -> list[str]:
    """What the paper says of shifts, asked of one way."""
    found = [*_rate_words(sweep, depth), *_bleu_words(sweep, depth)]
    others = sweep.grid("neither")
    row_at, column = divmod(int(others.argmax()), len(sweep.alphas))
    found.append(
        f"Tokens of neither language are at most {100 * others[row_at][column]:.1f} % "
        f"(layer {sweep.layers[row_at]}, α = {sweep.alphas[column]:g})."
    )
    good = sweep.best("headline")
    if good is not None and (scores := sweep.scores[good[0]]).precision is not None:
        (layer, alpha), value = good
        found.append(
            f"Switched and right, the headline, is best at layer {layer}, α = {alpha:g}, {value:.2f}: "
            f"{100 * (scores.convert_rate or 0):.0f} % switched; of the {scores.judged or 0:,} tokens that the "
            f"dictionary judges {100 * scores.precision:.0f} % are right; the distinct-type ratio is "
            f"{scores.distinct or 0:.2f}."
        )
    return [" ".join(found), judged_note(sweep)]


def _rate_words(sweep: Sweep, depth: int) -> list[str]:
    """How the convert rate grows, and where it is largest."""
    rates, late = sweep.grid("convert_rate"), max(depth - 2, 0)
    rising = sorted(range(len(sweep.alphas)), key=lambda at: sweep.alphas[at])
    found = []
    if len(rising) > 1 and sweep.best("convert_rate") is not None:
        up = sum(all(row[a] <= row[b] for a, b in pairwise(rising)) for row in rates)
        found.append(f"The convert rate rises with α, or stays, in {up} of {len(sweep.layers)} layers.")
    if late in sweep.layers:
        row = rates[sweep.layers.index(late)]
        values = ", ".join(f"{row[at]:.2f} at α = {sweep.alphas[at]:g}" for at in rising if not isnan(row[at]))
        found.append(f"At layer {late} of {depth} it is {values}.")
    largest = sweep.best("convert_rate")
    if largest is not None and largest[0] != most_switched(sweep):
        cell = largest[0]
        found.append(
            f"The convert rate, which leaves out tokens that both have, is largest at layer {cell.layer}, "
            f"α = {cell.alpha:g} ({_switched(sweep, cell)})."
        )
    return found


def _bleu_words(sweep: Sweep, depth: int) -> list[str]:
    best = best_bleu(sweep)
    if best is None or sweep.source_bleu is None:
        return []
    (layer, alpha, value), before = best, unshifted_bleu(sweep, depth)
    low, high = sweep.interval("bleu", layer, alpha) or (value, value)
    without = "" if before is None else f", what the model decodes without a shift {before:.1f}"
    text = f"Above the embeddings, BLEU-1 is best at layer {layer}, α = {alpha:g}: {value:.1f} [{low:.1f}, {high:.1f}]"
    return [f"{text}; the unchanged source has {sweep.source_bleu.score:.1f}{without}."]


def arrow(sweep: Sweep) -> str:
    """A way in a few signs."""
    return f"{sweep.source} → {sweep.target}"


def _way(sweep: Sweep, depth: int) -> str:
    """Heat maps of every figure of a way, and what there is to say of them."""
    figures = [
        Figure(
            drawing=_heat(sweep, score, name, form),
            caption=f"{arrow(sweep)}. {_CAPTIONS[score]}{' Framed: the largest.' if sweep.best(score) else ''}",
        )
        for score, name, form in _MAPS
        if sweep.has(score)
    ]
    return section_body(Section(title="", words=[text for text in sweep_words(sweep, depth) if text], figures=figures))


def _lines(sweeps: Sequence[Sweep]) -> list[Section]:
    """Figures over alpha with a line for each layer, as in the paper's Figures 7 and 8; a small one for each way."""
    titles: tuple[tuple[Score, str, str], ...] = (
        ("convert_rate", "How much is switched: convert rate by α and layer", "convert rate"),
        ("bleu", "How much is right: BLEU-1 by α and layer", "BLEU-1"),
    )
    found = []
    for score, title, up in titles:
        ways = [sweep for sweep in sweeps if sweep.has(score) and len(sweep.alphas) > 1]
        if ways:
            drawn = "".join(
                f"<figure>{_chart(sweep, score, up)}<figcaption>{escape(arrow(sweep))}</figcaption></figure>"
                for sweep in ways
            )
            words = "A line for each layer, the darker the higher."
            if score == "bleu":
                words += " The dashed level is the unchanged source."
            found.append(Section(title=title, words=[words], table=f"<div class='side'>{drawn}</div>"))
    return found


def _chart(sweep: Sweep, score: Score, up: str) -> str:
    grid = sweep.grid(score)
    order = sorted(range(len(sweep.alphas)), key=lambda at: sweep.alphas[at])
    lines = [
        Line(
            name=f"layer {layer}",
            points=[(sweep.alphas[at], float(row[at])) for at in order if not isnan(row[at])],
            color=color(0.3 + 0.7 * (number + 1) / len(sweep.layers), 0.0, 1.0),
        )
        for number, (layer, row) in enumerate(zip(sweep.layers, grid, strict=True))
    ]
    floor = sweep.source_bleu.score if score == "bleu" and sweep.source_bleu is not None else None
    return line_chart(lines, across="α", up=up, floor_at=floor, floor_name="source", width=420, height=260)


def _heat(sweep: Sweep, score: Score, name: str, form: str) -> str:
    grid, best = sweep.grid(score), sweep.best(score)
    order = range(len(sweep.layers) - 1, -1, -1)  # layer 0 at the foot, as models are drawn
    marked = []
    if best is not None:
        row = len(sweep.layers) - 1 - sweep.layers.index(best[0].layer)
        marked = [(row, sweep.alphas.index(best[0].alpha))]
    known = [float(value) for value in grid.ravel() if not isnan(value)]
    return heat_map(
        [str(sweep.layers[row]) for row in order],
        [f"{alpha:g}" for alpha in sweep.alphas],
        [[None if isnan(value) else float(value) for value in grid[row]] for row in order],
        across="α",
        up="layer of the shift",
        low=0.0,
        high=1.0 if score == "convert_rate" else max([1e-9, *known]),
        form=form,
        marked=marked,
        scale=name,
    )


def _table_2(sweeps: Sequence[Sweep], depth: int) -> Section:
    rows = table_2(sweeps, depth)
    return Section(
        title="BLEU-1 and convert rates in the layout of the second paper’s Table 2",
        words=(f"{_INTERVALS} {about_paper(sweeps, depth)}",),
        table=_beside(rows, [arrow(sweep) for sweep in sweeps]),
    )


def _table_3(sets: dict[str, Any], origin: str, *, papers: bool) -> Section:
    beside = f" In brackets what the paper has ({PAPER}, Table 3)." if papers else ""
    return Section(
        title="Which tokens are whose: the layout of the second paper’s Table 3",
        words=(f"{about_sets(sets, origin)}{beside}",),
        table=_beside(table_3(sets, papers=papers), list(sets["sizes"])),
    )


def _beside(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Our numbers with the paper's in brackets."""
    return table(["", *columns], [[row.name, *row_texts(row)] for row in rows])


def example_cell(sweep: Sweep) -> Cell:
    """The cell to show examples of: the best headline among cells with enough judged tokens, else the best BLEU-1.

    Where neither is known, that in which most is switched.
    """
    best = sweep.best("headline")
    if best is not None:
        return best[0]
    bleu = best_bleu(sweep)
    return most_switched(sweep) if bleu is None else Cell(bleu[0], bleu[1])


def _examples(sweep: Sweep, *, fold: bool) -> str:
    """The first sentences at one cell: the layout of the paper's Table 1, with the reference."""
    cell = example_cell(sweep)
    one = replace(at_layer(sweep, cell.layer), translations={cell: sweep.translations[cell]})
    judged = sweep.scores[cell].judged
    why = "" if not judged or judged < MIN_JUDGED else f"; {judged:,} switched tokens judged, {MIN_JUDGED} needed"
    total = len(one.translations[cell])
    title = f"{arrow(sweep)}, layer {cell.layer}: the first {min(EXAMPLES, total)} of {total:,} sentences{why}"
    shown = blocks(one, sweep.references, most=EXAMPLES)
    return folded(title, shown) if fold else f"<h3>{escape(title)}</h3>{shown}"


def at_layer(sweep: Sweep, layer: int) -> Sweep:
    """The part of a sweep that is one layer's."""
    cells = [cell for cell in sweep.scores if cell.layer == layer]
    return replace(
        sweep,
        layers=(layer,),
        scores={cell: sweep.scores[cell] for cell in cells},
        translations={cell: sweep.translations[cell] for cell in cells},
    )

"""Pages of steering: sentences in two languages at once, the sweep over layers and alphas, what erasing costs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.table import Column, Table
from isoglot.report.figures import Figure, Line, heat_map, lines, scatter, tokens_figure
from isoglot.report.page import Folded, Page, Section, Side, escape, markup
from isoglot.report.steer_tables import (
    KEY,
    PAPER,
    PAPER_DEPTH,
    PAPER_PIECES,
    about_sets,
    before_note,
    best_bleu,
    cell_rows,
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
from isoglot.steer.erasers.trade_off import NOTHING
from isoglot.steer.scores import MIN_JUDGED
from isoglot.steer.shifted_decoding import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from isoglot.report.page import Block
    from isoglot.report.steer_tables import Row
    from isoglot.steer.erasers.trade_off import ErasureScore, TradeOff
    from isoglot.steer.masked_decoding import MaskedLanguages
    from isoglot.steer.sweep import Figure as Score
    from isoglot.steer.sweep import Sweep
    from isoglot.steer.token_translation import Translation

MOST = 200
"""Sentences on a page; the files beside it have all."""
_DRAWN = 12  # sentences of a figure
LOOKS = (
    "Bold and underlined: a token that only the target language has. Colored alone: a token that differs from the "
    "input and that both languages have. Italic: one that neither has."
)


def masked_words(found: MaskedLanguages) -> str:
    """In which language masked tokens come back without a shift, in a sentence."""
    return (
        f"Without a shift and with one token masked in each of {found.masked:,} sentences of {found.language}, "
        f"{100 * found.other:.1f} % are predicted as a token that only another language has, "
        f"{100 * found.neither:.1f} % as one that none has, and {100 * found.right:.1f} % as the original token."
    )


# --- one layer ---


def translation_page(
    swept: Sweep, references: Sequence[str] | None, *, origin: str, used: str = "", facts: Sequence[str] = ()
) -> Page:
    """Sentences with every output below them, switched tokens colored, and the scores.

    Args:
        swept: The outputs of one layer.
        references: The sentences in the target language.
        origin: Where means and token sets come from.
        used: Where layer and alpha come from, if they were measured.
        facts: Lines for the foot.
    """
    head, rows = score_table(swept)
    layer = next(iter(swept.translations)).layer
    words = [used, about_sets(swept.about_sets(), origin), before_note(swept), judged_note(swept), *key_words(head)]
    total = len(next(iter(swept.translations.values())))
    more = f"… and {total - MOST:,} more, in translations.tsv beside this page." if total > MOST else None
    scores = Table.from_cells(head, rows, caption=f"Scores at layer {layer}")
    return Page(
        title=f"From {swept.source} to {swept.target} by adding one vector",
        lead=translation_finding(swept),
        sections=[
            Section(title="Outputs", body=[LOOKS, outputs(swept, references, most=MOST), more]),
            Section(title=f"Scores at layer {layer}", body=[*(text for text in words if text), scores]),
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


def outputs(swept: Sweep, references: Sequence[str] | None, *, most: int) -> Markup:
    """A block for each sentence: the source, each alpha's output with its switched tokens colored, the reference."""
    translations = list(swept.translations.values())
    found = []
    for number, source in enumerate(translations[0].sources[:most]):
        rows = [("", swept.source, escape(readable(source)))]
        rows += [("", f"α = {one.alpha:g}", colored(one, number)) for one in translations]
        if references is not None:
            rows.append(("reference", "reference", escape(readable(references[number]))))
        cells = "".join(f"<tr class='{kind}'><td>{escape(name)}</td><td>{text}</td></tr>" for kind, name, text in rows)
        found.append(f"<div class='table outputs'><table><tbody>{cells}</tbody></table></div>")
    return markup("".join(found))


def colored(translation: Translation, sentence: int) -> str:
    """One output as HTML."""
    parts = []
    for words, look in runs(translation, sentence):
        bare = words.rstrip() if look != "plain" else words
        shown = escape(bare) if look == "plain" else f"<span class='{look}'>{escape(bare)}</span>"
        parts.append(shown + words[len(bare) :])
    return "".join(parts)


def one_translation_page(one: Translation) -> Page:
    """A translation on its own, for notebooks."""
    rows = [
        {"source": readable(source), "output": readable(text)}
        for source, text in zip(one.sources, one.texts, strict=True)
    ]
    columns = [Column("source", one.source), Column("output", one.target)]
    cells = "".join(
        f"<tr><td>{escape(one.source)}</td><td>{escape(readable(source))}</td></tr>"
        f"<tr><td>{escape(one.target)}</td><td>{colored(one, number)}</td></tr>"
        for number, source in enumerate(one.sources[:MOST])
    )
    shown = markup(f"<div class='table outputs'><table><tbody>{cells}</tbody></table></div>")
    kinds = {"source": f"of {one.source}", "target": f"of {one.target}", "both": "of both", "neither": "of neither"}
    drawn = [
        [(token.given, token.made, kinds.get(token.belongs, "token")) for token in one.tokens(number)]
        for number in range(min(_DRAWN, len(one.sources)))
    ]
    title = f"{one.source} → {one.target}, layer {one.layer}, α = {one.alpha:g}"
    figure = Folded(
        "Token by token", [tokens_figure(drawn, name="tokens", title=title, caption="Below: what was there.")]
    )
    table = Folded("As a table", [Table.from_rows(rows, columns, caption="Outputs")])
    return Page(title=title, lead="", sections=[Section(title="", body=[shown, LOOKS, figure, table])])


# --- the sweep ---

EXAMPLES = 2
_MAPS: tuple[tuple[Score, str, str], ...] = (
    ("convert_rate", "convert rate", ".2f"),
    ("bleu", "BLEU-1", ".1f"),
    ("headline", "headline", ".3f"),
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
    f"{PAPER_PIECES:,} subwords, on XNLI’s test set. This encoder, or what BLEU-1 counts here, differs, so they are "
    "not shown."
)


def about_paper(sweeps: Sequence[Sweep], depth: int) -> str:
    """Whether the paper's numbers stand in Table 2, and why not."""
    shown = any(number is not None for row in table_2(sweeps, depth) for number in row.papers)
    return _SHOWN if shown else _NOT_SHOWN


def sweep_page(
    sweeps: Sequence[Sweep], depth: int, *, sets: dict[str, Any], origin: str, facts: Sequence[str] = ()
) -> Page:
    """The page of a sweep: BLEU-1 and convert rate over alpha, the paper's Table 2, examples; all cells folded.

    Args:
        sweeps: One for each direction.
        depth: The encoder's layers.
        sets: Sizes of the token sets, as ``TokenSets.about`` has them.
        origin: Where means and token sets come from.
        facts: Lines for the foot.
    """
    signatures = list(dict.fromkeys(one.signature for one in sweeps if one.signature))
    papers = like_the_papers(sweeps[0], depth)
    beside = f" In brackets what the paper has ({PAPER}, Table 3)." if papers else ""
    ways = [arrow(sweep) for sweep in sweeps]
    examples: list[Block] = [LOOKS]
    for number, sweep in enumerate(sweeps):
        title, shown = _examples(sweep)
        examples.append(Folded(title, [shown]) if number > 1 else markup(f"<h3>{escape(title)}</h3>{shown}"))
    sections = [
        *_over_alpha(sweeps),
        Section(
            title="BLEU-1 and convert rates in the layout of the second paper’s Table 2",
            body=[f"{_INTERVALS} {about_paper(sweeps, depth)}", _beside(table_2(sweeps, depth), ways, "Table 2")],
        ),
        Section(title="Outputs", body=examples),
        Section(
            title="Every layer and α",
            body=[Folded(sweep_finding(sweep), _every_cell(sweep, depth)) for sweep in sweeps],
        ),
        Section(
            title="Which tokens are whose: the layout of the second paper’s Table 3",
            body=[
                f"{about_sets(sets, origin)}{beside}",
                _beside(table_3(sets, papers=papers), list(sets["sizes"]), "Table 3"),
            ],
        ),
    ]
    return Page(
        title="Where a language can be switched by adding one vector",
        lead=" ".join(sweep_finding(sweep) for sweep in sweeps[:2]),
        sections=sections,
        facts=[*signatures, *facts],
    )


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


def one_sweep_page(sweep: Sweep) -> Page:
    """A sweep of one direction on its own, for notebooks."""
    cells = Table.from_rows(cell_rows([sweep]), caption="All cells")
    body = [*_every_cell(sweep, max(sweep.layers)), Folded("All cells", [cells])]
    sections = [*_over_alpha([sweep]), Section(title="Every layer and α", body=body)]
    return Page(title=arrow(sweep), lead=sweep_finding(sweep), sections=sections)


def _every_cell(sweep: Sweep, depth: int) -> list[Block]:
    """Heat maps of every score of a direction, and a summary."""
    maps = [sweep_figure(sweep, score, name, form) for score, name, form in _MAPS if sweep.has(score)]
    return [*(text for text in sweep_words(sweep, depth) if text), Side(maps)]


def _over_alpha(sweeps: Sequence[Sweep]) -> list[Section]:
    """Scores over alpha with a line for each layer, as in the paper's Figures 8 and 7; a figure for each direction."""
    titles: tuple[tuple[Score, str, str], ...] = (
        ("bleu", "How much is right: BLEU-1 by α and layer (the paper’s Figure 8)", "BLEU-1"),
        ("convert_rate", "How much is switched: convert rate by α and layer (the paper’s Figure 7)", "convert rate"),
    )
    found = []
    for score, title, up in titles:
        ways = [sweep for sweep in sweeps if sweep.has(score) and len(sweep.alphas) > 1]
        if ways:
            drawn = [_alpha_lines(sweep, score, up) for sweep in ways]
            words = "A line for each layer: the higher, the more it stands out from the ground."
            found.append(Section(title=title, body=[words, Side(drawn) if len(drawn) > 1 else drawn[0]]))
    return found


def _alpha_lines(sweep: Sweep, score: Score, up: str) -> Figure:
    grid = sweep.grid(score)
    order = sorted(range(len(sweep.alphas)), key=lambda at: sweep.alphas[at])
    drawn = []
    for layer, row in zip(sweep.layers, grid, strict=True):
        points = [(sweep.alphas[at], float(row[at])) for at in order if not isnan(row[at])]
        drawn.append(Line(name=f"layer {layer}", points=points))
    level = {"source, unchanged": sweep.source_bleu.score} if score == "bleu" and sweep.source_bleu else {}
    best = sweep.best(score)
    where = "" if best is None else f": highest at layer {best[0].layer}, α = {best[0].alpha:g} ({best[1]:.3g})"
    return lines(
        drawn,
        name=f"{score.replace('_', '-')}-{sweep.source}-{sweep.target}",
        title=f"{arrow(sweep)}, {up}{where}",
        caption=f"{arrow(sweep)}{where}.",
        x="α, factor of the shift",
        y=up,
        levels=level,
        ordered=True,
    )


def sweep_figure(sweep: Sweep, score: Score = "convert_rate", name: str = "convert rate", form: str = ".2f") -> Figure:
    """A score of one direction in every layer at every alpha."""
    grid, best = sweep.grid(score), sweep.best(score)
    order = range(len(sweep.layers) - 1, -1, -1)  # layer 0 at the foot, as models are drawn
    marked = []
    if best is not None:
        marked = [(len(sweep.layers) - 1 - sweep.layers.index(best[0].layer), sweep.alphas.index(best[0].alpha))]
    known = [float(value) for value in grid.ravel() if not isnan(value)]
    return heat_map(
        [str(sweep.layers[row]) for row in order],
        [f"{alpha:g}" for alpha in sweep.alphas],
        [[None if isnan(value) else float(value) for value in grid[row]] for row in order],
        name=f"grid-{score.replace('_', '-')}-{sweep.source}-{sweep.target}",
        title=sweep_finding(sweep).rstrip("."),
        x="α",
        y="layer of the shift",
        limits=(0.0, 1.0 if score == "convert_rate" else max([1e-9, *known])),
        form=form,
        marked=marked,
        scale=name,
        caption=f"{arrow(sweep)}. {_CAPTIONS[score]}{' Framed: the highest.' if best else ''}",
    )


def _beside(rows: Sequence[Row], columns: Sequence[str], caption: str) -> Table:
    """Our numbers with the paper's in brackets."""
    return Table.from_cells(["", *columns], [[row.name, *row_texts(row)] for row in rows], caption=caption)


def example_cell(sweep: Sweep) -> Cell:
    """The cell to show examples of: the best headline among cells with enough judged tokens, else the best BLEU-1.

    Where neither is known, that in which most is switched.
    """
    best = sweep.best("headline")
    if best is not None:
        return best[0]
    bleu = best_bleu(sweep)
    return most_switched(sweep) if bleu is None else Cell(bleu[0], bleu[1])


def _examples(sweep: Sweep) -> tuple[str, Markup]:
    """The first sentences at one cell, with a title: the layout of the paper's Table 1, with the reference."""
    cell = example_cell(sweep)
    one = replace(at_layer(sweep, cell.layer), translations={cell: sweep.translations[cell]})
    judged = sweep.scores[cell].judged
    why = "" if not judged or judged < MIN_JUDGED else f"; {judged:,} switched tokens judged, {MIN_JUDGED} needed"
    total = len(one.translations[cell])
    title = f"{arrow(sweep)}, layer {cell.layer}: the first {min(EXAMPLES, total)} of {total:,} sentences{why}"
    return title, outputs(one, sweep.references, most=EXAMPLES)


def at_layer(sweep: Sweep, layer: int) -> Sweep:
    """The part of a sweep that is one layer's."""
    cells = [cell for cell in sweep.scores if cell.layer == layer]
    return replace(
        sweep,
        layers=(layer,),
        scores={cell: sweep.scores[cell] for cell in cells},
        translations={cell: sweep.translations[cell] for cell in cells},
    )


# --- erasing ---

_MOST_LINES = 7
HEAD = ("", "linear probe, %", "with squares, %", "translations found, %", "control", "harmonic", "change")
_ABOUT = (
    "Linear probe: accuracy at identifying the language of held-out sentences; at chance, no language is left that it "
    "could use. With squares: the same with squared coordinates as further features. Translations found: P@1 by cosine "
    "among all sentences, mean over pairs of languages and directions. Control: 1 if the probe is at chance, 0 if it "
    "is always right. Harmonic: harmonic mean of control and translations found. Change: mean squared change of a "
    "sentence, relative to the variance of the sentences."
)


def erase_page(found: Sequence[TradeOff], shown: TradeOff, *, saved: str, facts: Sequence[str] = ()) -> Page:
    """The page of erasing: what each way to remove the language costs, in one layer, and layer by layer.

    Args:
        found: The trade-off in every layer.
        shown: That of the layer to show in full.
        saved: What was saved, in a sentence.
        facts: Lines for the foot.
    """
    learned = f"Each is fitted on {shown.folds - 1} of {shown.folds} parts of the sentences and tested on the other."
    sections = [
        Section(title=f"Layer {shown.layer}: language against translations", body=[saved, erase_figure(shown)]),
        Section(title="All scores", body=[_ABOUT, learned, _erase_table(shown)]),
    ]
    if len(found) > 1:
        sections.append(_erase_layers(found))
    return Page(title="What removing the language costs", lead=erase_finding(shown), sections=sections, facts=facts)


def erase_figure(shown: TradeOff) -> Figure:
    """Language probe against translations found, for each eraser and shift."""
    best = shown.best
    return scatter(
        {way_name(row): (100 * row.probe, 100 * row.retrieval) for row in shown.rows},
        name="erase",
        title=f"{best.name}: language probe {_percent(best.probe)}, translations found {_percent(best.retrieval)}",
        caption="Lines start at “as it is”. Higher: more translations found; further left: less language. "
        f"{', '.join(shown.languages)}, {shown.sentences:,} parallel sentences, layer {shown.layer}. The shift brings "
        f"every language to {shown.pivot}.",
        x="accuracy of a linear language probe, %",
        y="translations found (P@1), %",
        from_first=True,
        level=("chance", 100 * shown.chance),
    )


def erase_finding(shown: TradeOff) -> str:
    """What the best way does to the probe and to retrieval, in a sentence or two."""
    before, best = shown.before, shown.best
    if best.name == before.name:
        return f"In layer {shown.layer}, no eraser or shift is better than leaving the vectors as they are."
    text = (
        f"In layer {shown.layer}, {best.name} brings the language probe from {_percent(before.probe)} to "
        f"{_percent(best.probe)} (chance is {_percent(shown.chance)}), and translations found go from "
        f"{_percent(before.retrieval)} to {_percent(best.retrieval)}."
    )
    if best.spread - shown.chance > 0.1:
        text += f" With squared coordinates, a probe still identifies the language of {_percent(best.spread)}."
    return text


def figures(row: ErasureScore) -> list[str]:
    """One way as a line of a table."""
    return [
        way_name(row),
        *(f"{100 * value:.1f}" for value in (row.probe, row.spread, row.retrieval)),
        *(f"{value:.3f}" for value in (row.control, row.harmonic, row.change)),
    ]


def way_name(row: ErasureScore) -> str:
    """A way as it is called where it is shown."""
    return "as it is" if row.name == NOTHING else row.name


def _erase_table(shown: TradeOff) -> Table:
    keys = ("way", "probe", "spread", "retrieval", "control", "harmonic", "change")
    rows = [{"way": way_name(row)} | {key: getattr(row, key) for key in keys[1:]} for row in shown.rows]
    best: dict[str, Literal["min", "max"]] = {
        "probe": "min",
        "spread": "min",
        "retrieval": "max",
        "control": "max",
        "harmonic": "max",
    }
    columns = [Column("way", "")]
    for key, title in zip(keys[1:], HEAD[1:], strict=True):
        look: dict[str, Any] = {"scale": 100, "format": ".1f"} if title.endswith("%") else {"format": ".3f"}
        columns.append(Column(key, title, best=best.get(key), **look))
    return Table.from_rows(rows, columns, caption=f"Erasers in layer {shown.layer}")


def _erase_layers(found: Sequence[TradeOff]) -> Section:
    names = [row.name for row in found[0].rows]
    best = max(found, key=lambda each: each.best.rank)
    ranked = sorted(names, key=lambda name: -max(each.of(name).harmonic for each in found))[:_MOST_LINES]
    title = f"Layer by layer: best in layer {best.layer}, by {best.best.name}"
    caption = "1: no language left and every translation found."
    if len(names) > len(ranked):
        low = (way_name(found[0].of(name)) for name in names if name not in ranked)
        caption += f" Not drawn, because they stay lowest: {', '.join(low)}."
    figure = lines(
        [
            Line(
                name=way_name(found[0].of(name)),
                points=[(float(each.layer or 0), each.of(name).harmonic) for each in found],
            )
            for name in names
            if name in ranked
        ],
        name="erase-layers",
        title=title,
        caption=caption,
        x="layer",
        y="harmonic mean of control and P@1",
        whole=True,
    )
    rows = [
        {
            "layer": each.layer,
            "best": way_name(each.best),
            "probe": each.best.probe,
            "spread": each.best.spread,
            "retrieval": each.best.retrieval,
            "before": each.before.retrieval,
        }
        for each in found
    ]
    percent: dict[str, Any] = {"unit": "%", "scale": 100, "format": ".1f"}
    columns = [
        Column("layer", align="left"),
        Column("best", "best eraser"),
        Column("probe", "linear probe", **percent, best="min"),
        Column("spread", "with squares", **percent, best="min"),
        Column("retrieval", "translations found", **percent, best="max"),
        Column("before", "before", **percent),
    ]
    return Section(title=title, body=[figure, Table.from_rows(rows, columns, caption="The best eraser of each layer")])


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"

"""The page of a check-up: what to know in plain words, then every layer, every pair and the tokenizer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isoglot.core.language_codes import language_name
from isoglot.core.progress import counted
from isoglot.diagnose.findings import all_findings, percent
from isoglot.report.heatmap import heat_map
from isoglot.report.lines import Line, line_chart
from isoglot.report.page import Figure, Section, page, table
from isoglot.retrieve.simultaneous_intervals import MARGIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoglot.compare.cka_inference import CkaEstimate
    from isoglot.diagnose.findings import Tone, Topic
    from isoglot.diagnose.result import Checkup, LayerFacts, PairLayer
    from isoglot.diagnose.retrieval import SearchVariant
    from isoglot.retrieve.metrics import Interval

WAY_NAMES: dict[SearchVariant, str] = {
    "raw": "as it is",
    "centered": "means removed",
    "csls": "CSLS",
    "centered-csls": "both",
    "trimmed": "trimmed",
    "mapped": "mapped",
}
_WAY_WORDS: dict[SearchVariant, str] = {
    "raw": "vectors as they are",
    "centered": "each language’s mean removed",
    "csls": "by CSLS",
    "centered-csls": "each language’s mean removed and by CSLS",
    "trimmed": "without its means and strongest directions",
    "mapped": "mapped by a rotation",
}
TOPICS: dict[Topic, str] = {
    "verdict": "In short",
    "layer": "Layer",
    "languages": "Languages",
    "gain": "What would help",
    "tokenizer": "Tokenizer",
    "space": "The space",
}
_ABOUT_CKA = (
    "CKA: the debiased form, the mean over pairs. Shuffled: what it reaches once in twenty times where sentences are "
    "paired at random. Above: in how many pairs it is more than that. Probe, spread: how often the language is told, "
    "as above. Apart: the distance between the means of two languages, in units of the spread within one."
)
_ABOUT_SHAPE = (
    "Cosine: of two unrelated sentences of one language, on average. Top: the share of a language’s variance in its "
    "first principal component. Hubs: the skewness of how often a sentence is among the ten nearest by cosine; 0 where "
    "all are alike, above 1 where a few are near to everything."
)
SIGNS: dict[Tone, str] = {"good": "✓", "plain": "·", "warn": "!", "bad": "✗"}


def diagnosis_page(checkup: Checkup, *, facts: Sequence[str] = ()) -> str:
    """The page.

    Args:
        checkup: What was found.
        facts: Lines for its foot.
    """
    lead, *_ = all_findings(checkup)
    return page(
        f"Check-up of {_short(checkup.model)}",
        lead.text,
        [
            _in_words(checkup),
            _found(checkup),
            _pairs(checkup),
            _tokens(checkup),
            _probes(checkup),
            _space(checkup),
            _method(checkup),
        ],
        facts=[*checkup.remarks, *facts],
    )


def _in_words(checkup: Checkup) -> Section:
    _, *rest = all_findings(checkup)
    rows = []
    for number, each in enumerate(rest):
        new = number == 0 or rest[number - 1].topic != each.topic
        rows.append([TOPICS[each.topic] if new else "", SIGNS[each.tone], each.text])
    return Section(
        title="What to know", table=table(["", "", "numbers in brackets are 95 % intervals"], rows, numbers_from=9)
    )


def top_words(checkup: Checkup) -> str:
    """The highest of all figures that are shown."""
    top = checkup.best.top
    where = f"Layer {top.layer}, {_WAY_WORDS[top.way]}, finds most" if top.among > 1 else "Found"
    return f"{where}: {100 * top.found.value:.1f} %"


def _chosen(checkup: Checkup) -> str:
    """How the highest figure and the best layer were chosen, and what they come to on other sentences."""
    top, best = checkup.best.top, checkup.best
    text = f"The highest of {top.among} figures: {percent(top.found)}, with an interval that allows for the choice"
    if top.held_out is not None:
        text += f"; chosen on half of the sentences and scored on the others, both ways: {percent(top.held_out)}"
    chosen = " chosen and scored in the same two ways," if best.chosen_apart else ""
    way = _WAY_WORDS[best.way]
    return f"{text}. By cosine without a map, layer {best.layer}, {way},{chosen} finds {percent(best.found)}."


def _found(checkup: Checkup) -> Section:
    lines = [
        Line(name=name, points=[(each.layer, 100 * each.found[way].value) for each in checkup.layers])
        for way, name in WAY_NAMES.items()
    ]
    figures = [
        Figure(
            drawing=line_chart(
                lines, across="layer", up="translations found (P@1), %", floor_at=100 * checkup.chance, whole=True
            ),
            caption="Share of sentences whose nearest neighbor in the other language is their translation: the mean "
            f"of both directions and of {counted(len(checkup.pairs), 'pairs')} of languages. Trimmed: means "
            "removed, and the two strongest directions. Mapped: one language turned "
            "onto the other by a rotation learned from other sentences.",
        )
    ]
    return Section(
        title=top_words(checkup),
        words=(_chosen(checkup),),
        figures=figures if len(checkup.layers) > 1 else (),
        table=table(
            ["layer", *(f"{name}, %" for name in WAY_NAMES.values())],
            [
                [_layer_name(each, checkup), *(_figure(each.found[way], 100, ".1f") for way in WAY_NAMES)]
                for each in checkup.layers
            ],
        ),
    )


def _pairs(checkup: Checkup) -> Section:
    best = checkup.best
    highest, lowest = (
        choose(checkup.pairs, key=lambda pair: pair.at(best.layer).found[best.way].value) for choose in (max, min)
    )
    names = [" and ".join(map(language_name, (pair.source, pair.target))) for pair in (highest, lowest)]
    values = [100 * pair.at(best.layer).found[best.way].value for pair in (highest, lowest)]
    title = (
        f"Nearest: {names[0]}, {values[0]:.1f} %; farthest: {names[1]}, {values[1]:.1f} %"
        if len(checkup.pairs) > 1
        else f"{names[0]}: {values[0]:.1f} %"
    )
    return Section(
        title=title,
        figures=(
            Figure(
                drawing=_matrix(checkup, lambda at: 100 * at.found[best.way].value, "P@1, %", 100.0, ".1f"),
                caption=f"Translations found in layer {best.layer}, {_WAY_WORDS[best.way]}: both directions. "
                "Hatched: a language and itself.",
            ),
            Figure(
                drawing=_matrix(checkup, lambda at: 100 * at.found["mapped"].value, "P@1, %", 100.0, ".1f"),
                caption="The same after a rotation that was learned from other sentences (cross-validated).",
            ),
            Figure(
                drawing=_matrix(checkup, lambda at: None if at.cka is None else at.cka.value, "CKA", 1.0, "z.2f"),
                caption=f"Debiased CKA in layer {best.layer}: do two languages find the same sentences alike? 1 where "
                "one is the other turned; 0 where sentences are paired at random.",
            ),
        ),
        table=_pair_table(checkup),
    )


def _pair_table(checkup: Checkup) -> str:
    """The pairs in the best layer, the best first."""
    best = checkup.best
    rows = []
    for pair in sorted(checkup.pairs, key=lambda pair: -pair.at(best.layer).found[best.way].value):
        at = pair.at(best.layer)
        cka = ["–", "–"] if at.cka is None else [_figure(at.cka, 1, "z.2f"), f"{at.cka.null_high:z.3f}"]
        names = f"{language_name(pair.source)}–{language_name(pair.target)}"
        found = [_figure(at.found[way], 100, ".1f") for way in (best.way, "mapped")]
        rows.append([names, *found, *cka, f"{at.distance:.2f}"])
    return table(["pair", "found, %", "mapped, %", "CKA", "shuffled", "means apart"], rows)


def _matrix(checkup: Checkup, value: Callable[[PairLayer], float | None], scale: str, high: float, form: str) -> str:
    codes = [each.code for each in checkup.languages]
    cells: list[list[float | None]] = [[None] * len(codes) for _ in codes]
    for pair in checkup.pairs:
        first, second = codes.index(pair.source), codes.index(pair.target)
        cells[first][second] = cells[second][first] = value(pair.at(checkup.best.layer))
    names = [language_name(code) for code in codes]
    return heat_map(names, names, cells, across="language", up="language", low=0.0, high=high, form=form, scale=scale)


def _tokens(checkup: Checkup) -> Section:
    fewest = min(each.tokens.tokens_per_sentence for each in checkup.languages)
    worst = max(checkup.languages, key=lambda each: each.tokens.tokens_per_word)
    least = min(checkup.languages, key=lambda each: each.tokens.tokens_per_word)
    rows = [
        [
            language_name(each.code),
            f"{each.tokens.tokens_per_word:.2f}",
            f"{100 * each.tokens.unknown_rate:.1f} %",
            f"{each.tokens.tokens_per_sentence:.1f}",
            f"{each.tokens.tokens_per_sentence / fewest:.1f} ×",
            f"{each.tokens.characters_per_token:.2f}",
            f"{each.tokens.bytes_per_token:.2f}",
            f"{100 * each.tokens.spelled_share:.0f} %",
        ]
        for each in checkup.languages
    ]
    head = [
        "language",
        "tokens/word",
        "unknown",
        "tokens/sentence",
        "× least",
        "letters/token",
        "bytes/token",
        "1 letter",
    ]
    return Section(
        title=f"Tokens a word: {worst.tokens.tokens_per_word:.1f} in {language_name(worst.code)}, "
        f"{least.tokens.tokens_per_word:.1f} in {language_name(least.code)}",
        words=(
            "The sentences say the same in every language, so one that needs more tokens says less in the same window.",
        ),
        table=table(head, rows),
    )


def _probes(checkup: Checkup) -> Section:
    here = checkup.at(checkup.best.layer)
    chance = here.probe.chance
    lines = [
        Line(
            name=name,
            points=[(each.layer, 100 * getattr(each.probe, kind).value) for each in checkup.layers],
        )
        for kind, name in (("linear", "as it is"), ("spread", "by its spread"), ("centered", "means removed: chance"))
    ]
    figure = Figure(
        drawing=line_chart(
            lines, across="layer", up="language told, %", floor_at=100 * chance, floor_name="", whole=True
        ),
        caption=f"How often a linear probe tells a sentence’s language, on sentences it was not fitted on (chance "
        f"{100 * chance:.2g} %). With the languages’ means removed no linear probe can do better than chance; what is "
        "left of a language then is how its sentences are spread, which a probe of squares sees.",
    )
    return Section(
        title=f"A probe tells the language of {100 * here.probe.linear.value:.1f} % of sentences in layer {here.layer}",
        figures=(figure,) if len(checkup.layers) > 1 else (),
    )


def _space(checkup: Checkup) -> Section:
    rows = [
        [
            _layer_name(each, checkup),
            "–" if each.cka is None else f"{each.cka:z.3f}",
            "–" if each.cka_null is None else f"{each.cka_null:z.3f}",
            f"{each.cka_above} of {len(checkup.pairs)}",
            f"{100 * each.probe.linear.value:.1f} %",
            f"{100 * each.probe.spread.value:.1f} %",
            f"{each.distance:.2f}",
            f"{each.mean_cosine:.2f}",
            f"{100 * each.top_share:.0f} %",
            f"{each.hubness:.1f}",
            f"{each.hubness_csls:.1f}",
        ]
        for each in checkup.layers
    ]
    head = ["layer", "CKA", "shuffled", "above", "probe", "spread", "apart", "cosine", "top", "hubs", "by CSLS"]
    return Section(
        title="How the space is built, layer by layer",
        words=(
            _ABOUT_CKA,
            _ABOUT_SHAPE,
        ),
        table=table(head, rows),
    )


def _method(checkup: Checkup) -> Section:
    folds = checkup.settings.get("folds", 5)
    small = (
        ("The built-in sentences speak of a small world with few words. On your own text, expect other figures.",)
        if checkup.origin.startswith("built-in")
        else ()
    )
    pooled = "first token" if checkup.settings.get("pool") == "first" else "mean of its tokens"
    names = ", ".join(language_name(each.code) for each in checkup.languages)
    said = (
        f"{checkup.sentences:,} sentences in {names}: {checkup.origin}. A sentence is the {pooled} in each layer, and "
        "is looked for among all sentences of the other language."
    )
    how = (
        f"Maps, strongest directions and probes are fitted on {folds - 1} of {folds} parts of the sentences and tested "
        f"on the other. Means that are removed are {checkup.estimates.means_in_words}; CSLS neighborhoods are "
        f"{checkup.estimates.neighborhoods_in_words}. "
        "Intervals hold 95 % of the figures that come out when the sentences are drawn anew; differences are paired. "
        + (
            "The best layer is chosen on one half of the sentences and scored on the other, both ways. "
            if checkup.best.chosen_apart
            else "The best layer was chosen by looking at all sentences, and intervals are wider to allow for that. "
        )
        + f"Layers are said to be as good where a paired test puts them within {100 * MARGIN:.0f} points."
    )
    return Section(
        title="How this was measured",
        words=(
            said,
            how,
            *small,
        ),
    )


def _short(model: str) -> str:
    """The end of a path, which may be broken into lines behind its signs."""
    end = "/".join(model.rstrip("/").split("/")[-2:])
    return re.sub(r"(?<=[/_-])", "\u200b", end)


def _layer_name(each: LayerFacts, checkup: Checkup) -> str:
    return f"{each.layer}\u00a0(best)" if each.layer == checkup.best.layer else str(each.layer)


def _figure(found: Interval | CkaEstimate, times: int, form: str) -> str:
    """A figure with its interval."""
    value, low, high = (format(times * end, form) for end in (found.value, found.low, found.high))
    return f"{value} ({low}–{high})"

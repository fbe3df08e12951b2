"""The page of a check-up: what to know in plain words, then every language, layer and pair, and the tokenizer."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from isoglot.core.language_codes import language_name
from isoglot.core.progress import counted
from isoglot.core.table import Column, Table
from isoglot.diagnose.findings import all_findings, percent
from isoglot.report.figures import Figure, Line, heat_map, lines
from isoglot.report.page import Filtered, Folded, Page, Section, Side, escape, markup
from isoglot.represent.extraction import POOLS_IN_WORDS
from isoglot.retrieve.simultaneous_intervals import MARGIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markupsafe import Markup

    from isoglot.diagnose.findings import Tone, Topic
    from isoglot.diagnose.result import Checkup, PairLayer
    from isoglot.diagnose.retrieval import SearchVariant

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
    "trimmed": "language means and two strongest directions removed",
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
    "paired at random. Above: in how many pairs it is more than that. Probe, spread: accuracy at the language, "
    "as above. Apart: the distance between the means of two languages, in units of the spread within one."
)
_ABOUT_SHAPE = (
    "Cosine: of two unrelated sentences of one language, on average. Top: the share of a language’s variance in its "
    "first principal component. Hubs: the skewness of how often a sentence is among the ten nearest by cosine; 0 where "
    "all are alike, above 1 where a few are near to everything."
)
MOST_MISSED = 1000
"""Maximum number of missed sentences on the page."""
SIGNS: dict[Tone, str] = {"good": "✓", "plain": "·", "warn": "!", "bad": "✗"}


def diagnosis_page(
    checkup: Checkup, commands: Sequence[str | None] | None = None, *, facts: Sequence[str] = ()
) -> Page:
    """The page.

    Args:
        checkup: What was found.
        commands: The command that acts on each finding; None where there is none.
        facts: Lines for its foot.
    """
    lead, *_ = all_findings(checkup)
    return Page(
        title=f"Check-up of {_short(checkup.model)}",
        lead=lead.text,
        sections=[
            Section(
                title="What to know", body=["Numbers in brackets are 95 % intervals.", _in_words(checkup, commands)]
            ),
            _found(checkup),
            *([_languages(checkup)] if len(checkup.layers) > 1 else []),
            _pairs(checkup),
            _tokens(checkup),
            _probes(checkup),
            _space(checkup),
            _method(checkup),
        ],
        facts=[*checkup.remarks, *facts],
    )


def _in_words(checkup: Checkup, commands: Sequence[str | None] | None) -> Markup:
    said = all_findings(checkup)
    rows, before = [], None
    for each, command in list(zip(said, commands or [None] * len(said), strict=True))[1:]:
        topic = TOPICS[each.topic] if each.topic != before else ""
        before = each.topic
        typed = "" if command is None else f"<br><code>{escape(command)}</code>"
        rows.append(
            f"<div class='finding {each.tone}'><b>{escape(topic)}</b><i>{SIGNS[each.tone]}</i>"
            f"<span>{escape(each.text)}{typed}</span></div>"
        )
    return markup(f"<div class='table'>{''.join(rows)}</div>")


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


def mexa_words(checkup: Checkup) -> str:
    """MEXA over layers."""
    mexa = checkup.mexa
    return (
        f"MEXA, the share of sentences that are mutual nearest neighbors by cosine, vectors as they are: "
        f"{percent(mexa.highest)} in the best layer of each pair, {percent(mexa.mean)} on average over layers."
    )


_PERCENT: dict[str, Any] = {"unit": "%", "scale": 100, "format": ".1f"}


def _found(checkup: Checkup) -> Section:
    drawn = [
        Line(
            name=name,
            points=[(each.layer, 100 * each.found[way].value) for each in checkup.layers],
            band=[(each.layer, 100 * each.found[way].low, 100 * each.found[way].high) for each in checkup.layers],
        )
        for way, name in WAY_NAMES.items()
    ]
    figure = lines(
        drawn,
        name="found-by-layer",
        title=top_words(checkup),
        caption="Share of sentences whose nearest neighbor in the other language is their translation: the mean of "
        f"both directions and of {counted(len(checkup.pairs), 'pairs')} of languages, 95 % intervals. Trimmed: means "
        "removed, and the two strongest directions. Mapped: one language rotated onto the other, learned from other "
        "sentences. Both: means removed, and by CSLS.",
        x="layer",
        y="translations found (P@1), %",
        levels={"chance": 100 * checkup.chance},
        whole=True,
    )
    rows = [{"layer": each.layer, **each.found, "mexa": each.mexa} for each in checkup.layers]
    columns = [
        Column("layer", align="left"),
        *(Column(way, name, best="max", **_PERCENT) for way, name in WAY_NAMES.items()),
        Column("mexa", "MEXA", best="max", **_PERCENT),
    ]
    best = next(at for at, each in enumerate(checkup.layers) if each.layer == checkup.best.layer)
    table = Table.from_rows(rows, columns, caption="P@1 by layer; bold row: the recommended layer", bold_rows=(best,))
    body = [_chosen(checkup), figure if len(checkup.layers) > 1 else None, table, mexa_words(checkup)]
    return Section(title=top_words(checkup), body=body)


def _languages(checkup: Checkup) -> Section:
    """A curve for each language: the mean over its pairs."""
    way = checkup.best.way
    layers = [each.layer for each in checkup.layers]
    drawn = [
        Line(
            name=language_name(each.code),
            points=[(layer, 100 * one.value) for layer, one in zip(layers, each.by_layer, strict=True)],
            band=[(layer, 100 * one.low, 100 * one.high) for layer, one in zip(layers, each.by_layer, strict=True)],
        )
        for each in checkup.languages
    ]
    lowest = min(checkup.languages, key=lambda each: each.found.value)
    highest = max(checkup.languages, key=lambda each: each.found.value)
    title = "By language: " + ", ".join(f"{language_name(one.code)} {percent(one.found)}" for one in (highest, lowest))
    figure = lines(
        drawn,
        name="found-by-language",
        title=title,
        caption=f"{_WAY_WORDS[way].capitalize()}: the mean over the pairs of each language, with 95 % intervals "
        "over sentences.",
        x="layer",
        y="translations found (P@1), %",
        levels={"chance": 100 * checkup.chance},
        whole=True,
    )
    return Section(title=title, body=[figure])


def _pairs(checkup: Checkup) -> Section:
    best = checkup.best
    ranked = sorted(checkup.pairs, key=lambda pair: -pair.at(best.layer).found[best.way].value)
    ends = [
        f"{' and '.join(map(language_name, (pair.source, pair.target)))}, "
        f"{100 * pair.at(best.layer).found[best.way].value:.1f} %"
        for pair in (ranked[0], ranked[-1])
    ]
    title = f"Nearest: {ends[0]}; farthest: {ends[1]}" if len(ranked) > 1 else ends[0]
    maps = [
        _matrix(
            checkup,
            lambda at: 100 * at.found[best.way].value,
            ("pairs-found", f"Translations found in layer {best.layer}", "P@1, %"),
            f"Translations found in layer {best.layer}, {_WAY_WORDS[best.way]}: both directions.",
        ),
        _matrix(
            checkup,
            lambda at: 100 * at.found["mapped"].value,
            ("pairs-mapped", f"Translations found in layer {best.layer} after a rotation", "P@1, %"),
            "The same after a rotation that was learned from other sentences (cross-validated).",
        ),
        _matrix(
            checkup,
            lambda at: None if at.cka is None else at.cka.value,
            ("pairs-cka", f"Debiased CKA in layer {best.layer}", "CKA"),
            f"Debiased CKA in layer {best.layer}: whether two languages arrange sentences alike. 1 if one is a "
            "rotation of the other; 0 if sentences are paired at random.",
        ),
    ]
    rows = []
    for pair in ranked:
        at = pair.at(best.layer)
        rows.append(
            {
                "pair": f"{language_name(pair.source)}–{language_name(pair.target)}",
                "found": at.found[best.way],
                "mapped": at.found["mapped"],
                "mexa": pair.mexa.highest,
                "cka": at.cka,
                "null": None if at.cka is None else at.cka.null_high,
                "apart": at.distance,
            }
        )
    columns = [
        Column("pair"),
        Column("found", best="max", **_PERCENT),
        Column("mapped", best="max", **_PERCENT),
        Column("mexa", "MEXA, best layer", best="max", **_PERCENT),
        Column("cka", "CKA", format=".2f", best="max", kind="number"),
        Column("null", "shuffled", format=".3f", kind="number"),
        Column("apart", "means apart", format=".2f"),
    ]
    table = Table.from_rows(rows, columns, caption=f"Pairs in layer {best.layer}")
    return Section(title=title, body=[Side(maps) if len(checkup.languages) > 2 else None, table, _missed(checkup)])


def _matrix(
    checkup: Checkup, value: Callable[[PairLayer], float | None], about: tuple[str, str, str], caption: str
) -> Figure:
    codes = [each.code for each in checkup.languages]
    cells: list[list[float | None]] = [[None] * len(codes) for _ in codes]
    for pair in checkup.pairs:
        first, second = codes.index(pair.source), codes.index(pair.target)
        cells[first][second] = cells[second][first] = value(pair.at(checkup.best.layer))
    names, (name, title, scale) = [language_name(code) for code in codes], about
    limits, form = ((0.0, 100.0), ".1f") if scale.endswith("%") else ((0.0, 1.0), "z.2f")
    return heat_map(
        names, names, cells, name=name, title=title, x="", y="", scale=scale, limits=limits, form=form, caption=caption
    )


def _missed(checkup: Checkup) -> Folded | None:
    """The sentences whose nearest neighbor is wrong, one click away."""
    sides = [side for pair in checkup.pairs for side in pair.missed if side.examples]
    if not sides:
        return None
    kept = max(1, MOST_MISSED // len(sides))
    rows = [
        {"from": language_name(side.source), "to": language_name(side.target), "layer": side.layer, **asdict(one)}
        for side in sides
        for one in side.examples[:kept]
    ]
    columns = [
        Column("from"),
        Column("to"),
        Column("layer"),
        Column("query", "sentence"),
        Column("found", "found instead"),
        Column("right", "translation"),
        Column("similarity_found", "cosine, found", format=".3f"),
        Column("similarity_right", "cosine, translation", format=".3f"),
        Column("rank", "rank of translation"),
    ]
    total = sum(side.count for pair in checkup.pairs for side in pair.missed)
    caption = (
        f"Wrong nearest neighbors in the layer that is best for the pair, {_WAY_WORDS[checkup.best.way]}: "
        f"{len(rows):,} of {total:,}, in each direction those whose translation is farthest behind what was found"
    )
    table = Filtered(Table.from_rows(rows, columns, caption=caption), hint=f"{rows[0]['from']}, {rows[0]['to']}")
    return Folded(f"Sentences whose translation is not found ({total:,})", [table])


def _tokens(checkup: Checkup) -> Section:
    fewest = min(each.tokens.tokens_per_sentence for each in checkup.languages)
    worst = max(checkup.languages, key=lambda each: each.tokens.tokens_per_word)
    least = min(checkup.languages, key=lambda each: each.tokens.tokens_per_word)
    rows = [
        {
            "language": language_name(each.code),
            "word": each.tokens.tokens_per_word,
            "unknown": each.tokens.unknown_rate,
            "sentence": each.tokens.tokens_per_sentence,
            "times": each.tokens.tokens_per_sentence / fewest,
            "letters": each.tokens.characters_per_token,
            "bytes": each.tokens.bytes_per_token,
            "spelled": each.tokens.spelled_share,
        }
        for each in checkup.languages
    ]
    columns = [
        Column("language"),
        Column("word", "tokens per word", format=".2f", best="min"),
        Column("unknown", "unknown", best="min", **_PERCENT),
        Column("sentence", "tokens per sentence", format=".1f", best="min"),
        Column("times", "× fewest", format=".1f", best="min"),
        Column("letters", "letters per token", format=".2f"),
        Column("bytes", "bytes per token", format=".2f"),
        Column("spelled", "of 1 letter", unit="%", scale=100, format=".0f", best="min"),
    ]
    return Section(
        title=f"Tokens per word: {worst.tokens.tokens_per_word:.1f} in {language_name(worst.code)}, "
        f"{least.tokens.tokens_per_word:.1f} in {language_name(least.code)}",
        body=[
            "The sentences say the same in every language, so one that needs more tokens says less in the same window.",
            Table.from_rows(rows, columns, caption="Tokenizer by language"),
        ],
    )


def _probes(checkup: Checkup) -> Section:
    here = checkup.at(checkup.best.layer)
    chance = here.probe.chance
    title = f"A probe tells the language of {100 * here.probe.linear.value:.1f} % of sentences in layer {here.layer}"
    kinds = (("linear", "as it is"), ("spread", "by its spread"), ("centered", "means removed"))
    figure = lines(
        [
            Line(name=name, points=[(each.layer, 100 * getattr(each.probe, kind).value) for each in checkup.layers])
            for kind, name in kinds
        ],
        name="probes",
        title=title,
        caption=f"How often a linear probe tells a sentence’s language, on sentences it was not fitted on (chance "
        f"{100 * chance:.2g} %). With the languages’ means removed no linear probe can do better than chance; what is "
        "left of a language then is how its sentences are spread, which a probe of squares sees.",
        x="layer",
        y="language probe, %",
        levels={"chance": 100 * chance},
        whole=True,
    )
    return Section(title=title, body=[figure if len(checkup.layers) > 1 else None])


def _space(checkup: Checkup) -> Section:
    rows = [
        {
            "layer": each.layer,
            "cka": each.cka,
            "null": each.cka_null,
            "above": f"{each.cka_above} of {len(checkup.pairs)}",
            "probe": each.probe.linear.value,
            "spread": each.probe.spread.value,
            "apart": each.distance,
            "cosine": each.mean_cosine,
            "top": each.top_share,
            "hubs": each.hubness,
            "csls": each.hubness_csls,
        }
        for each in checkup.layers
    ]
    columns = [
        Column("layer", align="left"),
        Column("cka", "CKA", format=".3f", best="max", kind="number"),
        Column("null", "shuffled", format=".3f", kind="number"),
        Column("above", align="right"),
        Column("probe", **_PERCENT),
        Column("spread", **_PERCENT),
        Column("apart", format=".2f"),
        Column("cosine", format=".2f"),
        Column("top", unit="%", scale=100, format=".0f"),
        Column("hubs", format=".1f"),
        Column("csls", "by CSLS", format=".1f"),
    ]
    table = Table.from_rows(rows, columns, caption="The space by layer")
    return Section(title="How the space is built, layer by layer", body=[_ABOUT_CKA, _ABOUT_SHAPE, table])


def _method(checkup: Checkup) -> Section:
    folds = checkup.settings.get("folds", 5)
    small = (
        ("The built-in sentences speak of a small world with few words. On your own text, expect other figures.",)
        if checkup.origin.startswith("built-in")
        else ()
    )
    pooled = POOLS_IN_WORDS[str(checkup.settings["pool"])]
    names = ", ".join(language_name(each.code) for each in checkup.languages)
    said = (
        f"{checkup.sentences:,} sentences in {names}: {checkup.origin}. A sentence is the {pooled} in each layer, and "
        "is looked for among all sentences of the other language."
    )
    how = (
        f"Maps, strongest directions and probes are fitted on {folds - 1} of {folds} parts of the sentences and tested "
        f"on the other. Means that are removed are {checkup.estimates.means_in_words}; CSLS neighborhoods are "
        f"{checkup.estimates.neighborhoods_in_words}. "
        "Intervals hold 95 % of the figures of bootstrap samples of the sentences; differences are paired. "
        + (
            "The best layer is chosen on one half of the sentences and scored on the other, both ways. "
            if checkup.best.chosen_apart
            else "The best layer was chosen by looking at all sentences, and intervals are wider to allow for that. "
        )
        + f"Layers are said to be as good where a paired test puts them within {100 * MARGIN:.0f} points."
    )
    return Section(title="How this was measured", body=[said, how, *small])


def _short(model: str) -> str:
    """The end of a path, which may be broken into lines behind its signs."""
    end = "/".join(model.rstrip("/").split("/")[-2:])
    return re.sub(r"(?<=[/_-])", "\u200b", end)

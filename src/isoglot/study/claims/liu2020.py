"""The tests of claims L1 to L9 of Liu et al. (2020).

The paper is "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual BERT".
``claims.toml`` has the claims in words. Tests are on the average over languages or pairs, unless they say otherwise.

- *Little* and *much* data are the smallest and the largest number of sentences that all compared systems have. The
  *short* and the *full* window are the shortest and the longest input of the encoder.
- *By far* and *hardly* mean three times: L1, L3, L9. *Never* and *only* mean less than 1 %: L5, L8.
- The *late* layer of L4 is the one closest to a relative depth of 10/12, the *last* layers of L6 those from there on.
- NLI is at floor unless the encoder with much data and the full window is more than 6 points above the untrained one;
  MRR unless it or, where systems are compared, the best system is more than 0.06 above the untrained encoder.
- What is decoded (L4, L5, L6, L8) is at floor unless the encoder has a dev perplexity below a tenth of the ids it reads
  in a language, on average: one that has learned less decodes the most frequent tokens.
"""

from __future__ import annotations

from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.study.claims.evidence import Claim, Evidence, average, declare
from isoglot.study.claims.statistics import FAR, MARGIN, Part
from isoglot.study.claims.wu2020 import slope

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


LIU2020: dict[str, Claim] = {}
"""The claims by name."""

STATIC = ("word2vec", "glove")
MEASURES = {"word_mrr": "MRR", "nli": "NLI"}
ENCODER = "multilingual"
"""Arm whose steering is measured."""
NEVER = 0.01
"""A share of tokens below this is called none."""
LATE = 10 / 12
"""Relative depth of the layer that Table 2 gives convert rates for."""


# --- sizes of the text ---


@declare(LIU2020, "L1")
def _word_retrieval(e: Evidence) -> Iterator[Part]:
    systems = _systems(e, "word_mrr")
    sizes = _sizes(e, "word_mrr", systems)
    little, much = (_scores(e, "word_mrr", size, systems) for size in (sizes[0], sizes[-1]))
    lead = much["encoder"] - np.maximum(much["word2vec"], much["glove"])
    apart = np.abs(much["word2vec"] - much["glove"])
    tests = {
        f"GloVe - encoder, {sizes[0]} sentences": little["glove"] - little["encoder"],
        f"Word2Vec - encoder, {sizes[0]} sentences": little["word2vec"] - little["encoder"],
        f"encoder - best other, {sizes[-1]} sentences": lead,
        "the same - 3 × difference of the others": lead - FAR * apart,
    }
    yield from _above_zero(tests, _headroom(e, "word_mrr", systems))


@declare(LIU2020, "L2")
def _short_inputs(e: Evidence) -> Iterator[Part]:
    for measure, title in MEASURES.items():
        windows = _ends_of_window(e, measure)
        sizes = _sizes(e, measure, windows)
        little = _by_language(e, measure, sizes[0], windows)
        helped = [one for one, full in little["full"].items() if full[0] < little["short"][one][0]]
        share = f"{len(helped)} of {len(little['full'])} languages"
        e.notes[f"short inputs help with little data in {share}, {title}"] = None
        small, large = (_harm(e, measure, size) for size in (sizes[0], sizes[-1]))
        tests = {
            f"full - short, {sizes[-1]} sentences, {title}": large,
            f"the same - with {sizes[0]} sentences, {title}": large - small,
        }
        yield from _above_zero(tests, _headroom(e, measure, {"encoder": windows["full"]}))


@declare(LIU2020, "L3")
def _more_data(e: Evidence) -> Iterator[Part]:
    systems = _systems(e, "word_mrr")
    sizes = _sizes(e, "word_mrr", systems)
    scores = [_scores(e, "word_mrr", size, systems) for size in sizes]
    slopes = {one: slope([log2(size) for size in sizes], [found[one] for found in scores]) for one in systems}
    tests = {"slope of the encoder's MRR": slopes["encoder"]}
    tests |= {f"the same - 3 × {one}'s": slopes["encoder"] - FAR * slopes[one] for one in STATIC}
    yield from _above_zero(tests, _headroom(e, "word_mrr", systems))


@declare(LIU2020, "L9")
def _static(e: Evidence) -> Iterator[Part]:
    room = {}
    for measure, title in MEASURES.items():
        systems = _systems(e, measure)
        room = _headroom(e, measure, systems if measure == "word_mrr" else {"encoder": systems["encoder"]})
        sizes = _sizes(e, measure, systems)
        little, much = (_scores(e, measure, size, systems) for size in (sizes[0], sizes[-1]))
        gains = {one: much[one] - little[one] for one in systems}
        tests = {
            f"encoder's gain - 3 × {one}'s {way}, {title}": gains["encoder"] - FAR * sign * gains[one]
            for one in STATIC
            for way, sign in (("gain", 1), ("loss", -1))
        }
        yield from _above_zero(tests, room)
    sizes = _sizes(e, "nli", _ends_of_window(e, "nli"))
    small, large = (_harm(e, "nli", size) for size in (sizes[0], sizes[-1]))
    yield from _above_zero({"full - short, NLI, much - little data": large - small}, room)


# --- shifts ---


@declare(LIU2020, "L4")
def _convert_rate(e: Evidence) -> Iterator[Part]:
    layer = _late_layer(e, "convert_rate")
    places = e.places("convert_rate", "source", "target", "alpha", layer=layer)
    alphas = sorted({alpha for _, _, alpha in places if alpha > 0})
    if len(alphas) < 2 or 3 not in alphas:
        e.absent(f"convert_rate (alpha 3) and at another alpha above 0{_undefined(e, layer)}")
    pairs = _pairs_with(places, alphas)
    from_english = [pair for pair in pairs if pair[0] == "en"]
    if not from_english:
        e.absent(f"convert_rate (source en) at all alphas{_undefined(e, layer)}")
    room = _learned(e)
    rates = [_over_pairs(e, "convert_rate", pairs, layer=layer, alpha=alpha) for alpha in alphas]
    for (one, low), (two, high) in pairwise(zip(alphas, rates, strict=True)):
        yield Part(name=f"convert rate, α {two:g} - α {one:g}", values=high - low, above=0.0, digits=3, **room)
    rate = _over_pairs(e, "convert_rate", from_english, layer=layer, alpha=3)
    yield Part(name="convert rate from English, α 3", values=rate, above=0.9, digits=3, **room)


@declare(LIU2020, "L5")
def _outside(e: Evidence) -> Iterator[Part]:
    room = _learned(e)
    for measure, title in (("outside_share", "outside both languages"), ("convert_rate", "convert rate")):
        layer, is_rate = _late_layer(e, measure), measure == "convert_rate"
        places = e.places(measure, "source", "target", "alpha", layer=layer)
        alphas = sorted({alpha for _, _, alpha in places if alpha < 0 or not is_rate})
        if not any(alpha < 0 for alpha in alphas):
            e.absent(f"{measure} at a negative alpha{_undefined(e, layer) if is_rate else ''}")
        for alpha in alphas:
            share = _over_pairs(e, measure, _pairs_with(places, [alpha]), layer=layer, alpha=alpha)
            yield Part(name=f"{title}, α {alpha:g}", values=share, below=NEVER, digits=4, **room)


@declare(LIU2020, "L6")
def _best_layer(e: Evidence) -> Iterator[Part]:
    grid: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for source, target, layer, alpha in e.places("bleu1", "source", "target", "layer", "alpha"):
        grid.setdefault((source, target), []).append((layer, alpha))
    in_last = [_best_is_last(e, pair, cells) for pair, cells in grid.items()]
    yield Part(name="share of pairs", values=average(in_last), above=0.5, digits=2, **_learned(e))


@declare(LIU2020, "L7")
def _upper_half(e: Evidence) -> Iterator[Part]:
    arms = ("tune-all", "tune-upper", "tune-upper+shift")
    languages = e.shared("language", *(("nli", {"arm": arm}) for arm in arms))
    everything, upper, shifted = (e.mean("nli", {"language": languages}, arm=arm) for arm in arms)
    similar = [language for language in languages if language in {"es", "fr"}]
    if not similar:
        e.absent("nli in Spanish or French")
    here, there = (e.mean("nli", {"language": similar}, arm=arm) for arm in arms[1:])
    room: dict[str, Any] = {"digits": 2, "headroom": e.headroom("nli", languages, {"arm": "tune-all"})}
    tests = {
        "upper half - all layers": upper - everything,
        "shift - upper half": shifted - upper,
        "(upper half - all layers) - (shift - upper half)": 2 * upper - everything - shifted,
    }
    yield from _above_zero(tests, room)
    yield Part(name=f"shift - upper half, {'/'.join(similar)}", values=there - here, below=0.0, **room)


@declare(LIU2020, "L8")
def _other_language(e: Evidence) -> Iterator[Part]:
    share = e.value("other_language_share", alpha=0, source="en")
    yield Part(name="share in another language", values=share, below=NEVER, digits=4, **e.learned(ENCODER, ["en"]))


# --- systems ---


def _above_zero(tests: Mapping[str, np.ndarray], room: Mapping[str, Any]) -> Iterator[Part]:
    """Parts that must be above 0, with the same floor."""
    return (Part(name=name, values=values, above=0.0, **room) for name, values in tests.items())


def _windows(e: Evidence, measure: str) -> tuple[int, int]:
    """The shortest and the longest input of the encoder."""
    windows = [window for _, _, window in e.places(measure, "language", "sentences", "window", system="encoder")]
    return min(windows), max(windows)


def _systems(e: Evidence, measure: str) -> dict[str, dict[str, Any]]:
    """Coordinates of the three systems, the encoder with the full window."""
    encoder = {"system": "encoder", "window": _windows(e, measure)[1]}
    return {"encoder": encoder} | {one: {"system": one} for one in STATIC}


def _ends_of_window(e: Evidence, measure: str) -> dict[str, dict[str, Any]]:
    """Coordinates of the encoder with the full and with the short window."""
    short, full = _windows(e, measure)
    if short == full:
        e.absent(f"{measure} (system encoder) at two windows")
    return {name: {"system": "encoder", "window": size} for name, size in (("full", full), ("short", short))}


def _sizes(e: Evidence, measure: str, systems: Mapping[str, Mapping[str, Any]]) -> list[int]:
    """Numbers of sentences that all of the systems have, from little to much."""
    found = [{size for _, size in e.places(measure, "language", "sentences", **at)} for at in systems.values()]
    sizes = sorted(set.intersection(*found))
    if len(sizes) < 2:
        e.absent(f"{measure} of {', '.join(systems)} at two numbers of sentences")
    return sizes


def _by_language(
    e: Evidence, measure: str, size: int, systems: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, np.ndarray]]:
    """Scores by system and language, in the languages that all systems have at that size."""
    languages = e.shared("language", *((measure, {**at, "sentences": size}) for at in systems.values()))
    return {
        name: {language: e.value(measure, language=language, sentences=size, **at) for language in languages}
        for name, at in systems.items()
    }


def _scores(e: Evidence, measure: str, size: int, systems: Mapping[str, Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Scores by system, averaged over languages."""
    return {name: average(list(found.values())) for name, found in _by_language(e, measure, size, systems).items()}


def _harm(e: Evidence, measure: str, size: int) -> np.ndarray:
    """The encoder's score with the full window minus that with the short one."""
    scores = _scores(e, measure, size, _ends_of_window(e, measure))
    return np.asarray(scores["full"] - scores["short"])


def _headroom(e: Evidence, measure: str, systems: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Best system with much data minus the untrained encoder, with the margin at stake, as options of a part."""
    points = measure == "nli"
    scale: dict[str, Any] = {"digits": 1 if points else 3, "margin": MARGIN if points else MARGIN / 100}
    scores = _by_language(e, measure, _sizes(e, measure, systems)[-1], systems)
    at = {"system": "encoder", "variant": "untrained"}
    floors = [one for one in next(iter(scores.values())) if e.has(measure, language=one, **at)]
    if not floors:
        e.notes["floor not measured"] = None
        return scale
    best = np.max([average([found[one] for one in floors]) for found in scores.values()], axis=0)
    return scale | {"headroom": float((best - e.mean(measure, {"language": floors}, **at))[0])}


def _learned(e: Evidence) -> dict[str, Any]:
    """Headroom of the encoder over all languages, as options of a part."""
    cells = e.index.names.get(("perplexity", frozenset({"arm", "language"})), [])
    return e.learned(ENCODER, sorted({str(dict(at)["language"]) for _, at in cells}))


def _undefined(e: Evidence, layer: int | None = None) -> str:
    """Reason that there is no convert rate although tokens were decoded; empty if none were."""
    measured = any(
        layer in (None, dict(at)["layer"])
        for _, at in e.index.names.get(("outside_share", frozenset({"alpha", "layer", "source", "target"})), [])
    )
    return ": every token that was decoded there is one that both languages have" if measured else ""


def _late_layer(e: Evidence, measure: str) -> int:
    """The layer closest to a relative depth of 10/12."""
    if measure == "convert_rate" and not e.index.names.get(
        (measure, frozenset({"alpha", "layer", "source", "target"}))
    ):
        e.absent(f"convert_rate{_undefined(e)}")
    places = e.places(measure, "layer", "source", "target", "alpha")
    layers = sorted({place[0] for place in places})
    _, source, target, alpha = places[0]
    depth = e.depth(measure, layers, source=source, target=target, alpha=alpha)
    return int(min(layers, key=lambda layer: abs(layer / depth - LATE)))


def _pairs_with(places: list[tuple[Any, ...]], alphas: list[float]) -> list[tuple[str, str]]:
    """Pairs that have all of the given α."""
    pairs = dict.fromkeys((source, target) for source, target, _ in places)
    return [pair for pair in pairs if all((*pair, alpha) in places for alpha in alphas)]


def _over_pairs(e: Evidence, measure: str, pairs: list[tuple[str, str]], **at: Any) -> np.ndarray:  # noqa: ANN401
    return average([e.value(measure, source=source, target=target, **at) for source, target in pairs])


def _best_is_last(e: Evidence, pair: tuple[str, str], cells: list[tuple[int, float]]) -> np.ndarray:
    """Whether the best cell of the grid is in the last layers, by replicate."""
    at = {"source": pair[0], "target": pair[1]}
    scores = np.stack([e.value("bleu1", layer=layer, alpha=alpha, **at) for layer, alpha in cells])
    depth = e.depth("bleu1", sorted({layer for layer, _ in cells}), **at, alpha=cells[0][1])
    last = np.array([layer / depth >= LATE - 1e-9 for layer, _ in cells])
    return np.asarray(last[scores.argmax(axis=0)], float)

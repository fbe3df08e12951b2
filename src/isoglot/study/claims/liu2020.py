"""The claims L1 to L9 of Liu et al. (2020).

The paper is "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual BERT".
Tests are on the average over languages or pairs, unless they say otherwise.

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

from functools import partial
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.study.claims.claim import Claim, declare
from isoglot.study.claims.evidence import average
from isoglot.study.claims.statistics import FAR, MARGIN, Part
from isoglot.study.claims.wu2020 import slope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.study.claims.evidence import Evidence

LIU2020: dict[str, Claim] = {}
"""The claims by name."""
_claim = partial(declare, LIU2020)

STATIC = ("word2vec", "glove")
MEASURES = {"word_mrr": "MRR", "nli": "NLI"}
ENCODER = "multilingual"
"""Arm whose steering is measured."""
_AT_FLOOR = "at floor unless the dev perplexity is below a tenth of the ids that are read"
NEVER = 0.01
"""A share of tokens below this is called none."""
LATE = 10 / 12
"""Relative depth of the layer that Table 2 gives convert rates for."""

_SIZES = "word_mrr(language, sentences, system, window); word_mrr(language, sentences, system)"
_NLI = "nli(language, sentences, system, window)"
_FLOOR = "nli(language, system, variant)"
_MRR_FLOOR = "word_mrr(language, system, variant)"


@_claim(
    "L1",
    "With little data GloVe and Word2Vec beat BERT on word retrieval; with much data BERT wins by far.",
    test="MRR: GloVe - BERT and Word2Vec - BERT above 0 with little data; with much data BERT above both, by at least "
    "three times what these two differ by",
    reads=f"{_SIZES}; {_MRR_FLOOR}",
    printed=False,
)
def _word_retrieval(e: Evidence) -> list[Part]:
    systems = _systems(e, "word_mrr")
    sizes = _sizes(e, "word_mrr", systems)
    little, much = (_scores(e, "word_mrr", size, systems) for size in (sizes[0], sizes[-1]))
    lead = much["encoder"] - np.maximum(much["word2vec"], much["glove"])
    apart = np.abs(much["word2vec"] - much["glove"])
    room = _headroom(e, "word_mrr", systems)
    return [
        Part(name=name, values=values, above=0.0, **room)
        for name, values in (
            (f"GloVe - encoder, {sizes[0]} sentences", little["glove"] - little["encoder"]),
            (f"Word2Vec - encoder, {sizes[0]} sentences", little["word2vec"] - little["encoder"]),
            (f"encoder - best other, {sizes[-1]} sentences", lead),
            ("the same - 3 × difference of the others", lead - FAR * apart),
        )
    ]


@_claim(
    "L2",
    "Inputs of 20 tokens hurt BERT with much data and can help with little, at an equal number of tokens.",
    test="MRR and NLI: full - short above 0 with much data, and larger than with little data; a note counts the "
    "languages in which short inputs help with little data",
    reads=f"word_mrr(language, sentences, system, window); {_NLI}; {_FLOOR}; {_MRR_FLOOR}",
    printed=False,
)
def _short_inputs(e: Evidence) -> list[Part]:
    parts = []
    for measure, title in MEASURES.items():
        windows = _ends_of_window(e, measure)
        sizes = _sizes(e, measure, windows)
        little = _by_language(e, measure, sizes[0], windows)
        helped = [one for one, full in little["full"].items() if full[0] < little["short"][one][0]]
        share = f"{len(helped)} of {len(little['full'])} languages"
        e.notes[f"short inputs help with little data in {share}, {title}"] = None
        small, large = (_harm(e, measure, size) for size in (sizes[0], sizes[-1]))
        room = _headroom(e, measure, {"encoder": windows["full"]})
        parts += [
            Part(name=f"{name}, {title}", values=values, above=0.0, **room)
            for name, values in (
                (f"full - short, {sizes[-1]} sentences", large),
                (f"the same - with {sizes[0]} sentences", large - small),
            )
        ]
    return parts


@_claim(
    "L3",
    "More data helps BERT's alignment, hardly Word2Vec's and GloVe's.",
    test="slope of MRR over the logarithm of the number of sentences: BERT's above 0, at least three times the others'",
    reads=f"{_SIZES}; {_MRR_FLOOR}",
    printed=False,
)
def _more_data(e: Evidence) -> list[Part]:
    systems = _systems(e, "word_mrr")
    sizes = _sizes(e, "word_mrr", systems)
    scores = [_scores(e, "word_mrr", size, systems) for size in sizes]
    places = [log2(size) for size in sizes]
    slopes = {one: slope(places, [found[one] for found in scores]) for one in systems}
    room = _headroom(e, "word_mrr", systems)
    parts = [Part(name="slope of the encoder's MRR", values=slopes["encoder"], above=0.0, **room)]
    return parts + [
        Part(name=f"the same - 3 × {one}'s", values=slopes["encoder"] - FAR * slopes[one], above=0.0, **room)
        for one in STATIC
    ]


@_claim(
    "L4",
    "Adding α times the difference of the languages' means makes the model decode the other language; the convert rate "
    "rises with α.",
    test="convert rate at the late layer: rises from each α above 0 to the next; above 0.9 at α = 3 from English; "
    f"{_AT_FLOOR}",
    reads="convert_rate(alpha, layer, source, target)",
)
def _convert_rate(e: Evidence) -> list[Part]:
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
    parts = [
        Part(name=f"convert rate, α {two:g} - α {one:g}", values=high - low, above=0.0, digits=3, **room)
        for (one, low), (two, high) in pairwise(zip(alphas, rates, strict=True))
    ]
    rate = _over_pairs(e, "convert_rate", from_english, layer=layer, alpha=3)
    return [*parts, Part(name="convert rate from English, α 3", values=rate, above=0.9, digits=3, **room)]


@_claim(
    "L5",
    "Decoded tokens belong to the two languages only; with negative α they stay in the first.",
    test="share of tokens outside both languages below 1 % at the late layer for every α; convert rate below 1 % for "
    f"every negative α; {_AT_FLOOR}",
    reads="outside_share(alpha, layer, source, target); convert_rate(alpha, layer, source, target)",
    printed=False,
)
def _outside(e: Evidence) -> list[Part]:
    parts, room = [], _learned(e)
    for measure, title, negative in (
        ("outside_share", "outside both languages", False),
        ("convert_rate", "convert rate", True),
    ):
        layer = _late_layer(e, measure)
        places = e.places(measure, "source", "target", "alpha", layer=layer)
        alphas = sorted({alpha for _, _, alpha in places if alpha < 0 or not negative})
        if not any(alpha < 0 for alpha in alphas):
            e.absent(f"{measure} at a negative alpha{_undefined(e, layer) if negative else ''}")
        for alpha in alphas:
            share = _over_pairs(e, measure, _pairs_with(places, [alpha]), layer=layer, alpha=alpha)
            parts.append(Part(name=f"{title}, α {alpha:g}", values=share, below=NEVER, digits=4, **room))
    return parts


@_claim(
    "L6",
    "BLEU-1 is best in the last layers for most pairs.",
    test="share of pairs whose best layer, over all layers and α, is of relative depth 10/12 or more: above one "
    f"half; {_AT_FLOOR}",
    reads="bleu1(alpha, layer, source, target)",
)
def _best_layer(e: Evidence) -> list[Part]:
    grid: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for source, target, layer, alpha in e.places("bleu1", "source", "target", "layer", "alpha"):
        grid.setdefault((source, target), []).append((layer, alpha))
    in_last = [_best_is_last(e, pair, cells) for pair, cells in grid.items()]
    return [Part(name="share of pairs", values=average(in_last), above=0.5, digits=2, **_learned(e))]


@_claim(
    "L7",
    "Fine-tuning the upper half beats fine-tuning all layers; a shift in the middle adds a little, but not for Spanish "
    "and French.",
    test="NLI: upper half - all above 0; shift - upper half above 0, and smaller than that; shift - upper half below 0 "
    "on average over Spanish and French. α is chosen on dev sets of the languages, so the shift is not strictly "
    "zero-shot",
    reads="nli(arm, language); nli(arm, language, variant)",
)
def _upper_half(e: Evidence) -> list[Part]:
    arms = ("tune-all", "tune-upper", "tune-upper+shift")
    languages = e.shared("language", *(("nli", {"arm": arm}) for arm in arms))
    everything, upper, shifted = (e.mean("nli", {"language": languages}, arm=arm) for arm in arms)
    similar = [language for language in languages if language in {"es", "fr"}]
    if not similar:
        e.absent("nli in Spanish or French")
    here, there = (e.mean("nli", {"language": similar}, arm=arm) for arm in arms[1:])
    headroom = None
    floors = [one for one in languages if e.has("nli", arm="tune-all", language=one, variant="untrained")]
    if floors:
        trained, untrained = (
            e.mean("nli", {"language": floors}, arm="tune-all", variant=variant) for variant in (None, "untrained")
        )
        headroom = float((trained - untrained)[0])
    else:
        e.notes["floor not measured"] = None
    return [
        Part(name=name, values=values, above=above, below=below, digits=2, headroom=headroom)
        for name, values, above, below in (
            ("upper half - all layers", upper - everything, 0.0, None),
            ("shift - upper half", shifted - upper, 0.0, None),
            ("(upper half - all layers) - (shift - upper half)", 2 * upper - everything - shifted, 0.0, None),
            (f"shift - upper half, {'/'.join(similar)}", there - here, None, 0.0),
        )
    ]


@_claim(
    "L8",
    "Without a shift, a masked English token is almost never decoded in another language.",
    test=f"share of predictions in another language at α = 0 below 1 %, from English; {_AT_FLOOR}",
    reads="other_language_share(alpha, source)",
    printed=False,
)
def _other_language(e: Evidence) -> list[Part]:
    share = e.value("other_language_share", alpha=0, source="en")
    return [Part(name="share in another language", values=share, below=NEVER, digits=4, **e.learned(ENCODER, ["en"]))]


@_claim(
    "L9",
    "Static vectors: NLI and MRR change little with data size. NLI of BERT drops with the 20-token window mostly with "
    "much data.",
    test="from little to much data BERT's gain at least three times the change of Word2Vec and of GloVe, either way, "
    "in MRR and NLI; full - short in NLI larger with much data than with little",
    reads=f"{_SIZES}; {_NLI}; nli(language, sentences, system); {_FLOOR}; {_MRR_FLOOR}",
    printed=False,
)
def _static(e: Evidence) -> list[Part]:
    parts, rooms = [], {}
    for measure, title in MEASURES.items():
        systems = _systems(e, measure)
        rooms[measure] = _headroom(e, measure, systems if measure == "word_mrr" else {"encoder": systems["encoder"]})
        sizes = _sizes(e, measure, systems)
        little, much = (_scores(e, measure, size, systems) for size in (sizes[0], sizes[-1]))
        gains = {one: much[one] - little[one] for one in systems}
        parts += [
            Part(
                name=f"encoder's gain - 3 × {one}'s {way}, {title}",
                values=gains["encoder"] - FAR * sign * gains[one],
                above=0.0,
                **rooms[measure],
            )
            for one in STATIC
            for way, sign in (("gain", 1), ("loss", -1))
        ]
    sizes = _sizes(e, "nli", _ends_of_window(e, "nli"))
    values = _harm(e, "nli", sizes[-1]) - _harm(e, "nli", sizes[0])
    return [*parts, Part(name="full - short, NLI, much - little data", values=values, above=0.0, **rooms["nli"])]


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
    harm: np.ndarray = scores["full"] - scores["short"]
    return harm


def _headroom(e: Evidence, measure: str, systems: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Best system with much data minus the untrained encoder, with the margin at stake, as options of a part."""
    scale: dict[str, Any] = (
        {"digits": 1, "margin": MARGIN} if measure == "nli" else {"digits": 3, "margin": MARGIN / 100}
    )
    scores = _by_language(e, measure, _sizes(e, measure, systems)[-1], systems)
    at = {"system": "encoder", "variant": "untrained"}
    floors = [one for one in next(iter(scores.values())) if e.has(measure, language=one, **at)]
    if not floors:
        e.notes["floor not measured"] = None
        return scale
    best = np.max([average([found[one] for one in floors]) for found in scores.values()], axis=0)
    return scale | {"headroom": float((best - e.mean(measure, {"language": floors}, **at))[0])}


def _learned(e: Evidence) -> dict[str, Any]:
    """How much the encoder has learned of all languages, as options of a part."""
    cells = e.index.names.get(("perplexity", frozenset({"arm", "language"})), [])
    return e.learned(ENCODER, sorted({str(dict(at)["language"]) for _, at in cells}))


def _undefined(e: Evidence, layer: int | None = None) -> str:
    """Why there is no convert rate although tokens were decoded, for the reason of a claim that was not run."""
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
    found: np.ndarray = last[scores.argmax(axis=0)].astype(float)
    return found

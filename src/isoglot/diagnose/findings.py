"""Findings of a check-up in plain words, with every threshold in one place.

A difference is reported only if its 95 % confidence interval excludes zero *and* it is large enough to matter; a level
only if the whole interval is beyond the threshold. Thresholds of P@1 are meant for about 1,000 candidates; with far
fewer, translations are easier to find.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Literal, NamedTuple

from isoglot.core.language_codes import language_name
from isoglot.core.progress import counted, listed
from isoglot.retrieve.simultaneous_intervals import MARGIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isoglot.diagnose.result import Checkup, LanguageFacts
    from isoglot.retrieve.metrics import Interval

# --- thresholds ---

LOST = 0.05
"""P@1 with the best partner below which a language is effectively not in the shared space."""
BAD = 0.5
"""P@1 below which a pair is poorly aligned."""
GOOD = 0.8
"""P@1 above which languages are well aligned."""
BEHIND = 0.1
"""A language lags if its pairs have a P@1 lower than the others' by this much."""
WORTH = 0.01
"""The smallest gain in P@1 that is reported."""
ENOUGH = 3
"""Pairs per dimension; a rotation fitted on fewer that loses is not advised against."""
UNKNOWN = 0.01
"""Share of unknown tokens from which on they are reported."""
UNKNOWN_MANY = 0.1
"""Share of unknown tokens from which on the language cannot be read."""
SPLIT = 1.5
"""Tokens per word, relative to the language with the fewest, from which on words are reported as split."""
SPELLED = 0.5
"""Share of single-letter tokens from which on a language is spelled, given this many tokens per word as well:"""
SPELLED_TOKENS = 2.5
"""Tokens per word. Chinese has one character per token by nature, but fewer tokens per word."""
SUITED = 1.4
"""A tokenizer suits languages with up to this many times the fewest tokens per word, and no unknown tokens."""
ANISOTROPIC = 0.5
"""Mean cosine of unrelated sentences from which on the space is reported as anisotropic."""
HUBS = 3.0
"""Skewness of the 10-occurrence from which on hubs are reported."""
DETECTED = 0.9
"""Accuracy of the language probe above which nearly every sentence reveals its language."""

Topic = Literal["verdict", "layer", "languages", "gain", "tokenizer", "space"]
Tone = Literal["good", "plain", "warn", "bad"]
Remedy = Literal["fix", "means", "rotation", "trimmed", "leace", "whitening", "csls", "more", "add-language"]
FIX_SETTINGS: Mapping[Remedy, tuple[str, ...]] = {
    "fix": (),
    "means": ("method=means", "languages=known"),
    "rotation": ("method=rotation", "languages=known"),
    "trimmed": ("method=trimmed",),
    "leace": ("method=leace",),
    "whitening": ("method=whitening",),
}
"""Settings of the remedies that are fixes; ``fix`` chooses among all."""
FEWEST_TO_TRAIN = 10_000
"""The smallest number of lines of text that adding a language is advised with."""
FEWEST_TO_FIX = 50
"""The smallest number of sentences that a fix can be chosen on."""


class Action(NamedTuple):
    """What acts on a finding, with a number (a layer, or sentences) or a language where it needs one."""

    remedy: Remedy
    value: int | str | None = None


_Said = tuple[Tone, str] | tuple[Tone, str, Action | None]


@dataclass(frozen=True)
class Finding:
    """One finding: a sentence or two, its topic and its tone, and what acts on it.

    >>> Finding("layer", "good", "Layer 8 is the best.").action is None
    True
    """

    topic: Topic
    """Section of the page."""
    tone: Tone
    """Whether it is good, neutral, a warning or bad."""
    text: str
    """One or two sentences."""
    action: Action | None = None
    """The command that acts on it."""


def all_findings(checkup: Checkup) -> list[Finding]:
    """All findings of a check-up, the most important first.

    Args:
        checkup: A check-up.

    Returns:
        Findings with their text and severity.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> from isoglot.diagnose import builtin_set
    >>> checkup = isoglot.diagnose(encoder, [builtin_set(["en", "de"], 24)], layers=[7, 8])
    >>> len(all_findings(checkup)) > 2
    True
    """
    return [
        Finding("verdict", *_verdict(checkup)),
        *(Finding("layer", *said) for said in _layer_findings(checkup)),
        *(Finding("languages", *said) for said in _language_findings(checkup)),
        *(Finding("gain", *said) for said in _gain_findings(checkup)),
        *(Finding("tokenizer", *said) for said in _tokenizer_findings(checkup)),
        *(Finding("space", *said) for said in _space_findings(checkup)),
    ]


# --- verdict and layer ---


def above_chance(found: Interval, chance: float) -> bool:
    """Whether a P@1 is significantly above chance."""
    return found.low > chance


def suited(languages: Sequence[LanguageFacts]) -> list[str]:
    """Languages that the tokenizer seems to be made for."""
    fewest = min(each.tokens.tokens_per_word for each in languages)
    return [
        each.code
        for each in languages
        if each.tokens.tokens_per_word <= SUITED * fewest and each.tokens.unknown_rate < UNKNOWN
    ]


def _verdict(checkup: Checkup) -> _Said:
    best, names = checkup.best, _names(checkup.languages)
    level = (
        f"{percent(best.found)} of translations among {checkup.sentences:,} sentences (chance {_share(checkup.chance)})"
    )
    at_chance = not above_chance(best.found, checkup.chance)
    poor = at_chance or all(pair.at(best.layer).found[best.way].low < BAD for pair in checkup.pairs)
    own = suited(checkup.languages)
    if poor and len(own) == 1 and len(checkup.languages) > 1:
        text = f"Apparently {language_name(own[0])} only: the tokenizer suits no other of {names}, and"
        return "bad", f"{text} the best layer finds {level}."
    if at_chance:
        return "bad", f"No better than chance on {names}: the best layer finds {level}."
    fix = _fix(checkup, "fix")
    if poor:
        text = f"Poorly aligned: the best layer finds {level}, and no pair is significantly above {_share(BAD)}."
        return "bad", text, fix
    if best.found.low > GOOD:
        return "good", f"Well aligned: the best layer finds {level}."
    return "plain", f"Partly aligned: the best layer finds {level}.", fix


def _fix(checkup: Checkup, remedy: Remedy) -> Action | None:
    """A fix, where there are sentences enough to choose it on."""
    return Action(remedy) if checkup.sentences >= FEWEST_TO_FIX else None


def _layer_findings(checkup: Checkup) -> Iterator[_Said]:
    """Which layer to use, which others are equivalent, and languages with another best layer."""
    best = checkup.best
    if not above_chance(best.found, checkup.chance):
        yield "bad", "No layer is significantly better than chance, so none is recommended."
        return
    how = "with each language’s mean removed" if best.way == "centered" else "with unmodified vectors"
    text = f"Use layer {best.layer} of {checkup.depth}, {how}."
    if _verdict(checkup)[0] == "bad":
        text = f"If you must use it for several languages, layer {best.layer} of {checkup.depth} is best, {how}."
    if best.as_good:
        text += f" {_layers_are(best.as_good).capitalize()} as good, within {100 * MARGIN:.0f} points by a paired test."
    if best.undecided:
        text += f" These sentences are too few to tell whether {_layers_are(best.undecided)} as good."
    if best.over_last is not None and surely_gains(best.over_last):
        text += f" The last layer, {checkup.layers[-1].layer}, finds {points(best.over_last, sign='')} fewer."
    yield "plain", text, _fix(checkup, "means" if best.way == "centered" and best.over_last is None else "fix")
    for each in checkup.languages:
        if each.layer_gain is not None:
            more = f"{percent(each.at_layer)} there, {points(each.layer_gain, sign='')} more"
            yield "warn", f"{language_name(each.code)} is best in layer {each.layer}, not {best.layer}: {more}."
    yield from _over_embeddings(checkup)


def _layers_are(layers: Sequence[int]) -> str:
    names = [str(layer) for layer in layers]
    return f"layer {names[0]} is" if len(names) == 1 else f"layers {listed(names)} are"


def _over_embeddings(checkup: Checkup) -> Iterator[_Said]:
    over, first = checkup.best.over_first, checkup.layers[0]
    if first.layer != 0 or (over is not None and over.value <= 0):
        return
    if over is None or over.low <= 0:
        text = "No layer is significantly better than layer 0, the embeddings without context: translations may be"
        yield "warn", f"{text} found by words that are spelled alike."
    else:
        found = percent(first.found[checkup.best.way])
        yield (
            "plain",
            f"Layer 0, the embeddings without context, finds {found}; the layers add {points(over, sign='')}.",
        )


# --- languages ---


def _language_findings(checkup: Checkup) -> Iterator[_Said]:
    """Languages that are not in the shared space, poorly aligned, or behind the others."""
    if len(checkup.pairs) == 1:
        return  # the verdict is about this pair
    chance = checkup.chance
    at_chance, lost, bad, behind = [], [], [], []
    for each in checkup.languages:
        if not any(above_chance(found, chance) for found in (each.found, each.best)):
            at_chance.append(each)
        elif each.best.high < LOST:
            lost.append(each)
        elif each.best.high < BAD:
            bad.append(each)
        elif each.lead is not None and each.lead.high < -BEHIND:
            behind.append((each, each.lead))
    if at_chance:
        text = f"At chance with every other language ({_share(chance)}): {_names(at_chance)}."
        yield "bad", text, Action("add-language", at_chance[0].code)
    if lost:
        text = f"Almost no translations are found for {_partners(lost)}; chance is {_share(chance)}."
        yield "bad", text, Action("add-language", min(lost, key=lambda each: each.best.value).code)
    if bad:
        yield "bad", f"Poorly aligned even with the closest language: {_partners(bad)}.", _fix(checkup, "fix")
    for each, lead in behind:
        lag = points(lead, sign="", turned=True)
        text = f"{language_name(each.code)} lags: its pairs find {lag} fewer than the others."
        yield "warn", text, _fix(checkup, "fix")
    if not (at_chance or lost or bad or behind) and len(checkup.languages) > 2:
        yield "good", "No language lags clearly behind the others."


def _names(languages: Sequence[LanguageFacts]) -> str:
    return listed([language_name(each.code) for each in languages])


def _partners(languages: Sequence[LanguageFacts]) -> str:
    return listed(
        [
            f"{language_name(each.code)} ({100 * each.best.value:.1f} % with {language_name(each.partner)})"
            for each in sorted(languages, key=lambda each: each.best.value)
        ]
    )


# --- gains ---


def surely_gains(gain: Interval) -> bool:
    """Whether a gain is significant and large enough to matter."""
    return gain.low > 0 and gain.value >= WORTH


def _surely_loses(gain: Interval) -> bool:
    return gain.high < 0 and -gain.value >= WORTH


def _gain_findings(checkup: Checkup) -> Iterator[_Said]:
    """What removing means, CSLS and a rotation would gain in the best layer."""
    best, sources = checkup.best, checkup.estimates
    base = "removing means alone" if best.way == "centered" else "plain cosine"
    means = f"Removing each language’s mean, {sources.means_in_words},"
    yield _gain(means, best.centering, "unmodified vectors", _fix(checkup, "means"), ", at no cost")
    csls = f"Searching by CSLS instead of cosine, neighborhoods {sources.neighborhoods_in_words},"
    yield _gain(csls, best.csls, base, Action("csls", best.layer), ", at no cost")
    yield _rotation_gain(checkup, base)


def _rotation_gain(checkup: Checkup, base: str) -> _Said:
    best, width = checkup.best, checkup.width
    share = 1 - 1 / checkup.settings.get("folds", 5)
    fitted = round(checkup.sentences * share)
    rotation = f"A rotation of one language onto the other, fitted on {fitted:,} pairs and tested on the rest,"
    if _surely_loses(best.mapping) and fitted < ENOUGH * width:
        wanted = 1000 * ceil(ENOUGH * width / share / 1000)
        loss = points(best.mapping, sign="", turned=True)
        text = f"{rotation} loses {loss} compared with {base}, but that is too few pairs for {width:,} dimensions"
        text += " to tell whether one helps."
        return "plain", f"{text} Use at least {wanted:,} sentences.", Action("more", wanted)
    tone, text, *action = _gain(rotation, best.mapping, base, _fix(checkup, "rotation"))
    beyond = best.mapping_over_first
    if surely_gains(best.mapping) and beyond is not None and beyond.low <= 0:
        first = percent(checkup.layers[0].found["mapped"])
        text += f" But a rotation of layer 0, the embeddings without context, finds no less, {first}: it may learn word"
        return "plain", f"{text} translations from the pairs rather than reveal a shared space."
    return tone, text, action[0] if action else None


def _gain(what: str, gain: Interval, base: str, action: Action | None, cost: str = "") -> _Said:
    than = f"compared with {base}"
    if surely_gains(gain):
        return "good", f"{what} gains {points(gain, sign='')} {than}{cost}.", action
    if _surely_loses(gain):
        return "warn", f"{what} loses {points(gain, sign='', turned=True)} {than}: do not use it."
    if gain.low > 0 or gain.high < 0 or max(-gain.low, gain.high) < WORTH:
        return "plain", f"{what} makes no difference that matters {than}: {points(gain)}."
    return "plain", f"{what} makes no significant difference {than}: {points(gain)}."


# --- tokenizer ---


def _tokenizer_findings(checkup: Checkup) -> Iterator[_Said]:
    """Unknown tokens, words spelled or split, and truncated sentences, by language."""
    fewest = min(checkup.languages, key=lambda each: each.tokens.tokens_per_word)
    beside = f"against {fewest.tokens.tokens_per_word:.1f} in {language_name(fewest.code)}"
    fine, split = True, []
    for each in checkup.languages:
        name, tokens = language_name(each.code), each.tokens
        unknown = f"{_share(tokens.unknown_rate)} of the {name} tokens are unknown"
        if tokens.unknown_rate >= UNKNOWN_MANY:
            fine = False
            text = f"{unknown}: the model never sees that part of the text."
            yield "bad", text, Action("add-language", each.code)
        elif tokens.unknown_rate >= UNKNOWN:
            fine = False
            yield "warn", f"{unknown}."
        if tokens.spelled_share >= SPELLED and tokens.tokens_per_word >= SPELLED_TOKENS:
            fine = False
            text = f"{name} is spelled letter by letter: {tokens.tokens_per_word:.1f} tokens per word {beside}."
            yield "bad", text, Action("add-language", each.code)
        elif tokens.tokens_per_word >= SPLIT * fewest.tokens.tokens_per_word and tokens.unknown_rate < UNKNOWN_MANY:
            split.append(f"{language_name(each.code)} {tokens.tokens_per_word:.1f}")
    if split:
        yield "warn", f"Words are split into many tokens: {listed(split)} tokens per word {beside}."
    long = [each for each in checkup.languages if each.cut]
    if long:
        count = sum(each.cut for each in long)
        were = "was" if count == 1 else "were"
        yield "warn", f"{counted(count, 'sentences')} of {_names(long)} {were} truncated to the model’s maximum length."
    if fine and not split and not long:
        most = max(each.tokens.tokens_per_word for each in checkup.languages)
        rates = f"{fewest.tokens.tokens_per_word:.1f} to {most:.1f} tokens per word"
        yield "good", f"The tokenizer treats all languages alike: {rates}, less than {_share(UNKNOWN)} unknown."


# --- space ---


def _space_findings(checkup: Checkup) -> Iterator[_Said]:
    """Geometry of the best layer: language identity, dominant directions, anisotropy, hubs, CKA."""
    here = checkup.at(checkup.best.layer)
    yield _probe_finding(checkup)
    yield from _dominant_directions(checkup)
    if here.mean_cosine >= ANISOTROPIC:
        text = f"The space is anisotropic: in layer {here.layer} two unrelated sentences of one language have a cosine"
        text += f" of {here.mean_cosine:.2f} on average, so a high cosine means little."
        yield "plain", text, _fix(checkup, "whitening")
    if here.hubness >= HUBS:
        values = f"hubness {here.hubness:.1f}, with CSLS {here.hubness_csls:.1f}"
        text = f"Some sentences are near neighbors of many others: {values}."
        yield "plain", text, Action("csls", here.layer)
    if here.cka is not None and here.cka_null is not None:
        pairs = len(checkup.pairs)
        which = "every pair" if here.cka_above == pairs else f"{here.cka_above} of {pairs} pairs"
        text = f"Mean debiased CKA is {here.cka:.2f} there, significantly above shuffled sentences"
        yield "plain", f"{text} ({here.cka_null:.3f}) in {which}."


def _dominant_directions(checkup: Checkup) -> Iterator[_Said]:
    """Layers in which a few strong directions hide the rest."""
    hidden = [
        each
        for each in checkup.layers
        if each.found["trimmed"].low > each.found["centered"].high
        and each.found["trimmed"].value >= each.found["centered"].value + WORTH
    ]
    if hidden:
        most = max(hidden, key=lambda each: each.found["trimmed"].value)
        names = [str(each.layer) for each in hidden]
        which = f"layer {names[0]}" if len(names) == 1 else f"layers {listed(names)}"
        found, before = percent(most.found["trimmed"]), percent(most.found["centered"])
        text = f"A few strong directions dominate {which}: with means removed, layer {most.layer} finds {found} without"
        yield "warn", f"{text} the two strongest and {before} with them.", _fix(checkup, "trimmed")


def _probe_finding(checkup: Checkup) -> _Said:
    here = checkup.at(checkup.best.layer)
    probe = here.probe
    where = f"in layer {here.layer} (chance {_share(probe.chance)})"
    if probe.linear.low <= probe.chance:
        return "good", f"A linear probe cannot tell the languages apart {where}: {percent(probe.linear)}."
    only = "" if probe.linear.low > DETECTED else "only "
    text = f"A linear probe identifies the language of {only}{percent(probe.linear)} of sentences {where}"
    text += f"; the means of two languages are {here.distance:.1f} standard deviations apart"
    if probe.spread.low > probe.chance:
        text += f". With means removed, the spread of a language’s sentences still identifies {percent(probe.spread)}"
    return "plain", f"{text}.", _fix(checkup, "leace")


# --- formatting ---


def percent(found: Interval) -> str:
    """Format a share with its confidence interval."""
    return f"{100 * found.value:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"


def points(gain: Interval, sign: str = "+", *, turned: bool = False) -> str:
    """Format a difference of shares in points with its confidence interval; ``turned`` negates it."""
    value, low, high = (-gain.value, -gain.high, -gain.low) if turned else (gain.value, gain.low, gain.high)
    return f"{100 * value:{sign}.1f} points ({100 * low:{sign}.1f} to {100 * high:{sign}.1f})"


def _share(share: float) -> str:
    """Format a share in percent, without decimals from 10 % on.

    >>> _share(0.001), _share(0.2), _share(0.6545), _share(0.996), _share(1.0)
    ('0.1 %', '20 %', '65 %', '100 %', '100 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"

"""What the figures of a check-up mean, in plain words: functions of the numbers, with every threshold in this place.

Nothing is claimed that is within the noise: a difference counts where its 95 % interval is on one side of zero *and* it
is large enough to matter; a level counts where the whole interval is beyond the threshold. Levels of P@1 are meant for
about a thousand candidates; with far fewer, translations are easier to find.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Literal

from isoglot.core.progress import counted
from isoglot.diagnose.names import language_name, listed
from isoglot.retrieve.simultaneous_intervals import MARGIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.diagnose.result import Checkup, LanguageFacts
    from isoglot.retrieve.metrics import Interval

# --- thresholds ---

LOST = 0.05
"""A language whose best pair finds surely less than this is as good as not in the space."""
BAD = 0.5
"""A pair that finds surely less than this is badly aligned."""
GOOD = 0.8
"""Languages that find surely more than this are well aligned."""
BEHIND = 0.1
"""A language is behind the others where its pairs surely find less than theirs by this much."""
WORTH = 0.01
"""A gain is worth naming from one point on."""
ENOUGH = 3
"""Pairs a dimension; of a rotation that was fitted on fewer and loses, nothing is advised."""
UNKNOWN = 0.01
"""Unknown tokens of a language, as a share, that are a defect."""
UNKNOWN_MANY = 0.1
"""The same, from which on the language cannot be read."""
PIECES = 1.5
"""Tokens a word, in multiples of the language that has fewest, from which on words are said to be cut up."""
SPELT = 0.5
"""Share of tokens of one letter that is spelling, where there are also so many tokens a word:"""
SPELT_PIECES = 2.5
"""Tokens a word; Chinese has one character a token by nature, and fewer than this a word."""
SUITED = 1.4
"""A tokenizer suits languages up to so many times the fewest tokens a word, without unknown tokens."""
ONE_WAY = 0.5
"""Mean cosine of unrelated sentences from which on vectors are said to point one way."""
HUBS = 3.0
"""Skewness of the 10-occurrence from which on hubs are worth a word."""
TOLD = 0.9
"""Accuracy of the probe from which on the language is said to be written all over a sentence."""

Topic = Literal["verdict", "layer", "languages", "gain", "tokenizer", "space"]
Tone = Literal["good", "plain", "warn", "bad"]


@dataclass(frozen=True)
class Finding:
    """A sentence or two, what it is about, and how it is meant."""

    topic: Topic
    tone: Tone
    text: str


def all_findings(checkup: Checkup) -> list[Finding]:
    """Everything worth saying, the most important first."""
    return [
        verdict(checkup),
        *which_layer(checkup),
        *which_languages(checkup),
        *what_helps(checkup),
        *what_tokens(checkup),
        *what_space(checkup),
    ]


# --- how well ---


def above_chance(found: Interval, chance: float) -> bool:
    """Whether so much is surely more than chance; where it is not, chance is all that can be told."""
    return found.low > chance


def suited(languages: Sequence[LanguageFacts]) -> list[str]:
    """The languages that the tokenizer seems to be made for."""
    fewest = min(each.tokens.tokens_per_word for each in languages)
    return [
        each.code
        for each in languages
        if each.tokens.tokens_per_word <= SUITED * fewest and each.tokens.unknown_rate < UNKNOWN
    ]


def verdict(checkup: Checkup) -> Finding:
    """The whole in one or two sentences."""
    best = checkup.best
    names = [language_name(each.code) for each in checkup.languages]
    level = (
        f"{percent(best.found)} of translations among {checkup.sentences:,} sentences (chance {_share(checkup.chance)})"
    )
    chance = not above_chance(best.found, checkup.chance)
    none = chance or all(pair.at(best.layer).found[best.way].low < BAD for pair in checkup.pairs)
    own = suited(checkup.languages)
    if none and len(own) == 1 and len(names) > 1:
        name = language_name(own[0])
        return Finding(
            "verdict",
            "bad",
            f"{name} only, by all that can be seen here: the tokenizer suits no other of {listed(names)}, and the best "
            f"layer finds {level}.",
        )
    if chance:
        return Finding(
            "verdict",
            "bad",
            f"No better than chance, as far as {listed(names)} can tell: the best layer finds {level}.",
        )
    if none:
        return Finding(
            "verdict", "bad", f"Badly aligned: the best layer finds {level}, and no pair surely {_share(BAD)}."
        )
    if best.found.low > GOOD:
        return Finding("verdict", "good", f"Well aligned: the best layer finds {level}.")
    return Finding("verdict", "plain", f"Aligned in part: the best layer finds {level}.")


def which_layer(checkup: Checkup) -> list[Finding]:
    """Which layer to use, and which others would do."""
    best = checkup.best
    if not above_chance(best.found, checkup.chance):
        return [Finding("layer", "bad", "No layer is surely better than chance: there is none to recommend.")]
    how = "with each language’s mean removed" if best.way == "centered" else "vectors as they are"
    text = f"Use layer {best.layer} of {checkup.depth}, {how}."
    if verdict(checkup).tone == "bad":
        text = f"If it must serve several languages, layer {best.layer} of {checkup.depth} does best, {how}."
    if best.as_good:
        text += f" {_layers(best.as_good).capitalize()} as good, within {100 * MARGIN:.0f} points by a paired test."
    if best.undecided:
        text += f" Whether {_layers(best.undecided)} as good, these sentences cannot tell."
    last = checkup.layers[-1].layer
    if best.over_last is not None and surely_gains(best.over_last):
        text += f" The last one, {last}, finds {points(best.over_last, sign='')} fewer."
    return [Finding("layer", "plain", text), *_other_layers(checkup), *_over_embeddings(checkup)]


def _layers(layers: Sequence[int]) -> str:
    names = [str(layer) for layer in layers]
    return f"layer {names[0]} is" if len(names) == 1 else f"layers {listed(names)} are"


def _other_layers(checkup: Checkup) -> list[Finding]:
    """Languages for which another layer is surely better."""
    return [
        Finding(
            "layer",
            "warn",
            f"{language_name(each.code)} is best in layer {each.layer}, not {checkup.best.layer}: it finds "
            f"{percent(each.at_layer)} there, {points(each.layer_gain, sign='')} more.",
        )
        for each in checkup.languages
        if each.layer_gain is not None
    ]


def _over_embeddings(checkup: Checkup) -> list[Finding]:
    over = checkup.best.over_first
    first = checkup.layers[0]
    if first.layer != 0 or (over is not None and over.value <= 0):
        return []
    if over is None or over.low <= 0:
        return [
            Finding(
                "layer",
                "warn",
                "No layer is surely better than layer 0, the word pieces without their context: what is found may rest "
                "on words that are written alike.",
            )
        ]
    return [
        Finding(
            "layer",
            "plain",
            f"Word pieces without context (layer 0) find {percent(first.found[checkup.best.way])}; "
            f"the layers add {points(over, sign='')}.",
        )
    ]


# --- which languages ---


def which_languages(checkup: Checkup) -> list[Finding]:
    """Languages that are not in the space, badly in it, or behind the others."""
    if len(checkup.pairs) == 1:
        return []  # the verdict has said it
    chance = checkup.chance
    at_chance = [
        each for each in checkup.languages if not any(above_chance(found, chance) for found in (each.found, each.best))
    ]
    lost = [each for each in checkup.languages if each not in at_chance and each.best.high < LOST]
    bad = [each for each in checkup.languages if each not in (*at_chance, *lost) and each.best.high < BAD]
    said = []
    if at_chance:
        names = listed([language_name(each.code) for each in at_chance])
        said.append(
            Finding(
                "languages", "bad", f"{names} cannot be told from chance with any other language ({_share(chance)})."
            )
        )
    if lost:
        said.append(
            Finding("languages", "bad", f"Next to nothing is found for {_reached(lost)}; chance is {_share(chance)}.")
        )
    if bad:
        said.append(Finding("languages", "bad", f"Badly aligned even with the nearest language: {_reached(bad)}."))
    weak = [*at_chance, *lost, *bad]
    behind = [
        each for each in checkup.languages if each not in weak and each.lead is not None and each.lead.high < -BEHIND
    ]
    for each in behind:
        assert each.lead is not None  # noqa: S101 - for the type checker
        lag = points(each.lead, sign="", turned=True)
        said.append(
            Finding(
                "languages",
                "warn",
                f"{language_name(each.code)} is behind: its pairs find {lag} fewer than the others.",
            )
        )
    if not said and len(checkup.languages) > 2:
        said.append(Finding("languages", "good", "No language falls clearly behind the others."))
    return said


def _reached(languages: Sequence[LanguageFacts]) -> str:
    return listed(
        [
            f"{language_name(each.code)} ({100 * each.best.value:.1f} % with {language_name(each.partner)})"
            for each in sorted(languages, key=lambda each: each.best.value)
        ]
    )


# --- what helps ---


def surely_gains(gain: Interval) -> bool:
    """Whether it is surely above zero, and enough to matter."""
    return gain.low > 0 and gain.value >= WORTH


def _surely_loses(gain: Interval) -> bool:
    return gain.high < 0 and -gain.value >= WORTH


def what_helps(checkup: Checkup) -> list[Finding]:
    """What removing means, CSLS and a map would gain in the best layer."""
    best = checkup.best
    over = "on top of that" if best.way == "centered" else "over plain cosine"
    said = [
        _gain(
            f"Removing each language’s mean, {checkup.estimates.means_in_words},",
            best.centering,
            "over vectors as they are; it costs nothing",
        ),
        _gain(
            f"Searching by CSLS instead of cosine, neighborhoods {checkup.estimates.neighborhoods_in_words},",
            best.csls,
            f"{over}; it costs nothing",
        ),
    ]
    share = 1 - 1 / checkup.settings.get("folds", 5)
    fitted = round(checkup.sentences * share)
    rotation = f"A rotation of one language onto the other, fitted on {fitted:,} pairs and tested on others,"
    if _surely_loses(best.mapping) and fitted < ENOUGH * checkup.width:
        wanted = 1000 * ceil(ENOUGH * checkup.width / share / 1000)
        text = (
            f"{rotation} loses {points(best.mapping, sign='', turned=True)}, but so few pairs cannot fix "
            f"{checkup.width:,} dimensions: whether one would help is open. Give more: --sentences {wanted}."
        )
        return [*said, Finding("gain", "plain", text)]
    mapping = _gain(rotation, best.mapping, over)
    beyond = best.mapping_over_first
    if surely_gains(best.mapping) and beyond is not None and beyond.low <= 0:
        first = percent(checkup.layers[0].found["mapped"])
        text = (
            f"{mapping.text} But a map of layer 0, word pieces without context, finds no less, {first}: it may well "
            "learn from the pairs which words go together, rather than meet a space that is there."
        )
        return [*said, Finding("gain", "plain", text)]
    return [*said, mapping]


def _gain(what: str, gain: Interval, over: str) -> Finding:
    if surely_gains(gain):
        return Finding("gain", "good", f"{what} gains {points(gain, sign='')} {over}.")
    if _surely_loses(gain):
        return Finding("gain", "warn", f"{what} loses {points(gain, sign='', turned=True)}: leave it.")
    if gain.low > 0 or gain.high < 0 or max(-gain.low, gain.high) < WORTH:
        return Finding("gain", "plain", f"{what} makes no difference that matters: {points(gain)}.")
    return Finding("gain", "plain", f"{what} makes no difference that can be told from noise: {points(gain)}.")


# --- the tokenizer ---


def what_tokens(checkup: Checkup) -> list[Finding]:
    """What is wrong with the tokenizer, for which language."""
    fewest = min(checkup.languages, key=lambda each: each.tokens.tokens_per_word)
    beside = f"where {language_name(fewest.code)} has {fewest.tokens.tokens_per_word:.1f}"
    said: list[Finding] = []
    cut: list[LanguageFacts] = []
    for each in checkup.languages:
        name, tokens = language_name(each.code), each.tokens
        if tokens.unknown_rate >= UNKNOWN_MANY:
            said.append(
                Finding(
                    "tokenizer",
                    "bad",
                    f"{_share(tokens.unknown_rate)} of the tokens of {name} are unknown: that much of it never reaches "
                    "the model.",
                )
            )
        elif tokens.unknown_rate >= UNKNOWN:
            said.append(
                Finding("tokenizer", "warn", f"{_share(tokens.unknown_rate)} of the tokens of {name} are unknown.")
            )
        if tokens.spelt_share >= SPELT and tokens.tokens_per_word >= SPELT_PIECES:
            said.append(
                Finding(
                    "tokenizer",
                    "bad",
                    f"{name} is spelt letter by letter: {tokens.tokens_per_word:.1f} tokens a word {beside}.",
                )
            )
        elif tokens.tokens_per_word >= PIECES * fewest.tokens.tokens_per_word and tokens.unknown_rate < UNKNOWN_MANY:
            cut.append(each)
    if cut:
        parts = [f"{language_name(each.code)} {each.tokens.tokens_per_word:.1f}" for each in cut]
        said.append(Finding("tokenizer", "warn", f"Words are cut up: {listed(parts)} tokens a word {beside}."))
    long = [each.code for each in checkup.languages if each.cut]
    if long:
        count = sum(each.cut for each in checkup.languages)
        said.append(
            Finding(
                "tokenizer",
                "warn",
                f"{counted(count, 'sentences')} of {listed([language_name(code) for code in long])} "
                f"{'were' if count != 1 else 'was'} longer than the model takes and cut.",
            )
        )
    if not said:
        most = max(each.tokens.tokens_per_word for each in checkup.languages)
        said.append(
            Finding(
                "tokenizer",
                "good",
                f"The tokenizer treats them alike: {fewest.tokens.tokens_per_word:.1f} to {most:.1f} tokens a word, "
                f"and less than {_share(UNKNOWN)} unknown.",
            )
        )
    return said


# --- the space ---


def what_space(checkup: Checkup) -> list[Finding]:
    """How the space is built in the best layer: languages, directions, hubs, and whether it is related at all."""
    here = checkup.at(checkup.best.layer)
    said = [_probe(checkup), *_drowned(checkup)]
    if here.mean_cosine >= ONE_WAY:
        said.append(
            Finding(
                "space",
                "plain",
                f"Vectors point one way: two unrelated sentences of a language have a cosine of {here.mean_cosine:.2f} "
                f"in layer {here.layer}, so a high cosine says little.",
            )
        )
    if here.hubness >= HUBS:
        said.append(
            Finding(
                "space",
                "plain",
                f"Some sentences are near to everything: hubness {here.hubness:.1f}, with CSLS "
                f"{here.hubness_csls:.1f}.",
            )
        )
    if here.cka is not None and here.cka_null is not None:
        pairs = len(checkup.pairs)
        which = "every pair" if here.cka_above == pairs else f"{here.cka_above} of {pairs} pairs"
        said.append(
            Finding(
                "space",
                "plain",
                f"Debiased CKA is {here.cka:.2f} on average there, and above that of shuffled sentences "
                f"({here.cka_null:.3f}) in {which}.",
            )
        )
    return said


def _drowned(checkup: Checkup) -> list[Finding]:
    """Layers in which a few strong directions hide the rest."""
    drowned = [
        each
        for each in checkup.layers
        if each.found["trimmed"].low > each.found["centered"].high
        and each.found["trimmed"].value >= each.found["centered"].value + WORTH
    ]
    if not drowned:
        return []
    most = max(drowned, key=lambda each: each.found["trimmed"].value)
    names = [str(each.layer) for each in drowned]
    which = f"layer {names[0]}" if len(names) == 1 else f"layers {listed(names)}"
    return [
        Finding(
            "space",
            "warn",
            f"A few strong directions drown the rest in {which}: without the two strongest, layer {most.layer} finds "
            f"{percent(most.found['trimmed'])} with means removed, and with them {percent(most.found['centered'])}.",
        )
    ]


def _probe(checkup: Checkup) -> Finding:
    here = checkup.at(checkup.best.layer)
    probe = here.probe
    where = f"in layer {here.layer} (chance {_share(probe.chance)})"
    if probe.linear.low <= probe.chance:
        return Finding(
            "space", "good", f"A linear probe cannot tell the languages apart {where}: {percent(probe.linear)}."
        )
    only = "" if probe.linear.low > TOLD else "only "
    text = f"A linear probe tells the language of {only}{percent(probe.linear)} of sentences {where}"
    means = f"; the means of two languages are {here.distance:.1f} × the spread of one apart"
    left = ""
    if probe.spread.low > probe.chance:
        left = f". With the means removed, how a language is spread still gives away {percent(probe.spread)}"
    return Finding("space", "plain", f"{text}{means}{left}.")


# --- numbers in words ---


def percent(found: Interval) -> str:
    """A share with its interval."""
    return f"{100 * found.value:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"


def points(gain: Interval, sign: str = "+", *, turned: bool = False) -> str:
    """A difference of shares in points, with its interval; ``turned``, what is lost as a positive number."""
    value, low, high = (-gain.value, -gain.high, -gain.low) if turned else (gain.value, gain.low, gain.high)
    return f"{100 * value:{sign}.1f} points ({100 * low:{sign}.1f} to {100 * high:{sign}.1f})"


def _share(share: float) -> str:
    """A share in percent, with as many digits as it needs: whole percents from 10 on.

    >>> _share(0.001), _share(0.2), _share(0.6545), _share(0.996), _share(1.0)
    ('0.1 %', '20 %', '65 %', '100 %', '100 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"

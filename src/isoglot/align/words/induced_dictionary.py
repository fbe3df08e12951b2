"""A weighted dictionary from word-aligned bitext: real anchors for real languages.

Links are counted by the two words they join. A translation is kept where it is common enough for its word, seen often
enough, and wanted by both sides. Weights are counts by default, not probabilities: who switches words
(:mod:`isoglot.text.code_switching`) reads a dictionary in both directions and divides by the weights of a word, and
then counts give p(target | source) and p(source | target) at once. With probabilities, a rare compound of which all
three uses come from *discount* would weigh as much among the translations of *discount* as the word for it.

Words are counted in their usual case, that which they mostly have inside sentences: *Die* at a beginning is *die*.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from isoglot.align.words.diagonal_model import WordAlignConfig
from isoglot.align.words.symmetrization import Symmetry
from isoglot.core.config import Config
from isoglot.core.errors import InputError
from isoglot.text.formats.dictionary import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.text.formats.pharaoh import Links

_OPENERS = frozenset('.:;!?•…"«»„“”‚‘([{—–-*。：；！？（「『')  # what a capital behind it need not mean anything
_INSIDE = frozenset("-‑'’")


class InducedConfig(Config):
    """Which translations are kept."""

    min_count: int = Field(3, ge=1)
    """links a translation needs"""
    min_share: float = Field(0.1, ge=0, le=1)
    """the share of a word's links that a translation needs, p(target | source)"""
    min_agreement: float = Field(0.05, ge=0, le=1)
    """what p(target | source) times p(source | target) must reach"""
    max_translations: int = Field(3, ge=1)
    """translations of a word at most, the most frequent ones"""
    case: Literal["usual", "lower", "keep"] = "usual"
    """words as they mostly are inside sentences, in lower case, or as they stand"""
    kinds: Literal["words", "all"] = "words"
    """words only, of letters, and no pair of the same letters; or numbers, signs and identical pairs too"""
    weight: Literal["count", "probability"] = "count"
    """the links of a pair, right in both directions, or p(target | source)"""


class DictionaryConfig(Config):
    """A dictionary from bitext that has no links yet."""

    align: WordAlignConfig = Field(default_factory=WordAlignConfig)
    """how words are aligned"""
    symmetry: Symmetry = "intersection"
    """how the two directions are made one: what both say is the cleanest"""
    keep: InducedConfig = Field(default_factory=InducedConfig)
    """which translations are kept"""


def induce_dictionary(
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    links: Sequence[Links],
    config: InducedConfig | None = None,
) -> list[Entry]:
    """The dictionary of a bitext, frequent words first, and each word's likeliest translation first.

    >>> entries = induce_dictionary([["the", "cat"]] * 3, [["le", "chat"]] * 3, [[(0, 0), (1, 1)]] * 3)
    >>> [(entry.source, entry.target, entry.weight) for entry in entries]
    [('cat', 'chat', 3.0), ('the', 'le', 3.0)]

    Args:
        source: The words of each source sentence.
        target: Those of each target sentence.
        links: Which is which; those of the intersection of two directions are the cleanest.
        config: Which translations are kept.

    Raises:
        InputError: The numbers of sentences differ, or a link points past the words.
    """
    config = InducedConfig() if config is None else config
    if not len(source) == len(target) == len(links):
        raise InputError(
            f"{len(source)} source sentences, {len(target)} target sentences and links of {len(links)}",
            remedy="give as many of each",
            code="input.row-count",
        )
    sides = [_cased(side, config.case) for side in (source, target)]
    joint: Counter[tuple[str, str]] = Counter()
    for number, (one, other, found) in enumerate(zip(*sides, links, strict=True), start=1):
        try:
            joint.update((one[i], other[j]) for i, j in found)
        except IndexError:
            raise InputError(
                f"a link of sentence pair {number} points past its {len(one)} and {len(other)} words",
                remedy="positions count from 0; were the links made from these words?",
                code="input.out-of-range",
            ) from None
    return _kept(joint, config)


def _kept(joint: Counter[tuple[str, str]], config: InducedConfig) -> list[Entry]:
    of_source: Counter[str] = Counter()
    of_target: Counter[str] = Counter()
    for (one, other), count in joint.items():
        of_source[one] += count
        of_target[other] += count
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for (one, other), count in joint.items():
        share = count / of_source[one]
        if count < config.min_count or share < config.min_share:
            continue
        if share * count / of_target[other] < config.min_agreement:
            continue
        if config.kinds == "all" or (_is_word(one) and _is_word(other) and one.lower() != other.lower()):
            found[one].append((count, other))
    entries = []
    for one in sorted(found, key=lambda word: (-of_source[word], word)):
        for count, other in sorted(found[one], key=lambda each: (-each[0], each[1]))[: config.max_translations]:
            entries.append(Entry(one, other, float(count) if config.weight == "count" else count / of_source[one]))
    return entries


def usual_case(sentences: Iterable[Sequence[str]]) -> list[list[str]]:
    """Words in the case they mostly have inside sentences.

    A form that has a quarter of the uses of its word inside sentences stays as it is there: German *arbeiten* and
    *Arbeiten* are two words.

    >>> usual_case([["Die", "Katze", "sieht", "die", "Katze"]])
    [['die', 'Katze', 'sieht', 'die', 'Katze']]
    """
    kept = [list(words) for words in sentences]
    inside: dict[str, Counter[str]] = defaultdict(Counter)
    anywhere: dict[str, Counter[str]] = defaultdict(Counter)
    for words in kept:
        for word, free in zip(words, _free(words), strict=True):
            anywhere[word.lower()][word] += 1
            if not free:
                inside[word.lower()][word] += 1
    usual: dict[str, str] = {}
    own: set[str] = set()
    for lower, forms in anywhere.items():
        counts = inside.get(lower, forms)
        usual[lower] = max(counts, key=lambda form: (counts[form], form))
        own.update(form for form, count in counts.items() if 4 * count >= counts.total() and lower in inside)
    return [
        [
            word if word in own and not free else usual[word.lower()]
            for word, free in zip(words, _free(words), strict=True)
        ]
        for words in kept
    ]


def _free(words: Sequence[str]) -> list[bool]:
    """Whether a capital means nothing there: at the beginning, or behind a sign that may end a sentence."""
    return [place == 0 or words[place - 1][-1:] in _OPENERS for place in range(len(words))]


def _cased(sentences: Sequence[Sequence[str]], case: str) -> Sequence[Sequence[str]]:
    if case == "usual":
        return usual_case(sentences)
    return [[word.lower() for word in words] for words in sentences] if case == "lower" else sentences


def _is_word(word: str) -> bool:
    """Letters, with hyphens and apostrophes among them.

    >>> [_is_word(word) for word in ("peut-être", "l'", "表", "x1", "snake_case", "3.5", "-")]
    [True, True, True, False, False, False, False]
    """
    kinds = [unicodedata.category(letter)[0] for letter in word if letter not in _INSIDE]
    return bool(kinds) and all(kind in "LM" for kind in kinds)

"""Weighted dictionary from word-aligned bitext: real anchors for real languages.

Links are counted by the two words they join. A translation is kept if it is common enough for its word, seen often
enough, and supported in both directions. Weights are counts by default, not probabilities: code-switching
(:mod:`isoglot.text.code_switching`) reads a dictionary in both directions and normalizes by the weights of a word, so
that counts give p(target | source) and p(source | target) at once. With probabilities, a rare compound all of whose
three uses are translated by *discount* would weigh as much among the translations of *discount* as its proper one.

Words are counted in their usual case, the most frequent one inside sentences: *Die* at a beginning is *die*.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from isoglot.align.words.diagonal_model import WordAlignConfig
from isoglot.align.words.links import Symmetry
from isoglot.core.config import Config
from isoglot.core.errors import InputError, check_counts
from isoglot.text.formats.dictionary import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.text.formats.parallel import Links

_OPENERS = frozenset('.:;!?•…"«»„“”‚‘([{—–-*。：；！？（「『')  # after these, capitalization is uninformative
_INSIDE = frozenset("-‑'’")


class InducedConfig(Config):
    """Which translations are kept.

    >>> from isoglot.align import induce_dictionary
    >>> text = [["the", "cat"]] * 2, [["le", "chat"]] * 2, [[(0, 0), (1, 1)]] * 2
    >>> len(induce_dictionary(*text)), len(induce_dictionary(*text, InducedConfig(min_count=2)))
    (0, 2)
    """

    min_count: int = Field(3, ge=1)
    """minimum number of links of a translation"""
    min_share: float = Field(0.1, ge=0, le=1)
    """minimum share of a word's links, p(target | source)"""
    min_agreement: float = Field(0.05, ge=0, le=1)
    """minimum of p(target | source) times p(source | target)"""
    max_translations: int = Field(3, ge=1)
    """maximum number of translations per word, the most frequent ones"""
    case: Literal["usual", "lower", "keep"] = "usual"
    """words in their usual case inside sentences, in lower case, or as they are"""
    kinds: Literal["words", "all"] = "words"
    """words of letters only, without pairs of the same spelling; or also numbers, signs and identical pairs"""
    weight: Literal["count", "probability"] = "count"
    """number of links, valid in both directions, or p(target | source)"""


class DictionaryConfig(Config):
    """Dictionary from bitext without links."""

    align: WordAlignConfig = Field(default_factory=WordAlignConfig)
    """settings of word alignment"""
    symmetry: Symmetry = "intersection"
    """symmetrization: the intersection is the most precise"""
    keep: InducedConfig = Field(default_factory=InducedConfig)
    """which translations are kept"""


def induce_dictionary(
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    links: Sequence[Links],
    config: InducedConfig | None = None,
) -> list[Entry]:
    """Dictionary of a bitext, frequent words first, and each word's most likely translation first.

    >>> entries = induce_dictionary([["the", "cat"]] * 3, [["le", "chat"]] * 3, [[(0, 0), (1, 1)]] * 3)
    >>> [(entry.source, entry.target, entry.weight) for entry in entries]
    [('cat', 'chat', 3.0), ('the', 'le', 3.0)]

    Args:
        source: Words of each source sentence.
        target: Words of each target sentence.
        links: Links between them; the intersection of two directions is the most precise.
        config: Which translations are kept.

    Returns:
        Entries with their weights.

    Raises:
        InputError: The numbers of sentences differ, or a link is out of range.
    """
    config = InducedConfig() if config is None else config
    counts = {"source": len(source), "target": len(target), "links": len(links)}
    check_counts("sentences", counts, "give as many of each")
    sides = [_cased(side, config.case) for side in (source, target)]
    joint: Counter[tuple[str, str]] = Counter()
    for number, (one, other, found) in enumerate(zip(*sides, links, strict=True), start=1):
        try:
            joint.update((one[i], other[j]) for i, j in found)
        except IndexError:
            problem = f"a link of sentence pair {number} points past its {len(one)} and {len(other)} words"
            remedy = "positions count from 0; were the links made from these words?"
            raise InputError(problem, remedy, "out-of-range") from None
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
    """Words in their most frequent case inside sentences.

    A form with at least a quarter of the uses of its word inside sentences is kept there: German *arbeiten* and
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
    """Whether capitalization is uninformative: at the beginning, or after a sign that may end a sentence."""
    return [place == 0 or words[place - 1][-1:] in _OPENERS for place in range(len(words))]


def _cased(sentences: Sequence[Sequence[str]], case: str) -> Sequence[Sequence[str]]:
    if case == "usual":
        return usual_case(sentences)
    return [[word.lower() for word in words] for words in sentences] if case == "lower" else sentences


def _is_word(word: str) -> bool:
    """Whether a word consists of letters, with hyphens and apostrophes among them.

    >>> [_is_word(word) for word in ("peut-être", "l'", "表", "x1", "snake_case", "3.5", "-")]
    [True, True, True, False, False, False, False]
    """
    kinds = [unicodedata.category(letter)[0] for letter in word if letter not in _INSIDE]
    return bool(kinds) and all(kind in "LM" for kind in kinds)

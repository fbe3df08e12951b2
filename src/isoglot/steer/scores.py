"""How good a token translation is: how far it switched, how much of that is right, what became of the rest.

**Convert rate** (Liu et al. 2020): the tokens that only the target has, among those that not both languages have. It
depends on the token sets, so their threshold and the text they were learned from stand beside it.

**Precision**: a switched token is right if the word of the output that it begins or belongs to is a listed translation
of the source word at its position; or if the output over all pieces of that source word, read as one, is. Only tokens
whose source word the dictionary has are judged; ``coverage`` is their share of the switched ones. Case counts for
nothing. Where a language is written without blanks, a piece is a word. A target word of several pieces cannot be right
where the source word has one; ``begun`` counts such a token too if it is the first piece of a listed translation.

**Headline**: convert rate × precision. Beside it the **distinct-type ratio**, the number of different switched tokens
over that of the source tokens they replace: one frequent word, repeated, has a ratio near 0.

**Kept**: of all positions with a word of the dictionary, the share that is still the same token or a right one. Its
harmonic mean with the convert rate is high only where the language changed and the meaning did not.

Shapes: ``N`` tokens of all sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.errors import ConfigError, InputError
from isoglot.steer.bleu import bleu_1
from isoglot.steer.decoding_protocol import PROTOCOLS
from isoglot.steer.token_translation import Translation
from isoglot.steer.token_words import WordFinder
from isoglot.text.formats.dictionary import Entry
from isoglot.vocab.whole_words import blank_before_words

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from isoglot.steer.bleu import Bleu, BleuTokens
    from isoglot.steer.token_sets import TokenSets
    from isoglot.vocab import Vocabulary

MIN_JUDGED = 30
"""Switched tokens that a dictionary must have judged before a cell is named for its precision or headline."""
Dictionary = Mapping[str, Iterable[str]] | Iterable[Entry]
"""Translations by word, or the entries of a dictionary."""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The figures of a translation; None where one cannot be known: no dictionary, no references, nothing switched."""

    tokens: int
    switched: int
    convert_rate: float | None
    neither: float
    """the share of tokens in neither language's set"""
    distinct: float | None
    """different switched tokens over different source tokens they replace"""
    judged: int | None = None
    """switched tokens whose source word the dictionary has"""
    coverage: float | None = None
    """the share of the switched tokens that these are"""
    precision: float | None = None
    """the share of the judged that is right"""
    begun: float | None = None
    """the share that is right or the first piece of what would be"""
    headline: float | None = None
    """convert rate times precision"""
    kept: float | None = None
    """positions with a word of the dictionary that are the same token or a right one"""
    harmonic: float | None = None
    """harmonic mean of convert rate and kept"""
    bleu: Bleu | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def convert_rate(out: Translation | Iterable[int] | np.ndarray, sets: TokenSets, source: str, target: str) -> float:
    """The share of tokens that are of the target, those that both languages have left out of the count.

    >>> from isoglot.steer.token_sets import TokenSets
    >>> sets = TokenSets({"en": np.array([1, 1, 1, 0, 0]), "de": np.array([0, 0, 1, 1, 0])})
    >>> convert_rate([0, 1, 2, 3, 3, 4], sets, "en", "de")  # two of the target, of six without the shared one
    0.4

    Args:
        out: The tokens that the model gave, special ones left out.
        sets: Which tokens are whose.
        source: The language of the text.
        target: The language it was shifted to.

    Returns:
        From 0 to 1; ``nan`` where every token is one that both have.

    Raises:
        ConfigError: There is no token set of a language, or no such token.
    """
    ids_N = _flat(out)
    sets.check_ids(ids_N)
    counted = len(ids_N) - int((sets.mask(source) & sets.mask(target))[ids_N].sum())
    return int(sets.only(target, but_not=source)[ids_N].sum()) / counted if counted else math.nan


def neither_share(out: Translation | Iterable[int] | np.ndarray, sets: TokenSets, source: str, target: str) -> float:
    """The share of tokens that neither language has; ``nan`` where there is no token.

    Raises:
        ConfigError: There is no token set of a language, or no such token.
    """
    ids_N = _flat(out)
    sets.check_ids(ids_N)
    return float((~(sets.mask(source) | sets.mask(target)))[ids_N].mean()) if len(ids_N) else math.nan


def distinct_ratio(given_N: np.ndarray, made_N: np.ndarray, switched_N: np.ndarray) -> float:
    """Different tokens among the switched over different ones among those they replace; ``nan`` where none is.

    >>> distinct_ratio(np.array([1, 2, 3, 4]), np.array([9, 9, 9, 4]), np.array([True, True, True, False]))
    0.3333333333333333
    """
    before = len(np.unique(given_N[switched_N]))
    return len(np.unique(made_N[switched_N])) / before if before else math.nan


def harmonic(control: float, kept: float) -> float:
    """The harmonic mean of how well the language is controlled and how much meaning is kept, both from 0 to 1.

    >>> harmonic(1.0, 0.5), harmonic(0.0, 1.0)
    (0.6666666666666666, 0.0)
    """
    return 2 * control * kept / (control + kept) if control + kept > 0 else 0.0


def score_translation(
    translation: Translation,
    *,
    dictionary: Dictionary | None = None,
    references: Sequence[str] | None = None,
    bleu_tokens: BleuTokens = PROTOCOLS["default"].bleu_tokens,
) -> Scores:
    """All figures of a translation.

    Args:
        translation: With its token sets.
        dictionary: From source to target, for precision and what rests on it.
        references: The sentences in the target language, for BLEU-1.
        bleu_tokens: What BLEU-1 counts.

    Raises:
        ConfigError: It has no token sets.
        InputError: The dictionary is empty, or there are not as many references.
        MissingPartError: sacrebleu is not installed, and there are references.
    """
    judge = None
    if dictionary is not None:
        judge = Judge(translation.vocabulary, translation.given, dictionary, translation.target)
    return scored(translation, judge=judge, references=references, bleu_tokens=bleu_tokens)


def scored(
    translation: Translation, *, judge: Judge | None, references: Sequence[str] | None, bleu_tokens: BleuTokens
) -> Scores:
    """The same with what is known of the source side made before, for many translations of the same sentences."""
    sets, source, target = translation.sets, translation.source, translation.target
    if sets is None:
        raise ConfigError("which tokens are whose is not known", remedy="give token sets", code="config.missing-data")
    given_N, made_N = np.concatenate(translation.given), np.concatenate(translation.made)
    switched_N = np.concatenate(translation.switched)
    verdict = None if judge is None else judge.verdict(translation.made)
    # Where a special token is the answer, nothing was said.
    kept_N = ~np.isin(made_N, sorted(translation.vocabulary.special.values()))
    kept_N |= made_N == translation.vocabulary.unknown_id
    if not kept_N.all():
        given_N, made_N, switched_N = given_N[kept_N], made_N[kept_N], switched_N[kept_N]
        verdict = None if verdict is None else verdict.of(kept_N)
    rate = convert_rate(made_N, sets, source, target)
    found: dict[str, Any] = {
        "tokens": len(made_N),
        "switched": int(switched_N.sum()),
        "convert_rate": _known(rate),
        "neither": neither_share(made_N, sets, source, target),
        "distinct": _known(distinct_ratio(given_N, made_N, switched_N)),
    }
    if verdict is not None:
        found |= _judged(verdict, given_N == made_N, switched_N, rate)
    if references is not None:
        found["bleu"] = bleu_1(
            translation.texts, references, target, tokens=bleu_tokens, vocabulary=translation.vocabulary
        )
    return Scores(**found)


def _judged(verdict: TokenVerdicts, same_N: np.ndarray, switched_N: np.ndarray, rate: float) -> dict[str, Any]:
    judged_N = switched_N & verdict.covered_N
    judged = int(judged_N.sum())
    right = int((verdict.right_N & judged_N).sum())
    begun = int(((verdict.right_N | verdict.begun_N) & judged_N).sum())
    covered = int(verdict.covered_N.sum())
    kept = int(((same_N | verdict.right_N) & verdict.covered_N).sum()) / covered if covered else math.nan
    precision = right / judged if judged else math.nan
    return {
        "judged": judged,
        "coverage": judged / int(switched_N.sum()) if switched_N.any() else None,
        "precision": _known(precision),
        "begun": begun / judged if judged else None,
        # Nothing switched is nothing right, whatever the precision of it would be.
        "headline": 0.0 if rate == 0 else _known(rate * precision),
        "kept": _known(kept),
        "harmonic": None if math.isnan(rate + kept) else harmonic(rate, kept),
    }


@dataclass(frozen=True)
class TokenVerdicts:
    """Of every token: whether the dictionary has its source word, and whether it is right, or begins what would be."""

    covered_N: np.ndarray
    right_N: np.ndarray
    begun_N: np.ndarray

    def of(self, kept_N: np.ndarray) -> TokenVerdicts:
        """The verdict on some of the tokens."""
        return TokenVerdicts(self.covered_N[kept_N], self.right_N[kept_N], self.begun_N[kept_N])


class Judge:
    """What a dictionary says about the source words of some sentences, and so about any output for them.

    Args:
        vocabulary: What ids mean.
        given: The ids of the sentences.
        dictionary: From source to target.
        target: The language of the translations.

    Raises:
        InputError: The dictionary is empty.
    """

    def __init__(
        self, vocabulary: Vocabulary, given: Sequence[np.ndarray], dictionary: Dictionary, target: str
    ) -> None:
        self._words = WordFinder(vocabulary)
        self._vocabulary = vocabulary
        self._target = target
        self._blank = blank_before_words(vocabulary, target)
        listed = translations_by_word(dictionary)
        if not listed:
            raise InputError(
                "the dictionary has no entries", remedy="write source, a blank, target a line", code="input.empty"
            )
        self._begins: dict[str, frozenset[int]] = {}
        self._spans: list[list[tuple[int, int, str, frozenset[str]]]] = []
        for ids_N in given:
            spans = []
            for first, last in self._words.spans(ids_N):
                word = self._words.text(ids_N[first:last].tolist())
                translations = listed.get(word.lower())
                if translations:
                    spans.append((first, last, word.lower(), translations))
            self._spans.append(spans)

    def verdict(self, made: Sequence[np.ndarray]) -> TokenVerdicts:
        """Look at what came out at every position that has a word of the dictionary."""
        covered, right, begun = [], [], []
        for ids_N, spans in zip(made, self._spans, strict=True):
            covered_N, right_N, begun_N = (np.zeros(len(ids_N), dtype=bool) for _ in range(3))
            ids = ids_N.tolist()
            words = self._output_words(ids_N, ids)
            for first, last, word, translations in spans:
                covered_N[first:last] = True
                whole = self._words.text(ids[first:last]).lower() in translations
                begins = self._begin(word, translations)
                for at in range(first, last):
                    right_N[at] = whole or words[at] in translations
                    begun_N[at] = ids[at] in begins
            covered.append(covered_N)
            right.append(right_N)
            begun.append(begun_N)
        return TokenVerdicts(np.concatenate(covered), np.concatenate(right), np.concatenate(begun))

    def _output_words(self, ids_N: np.ndarray, ids: list[int]) -> list[str]:
        """The word of the output at every position, in lower case."""
        words: list[str] = []
        for first, last in self._words.spans(ids_N):
            words += [self._words.text(ids[first:last]).lower()] * (last - first)
        return words

    def _begin(self, word: str, translations: Collection[str]) -> frozenset[int]:
        """The first pieces of those of a word's translations that have several, written small or capitalised."""
        found = self._begins.get(word)
        if found is None:
            forms = sorted({self._blank + form for each in translations for form in (each, each.capitalize())})
            encoded = self._vocabulary.encode_batch(forms, self._target)
            found = self._begins[word] = frozenset(ids[0] for ids in encoded if len(ids) > 1)
        return found


def translations_by_word(dictionary: Dictionary) -> dict[str, frozenset[str]]:
    """The translations of every word, all in lower case.

    >>> translations_by_word([Entry("Cat", "Katze"), Entry("cat", "Kater")]) == {"cat": {"katze", "kater"}}
    True
    """
    found: dict[str, set[str]] = {}
    if isinstance(dictionary, Mapping):
        for word, translations in dictionary.items():
            found.setdefault(word.lower(), set()).update(each.lower() for each in translations)
    else:
        for entry in dictionary:
            found.setdefault(entry.source.lower(), set()).add(entry.target.lower())
    return {word: frozenset(translations) for word, translations in found.items()}


def _flat(out: Translation | Iterable[int] | np.ndarray) -> np.ndarray:
    if isinstance(out, Translation):
        return np.concatenate(out.made)
    return np.asarray(out if isinstance(out, np.ndarray) else list(out), dtype=np.int64)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value

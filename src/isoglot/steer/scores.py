"""Scores of a token translation: how many tokens changed language, and how many of these are correct.

**Convert rate** (Liu et al. 2020): the share of target-only tokens among tokens not shared by both languages. It
depends on the token sets, so their threshold and text are reported with it.

**Precision**: a switched token is correct if the output word it is part of is a listed translation of the source word
at its position, or if the output over all tokens of that source word is. Only tokens whose source word is in the
dictionary are judged; ``coverage`` is their share of the switched tokens. Case is ignored. In languages written without
spaces, a token is a word (:class:`WordFinder`). A target word of several tokens cannot be correct if the source word
has one; ``begun`` also counts a token that is the first of a listed translation.

**Headline**: convert rate × precision. The **distinct-type ratio** is the number of different switched tokens over that
of the source tokens they replace; it is near 0 if one frequent word is repeated.

**Kept**: of all positions with a word of the dictionary, the share that is unchanged or correct. Its harmonic mean with
the convert rate is high only if the language changed and the meaning did not.

Shapes: ``N`` tokens of all sentences.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.errors import ConfigError, InputError
from isoglot.steer.bleu import Bleu, BleuTokens, bleu_1
from isoglot.steer.shifted_decoding import PROTOCOLS
from isoglot.steer.token_translation import Translation
from isoglot.text.cleaning.scripts import RANGES
from isoglot.text.formats.dictionary import Entry
from isoglot.vocab.subword_scheme import BYTES, CONTINUES, MARK
from isoglot.vocab.word_reader import blank_before_words

if TYPE_CHECKING:
    from isoglot.steer.token_sets import TokenSets
    from isoglot.vocab import Vocabulary

_LETTERS, _DIGITS, _SIGNS, _UNSPACED, _BLANK = range(5)
_UNSPACED_RANGES = [
    span for script in ("Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tibt") for span in RANGES[script]
]
MIN_JUDGED = 30
"""Minimum number of judged tokens for a cell to be the best by precision or headline."""
Dictionary = Mapping[str, Iterable[str]] | Iterable[Entry]
"""Translations by word, or the entries of a dictionary."""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of a translation; None without a dictionary, references or switched tokens.

    >>> scores = Scores(tokens=20, switched=8, convert_rate=0.5, neither=0.05, distinct=0.75)
    >>> scores.convert_rate, scores.precision
    (0.5, None)
    """

    tokens: int
    """number of decoded tokens"""
    switched: int
    """number of tokens that belong to the target language only"""
    convert_rate: float | None
    """share of target-only tokens among tokens that the two languages do not share"""
    neither: float
    """the share of tokens in neither language's set"""
    distinct: float | None
    """distinct switched tokens over distinct source tokens they replace"""
    judged: int | None = None
    """switched tokens whose source word is in the dictionary"""
    coverage: float | None = None
    """their share of the switched tokens"""
    precision: float | None = None
    """the share of judged tokens that are correct"""
    begun: float | None = None
    """the share that is correct or the first token of a correct word"""
    headline: float | None = None
    """convert rate times precision"""
    kept: float | None = None
    """positions with a word of the dictionary that are unchanged or correct"""
    harmonic: float | None = None
    """harmonic mean of convert rate and kept"""
    bleu: Bleu | None = None
    """BLEU-1 against the references"""

    def as_dict(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def convert_rate(out: Translation | Iterable[int] | np.ndarray, sets: TokenSets, source: str, target: str) -> float:
    """Share of target tokens, not counting tokens that both languages have.

    >>> from isoglot.steer.token_sets import TokenSets
    >>> sets = TokenSets({"en": np.array([1, 1, 1, 0, 0]), "de": np.array([0, 0, 1, 1, 0])})
    >>> convert_rate([0, 1, 2, 3, 3, 4], sets, "en", "de")  # two of the target, of six without the shared one
    0.4

    Args:
        out: Decoded tokens, without special tokens.
        sets: Tokens of each language.
        source: The language of the text.
        target: The language it was shifted to.

    Returns:
        From 0 to 1; ``nan`` if both languages have every token.

    Raises:
        ConfigError: A language has no token set, or an id is out of range.
    """
    ids_N = _all_ids(out)
    sets.check_ids(ids_N)
    counted = len(ids_N) - int((sets.mask(source) & sets.mask(target))[ids_N].sum())
    return int(sets.only(target, but_not=source)[ids_N].sum()) / counted if counted else math.nan


def neither_share(out: Translation | Iterable[int] | np.ndarray, sets: TokenSets, source: str, target: str) -> float:
    """Share of tokens that neither language has; ``nan`` without tokens.

    Raises:
        ConfigError: A language has no token set, or an id is out of range.
    """
    ids_N = _all_ids(out)
    sets.check_ids(ids_N)
    return float((~(sets.mask(source) | sets.mask(target)))[ids_N].mean()) if len(ids_N) else math.nan


def distinct_ratio(given_N: np.ndarray, made_N: np.ndarray, switched_N: np.ndarray) -> float:
    """Distinct switched tokens over the distinct tokens they replace; ``nan`` if none is switched.

    >>> distinct_ratio(np.array([1, 2, 3, 4]), np.array([9, 9, 9, 4]), np.array([True, True, True, False]))
    0.3333333333333333
    """
    before = len(np.unique(given_N[switched_N]))
    return len(np.unique(made_N[switched_N])) / before if before else math.nan


def harmonic(control: float, kept: float) -> float:
    """Harmonic mean of language control and kept meaning, both from 0 to 1.

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
    """All scores of a translation.

    Args:
        translation: With its token sets.
        dictionary: Word translations from source to target, for precision and related scores.
        references: Reference translations, for BLEU-1.
        bleu_tokens: Tokens that BLEU-1 counts.

    Returns:
        Convert rate, precision, distinct types and, with references, BLEU-1.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from isoglot.steer import TokenSets, Translation
    >>> from isoglot.vocab import train_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "text.txt"
    ...     _ = file.write_text("the house das Haus " * 20, encoding="utf-8")
    ...     vocabulary = train_vocabulary({"en": [file]}, mode="joint", size=300)
    >>> given, made = (np.array(vocabulary.encode(text)) for text in ("the house", "das house"))
    >>> ids, texts = np.arange(len(vocabulary)), {"en": "the house", "de": "das Haus"}
    >>> sets = TokenSets({code: np.isin(ids, vocabulary.encode(text)) for code, text in texts.items()})
    >>> translation = Translation("en", "de", 7, 2.0, "mean", [given], [made], vocabulary, sets)
    >>> scores = score_translation(translation)
    >>> scores.switched, scores.convert_rate
    (1, 0.5)

    Raises:
        ConfigError: It has no token sets.
        InputError: The dictionary is empty, or the number of references differs.
        MissingPartError: sacrebleu is not installed, and there are references.
    """
    judge = None
    if dictionary is not None:
        judge = Judge(translation.vocabulary, translation.given, dictionary, translation.target)
    return scored(translation, judge=judge, references=references, bleu_tokens=bleu_tokens)


def scored(
    translation: Translation, *, judge: Judge | None, references: Sequence[str] | None, bleu_tokens: BleuTokens
) -> Scores:
    """Score a translation with a judge that is shared by many translations of the same sentences."""
    sets, source, target = translation.sets, translation.source, translation.target
    if sets is None:
        raise ConfigError("the tokens of each language are not known", "give token sets", "missing-data")
    given_N, made_N = np.concatenate(translation.given), np.concatenate(translation.made)
    switched_N = np.concatenate(translation.switched)
    verdict_N3 = None if judge is None else judge.verdict(translation.made)
    # Positions with a predicted special token are not scored.
    kept_N = ~np.isin(made_N, sorted(translation.vocabulary.special.values()))
    kept_N |= made_N == translation.vocabulary.unknown_id
    if not kept_N.all():
        given_N, made_N, switched_N = given_N[kept_N], made_N[kept_N], switched_N[kept_N]
        verdict_N3 = None if verdict_N3 is None else verdict_N3[kept_N]
    rate = convert_rate(made_N, sets, source, target)
    found: dict[str, Any] = {
        "tokens": len(made_N),
        "switched": int(switched_N.sum()),
        "convert_rate": _none_if_nan(rate),
        "neither": neither_share(made_N, sets, source, target),
        "distinct": _none_if_nan(distinct_ratio(given_N, made_N, switched_N)),
    }
    if verdict_N3 is not None:
        found |= _dictionary_scores(verdict_N3, given_N == made_N, switched_N, rate)
    if references is not None:
        found["bleu"] = bleu_1(
            translation.texts, references, target, tokens=bleu_tokens, vocabulary=translation.vocabulary
        )
    return Scores(**found)


def _dictionary_scores(
    verdict_N3: np.ndarray, same_N: np.ndarray, switched_N: np.ndarray, rate: float
) -> dict[str, Any]:
    covered_N, right_N, begun_N = verdict_N3.T
    judged_N = switched_N & covered_N
    judged, right = int(judged_N.sum()), int((right_N & judged_N).sum())
    begun = int(((right_N | begun_N) & judged_N).sum())
    covered = int(covered_N.sum())
    kept = int(((same_N | right_N) & covered_N).sum()) / covered if covered else math.nan
    precision = right / judged if judged else math.nan
    return {
        "judged": judged,
        "coverage": judged / int(switched_N.sum()) if switched_N.any() else None,
        "precision": _none_if_nan(precision),
        "begun": begun / judged if judged else None,
        # Without switched tokens the headline is 0, though precision is undefined.
        "headline": 0.0 if rate == 0 else _none_if_nan(rate * precision),
        "kept": _none_if_nan(kept),
        "harmonic": None if math.isnan(rate + kept) else harmonic(rate, kept),
    }


class WordFinder:
    """Finds the words in rows of ids of a vocabulary, independent of language.

    A word ends where a token ends it or begins another, or where letters, digits and other characters meet. In Chinese
    characters, kana and the scripts of South-East Asia, which are written without spaces, every token is a word.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        special = set(vocabulary.special.values())
        self._kinds_V = np.array(
            [_SIGNS if index in special else _kind(piece) for index, piece in enumerate(vocabulary.pieces)]
        )
        self._texts: dict[tuple[int, ...], str] = {}

    def spans(self, ids_N: np.ndarray) -> list[tuple[int, int]]:
        """Start and end position of every word."""
        if not len(ids_N):
            return []
        kinds_N = self._kinds_V[ids_N]
        opens_N = (kinds_N == _UNSPACED) | (kinds_N != np.roll(kinds_N, 1))
        opens_N &= np.roll(kinds_N, 1) != _BLANK  # a blank token before a word is part of it
        opens_N |= self.vocabulary.starts[ids_N] | np.roll(self.vocabulary.ends[ids_N], 1)
        opens_N[0] = True
        firsts = np.flatnonzero(opens_N).tolist()
        return list(zip(firsts, [*firsts[1:], len(ids_N)], strict=True))

    def text(self, ids: Sequence[int]) -> str:
        """Text of some tokens, without surrounding spaces."""
        key = tuple(ids)
        found = self._texts.get(key)
        if found is None:
            found = self._texts[key] = self.vocabulary.decode(key).strip()
        return found


def _kind(piece: str) -> int:
    """Character class of a token, by its first character."""
    if piece in BYTES:
        return _LETTERS
    bare = piece.removeprefix(CONTINUES) or piece
    bare = bare.removeprefix(MARK).removeprefix("Ġ")
    if not bare:
        return _BLANK
    code = ord(bare[0])
    if any(first <= code <= last for first, last in _UNSPACED_RANGES):
        return _UNSPACED
    category = unicodedata.category(bare[0])
    if category[0] in "LM" or category == "Co":
        return _LETTERS
    return _DIGITS if category[0] == "N" else _SIGNS


class Judge:
    """Judges outputs for some sentences by a dictionary.

    Args:
        vocabulary: The vocabulary of the ids.
        given: Ids of the sentences.
        dictionary: Word translations from source to target.
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
            problem = "the dictionary has no entries"
            raise InputError(problem, "write a source word, a blank and a target word per line", "empty")
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

    def verdict(self, made: Sequence[np.ndarray]) -> np.ndarray:
        """Whether the dictionary has the source word of each token, the token is correct, or it begins a correct word.

        Returns:
            N × 3, for the tokens of all sentences.
        """
        found = []
        for ids_N, spans in zip(made, self._spans, strict=True):
            verdict_N3 = np.zeros((len(ids_N), 3), dtype=bool)
            ids = ids_N.tolist()
            words = self._output_words(ids_N, ids)
            for first, last, word, translations in spans:
                whole = self._words.text(ids[first:last]).lower() in translations
                begins = self._begin(word, translations)
                for at in range(first, last):
                    verdict_N3[at] = True, whole or words[at] in translations, ids[at] in begins
            found.append(verdict_N3)
        return np.concatenate(found)

    def _output_words(self, ids_N: np.ndarray, ids: list[int]) -> list[str]:
        """Output word at every position, in lower case."""
        words: list[str] = []
        for first, last in self._words.spans(ids_N):
            words += [self._words.text(ids[first:last]).lower()] * (last - first)
        return words

    def _begin(self, word: str, translations: Collection[str]) -> frozenset[int]:
        """First tokens of translations with several tokens, in lower case or capitalized."""
        found = self._begins.get(word)
        if found is None:
            forms = sorted({self._blank + form for each in translations for form in (each, each.capitalize())})
            encoded = self._vocabulary.encode_batch(forms, self._target)
            found = self._begins[word] = frozenset(ids[0] for ids in encoded if len(ids) > 1)
        return found


def translations_by_word(dictionary: Dictionary) -> dict[str, frozenset[str]]:
    """Translations by word, all in lower case.

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


def _all_ids(out: Translation | Iterable[int] | np.ndarray) -> np.ndarray:
    if isinstance(out, Translation):
        return np.concatenate(out.made)
    return np.asarray(out if isinstance(out, np.ndarray) else list(out), dtype=np.int64)


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value

"""Generated corpora: documents, parallel sentences, paraphrases and dictionaries of the built-in languages.

Everything is lazy, and the same for the same seed. Each document and each parallel sentence has its own random number
generator, so that it does not depend on the others.

Train, dev and test never share a sentence, in any language: the split is a function of the concepts of a sentence
(:func:`split_of`), and equal sentences have the same concepts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Literal
from zlib import crc32

from isoglot.core.errors import ConfigError, nearest_name
from isoglot.core.language_codes import language_code
from isoglot.core.rng import derive_seed
from isoglot.languages.meaning import Clause, Meaning, Name, Register, Thing, Wording, nodes
from isoglot.languages.random_meanings import Draw, Sampler, topic_draw
from isoglot.text.formats.dictionary import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.languages.grammars.rendering import Grammar
    from isoglot.languages.sentence import Sentence

Split = Literal["train", "dev", "test"]

GRAMMARS = {
    "en": ("english", "English"),
    "fr": ("french", "French"),
    "de": ("german", "German"),
    "ru": ("russian", "Russian"),
    "zh": ("chinese", "Chinese"),
}
LANGUAGES = tuple(GRAMMARS)


def grammar(language: str) -> Grammar:
    """The grammar of a built-in language.

    Args:
        language: Its code.

    Returns:
        The grammar, which renders meanings as sentences.

    >>> grammar("de").language
    'de'

    Raises:
        ConfigError: The language is not built in.
    """
    code = language_code(language)
    if code not in GRAMMARS:
        raise ConfigError(f"{language!r} is not a built-in language", nearest_name(code, GRAMMARS), "built-in-language")
    return _grammar(code)


@cache
def _grammar(code: str) -> Grammar:
    module, name = GRAMMARS[code]
    made: Grammar = getattr(import_module(f"isoglot.languages.grammars.{module}"), name)()
    return made


# --- splits ---


def split_of(meaning: Meaning) -> Split:
    """The split of a meaning, by its concepts: 5 % dev, 5 % test."""
    return split_by(" ".join(sorted(_concepts(meaning))))


def split_by(key: str) -> Split:
    """The split of a key."""
    bucket = crc32(key.encode()) % 20
    return "dev" if bucket == 0 else "test" if bucket == 1 else "train"


def _concepts(meaning: Meaning) -> Iterator[str]:
    """The verbs, nouns and names of a meaning."""
    for _, node in nodes(meaning):
        if isinstance(node, Clause):
            # sing and sing_song may be one word in some language: only the part before the underscore counts
            yield node.predicate.partition("_")[0]
        elif isinstance(node, Thing):
            yield node.concept
        elif isinstance(node, Name):
            yield node.name


# --- meanings ---


def _sampler(register: Register | None, *key: str | int, topics: Draw[str] | None = None) -> Sampler:
    random = Random(derive_seed(0, *key))  # noqa: S311 - not for secrets
    mixed: Register = "encyclopaedic" if random.random() < 0.6 else "conversational"
    return Sampler(random, (topics or topic_draw()).at(random.random()), register or mixed)


def _meaning(sampler: Sampler, split: Split) -> Meaning:
    last, cast = sampler.last, dict(sampler.cast)
    meaning = sampler.meaning()
    while split_of(meaning) != split:
        sampler.last, sampler.cast = last, dict(cast)  # a rejected sentence cannot be referred to
        meaning = sampler.meaning()
    return meaning


# --- corpora ---


def documents(
    language: str,
    *,
    seed: int = 0,
    split: Split = "train",
    register: Register | None = None,
    topics: Draw[str] | None = None,
) -> Iterator[list[Sentence]]:
    """Endless documents of 4 to 9 sentences on one topic, with recurring people and places.

    Documents of two languages are not parallel, even with the same seed.

    Args:
        language: A built-in language.
        seed: Random seed.
        split: Train, dev or test.
        register: ``encyclopaedic`` or ``conversational``. Default: both, in the ratio 6 to 4.
        topics: The topics with their frequencies. Default: those of the world. Documents of the same index and topic
            are the same under any two lists.

    Returns:
        Lists of sentences, without end.

    >>> 4 <= len(next(documents("en", seed=0))) <= 9
    True

    Raises:
        ConfigError: The language is not built in.
    """
    made = grammar(language)
    index = 0
    while True:
        sampler = _sampler(register, seed, "document", made.language, split, index, topics=topics)
        length = 4 + int(sampler.chance() * 6)
        yield [made.render(_meaning(sampler, split), sampler.wording()) for _ in range(length)]
        index += 1


def parallel(
    languages: Sequence[str] = LANGUAGES, *, seed: int = 0, split: Split = "train", register: Register | None = None
) -> Iterator[tuple[Sentence, ...]]:
    """Endless parallel sentences; :func:`align` gives their gold word alignment.

    Args:
        languages: Codes of built-in languages.
        seed: Seed of the sentences.
        split: ``train``, ``dev`` or ``test``; the splits have no sentence in common.
        register: ``encyclopaedic`` or ``conversational``.

    Returns:
        A sentence in each language, in the given order, without end.

    >>> en, de = next(parallel(["en", "de"], seed=1))
    >>> en.language, de.language
    ('en', 'de')

    Raises:
        ConfigError: A language is not built in.
    """
    grammars = [grammar(language) for language in languages]
    for meaning, wording in meanings(seed=seed, split=split, register=register):
        yield tuple(made.render(meaning, wording) for made in grammars)


def meanings(
    *, seed: int = 0, split: Split = "train", register: Register | None = None
) -> Iterator[tuple[Meaning, Wording]]:
    """Endless meanings of single sentences, each with a wording."""
    index = 0
    while True:
        sampler = _sampler(register, seed, "sentence", split, index)
        yield _meaning(sampler, split), sampler.wording()
        index += 1


def paraphrases(
    language: str, *, seed: int = 0, split: Split = "train", register: Register | None = None
) -> Iterator[tuple[Sentence, Sentence]]:
    """Endless pairs of sentences with the same meaning in other words or another order.

    Args:
        language: A built-in language.
        seed: Seed of the sentences.
        split: ``train``, ``dev`` or ``test``; the splits have no sentence in common.
        register: ``encyclopaedic`` or ``conversational``.

    Returns:
        Pairs of sentences, without end.

    >>> one, other = next(paraphrases("en", seed=1))
    >>> one.text != other.text
    True

    Raises:
        InputError: The language is not built in.
    """
    made = grammar(language)
    for meaning, _ in meanings(seed=seed, split=split, register=register):
        first = made.render(meaning)
        second = made.render(meaning, Wording(synonyms=0xFFFF, time_first=True, link_first=True))
        if first.words != second.words:
            yield first, second


# --- the dictionary ---

CONTENT = frozenset({"NOUN", "VERB", "ADJ", "ADV", "NUM"})


@dataclass(slots=True, frozen=True)
class Dictionary:
    """Word translations with weights; train and test share no source lemma."""

    train: list[Entry]
    test: list[Entry]

    @property
    def entries(self) -> list[Entry]:
        """Both parts, sorted by source word."""
        return sorted([*self.train, *self.test], key=lambda entry: entry.source)


def dictionary(source: str, target: str, *, seed: int = 0, sentences: int = 20_000) -> Dictionary:
    """Build a dictionary from the gold alignment of parallel sentences.

    The weight of a translation is its share among the translations of the source word; rare ones are dropped. A quarter
    of the source lemmas are the test part.

    Args:
        source: The language of the source words.
        target: The language of the translations.
        seed: Random seed.
        sentences: Number of parallel sentences.

    Returns:
        The translations of every word, with their counts.

    >>> len(dictionary("en", "de", sentences=500).entries) > 100
    True

    Raises:
        ConfigError: A language is not built in.
    """
    counts: dict[str, Counter[str]] = {}
    lemmas: dict[str, str] = {}
    stream = parallel((source, target), seed=derive_seed(seed, "dictionary"))
    for left, right in islice(stream, sentences):
        for word, lemma, other in _word_pairs(left, right):
            counts.setdefault(word, Counter())[other] += 1
            lemmas.setdefault(word, lemma)
    made = Dictionary([], [])
    for word, found in sorted(counts.items()):
        part = made.test if crc32(lemmas[word].encode()) % 4 == 0 else made.train
        total = found.total()
        kept = [(other, count) for other, count in found.most_common() if count > 1 and count / total >= 0.05]
        part += [Entry(word, other, round(count / sum(n for _, n in kept), 4)) for other, count in kept]
    return made


def _word_pairs(left: Sentence, right: Sentence) -> Iterator[tuple[str, str, str]]:
    """Content words that are each other's only translation: (source word, its lemma, target word), in lower case."""
    targets = _content_words(right)
    for unit, positions in _content_words(left).items():
        others = targets.get(unit, [])
        if len(positions) == len(others) == 1:
            here, there = positions[0], others[0]
            yield left.words[here].lower(), left.lemmas[here].lower(), right.words[there].lower()


def _content_words(sentence: Sentence) -> dict[int, list[int]]:
    """For each unit of meaning, the positions of its content words."""
    found: dict[int, list[int]] = {}
    for position, (unit, tag) in enumerate(zip(sentence.units, sentence.tags, strict=True)):
        if unit >= 0 and tag in CONTENT:
            found.setdefault(unit, []).append(position)
    return found

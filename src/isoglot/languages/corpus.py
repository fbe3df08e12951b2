"""What the built-in languages yield: documents, parallel sentences, paraphrases, a dictionary.

Everything is lazy, and the same for the same seed. Each text, and each parallel sentence, has a stream of chance of its
own, so the thousandth can be had without the others before it changing.

Train, dev and test never share a sentence, in any language: the split is a function of which concepts a sentence
speaks of (:func:`split_of`), and two sentences that read the same speak of the same concepts.
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
from isoglot.languages.meaning import Both, Clause, Meaning, Name, Phrase, Register, Thing, Wording
from isoglot.languages.random_meanings import Sampler, topic_draw
from isoglot.text.formats.dictionary import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.languages.grammars.rendering import Grammar
    from isoglot.languages.random_meanings import Draw
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

    Raises:
        ConfigError: The language is not built in.
    """
    code = language_code(language)
    if code not in GRAMMARS:
        raise ConfigError(
            f"{language!r} is not a built-in language",
            remedy=nearest_name(code, GRAMMARS),
            code="config.built-in-language",
        )
    return _grammar(code)


@cache
def _grammar(code: str) -> Grammar:
    module, name = GRAMMARS[code]
    made: Grammar = getattr(import_module(f"isoglot.languages.grammars.{module}"), name)()
    return made


# --- splits ---


def split_of(meaning: Meaning) -> Split:
    """The split a meaning belongs to, by the concepts it speaks of: a twentieth each to dev and test."""
    return split_by(" ".join(sorted(_concepts(meaning))))


def split_by(key: str) -> Split:
    """The split a key falls into."""
    bucket = crc32(key.encode()) % 20
    return "dev" if bucket == 0 else "test" if bucket == 1 else "train"


def _concepts(meaning: Meaning) -> list[str]:
    """The actions, things and names of a meaning. Numbers, articles, times and manners do not count."""
    found: list[str] = []
    _add_clause(found, meaning.main)
    if meaning.other is not None:
        _add_clause(found, meaning.other)
    return found


def _add_clause(found: list[str], clause: Clause) -> None:
    # sing and sing_song may be one word in some language: only what stands before the underscore counts.
    found.append(clause.predicate.partition("_")[0])
    for phrase in (clause.agent, clause.patient, clause.recipient, clause.instrument, clause.goal, clause.place):
        if phrase is not None:
            _add_phrase(found, phrase)
    if clause.complement is not None:
        _add_clause(found, clause.complement)


def _add_phrase(found: list[str], phrase: Phrase) -> None:
    if isinstance(phrase, Thing):
        found.append(phrase.concept)
        if phrase.relative is not None:
            _add_clause(found, phrase.relative)
    elif isinstance(phrase, Name):
        found.append(phrase.name)
    elif isinstance(phrase, Both):
        _add_phrase(found, phrase.first)
        _add_phrase(found, phrase.second)


# --- meanings ---


def _sampler(register: Register | None, *key: str | int, topics: Draw[str] | None = None) -> Sampler:
    random = Random(derive_seed(0, *key))  # noqa: S311 - not for secrets
    mixed: Register = "encyclopaedic" if random.random() < 0.6 else "conversational"
    return Sampler(random, (topics or topic_draw()).at(random.random()), register or mixed)


def _meaning(sampler: Sampler, split: Split) -> Meaning:
    last, cast = sampler.last, dict(sampler.cast)
    meaning = sampler.meaning()
    while split_of(meaning) != split:
        sampler.last, sampler.cast = last, dict(cast)  # what is not said cannot be referred to
        meaning = sampler.meaning()
    return meaning


# --- what it yields ---


def documents(
    language: str,
    *,
    seed: int = 0,
    split: Split = "train",
    register: Register | None = None,
    topics: Draw[str] | None = None,
) -> Iterator[list[Sentence]]:
    """Texts of 4 to 9 sentences on one topic, with people and places that recur; without end.

    Texts of two languages with one seed are about different things: they are not parallel.

    Args:
        language: A built-in language.
        seed: Same seed, same texts.
        split: Which part of the world to speak of: train, dev or test.
        register: ``encyclopaedic`` or ``conversational``; None mixes them, six to four.
        topics: The topics with their frequencies; None: those of the world. Texts of the same number that have the same
            topic under two such lists are the same texts.
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
    """One meaning after another in several languages; without end. :func:`align` gives the gold word alignment."""
    grammars = [grammar(language) for language in languages]
    for meaning, wording in meanings(seed=seed, split=split, register=register):
        yield tuple(made.render(meaning, wording) for made in grammars)


def meanings(
    *, seed: int = 0, split: Split = "train", register: Register | None = None
) -> Iterator[tuple[Meaning, Wording]]:
    """Meanings that stand alone, each with a wording; without end."""
    index = 0
    while True:
        sampler = _sampler(register, seed, "sentence", split, index)
        yield _meaning(sampler, split), sampler.wording()
        index += 1


def paraphrases(
    language: str, *, seed: int = 0, split: Split = "train", register: Register | None = None
) -> Iterator[tuple[Sentence, Sentence]]:
    """Two sentences of one language that say the same in other words or another order; without end."""
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
    """Word translations with weights; no form of a source word of one part is in the other."""

    train: list[Entry]
    test: list[Entry]

    @property
    def entries(self) -> list[Entry]:
        """Both parts, by source word."""
        return sorted([*self.train, *self.test], key=lambda entry: entry.source)


def dictionary(source: str, target: str, *, seed: int = 0, sentences: int = 20_000) -> Dictionary:
    """Word translations as gold alignment finds them in parallel sentences.

    The weight of a translation is its share among the translations of the source word; rare ones are left out.
    A quarter of the source words, with all their forms, make the test part.

    Args:
        source: The language of the source words.
        target: The language of the translations.
        seed: Same seed, same dictionary.
        sentences: How many sentences it is read off.
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
    """Content words that are each other's only translation: (source word, its lemma, target word), in small letters."""
    targets = _content_words(right)
    for unit, positions in _content_words(left).items():
        others = targets.get(unit, [])
        if len(positions) == len(others) == 1:
            here, there = positions[0], others[0]
            yield left.words[here].lower(), left.lemmas[here].lower(), right.words[there].lower()


def _content_words(sentence: Sentence) -> dict[int, list[int]]:
    """For each unit of meaning, the positions of its content words: not of auxiliaries, particles or articles."""
    found: dict[int, list[int]] = {}
    for position, (unit, tag) in enumerate(zip(sentence.units, sentence.tags, strict=True)):
        if unit >= 0 and tag in CONTENT:
            found.setdefault(unit, []).append(position)
    return found

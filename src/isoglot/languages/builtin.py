"""Built-in data: text, parallel sentences, task examples and dictionaries of the built-in languages and their twins.

Every command and study gets its built-in data here. The same seed gives the same data, and train, dev and test never
share a sentence. A private-use tag names a twin: ``en-x-shift`` and ``en-x-order``, or both, ``en-x-shift-order``.
Twins are written with a blank between all words, and so is every language beside a twin.

>>> english, shifted, german = next(builtin_rows(["en", "en-x-shift", "de"]))
>>> len(english.split()) == len(shifted.split()), english == shifted
(True, False)
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.rng import derive_seed
from isoglot.languages.corpus import LANGUAGES, Split, dictionary, documents, parallel, paraphrases
from isoglot.languages.entailment import inference
from isoglot.languages.twins import as_twin, twin
from isoglot.text.formats.dictionary import Entry
from isoglot.text.provenance import Provenance, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.languages.sentence import Sentence

TEXT_SENTENCES = 2000  # sentences of running text per language, by default
TWIN_TAGS = ("shift", "order", "freq")
"""Private-use tags of twins. Parallel sentences take any other tag, as in ``en-x-two``, for a second name."""
Builtin = Literal["translations", "paraphrases"]
"""``translations``: the same meaning in both languages; ``paraphrases``: the same language twice, in other words or
another order, which stand in for the first paper's back-translations."""
_PARALLEL_TWINS = ("shift", "order")  # those that say the same word for word
_DICTIONARY_SENTENCES = 5000


# --- languages ---


def is_builtin(language: str) -> bool:
    """Whether a language is built in or a twin of a built-in language.

    >>> is_builtin("deu"), is_builtin("en-x-shift"), is_builtin("sw"), is_builtin("en-x-freq")
    (True, True, False, False)
    """
    base, tags = _split_code(language_code(language))
    return base in LANGUAGES and set(tags) <= set(_PARALLEL_TWINS)


def builtin_languages(known: Sequence[str]) -> tuple[str, ...]:
    """The built-in languages among those an encoder knows; all of them if its languages are unknown."""
    return tuple(code for code in known if is_builtin(code)) if known else LANGUAGES


def twin_tags(language: str) -> tuple[str, ...]:
    """The changes that make a twin of a language; tags of other names do not count.

    Raises:
        ConfigError: Its sentences do not correspond to those of another language.
    """
    tags = tuple(tag for tag in _split_code(language)[1] if tag in TWIN_TAGS)
    if not set(tags) <= set(_PARALLEL_TWINS):
        problem = f"sentences of {language} correspond to none of another language"
        raise ConfigError(problem, "name another twin", "other-language")
    return tags


def _split_code(code: str) -> tuple[str, list[str]]:
    base, _, tags = code.partition("-x-")
    return base, tags.split("-") if tags else []


def _checked(language: str, data: str) -> tuple[str, list[str]]:
    """The built-in language that a language is or is made from, and the tags of the twin."""
    code = language_code(language)
    if not is_builtin(code):
        problem = f"no built-in {data} of {code}"
        remedy = f"give files, or choose from {', '.join(LANGUAGES)} and twins such as en-x-shift"
        raise ConfigError(problem, remedy, "built-in-language")
    return _split_code(code)


def _text(sentence: Sentence, tags: Sequence[str], *, spaced: bool) -> str:
    return " ".join(as_twin(sentence.words, tags)) if spaced or tags else sentence.text


# --- running text and dictionaries ---


def builtin_text(languages: Sequence[str], sentences: int = TEXT_SENTENCES, *, seed: int = 0) -> dict[str, list[str]]:
    """Running text of each language, from the training part; the languages are not parallel.

    Raises:
        ConfigError: A language is not built in.
    """
    codes = list(dict.fromkeys(map(language_code, languages)))
    sources = [_checked(code, "text") for code in codes]
    spaced = any(tags for _, tags in sources)
    found = {}
    for number, (code, (base, tags)) in enumerate(zip(codes, sources, strict=True)):
        texts = documents(base, seed=derive_seed(seed, "language means", number))
        lines = (_text(sentence, tags, spaced=spaced) for text in texts for sentence in text)
        found[code] = list(islice(lines, sentences))
    return found


def builtin_dictionary(source: str, target: str, *, seed: int = 0) -> list[Entry]:
    """Word translations from gold alignment.

    Between a language and its twin every word has one translation, and words that were kept translate to themselves.

    Raises:
        ConfigError: A language is not built in, or there is no dictionary of the two.
    """
    codes = language_code(source), language_code(target)
    (base, tags), (other_base, other_tags) = (_checked(code, "dictionary") for code in codes)
    shifted = ["shift" in tags, "shift" in other_tags]
    if base != other_base:
        if any(shifted):
            problem = f"there is no built-in dictionary of {codes[0]} and {codes[1]}"
            raise ConfigError(problem, "give a file", "built-in-language")
        found = dictionary(base, other_base, seed=seed, sentences=_DICTIONARY_SENTENCES)
        return [*found.train, *found.test]
    texts = islice(documents(base, seed=seed), _DICTIONARY_SENTENCES // 5)
    words = sorted({word for text in texts for sentence in text for word in sentence.words})
    twins = [one.tokens[0] for one in twin(([word] for word in words), "shift")]
    sides = [twins if private else words for private in shifted]
    pairs = dict.fromkeys([*zip(*sides, strict=True), *zip(words, words, strict=True)])
    return [Entry(*pair) for pair in pairs]


def builtin_provenance(name: str, language: str, seed: int) -> Provenance:
    """The provenance of text in a built-in language: its grammar made it, and no dictionary went into it.

    Args:
        name: The name of the file.
        language: The language.
        seed: The seed it was made with.
    """
    step = {"step": "languages export", "language": language, "seed": seed}
    return Provenance((Source(name, steps=(step,)),))


# --- parallel sentences ---


def builtin_pairs(
    languages: tuple[str, str], count: int, *, kind: Builtin | None = None, seed: int = 0
) -> list[tuple[str, str]]:
    """Distinct pairs of held-out sentences.

    >>> builtin_pairs(("en", "de"), 1, seed=7)[0][0] == builtin_pairs(("en", "zh"), 1, seed=7)[0][0]
    True

    Args:
        languages: Codes of built-in languages and their twins; any other tag, as in ``en-x-two``, is a second name.
        count: The number of pairs.
        kind: What the second side is. Default: paraphrases if both sides are one language, else translations.
        seed: The random seed; the first side is the same for every second language.

    Returns:
        (sentence, sentence) for each pair.

    Raises:
        ConfigError: A language is not built in, or its sentences do not correspond.
    """
    rows = builtin_rows(languages, kind=kind, seed=derive_seed(seed, "compared sentences"))
    found: dict[str, str] = {}
    while len(found) < count:
        first, second = next(rows)
        found.setdefault(first, second)
    return list(found.items())


def builtin_rows(languages: Sequence[str], *, kind: Builtin | None = None, seed: int = 0) -> Iterator[tuple[str, ...]]:
    """Held-out sentences in all of the languages, row by row without end; some are repeated.

    Args:
        languages: Codes as in :func:`builtin_pairs`.
        kind: What the second of two sides is, as there.
        seed: The random seed.

    Raises:
        ConfigError: A language is not built in, or two of more than two are the same language.
    """
    codes = [language_code(code) for code in languages]
    bases = [_split_code(code)[0] for code in codes]
    tags = [twin_tags(code) for code in codes]
    read = list(zip(bases, tags, strict=True))
    same = next((place for place, each in enumerate(read) if each in read[:place]), None)
    if same is not None and len(codes) > 2:
        problem = f"{languages[read.index(read[same])]} and {languages[same]} are the same language"
        raise ConfigError(problem, "name one", "other-language")
    if kind is None:
        kind = "translations" if same is None else "paraphrases"
    if kind == "paraphrases" and (len(codes) != 2 or bases[0] != bases[1]):
        problem = f"{' and '.join(languages)} are no paraphrases of each other"
        raise ConfigError(problem, "name one language twice", "other-language")
    rows: Iterator[tuple[Sentence, ...]] = (
        paraphrases(bases[0], seed=seed, split="test")
        if kind == "paraphrases"
        else parallel(bases, seed=seed, split="test")
    )
    spaced = any(tags)
    return (tuple(_text(each, own, spaced=spaced) for each, own in zip(row, tags, strict=True)) for row in rows)


def builtin_bitext(
    languages: tuple[str, str], count: int, *, split: Split = "train", seed: int = 0
) -> list[tuple[Sentence, Sentence]]:
    """Sentence pairs for learning alignments; :func:`isoglot.languages.align` gives their gold links.

    Raises:
        ConfigError: A language is not built in.
    """
    rows = parallel(languages, seed=derive_seed(seed, "alignment bitext"), split=split)
    return [(first, second) for first, second in islice(rows, count)]


# --- task examples: the n-th says the same in every language ---


class Annotated(NamedTuple):
    """A sentence with its annotations, word by word."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    entities: tuple[str, ...]
    blanks: tuple[bool, ...]


def task_sentences(language: str, split: Split, *, seed: int, part: str) -> Iterator[Sentence]:
    """Sentences for a task, without end; for ``ner`` four of five have a name in them.

    Args:
        language: A built-in language.
        split: Train, dev or test.
        seed: The random seed.
        part: The task; other tasks have other sentences.
    """
    stream = parallel((language,), seed=derive_seed(seed, part), split=split)
    return (row[0] for number, row in enumerate(stream) if part != "ner" or number % 5 == 0 or row[0].has_name)


def annotated_sentences(
    language: str, split: Split, count: int, *, seed: int, part: str, spaced: bool
) -> Iterator[Annotated]:
    """Annotated sentences of a language or a twin, for tagging and parsing.

    Args:
        language: A built-in language, or a twin of one.
        split: Train, dev or test.
        count: The number of sentences.
        seed: The random seed.
        part: The task, as for :func:`task_sentences`.
        spaced: Whether a blank stands between all words.

    Raises:
        ConfigError: The language is not built in.
    """
    base, tags = _checked(language, "examples")
    stream = task_sentences(base, split, seed=seed, part=part)
    return (_annotated(sentence, tags, spaced=spaced or bool(tags)) for sentence in islice(stream, count))


def inference_examples(
    language: str, split: Split, count: int, *, seed: int, spaced: bool
) -> Iterator[tuple[tuple[str, str], str]]:
    """Pairs of premise and hypothesis, each with its label.

    Raises:
        ConfigError: The language is not built in.
    """
    base, tags = _checked(language, "examples")
    for pair in islice(inference((base,), seed=seed, split=split), count):
        premise, hypothesis = (_text(side[0], tags, spaced=spaced) for side in (pair.premise, pair.hypothesis))
        yield (premise, hypothesis), pair.label


def topic_examples(language: str, split: Split, count: int, *, seed: int, spaced: bool) -> Iterator[tuple[str, str]]:
    """Sentences, each with its topic.

    Raises:
        ConfigError: The language is not built in.
    """
    base, tags = _checked(language, "examples")
    for sentence in islice(task_sentences(base, split, seed=seed, part="topic"), count):
        yield _text(sentence, tags, spaced=spaced), sentence.meaning.topic


def _annotated(sentence: Sentence, tags: Sequence[str], *, spaced: bool) -> Annotated:
    """The sentence with its annotations, in the word order of the twin."""
    words, order = list(sentence.words), list(range(len(sentence.words)))
    for kind in tags:
        made = next(twin([words], "shift" if kind == "shift" else "order"))
        source = {there: here for here, there in made.alignment}
        order = [order[source[place]] for place in range(len(made.tokens))]
        words = made.tokens
    place = {old: new + 1 for new, old in enumerate(order)}  # heads count from 1
    return Annotated(
        words=tuple(words),
        tags=tuple(sentence.tags[old] for old in order),
        heads=tuple(place[sentence.heads[old] - 1] if sentence.heads[old] else 0 for old in order),
        relations=tuple(sentence.relations[old].partition(":")[0] for old in order),
        entities=_entities([sentence.entities[old] for old in order]),
        blanks=tuple(spaced or old + 1 not in sentence.glued for old in order),
    )


def _entities(tags: list[str]) -> tuple[str, ...]:
    """BIO tags of reordered words: a span begins with ``B-``, whichever word is first now."""
    made: list[str] = []
    for place, tag in enumerate(tags):
        kind, _, name = tag.partition("-")
        before = tags[place - 1] if place else "O"
        inside = name and before[2:] == name and (before[0] == "I" or kind == "I")
        made.append(tag if kind == "O" else f"{'I' if inside else 'B'}-{name}")
    return tuple(made)

"""Examples of the built-in languages and their twins, with gold of every kind; the n-th says the same in all."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.rng import derive_seed
from isoglot.languages.corpus import LANGUAGES, parallel
from isoglot.languages.entailment import inference
from isoglot.languages.twins import as_twin, twin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.languages.corpus import Split
    from isoglot.languages.sentence import Sentence

_TWINS = ("shift", "order")


class Annotated(NamedTuple):
    """A sentence of a built-in language or a twin, word by word."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    entities: tuple[str, ...]
    blanks: tuple[bool, ...]


def sentences(
    language: str, split: Split, count: int, *, seed: int, part: str, spaced: bool, named: bool = False
) -> Iterator[Annotated]:
    """So many sentences.

    Args:
        language: A built-in language, or a twin of one.
        split: Train, dev or test.
        count: How many.
        seed: Same seed, same sentences.
        part: What they are for; other parts have other sentences.
        spaced: Whether a blank stands between all words.
        named: Whether four of five have a name in them.

    Raises:
        ConfigError: The language is not built in.
    """
    base, twins = _twin_of(language)
    stream = parallel((base,), seed=derive_seed(seed, part), split=split)
    rows = (row[0] for number, row in enumerate(stream) if not named or number % 5 == 0 or row[0].has_name)
    return (_annotated(sentence, twins, spaced=spaced or bool(twins)) for sentence in islice(rows, count))


def pairs(language: str, split: Split, count: int, *, seed: int, spaced: bool) -> Iterator[tuple[tuple[str, str], str]]:
    """So many pairs of sentences and how the second follows from the first.

    Raises:
        ConfigError: The language is not built in.
    """
    base, twins = _twin_of(language)
    for pair in islice(inference((base,), seed=seed, split=split), count):
        premise, hypothesis = (_text(side[0], twins, spaced=spaced) for side in (pair.premise, pair.hypothesis))
        yield (premise, hypothesis), pair.label


def texts(language: str, split: Split, count: int, *, seed: int, spaced: bool) -> Iterator[tuple[str, str]]:
    """So many sentences and the topic that each is drawn from.

    Raises:
        ConfigError: The language is not built in.
    """
    base, twins = _twin_of(language)
    for (sentence,) in islice(parallel((base,), seed=derive_seed(seed, "topic"), split=split), count):
        yield _text(sentence, twins, spaced=spaced), sentence.meaning.topic


def _twin_of(language: str) -> tuple[str, list[str]]:
    """The built-in language and what was done to it."""
    code = language_code(language)
    base, _, tags = code.partition("-x-")
    twins = tags.split("-") if tags else []
    if base not in LANGUAGES or set(twins) - set(_TWINS):
        raise ConfigError(
            f"there are no built-in examples of {code}",
            remedy=f"give files, or choose from {', '.join(LANGUAGES)} and twins such as en-x-shift",
        )
    return base, twins


def _text(sentence: Sentence, twins: Sequence[str], *, spaced: bool) -> str:
    return " ".join(as_twin(sentence.words, twins)) if spaced or twins else sentence.text


def _annotated(sentence: Sentence, twins: Sequence[str], *, spaced: bool) -> Annotated:
    """Words with all that is known of them, in the order of the twin."""
    words, order = list(sentence.words), list(range(len(sentence.words)))
    for kind in twins:
        made = next(twin([words], "shift" if kind == "shift" else "order"))
        source = {there: here for here, there in made.alignment}
        order = [order[source[place]] for place in range(len(made.tokens))]
        words = made.tokens
    place = {old: new + 1 for new, old in enumerate(order)}  # from 1, as heads count
    heads = [sentence.heads[old] for old in order]
    blanks = [spaced or old + 1 not in sentence.glued for old in order]
    return Annotated(
        tuple(words),
        tuple(sentence.tags[old] for old in order),
        tuple(place[head - 1] if head else 0 for head in heads),
        tuple(sentence.relations[old].partition(":")[0] for old in order),
        _entities([sentence.entities[old] for old in order]),
        tuple(blanks),
    )


def _entities(tags: list[str]) -> tuple[str, ...]:
    """BIO tags again after words have changed places: a span begins with ``B-``, whichever word comes first now."""
    made: list[str] = []
    for place, tag in enumerate(tags):
        kind, _, name = tag.partition("-")
        before = tags[place - 1] if place else "O"
        inside = name and before[2:] == name and (before[0] == "I" or kind == "I")
        made.append(tag if kind == "O" else f"{'I' if inside else 'B'}-{name}")
    return tuple(made)

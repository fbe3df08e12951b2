"""The sentences of a check-up: the built-in ones, or the user's without rows that cannot be told apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from isoglot.compare.sentences import SENTENCES, builtin_rows
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import counted
from isoglot.core.seeds import derive_seed
from isoglot.retrieve.parallel_sets import ParallelSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FEWEST = 10
"""Sentences, below which there is nothing to fit, to shuffle or to draw from."""


class Distinct(NamedTuple):
    """A set in which no sentence stands twice, and how many rows were left out for that."""

    sentences: ParallelSet
    repeated: int


def builtin_set(languages: Sequence[str], sentences: int = SENTENCES, *, seed: int = 0) -> ParallelSet:
    """Sentences of built-in languages that say the same, from the test part of the world; none stands twice.

    A twin, such as ``en-x-shift``, has its sentences made of its language's (:mod:`isoglot.compare.sentences`).

    Raises:
        ConfigError: A language is not built in, or there is only one.
    """
    if len(languages) < 2:
        raise ConfigError(
            f"one language, {', '.join(languages)}", remedy="name two or more, or give files with --parallel"
        )
    seen: list[set[str]] = [set() for _ in languages]
    kept: dict[str, list[str]] = {code: [] for code in languages}
    for texts in builtin_rows(languages, seed=derive_seed(seed, "check-up")):
        if any(text in known for text, known in zip(texts, seen, strict=True)):
            continue
        for text, known, code in zip(texts, seen, languages, strict=True):
            known.add(text)
            kept[code].append(text)
        if len(seen[0]) == sentences:
            break
    return ParallelSet(name="built-in sentences", sentences=kept, numbers=list(range(1, sentences + 1)))


def distinct_rows(given: ParallelSet) -> Distinct:
    """The set without rows that repeat a sentence of an earlier one, in any language.

    Of two equal sentences with different translations either answer is right, and a map fitted on the one has seen
    the other.

    >>> rows = ParallelSet(name="x", sentences={"en": ["a", "b"] * 10, "de": list("cdefghijklmnopqrstuv")},
    ...                    numbers=list(range(20)))
    >>> distinct_rows(rows)
    Traceback (most recent call last):
    isoglot.core.errors.InputError: x: 2 different sentences; give at least 10, better some hundreds

    Raises:
        InputError: Fewer are left than a check-up needs.
    """
    kept = _first_rows(given.sentences)
    if len(kept) < FEWEST:
        raise InputError(
            f"{counted(len(kept), 'different sentences')}",
            remedy=f"give at least {FEWEST}, better some hundreds",
            file=given.name,
        )
    sentences = {code: [texts[row] for row in kept] for code, texts in given.sentences.items()}
    chosen = replace(given, sentences=sentences, numbers=[given.numbers[row] for row in kept])
    return Distinct(chosen, len(given) - len(kept))


def _first_rows(sentences: Mapping[str, Sequence[str]]) -> list[int]:
    seen: list[set[str]] = [set() for _ in sentences]
    kept = []
    for number, row in enumerate(zip(*sentences.values(), strict=True)):
        texts = [text.strip() for text in row]
        if not any(text in known for text, known in zip(texts, seen, strict=True)):
            kept.append(number)
            for text, known in zip(texts, seen, strict=True):
                known.add(text)
    return kept

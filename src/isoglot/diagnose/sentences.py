"""The sentences of a check-up: the built-in ones, or the user's without rows that cannot be told apart."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from isoglot.compare.sentences import SENTENCES, builtin_rows
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.progress import counted
from isoglot.core.seeds import derive_seed
from isoglot.retrieve.parallel_sets import ParallelSet
from isoglot.text.parallel import unrepeated

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST = 10
"""Sentences, below which there is nothing to fit, to shuffle or to draw from."""


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
    rows = list(islice(unrepeated(builtin_rows(languages, seed=derive_seed(seed, "check-up"))), sentences))
    kept = {code: [row[place] for _, row in rows] for place, code in enumerate(languages)}
    return ParallelSet(name="built-in sentences", sentences=kept, numbers=list(range(1, sentences + 1)))


def distinct_rows(given: ParallelSet) -> ParallelSet:
    """The set without rows that repeat a sentence of an earlier one, in any language.

    >>> rows = ParallelSet(name="x", sentences={"en": ["a", "b"] * 10, "de": list("cdefghijklmnopqrstuv")},
    ...                    numbers=list(range(20)))
    >>> distinct_rows(rows)
    Traceback (most recent call last):
    isoglot.core.errors.InputError: x: 2 different sentences; give at least 10, better some hundreds

    Raises:
        InputError: Fewer are left than a check-up needs.
    """
    kept = given.without_repeats()
    if len(kept) < FEWEST:
        raise InputError(
            f"{counted(len(kept), 'different sentences')}",
            remedy=f"give at least {FEWEST}, better some hundreds",
            file=given.name,
        )
    return kept

"""Words in every layer by a dictionary: which rows are right for which, and how much of the dictionary was found."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError
from isoglot.retrieve.layers import PairScores, Side, score_layers
from isoglot.retrieve.spelling import spelt_alike
from isoglot.retrieve.words import match_dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from isoglot.text.dictionary import Entry

_AMONG_ALL = partial(score_layers, candidates="all")


def score_dictionary(
    source: Side,
    target: Side,
    entries: Iterable[Entry],
    file: str | Path | None = None,
    *,
    score: Callable[..., PairScores] = _AMONG_ALL,
) -> PairScores:
    """Score two sides of words by the entries of a dictionary.

    >>> import numpy as np
    >>> from isoglot.text.dictionary import Entry
    >>> source = Side(name="en", layers={None: np.array([[1, 0], [0, 1.0]])}, items=["cat", "dog"])
    >>> target = Side(name="fr", layers={None: np.array([[1, 0.1], [0, 1.0]])}, items=["chat", "chien"])
    >>> pair = score_dictionary(source, target, [Entry("cat", "chat"), Entry("dog", "chien")])
    >>> pair.of(None, "none").of("cosine").precision[1].value
    1.0

    Args:
        source: Words of the dictionary's first language, and perhaps others; from a file: :func:`read_side`.
        target: Those of the second.
        entries: The right pairs, many to many.
        file: Where they come from, for messages.
        score: :func:`score_layers` with its options; by default answers come from all words that have vectors.

    Raises:
        InputError: The rows of a side have no names, or no entry has both its words.
    """
    for side in (source, target):
        if side.items is None:
            raise InputError(
                f"the rows of {side.name} have no words", remedy="give a .vec, or what encode --pool types made"
            )
    try:
        gold, coverage = match_dictionary(entries, source.items or (), target.items or ())
    except InputError as error:
        raise InputError(error.problem, remedy=error.remedy, file=file) from error
    alike = spelt_alike(gold, source.items or (), target.items or ())
    return score(source, target, gold, coverage=coverage, alike=alike)


def words_by_language(dictionaries: Mapping[tuple[str, str], Sequence[Entry]]) -> dict[str, list[str]]:
    """The words of every language in any of the dictionaries, each once, in order.

    >>> from isoglot.text.dictionary import Entry
    >>> words_by_language({("en", "fr"): [Entry("cat", "chat"), Entry("cat", "minet")]})
    {'en': ['cat'], 'fr': ['chat', 'minet']}
    """
    found: dict[str, dict[str, None]] = {}
    for (source, target), entries in dictionaries.items():
        found.setdefault(source, {}).update(dict.fromkeys(entry.source for entry in entries))
        found.setdefault(target, {}).update(dict.fromkeys(entry.target for entry in entries))
    return {code: list(words) for code, words in found.items()}


def own_words(sides: Mapping[str, Side], pair: tuple[str, str], entries: Sequence[Entry]) -> tuple[Side, Side]:
    """The two sides of a dictionary with only its words, so that its figures do not depend on other dictionaries."""
    source, target = words_by_language({pair: entries}).values()
    return _with_words(sides[pair[0]], source), _with_words(sides[pair[1]], target)


def _with_words(side: Side, words: Sequence[str]) -> Side:
    kept, items = set(words), side.items or ()
    rows = [row for row, word in enumerate(items) if word in kept]
    layers = {layer: matrix[rows] for layer, matrix in side.layers.items()}
    return Side(name=side.name, layers=layers, items=[items[row] for row in rows], header=side.header)

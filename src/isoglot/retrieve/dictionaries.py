"""Word retrieval by a dictionary: gold pairs of rows, coverage of the dictionary, and scores in every layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError
from isoglot.core.progress import SILENT, Progress
from isoglot.retrieve.estimates import OWN
from isoglot.retrieve.evaluation import RetrievalConfig
from isoglot.retrieve.layer_scores import PairScores, VectorSet, score_layers
from isoglot.retrieve.metrics import Gold, spelled_alike

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import torch

    from isoglot.text.formats.dictionary import Entry


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of a dictionary: entries with both words, and words of either side in such an entry."""

    entries: int
    entries_found: int
    sources: int
    sources_found: int
    targets: int
    targets_found: int

    def __str__(self) -> str:
        return (
            f"{self.entries_found:,} of {self.entries:,} entries have both words "
            f"({self.sources_found:,} of {self.sources:,} source words)"
        )


def match_dictionary(
    entries: Iterable[Entry], source_words: Sequence[str], target_words: Sequence[str]
) -> tuple[Gold, Coverage]:
    """Entries whose two words are both available, as pairs of rows, and the coverage.

    >>> from isoglot.text.formats.dictionary import Entry
    >>> gold, coverage = match_dictionary([Entry("dog", "chien"), Entry("cat", "chat")], ["cat"], ["chien", "chat"])
    >>> gold.pairs_P2.tolist(), coverage.entries_found, coverage.entries
    ([[0, 1]], 1, 2)

    Raises:
        InputError: The dictionary is empty, or no entry has both words.
    """
    pairs = list(dict.fromkeys((entry.source, entry.target) for entry in entries))
    if not pairs:
        raise InputError("the dictionary has no entries", "write one entry per line: source, space, target", "empty")
    source_row, target_row = ({word: row for row, word in enumerate(words)} for words in (source_words, target_words))
    rows = [(source_row[a], target_row[b]) for a, b in pairs if a in source_row and b in target_row]
    sources, targets = ({pair[side] for pair in pairs} for side in (0, 1))
    if not rows:
        known = (sum(word in rows for word in words) for words, rows in ((sources, source_row), (targets, target_row)))
        counts = " and ".join(
            f"{count} of {len(words)} {side} words"
            for count, words, side in zip(known, (sources, targets), ("source", "target"), strict=True)
        )
        raise InputError(
            f"no entry of the dictionary has both words: {counts} have vectors", "check the two languages", "no-match"
        )
    gold = Gold.from_pairs(rows)
    return gold, Coverage(len(pairs), len(gold), len(sources), len(gold.sources), len(targets), len(gold.targets))


WORDS = RetrievalConfig(candidates="all", estimates=OWN)
"""Candidates, means and CSLS neighborhoods are all words with vectors, as in MUSE."""


def score_dictionary(
    source: VectorSet,
    target: VectorSet,
    entries: Iterable[Entry],
    file: str | Path | None = None,
    *,
    config: RetrievalConfig = WORDS,
    device: str | torch.device | None = None,
    progress: Progress = SILENT,
) -> PairScores:
    """Score two sides of words by the entries of a dictionary.

    >>> import numpy as np
    >>> from isoglot.text.formats.dictionary import Entry
    >>> source = VectorSet(name="en", layers={None: np.array([[1, 0], [0, 1.0]])}, items=["cat", "dog"])
    >>> target = VectorSet(name="fr", layers={None: np.array([[1, 0.1], [0, 1.0]])}, items=["chat", "chien"])
    >>> pair = score_dictionary(source, target, [Entry("cat", "chat"), Entry("dog", "chien")])
    >>> pair.of(None, "none").of("cosine").precision[1].value
    1.0

    Args:
        source: Words of the dictionary's first language and the rest of its vocabulary; from a file: :func:`read_side`.
            Words with a zero vector are left out and counted.
        target: Those of the second.
        entries: Correct pairs, many to many.
        file: Where they come from, for messages.
        config: How to search and score. Default: candidates, means and CSLS neighborhoods are all words with vectors,
            as in MUSE.
        device: Where to compute.
        progress: Progress in layers.

    Returns:
        Scores of every layer and method, in both directions.

    Raises:
        InputError: The rows of a side have no names, or no entry has both words.
    """
    for side in (source, target):
        if side.items is None:
            raise InputError(
                f"the rows of {side.name} have no words",
                "give a .vec file, or the words that isoglot encode wrote",
                "empty",
            )
    source, target = source.with_vectors(), target.with_vectors()
    try:
        gold, coverage = match_dictionary(entries, source.items or (), target.items or ())
    except InputError as error:
        raise error.prefixed("", file=file) from error
    alike = spelled_alike(gold, source.items or (), target.items or ())
    return score_layers(source, target, gold, config, coverage=coverage, alike=alike, device=device, progress=progress)


def words_by_language(dictionaries: Mapping[tuple[str, str], Sequence[Entry]]) -> dict[str, list[str]]:
    """Words of every language in any of the dictionaries, unique and in order.

    >>> from isoglot.text.formats.dictionary import Entry
    >>> words_by_language({("en", "fr"): [Entry("cat", "chat"), Entry("cat", "minet")]})
    {'en': ['cat'], 'fr': ['chat', 'minet']}
    """
    found: dict[str, dict[str, None]] = {}
    for (source, target), entries in dictionaries.items():
        found.setdefault(source, {}).update(dict.fromkeys(entry.source for entry in entries))
        found.setdefault(target, {}).update(dict.fromkeys(entry.target for entry in entries))
    return {code: list(words) for code, words in found.items()}


def entry_sides(
    sides: Mapping[str, VectorSet], pair: tuple[str, str], entries: Sequence[Entry]
) -> tuple[VectorSet, VectorSet]:
    """The two sides of a dictionary: both vocabularies and its own words, without those of other dictionaries."""
    source, target = words_by_language({pair: entries}).values()
    return _with_words(sides[pair[0]], source), _with_words(sides[pair[1]], target)


def _with_words(side: VectorSet, words: Sequence[str]) -> VectorSet:
    frequent, kept, items = side.frequent, set(words), side.items or ()
    if frequent is None or frequent == len(items):
        return side
    return side.only([row for row, word in enumerate(items) if row < frequent or word in kept])


def same_words(systems: Sequence[tuple[VectorSet, VectorSet]]) -> list[tuple[VectorSet, VectorSet]]:
    """Sides of several models restricted to the words of all: same queries, same candidates.

    Raises:
        InputError: They have no word in common.
    """
    if len(systems) < 2:
        return list(systems)
    cut = []
    for side in (0, 1):
        common = set.intersection(*(set(system[side].items or ()) for system in systems))
        if not common:
            raise InputError(
                f"no {systems[0][side].name} word has a vector in all of {len(systems)} models",
                "score them one by one, or give text with more words",
                "no-match",
            )
        cut.append(
            [
                system[side].only([row for row, word in enumerate(system[side].items or ()) if word in common])
                for system in systems
            ]
        )
    return list(zip(*cut, strict=True))


def entries_found(sides: tuple[VectorSet, VectorSet], entries: Iterable[Entry]) -> int:
    """Number of entries with both words."""
    source, target = (set(side.items or ()) for side in sides)
    return len({(entry.source, entry.target) for entry in entries if entry.source in source and entry.target in target})

"""Which rows are right by a dictionary, and how much of it has vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError
from isoglot.retrieve.gold import Gold

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.text.dictionary import Entry


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a dictionary has vectors: entries with both words, and words of either side in such an entry."""

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
    """The entries whose two words are there, as pairs of rows, and how many those are.

    >>> from isoglot.text.dictionary import Entry
    >>> gold, coverage = match_dictionary([Entry("dog", "chien"), Entry("cat", "chat")], ["cat"], ["chien", "chat"])
    >>> gold.pairs_P2.tolist(), coverage.entries_found, coverage.entries
    ([[0, 1]], 1, 2)

    Raises:
        InputError: The dictionary is empty, or no entry has both words.
    """
    pairs = list(dict.fromkeys((entry.source, entry.target) for entry in entries))
    if not pairs:
        raise InputError("the dictionary has no entries", remedy="write source, a blank, target a line")
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
            f"no entry of the dictionary has both words: {counts} have vectors", remedy="check the two languages"
        )
    gold = Gold.from_pairs(rows)
    return gold, Coverage(len(pairs), len(gold), len(sources), len(gold.sources), len(targets), len(gold.targets))

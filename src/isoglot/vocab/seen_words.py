"""Which dictionaries shaped a vocabulary or went into shards: scoring on their words later would be a leak.

A dictionary comes in by grading anchors, or with a text that was switched by it (:mod:`isoglot.text.provenance`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.text.provenance import derived

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from isoglot.text.provenance import UsedDictionary

Facts = dict[str, Any]


def facts_of(used: UsedDictionary) -> Facts:
    """What is kept of a dictionary: languages, name and hash of the file, and its words on both sides."""
    return used.facts()


def of_texts(paths: Iterable[str | Path]) -> list[Facts]:
    """The dictionaries that some texts were switched by, each once."""
    return [facts_of(used) for used in derived(paths).dictionaries]


def without_repeats(dictionaries: Iterable[Facts]) -> list[Facts]:
    """Each dictionary once."""
    return list({(found["source"], found["target"], found["sha256"]): found for found in dictionaries}.values())


def words_of(dictionaries: Iterable[Facts], language: str) -> frozenset[str]:
    """The words of a language in any of the dictionaries."""
    found: set[str] = set()
    for used in dictionaries:
        for side in ("source", "target"):
            if used[side] == language:
                found.update(used[f"{side}_words"])
    return frozenset(found)


def without_words(dictionaries: Iterable[Facts]) -> list[Facts]:
    """The same without the words, for people to read."""
    return [{key: value for key, value in used.items() if not key.endswith("_words")} for used in dictionaries]

"""The provenance of something that was given a dictionary, for tests of leaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.text.provenance import Provenance, UsedDictionary

if TYPE_CHECKING:
    from collections.abc import Iterable


def given_words(
    source_words: Iterable[str], target_words: Iterable[str] = (), *, source: str = "en", target: str = "fr"
) -> Provenance:
    """One dictionary and no text."""
    used = UsedDictionary(
        source=source,
        target=target,
        file="given.txt",
        sha256="ab",
        source_words=frozenset(source_words),
        target_words=frozenset(target_words),
    )
    return Provenance(dictionaries=(used,))

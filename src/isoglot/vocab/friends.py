"""True and false friends: words that look the same in two languages, judged by a bilingual dictionary.

A word that both languages write alike is a *true friend* if the dictionary gives it as a translation of itself
(*table* in English and French), and a *false friend* if the dictionary has it, but never with itself (*chat*, a talk
and a cat). A word the dictionary does not have is neither. Case does not count: MUSE has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import ConfigError, nearest_name
from isoglot.text.dictionary import read_dictionary
from isoglot.text.provenance import use_dictionary

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from isoglot.text.provenance import UsedDictionary

Friendship = Literal["true", "false"]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Friends:
    """What the dictionaries of a pair say of the words that its languages write alike.

    Args:
        used: The dictionaries.
        words: All their words, of either language.
        same: Those that translate themselves.
    """

    used: tuple[UsedDictionary, ...]
    words: frozenset[str]
    same: frozenset[str]

    @classmethod
    def read(cls, pair: Pair, paths: Sequence[str | Path]) -> Friends:
        """Read dictionaries from the first language of the pair to the second.

        Raises:
            InputError: A line is malformed.
            StorageError: A file cannot be read.
        """
        entries = {path: list(read_dictionary(path)) for path in paths}
        folded = {(one.source.casefold(), one.target.casefold()) for found in entries.values() for one in found}
        return cls(
            tuple(used for path, found in entries.items() for used in use_dictionary(*pair, path, found)),
            frozenset(word for both in folded for word in both),
            frozenset(source for source, target in folded if source == target),
        )

    def judge(self, word: str) -> Friendship | None:
        """True, false or neither, for a word that both languages have."""
        word = word.casefold()
        if word in self.same:
            return "true"
        return "false" if word in self.words else None


def read_friends(dictionaries: Mapping[Pair, Sequence[str | Path]], languages: Collection[str]) -> dict[Pair, Friends]:
    """The dictionaries of several pairs; each answers for its pair in either order.

    Raises:
        ConfigError: A pair is not of these languages.
    """
    found: dict[Pair, Friends] = {}
    for (first, second), paths in dictionaries.items():
        for code in (first, second):
            if code not in languages:
                raise ConfigError(
                    f"a dictionary for {first}-{second}, where {code} is not in question",
                    remedy=nearest_name(code, languages),
                    code="config.unknown-name",
                )
        found[first, second] = found[second, first] = Friends.read((first, second), paths)
    return found

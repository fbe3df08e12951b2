"""True and false friends: words that look the same in two languages, judged by a bilingual dictionary.

A word that both languages write alike is a *true friend* if the dictionary gives it as a translation of itself
(*table* in English and French), and a *false friend* if the dictionary has it, but never with itself (*chat*, a talk
and a cat). A word the dictionary does not have is neither. Case does not count: MUSE has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.errors import ConfigError, nearest_name
from isoglot.core.files import file_hash
from isoglot.text.dictionary import read_dictionary

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

Friendship = Literal["true", "false"]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Friends:
    """What the dictionaries of a pair say of the words that its languages write alike.

    Args:
        pair: From which language to which.
        files: Name and SHA-256 of each file.
        words: All words of the first language, and all of the second.
        same: Those that translate themselves.
    """

    pair: Pair
    files: tuple[tuple[str, str], ...]
    words: tuple[frozenset[str], frozenset[str]]
    same: frozenset[str]

    @classmethod
    def read(cls, pair: Pair, paths: Sequence[str | Path]) -> Friends:
        """Read dictionaries from the first language of the pair to the second.

        Raises:
            InputError: A line is malformed.
            StorageError: A file cannot be read.
        """
        entries = {
            (entry.source.casefold(), entry.target.casefold()) for path in paths for entry in read_dictionary(path)
        }
        words = frozenset(source for source, _ in entries), frozenset(target for _, target in entries)
        files = tuple((Path(path).name, file_hash(path)) for path in paths)
        return cls(pair, files, words, frozenset(source for source, target in entries if source == target))

    def judge(self, word: str) -> Friendship | None:
        """True, false or neither, for a word that both languages have."""
        word = word.casefold()
        if word in self.same:
            return "true"
        return "false" if word in self.words[0] or word in self.words[1] else None

    def record(self) -> dict[str, Any]:
        """What a vocabulary keeps of it, so that scoring can refuse words it was shaped by."""
        return {
            "pair": list(self.pair),
            "files": [{"file": name, "sha256": sha256} for name, sha256 in self.files],
            "words": {code: sorted(found) for code, found in zip(self.pair, self.words, strict=True)},
        }


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
                )
        found[first, second] = found[second, first] = Friends.read((first, second), paths)
    return found

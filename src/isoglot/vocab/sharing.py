"""Sharing of subwords between languages: the controlled variable of the first paper.

Subwords are learned for each language separately. A string that several languages have gets one id for each *group* of
languages that share it: all in one group (``union``), each alone (``disjoint``), or as :class:`Grading` decides for
each pair (``graded``). Files store sets of ids as ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from isoglot.core.errors import ConfigError, CorruptFileError, check_name, shown
from isoglot.vocab.anchors import Friends, Pair, read_friends
from isoglot.vocab.subword_scheme import MARK, SPECIAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np


def to_ranges(ids: np.ndarray) -> list[list[int]]:
    """Convert sorted ids to ranges, with the first and last id of each.

    >>> import numpy as np
    >>> to_ranges(np.array([0, 1, 2, 7, 9, 10]))
    [[0, 2], [7, 7], [9, 10]]
    """
    import numpy as np

    if not len(ids):
        return []
    breaks = np.flatnonzero(np.diff(ids) != 1)
    firsts = ids[np.concatenate([[0], breaks + 1])]
    lasts = ids[np.concatenate([breaks, [len(ids) - 1]])]
    return np.stack([firsts, lasts], axis=1).tolist()  # type: ignore[no-any-return]


def from_ranges(ranges: Sequence[Sequence[int]], size: int, file: str | Path) -> np.ndarray:
    """Convert ranges to a mask over ``size`` ids; ``file`` is for the error message.

    >>> from_ranges([[0, 1], [3, 3]], 5, "vocabulary.json").tolist()
    [True, True, False, True, False]

    Raises:
        CorruptFileError: A range is invalid.
    """
    import numpy as np

    mask = np.zeros(size, dtype=bool)
    for each in ranges:
        if len(each) != 2 or any(type(index) is not int for index in each) or not 0 <= each[0] <= each[1] < size:
            problem = f"{shown(each)} is not a range of ids below {size:,}"
            raise CorruptFileError(problem, "the file was altered: create it again or download it again", file=file)
        mask[each[0] : each[1] + 1] = True
    return mask


Keep = Literal["band", "true-friends", "false-friends"]
"""How shared anchors are chosen: by frequency (``band``) or by a dictionary."""
Kept = dict[Pair, set[str]]


class Share(Protocol):
    """Function that groups the languages of a string."""

    def __call__(self, piece: str, languages: Sequence[str]) -> list[tuple[str, ...]]:
        """The groups of languages that share the id."""


@dataclass(frozen=True)
class Type:
    """String and languages of an id."""

    piece: str
    languages: tuple[str, ...]

    def name_for(self, language: str) -> str:
        """The name of the subword in a language's view.

        Subwords of other languages get a name that no text can contain: words never have letters beside a colon.
        """
        return self.piece if language in self.languages else f"{self.languages[0]}:{self.piece}"


def union(piece: str, languages: Sequence[str]) -> list[tuple[str, ...]]:  # noqa: ARG001 - a Share
    """Equal strings share an id."""
    return [tuple(languages)]


def disjoint(piece: str, languages: Sequence[str]) -> list[tuple[str, ...]]:  # noqa: ARG001 - a Share
    """Every language has its own ids."""
    return [(language,) for language in languages]


def lay_out(pieces: Mapping[str, Sequence[str]], share: Share) -> tuple[list[Type], dict[str, dict[str, int]]]:
    """Assign ids to the subwords of each language, after the special tokens.

    Returns:
        The type of every id, special tokens first; and for each language the id of each of its strings.

    >>> types, ids = lay_out({"en": ["a", "b"], "fr": ["b", "c"]}, union)
    >>> [type.piece for type in types[5:]], ids["fr"]["b"]
    (['a', 'b', 'c'], 6)
    """
    owners: dict[str, list[str]] = {}
    for language, strings in pieces.items():
        for piece in strings:
            owners.setdefault(piece, []).append(language)
    types = [Type(piece, tuple(pieces)) for piece in SPECIAL]
    ids: dict[str, dict[str, int]] = {language: {} for language in pieces}
    for language, strings in pieces.items():
        for piece in strings:
            if piece in ids[language]:
                continue
            group = next(group for group in share(piece, owners[piece]) if language in group)
            for member in group:
                ids[member][piece] = len(types)
            types.append(Type(piece, group))
    return types, ids


# --- graded ---


@dataclass(frozen=True, kw_only=True)
class Grading:
    """Choice of the anchors that stay shared; other common strings get an id for each language.

    Args:
        keep: How anchors are chosen.
        band: For ``band``: first and last rank, from 1, among the anchors of a pair by descending frequency, which is
            the mean of the subword's shares of the tokens of the two languages.
        dictionaries: For friends: dictionaries of each pair in the MUSE layout.

    >>> grading = Grading(keep="band", band=(1, 1000))
    >>> grading.keep, grading.band
    ('band', (1, 1000))
    """

    keep: Keep
    band: tuple[int, int] | None = None
    dictionaries: Mapping[Pair, Sequence[str | Path]] | None = None

    def __post_init__(self) -> None:
        check_name("choice of anchors", self.keep, get_args(Keep))
        if self.keep != "band" and not self.dictionaries:
            problem, remedy = (
                f"keep {self.keep} needs a dictionary",
                "name one for each pair of languages, as MUSE has them",
            )
            raise ConfigError(problem, remedy, "missing-option")
        if self.keep == "band" and self.band is None:
            raise ConfigError("keep band needs a band", "say which ranks to keep, such as 1-1000", "missing-option")
        if self.band is not None and not 1 <= self.band[0] <= self.band[1]:
            problem = f"no band {self.band[0]}-{self.band[1]}"
            raise ConfigError(problem, "ranks count from 1, the lower one first", "invalid-value")


def parse_grading(
    keep: Keep | None, band: str | None = None, dictionaries: Mapping[Pair, Sequence[str | Path]] | None = None
) -> Grading | None:
    """Return the choice of anchors with a band such as ``1-1000``; None if none is asked for.

    >>> parse_grading("band", "1-1000").band
    (1, 1000)

    Args:
        keep: How anchors are chosen.
        band: First and last rank.
        dictionaries: Dictionaries of each pair.

    Raises:
        ConfigError: A band or dictionaries without a choice, a malformed band, or as for :class:`Grading`.
    """
    if keep is None and (band or dictionaries):
        remedy = "say what to keep, or leave them out"
        raise ConfigError("--band and --dictionary belong to --keep", remedy, "conflicting-options")
    first, _, last = (band or "0-0").partition("-")
    if not (first.isdecimal() and last.isdecimal()):
        raise ConfigError(f"--band {shown(band)} is not first-last", "write it as --band 1-1000", "malformed-option")
    if keep is None:
        return None
    return Grading(keep=keep, band=(int(first), int(last)) if band else None, dictionaries=dictionaries)


def friends_of(grading: Grading, languages: Sequence[str]) -> dict[Pair, Friends]:
    """Read the dictionaries of each language pair, if the choice needs them.

    Raises:
        ConfigError: A pair has no dictionary, or a dictionary is for another language.
    """
    friends = read_friends(grading.dictionaries or {}, languages)
    for first, second in combinations(languages, 2):
        if grading.keep != "band" and (first, second) not in friends:
            problem = f"no dictionary for {first}-{second}"
            raise ConfigError(problem, f"keep {grading.keep} needs one for every pair", "missing-data")
    return friends


def choose_anchors(
    grading: Grading, pieces: Mapping[str, Sequence[str]], counts: Mapping[str, Mapping[str, int]]
) -> tuple[Kept, list[Friends]]:
    """The strings that stay shared for each language pair, and the dictionaries used.

    Args:
        grading: The choice.
        pieces: The strings of each language.
        counts: The count of each string in each language.

    Raises:
        ConfigError: A pair has no dictionary.
    """
    friends = friends_of(grading, list(pieces))
    kept: Kept = {}
    for first, second in combinations(pieces, 2):
        anchors = set(pieces[first]) & set(pieces[second])
        if grading.keep == "band":
            low, high = grading.band or (1, 0)
            ranked = by_frequency(anchors, counts[first], counts[second])
            kept[first, second] = set(ranked[low - 1 : high])
            continue
        wanted = grading.keep.removesuffix("-friends")
        judge = friends[first, second].judge
        kept[first, second] = {
            piece for piece in anchors if piece.startswith(MARK) and judge(piece.removeprefix(MARK)) == wanted
        }
    return kept, list(dict.fromkeys(friends.values()))


def by_frequency(pieces: set[str], first: Mapping[str, int], second: Mapping[str, int]) -> list[str]:
    """Sort strings by the mean of their shares in two languages, most frequent first.

    >>> by_frequency({"a", "b", "c"}, {"a": 1, "b": 9}, {"a": 1, "c": 1})
    ['b', 'a', 'c']
    """
    totals = max(sum(first.values()), 1), max(sum(second.values()), 1)

    def share(piece: str) -> float:
        return first.get(piece, 0) / totals[0] + second.get(piece, 0) / totals[1]

    return sorted(pieces, key=lambda piece: (-share(piece), piece))


def graded(kept: Kept) -> Share:
    """Languages share the id of a string if they are connected by pairs that keep it."""

    def share(piece: str, languages: Sequence[str]) -> list[tuple[str, ...]]:
        groups = [{language} for language in languages]
        for first, second in combinations(languages, 2):
            if piece in kept.get((first, second), ()) or piece in kept.get((second, first), ()):
                joined = [group for group in groups if first in group or second in group]
                groups = [group for group in groups if group not in joined] + [set().union(*joined)]
        place = {language: rank for rank, language in enumerate(languages)}
        ordered = [tuple(sorted(group, key=place.__getitem__)) for group in groups]
        return sorted(ordered, key=lambda group: place[group[0]])

    return share

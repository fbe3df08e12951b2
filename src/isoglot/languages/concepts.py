"""The world that the built-in languages describe: concepts, their kinds and topics, and which occur together.

Frequencies are Zipfian at every level (topics, actions in a topic, participants): lists in ``data/world/`` are sorted
by frequency. This unevenness is what makes two languages alignable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from isoglot.languages.grammars.lexicon import from_row, read_table


@dataclass(slots=True, frozen=True)
class Noun:
    """Noun concept."""

    concept: str
    isa: str  # the more general concept: a dog is an animal
    sex: str  # ``m`` or ``f`` for people
    mass: bool  # mass noun: bread, water
    place: bool  # is a place
    unique: bool  # unique: the sun
    spoken: bool  # has a word; the most general concepts, such as *thing*, are for classification only
    topics: tuple[str, ...]


@dataclass(slots=True, frozen=True)
class Verb:
    """Verb concept with its participants, most frequent first."""

    concept: str
    # ``tr`` takes a patient, ``give`` a recipient too, ``go`` a goal, ``stay`` a place, ``say`` a complement
    frame: str
    agents: tuple[str, ...]
    patients: tuple[str, ...]  # patients; with ``go`` and ``stay``, the places
    partners: tuple[str, ...]  # recipients with ``give``, instruments with ``tr``
    places: tuple[str, ...]
    topics: tuple[str, ...]  # empty: any topic
    manner: str
    stative: bool  # stative or durative: imperfective in Russian
    once: bool  # happens only once: *die*
    together: bool  # needs several agents: *meet*
    opposite: str


@dataclass(slots=True, frozen=True)
class Adjective:
    """Adjective concept, its opposite, and the nouns it applies to, most frequent first."""

    concept: str
    opposite: str
    of: tuple[str, ...]


@dataclass(slots=True, frozen=True)
class Adverb:
    """Adverb of time, frequency or manner, and the tenses or verbs it occurs with."""

    concept: str
    kind: str
    goes_with: frozenset[str]


@dataclass(slots=True, frozen=True)
class NamedEntity:
    """Named person, place or organization."""

    name: str
    kind: str  # ``PER``, ``LOC`` or ``ORG``
    sex: str
    topics: tuple[str, ...]


class World:
    """All concepts, by part of speech."""

    def __init__(self) -> None:
        self.topics = [row["topic"] for row in read_table("world", "topics")]
        self.nouns = {row["concept"]: _noun(row) for row in read_table("world", "nouns")}
        self._below: dict[str, list[str]] = {}
        for concept in self.nouns:
            for kind in self.kinds_of(concept):
                self._below.setdefault(kind, []).append(concept)
        self.verbs = {row["concept"]: self._verb(row) for row in read_table("world", "verbs")}
        self.adjectives = {
            row["concept"]: Adjective(row["concept"], row["opposite"], self._expand(row["of"]))
            for row in read_table("world", "adjectives")
        }
        self.adverbs = {
            row["concept"]: Adverb(row["concept"], row["class"], frozenset(row["goes with"].split(",")))
            for row in read_table("world", "adverbs")
        }
        self.numbers = {int(row["value"]): row["concept"] for row in read_table("world", "numbers")}
        self.names = {
            row["name"]: NamedEntity(row["name"], row["type"], row["sex"], _split(row["topics"]))
            for row in read_table("world", "names")
        }

    def kinds_of(self, concept: str) -> list[str]:
        """The more general concepts of a concept, nearest first."""
        found = []
        while concept := self.nouns[concept].isa:
            found.append(concept)
        return found

    def and_below(self, cell: str) -> frozenset[str]:
        """The names in a cell of a table, and all concepts below them; other names, as ``@LOC``, stay."""
        named = set(_split(cell))
        return frozenset(named.union(*(self._below.get(name, ()) for name in named)))

    def _expand(self, cell: str) -> tuple[str, ...]:
        """Expand general concepts to all concepts below them; ``!boy`` excludes one, and ``@ORG`` is kept."""
        found: dict[str, None] = {}
        for concept in _split(cell):
            if concept.startswith("!"):
                found.pop(concept[1:], None)
                continue
            if concept == "@ORG":
                found[concept] = None
                continue
            below = [c for c in self._below.get(concept, ()) if self.nouns[c].spoken]
            for name in below or [concept]:
                found[name] = None
        return tuple(found)

    def _verb(self, row: dict[str, str]) -> Verb:
        roles = {"agents": "agent", "patients": "patient", "partners": "with", "places": "place"}
        aspects = {"stative": "state", "once": "once", "together": "together"}
        return from_row(
            Verb,
            row,
            topics=_split(row["topics"]),
            **{name: self._expand(row[column]) for name, column in roles.items()},
            **{name: word in row["aspect"] for name, word in aspects.items()},
        )


def _noun(row: dict[str, str]) -> Noun:
    flags = row["flags"].split(",")
    own = {name: name in flags for name in ("mass", "place", "unique")}
    return from_row(Noun, row, **own, spoken="kind" not in flags, topics=_split(row["topics"]))


def _split(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(",")) if cell else ()


@lru_cache(maxsize=1)
def world() -> World:
    """The world, read once."""
    return World()

"""Chances: what goes with what in the world, and how often. Every list is Zipfian: the first is commonest.

Tables are made when they are first asked for, and kept.
"""

from __future__ import annotations

from bisect import bisect
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Generic, TypeVar
from zlib import crc32

from isoglot.languages.concepts import Verb, world

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoglot.languages.meaning import Tense

Item = TypeVar("Item")

ORG = "@ORG"


class Draw(Generic[Item]):
    """Items with weights, drawn by one random number.

    >>> Draw(["a", "b"], [3, 1]).at(0.7), Draw(["a", "b"], [3, 1]).at(0.8)
    ('a', 'b')
    """

    __slots__ = ("cumulative", "items")

    def __init__(self, items: Sequence[Item], weights: Iterable[float]) -> None:
        self.items = items
        total = list(accumulate(weights))
        self.cumulative = [weight / total[-1] for weight in total[:-1]]

    def at(self, chance: float) -> Item:
        """The item that a number from 0 up to 1 falls on."""
        return self.items[bisect(self.cumulative, chance)]

    def __bool__(self) -> bool:
        return bool(self.items)


def zipf(items: Sequence[Item]) -> Draw[Item]:
    """Items whose frequency falls with their rank: 1, 1/2, 1/3, ..."""
    return Draw(items, (1 / rank for rank in range(1, len(items) + 1)))


# --- what goes with what in a topic; computed once, when first asked for ---


@cache
def topic_draw() -> Draw[str]:
    """The topics, most frequent first."""
    return zipf(world().topics)


@cache
def verb_draw(topic: str) -> Draw[Verb]:
    """The verbs of a topic: first those it is the first topic of, then the others, then those of any topic."""
    verbs = [verb for verb in world().verbs.values() if verb.frame != "say"]
    found = [verb for verb in verbs if topic in verb.topics]
    found.sort(key=lambda verb: verb.topics.index(topic))
    return zipf(found + [verb for verb in verbs if not verb.topics])


@cache
def say_draw() -> Draw[Verb]:
    """The verbs that take a complement."""
    return zipf([verb for verb in world().verbs.values() if verb.frame == "say"])


@cache
def role_draw(topic: str, role: tuple[str, ...]) -> Draw[str]:
    """The concepts that fill a role, those of the topic six times as likely as their rank says."""
    nouns = world().nouns
    boost = [6.0 if concept == ORG or topic in nouns[concept].topics else 1.0 for concept in role]
    return Draw(role, (weight / rank for rank, weight in enumerate(boost, start=1)))


@cache
def name_draw(topic: str, kind: str) -> Draw[str]:
    """The names of a kind, those tied to the topic far more likely."""
    names = [name for name in world().names.values() if name.kind == kind]
    tied = [name.name for name in names if topic in name.topics]
    others = [name.name for name in names if topic not in name.topics]
    rank = 1.0 / (10 * max(len(others), 1))
    return Draw(tied + others, [1 / r for r in range(1, len(tied) + 1)] + [rank] * len(others))


@cache
def adjective_draw(concept: str) -> Draw[str]:
    """The properties a thing may have."""
    found = [a for a in world().adjectives.values() if concept in a.of]
    # Every thing has an order of its own, so that what is said of it tells it from the others.
    found.sort(key=lambda adjective: crc32(f"{concept} {adjective.concept}".encode()))
    return zipf([adjective.concept for adjective in found]) if found else Draw([], [1.0])


@cache
def time_draw(tense: str) -> Draw[str]:
    """The times that go with a tense."""
    return zipf([a.concept for a in world().adverbs.values() if a.kind == "time" and a.goes_with & {tense, "any"}])


@cache
def frequency_draw() -> Draw[str]:
    """How often."""
    return zipf([a.concept for a in world().adverbs.values() if a.kind == "frequency"])


@cache
def manner_draw(manner: str) -> Draw[str]:
    """How it is done."""
    found = [a.concept for a in world().adverbs.values() if a.kind == "manner" and manner in a.goes_with]
    return zipf(found) if found else Draw([], [1.0])


@cache
def described_draw(topic: str) -> Draw[str]:
    """The things of a topic that have properties."""
    nouns = [n for n in world().nouns.values() if n.spoken and topic in n.topics]
    return zipf([noun.concept for noun in nouns if adjective_draw(noun.concept)])


@cache
def member_draw(topic: str) -> Draw[str]:
    """The things of a topic of which a more general word is true."""
    nouns = world().nouns
    found = [n for n in nouns.values() if n.spoken and not n.mass and n.isa and topic in n.topics and not n.sex]
    return zipf([noun.concept for noun in found if nouns[noun.isa].spoken and not nouns[noun.isa].mass])


PASSING = frozenset(
    [
        *("happy", "sad", "hot", "cold", "clean", "dirty", "full", "empty", "healthy", "ill", "wet", "dry"),
        *("open", "closed", "tired", "hungry", "quiet", "loud", "dangerous"),
    ]
)
"""Properties that come and go, so that one may say when."""
FAR = frozenset({"go", "come", "travel_v", "return", "fly"})
"""Motion that may end at a place with a name."""
SAID_ALREADY = {
    "open": ("open", "closed"),
    "close": ("open", "closed"),
    "break": ("broken",),
    "repair": ("broken", "new"),
    "wash": ("clean", "dirty"),
    "clean_v": ("clean", "dirty"),
}
"""Properties that would sound odd of what an action is done to."""
COUNTS = zipf((2, 3, 4, 5, 10, 6, 7, 8, 12, 20, 9))
TENSES: dict[str, Draw[Tense]] = {
    "encyclopaedic": Draw(("past", "present", "future"), (60, 30, 10)),
    "conversational": Draw(("present", "past", "future"), (40, 35, 25)),
}
KINDS = Draw(("action", "property", "location", "class"), (76, 12, 7, 5))

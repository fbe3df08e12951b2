"""Random meanings, Zipfian at every level: topics, verbs, participants.

A :class:`Sampler` draws meanings about one topic in one register, with a cast of recurring people, names and places.
Frequency tables are cached.
"""

from __future__ import annotations

from bisect import bisect
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Generic, TypeVar
from zlib import crc32

from isoglot.languages.concepts import Verb, world
from isoglot.languages.meaning import (
    Asked,
    Both,
    Clause,
    Meaning,
    Name,
    Phrase,
    Pronoun,
    Register,
    Tense,
    Thing,
    Wording,
    number_units,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

Item = TypeVar("Item")

ORG = "@ORG"


class Draw(Generic[Item]):
    """Weighted distribution over items.

    >>> Draw(["a", "b"], [3, 1]).at(0.7), Draw(["a", "b"], [3, 1]).at(0.8)
    ('a', 'b')
    """

    __slots__ = ("cumulative", "items")

    def __init__(self, items: Sequence[Item], weights: Iterable[float]) -> None:
        self.items = items
        total = list(accumulate(weights))
        self.cumulative = [weight / total[-1] for weight in total[:-1]]

    def at(self, chance: float) -> Item:
        """The item for a number from [0, 1)."""
        return self.items[bisect(self.cumulative, chance)]

    def __bool__(self) -> bool:
        return bool(self.items)


def zipf(items: Sequence[Item]) -> Draw[Item]:
    """Distribution with frequencies 1, 1/2, 1/3, ... by rank."""
    return Draw(items, (1 / rank for rank in range(1, len(items) + 1)))


# --- distributions by topic, cached ---


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
    """The concepts of a role; those of the topic are six times as likely."""
    nouns = world().nouns
    boost = [6.0 if concept == ORG or topic in nouns[concept].topics else 1.0 for concept in role]
    return Draw(role, (weight / rank for rank, weight in enumerate(boost, start=1)))


@cache
def name_draw(topic: str, kind: str) -> Draw[str]:
    """The names of a kind; those of the topic are far more likely."""
    names = [name for name in world().names.values() if name.kind == kind]
    tied = [name.name for name in names if topic in name.topics]
    others = [name.name for name in names if topic not in name.topics]
    rank = 1.0 / (10 * max(len(others), 1))
    return Draw(tied + others, [1 / r for r in range(1, len(tied) + 1)] + [rank] * len(others))


@cache
def adjective_draw(concept: str) -> Draw[str]:
    """The properties a thing may have."""
    found = [a for a in world().adjectives.values() if concept in a.of]
    # every noun has its own order of adjectives, which distinguishes it from others
    found.sort(key=lambda adjective: crc32(f"{concept} {adjective.concept}".encode()))
    return zipf([adjective.concept for adjective in found])


@cache
def time_draw(tense: str) -> Draw[str]:
    """Adverbs of time for a tense."""
    return zipf([a.concept for a in world().adverbs.values() if a.kind == "time" and a.goes_with & {tense, "any"}])


@cache
def frequency_draw() -> Draw[str]:
    """Adverbs of frequency."""
    return zipf([a.concept for a in world().adverbs.values() if a.kind == "frequency"])


@cache
def manner_draw(manner: str) -> Draw[str]:
    """Adverbs of manner."""
    return zipf([a.concept for a in world().adverbs.values() if a.kind == "manner" and manner in a.goes_with])


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
"""Temporary properties, which allow adverbs of time."""
FAR = frozenset({"go", "come", "travel_v", "return", "fly"})  # verbs of motion that may have a named goal
SAID_ALREADY = {
    "open": ("open", "closed"),
    "close": ("open", "closed"),
    "break": ("broken",),
    "repair": ("broken", "new"),
    "wash": ("clean", "dirty"),
    "clean_v": ("clean", "dirty"),
}
"""Properties that are unusual for patients."""
COUNTS = zipf((2, 3, 4, 5, 10, 6, 7, 8, 12, 20, 9))
TENSES: dict[str, Draw[Tense]] = {
    "encyclopaedic": Draw(("past", "present", "future"), (60, 30, 10)),
    "conversational": Draw(("present", "past", "future"), (40, 35, 25)),
}
KINDS = Draw(("action", "property", "location", "class"), (76, 12, 7, 5))


class Sampler:
    """Random meanings about one topic in one register, with a recurring cast.

    Args:
        random: Random number generator.
        topic: The topic.
        register: ``encyclopaedic`` speaks in the third person; ``conversational`` asks, and says I and you.
    """

    def __init__(self, random: Random, topic: str, register: Register) -> None:
        self.chance = random.random
        self.bits = random.getrandbits
        self.topic = topic
        self.register: Register = register
        self.world = world()
        self.nouns = self.world.nouns
        self.cast: dict[str, Name | Thing] = {}
        """The person, place and organization of this text, once they have been mentioned."""
        self.last: Thing | Name | None = None
        """The subject of the last sentence, which may now be a pronoun."""

    # --- whole meanings ---

    def meaning(self) -> Meaning:
        """Draw the meaning of a sentence."""
        chance = self.chance
        kind = chance()
        if self.register == "conversational" and kind < 0.25:
            return self._done(Meaning(self._asked(), question=True))
        if kind > 0.93:
            return self._done(Meaning(self._saying()))
        main = self.clause()
        self.last = None
        if kind > 0.80 and main.kind != "class":
            return self._done(self._linked(main))
        return self._done(Meaning(main))

    def wording(self) -> Wording:
        """Draw a wording."""
        chance = self.chance
        return Wording(self.bits(16) & self.bits(16), chance() < 0.3, chance() < 0.3)

    def _done(self, meaning: Meaning) -> Meaning:
        meaning.register = self.register
        meaning.topic = self.topic
        agent = meaning.main.agent
        if isinstance(agent, Pronoun):
            agent = agent.of
        self.last = agent if isinstance(agent, (Thing, Name)) and not meaning.question else None
        return number_units(meaning)

    def _linked(self, main: Clause) -> Meaning:
        link = ("because", "and", "but", "when", "although")[int(self.chance() * 5)]
        if main.tense == "future" and link in {"when", "although"}:
            link = "because"
        other = self._clause_but_class()
        other.tense = main.tense
        other.time = None
        other.frequency = None
        if main.time in {"now", "today"}:
            main.time = None
        if isinstance(main.agent, (Thing, Name)) and (
            _same(main.agent, other.agent) or (self.chance() < 0.5 and self._may_do(main.agent, other))
        ):
            other.agent = Pronoun(3, self._several(main.agent), self._bare(main.agent))
        return Meaning(main, link, other)  # type: ignore[arg-type]

    def _may_do(self, agent: Thing | Name, clause: Clause) -> bool:
        """Whether the agent of one clause may be the agent of another."""
        if clause.kind == "action" and not isinstance(clause.agent, Pronoun):
            concept = agent.concept if isinstance(agent, Thing) else self.world.names[agent.name].kind
            agents = self.world.verbs[clause.predicate].agents
            return concept in agents or (concept == "PER" and "woman" in agents)
        return False

    def _bare(self, phrase: Thing | Name) -> Thing | Name:
        return Thing(phrase.concept, plural=phrase.plural) if isinstance(phrase, Thing) else phrase

    def _several(self, phrase: Phrase) -> bool:
        return isinstance(phrase, Both) or (isinstance(phrase, (Thing, Pronoun)) and phrase.plural)

    def _saying(self) -> Clause:
        verb = say_draw().at(self.chance())
        agent = self._agent(verb)
        tense: Tense = "past" if self.chance() < 0.5 else "present"
        self.last = None
        inner = self._clause_but_class()
        if isinstance(agent, (Thing, Name)) and _same(agent, inner.agent):
            inner.agent = Pronoun(3, self._several(agent), self._bare(agent))
        if tense == "past":
            inner.tense, inner.time = "past", None  # avoids sequence of tenses
        return Clause("action", verb.concept, agent, complement=inner, tense=tense)

    def _asked(self) -> Clause:
        """A question about a role, or a yes-no question."""
        clause = self._clause_but_class()
        if isinstance(clause.agent, Pronoun) and clause.agent.person == 1:
            clause.agent = Pronoun(2)  # questions are not about the speaker
            if isinstance(clause.recipient, Pronoun):
                clause.recipient = Pronoun(1)
        chance = self.chance()
        person = clause.kind == "action" and not isinstance(clause.agent, Pronoun)
        if chance < 0.2 and person and self._is_person(clause.agent):
            clause.agent = Asked("who")
        elif chance < 0.4 and clause.kind == "action" and isinstance(clause.patient, Thing) and not clause.recipient:
            clause.patient = Asked("who" if self.nouns[clause.patient.concept].sex else "what")
        elif chance < 0.6 and clause.place is not None:
            clause.place = Asked("where")
        elif chance < 0.6 and clause.goal is not None:
            clause.goal = Asked("where")
        return clause

    def _clause_but_class(self) -> Clause:
        clause = self.clause(simple=True)
        while clause.kind == "class":
            clause = self.clause(simple=True)
        return clause

    def _is_person(self, phrase: Phrase | None) -> bool:
        """Whether it is a person, people or an organization."""
        if isinstance(phrase, Pronoun) and isinstance(phrase.of, Thing):
            phrase = phrase.of
        if isinstance(phrase, Thing):
            return bool(self.nouns[phrase.concept].sex)
        return phrase is not None

    # --- clauses ---

    def clause(self, *, simple: bool = False) -> Clause:
        """Draw a clause; a simple one has no relative clauses."""
        kind = KINDS.at(self.chance())
        if kind == "action":
            return self.action(simple=simple)
        tense: Tense = TENSES[self.register].at(self.chance())
        negative = self.chance() < 0.1
        if kind == "class" and (members := member_draw(self.topic)):
            concept = members.at(self.chance())
            member, whole = Thing(concept, definite=False), Thing(self.nouns[concept].isa, definite=False)
            return Clause("class", "", member, whole, tense="present")
        if kind == "location":
            verb = self._verb(placed=True)
            agent = self._agent(verb)
            place = self._place(verb, agent, self.topic)
            if place is not None and self._can_be_somewhere(agent):
                return Clause(
                    "location", "", agent, place=place, tense=tense, negative=negative, time=self._time(tense)
                )
        concept = described_draw(self.topic).at(self.chance())
        adjective = adjective_draw(concept).at(self.chance())
        agent = self.thing(concept, definite=0.95, adjective=False)
        agent.count = 0
        time = self._time(tense) if adjective in PASSING else None
        return Clause("property", adjective, agent, tense=tense, negative=negative, time=time)

    def _can_be_somewhere(self, phrase: Phrase) -> bool:
        """Whether it can be at a place: people and things, but not places and organizations."""
        if isinstance(phrase, Thing):
            return not (self.nouns[phrase.concept].place or self.nouns[phrase.concept].unique)
        return not (isinstance(phrase, Name) and self.world.names[phrase.name].kind == "ORG")

    def action(self, *, simple: bool = False, verb: Verb | None = None) -> Clause:
        """Draw a clause with an action."""
        chance = self.chance
        verb = verb or self._verb()
        tense: Tense = TENSES[self.register].at(chance())
        clause = Clause("action", verb.concept, self._agent(verb), tense=tense, negative=chance() < 0.1)
        taken = clause.agent.concept if isinstance(clause.agent, Thing) else ""
        topic = self.nouns[taken].topics[0] if taken and self.nouns[taken].topics else self.topic
        if verb.frame in {"tr", "give"}:
            clause.patient = self._patient(verb, topic, clause.agent, tense, simple=simple)
            if verb.frame == "give":
                clause.recipient = self._recipient(verb, clause.agent, taken)
            elif verb.partners and chance() < 0.25 and self._is_person(clause.agent):
                concept = role_draw(topic, verb.partners).at(chance())
                if not (isinstance(clause.patient, Thing) and clause.patient.concept == concept):
                    clause.instrument = self.thing(concept, definite=0.3, adjective=False, plural=0.0)
        elif verb.frame == "go":
            where = role_draw(topic, verb.patients).at(chance())
            clause.goal = self._somewhere(where, clause.agent if verb.concept in FAR else None)
        elif verb.frame == "stay":
            clause.place = self._somewhere(role_draw(topic, verb.patients).at(chance()), clause.agent)
        if clause.place is None and clause.goal is None and chance() < 0.22:
            clause.place = self._place(verb, clause.agent, topic)
        if not simple and chance() < 0.06 and isinstance(clause.agent, Thing):
            self._add_relative(clause.agent, tense)
        clause.time = self._time(tense)
        repeats = clause.time is None and not clause.negative and not verb.once and tense != "future"
        if repeats and chance() < 0.12:
            clause.frequency = frequency_draw().at(chance())
        if verb.manner and chance() < 0.15 and not clause.negative and (manners := manner_draw(verb.manner)):
            clause.manner = manners.at(chance())
        return clause

    def _verb(self, *, placed: bool = False) -> Verb:
        draw = verb_draw(self.topic)
        verb = draw.at(self.chance())
        while placed and not verb.places:
            verb = draw.at(self.chance())
        return verb

    def _time(self, tense: str) -> str | None:
        return time_draw(tense).at(self.chance()) if self.chance() < 0.25 else None

    # --- phrases ---

    def _agent(self, verb: Verb) -> Phrase:
        chance = self.chance
        concept = role_draw(self.topic, verb.agents).at(chance())
        if concept == ORG:
            return self._cast_member("ORG")
        if verb.together:
            return self._several_agents(concept)
        if self.nouns[concept].sex:
            luck = chance()
            if self.register == "conversational" and luck < 0.45:
                return (Pronoun(1), Pronoun(2), Pronoun(1, plural=True))[int(luck * 6.6)]
            if luck > (0.6 if "PER" in self.cast else 0.75):
                return self._cast_member("PER")
            if 0.55 < luck <= 0.6:
                return Both(self.thing(concept, adjective=False, plural=0.0), self._new_name("PER"))
        thing = self.thing(concept, definite=0.85)
        if self.last is not None and isinstance(self.last, Thing) and self.last.concept == concept and chance() < 0.7:
            return Pronoun(3, self.last.plural, self._bare(self.last))
        return thing

    def _several_agents(self, concept: str) -> Phrase:
        if self.register == "conversational" and self.chance() < 0.4:
            return Pronoun(1, plural=True)
        thing = self.thing(concept, plural=1.0)
        return thing if self.chance() < 0.6 else Both(self.thing(concept, plural=0.0), self._new_name("PER"))

    def _cast_member(self, kind: str) -> Phrase:
        """The person or organization of this text; a pronoun if the last sentence was about it."""
        member = self.cast.get(kind)
        if member is None or self.chance() < 0.25:
            member = self._new_name(kind)
            self.cast.setdefault(kind, member)
        assert isinstance(member, Name)  # noqa: S101 - for the type checker
        if isinstance(self.last, Name) and self.last.name == member.name and kind == "PER" and self.chance() < 0.6:
            return Pronoun(3, of=Name(member.name))
        return Name(member.name)

    def _new_name(self, kind: str) -> Name:
        return Name(name_draw(self.topic, kind).at(self.chance()))

    def _patient(self, verb: Verb, topic: str, agent: Phrase | None, tense: Tense, *, simple: bool) -> Phrase:
        """Draw a patient, preferably of the agent's topic and not the agent itself."""
        chance = self.chance
        taken = agent.concept if isinstance(agent, Thing) else ""
        draw = role_draw(topic, verb.patients)
        concept = draw.at(chance())
        for _ in range(3):
            if concept != taken:
                break
            concept = draw.at(chance())
        if self.nouns[concept].sex and chance() < 0.15 and not isinstance(agent, (Name, Both)):
            return self._new_name("PER")
        thing = self.thing(concept, definite=0.45)
        if thing.adjective in SAID_ALREADY.get(verb.concept, ()):
            thing.adjective = None
        luck = chance()
        if luck < 0.06 and not thing.count and (second := draw.at(chance())) not in {concept, taken}:
            return Both(thing, self.thing(second, definite=0.45))
        if luck > 0.95 and not simple:
            self._add_relative(thing, tense)
        return thing

    def _recipient(self, verb: Verb, agent: Phrase | None, taken: str) -> Phrase:
        concept = role_draw(self.topic, verb.partners).at(self.chance())
        luck = self.chance()
        if self.register == "conversational" and luck < 0.3:
            if isinstance(agent, Pronoun) and agent.person != 3:
                return Pronoun(2 if agent.person == 1 else 1)
            return Pronoun(2 if luck < 0.1 else 1)
        if (luck > 0.8 and not isinstance(agent, (Name, Both))) or concept == taken:
            return self._new_name("PER")
        return self.thing(concept, definite=0.9)

    def _place(self, verb: Verb, agent: Phrase | None, topic: str) -> Phrase | None:
        places = verb.places
        if isinstance(agent, Thing) and not self._is_person(agent):  # only in places of the topic
            places = tuple(place for place in places if topic in self.nouns[place].topics)
        if not places:
            return None
        return self._somewhere(role_draw(topic, places).at(self.chance()), agent)

    def _somewhere(self, concept: str, agent: Phrase | None) -> Phrase:
        """Draw a place, for people sometimes a named one."""
        if self.chance() < 0.2 and self._is_person(agent):
            place = self.cast.setdefault("LOC", self._new_name("LOC"))
            assert isinstance(place, Name)  # noqa: S101 - for the type checker
            return Name(place.name)
        return self.thing(concept, definite=0.9, plural=0.0, adjective=self.chance() < 0.3)

    def thing(self, concept: str, *, definite: float = 0.8, plural: float = 0.2, adjective: bool = True) -> Thing:
        """Draw a noun phrase of a concept, with given probabilities of being definite or plural."""
        chance = self.chance
        noun = self.nouns[concept]
        thing = Thing(concept, definite=noun.unique or chance() < definite)
        if not noun.mass and not noun.unique and chance() < plural:
            thing.plural = True
            if chance() < 0.35:
                thing.count = COUNTS.at(chance())
        if adjective and chance() < 0.2 and (draw := adjective_draw(concept)):
            thing.adjective = draw.at(chance())
        return thing

    def _add_relative(self, thing: Thing, tense: Tense) -> None:
        """Add a relative clause in which the noun is the agent or the patient."""
        subject = self.chance() < 0.6
        for _ in range(4):
            verb = verb_draw(self.topic).at(self.chance())
            if verb.frame == "give" or (verb.agents if subject else verb.patients).count(thing.concept) == 0:
                continue
            if (not subject and verb.frame != "tr") or (subject and verb.together and not thing.plural):
                continue
            clause = self.action(simple=True, verb=verb)
            if any(isinstance(p, Pronoun) and p.person == 3 for p in (clause.agent, clause.patient)):
                continue
            clause.time = clause.frequency = clause.manner = clause.instrument = None
            clause.negative, clause.tense = False, tense
            if subject:
                if isinstance(clause.patient, Thing) and clause.patient.concept == thing.concept:
                    continue
                clause.agent = None
            else:
                if isinstance(clause.agent, Thing) and clause.agent.concept == thing.concept:
                    continue
                clause.patient = clause.place = None
            thing.relative = clause
            thing.gap = "agent" if subject else "patient"
            return


def _same(one: Thing | Name, other: Phrase | None) -> bool:
    if isinstance(one, Thing):
        return isinstance(other, Thing) and other.concept == one.concept
    return isinstance(other, Name) and other.name == one.name

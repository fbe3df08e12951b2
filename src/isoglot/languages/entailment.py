"""Inference pairs: entailment, neutral or contradiction.

The hypothesis is drawn first, from the same distribution for every label, and then a premise for the label. So the
hypothesis alone does not reveal the label.

A clause becomes more *specific* by additions (time, place, manner, properties) and more *general* by removals or more
general words. A specific statement entails the general one; a negated general statement entails the specific one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from isoglot.core.rng import derive_seed
from isoglot.languages.concepts import world
from isoglot.languages.corpus import LANGUAGES, Split, grammar, split_by
from isoglot.languages.meaning import Clause, Meaning, Name, Thing, number_units
from isoglot.languages.random_meanings import (
    PASSING,
    Sampler,
    adjective_draw,
    manner_draw,
    role_draw,
    time_draw,
    topic_draw,
    zipf,
)
from isoglot.text.formats.nli import LABELS, Label

if TYPE_CHECKING:
    from isoglot.languages.sentence import Sentence

Edit = Callable[[], None]


@dataclass(slots=True, frozen=True)
class InferencePair:
    """Premise and hypothesis in one or more languages, with their label."""

    label: Label
    premise: tuple[Sentence, ...]
    hypothesis: tuple[Sentence, ...]


def inference(
    languages: Sequence[str] = LANGUAGES, *, seed: int = 0, split: Split = "train"
) -> Iterator[InferencePair]:
    """Endless labeled pairs in several languages at once; the labels are equally frequent.

    Args:
        languages: Codes of built-in languages.
        seed: Seed of the sentences.
        split: ``train``, ``dev`` or ``test``; the splits have no sentence in common.

    Returns:
        Pairs of premise and hypothesis in every language, with their label, without end.

    >>> next(inference(["en"], seed=0)).label in {"entailment", "neutral", "contradiction"}
    True

    Raises:
        ConfigError: A language is not built in.
    """
    grammars = [grammar(language) for language in languages]
    index = 0
    while True:
        writer = _Writer(Random(derive_seed(seed, "inference", split, index)))  # noqa: S311 - not for secrets
        label = LABELS[index % 3]
        hypothesis = writer.hypothesis(split)
        premise = writer.premise(hypothesis, label)
        sides = [number_units(Meaning(clause)) for clause in (premise, hypothesis)]
        wording = writer.sampler.wording()
        left = tuple(made.render(sides[0], wording) for made in grammars)
        right = tuple(made.render(sides[1]) for made in grammars)
        index += 1
        yield InferencePair(label, left, right)


class _Writer:
    """Generator of one pair."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.sampler = Sampler(random, topic_draw().at(random.random()), "encyclopaedic")
        self.world = world()

    def hypothesis(self, split: Split) -> Clause:
        """A clause for which there is a premise of every label."""
        while True:
            clause = self.sampler.clause(simple=True)
            if clause.kind == "class" or not isinstance(clause.agent, (Thing, Name)):
                continue
            clause.frequency = None
            clause.negative = self.random.random() < 0.5
            if self.random.random() < 0.3:
                self._use_general_word(clause)
            if split_by(_key(clause)) == split and self._neutral(clause) and self._entailing(clause):
                return clause

    def premise(self, hypothesis: Clause, label: Label) -> Clause:
        """A clause with the given relation to the hypothesis."""
        clause = deepcopy(hypothesis)
        if label == "contradiction":
            self._contradict(clause)
        elif label == "neutral":
            self._apply(self._neutral(clause))
        elif self.random.random() > 0.1 or clause.time is None:  # else only the order of the words may differ
            self._apply(self._entailing(clause))
        return clause

    def _apply(self, edits: list[Edit]) -> None:
        if edits:
            self.random.choice(edits)()

    def _entailing(self, clause: Clause) -> list[Edit]:
        """Edits after which the clause entails the original."""
        edits = self._agent_gains_property(clause)
        if not clause.negative:
            return edits + self._additions(clause)
        exclude = [lambda: self._exclude(clause)] if self._can_exclude(clause) else []
        return edits + self._removals(clause) + exclude

    def _neutral(self, clause: Clause) -> list[Edit]:
        """Edits after which the clause is neutral to the original."""
        edits = self._removals(clause) if not clause.negative else self._additions(clause)
        agent = clause.agent
        if isinstance(agent, Thing) and agent.adjective is not None:
            edits.append(lambda: setattr(agent, "adjective", None))
        if clause.kind != "action" and isinstance(agent, Thing) and (others := self._unrelated(clause, agent)):
            edits.append(lambda: _describe(clause, self.random.choice(others)))
        return edits

    def _contradict(self, clause: Clause) -> None:
        """A clause that contradicts the given one."""
        if clause.negative:
            clause.negative = False
            if self.random.random() < 0.5:
                self._apply(self._additions(clause))
        elif self._can_exclude(clause) and self.random.random() < 0.7:
            self._exclude(clause)
        else:
            if self.random.random() < 0.5:
                self._apply(self._removals(clause))
            clause.negative = True

    def _can_exclude(self, clause: Clause) -> bool:
        """Whether there is an opposite, another place or another number."""
        if clause.kind == "property":
            return bool(self.world.adjectives[clause.predicate].opposite)
        if clause.kind == "location":
            return isinstance(clause.place, Thing)
        # who sold five also sold three: another number contradicts a positive statement, not a negated one
        return isinstance(clause.patient, Thing) and clause.patient.count > 0 and not clause.negative

    def _exclude(self, clause: Clause) -> None:
        """Change the clause to a positive one that contradicts it (or, if it was negated, entails it)."""
        clause.negative = False
        if clause.kind == "property":
            clause.predicate = self.world.adjectives[clause.predicate].opposite
        elif isinstance(clause.place, Thing) and clause.kind == "location":
            here = clause.place.concept
            places = [n.concept for n in self.world.nouns.values() if n.place and n.topics and n.concept != here]
            clause.place = Thing(self.random.choice(places))
        elif isinstance(clause.patient, Thing):
            count = clause.patient.count
            clause.patient.count = self.random.choice([n for n in self.world.numbers if n != count])

    def _use_general_word(self, clause: Clause) -> None:
        patient = clause.patient
        if isinstance(patient, Thing) and not patient.definite and not patient.count and (isa := self._isa(patient)):
            _generalize(patient, isa)

    def _isa(self, thing: Thing) -> str:
        """A more general noun of the same countability."""
        noun = self.world.nouns[thing.concept]
        if not noun.isa or not self.world.nouns[noun.isa].spoken or self.world.nouns[noun.isa].mass is not noun.mass:
            return ""
        return noun.isa

    def _unrelated(self, clause: Clause, agent: Thing) -> list[str]:
        """Properties of the agent that are unrelated to the clause."""
        related = {clause.predicate, agent.adjective}
        if clause.kind == "property":
            related.add(self.world.adjectives[clause.predicate].opposite)
        if agent.adjective:
            related.add(self.world.adjectives[agent.adjective].opposite)
        return [a for a in adjective_draw(agent.concept).items if a not in related]

    def _agent_gains_property(self, clause: Clause) -> list[Edit]:
        agent = clause.agent
        if not isinstance(agent, Thing) or not agent.definite or agent.adjective is not None:
            return []
        others = self._unrelated(clause, agent)
        return [lambda: setattr(agent, "adjective", self.random.choice(others))] if others else []

    # --- additions and removals ---

    def _additions(self, clause: Clause) -> list[Edit]:
        """Edits that add information."""
        found: list[Edit] = []
        chance = self.random.random
        may_have_time = clause.kind != "property" or clause.predicate in PASSING
        if clause.time is None and may_have_time:
            found.append(lambda: setattr(clause, "time", time_draw(clause.tense).at(chance())))
        if clause.kind != "action":
            return found
        verb = self.world.verbs[clause.predicate]
        if clause.place is None and clause.goal is None and verb.places:
            concept = role_draw(self.sampler.topic, verb.places).at(chance())
            found.append(lambda: setattr(clause, "place", Thing(concept)))
        if clause.manner is None and verb.manner and (manners := manner_draw(verb.manner)):
            found.append(lambda: setattr(clause, "manner", manners.at(chance())))
        patient = clause.patient
        if isinstance(patient, Thing) and not patient.definite and patient.adjective is None:
            if draw := adjective_draw(patient.concept):
                found.append(lambda: setattr(patient, "adjective", draw.at(chance())))
            below = [
                n.concept for n in self.world.nouns.values() if n.isa == patient.concept and n.concept in verb.patients
            ]
            if below and not patient.count:
                found.append(lambda: setattr(patient, "concept", zipf(below).at(chance())))
        return found

    def _removals(self, clause: Clause) -> list[Edit]:
        """Edits that remove information."""
        removable = ["time"]
        if clause.kind == "action":
            stays = self.world.verbs[clause.predicate].frame == "stay"
            removable += ["manner", "instrument"] if stays else ["place", "manner", "instrument"]
        present = [name for name in removable if getattr(clause, name) is not None]
        found: list[Edit] = [partial(setattr, clause, name, None) for name in present]
        if clause.kind != "action":
            return found
        patient = clause.patient
        if isinstance(patient, Thing) and not patient.definite:
            if patient.adjective is not None:
                found.append(lambda: setattr(patient, "adjective", None))
            if isa := self._isa(patient):
                found.append(lambda: _generalize(patient, isa))
        return found


def _describe(clause: Clause, adjective: str) -> None:
    clause.kind, clause.predicate, clause.place, clause.time = "property", adjective, None, None


def _generalize(thing: Thing, concept: str) -> None:
    thing.concept = concept
    thing.adjective = None


def _key(clause: Clause) -> str:
    """The key of the split: what premise and hypothesis have in common for every label."""
    agent = clause.agent.concept if isinstance(clause.agent, Thing) else getattr(clause.agent, "name", "")
    if clause.kind == "property":
        opposite = world().adjectives[clause.predicate].opposite
        return f"{min(clause.predicate, opposite or clause.predicate)} {agent}"
    return f"{clause.predicate.partition('_')[0]} {agent}"

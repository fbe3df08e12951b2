"""Meanings of sentences, independent of language: participants, action or state, place, time, manner.

A grammar renders a :class:`Meaning` as a sentence. Every part of a meaning has a number, its *unit*; words carry
``unit * 8 + part``, so words of two languages with the same number are translations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tense = Literal["past", "present", "future"]
Kind = Literal["action", "property", "class", "location"]
Link = Literal["and", "but", "because", "when", "although"]
Register = Literal["encyclopaedic", "conversational"]


class Part:
    """Parts of a unit of meaning, which has at most eight: a word expresses ``unit * 8 + part``."""

    # of a noun phrase
    HEAD, DETERMINER, ADJECTIVE, NUMBER, MARKER, RELATIVE, CLASSIFIER, AND = range(8)
    # of a clause, where HEAD is the predicate and LINK the conjunction
    NEGATION, TIME, FREQUENCY, MANNER, LINK, COPULA, QUESTION = range(1, 8)


@dataclass(slots=True)
class Thing:
    """Noun phrase: ``the three old houses that the king built``."""

    concept: str
    definite: bool = True
    plural: bool = False
    count: int = 0  # number, from 2 on, in which case ``plural`` is true; 0: none
    adjective: str | None = None
    # Relative clause in which this noun has the role ``gap``; that role is None in the clause
    relative: Clause | None = None
    gap: Literal["agent", "patient"] = "agent"
    unit: int = 0


@dataclass(slots=True)
class Name:
    """A named person, place or organization."""

    name: str
    unit: int = 0


@dataclass(slots=True)
class Pronoun:
    """Pronoun: ``I``, ``you``, ``we``; or, in the third person, one that refers to ``of``."""

    person: Literal[1, 2, 3]
    plural: bool = False
    of: Thing | Name | None = None
    unit: int = 0


@dataclass(slots=True)
class Both:
    """Two noun phrases or names, but no pronouns, joined by *and*."""

    first: Thing | Name
    second: Thing | Name
    unit: int = 0


@dataclass(slots=True)
class Asked:
    """What a question asks for: ``who`` (agent or patient), ``what`` (patient) or ``where`` (place or goal)."""

    word: Literal["who", "what", "where"]
    unit: int = 0


Phrase = Thing | Name | Pronoun | Both | Asked


@dataclass(slots=True)
class Clause:
    """Predicate with its roles.

    ``action``: the verb ``predicate`` with its roles. ``property``: ``agent`` is the adjective ``predicate``.
    ``class``: ``agent`` is a ``patient``. ``location``: ``agent`` is at ``place``.
    """

    kind: Kind
    predicate: str
    agent: Phrase | None
    patient: Phrase | None = None
    recipient: Phrase | None = None
    instrument: Thing | None = None
    goal: Phrase | None = None  # goal of verbs of motion
    place: Phrase | None = None
    complement: Clause | None = None  # clause that is said or thought
    tense: Tense = "past"
    negative: bool = False
    time: str | None = None
    frequency: str | None = None
    manner: str | None = None
    unit: int = 0


@dataclass(slots=True)
class Meaning:
    """Meaning of a sentence: one clause or two linked ones; a statement or a question."""

    main: Clause
    link: Link | None = None
    other: Clause | None = None
    question: bool = False  # whether it is a question: about the role that is :class:`Asked`, or else a yes-no question
    register: Register = "encyclopaedic"
    topic: str = ""


@dataclass(slots=True, frozen=True)
class Wording:
    """Choice between wordings with the same meaning."""

    synonyms: int = 0  # if bit ``unit % 16`` is set, the word of that unit is replaced by its synonym, if it has one
    time_first: bool = False  # put the adverb of time or frequency at the beginning of the sentence
    link_first: bool = False  # put a clause with because, when or although first


PLAIN = Wording()


ROLES = ("agent", "patient", "recipient", "instrument", "goal", "place")  # the roles of a clause that are phrases


def nodes(meaning: Meaning) -> list[tuple[str, Clause | Phrase]]:
    """List the clauses and phrases of a meaning in a fixed order, each after the one that contains it.

    A clause has the role ``main``, ``other``, ``complement`` or ``relative``, a phrase one of :data:`ROLES`.
    """
    found: list[tuple[str, Clause | Phrase]] = []
    _add_nodes(found, "main", meaning.main)
    if meaning.other is not None:
        _add_nodes(found, "other", meaning.other)
    return found


def _add_nodes(found: list[tuple[str, Clause | Phrase]], role: str, node: Clause | Phrase) -> None:
    found.append((role, node))
    if isinstance(node, Clause):
        for name in (*ROLES, "complement"):
            if (below := getattr(node, name)) is not None:
                _add_nodes(found, name, below)
    elif isinstance(node, Both):
        _add_nodes(found, role, node.first)
        _add_nodes(found, role, node.second)
    elif isinstance(node, Thing) and node.relative is not None:
        _add_nodes(found, "relative", node.relative)


def number_units(meaning: Meaning) -> Meaning:
    """Number every part of the meaning, from 1, in a fixed order; returns the same meaning."""
    for unit, (_, node) in enumerate(nodes(meaning), start=1):
        node.unit = unit
    return meaning

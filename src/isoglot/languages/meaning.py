"""What a sentence says, in no language: things, who does what to whom, where, when, how.

A grammar turns a :class:`Meaning` into a sentence. Every part of a meaning has a number, its *unit*; the words of a
sentence carry ``unit * 8 + part``, so words of two languages that carry the same number translate each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tense = Literal["past", "present", "future"]
Kind = Literal["action", "property", "class", "location"]
Link = Literal["and", "but", "because", "when", "although"]
Register = Literal["encyclopaedic", "conversational"]

# Parts of the unit of a noun phrase ...
HEAD, DETERMINER, ADJECTIVE, NUMBER, MARKER, RELATIVE, CLASSIFIER, AND = range(8)
# ... and of the unit of a clause (HEAD is its predicate, LINK its conjunction).
NEGATION, TIME, FREQUENCY, MANNER, LINK, COPULA, QUESTION = 1, 2, 3, 4, 5, 6, 7


@dataclass(slots=True)
class Thing:
    """A noun phrase: ``the three old houses that the king built``."""

    concept: str
    definite: bool = True
    plural: bool = False
    count: int = 0
    """2 or more: that many, and then ``plural`` is true; 0: no number is said."""
    adjective: str | None = None
    relative: Clause | None = None
    """A clause that says more, in which this thing has the role ``gap``; the role is None in the clause itself."""
    gap: Literal["agent", "patient"] = "agent"
    unit: int = 0


@dataclass(slots=True)
class Name:
    """A named person, place or organization."""

    name: str
    unit: int = 0


@dataclass(slots=True)
class Pronoun:
    """``I``, ``you``, ``we``; or, in the third person, what stands for ``of``."""

    person: Literal[1, 2, 3]
    plural: bool = False
    of: Thing | Name | None = None
    unit: int = 0


@dataclass(slots=True)
class Both:
    """Two joined by *and*; never a pronoun among them."""

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
    """One predicate and what goes with it.

    ``action``: the verb ``predicate`` with its roles. ``property``: ``agent`` is the adjective ``predicate``.
    ``class``: ``agent`` is a ``patient``. ``location``: ``agent`` is at ``place``.
    """

    kind: Kind
    predicate: str
    agent: Phrase | None
    patient: Phrase | None = None
    recipient: Phrase | None = None
    instrument: Thing | None = None
    goal: Phrase | None = None
    """Where to, with verbs of motion."""
    place: Phrase | None = None
    """Where."""
    complement: Clause | None = None
    """What is said or thought."""
    tense: Tense = "past"
    negative: bool = False
    time: str | None = None
    frequency: str | None = None
    manner: str | None = None
    unit: int = 0


@dataclass(slots=True)
class Meaning:
    """A whole sentence: one clause or two linked ones; a statement or a question."""

    main: Clause
    link: Link | None = None
    other: Clause | None = None
    question: bool = False
    """Asks for what is :class:`Asked` in it; with nothing asked for, whether it is so."""
    register: Register = "encyclopaedic"
    topic: str = ""


@dataclass(slots=True, frozen=True)
class Wording:
    """What a language may say in two ways, without a change of meaning."""

    synonyms: int = 0
    """Bit ``unit % 16`` set: a word of that unit that has a second form takes it."""
    time_first: bool = False
    """The time or frequency stands at the head of the sentence."""
    link_first: bool = False
    """A clause with because, when or although comes before the other."""


PLAIN = Wording()


def number_units(meaning: Meaning) -> Meaning:
    """Number every part of the meaning, from 1, in a fixed order; returns the same meaning."""
    count = _number_clause(meaning.main, 1)
    if meaning.other is not None:
        _number_clause(meaning.other, count)
    return meaning


def _number_clause(clause: Clause, count: int) -> int:
    clause.unit = count
    count += 1
    for phrase in (clause.agent, clause.patient, clause.recipient, clause.instrument, clause.goal, clause.place):
        if phrase is not None:
            count = _number_phrase(phrase, count)
    if clause.complement is not None:
        count = _number_clause(clause.complement, count)
    return count


def _number_phrase(phrase: Phrase, count: int) -> int:
    phrase.unit = count
    count += 1
    if isinstance(phrase, Both):
        return _number_phrase(phrase.second, _number_phrase(phrase.first, count))
    if isinstance(phrase, Thing) and phrase.relative is not None:
        return _number_clause(phrase.relative, count)
    return count

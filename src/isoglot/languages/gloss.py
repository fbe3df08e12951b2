"""Interlinear glosses: the meaning of each word of a sentence in English."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.languages.meaning import (
    ADJECTIVE,
    AND,
    CLASSIFIER,
    COPULA,
    DETERMINER,
    FREQUENCY,
    HEAD,
    LINK,
    MANNER,
    MARKER,
    NEGATION,
    NUMBER,
    QUESTION,
    RELATIVE,
    TIME,
    Asked,
    Both,
    Clause,
    Meaning,
    Name,
    Phrase,
    Pronoun,
    Thing,
)

if TYPE_CHECKING:
    from isoglot.languages.sentence import Sentence

MARKERS = {"patient": "obj", "recipient": "to", "instrument": "with", "goal": "to", "place": "at", "agent": "subj"}
PERSONS = {(1, False): "I", (2, False): "you", (1, True): "we", (2, True): "you"}


def word_glosses(sentence: Sentence) -> list[str]:
    """The gloss of every word of a sentence.

    If several words express one part of the meaning, the first that is not an auxiliary has the gloss, and the others
    have a dot. Auxiliaries of a predicate (*will*, 会, *hat*) are glossed by the tense of the clause.
    """
    parts, clauses = gloss(sentence.meaning), clauses_by_unit(sentence.meaning)
    said: set[int] = set()
    found: list[str] = []
    for unit, tag, relation in zip(sentence.units, sentence.tags, sentence.relations, strict=True):
        clause = clauses.get(unit // 8) if unit % 8 in (HEAD, COPULA) else None
        others = sentence.units.count(unit) > 1
        if clause is not None and others and tag in ("AUX", "ADV") and relation.startswith(("aux", "advmod")):
            found.append(clause.tense)
        else:
            found.append("" if unit < 0 else "·" if unit in said else parts.get(unit, ""))
            said.add(unit)
    return found


def clauses_by_unit(meaning: Meaning) -> dict[int, Clause]:
    """The clauses of a meaning by unit; other units are phrases."""
    found: dict[int, Clause] = {}
    waiting = [clause for clause in (meaning.main, meaning.other) if clause is not None]
    while waiting:
        clause = waiting.pop()
        found[clause.unit] = clause
        phrases = [getattr(clause, role) for role in MARKERS]
        phrases += [half for phrase in phrases if isinstance(phrase, Both) for half in (phrase.first, phrase.second)]
        waiting += [phrase.relative for phrase in phrases if isinstance(phrase, Thing) and phrase.relative is not None]
        if clause.complement is not None:
            waiting.append(clause.complement)
    return found


def gloss(meaning: Meaning) -> dict[int, str]:
    """Glosses by ``unit * 8 + part`` of the meaning; parts without a gloss are missing."""
    found: dict[int, str] = {}
    _clause(found, meaning.main, "")
    if meaning.other is not None:
        _clause(found, meaning.other, meaning.link or "")
    return found


def _clause(found: dict[int, str], clause: Clause, link: str) -> None:
    unit = clause.unit * 8
    name = _plain(clause.predicate)
    found[unit + HEAD] = f"{name}.{clause.tense}" if clause.kind == "action" else name
    found[unit + NEGATION] = "not"
    found[unit + TIME] = _plain(clause.time or "")
    found[unit + FREQUENCY] = _plain(clause.frequency or "")
    found[unit + MANNER] = _plain(clause.manner or "")
    found[unit + LINK] = link
    found[unit + COPULA] = f"be.{clause.tense}"
    found[unit + QUESTION] = "Q"
    for role, marker in MARKERS.items():
        phrase = getattr(clause, role)
        if phrase is not None:
            _phrase(found, phrase, marker)
    if clause.complement is not None:
        _clause(found, clause.complement, "that")


def _phrase(found: dict[int, str], phrase: Phrase, marker: str) -> None:
    unit = phrase.unit * 8
    found[unit + MARKER] = marker
    if isinstance(phrase, Thing):
        found[unit + HEAD] = _plain(phrase.concept) + (".pl" if phrase.plural else "")
        found[unit + DETERMINER] = "the" if phrase.definite else "a"
        found[unit + ADJECTIVE] = _plain(phrase.adjective or "")
        found[unit + NUMBER] = str(phrase.count)
        found[unit + RELATIVE] = "that"
        found[unit + CLASSIFIER] = "CL"
        if phrase.relative is not None:
            _clause(found, phrase.relative, "that")
    elif isinstance(phrase, Name):
        found[unit + HEAD] = phrase.name
    elif isinstance(phrase, Both):
        found[unit + AND] = "and"
        _phrase(found, phrase.first, marker)
        _phrase(found, phrase.second, marker)
    elif isinstance(phrase, Pronoun):
        found[unit + HEAD] = PERSONS.get((phrase.person, phrase.plural)) or ("they" if phrase.plural else "he/she/it")
    elif isinstance(phrase, Asked):
        found[unit + HEAD] = phrase.word


def _plain(concept: str) -> str:
    """The gloss of a concept: its name without the suffix that distinguishes it from another.

    >>> _plain("in_the_morning"), _plain("sing_song"), _plain("photograph_v")
    ('in the morning', 'sing song', 'photograph')
    """
    return concept.removesuffix("_v").replace("_", " ")

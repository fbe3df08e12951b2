"""Interlinear glosses: the meaning of each word of a sentence in English."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.languages.meaning import Asked, Both, Clause, Meaning, Name, Part, Phrase, Pronoun, Thing, nodes

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
        clause = clauses.get(unit // 8) if unit % 8 in (Part.HEAD, Part.COPULA) else None
        others = sentence.units.count(unit) > 1
        if clause is not None and others and tag in ("AUX", "ADV") and relation.startswith(("aux", "advmod")):
            found.append(clause.tense)
        else:
            found.append("" if unit < 0 else "·" if unit in said else parts.get(unit, ""))
            said.add(unit)
    return found


def clauses_by_unit(meaning: Meaning) -> dict[int, Clause]:
    """The clauses of a meaning by unit; other units are phrases."""
    return {node.unit: node for _, node in nodes(meaning) if isinstance(node, Clause)}


def gloss(meaning: Meaning) -> dict[int, str]:
    """Glosses by ``unit * 8 + part`` of the meaning; parts without a gloss are missing."""
    found: dict[int, str] = {}
    links = {"main": "", "other": meaning.link or ""}
    for role, node in nodes(meaning):
        parts = _clause(node, links.get(role, "that")) if isinstance(node, Clause) else _phrase(node, MARKERS[role])
        found |= {node.unit * 8 + part: text for part, text in parts.items()}
    return found


def _clause(clause: Clause, link: str) -> dict[int, str]:
    name = _plain(clause.predicate)
    return {
        Part.HEAD: f"{name}.{clause.tense}" if clause.kind == "action" else name,
        Part.NEGATION: "not",
        Part.TIME: _plain(clause.time or ""),
        Part.FREQUENCY: _plain(clause.frequency or ""),
        Part.MANNER: _plain(clause.manner or ""),
        Part.LINK: link,
        Part.COPULA: f"be.{clause.tense}",
        Part.QUESTION: "Q",
    }


def _phrase(phrase: Phrase, marker: str) -> dict[int, str]:
    match phrase:
        case Thing():
            return {
                Part.MARKER: marker,
                Part.HEAD: _plain(phrase.concept) + (".pl" if phrase.plural else ""),
                Part.DETERMINER: "the" if phrase.definite else "a",
                Part.ADJECTIVE: _plain(phrase.adjective or ""),
                Part.NUMBER: str(phrase.count),
                Part.RELATIVE: "that",
                Part.CLASSIFIER: "CL",
            }
        case Both():
            return {Part.MARKER: marker, Part.AND: "and"}
        case Name():
            word = phrase.name
        case Pronoun():
            word = PERSONS.get((phrase.person, phrase.plural)) or ("they" if phrase.plural else "he/she/it")
        case Asked():
            word = phrase.word
    return {Part.MARKER: marker, Part.HEAD: word}


def _plain(concept: str) -> str:
    """The gloss of a concept: its name without the suffix that distinguishes it from another.

    >>> _plain("in_the_morning"), _plain("sing_song"), _plain("photograph_v")
    ('in the morning', 'sing song', 'photograph')
    """
    return concept.removesuffix("_v").replace("_", " ")

"""German: how a test says something."""

from __future__ import annotations

from isoglot.languages.grammars.german import German
from isoglot.languages.meaning import PLAIN, Clause, Meaning, Pronoun, Register, Thing, Wording, number_units
from isoglot.languages.sentence import Sentence

GRAMMAR = German()

I, YOU, WE = Pronoun(1), Pronoun(2), Pronoun(1, plural=True)  # noqa: E741 - the word itself
BAKER, BREAD, DOG, CHILD = Thing("baker"), Thing("bread", definite=False), Thing("dog"), Thing("child")


def a(concept: str, **more) -> Thing:
    return Thing(concept, definite=False, **more)


def action(predicate: str, agent, patient=None, **more) -> Clause:
    return Clause("action", predicate, agent, patient, **more)


def render(main: Clause, *, wording: Wording = PLAIN, spoken: bool = False, **more) -> Sentence:
    register: Register = "conversational" if spoken else "encyclopaedic"
    return GRAMMAR.render(number_units(Meaning(main, register=register, **more)), wording)


def say(main: Clause, **more) -> str:
    return render(main, **more).text


def tree(sentence: Sentence) -> list[tuple[str, str, str]]:
    """Word, relation and head of every word."""
    heads = ["", *sentence.words]
    return [(w, r, heads[h]) for w, r, h in zip(sentence.words, sentence.relations, sentence.heads, strict=True)]

"""Chinese: how a test says something, and what must hold of every tree."""

from typing import Any

from isoglot.languages.grammars.chinese import Chinese
from isoglot.languages.meaning import Clause, Link, Meaning, Phrase, Register, Thing, Wording, number_units
from isoglot.languages.sentence import Sentence


def said(
    grammar: Chinese,
    main: Clause,
    link: Link | None = None,
    other: Clause | None = None,
    *,
    question: bool = False,
    talk: bool = False,
    **wording: Any,
) -> Sentence:
    register: Register = "conversational" if talk else "encyclopaedic"
    meaning = number_units(Meaning(main, link, other, question, register))
    sentence = grammar.render(meaning, Wording(**wording))
    check_tree(sentence)
    return sentence


def check_tree(sentence: Sentence) -> None:
    heads = sentence.heads
    assert [r for r, h in zip(sentence.relations, heads, strict=True) if h == 0] == ["root"]
    assert sentence.relations.count("root") == 1
    assert "dep" not in sentence.relations

    def above(position: int) -> list[int]:
        found: list[int] = []
        while position:
            assert position not in found, sentence.text
            found.append(position)
            position = heads[position - 1]
        return found

    for position, head in enumerate(heads, start=1):
        low, high = sorted((position, head))
        assert not head or all(head in above(k) for k in range(low + 1, high)), sentence.text


def act(verb: str, agent: Phrase | str | None = "child", patient: Phrase | str | None = None, **more: Any) -> Clause:
    def thing(phrase: Phrase | str | None) -> Phrase | None:
        return Thing(phrase) if isinstance(phrase, str) else phrase

    for role in ("recipient", "place", "goal", "instrument"):
        if role in more:
            more[role] = thing(more[role])
    return Clause("action", verb, thing(agent), thing(patient), **more)


def prop(adjective: str, agent: Phrase | str | None, **more: Any) -> Clause:
    return Clause("property", adjective, Thing(agent) if isinstance(agent, str) else agent, **more)


def a(concept: str, **more: Any) -> Thing:
    return Thing(concept, definite=False, **more)


BREAD = a("bread")
BOOK = a("book")

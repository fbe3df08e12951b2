"""Base class of the grammars: sentences of one or two clauses, fixed phrases, synonyms.

A grammar is a subclass with a lexicon that renders clauses (:meth:`Grammar.clause`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, Literal

from isoglot.languages.concepts import world
from isoglot.languages.grammars.lexicon import Fixed, Row, read_adverbs, read_table
from isoglot.languages.meaning import PLAIN, Both, Clause, Meaning, Name, Part, Phrase, Pronoun, Thing, Wording
from isoglot.languages.sentence import Sentence

if TYPE_CHECKING:
    from collections.abc import Callable


Position = Literal["main", "after", "sub"]
"""Where a clause stands: first in its sentence; a main clause after a subordinate one; itself subordinate."""


class Grammar(ABC):
    """Grammar of a language, which renders meanings."""

    language: ClassVar[str]
    links: ClassVar[dict[str, str]]  # the conjunction for each link; ``that`` introduces a complement
    comma_before: ClassVar[frozenset[str]]  # links with a comma before the conjunction
    comma_around: ClassVar[bool] = False  # whether subordinate clauses stand between commas
    comma: ClassVar[str] = ","
    marks: ClassVar[tuple[str, str]] = (".", "?")  # the full stop and the question mark

    def __init__(self) -> None:
        self.world = world()
        self.adverbs = read_adverbs(self.language)
        numbers = {row["concept"]: row.get("lemma", "") for row in read_table(self.language, "numbers")}
        self.number_words = {value: numbers[concept] for value, concept in self.world.numbers.items()}

    def render(self, meaning: Meaning, wording: Wording = PLAIN) -> Sentence:
        """Render a meaning as a sentence with its tree, deterministically."""
        sentence = Sentence(self.language, meaning, wording)
        if meaning.other is None or meaning.link is None:
            root = self.clause(sentence, meaning.main, "main")
        elif meaning.link in ("and", "but"):
            root = self.coordinate(sentence, meaning.main, meaning.link, meaning.other)
        else:
            root = self.subordinate(sentence, meaning.main, meaning.link, meaning.other)
        sentence.attach(root, 0, "root")
        self.punctuate(sentence, self.marks[meaning.question], root)
        sentence.capitalize()
        return sentence

    @abstractmethod
    def clause(self, sentence: Sentence, clause: Clause, position: Position) -> int:
        """Append the clause (without its conjunction) and return the position of its head; its relation is set later.

        ``sentence.meaning.question`` says whether it is a question; this concerns only ``sentence.meaning.main``.
        """

    def coordinate(self, sentence: Sentence, main: Clause, link: str, other: Clause) -> int:
        """Two main clauses joined by *and* or *but*."""
        root = self.clause(sentence, main, "main")
        comma = self.punctuate(sentence, self.comma) if link in self.comma_before else 0
        conjunction = self.conjunction(sentence, link, "CCONJ", "cc", other.unit)
        second = self.clause(sentence, other, "main")
        sentence.attach(second, root, "conj")
        sentence.attach(conjunction, second)
        if comma:
            sentence.attach(comma, second)
        return root

    def subordinate(self, sentence: Sentence, main: Clause, link: str, other: Clause) -> int:
        """A main clause and one with *because*, *when* or *although*, in the order the wording asks for."""
        if sentence.wording.link_first:
            conjunction = self.conjunction(sentence, link, "SCONJ", "mark", other.unit)
            second = self.clause(sentence, other, "sub")
            comma = self.punctuate(sentence, self.comma)
            root = self.clause(sentence, main, "after")
        else:
            root = self.clause(sentence, main, "main")
            comma = self.punctuate(sentence, self.comma) if link in self.comma_before else 0
            conjunction = self.conjunction(sentence, link, "SCONJ", "mark", other.unit)
            second = self.clause(sentence, other, "sub")
        sentence.attach(conjunction, second)
        sentence.attach(second, root, "advcl")
        if comma:
            sentence.attach(comma, second)
        return root

    def complement(self, sentence: Sentence, head: int, inner: Clause, say: Callable[[], int]) -> None:
        """Append a complement clause with its conjunction and commas; ``say`` appends the clause itself."""
        comma = self.punctuate(sentence, self.comma) if self.comma_around else 0
        link = self.conjunction(sentence, "that", "SCONJ", "mark", inner.unit)
        predicate = say()
        sentence.close(predicate, [comma, link] if comma else [link])
        sentence.attach(predicate, head, "ccomp")
        if comma:
            self.punctuate(sentence, self.comma, predicate)

    def join(self, sentence: Sentence, both: Both, word: str, relation: str, say: Callable[[Phrase, str], int]) -> int:
        """Append two phrases with a conjunction between them; returns the head. ``say`` appends one in its relation."""
        head = say(both.first, relation)
        link = sentence.add(word, word, "CCONJ", "cc", both.unit * 8 + Part.AND)
        second = say(both.second, "conj")
        sentence.attach(link, second)
        sentence.attach(second, head)
        return head

    def conjunction(self, sentence: Sentence, link: str, tag: str, relation: str, unit: int) -> int:
        """Append the conjunction of a link."""
        word = self.links[link]
        return sentence.add(word, word, tag, relation, unit * 8 + Part.LINK)

    def punctuate(self, sentence: Sentence, mark: str, head: int = 0) -> int:
        """Append a mark, with no blank before it; one that follows the comma at a clause's end takes its place."""
        if sentence.words[-1] == self.comma:
            sentence.words[-1] = sentence.lemmas[-1] = mark
            sentence.heads[-1] = head
            return len(sentence.words)
        sentence.glue(len(sentence.words))
        return sentence.add(mark, mark, "PUNCT", "punct", -1, head)

    def adverbial(self, sentence: Sentence, concept: str, unit: int) -> int:
        """Append a fixed adverbial phrase and return its head, to be attached."""
        return self.pick(sentence, self.adverbs[concept], unit).add_to(sentence, unit)

    def pick(self, sentence: Sentence, rows: list[Row], unit: int) -> Row:
        """The usual word, or its synonym where the wording asks for it."""
        if len(rows) > 1 and sentence.wording.synonyms >> (unit // 8 % 16) & 1:
            return rows[1]
        return rows[0]

    def name_words(self, name: Name) -> list[str]:
        """The words of a name, as this language writes it."""
        return name.name.split(" ")

    def add_name(self, sentence: Sentence, name: Name, words: list[str]) -> int:
        """Append a name and return its first word, the head; the others hang on it as ``flat``."""
        kind = self.world.names[name.name].kind
        unit = name.unit * 8
        head = sentence.add(words[0], words[0], "PROPN", "dep", unit, entity=f"B-{kind}")
        for word in words[1:]:
            sentence.add(word, word, "PROPN", "flat", unit, head, f"I-{kind}")
        return head

    def is_plural(self, phrase: Phrase) -> bool:
        """Whether the phrase is grammatically plural (with *I*, *you*: whether there are several)."""
        if isinstance(phrase, (Thing, Pronoun)):
            return phrase.plural
        return isinstance(phrase, Both)

    def sex(self, phrase: Phrase) -> str:
        """``m`` or ``f`` for people, ``""`` for all else."""
        if isinstance(phrase, Name):
            return self.world.names[phrase.name].sex
        if isinstance(phrase, Thing):
            return self.world.nouns[phrase.concept].sex
        return ""


class SpecialVerbs(Generic[Row]):
    """Verbs that are taken with certain agents and certain patients; an empty set of concepts is any.

    Args:
        rows: The rows of a table with the columns ``agents`` and ``patients``, by concept, each with its verb.
        below: The concepts that a cell names.
    """

    def __init__(
        self, rows: dict[str, list[tuple[dict[str, str], Row]]], below: Callable[[str], frozenset[str]]
    ) -> None:
        self._verbs: dict[str, dict[tuple[frozenset[str], ...], list[Row]]] = {}
        for concept, found in rows.items():
            choices = self._verbs.setdefault(concept, {})
            for row, verb in found:
                choices.setdefault((below(row["agents"]), below(row["patients"])), []).append(verb)

    def find(
        self,
        concept: str,
        roles: tuple[Phrase | None, Phrase | None],
        is_among: Callable[[Phrase | None, frozenset[str]], bool],
    ) -> list[Row] | None:
        """The verb of an action and its synonym; None where the usual ones are taken."""
        for wanted, verbs in self._verbs.get(concept, {}).items():
            if all(not concepts or is_among(role, concepts) for role, concepts in zip(roles, wanted, strict=True)):
                return verbs
        return None


def in_gap(agent: Phrase | None, patient: Phrase | None, gap: Thing | None) -> tuple[Phrase | None, Phrase | None]:
    """The agent and the patient of a clause; of a relative clause, one of them is the thing that it describes."""
    if gap is None:
        return agent, patient
    return (gap, patient) if gap.gap == "agent" else (agent, gap)


__all__ = ["Fixed", "Grammar", "Position", "Row"]

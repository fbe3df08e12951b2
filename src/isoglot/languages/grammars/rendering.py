"""Base class of the grammars: sentences of one or two clauses, fixed phrases, synonyms.

A grammar is a subclass with a lexicon that renders clauses (:meth:`Grammar.clause`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

from isoglot.languages.concepts import world
from isoglot.languages.grammars.lexicon import Fixed, read_adverbs
from isoglot.languages.meaning import LINK, PLAIN, Both, Name, Phrase, Pronoun, Thing
from isoglot.languages.sentence import Sentence

if TYPE_CHECKING:
    from isoglot.languages.meaning import Clause, Meaning, Wording

Row = TypeVar("Row")

Position = Literal["main", "after", "sub"]
"""Where a clause stands: first in its sentence; a main clause after a subordinate one; itself subordinate."""


class Grammar(ABC):
    """Grammar of a language, which renders meanings."""

    language: ClassVar[str]
    links: ClassVar[dict[str, str]]
    """The conjunction for each link; ``that`` introduces a complement."""
    comma_before: ClassVar[frozenset[str]]
    """Links with a comma before the conjunction."""
    comma: ClassVar[str] = ","
    marks: ClassVar[tuple[str, str]] = (".", "?")
    """The full stop and the question mark."""

    def __init__(self) -> None:
        self.world = world()
        self.adverbs = read_adverbs(self.language)

    def render(self, meaning: Meaning, wording: Wording = PLAIN) -> Sentence:
        """Render a meaning as a sentence with its tree, deterministically."""
        sentence = Sentence(self.language, meaning, wording)
        if meaning.other is None or meaning.link is None:
            root = self.clause(sentence, meaning.main, "main")
        elif meaning.link in ("and", "but"):
            root = self.coordinate(sentence, meaning)
        else:
            root = self.subordinate(sentence, meaning)
        sentence.attach(root, 0, "root")
        self.punctuate(sentence, self.marks[meaning.question], root)
        first = sentence.words[0]
        sentence.words[0] = first[0].upper() + first[1:]
        if 1 in sentence.fused:
            last, form = sentence.fused[1]
            sentence.fused[1] = (last, form[0].upper() + form[1:])
        return sentence

    @abstractmethod
    def clause(self, sentence: Sentence, clause: Clause, position: Position) -> int:
        """Append the clause (without its conjunction) and return the position of its head; its relation is set later.

        ``sentence.meaning.question`` says whether it is a question; this concerns only ``sentence.meaning.main``.
        """

    def coordinate(self, sentence: Sentence, meaning: Meaning) -> int:
        """Two main clauses joined by *and* or *but*."""
        assert meaning.other is not None  # noqa: S101 - for the type checker
        assert meaning.link is not None  # noqa: S101
        root = self.clause(sentence, meaning.main, "main")
        comma = self.punctuate(sentence, self.comma) if meaning.link in self.comma_before else 0
        link = self.conjunction(sentence, meaning.link, "CCONJ", "cc", meaning.other.unit)
        second = self.clause(sentence, meaning.other, "main")
        sentence.attach(second, root, "conj")
        sentence.attach(link, second)
        if comma:
            sentence.attach(comma, second)
        return root

    def subordinate(self, sentence: Sentence, meaning: Meaning) -> int:
        """A main clause and one with *because*, *when* or *although*, in the order the wording asks for."""
        assert meaning.other is not None  # noqa: S101 - for the type checker
        assert meaning.link is not None  # noqa: S101
        if sentence.wording.link_first:
            link = self.conjunction(sentence, meaning.link, "SCONJ", "mark", meaning.other.unit)
            other = self.clause(sentence, meaning.other, "sub")
            comma = self.punctuate(sentence, self.comma)
            root = self.clause(sentence, meaning.main, "after")
        else:
            root = self.clause(sentence, meaning.main, "main")
            comma = self.punctuate(sentence, self.comma) if meaning.link in self.comma_before else 0
            link = self.conjunction(sentence, meaning.link, "SCONJ", "mark", meaning.other.unit)
            other = self.clause(sentence, meaning.other, "sub")
        sentence.attach(link, other)
        sentence.attach(other, root, "advcl")
        if comma:
            sentence.attach(comma, other)
        return root

    def conjunction(self, sentence: Sentence, link: str, tag: str, relation: str, unit: int) -> int:
        """Append the conjunction of a link."""
        word = self.links[link]
        return sentence.add(word, word, tag, relation, unit * 8 + LINK)

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


__all__ = ["Fixed", "Grammar", "Position"]

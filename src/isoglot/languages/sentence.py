"""Sentence with its tree, entities and links to the meaning, and its interlinear gloss: each word in English."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoglot.languages.meaning import (
    PLAIN,
    Asked,
    Both,
    Clause,
    Meaning,
    Name,
    Part,
    Phrase,
    Pronoun,
    Thing,
    Wording,
    nodes,
)
from isoglot.text.cleaning.segmentation import Words

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(slots=True)
class Sentence:
    """Annotated sentence.

    ``words`` are syntactic words in the sense of Universal Dependencies; French ``du`` is two (``de``, ``le``), with
    the written form in ``fused``. ``heads`` count from 1, 0 is the root.

    >>> from isoglot.languages.builtin import builtin_bitext
    >>> sentence = builtin_bitext(("en", "de"), 1)[0][0]
    >>> len(sentence.words) == len(sentence.heads) == len(sentence.tags)
    True
    """

    language: str
    """Language code."""
    meaning: Meaning
    """The meaning that it expresses."""
    wording: Wording = PLAIN
    """Choice between alternatives, such as synonyms."""
    words: list[str] = field(default_factory=list)
    """Syntactic words."""
    lemmas: list[str] = field(default_factory=list)
    """Lemma of each word."""
    tags: list[str] = field(default_factory=list)
    """Universal part-of-speech tag of each word."""
    heads: list[int] = field(default_factory=list)
    """Head of each word, from 1; 0 is the root."""
    relations: list[str] = field(default_factory=list)
    """Dependency relation of each word."""
    units: list[int] = field(default_factory=list)
    """``unit * 8 + part`` of the meaning that the word expresses, or -1."""
    entities: list[str] = field(default_factory=list)
    """``B-PER``, ``I-PER``, ``O``, ..."""
    glued: set[int] = field(default_factory=set)
    """Positions, from 1, of words that no blank follows."""
    fused: dict[int, tuple[int, str]] = field(default_factory=dict)
    """First position → (last position, written form) of words that are written as one."""

    # --- construction ---

    def add(
        self, word: str, lemma: str, tag: str, relation: str, unit: int = -1, head: int = 0, entity: str = "O"
    ) -> int:
        """Append a word; returns its position, from 1. Its head may be set later with :meth:`attach`."""
        self.words.append(word)
        self.lemmas.append(lemma)
        self.tags.append(tag)
        self.relations.append(relation)
        self.units.append(unit)
        self.heads.append(head)
        self.entities.append(entity)
        return len(self.words)

    def attach(self, position: int, head: int, relation: str | None = None) -> None:
        """Set the head of a word, and its relation unless it is None."""
        self.heads[position - 1] = head
        if relation is not None:
            self.relations[position - 1] = relation

    def close(self, head: int, dependents: Iterable[int]) -> int:
        """Set the head of several words; returns the head."""
        for position in dependents:
            self.heads[position - 1] = head
        return head

    def glue(self, position: int) -> None:
        """Mark that no blank follows a word."""
        self.glued.add(position)

    def fuse(self, first: int, last: int, form: str) -> None:
        """Mark words that are written as one form."""
        self.fused[first] = (last, form)

    def capitalize(self) -> None:
        """Begin the sentence with a capital."""
        self.words[0] = self.words[0][0].upper() + self.words[0][1:]
        if 1 in self.fused:
            last, form = self.fused[1]
            self.fused[1] = (last, form[0].upper() + form[1:])

    # --- access ---

    def tokens(self) -> list[str]:
        """The written tokens: words, with fused words as one form."""
        if not self.fused:
            return self.words
        return [form for form, _, _ in self.spans()]

    def spans(self) -> list[tuple[str, int, int]]:
        """Written tokens with the positions, from 1, of their first and last word."""
        spans = []
        position = 1
        while position <= len(self.words):
            last, form = self.fused.get(position, (position, self.words[position - 1]))
            spans.append((form, position, last))
            position = last + 1
        return spans

    @property
    def text(self) -> str:
        """The text of the sentence."""
        parts = []
        for form, _, last in self.spans():
            parts.append(form)
            if last not in self.glued:
                parts.append(" ")
        return "".join(parts).rstrip()

    def token_units(self) -> list[set[int]]:
        """The units of meaning of each written token."""
        units = self.units
        return [{u for u in units[first - 1 : last] if u >= 0} for _, first, last in self.spans()]

    def token_entities(self) -> list[str]:
        """The entity label of each written token."""
        return [self.entities[first - 1] for _, first, _ in self.spans()]

    @property
    def has_name(self) -> bool:
        """Whether it contains a named entity."""
        return any(entity != "O" for entity in self.entities)


def written_words(sentence: Sentence) -> Words:
    """The written tokens of a sentence, with the blanks of its text.

    Joined, they are :attr:`Sentence.text`.
    """
    spans = sentence.spans()
    return Words([form for form, _, _ in spans], [last not in sentence.glued for _, _, last in spans])


def align(source: Sentence, target: Sentence) -> list[tuple[int, int]]:
    """Gold word alignment: pairs of token positions, from 0, that express the same part of the meaning.

    Both sentences must render the same meaning.

    Args:
        source: A sentence.
        target: Its translation.

    Returns:
        Pairs of (source position, target position), sorted.

    >>> from isoglot.languages import parallel
    >>> en, de = next(parallel(["en", "de"], seed=1))
    >>> links = align(en, de)
    >>> all(0 <= i < len(en.tokens()) and 0 <= j < len(de.tokens()) for i, j in links)
    True
    """
    where: dict[int, list[int]] = {}
    for position, units in enumerate(target.token_units()):
        for unit in units:
            where.setdefault(unit, []).append(position)
    pairs: set[tuple[int, int]] = set()
    for position, units in enumerate(source.token_units()):
        for unit in units:
            pairs.update((position, other) for other in where.get(unit, ()))
    return sorted(pairs)


# --- interlinear glosses ---


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

"""Sentence with its tree, entities and links to the meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoglot.languages.meaning import PLAIN, Meaning, Wording
from isoglot.text.cleaning.segmentation import Words

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(slots=True)
class Sentence:
    """Annotated sentence.

    ``words`` are syntactic words in the sense of Universal Dependencies; French ``du`` is two (``de``, ``le``), with
    the written form in ``fused``. ``heads`` count from 1, 0 is the root.
    """

    language: str
    meaning: Meaning
    wording: Wording = PLAIN
    words: list[str] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
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

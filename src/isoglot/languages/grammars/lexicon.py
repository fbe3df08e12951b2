"""The words of the built-in languages: tables of tab-separated text, one row a word.

A concept with several rows has synonyms: the first row is the usual word, the second is taken where a
:class:`~isoglot.languages.meaning.Wording` asks for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar

from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.languages.sentence import Sentence

Row = TypeVar("Row")
DATA = resources.files("isoglot.languages") / "data"


def read_table(folder: str, name: str) -> list[dict[str, str]]:
    """The rows of ``data/<folder>/<name>.tsv`` by column name; ``-`` and an empty cell are both ``""``."""
    path = DATA / folder / f"{name}.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()
    columns = lines[0].split("\t")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split("\t")
        if len(cells) != len(columns):
            problem = f"{len(cells)} columns where the first line has {len(columns)}"
            remedy = "separate the columns with one tab each"
            raise InputError(problem, remedy, "column-count", file=str(path), line=number)
        rows.append({column: "" if cell == "-" else cell for column, cell in zip(columns, cells, strict=True)})
    return rows


@dataclass(slots=True, frozen=True)
class Fixed:
    """A fixed phrase with its tree, such as *in the morning*: ready-made words around one head."""

    # (word, lemma, tag, relation to the head); the head's own relation is ``*``
    words: tuple[tuple[str, str, str, str], ...]
    relation: str  # how the whole hangs in the sentence: ``advmod``, ``obl``, ...
    fused: tuple[tuple[int, int, str], ...] = ()  # (first, last, written form), positions from 0

    def add_to(self, sentence: Sentence, unit: int) -> int:
        """Append the phrase; every word carries the unit. Returns the head's position; attach it yourself."""
        if len(self.words) == 1:
            word, lemma, tag, _ = self.words[0]
            return sentence.add(word, lemma, tag, self.relation, unit)
        start = len(sentence.words) + 1
        head = start + next(i for i, word in enumerate(self.words) if word[3] == "*")
        for word, lemma, tag, relation in self.words:
            if relation == "*":
                sentence.add(word, lemma, tag, self.relation, unit)
            else:
                sentence.add(word, lemma, tag, relation, unit, head)
        for first, last, form in self.fused:
            sentence.fuse(start + first, start + last, form)
        return head


def parse_fixed(words: str, relation: str) -> Fixed:
    """Read a fixed phrase as the tables write it: ``word:lemma:TAG:relation``, and so on; the head's relation is ``*``.

    Words that are written as one stand together: ``im=in:in:ADP:case+dem:der:DET:det Winter:Winter:NOUN:*``.
    A single word may leave out its relation: ``gestern:gestern:ADV``.
    """
    found: list[tuple[str, str, str, str]] = []
    fused = []
    for chunk in words.split(" "):
        form, equals, rest = chunk.partition("=")
        parts = rest.split("+") if equals else [chunk]
        if equals:
            fused.append((len(found), len(found) + len(parts) - 1, form))
        for part in parts:
            word, lemma, tag, *how = part.split(":", 3)
            found.append((word, lemma, tag, how[0] if how else "*"))
    return Fixed(tuple(found), relation, tuple(fused))


def count_synonyms(folder: str) -> int:
    """How many concepts of a language have a second word."""
    tables = ("nouns", "verbs", "adjectives", "adverbs")
    counts = Counter((table, row["concept"]) for table in tables for row in read_table(folder, table))
    return sum(count > 1 for count in counts.values())


def from_row(kind: type[Row], row: dict[str, str], **derived: Any) -> Row:  # noqa: ANN401 - of any type
    """Make a dataclass from a row: fields that are not given are the columns of the same name."""
    names = [field.name for field in fields(kind) if field.name not in derived]  # type: ignore[arg-type]
    return kind(**{name: row[name] for name in names}, **derived)


def by_concept(folder: str, name: str, make: Callable[[dict[str, str]], Row]) -> dict[str, list[Row]]:
    """Read a table of words, of which several may have the same concept: the usual word first, then its synonyms."""
    found: dict[str, list[Row]] = {}
    for row in read_table(folder, name):
        found.setdefault(row["concept"], []).append(make(row))
    return found


def read_adverbs(folder: str) -> dict[str, list[Fixed]]:
    """Read the table ``adverbs`` of a language: ``concept``, ``relation``, ``words``."""
    return by_concept(folder, "adverbs", lambda row: parse_fixed(row["words"], row["relation"]))


def parse_particle(cell: str) -> Fixed | None:
    """Read a word with its own relation, ``up:up:ADP:compound:prt``; None for an empty cell."""
    return parse_fixed(cell, cell.split(":", 3)[3]) if cell else None

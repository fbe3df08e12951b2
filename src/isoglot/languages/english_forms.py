"""The forms of English words: nouns and verbs as the tables have them, and the forms of *be*, *do* and *will*."""

from __future__ import annotations

from dataclasses import dataclass

from isoglot.languages.lexicon import Fixed, parse_fixed, read_table
from isoglot.languages.meaning import COPULA, HEAD


@dataclass(slots=True, frozen=True)
class Noun:
    """A noun and the prepositions that go with it."""

    before: tuple[str, ...]
    """The words of a compound before its last one: *swimming* pool."""
    singular: str
    plural: str
    """Empty if it is not counted."""
    article: str
    """*a* or *an*; empty if it is not counted."""
    at: str
    """Preposition for being there."""
    by: str
    """Preposition for doing something with it: *with a knife*, *in a pan*."""
    bare: frozenset[str]
    """Stands without *the* after its preposition of place (``at``) or of goal (``to``): *at sea*, *to school*."""


@dataclass(slots=True, frozen=True)
class Verb:
    """A verb in its forms."""

    base: str
    present: tuple[str, str, str]
    """For each person, see FIRST, THIRD, OTHER."""
    past: str
    ing: str
    """Empty where the progressive is not used."""
    marker: str
    """Preposition before the patient: *look for*."""
    particle: Fixed | None
    """A word after the verb: *wake up*."""
    toward: str
    """Preposition before the goal."""


@dataclass(slots=True, frozen=True)
class Operator:
    """The auxiliary or copula that inverts in questions and takes *not*."""

    form: str
    lemma: str
    relation: str
    part: int = HEAD


FIRST, THIRD, OTHER = range(3)
"""Persons with a verb form of their own: *I*; *he*, *she*, *it*; all others."""


def _operators(forms: str, lemma: str, relation: str, part: int = HEAD) -> list[Operator]:
    return [Operator(form, lemma, relation, part) for form in forms.split(" ")]


BE = _operators("am is are", "be", "aux")
DO = {"present": _operators("do does do", "do", "aux"), "past": _operators("did did did", "do", "aux")}
COPULA_BE = {
    "present": _operators("am is are", "be", "cop", COPULA),
    "past": _operators("was was were", "be", "cop", COPULA),
}
WILL, WILL_BE = Operator("will", "will", "aux"), Operator("will", "will", "aux", COPULA)

NEGATED = {form: (form, f"{form}n't") for form in ("is", "are", "was", "were", "do", "does", "did")}
NEGATED["will"] = ("wo", "won't")
"""The operator before *n't*, and both as they are written; there is none for *am*."""
SHORTENED = {"am": "'m", "is": "'s", "are": "'re", "will": "'ll"}
"""The operator after a pronoun, in conversation."""


def read_nouns() -> dict[str, list[Noun]]:
    """The nouns by concept, the usual one first."""
    found: dict[str, list[Noun]] = {}
    for row in read_table("en", "nouns"):
        found.setdefault(row["concept"], []).append(_noun(row))
    return found


def read_verbs() -> dict[str, list[Verb]]:
    """The verbs by concept, the usual one first."""
    found: dict[str, list[Verb]] = {}
    for row in read_table("en", "verbs"):
        found.setdefault(row["concept"], []).append(_verb(row))
    return found


def _noun(row: dict[str, str]) -> Noun:
    *before, last = row["lemma"].split(" ")
    return Noun(
        before=tuple(before),
        singular=last,
        plural=row["plural"].split(" ")[-1],
        article=article(row["lemma"]) if row["plural"] else "",
        at=row["at"],
        by=row["with"] or "with",
        bare=frozenset(row["bare"].split(",")) - {""},
    )


def _verb(row: dict[str, str]) -> Verb:
    base, particle = row["lemma"], row["particle"]
    return Verb(
        base=base,
        present=(base, row["third"], base),
        past=row["past"],
        ing=row["ing"],
        marker=row["marker"],
        particle=parse_fixed(particle, particle.split(":", 3)[3]) if particle else None,
        toward=row["goal"] or "to",
    )


def article(word: str) -> str:
    """*a* or *an*, by the sound the next word begins with.

    >>> article("apple"), article("house"), article("university"), article("unknown")
    ('an', 'a', 'a', 'an')
    """
    return "a" if word[0] not in "aeiou" or word.startswith("uni") else "an"

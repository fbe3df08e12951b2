"""English: articles, do-support, inversion in questions, relative clauses with *who* and *that*."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from isoglot.languages.grammar import Grammar, Position
from isoglot.languages.lexicon import Fixed, parse_fixed, read_table
from isoglot.languages.meaning import (
    ADJECTIVE,
    AND,
    COPULA,
    DETERMINER,
    FREQUENCY,
    HEAD,
    MANNER,
    MARKER,
    NEGATION,
    NUMBER,
    RELATIVE,
    TIME,
    Asked,
    Both,
    Clause,
    Name,
    Phrase,
    Pronoun,
    Thing,
)

if TYPE_CHECKING:
    from isoglot.languages.sentence import Sentence


@dataclass(slots=True, frozen=True)
class Noun:
    """A noun: the words before its last one, its last one in both numbers, and its preposition of place."""

    before: tuple[str, ...]
    singular: str
    plural: str
    at: str


@dataclass(slots=True, frozen=True)
class Verb:
    """A verb in its forms; ``ing`` is empty where the progressive is not used."""

    base: str
    third: str
    past: str
    ing: str
    marker: str
    """Preposition before the patient: *look for*."""
    particle: Fixed | None
    """A word after the verb: *wake up*."""
    toward: str
    """Preposition before the goal."""


PRONOUNS = {(1, False): "I", (2, False): "you", (1, True): "we", (2, True): "you"}
OBLIQUE = {"I": "me", "we": "us", "he": "him", "she": "her", "they": "them"}
BE = {"past": ("was", "were"), "present": ("is", "are")}


class English(Grammar):
    """The English grammar."""

    language: ClassVar[str] = "en"
    links: ClassVar[dict[str, str]] = {
        "and": "and", "but": "but", "because": "because", "when": "when", "although": "although", "that": "that",
    }  # fmt: skip
    comma_before: ClassVar[frozenset[str]] = frozenset({"and", "but", "although"})

    def __init__(self) -> None:
        super().__init__()
        self.nouns: dict[str, list[Noun]] = {}
        for row in read_table("en", "nouns"):
            *before, last = row["lemma"].split(" ")
            noun = Noun(tuple(before), last, row["plural"].split(" ")[-1], row["at"])
            self.nouns.setdefault(row["concept"], []).append(noun)
        self.verbs: dict[str, list[Verb]] = {}
        for row in read_table("en", "verbs"):
            particle = parse_fixed(row["particle"], row["particle"].split(":", 3)[3]) if row["particle"] else None
            verb = Verb(
                row["lemma"], row["third"], row["past"], row["ing"], row["marker"], particle, row["goal"] or "to"
            )
            self.verbs.setdefault(row["concept"], []).append(verb)
        self.adjectives: dict[str, list[str]] = {}
        for row in read_table("en", "adjectives"):
            self.adjectives.setdefault(row["concept"], []).append(row["lemma"])
        self.numbers = {row["concept"]: row["lemma"] for row in read_table("en", "numbers")}

    # --- clauses ---

    def clause(self, sentence: Sentence, clause: Clause, position: Position) -> int:
        """Subject, verb, objects, adverbials; time first where the wording asks for it."""
        asked = sentence.meaning.question and clause is sentence.meaning.main
        fronted = 0
        if sentence.wording.time_first and position == "main" and not asked and clause.time:
            fronted = self.adverbial(sentence, clause.time, clause.unit * 8 + TIME)
            if len(sentence.words) > 1:
                self.punctuate(sentence, ",", fronted)
        head = self._predicate(sentence, clause, asked, gap=None)
        if fronted:
            sentence.attach(fronted, head)
        elif clause.time:
            sentence.attach(self.adverbial(sentence, clause.time, clause.unit * 8 + TIME), head)
        if clause.complement is not None:
            link = self.conjunction(sentence, "that", "SCONJ", "mark", clause.complement.unit)
            inner = self.clause(sentence, clause.complement, "sub")
            sentence.attach(link, inner)
            sentence.attach(inner, head, "ccomp")
        return head

    def _predicate(self, sentence: Sentence, clause: Clause, asked: bool, gap: str | None) -> int:
        """The clause without its time and complement; in a relative clause the role ``gap`` is the relative word."""
        before: list[int] = []
        place = clause.place if clause.place is not None else clause.goal
        if asked and isinstance(place, Asked):
            before.append(sentence.add("where", "where", "ADV", "advmod", place.unit * 8))
        elif asked and isinstance(clause.patient, Asked):
            word = clause.patient.word
            before.append(sentence.add(word, word, "PRON", "obj", clause.patient.unit * 8))
        if clause.kind == "action":
            return self._action(sentence, clause, asked, gap, before)
        return self._copular(sentence, clause, asked, before)

    def _action(self, sentence: Sentence, clause: Clause, asked: bool, gap: str | None, before: list[int]) -> int:
        unit = clause.unit * 8
        verb = self.pick(sentence, self.verbs[clause.predicate], unit)
        inverts = asked and not isinstance(clause.agent, Asked)
        ongoing = clause.tense == "present" and clause.time == "now" and bool(verb.ing)
        plural, third = self._agreement(clause.agent, gap)
        auxiliary = self._auxiliary(clause, inverts, ongoing, plural, third, clause.agent)
        dependents = before
        if inverts and auxiliary:
            dependents.append(sentence.add(*auxiliary, "AUX", "aux", unit))
        if clause.agent is not None:
            dependents.append(self._phrase(sentence, clause.agent, "nsubj"))
        if not inverts and auxiliary:
            dependents.append(sentence.add(*auxiliary, "AUX", "aux", unit))
        if clause.negative:
            dependents.append(self._not(sentence, unit, contracts=bool(auxiliary) and not inverts))
        often = self.adverbs[clause.frequency][0] if clause.frequency else None
        if clause.frequency and often is not None and len(often.words) == 1:
            dependents.append(self.adverbial(sentence, clause.frequency, unit + FREQUENCY))
        if ongoing:
            form = verb.ing
        elif auxiliary or (clause.tense == "present" and not third):
            form = verb.base
        else:
            form = verb.third if clause.tense == "present" else verb.past
        head = sentence.add(form, verb.base, "VERB", "root", unit)
        if verb.particle is not None:
            dependents.append(verb.particle.add_to(sentence, unit))
        if clause.patient is not None and not isinstance(clause.patient, Asked):
            dependents.append(
                self._phrase(sentence, clause.patient, "obl" if verb.marker else "obj", verb.marker, oblique=True)
            )
        elif verb.marker:
            stranded = sentence.add(verb.marker, verb.marker, "ADP", "case" if before else "obl")
            sentence.attach(stranded, before[0] if before else head)
            if before:
                sentence.attach(before[0], head, "obl")
        if clause.recipient is not None:
            dependents.append(self._phrase(sentence, clause.recipient, "obl", "to", oblique=True))
        if clause.goal is not None and not isinstance(clause.goal, Asked):
            dependents.append(self._phrase(sentence, clause.goal, "obl", verb.toward, oblique=True))
        if clause.manner:
            dependents.append(self.adverbial(sentence, clause.manner, unit + MANNER))
        if clause.instrument is not None:
            dependents.append(self._phrase(sentence, clause.instrument, "obl", "with", oblique=True))
        if clause.place is not None and not isinstance(clause.place, Asked):
            dependents.append(self._phrase(sentence, clause.place, "obl", self._at(clause.place), oblique=True))
        if clause.frequency and often is not None and len(often.words) > 1:
            dependents.append(self.adverbial(sentence, clause.frequency, unit + FREQUENCY))
        for position in dependents:
            sentence.attach(position, head)
        return head

    def _copular(self, sentence: Sentence, clause: Clause, asked: bool, before: list[int]) -> int:
        unit = clause.unit * 8
        plural, _ = self._agreement(clause.agent, None)
        dependents: list[int] = []
        if clause.tense == "future":
            be = ("will", "will")
        else:
            form = BE[clause.tense][plural or (isinstance(clause.agent, Pronoun) and clause.agent.person == 2)]
            if isinstance(clause.agent, Pronoun) and clause.agent.person == 1 and not plural:
                form = "am" if clause.tense == "present" else "was"
            be = (form, "be")
        relation = "aux" if clause.tense == "future" else "cop"
        inverts = asked and not isinstance(clause.agent, Asked)
        if inverts:
            dependents.append(sentence.add(*be, "AUX", relation, unit + COPULA))
        if clause.agent is not None:
            dependents.append(self._phrase(sentence, clause.agent, "nsubj"))
        if not inverts:
            dependents.append(sentence.add(*be, "AUX", relation, unit + COPULA))
        if clause.negative:
            dependents.append(self._not(sentence, unit, contracts=not inverts and be[0] != "am"))
        if clause.frequency and len(self.adverbs[clause.frequency][0].words) == 1:
            dependents.append(self.adverbial(sentence, clause.frequency, unit + FREQUENCY))
        if clause.tense == "future":
            dependents.append(sentence.add("be", "be", "AUX", "cop", unit + COPULA))
        if clause.kind == "property":
            word = self.pick(sentence, self.adjectives[clause.predicate], unit)
            head = sentence.add(word, word, "ADJ", "root", unit)
        elif clause.kind == "class":
            assert clause.patient is not None  # noqa: S101 - by the definition of the kind
            head = self._phrase(sentence, clause.patient, "root")
        elif before:
            head = before[0]
        else:
            assert clause.place is not None  # noqa: S101 - by the definition of the kind
            head = self._phrase(sentence, clause.place, "root", self._at(clause.place), oblique=True)
        if clause.kind != "location" and clause.place is not None and not isinstance(clause.place, Asked):
            dependents.append(self._phrase(sentence, clause.place, "obl", self._at(clause.place), oblique=True))
        for position in dependents:
            sentence.attach(position, head)
        return head

    def _auxiliary(
        self, clause: Clause, inverts: bool, ongoing: bool, plural: bool, third: bool, agent: Phrase | None
    ) -> tuple[str, str] | None:
        if clause.tense == "future":
            return ("will", "will")
        if ongoing:
            first = isinstance(agent, Pronoun) and agent.person == 1 and not plural
            return ("am" if first else "is" if third else "are", "be")
        if inverts or clause.negative:
            return ("did" if clause.tense == "past" else "does" if third else "do", "do")
        return None

    def _agreement(self, agent: Phrase | None, gap: str | None) -> tuple[bool, bool]:
        """Whether the subject is plural, and whether the verb takes its third person singular."""
        if agent is None:
            return gap == "plural", gap != "plural"
        plural = self.is_plural(agent)
        return plural, not plural and not (isinstance(agent, Pronoun) and agent.person != 3)

    def _not(self, sentence: Sentence, unit: int, *, contracts: bool) -> int:
        if contracts and sentence.meaning.register == "conversational":
            if sentence.words[-1] == "will":
                sentence.words[-1] = "wo"
            sentence.glue(len(sentence.words))
            return sentence.add("n't", "not", "PART", "advmod", unit + NEGATION)
        return sentence.add("not", "not", "PART", "advmod", unit + NEGATION)

    # --- noun phrases ---

    def _at(self, place: Phrase) -> str:
        return self.nouns[place.concept][0].at if isinstance(place, Thing) else "in"

    def _phrase(
        self, sentence: Sentence, phrase: Phrase, relation: str, marker: str = "", *, oblique: bool = False
    ) -> int:
        """Append a noun phrase, after its preposition, and return its head."""
        unit = phrase.unit * 8
        case = sentence.add(marker, marker, "ADP", "case", unit + MARKER) if marker else 0
        if isinstance(phrase, Thing):
            head = self._thing(sentence, phrase)
        elif isinstance(phrase, Name):
            head = self.add_name(sentence, phrase, self.name_words(phrase))
        elif isinstance(phrase, Both):
            head = self._phrase(sentence, phrase.first, relation)
            link = sentence.add("and", "and", "CCONJ", "cc", unit + AND)
            second = self._phrase(sentence, phrase.second, "conj")
            sentence.attach(link, second)
            sentence.attach(second, head)
        elif isinstance(phrase, Pronoun):
            word = self._pronoun(phrase)
            head = sentence.add(OBLIQUE.get(word, word) if oblique else word, word, "PRON", relation, unit)
        else:
            head = sentence.add(phrase.word, phrase.word, "PRON", relation, unit)
        sentence.relations[head - 1] = relation
        if case:
            sentence.heads[case - 1] = head
        return head

    def _pronoun(self, pronoun: Pronoun) -> str:
        if pronoun.person != 3:
            return PRONOUNS[pronoun.person, pronoun.plural]
        if pronoun.plural or pronoun.of is None:
            return "they"
        return {"m": "he", "f": "she"}.get(self.sex(pronoun.of), "it")

    def _thing(self, sentence: Sentence, thing: Thing) -> int:
        unit = thing.unit * 8
        noun = self.pick(sentence, self.nouns[thing.concept], unit)
        before = []
        adjective = self.pick(sentence, self.adjectives[thing.adjective], unit) if thing.adjective else ""
        if thing.definite:
            before.append(sentence.add("the", "the", "DET", "det", unit + DETERMINER))
        elif not thing.plural and not self.world.nouns[thing.concept].mass:
            article = _article(adjective or (noun.before[0] if noun.before else noun.singular))
            before.append(sentence.add(article, "a", "DET", "det", unit + DETERMINER))
        if thing.count:
            number = self.numbers[self.world.numbers[thing.count]]
            before.append(sentence.add(number, number, "NUM", "nummod", unit + NUMBER))
        if adjective:
            before.append(sentence.add(adjective, adjective, "ADJ", "amod", unit + ADJECTIVE))
        before.extend(sentence.add(word, word, "NOUN", "compound", unit) for word in noun.before)
        head = sentence.add(noun.plural if thing.plural else noun.singular, noun.singular, "NOUN", "dep", unit + HEAD)
        for position in before:
            sentence.heads[position - 1] = head
        if thing.relative is not None:
            self._relative(sentence, thing, head)
        return head

    def _relative(self, sentence: Sentence, thing: Thing, head: int) -> None:
        clause = thing.relative
        assert clause is not None  # noqa: S101 - the caller looked
        word = "who" if self.sex(thing) and thing.gap == "agent" else "that"
        relative = sentence.add(
            word, word, "PRON", "nsubj" if thing.gap == "agent" else "obj", thing.unit * 8 + RELATIVE
        )
        inner = self._predicate(sentence, clause, False, "plural" if thing.plural else "singular")
        if clause.time:
            sentence.attach(self.adverbial(sentence, clause.time, clause.unit * 8 + TIME), inner)
        sentence.attach(relative, inner)
        sentence.attach(inner, head, "acl:relcl")


def _article(word: str) -> str:
    """*a* or *an*, by the sound the next word begins with.

    >>> _article("apple"), _article("house"), _article("university"), _article("honest")
    ('an', 'a', 'a', 'an')
    """
    if word.startswith(("uni", "use", "eu", "one")):
        return "a"
    return "an" if word[0] in "aeiou" or word.startswith(("hour", "honest")) else "a"

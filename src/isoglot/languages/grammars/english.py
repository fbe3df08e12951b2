"""English grammar and word forms: articles, do-support, the progressive, inversion in questions, relative clauses.

Trees follow the English treebanks of Universal Dependencies (EWT, GUM): contractions are multiword tokens, a noun that
says when without a preposition is ``obl:unmarked``, and a recipient before the object is ``iobj``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from isoglot.languages.grammars.lexicon import Fixed, by_concept, from_row, parse_particle
from isoglot.languages.grammars.rendering import Grammar, Position
from isoglot.languages.meaning import Asked, Both, Clause, Name, Part, Phrase, Pronoun, Tense, Thing

if TYPE_CHECKING:
    from isoglot.languages.sentence import Sentence


@dataclass(slots=True, frozen=True)
class Noun:
    """A noun and the prepositions that go with it."""

    before: tuple[str, ...]  # the words of a compound before its last one: *swimming* pool
    singular: str
    plural: str  # empty if it is not counted
    article: str  # *a* or *an*; empty if it is not counted
    at: str  # preposition for being there
    by: str  # preposition for doing something with it: *with a knife*, *in a pan*
    # Stands without *the* after its preposition of place (``at``) or of goal (``to``): *at sea*, *to school*
    bare: frozenset[str]


@dataclass(slots=True, frozen=True)
class Verb:
    """A verb in its forms."""

    base: str
    present: tuple[str, str, str]  # for each person, see FIRST, THIRD, OTHER
    past: str
    ing: str  # empty where the progressive is not used
    marker: str  # preposition before the patient: *look for*
    particle: Fixed | None  # a word after the verb: *wake up*
    toward: str  # preposition before the goal


@dataclass(slots=True, frozen=True)
class Operator:
    """The auxiliary or copula that inverts in questions and takes *not*."""

    form: str
    lemma: str
    relation: str
    part: int = Part.HEAD


FIRST, THIRD, OTHER = range(3)  # persons with a verb form of their own: *I*; *he*, *she*, *it*; all others


def _operators(forms: str, lemma: str, relation: str, part: int = Part.HEAD) -> list[Operator]:
    return [Operator(form, lemma, relation, part) for form in forms.split(" ")]


BE = _operators("am is are", "be", "aux")
DO = {"present": _operators("do does do", "do", "aux"), "past": _operators("did did did", "do", "aux")}
COPULA_BE = {
    "present": _operators("am is are", "be", "cop", Part.COPULA),
    "past": _operators("was was were", "be", "cop", Part.COPULA),
}
WILL, WILL_BE = Operator("will", "will", "aux"), Operator("will", "will", "aux", Part.COPULA)

# The operator before *n't*, and both as they are written; there is none for *am*.
NEGATED = {form: (form, f"{form}n't") for form in ("is", "are", "was", "were", "do", "does", "did")}
NEGATED["will"] = ("wo", "won't")
SHORTENED = {"am": "'m", "is": "'s", "are": "'re", "will": "'ll"}  # the operator after a pronoun, in conversation


def _noun(row: dict[str, str]) -> Noun:
    *before, last = row["lemma"].split(" ")
    return from_row(
        Noun,
        row,
        before=tuple(before),
        singular=last,
        plural=row["plural"].split(" ")[-1],
        article=article(row["lemma"]) if row["plural"] else "",
        by=row["with"] or "with",
        bare=frozenset(row["bare"].split(",")) - {""},
    )


def _verb(row: dict[str, str]) -> Verb:
    base = row["lemma"]
    return from_row(
        Verb,
        row,
        base=base,
        present=(base, row["third"], base),
        particle=parse_particle(row["particle"]),
        toward=row["goal"] or "to",
    )


def article(word: str) -> str:
    """*a* or *an*, by the sound the next word begins with.

    >>> article("apple"), article("house"), article("university"), article("unknown")
    ('an', 'a', 'a', 'an')
    """
    return "a" if word[0] not in "aeiou" or word.startswith("uni") else "an"


PRONOUNS = {(1, False): "I", (2, False): "you", (1, True): "we", (2, True): "you"}
OBJECTIVE = {"I": "me", "we": "us", "he": "him", "she": "her", "they": "them"}

UNFOLDING = frozenset({"now", "today"})  # times at which the present is the progressive; at the others it is a habit
FRONTED = frozenset({"sometimes", "every_day"})  # frequencies that may open a sentence; *rarely* would invert it
NOT_BEFORE_VERB = "well"


class English(Grammar):
    """The English grammar."""

    language: ClassVar[str] = "en"
    links: ClassVar[dict[str, str]] = {
        "and": "and", "but": "but", "because": "because", "when": "when", "although": "although", "that": "that",
    }  # fmt: skip
    comma_before: ClassVar[frozenset[str]] = frozenset({"and", "but", "although"})

    def __init__(self) -> None:
        super().__init__()
        self.nouns, self.verbs = by_concept("en", "nouns", _noun), by_concept("en", "verbs", _verb)
        self.adjectives = by_concept("en", "adjectives", lambda row: (row["lemma"], article(row["lemma"])))
        self.late = frozenset(concept for concept, rows in self.adverbs.items() if len(rows[0].words) > 1)
        """Adverbials that do not stand before the verb: *every day*."""

    # --- clauses ---

    def clause(self, sentence: Sentence, clause: Clause, position: Position) -> int:
        """Subject, verb, objects, adverbials; the time first where the wording asks for it."""
        unit, often, time = clause.unit * 8, clause.frequency, clause.time
        asked = sentence.meaning.question and clause is sentence.meaning.main
        fronted = 0
        if sentence.wording.time_first and position == "main" and not asked:
            if time:
                fronted, time = self._front(sentence, time, unit + Part.TIME), None
            elif often in FRONTED:
                fronted, often = self._front(sentence, often, unit + Part.FREQUENCY), None
        head = self._order(sentence, clause, often, time, asked)
        if fronted:
            sentence.attach(fronted, head)
        return head

    def _front(self, sentence: Sentence, concept: str, unit: int) -> int:
        """Open the clause with an adverbial; one of several words has a comma after it."""
        start = len(sentence.words)
        fronted = self.adverbial(sentence, concept, unit)
        if len(sentence.words) > start + 1:
            self.punctuate(sentence, ",", fronted)
        return fronted

    def _order(
        self, sentence: Sentence, clause: Clause, often: str | None, time: str | None, asked: bool, many: bool = False
    ) -> int:
        """The clause with these adverbials in their usual places; ``many``: a plural relative word is its subject."""
        question = self._question_word(sentence, clause) if asked else 0
        inverts = asked and not isinstance(clause.agent, Asked)
        build = self._action if clause.kind == "action" else self._copular
        head = build(sentence, clause, often, question, inverts, many)
        if often in self.late:
            sentence.attach(self.adverbial(sentence, often, clause.unit * 8 + Part.FREQUENCY), head)
        if time:
            sentence.attach(self.adverbial(sentence, time, clause.unit * 8 + Part.TIME), head)
        if clause.complement is not None:
            inner = clause.complement
            self.complement(sentence, head, inner, lambda: self.clause(sentence, inner, "sub"))
        return head

    def _question_word(self, sentence: Sentence, clause: Clause) -> int:
        """Append *where*, or *who* or *what* that is not the subject; 0 if none of them is asked for."""
        for place in (clause.place, clause.goal):
            if isinstance(place, Asked):
                return sentence.add("where", "where", "ADV", "advmod", place.unit * 8)
        if isinstance(clause.patient, Asked):
            word = clause.patient.word
            return sentence.add(word, word, "PRON", "obj", clause.patient.unit * 8)
        return 0

    def _action(
        self, sentence: Sentence, clause: Clause, often: str | None, question: int, inverts: bool, many: bool
    ) -> int:
        unit = clause.unit * 8
        verb = self.pick(sentence, self.verbs[clause.predicate], unit)
        tense = self._tense(sentence, clause)
        person = self._person(clause.agent, many)
        operator: Operator | None = None
        if tense == "future":
            operator, form = WILL, verb.base
        elif tense == "present" and verb.ing and self._is_under_way(sentence, clause):
            operator, form = BE[person], verb.ing
        elif inverts or clause.negative:
            operator, form = DO[tense][person], verb.base
        else:
            form = verb.past if tense == "past" else verb.present[person]
        dependents = self._subject(sentence, clause, operator, inverts)
        if question:
            dependents.append(question)
        if often and often not in self.late:
            dependents.append(self.adverbial(sentence, often, unit + Part.FREQUENCY))
        manner, stands = clause.manner or "", self._manner_place(clause, verb)
        if stands == "before verb":
            dependents.append(self.adverbial(sentence, manner, unit + Part.MANNER))
        head = sentence.add(form, verb.base, "VERB", "root", unit)
        if verb.particle is not None:
            dependents.append(verb.particle.add_to(sentence, unit))
        if stands == "after verb":
            dependents.append(self.adverbial(sentence, manner, unit + Part.MANNER))
        dependents += self._objects(sentence, clause, verb, question)
        if stands == "after objects":
            dependents.append(self.adverbial(sentence, manner, unit + Part.MANNER))
        dependents += self._circumstances(sentence, clause, verb)
        return sentence.close(head, dependents)

    def _copular(
        self, sentence: Sentence, clause: Clause, often: str | None, question: int, inverts: bool, many: bool
    ) -> int:
        unit = clause.unit * 8
        tense = self._tense(sentence, clause)
        operator = WILL_BE if tense == "future" else COPULA_BE[tense][self._person(clause.agent, many)]
        dependents = self._subject(sentence, clause, operator, inverts)
        if often and often not in self.late:
            dependents.append(self.adverbial(sentence, often, unit + Part.FREQUENCY))
        if tense == "future":
            dependents.append(sentence.add("be", "be", "AUX", "cop", unit + Part.COPULA))
        if clause.kind == "property":
            word, _ = self.pick(sentence, self.adjectives[clause.predicate], unit)
            head = sentence.add(word, word, "ADJ", "root", unit)
            if question:
                dependents.append(question)
            elif clause.place is not None:
                dependents.append(self._place(sentence, clause.place, "obl"))
        elif question:
            head = question
        elif clause.kind == "location":
            assert clause.place is not None  # noqa: S101 - by the definition of the kind
            head = self._place(sentence, clause.place, "root")
        else:
            assert clause.patient is not None  # noqa: S101 - by the definition of the kind
            head = self._phrase(sentence, clause.patient, "root")
        return sentence.close(head, dependents)

    # --- the verb ---

    def _tense(self, sentence: Sentence, clause: Clause) -> Tense:
        """The clause's tense; after *when* the future is the present."""
        meaning = sentence.meaning
        if clause.tense == "future" and meaning.link == "when" and clause is meaning.other:
            return "present"
        return clause.tense

    def _is_under_way(self, sentence: Sentence, clause: Clause) -> bool:
        """Whether a present goes on just now (the progressive) rather than being a habit or a statement of fact."""
        if clause.time or clause.frequency:
            return clause.time in UNFOLDING
        return sentence.meaning.register == "conversational" and sentence.meaning.link != "when"

    def _person(self, agent: Phrase | None, many: bool) -> int:
        """The person and number the verb takes; of no agent, that of a relative word for one or for many."""
        if agent is None:
            return OTHER if many else THIRD
        if self.is_plural(agent):
            return OTHER
        if isinstance(agent, Pronoun) and agent.person != 3:
            return FIRST if agent.person == 1 else OTHER
        return THIRD

    def _subject(self, sentence: Sentence, clause: Clause, operator: Operator | None, inverts: bool) -> list[int]:
        """The subject, the operator and *not*, in their order."""
        unit = clause.unit * 8
        short = operator is not None and sentence.meaning.register == "conversational"
        contracts = short and clause.negative and operator is not None and operator.form in NEGATED
        added = []
        if operator is not None and inverts:
            added += self._operator(sentence, operator, unit, contracts=contracts)
        if clause.agent is not None:
            added.append(self._phrase(sentence, clause.agent, "nsubj"))
        if operator is not None and not inverts:
            added += self._operator(sentence, operator, unit, contracts=contracts)
            if short and not contracts and isinstance(clause.agent, Pronoun) and operator.form in SHORTENED:
                self._shorten(sentence, added[-1])
        if clause.negative and not contracts:
            added.append(sentence.add("not", "not", "PART", "advmod", unit + Part.NEGATION))
        return added

    def _operator(self, sentence: Sentence, operator: Operator, unit: int, *, contracts: bool) -> list[int]:
        """Append the operator, with *n't* if it contracts."""
        form, written = NEGATED[operator.form] if contracts else (operator.form, "")
        position = sentence.add(form, operator.lemma, "AUX", operator.relation, unit + operator.part)
        if not contracts:
            return [position]
        negation = sentence.add("n't", "not", "PART", "advmod", unit + Part.NEGATION)
        sentence.fuse(position, negation, written)
        return [position, negation]

    def _shorten(self, sentence: Sentence, position: int) -> None:
        """Write the operator at this position together with the pronoun before it: *we'll*."""
        words = sentence.words
        words[position - 1] = SHORTENED[words[position - 1]]
        sentence.fuse(position - 1, position, words[position - 2] + words[position - 1])

    # --- what follows the verb ---

    def _objects(self, sentence: Sentence, clause: Clause, verb: Verb, question: int) -> list[int]:
        """The patient and the recipient."""
        patient, recipient = clause.patient, clause.recipient
        added = []
        if recipient is not None and self._recipient_first(clause):
            added.append(self._phrase(sentence, recipient, "iobj"))
            recipient = None
        if patient is not None and not isinstance(patient, Asked):
            added.append(self._phrase(sentence, patient, "obl" if verb.marker else "obj", verb.marker))
        elif verb.marker:
            added.append(self._strand(sentence, clause, verb, question))
        if recipient is not None:
            added.append(self._phrase(sentence, recipient, "obl", "to"))
        return added

    def _recipient_first(self, clause: Clause) -> bool:
        """*gave her the book*, *gave the child a book*; but *gave it to her*, *gave the book to a child*."""
        patient, recipient = clause.patient, clause.recipient
        if isinstance(recipient, Pronoun):
            return isinstance(patient, (Thing, Both))
        known = isinstance(recipient, Name) or (isinstance(recipient, Thing) and recipient.definite)
        if not known or self._is_heavy(recipient) or not isinstance(patient, Thing) or patient.definite:
            return False
        return patient.count > 0 or not (patient.plural or self.world.nouns[patient.concept].mass)

    def _strand(self, sentence: Sentence, clause: Clause, verb: Verb, question: int) -> int:
        """Leave the verb's preposition behind.

        In a relative clause, which then has no relative word, it is the oblique itself, as in the treebanks. In a
        question they hang it on the question word across the verb; here it hangs on the verb, and arcs do not cross.
        """
        if question and clause.patient is not None:
            sentence.attach(question, 0, "obl")
            return sentence.add(verb.marker, verb.marker, "ADP", "case", clause.patient.unit * 8 + Part.MARKER)
        return sentence.add(verb.marker, verb.marker, "ADP", "obl", clause.unit * 8)

    def _manner_place(self, clause: Clause, verb: Verb) -> str:
        """Where the manner stands: *ran quickly to school*, *read it quickly*, *quickly read the book that I wrote*."""
        if not clause.manner:
            return ""
        whole = clause.patient is not None and not isinstance(clause.patient, Asked)
        if clause.goal is not None or (verb.marker and whole):
            return "after verb"
        if self._is_heavy(clause.patient) and clause.manner != NOT_BEFORE_VERB:
            return "before verb"
        return "after objects"

    def _is_heavy(self, phrase: Phrase | None) -> bool:
        return isinstance(phrase, Thing) and phrase.relative is not None

    def _circumstances(self, sentence: Sentence, clause: Clause, verb: Verb) -> list[int]:
        """The goal, the instrument and the place."""
        added = []
        goal, instrument, place = clause.goal, clause.instrument, clause.place
        if goal is not None and not isinstance(goal, Asked):
            thing = isinstance(goal, Thing)
            added.append(self._phrase(sentence, goal, "obl", verb.toward if thing else "to", role="to"))
        if instrument is not None:
            added.append(self._phrase(sentence, instrument, "obl", self.nouns[instrument.concept][0].by))
        if place is not None and not isinstance(place, Asked):
            added.append(self._place(sentence, place, "obl"))
        return added

    # --- noun phrases ---

    def _place(self, sentence: Sentence, place: Phrase, relation: str) -> int:
        at = self.nouns[place.concept][0].at if isinstance(place, Thing) else "in"
        return self._phrase(sentence, place, relation, at, role="at")

    def _phrase(self, sentence: Sentence, phrase: Phrase, relation: str, marker: str = "", role: str = "") -> int:
        """Append a noun phrase, after its preposition, and return its head; ``role``: see :class:`Noun`, bare."""
        unit = phrase.unit * 8
        case = sentence.add(marker, marker, "ADP", "case", unit + Part.MARKER) if marker else 0
        if isinstance(phrase, Thing):
            head = self._thing(sentence, phrase, role)
        elif isinstance(phrase, Name):
            head = self.add_name(sentence, phrase, self.name_words(phrase))
        elif isinstance(phrase, Both):
            head = self.join(sentence, phrase, "and", relation, lambda one, role: self._phrase(sentence, one, role))
        elif isinstance(phrase, Pronoun):
            lemma = self._pronoun(phrase)
            word = lemma if relation == "nsubj" else OBJECTIVE.get(lemma, lemma)
            head = sentence.add(word, lemma, "PRON", relation, unit)
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

    def _thing(self, sentence: Sentence, thing: Thing, role: str) -> int:
        unit = thing.unit * 8
        noun = self.pick(sentence, self.nouns[thing.concept], unit)
        adjective, article = "", noun.article
        if thing.adjective:
            adjective, its_article = self.pick(sentence, self.adjectives[thing.adjective], unit)
            article = its_article if article else ""
        before = []
        if thing.definite:
            if role not in noun.bare or thing.plural or adjective or thing.relative is not None:
                before.append(sentence.add("the", "the", "DET", "det", unit + Part.DETERMINER))
        elif article and not thing.plural:
            before.append(sentence.add(article, "a", "DET", "det", unit + Part.DETERMINER))
        if thing.count:
            number = self.number_words[thing.count]
            before.append(sentence.add(number, number, "NUM", "nummod", unit + Part.NUMBER))
        if adjective:
            before.append(sentence.add(adjective, adjective, "ADJ", "amod", unit + Part.ADJECTIVE))
        before.extend(sentence.add(word, word, "NOUN", "compound", unit) for word in noun.before)
        head = sentence.add(
            noun.plural if thing.plural else noun.singular, noun.singular, "NOUN", "dep", unit + Part.HEAD
        )
        sentence.close(head, before)
        if thing.relative is not None:
            self._relative(sentence, thing, thing.relative, head)
        return head

    def _relative(self, sentence: Sentence, thing: Thing, clause: Clause, head: int) -> None:
        """*who* for people that act, else *that*; neither before a verb that leaves its preposition behind."""
        relative = 0
        unit = thing.unit * 8 + Part.RELATIVE
        if thing.gap == "agent":
            word = "who" if self.sex(thing) else "that"
            relative = sentence.add(word, word, "PRON", "nsubj", unit)
        elif not self.verbs[clause.predicate][0].marker:
            relative = sentence.add("that", "that", "PRON", "obj", unit)
        inner = self._order(sentence, clause, clause.frequency, clause.time, False, thing.plural)
        if relative:
            sentence.attach(relative, inner)
        sentence.attach(inner, head, "acl:relcl")

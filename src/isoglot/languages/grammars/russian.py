"""Russian: six cases, two aspects, no articles and no present copula, numbers that govern their nouns."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from isoglot.languages.grammars.lexicon import by_concept
from isoglot.languages.grammars.rendering import Position, SpecialVerbs, in_gap
from isoglot.languages.grammars.russian_forms import (
    CAREFULLY,
    INSTRUMENTS,
    LIVING,
    SOME,
    Case,
    Government,
    Verb,
    read_verb,
)
from isoglot.languages.grammars.russian_phrases import GENDERS, Agreement, RussianPhrases, object_relation
from isoglot.languages.meaning import Asked, Both, Clause, Part, Phrase, Pronoun, Thing

if TYPE_CHECKING:
    from isoglot.languages.sentence import Sentence


WAS = ("был", "была", "было", "были")
WILL = ("буду", "будешь", "будет", "будем", "будете", "будут")
WHERE = {"at": "где", "to": "куда", "from": "откуда"}
WEATHER = frozenset({"rain", "snow"})  # subjects that follow the verb when they fall: *вчера выпал снег*
FRONTED = frozenset({"often", "sometimes", "every_day"})
"""Adverbs of frequency that may begin a sentence without emphasis."""


class _Parts(NamedTuple):
    """A clause while it is put into words."""

    sentence: Sentence
    clause: Clause
    dependents: list[int]  # positions of words that hang on the predicate; some already stand before it
    asked: bool = False
    fronted: str = ""  # ``time`` or ``frequency`` if it is expressed already
    gap: Thing | None = None  # in a relative clause, the thing that it describes


class Russian(RussianPhrases):
    """The Russian grammar."""

    language: ClassVar[str] = "ru"
    links: ClassVar[dict[str, str]] = {
        "and": "и", "but": "но", "because": "поскольку", "when": "когда", "although": "хотя", "that": "что",
    }  # fmt: skip
    comma_before: ClassVar[frozenset[str]] = frozenset({"and", "but", "because", "when", "although"})
    comma_around: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.verbs = by_concept("ru", "verbs", read_verb)
        # verbs that depend on the object: clothes are washed with another verb than plates
        self.special_verbs = SpecialVerbs(
            by_concept("ru", "special_verbs", lambda row: (row, read_verb(row))), self.world.and_below
        )

    # --- the sentence ---

    def conjunction(self, sentence: Sentence, link: str, tag: str, relation: str, unit: int) -> int:
        """Append the conjunction of a link: *потому что*, which cannot begin a sentence; there it is *поскольку*."""
        if link != "because" or not sentence.words:
            return super().conjunction(sentence, link, tag, relation, unit)
        head = sentence.add("потому", "потому", tag, relation, unit * 8 + Part.LINK)
        sentence.add("что", "что", tag, "fixed", unit * 8 + Part.LINK, head)
        return head

    # --- clauses ---

    def clause(self, sentence: Sentence, clause: Clause, position: Position) -> int:
        """Subject, adverbials, verb, objects, place; what is asked for or fronted comes first."""
        dependents: list[int] = []
        asked = sentence.meaning.question and clause is sentence.meaning.main
        fronted = ""
        if sentence.wording.time_first and position == "main" and not asked:
            unit = clause.unit * 8
            if clause.time:
                fronted = "time"
                dependents.append(self.adverbial(sentence, clause.time, unit + Part.TIME))
            elif clause.frequency in FRONTED:
                fronted = "frequency"
                dependents.append(self.adverbial(sentence, clause.frequency or "", unit + Part.FREQUENCY))
        head = self._body(_Parts(sentence, clause, dependents, asked, fronted))
        if clause.complement is not None:
            inner = clause.complement
            self.complement(sentence, head, inner, lambda: self.clause(sentence, inner, "sub"))
        return head

    def _body(self, parts: _Parts) -> int:
        """The clause without what follows it."""
        sentence, clause, dependents, asked, fronted, gap = parts
        if clause.kind != "action":
            head = self._copular(sentence, clause, dependents, asked, fronted)
        else:
            verb = self.pick(sentence, self._verb(clause, gap), clause.unit * 8)
            head = self._needed(parts, verb) if verb.patient[1] == "nom" else self._action(parts, verb)
        return sentence.close(head, dependents)

    def _action(self, parts: _Parts, verb: Verb) -> int:
        sentence, clause, dependents, asked, fronted, gap = parts
        unit = clause.unit * 8
        agreement = self.agreement(sentence, clause.agent if clause.agent is not None else gap)
        auxiliary, form, lemma = self._finite(sentence, clause, verb, agreement, asked)
        whether = asked and sentence.meaning.register == "encyclopaedic" and not self._asks_for(clause)
        if asked:
            self._question_word(sentence, clause, verb, dependents)
        late = not whether and self._subject_is_late(clause, asked, gap)
        if not late and not whether and clause.agent is not None:
            dependents.append(self.phrase(sentence, clause.agent, "nom", "nsubj"))
        if not whether:
            self._adverbials(sentence, clause, dependents, fronted)
        if clause.manner and not clause.negative and not auxiliary and not whether:
            self._manner(sentence, clause, dependents)
        if clause.negative:
            dependents.append(sentence.add("не", "не", "PART", "advmod", unit + Part.NEGATION))
        head = 0
        if auxiliary:
            dependents.append(sentence.add(auxiliary, "быть", "AUX", "aux", unit))
        else:
            head = sentence.add(form, lemma, "VERB", "root", unit)
        if whether:
            dependents.append(sentence.add("ли", "ли", "PART", "advmod", unit + Part.QUESTION))
        if whether and clause.agent is not None:
            dependents.append(self.phrase(sentence, clause.agent, "nom", "nsubj"))
        if whether:
            self._adverbials(sentence, clause, dependents, fronted)
        if clause.manner and not clause.negative and (auxiliary or whether):  # будет терпеливо ждать
            self._manner(sentence, clause, dependents)
        if not head:
            head = sentence.add(form, lemma, "VERB", "root", unit)
        if late and clause.agent is not None:
            dependents.append(self.phrase(sentence, clause.agent, "nom", "nsubj"))
        if verb.word is not None:
            dependents.append(verb.word.add_to(sentence, unit))
        some = self._is_some(clause, verb, lemma)
        self._objects(sentence, clause, verb, dependents, some)
        return head

    def _finite(
        self, sentence: Sentence, clause: Clause, verb: Verb, agreement: Agreement, asked: bool
    ) -> tuple[str, str, str]:
        """The auxiliary, if there is one; the form of the verb and its lemma, which depends on the aspect."""
        aspect = verb.aspect
        again = clause.frequency is not None
        imperfective = verb.habitual if again else verb.imperfective
        if clause.tense == "present":
            return "", imperfective.present[agreement[0]], imperfective.infinitive
        lasts = self.world.verbs[clause.predicate].stative and "event" not in aspect
        if clause.tense == "future":
            if again or verb.perfective is None or (lasts and "future" not in aspect):
                return WILL[agreement[0]], imperfective.infinitive, imperfective.infinitive
            return "", verb.perfective.present[agreement[0]], verb.perfective.infinitive
        plainly = (clause.negative and "denied" in aspect) or (asked and "asked" in aspect)
        chosen = imperfective if again or lasts or plainly or verb.perfective is None else verb.perfective
        return "", chosen.past[agreement[1]], chosen.infinitive

    def _needed(self, parts: _Parts, verb: Verb) -> int:
        """*Пациенту нужно лекарство*: who needs is in the dative, what is needed is the subject."""
        sentence, clause, dependents, asked, fronted, gap = parts
        unit = clause.unit * 8
        needed = clause.patient if clause.patient is not None else gap
        agreement = self.agreement(sentence, needed)
        if asked and isinstance(clause.patient, Asked):
            dependents.append(self.phrase(sentence, clause.patient, "nom", "nsubj"))
        late = (gap is not None or isinstance(clause.patient, Asked)) and not isinstance(clause.agent, (Pronoun, Asked))
        if clause.agent is not None and not late:
            dependents.append(self.phrase(sentence, clause.agent, "dat", "iobj"))
        self._adverbials(sentence, clause, dependents, fronted)
        self._copula(sentence, clause, dependents, agreement)
        head = sentence.add(verb.imperfective.past[agreement[1]], verb.imperfective.infinitive, "ADJ", "root", unit)
        if clause.agent is not None and late:
            dependents.append(self.phrase(sentence, clause.agent, "dat", "iobj"))
        if clause.patient is not None and not isinstance(clause.patient, Asked):
            dependents.append(self.phrase(sentence, clause.patient, "nom", "nsubj"))
        if clause.place is not None and not isinstance(clause.place, Asked):
            dependents.append(self.somewhere(sentence, clause.place, "at", "obl"))
        return head

    def _copular(self, sentence: Sentence, clause: Clause, dependents: list[int], asked: bool, fronted: str) -> int:
        agent, place = clause.agent, clause.place
        absent = clause.kind == "location" and clause.negative and clause.tense != "present"
        agreement = (2, 2) if absent else self.agreement(sentence, agent)  # волка не было в лесу
        case: Case = "gen" if absent else "nom"
        if asked and isinstance(place, Asked):
            return self._where_is(sentence, clause, dependents, agreement, case)
        whether = asked and sentence.meaning.register == "encyclopaedic" and not isinstance(agent, Asked)
        head = 0
        if whether:
            if not self._copula(sentence, clause, dependents, agreement):
                head = self._predicate(sentence, clause, agreement)
            dependents.append(sentence.add("ли", "ли", "PART", "advmod", clause.unit * 8 + Part.QUESTION))
        if agent is not None:
            dependents.append(self.phrase(sentence, agent, case, "nsubj"))
        self._adverbials(sentence, clause, dependents, fronted)
        if clause.kind == "class" and clause.tense == "present" and not clause.negative and not head:
            dependents.append(sentence.add("—", "—", "PUNCT", "punct"))
        if not whether:
            self._copula(sentence, clause, dependents, agreement)
        head = head or self._predicate(sentence, clause, agreement)
        if clause.kind != "location" and place is not None:
            dependents.append(self.somewhere(sentence, place, "at", "obl"))
        return head

    def _copula(self, sentence: Sentence, clause: Clause, dependents: list[int], agreement: Agreement) -> bool:
        """Append *не* and the copula, where there is one; whether there is."""
        unit = clause.unit * 8
        if clause.negative:
            dependents.append(sentence.add("не", "не", "PART", "advmod", unit + Part.NEGATION))
        if clause.tense == "present":
            return False
        form = WAS[agreement[1]] if clause.tense == "past" else WILL[agreement[0]]
        dependents.append(sentence.add(form, "быть", "AUX", "cop", unit + Part.COPULA))
        return True

    def _predicate(self, sentence: Sentence, clause: Clause, agreement: Agreement) -> int:
        """Append the predicate of a copular clause."""
        case: Case = "nom" if clause.tense == "present" else "ins"
        if clause.kind == "property":
            rows = self.adjective(clause.predicate, clause.agent)
            adjective = self.pick(sentence, rows, clause.unit * 8)
            gender = GENDERS[agreement[1]]
            word = adjective.short[gender] if adjective.short else ""
            if word in ("", adjective.forms[gender, "nom"]):  # no short form: животное было больным
                word = adjective.forms[gender, case]
            return sentence.add(word, adjective.lemma, "ADJ", "root", clause.unit * 8)
        if clause.kind == "class":
            assert clause.patient is not None  # noqa: S101 - by the definition of the kind
            return self.phrase(sentence, clause.patient, case, "root")
        assert clause.place is not None  # noqa: S101 - by the definition of the kind
        return self.somewhere(sentence, clause.place, "at", "root")

    def _where_is(
        self, sentence: Sentence, clause: Clause, dependents: list[int], agreement: Agreement, case: Case
    ) -> int:
        """Ask where somebody is: *где была Мария утром*."""
        assert clause.place is not None  # noqa: S101 - it is asked for
        where = sentence.add("где", "где", "ADV", "advmod", clause.place.unit * 8)
        if clause.kind == "location" and clause.negative and clause.tense == "present":  # где нет вора
            dependents.append(where)
            if isinstance(clause.agent, Pronoun):  # где тебя нет
                dependents.append(self.phrase(sentence, clause.agent, "gen", "nsubj"))
            head = sentence.add("нет", "нет", "VERB", "root", clause.unit * 8 + Part.NEGATION)
            if clause.agent is not None and not isinstance(clause.agent, Pronoun):
                dependents.append(self.phrase(sentence, clause.agent, "gen", "nsubj"))
            self._adverbials(sentence, clause, dependents, "")
            return head
        early = isinstance(clause.agent, Pronoun) or clause.negative
        if clause.agent is not None and early:
            dependents.append(self.phrase(sentence, clause.agent, case, "nsubj"))
        self._copula(sentence, clause, dependents, agreement)
        if clause.kind != "location":
            dependents.append(where)
            head = self._predicate(sentence, clause, agreement)
        else:
            head = where
        if clause.agent is not None and not early:
            dependents.append(self.phrase(sentence, clause.agent, case, "nsubj"))
        self._adverbials(sentence, clause, dependents, "")
        return head

    # --- parts of clauses ---

    def _asks_for(self, clause: Clause) -> bool:
        return any(isinstance(role, Asked) for role in (clause.agent, clause.patient, clause.place, clause.goal))

    def _question_word(self, sentence: Sentence, clause: Clause, verb: Verb, dependents: list[int]) -> None:
        """Append what a question asks for, other than the agent."""
        if isinstance(clause.patient, Asked):
            preposition, case = verb.patient
            asked = clause.patient
            if clause.predicate in LIVING:
                asked = Asked("who", asked.unit)
            dependents.append(self.phrase(sentence, asked, case, object_relation(verb.patient), preposition))
        elif isinstance(clause.place, Asked):
            word = WHERE[verb.place]
            dependents.append(sentence.add(word, word, "ADV", "advmod", clause.place.unit * 8))
        elif isinstance(clause.goal, Asked):
            dependents.append(sentence.add("куда", "куда", "ADV", "advmod", clause.goal.unit * 8))

    def _subject_is_late(self, clause: Clause, asked: bool, gap: Thing | None) -> bool:
        """Whether the subject follows the verb: *дом, который построил король*; *куда пошёл король*."""
        if isinstance(clause.agent, (Pronoun, Asked)):
            return False
        if gap is not None:
            return gap.gap == "patient"
        if asked and clause.patient is None:
            return isinstance(clause.place, Asked) or isinstance(clause.goal, Asked)
        if isinstance(clause.agent, Thing) and clause.agent.concept in WEATHER:
            return clause.predicate == "fall" and not clause.negative and clause.place is None
        return asked and isinstance(clause.patient, Asked)

    def _adverbials(self, sentence: Sentence, clause: Clause, dependents: list[int], fronted: str) -> None:
        """Append time and frequency, which stand before the verb."""
        unit = clause.unit * 8
        if clause.time and fronted != "time":
            dependents.append(self.adverbial(sentence, clause.time, unit + Part.TIME))
        if clause.frequency and fronted != "frequency":
            dependents.append(self.adverbial(sentence, clause.frequency, unit + Part.FREQUENCY))

    def _manner(self, sentence: Sentence, clause: Clause, dependents: list[int]) -> None:
        """Append how it is done: before the verb, but after a denied one."""
        manner = clause.manner or ""
        if manner == "carefully":
            manner = CAREFULLY.get(clause.predicate, manner)
        dependents.append(self.adverbial(sentence, manner, clause.unit * 8 + Part.MANNER))

    def _objects(self, sentence: Sentence, clause: Clause, verb: Verb, dependents: list[int], some: bool) -> None:
        """Append what follows the verb: recipient, patient (``some`` of it, perhaps), goal, instrument, place."""
        patient, recipient = clause.patient, clause.recipient
        # What is new comes last: дала девочке подарок, but дала подарок какой-то девочке.
        last = (
            isinstance(patient, Thing) and patient.definite and isinstance(recipient, Thing) and not recipient.definite
        )
        # And what has a clause of its own comes after all else, so that its end is the end.
        heavy = isinstance(patient, Thing) and patient.relative is not None
        if isinstance(recipient, Pronoun) and _is_same(recipient, clause.agent):  # ты показал себе
            dependents.append(sentence.add("себе", "себя", "PRON", "iobj", recipient.unit * 8))
        elif recipient is not None and not last:
            dependents.append(self.phrase(sentence, recipient, "dat", "iobj"))
        if not heavy:
            self._patient(sentence, clause, verb, dependents, some)
        if recipient is not None and last:
            dependents.append(self.phrase(sentence, recipient, "dat", "iobj"))
        if clause.goal is not None and not isinstance(clause.goal, Asked):
            dependents.append(self.somewhere(sentence, clause.goal, "to", "obl", verb.goal))
        if clause.manner and clause.negative:
            self._manner(sentence, clause, dependents)
        if clause.instrument is not None:
            how = verb.instrument or INSTRUMENTS.get(clause.instrument.concept, ("", "ins"))
            dependents.append(self.phrase(sentence, clause.instrument, how[1], "obl", how[0]))
        if clause.place is not None and not isinstance(clause.place, Asked):
            dependents.append(self.somewhere(sentence, clause.place, verb.place, "obl"))
        if heavy:
            self._patient(sentence, clause, verb, dependents, some)

    def _patient(self, sentence: Sentence, clause: Clause, verb: Verb, dependents: list[int], some: bool) -> None:
        """Append what it is done to, unless it is asked for and stands first."""
        patient = clause.patient
        if patient is None or isinstance(patient, Asked):
            return
        preposition, case = verb.patient
        if some and case == "acc" and not preposition:
            case = "gen"
        dependents.append(self.phrase(sentence, patient, case, object_relation(verb.patient), preposition))

    def _is_some(self, clause: Clause, verb: Verb, lemma: str) -> bool:
        """Whether the object is an amount of a substance, in the genitive: *не пьёт воды*, *выпил воды*."""
        patient = clause.patient
        if clause.predicate not in SOME or not isinstance(patient, Thing) or patient.definite:
            return False
        if not self.world.nouns[patient.concept].mass or patient.concept == "drink":
            return False
        perfective = verb.perfective is not None and lemma == verb.perfective.infinitive
        return clause.negative or (clause.predicate == "drink" and perfective)

    # --- choosing the verb ---

    def _verb(self, clause: Clause, gap: Thing | None) -> list[Verb]:
        """The verb of an action and its synonym."""
        roles = in_gap(clause.agent, clause.patient if clause.patient is not None else clause.goal, gap)
        return self.special_verbs.find(clause.predicate, roles, self._is_among) or self.verbs[clause.predicate]

    def _is_among(self, phrase: Phrase | None, concepts: frozenset[str]) -> bool:
        """Whether the phrase is one of the concepts; ``@f`` are women, ``@m`` men, ``@pl`` several."""
        if phrase is None:
            return False
        if "@pl" in concepts:
            return self.is_plural(phrase)
        if isinstance(phrase, Both):  # both, or the usual verb, which goes with all
            return self._is_among(phrase.first, concepts) and self._is_among(phrase.second, concepts)
        if isinstance(phrase, Pronoun):
            return self._is_among(phrase.of, concepts) if phrase.of is not None else "man" in concepts
        if isinstance(phrase, Asked):
            return f"@{phrase.word}" in concepts or (phrase.word == "who" and "man" in concepts)
        sex = self.sex(phrase)
        if "@f" in concepts or "@m" in concepts:
            return f"@{sex}" in concepts
        if isinstance(phrase, Thing):
            return phrase.concept in concepts
        kind = self.world.names[phrase.name].kind
        return f"@{kind}" in concepts or (kind == "PER" and ("man" if sex == "m" else "woman") in concepts)

    def relative(self, sentence: Sentence, thing: Thing, head: int) -> None:
        """Append the relative clause of a thing, between commas."""
        clause = thing.relative
        assert clause is not None  # noqa: S101 - the caller looked
        comma = self.punctuate(sentence, self.comma)
        how: Government = ("", "nom")
        relation = "nsubj"
        if thing.gap == "patient":
            how = self.pick(sentence, self._verb(clause, thing), clause.unit * 8).patient
            relation = object_relation(how)
        elif self._verb(clause, thing)[0].patient[1] == "nom":
            how, relation = ("", "dat"), "iobj"
        if thing.gap == "patient" and how[1] == "nom":
            relation = "nsubj"
        dependents = [comma, self.which(sentence, thing, how, relation)]
        inner = self._body(_Parts(sentence, clause, dependents, gap=thing))
        sentence.attach(inner, head, "acl:relcl")
        self.punctuate(sentence, self.comma, inner)


def _is_same(pronoun: Pronoun, other: Phrase | None) -> bool:
    """Whether both are *I*, *you* or *we*."""
    if pronoun.person == 3 or not isinstance(other, Pronoun):
        return False
    return (pronoun.person, pronoun.plural) == (other.person, other.plural)

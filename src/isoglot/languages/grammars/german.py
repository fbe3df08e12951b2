"""German: the finite verb second or last, the verb bracket, four declensions, *kein*, contractions such as *zum*."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from isoglot.languages.grammars import german_forms as forms
from isoglot.languages.grammars.german_forms import ACCUSATIVE, DATIVE, MIXED, NOMINATIVE, PLURAL, STRONG, WEAK
from isoglot.languages.grammars.lexicon import Fixed, by_concept, parse_fixed, read_table
from isoglot.languages.grammars.rendering import Grammar, Position, SpecialVerbs, in_gap
from isoglot.languages.meaning import Asked, Both, Clause, Name, Part, Phrase, Pronoun, Tense, Thing

if TYPE_CHECKING:
    from isoglot.languages.sentence import Sentence


OBJECT = ("", "obj", "obl:arg")
"""The relation of an object in each case: the German treebanks hold a dative to be oblique (since UD 2.12)."""


class German(Grammar):
    """The German grammar."""

    language: ClassVar[str] = "de"
    links: ClassVar[dict[str, str]] = {
        "and": "und", "but": "aber", "because": "weil", "when": "wenn", "when_once": "als", "although": "obwohl",
        "that": "dass",
    }  # fmt: skip
    comma_before: ClassVar[frozenset[str]] = frozenset({"but", "because", "when", "although"})
    comma_around: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        world = self.world
        self.nouns = by_concept("de", "nouns", lambda row: forms.noun(row, world.nouns[row["concept"]].mass))
        self.verbs = by_concept("de", "verbs", forms.verb)
        self.adjectives = by_concept("de", "adjectives", forms.adjective)
        # Where German has two words for one concept, depending on the noun: people essen, animals fressen.
        self.special_verbs = SpecialVerbs(
            by_concept("de", "special_verbs", lambda row: (row, forms.verb(row))), world.and_below
        )
        self.special_adjectives: dict[str, tuple[frozenset[str], list[forms.Adjective]]] = {
            row["concept"]: (world.and_below(row["of"]), [forms.adjective(row)])
            for row in read_table("de", "special_adjectives")
        }
        self.special_adverbs: dict[tuple[str, str], list[Fixed]] = {
            (row["concept"], verb): [parse_fixed(row["words"], row["relation"])]
            for row in read_table("de", "special_adverbs")
            for verb in row["verbs"].split(",")
        }
        self.animals = world.and_below("animal")

    # --- the sentence ---

    def conjunction(self, sentence: Sentence, link: str, tag: str, relation: str, unit: int) -> int:
        """Append the conjunction of a link: *als* for what happened once, *wenn* for all else, such as what recurs."""
        main, other = sentence.meaning.main, sentence.meaning.other
        if link == "when" and other is not None and other.tense == "past" and not (main.frequency or other.frequency):
            link = "when_once"
        return super().conjunction(sentence, link, tag, relation, unit)

    # --- clauses ---

    def clause(self, sentence: Sentence, clause: Clause, position: Position) -> int:
        """The first phrase, the finite verb, all else, the other verb forms; in a subordinate clause all verbs last."""
        return self._clause(sentence, clause, position, None)

    def _clause(self, sentence: Sentence, clause: Clause, position: Position, gap: Thing | None) -> int:
        """A clause with its complement; ``gap`` is the thing that a relative clause says more of."""
        tense: Tense = clause.tense
        if tense == "future" and sentence.meaning.link == "when" and clause is sentence.meaning.other:
            tense = "present"  # wenn er kommt, not: wenn er kommen wird
        if clause.kind == "action":
            head = self._action(sentence, clause, position, tense, gap)
        else:
            head = self._copular(sentence, clause, position, tense, gap)
        if clause.complement is not None:
            inner = clause.complement
            self.complement(sentence, head, inner, lambda: self._clause(sentence, inner, "sub", None))
        return head

    def _action(self, sentence: Sentence, clause: Clause, position: Position, tense: Tense, gap: Thing | None) -> int:
        unit = clause.unit * 8
        verb = self.pick(sentence, self._verb(clause, gap), unit)
        person = self._person(clause.agent, gap)
        spoken = tense == "past" and bool(verb.auxiliary) and sentence.meaning.register == "conversational"
        auxiliary, other = "", ""
        if tense == "future":
            auxiliary, finite, other = "werden", forms.WILL[person], verb.lemma
        elif spoken:
            auxiliary, other = verb.auxiliary, verb.participle
            finite = forms.HAVE[person] if auxiliary == "haben" else forms.BE["present"][person]
        elif position == "sub":
            finite = (verb.final_past if tense == "past" else verb.final_present)[person]
        else:
            finite = (verb.past if tense == "past" else verb.present)[person]
        head = 0
        first, dependents = self._first(sentence, clause, position, verb.object_case, gap)
        if position != "sub":
            if auxiliary:
                dependents.append(sentence.add(finite, auxiliary, "AUX", "aux", unit))
            else:
                head = sentence.add(finite, verb.lemma, "VERB", "root", unit)
        reflexive = verb.reflexive[person] if verb.reflexive else ""
        dependents += self._opening(sentence, clause, first, verb.object_case, reflexive)
        dependents += self._objects(sentence, clause, verb, gap)
        if position == "sub":
            head = sentence.add(other or finite, verb.lemma, "VERB", "root", unit)
            if auxiliary:
                dependents.append(sentence.add(finite, auxiliary, "AUX", "aux", unit))
        elif auxiliary:
            head = sentence.add(other, verb.lemma, "VERB", "root", unit)
        elif verb.particle:
            dependents.append(sentence.add(verb.particle, verb.particle, "ADP", "compound:prt", unit))
        return sentence.close(head, dependents)

    def _copular(self, sentence: Sentence, clause: Clause, position: Position, tense: Tense, gap: Thing | None) -> int:
        unit = clause.unit * 8
        person = self._person(clause.agent, gap)
        if tense == "future":
            finite, lemma, relation = forms.WILL[person], "werden", "aux"
        else:
            finite, lemma, relation = forms.BE[tense][person], "sein", "cop"
        first, dependents = self._first(sentence, clause, position, ACCUSATIVE, gap)
        where = dependents.pop() if first == "place" and clause.kind == "location" else 0
        if position != "sub":
            dependents.append(sentence.add(finite, lemma, "AUX", relation, unit + Part.COPULA))
        dependents += self._opening(sentence, clause, first, ACCUSATIVE, "")
        place = clause.place if clause.kind != "location" else None
        if place is not None and not isinstance(place, Asked):
            dependents.append(self._phrase(sentence, place, DATIVE, "obl", self._at(place, clause.agent or gap)))
        no = 0
        if clause.negative and clause.kind == "class" and _may_take_no(clause.patient):
            no = unit + Part.NEGATION
        elif clause.negative:
            dependents.append(self._not(sentence, unit))
        if clause.kind == "property":
            rows = self._adjective(clause.predicate, clause.agent if gap is None else gap)
            word = self.pick(sentence, rows, unit).lemma
            head = sentence.add(word, word, "ADJ", "root", unit)
        elif clause.kind == "class":
            assert clause.patient is not None  # noqa: S101 - by the definition of the kind
            head = self._phrase(sentence, clause.patient, NOMINATIVE, "root", no=no)
        elif where:
            head = where
        else:
            assert clause.place is not None  # noqa: S101 - by the definition of the kind
            head = self._phrase(sentence, clause.place, DATIVE, "root", self._at(clause.place, clause.agent or gap))
        if tense == "future":
            dependents.append(sentence.add("sein", "sein", "AUX", "cop", unit + Part.COPULA))
        if position == "sub":
            dependents.append(sentence.add(finite, lemma, "AUX", relation, unit + Part.COPULA))
        return sentence.close(head, dependents)

    def _first(
        self, sentence: Sentence, clause: Clause, position: Position, object_case: int, gap: Thing | None
    ) -> tuple[str, list[int]]:
        """Append what stands before the finite verb; its role, and its position if there is anything."""
        if gap is not None:
            agent = gap.gap == "agent"
            gender = PLURAL if gap.plural else self.nouns[gap.concept][0].gender
            word = forms.RELATIVES[gender * 3 + (NOMINATIVE if agent else object_case)]
            relation = "nsubj" if agent else OBJECT[object_case]
            return gap.gap, [sentence.add(word, "der", "PRON", relation, gap.unit * 8 + Part.RELATIVE)]
        if position == "sub":
            return "", []
        if sentence.meaning.question and clause is sentence.meaning.main:
            return self._asked(sentence, clause, object_case)
        if position == "after":  # the subordinate clause before it stands first
            return "", []
        if sentence.wording.time_first:
            unit = clause.unit * 8
            if clause.time:
                return "time", [self.adverbial(sentence, clause.time, unit + Part.TIME)]
            if clause.frequency and clause.frequency != "always":
                return "frequency", [self.adverbial(sentence, clause.frequency, unit + Part.FREQUENCY)]
        if clause.agent is None:
            return "", []
        return "agent", [self._phrase(sentence, clause.agent, NOMINATIVE, "nsubj")]

    def _asked(self, sentence: Sentence, clause: Clause, object_case: int) -> tuple[str, list[int]]:
        """Append the question word; its role and position. With none, the verb comes first."""
        if isinstance(clause.agent, Asked):
            return "agent", [self._phrase(sentence, clause.agent, NOMINATIVE, "nsubj")]
        if isinstance(clause.patient, Asked):
            return "patient", [self._phrase(sentence, clause.patient, object_case, OBJECT[object_case])]
        for role, asked, word in (("place", clause.place, "wo"), ("goal", clause.goal, "wohin")):
            if isinstance(asked, Asked):
                return role, [sentence.add(word, word, "ADV", "advmod", asked.unit * 8)]
        return "", []

    def _opening(self, sentence: Sentence, clause: Clause, first: str, object_case: int, reflexive: str) -> list[int]:
        """Append what comes early after the finite verb: subject, what is known, time; without what stands first."""
        unit = clause.unit * 8
        found = []
        patient, recipient = clause.patient, clause.recipient
        agent = clause.agent if first != "agent" else None
        if agent is not None and (isinstance(agent, Pronoun) or isinstance(patient, Pronoun)):
            found.append(self._phrase(sentence, agent, NOMINATIVE, "nsubj"))
            agent = None
        if isinstance(patient, Pronoun):
            found.append(self._phrase(sentence, patient, object_case, OBJECT[object_case]))
        if reflexive:  # before a noun that is the subject: Versteckt sich der Dieb?
            found.append(sentence.add(reflexive, forms.REFLEXIVE_LEMMAS[reflexive], "PRON", "expl:pv", unit))
        if agent is not None:
            found.append(self._phrase(sentence, agent, NOMINATIVE, "nsubj"))
        if recipient is not None and not _is_new(recipient):  # gab dem Kind gestern ein Buch
            found.append(self._phrase(sentence, recipient, DATIVE, OBJECT[DATIVE]))
        if patient is not None and _is_early(clause):
            found.append(self._phrase(sentence, patient, object_case, OBJECT[object_case]))
        if clause.time and first != "time":
            found.append(self.adverbial(sentence, clause.time, unit + Part.TIME))
        if clause.frequency and first != "frequency":
            found.append(self.adverbial(sentence, clause.frequency, unit + Part.FREQUENCY))
        return found

    def _objects(self, sentence: Sentence, clause: Clause, verb: forms.Verb, gap: Thing | None) -> list[int]:
        """Append the rest: what is known, *nicht*, manner, place and instrument, what is new, the goal."""
        unit = clause.unit * 8
        found = []
        patient = clause.patient
        if isinstance(patient, (Pronoun, Asked)) or _is_early(clause):
            patient = None
        recipient = clause.recipient if clause.recipient is not None and _is_new(clause.recipient) else None
        no = unit + Part.NEGATION if clause.negative else 0
        patient_no = no if _may_take_no(patient) else 0
        recipient_no = no if not patient_no and _may_take_no(recipient) else 0
        says_not = clause.negative and not patient_no and not recipient_no
        heavy = isinstance(patient, Thing) and patient.relative is not None
        patient_is_late = patient is not None and (heavy or _is_new(patient))
        not_is_late = patient_is_late or isinstance(clause.patient, Asked)  # Was backt er in der Küche nicht?
        manner_is_late = clause.manner == "well" and clause.patient is not None and not heavy  # singt ein Lied gut
        if patient is not None and not patient_is_late:
            found.append(self._phrase(sentence, patient, verb.object_case, OBJECT[verb.object_case]))
        if recipient is not None:
            found.append(self._phrase(sentence, recipient, DATIVE, OBJECT[DATIVE], no=recipient_no))
        if says_not and not not_is_late:
            found.append(self._not(sentence, unit))
        if clause.manner and not manner_is_late:
            found.append(self._manner(sentence, clause, clause.manner))
        if clause.place is not None and not isinstance(clause.place, Asked):
            marker = self._at(clause.place, clause.agent or gap)
            found.append(self._phrase(sentence, clause.place, DATIVE, "obl", marker))
        if clause.instrument is not None:
            marker = self.nouns[clause.instrument.concept][0].by
            found.append(self._phrase(sentence, clause.instrument, DATIVE, "obl", marker))
        if says_not and not_is_late:
            found.append(self._not(sentence, unit))
        if patient is not None and patient_is_late:
            found.append(self._phrase(sentence, patient, verb.object_case, OBJECT[verb.object_case], no=patient_no))
        if clause.manner and manner_is_late:
            found.append(self._manner(sentence, clause, clause.manner))
        if clause.goal is not None and not isinstance(clause.goal, Asked):
            marker = self._to(clause.goal, verb)
            case = DATIVE if marker in ("zu", "nach") else ACCUSATIVE
            found.append(self._phrase(sentence, clause.goal, case, "obl", marker))
        return found

    def _manner(self, sentence: Sentence, clause: Clause, manner: str) -> int:
        """Append how it is done; with some verbs in another word: *vorsichtig klettern*, *sorgfältig nähen*."""
        unit = clause.unit * 8 + Part.MANNER
        rows = self.special_adverbs.get((manner, clause.predicate)) or self.adverbs[manner]
        return self.pick(sentence, rows, unit).add_to(sentence, unit)

    def _not(self, sentence: Sentence, unit: int) -> int:
        return sentence.add("nicht", "nicht", "PART", "advmod", unit + Part.NEGATION)

    def _person(self, agent: Phrase | None, gap: Thing | None) -> int:
        """Which finite form: 0 ich, 1 du, 2 er, 3 wir, 4 ihr, 5 sie."""
        if agent is None:
            return 5 if gap is not None and gap.plural else 2
        person = agent.person - 1 if isinstance(agent, Pronoun) else 2
        return person + 3 if self.is_plural(agent) else person

    # --- choosing words ---

    def _verb(self, clause: Clause, gap: Thing | None) -> list[forms.Verb]:
        """The verb of an action and its synonym."""
        roles = in_gap(clause.agent, clause.patient, gap)
        return self.special_verbs.find(clause.predicate, roles, self._is_among) or self.verbs[clause.predicate]

    def _adjective(self, concept: str, of: Phrase | None) -> list[forms.Adjective]:
        """The adjective for a property and its synonym."""
        special = self.special_adjectives.get(concept)
        if special is not None and self._is_among(of, special[0]):
            return special[1]
        return self.adjectives[concept]

    def _is_among(self, phrase: Phrase | None, concepts: frozenset[str]) -> bool:
        if isinstance(phrase, Both):
            return self._is_among(phrase.first, concepts) and self._is_among(phrase.second, concepts)
        if isinstance(phrase, Pronoun):
            return self._is_among(phrase.of, concepts) if phrase.of is not None else "person" in concepts
        if isinstance(phrase, Asked):
            return phrase.word == "who" and "person" in concepts
        if isinstance(phrase, Name):
            return "person" in concepts and self.world.names[phrase.name].kind == "PER"
        return isinstance(phrase, Thing) and phrase.concept in concepts

    def _at(self, place: Phrase, who: Phrase | None) -> str:
        """The preposition of the place where somebody is or does something."""
        if isinstance(place, Thing):
            noun = self.nouns[place.concept][0]
            return noun.at_for_animals if self._is_among(who, self.animals) else noun.at
        return "in" if isinstance(place, Name) and self.world.names[place.name].kind == "LOC" else "bei"

    def _to(self, goal: Phrase, verb: forms.Verb) -> str:
        """The preposition of a goal."""
        if isinstance(goal, Thing):
            return verb.to or self.nouns[goal.concept][0].to
        return "nach" if isinstance(goal, Name) and self.world.names[goal.name].kind == "LOC" else "zu"

    # --- noun phrases ---

    def _phrase(
        self, sentence: Sentence, phrase: Phrase, case: int, relation: str, marker: str = "", *, no: int = 0
    ) -> int:
        """Append a noun phrase, after its preposition, and return its head; ``no`` is what *kein* expresses."""
        unit = phrase.unit * 8
        mark = sentence.add(marker, marker, "ADP", "case", unit + Part.MARKER) if marker else 0
        if isinstance(phrase, Thing):
            head = self._thing(sentence, phrase, case, marker, no)
        elif isinstance(phrase, Name):
            head = self.add_name(sentence, phrase, self.name_words(phrase))
        elif isinstance(phrase, Both):
            say = lambda one, role: self._phrase(sentence, one, case, role, no=no)  # noqa: E731
            head = self.join(sentence, phrase, "und", relation, say)
        elif isinstance(phrase, Pronoun):
            words = self._pronoun(phrase)
            head = sentence.add(words[case], words[NOMINATIVE], "PRON", relation, unit)
        else:
            word = (forms.WHAT if phrase.word == "what" else forms.WHO)[case]
            head = sentence.add(word, "was" if word == "was" else "wer", "PRON", relation, unit)
        sentence.relations[head - 1] = relation
        if mark:
            sentence.heads[mark - 1] = head
        return head

    def _pronoun(self, pronoun: Pronoun) -> tuple[str, ...]:
        """A pronoun in its three cases, with the gender of the word it stands for."""
        if pronoun.person != 3:
            return forms.PRONOUNS[pronoun.person, pronoun.plural]
        if pronoun.plural:
            gender = PLURAL
        elif isinstance(pronoun.of, Thing):
            gender = self.nouns[pronoun.of.concept][0].gender
        else:
            gender = forms.GENDERS[(self.sex(pronoun.of) if pronoun.of is not None else "") or "n"]
        return forms.THIRD[gender * 3 : gender * 3 + 3]

    def _thing(self, sentence: Sentence, thing: Thing, case: int, marker: str, no: int) -> int:
        unit = thing.unit * 8
        noun = self.pick(sentence, self.nouns[thing.concept], unit)
        column = (PLURAL if thing.plural else noun.gender) * 3 + case
        before = []
        declension = WEAK if thing.definite else MIXED
        if thing.definite:
            article = forms.THE[column]
            before.append(sentence.add(article, "der", "DET", "det", unit + Part.DETERMINER))
            # A relative clause picks one out, and then the article stays whole: in dem Haus, das ...
            contracted = forms.CONTRACTED.get((marker, article)) if marker and thing.relative is None else None
            if contracted:
                sentence.fuse(before[0] - 1, before[0], contracted)
        elif no:
            before.append(sentence.add(forms.NO[column], "kein", "DET", "det", no))
        elif not thing.plural and not noun.mass:
            before.append(sentence.add(forms.A[column], "ein", "DET", "det", unit + Part.DETERMINER))
        else:
            declension = STRONG
        if thing.count:
            number = self.number_words[thing.count]
            before.append(sentence.add(number, number, "NUM", "nummod", unit + Part.NUMBER))
        if thing.adjective:
            adjective = self.pick(sentence, self._adjective(thing.adjective, thing), unit)
            word = adjective.forms[declension * 12 + column]
            before.append(sentence.add(word, adjective.lemma, "ADJ", "amod", unit + Part.ADJECTIVE))
        form = noun.forms[declension * 6 + thing.plural * 3 + case]
        head = sentence.add(form, noun.lemma, "NOUN", "dep", unit + Part.HEAD)
        sentence.close(head, before)
        if thing.relative is not None:
            comma = self.punctuate(sentence, self.comma)
            inner = self._clause(sentence, thing.relative, "sub", thing)
            sentence.attach(comma, inner)
            sentence.attach(inner, head, "acl:relcl")
            self.punctuate(sentence, self.comma, inner)
        return head


def _is_early(clause: Clause) -> bool:
    """Whether the patient comes before the time: a name; and what is known, if *nicht* or *kein* follows it."""
    patient = clause.patient
    if isinstance(patient, (Thing, Both)):
        return clause.negative and clause.kind == "action" and not _is_new(patient)
    return isinstance(patient, Name)


def _is_new(phrase: Phrase) -> bool:
    """Whether the phrase is indefinite, and so stands late."""
    if isinstance(phrase, Both):
        return _is_new(phrase.first) and _is_new(phrase.second)
    return isinstance(phrase, Thing) and not phrase.definite


def _may_take_no(phrase: Phrase | None) -> bool:
    """Whether *kein* negates the phrase: it is indefinite and not counted."""
    if isinstance(phrase, Both):
        return _may_take_no(phrase.first) and _may_take_no(phrase.second)
    return isinstance(phrase, Thing) and not phrase.definite and not phrase.count

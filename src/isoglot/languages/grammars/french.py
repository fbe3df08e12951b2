"""French: articles and partitives, elision and contraction, clitic pronouns, agreement, est-ce que and inversion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from isoglot.languages.grammars.french_forms import BE, ELIDED, FUSED, HAVE, FrenchPhrases, Verb, is_heavy
from isoglot.languages.meaning import PLAIN, Asked, Both, Clause, Meaning, Part, Phrase, Pronoun, Thing, Wording

if TYPE_CHECKING:
    from isoglot.languages.grammars.rendering import Fixed, Position
    from isoglot.languages.sentence import Sentence

SUBJECTS = ("je", "tu", "il", "nous", "vous", "ils")
CLITICS = ("me", "te", "le", "nous", "vous", "les")
DATIVES = ("me", "te", "lui", "nous", "vous", "leur")
REFLEXIVES = ("me", "te", "se", "nous", "vous", "se")
BOUNDED = frozenset({"yesterday", "last_week", "last_year", "today", "on_sunday", "on_monday"})
"""Times that close what happened in them: then the past of an activity is the passé composé."""
FRONTED = frozenset({"often", "sometimes", "every_day"})
"""How often, where it may open a sentence; *rarement* there would call for inversion."""
AUXILIARY = {"": "present", "subjunctive": "subjunctive", "earlier": "imperfect"}
"""The tense of the auxiliary in each mood."""
EARLY = frozenset({"bien", "vite", "volontiers"})  # words that stand before the participle: *a bien chanté*
WEEKDAYS = frozenset({"on_sunday", "on_monday"})
SEA, SWIMMERS = frozenset({"sea"}), frozenset({"animal", "fish"})  # people and ships are *en mer*, fish *dans la mer*


@dataclass(slots=True)
class _Parts:
    """A clause while it is put into words."""

    sentence: Sentence
    clause: Clause
    first: str  # the time or frequency that is expressed already, before the subject or after the verb
    dependents: list[int] = field(default_factory=list)  # positions of words that hang on the predicate
    # Word, lemma, relation and unit of the pronouns before the verb
    clitics: list[tuple[str, str, str, int]] = field(default_factory=list)
    said: list[Phrase] = field(default_factory=list)  # the phrases that clitics express
    asked: int = 0  # the question word
    # In a question: a pronoun follows the verb (*le roi dort-il*), or the noun does (*où est le roi*)
    inverts: Literal["", "pronoun", "noun"] = ""


class French(FrenchPhrases):
    """The French grammar."""

    language: ClassVar[str] = "fr"
    links: ClassVar[dict[str, str]] = {
        "and": "et", "but": "mais", "because": "parce que", "when": "quand", "although": "bien que", "that": "que",
    }  # fmt: skip
    comma_before: ClassVar[frozenset[str]] = frozenset({"but", "although"})

    # --- the whole sentence ---

    def render(self, meaning: Meaning, wording: Wording = PLAIN) -> Sentence:
        """The meaning as a French sentence; elision and contraction come last, when all neighbors are known."""
        sentence = super().render(meaning, wording)
        words = sentence.words
        first = words[0]
        if first.lower() in ELIDED or first.lower() in FUSED:
            words[0] = first.lower()
        vowel = self.words.begins_with_vowel
        for place in range(len(words) - 1):
            word, after = words[place], words[place + 1]
            if word in ELIDED and vowel(after):
                words[place] = ELIDED[word]
                sentence.glue(place + 1)
            elif (
                word in FUSED
                and after in FUSED[word]
                and sentence.tags[place + 1] == "DET"
                and (after == "les" or not vowel(words[place + 2]))
            ):
                sentence.fuse(place + 1, place + 2, FUSED[word][after])
        sentence.capitalize()
        return sentence

    def punctuate(self, sentence: Sentence, mark: str, head: int = 0) -> int:
        """Append a punctuation mark; a blank stands before a question mark, and only there."""
        if mark == "?":
            return sentence.add(mark, mark, "PUNCT", "punct", -1, head)
        return super().punctuate(sentence, mark, head)

    def conjunction(self, sentence: Sentence, link: str, tag: str, relation: str, unit: int) -> int:
        """Append the conjunction of a link; *parce que* and *bien que* are two words."""
        unit = unit * 8 + Part.LINK
        if link in {"because", "although"}:
            word = self.links[link].split(" ")[0]
            head = sentence.add(word, word, "ADV", relation, unit)
            sentence.add("que", "que", "SCONJ", "fixed", unit, head)
            return head
        word = self.links[link]
        if link == "when" and sentence.meaning.register == "encyclopaedic":
            word = "lorsque"
        return sentence.add(word, word, tag, relation, unit)

    # --- clauses ---

    def clause(self, sentence: Sentence, clause: Clause, position: Position) -> int:
        """Subject, verb, objects, adverbials; time first where the wording asks for it."""
        although = sentence.meaning.link == "although" and clause is sentence.meaning.other
        return self._clause(sentence, clause, position, "subjunctive" if although else "")

    def _clause(self, sentence: Sentence, clause: Clause, position: Position, mood: str) -> int:
        """A clause; ``mood`` is empty, ``subjunctive``, or ``earlier`` for what was past already: *avait vendu*."""
        asked = sentence.meaning.question and clause is sentence.meaning.main
        unit = clause.unit * 8
        fronted = 0
        first = ""
        if sentence.wording.time_first and position == "main" and not asked:
            first = clause.time or (clause.frequency if clause.frequency in FRONTED else None) or ""
        if first:
            fronted = self._time(sentence, clause, first, unit + (Part.TIME if clause.time else Part.FREQUENCY))
            self.punctuate(sentence, ",", fronted)
        head = self._predicate(sentence, clause, asked, mood, None, first)
        if fronted:
            sentence.attach(fronted, head)
        if clause.complement is not None:
            inner, verb = clause.complement, self._verb(sentence, clause, None)
            doubted = clause.negative and verb.doubt and inner.tense != "future"
            mood = "subjunctive" if doubted else "earlier" if clause.tense == "past" else ""
            self.complement(sentence, head, inner, lambda: self._clause(sentence, inner, "sub", mood))
        return head

    def _time(self, sentence: Sentence, clause: Clause, concept: str, unit: int) -> int:
        """Append a time: a day of the week with its article if it comes back."""
        if concept in WEEKDAYS and (clause.tense == "present" or clause.frequency):
            article = sentence.add("le", "le", "DET", "det", unit)
            head = self.adverbial(sentence, concept, unit)
            sentence.attach(article, head)
            return head
        return self.adverbial(sentence, concept, unit)

    def _predicate(
        self, sentence: Sentence, clause: Clause, asked: bool, mood: str, gap: Thing | None, first: str
    ) -> int:
        """The clause without its complement; in a relative clause ``gap`` is what it says more of.

        ``first`` is the time or the frequency that stands before the subject already.
        """
        parts = _Parts(sentence, clause, first)
        verb = self._verb(sentence, clause, gap) if clause.kind == "action" else None
        if asked:
            self._question(parts, verb)
        head = self._action(parts, verb, mood, gap) if verb is not None else self._copular(parts, mood, gap)
        return sentence.close(head, parts.dependents)

    def _verb(self, sentence: Sentence, clause: Clause, gap: Thing | None) -> Verb:
        """The verb of an action: of some patients (or agents) French uses another one."""
        concept = clause.predicate
        if concept in self.words.special_verbs:
            concepts, verb = self.words.special_verbs[concept]
            role = clause.patient if self.world.verbs[concept].frame in {"tr", "give"} else clause.agent
            role = gap if role is None else role
            if self.is_among(role, concepts):
                return verb
        return self.pick(sentence, self.words.verbs[concept], clause.unit * 8)

    def _manner(self, sentence: Sentence, clause: Clause) -> Fixed | None:
        """How it is done; some verbs ask for a word of their own: *écouter attentivement*, *dire à voix basse*."""
        manner = clause.manner
        if manner is None:
            return None
        kind, found = self.world.verbs[clause.predicate].manner, self.adverbs
        rows = found.get(f"{manner}~{clause.predicate}") or found.get(f"{manner}~{kind}") or found[manner]
        if clause.frequency and len(rows[-1].words) > 1:  # souvent avec soin, not *souvent soigneusement*
            return rows[-1]
        return self.pick(sentence, rows, clause.unit * 8)

    # --- questions ---

    def _question(self, parts: _Parts, verb: Verb | None) -> None:
        """The question word and *est-ce que*; and whether the subject follows the verb, and how."""
        sentence, clause = parts.sentence, parts.clause
        agent, patient = clause.agent, clause.patient
        if isinstance(agent, Asked):
            return
        place = clause.place if clause.place is not None else clause.goal
        formal = sentence.meaning.register == "encyclopaedic" and not (
            isinstance(agent, Pronoun) and agent.person == 1 and not agent.plural
        )  # nobody says *mange-je*
        parts.inverts = "pronoun" if formal else ""
        if isinstance(place, Asked):
            marker = "de" if verb is not None and verb.to == "de" else ""
            parts.asked = self.phrase(sentence, place, "advmod", marker)
            if clause.kind == "location" and not clause.negative:  # Où est le chien ? in every register
                parts.inverts = "noun"
        elif isinstance(patient, Asked) and verb is not None:
            parts.asked = self.phrase(sentence, patient, "obl:arg" if verb.marker else "obj", verb.marker)
            if formal and patient.word == "what" and not verb.marker:
                # Que vend le boulanger ? needs a light clause; *que* allows no other inversion
                heavy = clause.negative or clause.manner or clause.frequency or is_heavy(agent)
                parts.inverts = "" if heavy and not isinstance(agent, Pronoun) else "noun"
        if parts.asked:
            parts.dependents.append(parts.asked)
        if not parts.inverts:
            unit = clause.unit * 8 + Part.QUESTION
            head = sentence.add("est", "être", "AUX", "advmod", unit)
            sentence.glue(head)
            sentence.add("-ce", "ce", "PRON", "fixed", unit, head)
            sentence.add("que", "que", "SCONJ", "fixed", unit, head)
            parts.dependents.append(head)

    # --- the verb and what stands around it ---

    def _past(self, sentence: Sentence, clause: Clause, verb: Verb, mood: str) -> str:
        """The tense of the past: ``imperfect`` or ``compound``; in the subjunctive, that or ``compound``."""
        kind = verb.past or ("activity" if self.world.verbs[clause.predicate].stative else "event")
        lasting = bool(clause.frequency) or kind == "state" or (kind == "activity" and clause.time not in BOUNDED)
        if mood == "subjunctive":
            return "subjunctive" if lasting and _is_simultaneous(sentence, clause) else "compound"
        return "imperfect" if lasting else "compound"

    def _finite(
        self, parts: _Parts, finite: str, lemma: str, relation: str, unit: int, who: tuple[int, bool, bool]
    ) -> int:
        """Subject, *ne*, clitics, the finite verb, an inverted pronoun, *pas* and *souvent*. Returns the verb."""
        sentence, clause = parts.sentence, parts.clause
        depends, inverts, base = parts.dependents, parts.inverts, clause.unit * 8
        agent = clause.agent
        pronoun = agent if isinstance(agent, Pronoun) else None
        third = who[0] in {2, 5}
        word = SUBJECTS[who[0]] if not (third and who[1]) else "elles" if who[2] else "elle"
        if pronoun and not inverts:
            depends.append(sentence.add(word, "il" if third else word, "PRON", "nsubj", pronoun.unit * 8))
        elif agent is not None and not pronoun and inverts != "noun":
            kind = clause.kind in {"class", "property"}
            mode = "generic+" if kind else "generic" if clause.tense == "present" else ""
            depends.append(self.phrase(sentence, agent, "nsubj", mode=mode))
        if clause.negative:
            depends.append(sentence.add("ne", "ne", "ADV", "advmod", base + Part.NEGATION))
        for clitic, name, role, mark in parts.clitics:
            depends.append(sentence.add(clitic, name, "PRON", role, mark))
        head = sentence.add(finite, lemma, "AUX" if relation != "root" else "VERB", relation, unit)
        if relation != "root":
            depends.append(head)
        if inverts and (pronoun or inverts == "pronoun"):
            sentence.glue(head)
            word = ("-t-" if finite[-1] in "ae" and third else "-") + word
            mark = pronoun.unit * 8 if pronoun else base + Part.QUESTION
            name = "il" if third else word[1:]
            depends.append(sentence.add(word, name, "PRON", "nsubj" if pronoun else "expl:subj", mark))
        if clause.negative:
            depends.append(sentence.add("pas", "pas", "ADV", "advmod", base + Part.NEGATION))
        if clause.frequency and parts.first != clause.frequency:
            how = self.pick(sentence, self.adverbs[clause.frequency], unit)
            if len(how.words) == 1:
                depends.append(how.add_to(sentence, base + Part.FREQUENCY))
        if clause.time == "soon":  # viendra bientôt à la maison
            self._when(parts)
        manner = self._manner(sentence, clause)
        if manner is not None and manner.words[0][0] in EARLY:
            depends.append(manner.add_to(sentence, base + Part.MANNER))
        return head

    def _action(self, parts: _Parts, verb: Verb, mood: str, gap: Thing | None) -> int:
        sentence, clause = parts.sentence, parts.clause
        unit = clause.unit * 8
        who = self.person(sentence, clause.agent or gap)
        tense: str = "subjunctive" if mood == "subjunctive" else clause.tense
        if clause.tense == "past":
            tense = self._past(sentence, clause, verb, mood)
        self._clitics(parts, verb, who[0], unit)
        if verb.predicate:
            tense = mood if tense == "compound" else tense
            self._finite(parts, getattr(BE, tense)[who[0]], "être", "cop", unit, who)
            head = sentence.add(verb.predicate[who[1] + 2 * who[2]], verb.lemma, "ADJ", "root", unit)
        elif tense == "compound":
            auxiliary = getattr(verb.auxiliary, AUXILIARY[mood])
            name = "être" if verb.auxiliary is BE else "avoir"
            self._finite(parts, auxiliary[who[0]], name, "aux:tense", unit, who)
            form = verb.forms.participle[self._participle(parts, verb, who, gap)]
            head = sentence.add(form, verb.lemma, "VERB", "root", unit)
        else:
            head = self._finite(parts, getattr(verb.forms, tense)[who[0]], verb.lemma, "root", unit, who)
        if verb.noun:
            parts.dependents.append(sentence.add(verb.noun, verb.noun, "NOUN", "obj", unit))
        self._complements(parts, verb, unit)
        return head

    def _participle(self, parts: _Parts, verb: Verb, who: tuple[int, bool, bool], gap: Thing | None) -> int:
        """Which form of the participle: it agrees with the subject after *être*, else with an object before it."""
        if verb.auxiliary is BE:
            return who[1] + 2 * who[2]
        patient = parts.clause.patient
        if not verb.marker and (isinstance(patient, Pronoun) or (gap is not None and gap.gap == "patient")):
            _, feminine, plural = self.person(parts.sentence, patient or gap)
            return feminine + 2 * plural
        return 0

    def _clitics(self, parts: _Parts, verb: Verb, person: int, unit: int) -> None:
        """The pronouns before the verb: *se*, *me le*, *le lui*, *en*."""
        clause, sentence = parts.clause, parts.sentence
        found = parts.clitics
        if verb.reflexive:
            found.append((REFLEXIVES[person], "se", "expl:comp", unit))
        patient, recipient = clause.patient, clause.recipient
        direct = indirect = -1
        if isinstance(patient, Pronoun):
            which, feminine, _ = self.person(sentence, patient)
            mark = patient.unit * 8
            if not verb.marker:
                word = "la" if which == 2 and feminine else CLITICS[which]
                found.append((word, "le" if which in {2, 5} else word, "obj", mark))
                direct = which
            elif verb.marker == "à":
                found.append((DATIVES[which], "lui" if which in {2, 5} else DATIVES[which], "iobj", mark))
            elif not self.is_among(patient):
                found.append(("en", "en", "iobj", mark))
        if isinstance(recipient, Pronoun) and direct in {-1, 2, 5}:
            indirect, _, _ = self.person(sentence, recipient)
            third = indirect in {2, 5}
            clitic = (DATIVES[indirect], "lui" if third else DATIVES[indirect], "iobj", recipient.unit * 8)
            found.insert(len(found) if third else 0, clitic)
        parts.said = [
            phrase
            for phrase in (patient, recipient)
            if isinstance(phrase, Pronoun) and any(mark == phrase.unit * 8 for *_, mark in found)
        ]

    def _complements(self, parts: _Parts, verb: Verb, unit: int) -> None:
        """All that follows the verb: manner, objects, goal, instrument, place, time."""
        sentence, clause, depends = parts.sentence, parts.clause, parts.dependents
        manner = self._manner(sentence, clause)
        if manner is not None and len(manner.words) == 1 and manner.words[0][0] not in EARLY:
            depends.append(manner.add_to(sentence, unit + Part.MANNER))
        patient = _after_verb(clause.patient, parts)
        recipient = _after_verb(clause.recipient, parts)
        goal = _after_verb(clause.goal, parts)
        place = _after_verb(clause.place, parts)
        heavy = any(is_heavy(phrase) for phrase in (patient, recipient, goal, place))
        if heavy:  # a vu hier le chien qui dort
            self._when(parts)
        if parts.inverts == "noun" and not isinstance(clause.agent, Pronoun) and clause.agent is not None:
            depends.append(self.phrase(sentence, clause.agent, "nsubj"))
        if patient is not None and not is_heavy(patient):
            self._patient(parts, verb, patient)
        if recipient is not None:
            depends.append(self.phrase(sentence, recipient, "obl:arg", "à", "ni" if clause.negative else ""))
        if goal is not None:
            depends.append(self.place(sentence, goal, "obl:arg", verb.to, to=True))
        if manner is not None and len(manner.words) > 1:
            depends.append(manner.add_to(sentence, unit + Part.MANNER))
        if clause.instrument is not None:
            using = self.words.nouns[clause.instrument.concept][0].using
            if using == "à" and not clause.instrument.definite:  # au microscope, avec un microscope
                using = "avec"
            depends.append(self.phrase(sentence, clause.instrument, "obl:mod", using))
        if place is not None:
            argument = self.world.verbs[clause.predicate].frame == "stay"
            always = "de" if verb.to == "de" else ""
            depends.append(self.place(sentence, place, "obl:arg" if argument else "obl:mod", always))
        self._close(parts)
        if patient is not None and is_heavy(patient):
            self._patient(parts, verb, patient)

    def _patient(self, parts: _Parts, verb: Verb, patient: Phrase) -> None:
        mode = "generic+" if verb.generic else "de" if parts.clause.negative and not verb.marker else ""
        if parts.clause.negative and isinstance(patient, Both):  # ne vend pas de pain ni d'œufs
            mode += " ni"
        role = "obl:arg" if verb.marker else "obj"
        parts.dependents.append(self.phrase(parts.sentence, patient, role, verb.marker, mode))

    def _close(self, parts: _Parts) -> None:
        """The frequency in several words, and the time, at the end of the clause."""
        sentence, clause = parts.sentence, parts.clause
        unit = clause.unit * 8
        if clause.frequency and parts.first != clause.frequency:
            how = self.pick(sentence, self.adverbs[clause.frequency], unit)
            if len(how.words) > 1:
                parts.dependents.append(how.add_to(sentence, unit + Part.FREQUENCY))
        self._when(parts)

    def _when(self, parts: _Parts) -> None:
        """The time, unless it is expressed already."""
        clause = parts.clause
        if clause.time and parts.first != clause.time:
            parts.dependents.append(self._time(parts.sentence, clause, clause.time, clause.unit * 8 + Part.TIME))
            parts.first = clause.time

    # --- copular and relative clauses ---

    def _copular(self, parts: _Parts, mood: str, gap: Thing | None) -> int:
        sentence, clause = parts.sentence, parts.clause
        unit = clause.unit * 8
        who = self.person(sentence, clause.agent or gap)
        tense = "subjunctive" if mood == "subjunctive" else "imperfect" if clause.tense == "past" else clause.tense
        if mood == "subjunctive" and clause.tense == "past" and not _is_simultaneous(sentence, clause):
            self._finite(parts, HAVE.subjunctive[who[0]], "avoir", "aux:tense", unit + Part.COPULA, who)
            parts.dependents.append(sentence.add("été", "être", "AUX", "cop", unit + Part.COPULA))
        else:
            self._finite(parts, getattr(BE, tense)[who[0]], "être", "cop", unit + Part.COPULA, who)
        if parts.inverts == "noun" and clause.agent is not None and not isinstance(clause.agent, Pronoun):
            parts.dependents.append(self.phrase(sentence, clause.agent, "nsubj"))
        if clause.kind == "property":
            adjective = self.adjective(sentence, clause.predicate, clause.agent or gap, unit)
            if adjective.phrase is not None:
                head = adjective.phrase.add_to(sentence, unit)
            else:
                head = sentence.add(adjective.forms[who[1] + 2 * who[2]], adjective.lemma, "ADJ", "root", unit)
        elif clause.kind == "class":
            assert clause.patient is not None  # noqa: S101 - by the definition of the kind
            head = self.phrase(sentence, clause.patient, "root")
        elif parts.asked:
            head = parts.asked
            parts.dependents.remove(head)
        else:
            assert clause.place is not None  # noqa: S101 - by the definition of the kind
            swims = self.is_among(clause.place, SEA) and self.is_among(clause.agent or gap, SWIMMERS)
            head = self.place(sentence, clause.place, "root", "dans" if swims else "")
        if clause.kind != "location" and clause.place is not None and not isinstance(clause.place, Asked):
            parts.dependents.append(self.place(sentence, clause.place, "obl:mod"))
        self._close(parts)
        return head

    def relative(self, sentence: Sentence, thing: Thing, head: int) -> None:
        """Append *qui dort*, *que le roi a vue*, *dont le roi a besoin* or *à qui la fille rend visite*."""
        clause = thing.relative
        assert clause is not None  # noqa: S101 - the caller looked
        unit = thing.unit * 8
        case = 0
        word, relation = "qui", "nsubj"
        if thing.gap == "patient":
            marker = self._verb(sentence, clause, thing).marker
            word, relation = {"de": ("dont", "iobj"), "à": ("qui", "obl:arg")}.get(marker, ("que", "obj"))
            if marker == "à":
                case = sentence.add("à", "à", "ADP", "case", unit + Part.MARKER)
        link = sentence.add(word, word, "PRON", relation, unit + Part.RELATIVE)
        if case:
            sentence.attach(case, link)
        inner = self._predicate(sentence, clause, False, "", thing, "")
        sentence.attach(link, inner)
        sentence.attach(inner, head, "acl:relcl")


def _after_verb(phrase: Phrase | None, parts: _Parts) -> Phrase | None:
    """The phrase, if it follows the verb: what is asked for and the clitics stand before it."""
    return None if isinstance(phrase, Asked) or any(phrase is said for said in parts.said) else phrase


def _is_simultaneous(sentence: Sentence, clause: Clause) -> bool:
    """Whether a past state goes with another past: *il dormait bien qu'il soit malade*."""
    return not clause.time and sentence.meaning.main.tense == "past"

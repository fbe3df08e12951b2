"""Russian phrases: cases, prepositions, agreement, numbers and the nouns they govern, pronouns, names."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Literal

from isoglot.languages.grammars import russian_forms as forms
from isoglot.languages.grammars.rendering import Grammar
from isoglot.languages.meaning import Asked, Both, Name, Part, Phrase, Pronoun, Thing

if TYPE_CHECKING:
    from isoglot.languages.grammars.russian_forms import Case, Government
    from isoglot.languages.sentence import Sentence

Where = Literal["at", "to", "from"]
Agreement = tuple[int, int]
"""The person, from 0 (я) to 5 (они), and the form of the past: masculine, feminine, neuter, plural."""

GENDERS = ("m", "f", "n", "pl")
FEW = 4  # up to this number a noun stands in the genitive singular

# nom gen dat acc ins loc
PRONOUNS: dict[str, tuple[str, ...]] = {
    "я": ("я", "меня", "мне", "меня", "мной", "мне"),
    "ты": ("ты", "тебя", "тебе", "тебя", "тобой", "тебе"),
    "мы": ("мы", "нас", "нам", "нас", "нами", "нас"),
    "вы": ("вы", "вас", "вам", "вас", "вами", "вас"),
    "он": ("он", "его", "ему", "его", "им", "нём"),
    "она": ("она", "её", "ей", "её", "ей", "ней"),
    "оно": ("оно", "его", "ему", "его", "им", "нём"),
    "они": ("они", "их", "им", "их", "ими", "них"),
    "кто": ("кто", "кого", "кому", "кого", "кем", "ком"),
    "что": ("что", "чего", "чему", "что", "чем", "чём"),
}
CASE_NUMBER = {case: number for number, case in enumerate(forms.CASES)}
PERSONS = {(1, False): "я", (2, False): "ты", (1, True): "мы", (2, True): "вы"}
THIRD = ("он", "она", "оно", "они")
WHICH = forms.decline_adjective("который")
ADJECTIVAL = ("ая", "яя", "ое", "ее", "ый", "ий", "ой")
"""Ends of nouns that may be declined like adjectives; after two, three and four they stand in the plural."""
FROM = {"в": "из", "на": "с"}
SIZES = frozenset({"big", "small"})  # adjectives of the pieces rather than of the whole: *большая луковица*


def object_relation(how: Government) -> str:
    """How an object hangs on its verb: ``obj`` in the accusative, ``iobj`` in the dative, else ``obl``."""
    preposition, case = how
    if preposition:
        return "obl"
    return {"acc": "obj", "dat": "iobj"}.get(case, "obl")


class RussianPhrases(Grammar):
    """Noun phrases, names and pronouns of Russian in each case."""

    def __init__(self) -> None:
        super().__init__()
        self.nouns = forms.read_nouns()
        self.adjectives = forms.read_adjectives()
        self.special_adjectives = {key: [row] for key, row in forms.read_special_adjectives().items()}
        self.numbers = forms.read_numbers()
        self.names = forms.read_names()

    @abstractmethod
    def relative(self, sentence: Sentence, thing: Thing, head: int) -> None:
        """Append the relative clause of a thing, between commas."""

    # --- choosing words ---

    def noun(self, sentence: Sentence, thing: Thing) -> forms.Noun:
        """The noun for a thing."""
        noun = self.pick(sentence, self.nouns[thing.concept], thing.unit * 8)
        if noun.piece is not None and (thing.count or thing.adjective in SIZES):
            return noun.piece
        return noun

    def adjective(self, concept: str, of: Phrase | None) -> list[forms.Adjective]:
        """The adjective and its synonym: *крепкий чай*, but *сильный ветер*."""
        if isinstance(of, Pronoun):
            of = of.of
        if isinstance(of, Thing) and (special := self.special_adjectives.get((concept, of.concept))):
            return special
        return self.adjectives[concept]

    def agreement(self, sentence: Sentence, subject: Phrase | None) -> Agreement:
        """What the verb agrees with; *I* and *you* are masculine here."""
        if isinstance(subject, Thing):
            noun = self.noun(sentence, subject)
            if subject.count > FEW and not subject.definite and not noun.animate:
                return 2, 2  # пять деревьев росло
            if noun.is_plural(subject.plural, subject.count > 0):
                return 5, 3
            return 2, GENDERS.index(noun.gender)
        if isinstance(subject, Name):
            return 2, GENDERS.index(self.names[subject.name].gender)
        if isinstance(subject, Both):
            return 5, 3
        if isinstance(subject, Asked):
            return 2, 2 if subject.word == "what" else 0
        if subject is None or subject.person == 3:
            number = THIRD.index(self._third(sentence, subject)) if subject is not None else 0
            return (5 if number == THIRD.index("они") else 2), number
        return (subject.person + 2, 3) if subject.plural else (subject.person - 1, 0)

    def _third(self, sentence: Sentence, pronoun: Pronoun) -> str:
        """*он*, *она*, *оно* or *они*, by the gender of the noun it stands for."""
        of = pronoun.of
        if isinstance(of, Name) and not pronoun.plural:
            return THIRD[GENDERS.index(self.names[of.name].gender)]
        if not isinstance(of, Thing):
            return "они"
        # In this sentence it may have been named by a synonym of another gender; in one before, by the usual word.
        named = sentence.meaning.main.agent
        if isinstance(named, Thing) and named.concept == of.concept:
            noun, counted = self.noun(sentence, named), named.count > 0
        else:
            noun, counted = self.nouns[of.concept][0], False
        return "они" if noun.is_plural(pronoun.plural, counted) else THIRD[GENDERS.index(noun.gender)]

    # --- phrases ---

    def phrase(self, sentence: Sentence, phrase: Phrase, case: Case, relation: str, preposition: str = "") -> int:
        """Append a phrase in a case, after its preposition, and return its head."""
        before = self._preposition(sentence, preposition, phrase.unit * 8 + Part.MARKER) if preposition else 0
        if isinstance(phrase, Thing):
            head = self._thing(sentence, phrase, case)
        elif isinstance(phrase, Name):
            head = self._name(sentence, phrase, case)
        elif isinstance(phrase, Both):
            head = self.join(sentence, phrase, "и", relation, lambda one, role: self.phrase(sentence, one, case, role))
        else:
            head = self._pronoun(sentence, phrase, case, bool(preposition))
        sentence.relations[head - 1] = relation
        if before:
            self._settle(sentence, before, head)
        return head

    def _preposition(self, sentence: Sentence, preposition: str, unit: int) -> int:
        """Append a preposition, *с помощью* as two words."""
        first, _, second = preposition.partition(" ")
        before = sentence.add(first, first, "ADP", "case", unit)
        if second:
            sentence.add(second, "помощь", "NOUN", "fixed", unit, before)
        return before

    def _settle(self, sentence: Sentence, before: int, head: int) -> None:
        """Attach a preposition, now that the word after it is known: *во дворце*."""
        sentence.heads[before - 1] = head
        preposition, word = sentence.words[before - 1], sentence.words[before]
        sentence.words[before - 1] = (
            "во" if preposition == "в" and word == "что" else forms.with_vowel(preposition, word)
        )

    def somewhere(
        self, sentence: Sentence, place: Phrase, where: str, relation: str, how: Government | None = None
    ) -> int:
        """Append a place: *в лесу*, *в лес*, *из леса*; ``how`` where the verb decides, but not with named places."""
        if isinstance(place, Name):
            at, to = self.names[place.name].at or "в", ""
        elif isinstance(place, Thing):
            noun = self.noun(sentence, place)
            at, to = noun.at or "в", noun.to
            if how is not None:
                return self.phrase(sentence, place, how[1], relation, how[0])
        else:
            at, to = "в", ""
        if where == "to":
            to = to or at
            return self.phrase(sentence, place, "dat" if to == "к" else "acc", relation, to)
        if where == "from":
            return self.phrase(sentence, place, "gen", relation, FROM[at])
        if not isinstance(place, Thing):
            return self.phrase(sentence, place, "loc", relation, at)
        before = sentence.add(at, at, "ADP", "case", place.unit * 8 + Part.MARKER)
        head = self._thing(sentence, place, "loc", place=True)
        sentence.relations[head - 1] = relation
        self._settle(sentence, before, head)
        return head

    def _thing(self, sentence: Sentence, thing: Thing, case: Case, *, place: bool = False) -> int:
        unit = thing.unit * 8
        noun = self.noun(sentence, thing)
        plural = noun.is_plural(thing.plural, thing.count > 0)
        before = []
        form, described = noun.form(case, plural), case
        if place and not plural:
            form = noun.place
        if thing.count:
            form, described, governs = self._counted(noun, thing.count, case)
            number = self.numbers[self.world.numbers[thing.count]]
            if noun.plural_only and number.together:
                word, lemma = number.together[case], number.together["nom"]
            else:
                word, lemma = number.form(case, noun.gender, noun.animate), number.lemma
            relation = "nummod:gov" if governs else "nummod"
            before.append(sentence.add(word, lemma, "NUM", relation, unit + Part.NUMBER))
        if thing.adjective:
            adjective = self.pick(sentence, self.adjective(thing.adjective, thing), unit)
            word = adjective.form(noun.gender, described, plural, noun.animate)
            before.append(sentence.add(word, adjective.lemma, "ADJ", "amod", unit + Part.ADJECTIVE))
        if noun.modifier is not None:
            word = noun.modifier.form(noun.gender, described, plural, noun.animate)
            before.append(sentence.add(word, noun.modifier.lemma, "ADJ", "amod", unit))
        head = sentence.add(form, noun.lemma, "NOUN", "dep", unit + Part.HEAD)
        sentence.close(head, before)
        if thing.relative is not None:
            self.relative(sentence, thing, head)
        return head

    def _counted(self, noun: forms.Noun, count: int, case: Case) -> tuple[str, Case, bool]:
        """The noun after a number, the case of an adjective in the plural before it, and whether the number governs."""
        if case not in ("nom", "acc"):
            return noun.counted if case == "gen" else noun.plural[case], case, False
        if count > FEW or noun.plural_only:
            return noun.counted, "gen", True
        if case == "acc" and noun.animate:
            return noun.counted, "gen", False  # двух студентов
        end = "ой" if noun.gender == "f" else "го"  # портной, портного: declined like an adjective
        adjectival = noun.lemma[-2:] in ADJECTIVAL and noun.singular["gen"].endswith(end)
        if noun.gender == "f":
            return (noun.plural["nom"] if adjectival else noun.singular["gen"]), "nom", True
        return (noun.plural["gen"] if adjectival else noun.singular["gen"]), "gen", True

    def _name(self, sentence: Sentence, name: Name, case: Case) -> int:
        kind = self.world.names[name.name].kind
        unit = name.unit * 8
        first, *others = self.names[name.name].words
        head = sentence.add(first[case], first["nom"], "PROPN", "dep", unit, entity=f"B-{kind}")
        for word in others:
            sentence.add(word[case], word["nom"], "PROPN", "flat:name", unit, head, f"I-{kind}")
        return head

    def _pronoun(self, sentence: Sentence, pronoun: Pronoun | Asked, case: Case, after: bool) -> int:
        """Append a pronoun; ``after`` a preposition those of the third person begin with *н*."""
        if isinstance(pronoun, Asked):
            lemma = "кто" if pronoun.word == "who" else "что"
        elif pronoun.person != 3:
            lemma = PERSONS[pronoun.person, pronoun.plural]
        else:
            lemma = self._third(sentence, pronoun)
        word = PRONOUNS[lemma][CASE_NUMBER[case]]
        if after and lemma in THIRD and word[0] != "н":
            word = f"н{word}"
        return sentence.add(word, lemma, "PRON", "dep", pronoun.unit * 8 + Part.HEAD)

    def which(self, sentence: Sentence, thing: Thing, how: Government, relation: str) -> int:
        """Append *который* for a thing that has a role of its own in the relative clause."""
        noun = self.noun(sentence, thing)
        plural = noun.is_plural(thing.plural, thing.count > 0)
        preposition, case = how
        unit = thing.unit * 8 + Part.RELATIVE
        before = self._preposition(sentence, preposition, unit) if preposition else 0
        key = "pl" if plural else noun.gender
        animate = noun.animate and case == "acc" and (plural or noun.gender == "m")
        word = WHICH[key, "gen" if animate else case]
        head = sentence.add(word, "который", "PRON", relation, unit)
        if before:
            self._settle(sentence, before, head)
        return head

"""French words and noun phrases: conjugation, plural and feminine, the lexicon, articles, prepositions of place."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoglot.languages.grammars.lexicon import Fixed, by_concept, from_row, parse_fixed, read_table
from isoglot.languages.grammars.rendering import Grammar, Row
from isoglot.languages.meaning import Asked, Both, Name, Part, Phrase, Pronoun, Thing

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.languages.sentence import Sentence

VOWELS = frozenset("aeiouyàâéèêëîïôûœæ")
ELIDED = {
    "le": "l'", "la": "l'", "de": "d'", "que": "qu'", "ne": "n'", "je": "j'", "me": "m'", "te": "t'", "se": "s'",
    "jusque": "jusqu'", "lorsque": "lorsqu'",
}  # fmt: skip
FUSED = {"de": {"le": "du", "les": "des"}, "à": {"le": "au", "les": "aux"}}


@dataclass(slots=True, frozen=True)
class Noun:
    """A noun in both numbers, with the prepositions it takes as a place and as an instrument."""

    lemma: str
    plural: str
    feminine: bool
    rest: Fixed | None  # words after the noun that never change: *pomme de terre*
    vowel: bool  # begins with a vowel sound: *l'homme*, but *le hibou*
    at: str
    to: str
    # The prepositions of place and of goal where the noun is indefinite, plural or described: *dans une école*
    any: tuple[str, str]
    using: str
    counted: bool  # takes *un* although the concept is a mass noun: *un médicament*
    familiar: bool  # only in conversation: *papy*


@dataclass(slots=True, frozen=True)
class Adjective:
    """An adjective: masculine, feminine, and both in the plural; or a phrase that never changes (*en bois*)."""

    lemma: str
    forms: tuple[str, str, str, str]
    liaison: str  # masculine singular before a vowel sound: *bel*, *nouvel*, *vieil*
    before: bool
    phrase: Fixed | None


@dataclass(slots=True, frozen=True)
class Conjugation:
    """The simple tenses in six persons, and the participle in masculine, feminine and both in the plural."""

    present: tuple[str, ...]
    imperfect: tuple[str, ...]
    future: tuple[str, ...]
    subjunctive: tuple[str, ...]
    participle: tuple[str, ...]


@dataclass(slots=True, frozen=True)
class Verb:
    """A verb, its government, and the tense of its past."""

    lemma: str
    forms: Conjugation
    auxiliary: Conjugation
    reflexive: bool
    predicate: tuple[str, ...]  # the forms of the adjective in *être assis*; empty for all other verbs
    marker: str  # preposition of the patient: *jouer de*
    noun: str  # a bare noun after the verb: *avoir besoin*, *rendre visite*
    to: str  # preposition of the goal or the place, whatever the noun: *nager jusqu'à*
    # ``state``: always imparfait; ``activity``: imparfait unless the time is bounded; ``event``: passé composé
    past: str
    generic: bool  # takes the definite article for a whole kind: *aimer le chocolat*
    doubt: bool  # takes the subjunctive when negated: *ne pas croire que*


# --- how words change ---


def plural_of(word: str) -> str:
    """The regular plural of a noun or adjective.

    >>> plural_of("chat"), plural_of("cheval"), plural_of("château"), plural_of("souris")
    ('chats', 'chevaux', 'châteaux', 'souris')
    """
    if word[-1] in "sxz":
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    if word.endswith(("eau", "eu")):
        return word + "x"
    return word + "s"


def feminine_of(word: str) -> str:
    """The regular feminine of an adjective.

    >>> feminine_of("grand"), feminine_of("rouge")
    ('grande', 'rouge')
    """
    return word if word.endswith("e") else word + "e"


def agreeing(masculine: str, feminine: str = "", plural: str = "") -> tuple[str, str, str, str]:
    """Masculine, feminine, masculine plural, feminine plural of an adjective or participle.

    >>> agreeing("mis"), agreeing("vieux", "vieille")
    (('mis', 'mise', 'mis', 'mises'), ('vieux', 'vieille', 'vieux', 'vieilles'))
    """
    feminine = feminine or feminine_of(masculine)
    return masculine, feminine, plural or plural_of(masculine), feminine + "s"


def _tense(stem: str, endings: str) -> tuple[str, ...]:
    return tuple(stem + ending for ending in endings.split())


def _present_er(lemma: str, doubles: bool) -> tuple[str, ...]:
    """The present of a verb in -er, whose stem may change before a silent ending."""
    stem = lemma[:-2]
    weak = stem
    if doubles:  # appeler: appelle
        stem += stem[-1]
    elif stem.endswith("y"):  # nettoyer: nettoie
        stem = stem[:-1] + "i"
    elif match := re.fullmatch(r"(.*)[eé]([bcdfghjklmnpqrstvz])", stem):  # acheter: achète
        stem = f"{match[1]}è{match[2]}"
    soft = {"g": weak + "e", "c": weak[:-1] + "ç"}.get(weak[-1], weak)
    return (stem + "e", stem + "es", stem + "e", soft + "ons", weak + "ez", stem + "ent")


def conjugate(
    lemma: str, kind: str = "", present: str = "", future: str = "", subjunctive: str = "", participle: str = ""
) -> Conjugation:
    """All forms of a verb from its infinitive and, where it is irregular, from what cannot be derived.

    >>> conjugate("manger").imperfect[2:5]
    ('mangeait', 'mangions', 'mangiez')
    >>> conjugate("acheter").future[0], conjugate("appeler", "double").present[5]
    ('achèterai', 'appellent')
    """
    stem = lemma[:-2]
    if present:
        now = tuple(present.split(","))
    elif kind == "ir":
        now = _tense(lemma[:-1], "s s t ssons ssez ssent")
    elif kind == "re":
        now = (stem + "s", stem + "s", stem, stem + "ons", stem + "ez", stem + "ent")
    elif kind == "uire":
        now = _tense(stem, "s s t sons sez sent")
    else:
        now = _present_er(lemma, kind == "double")
    if not future:
        changes = lemma.endswith("er") and now[0][:-1] != stem and "é" not in stem[-2:]
        future = now[0] + "r" if changes else lemma.removesuffix("e")
    if not participle:
        regular = {"ir": lemma[:-1], "re": stem + "u", "uire": stem + "t"}
        participle = regular.get(kind, stem + "é")
    past = "ét" if lemma == "être" else now[3][:-3]
    soft = past[:-1] + "c" if past.endswith("ç") else past[:-1] if lemma.endswith("ger") else past
    imperfect = (past + "ais", past + "ais", past + "ait", soft + "ions", soft + "iez", past + "aient")
    if subjunctive:
        wish = tuple(subjunctive.split(","))
    else:
        strong = now[5][:-3]
        wish = (strong + "e", strong + "es", strong + "e", imperfect[3], imperfect[4], strong + "ent")
    several = participle if participle.endswith("s") else participle + "s"  # eu: eus, not as a noun
    agrees = agreeing(participle, "", several)
    return Conjugation(now, imperfect, _tense(future, "ai as a ons ez ont"), wish, agrees)


BE = conjugate("être", "", "suis,es,est,sommes,êtes,sont", "ser", "sois,sois,soit,soyons,soyez,soient", "été")
HAVE = conjugate("avoir", "", "ai,as,a,avons,avez,ont", "aur", "aie,aies,ait,ayons,ayez,aient", "eu")


# --- the lexicon ---


def _usual_and_special(
    table: str, make: Callable[[dict[str, str]], Row]
) -> tuple[dict[str, list[Row]], dict[str, tuple[frozenset[str], Row]]]:
    """The usual words by concept; and words that are used with certain concepts only, with those."""
    usual: dict[str, list[Row]] = {}
    special: dict[str, tuple[frozenset[str], Row]] = {}
    for row in read_table("fr", table):
        if row["of"]:
            special[row["concept"]] = frozenset(row["of"].split(",")), make(row)
        else:
            usual.setdefault(row["concept"], []).append(make(row))
    return usual, special


class FrenchLexicon:
    """All words of French, with their forms."""

    def __init__(self) -> None:
        self.aspirated: set[str] = set()
        """Forms with an h that keeps the article whole: *le hibou*."""
        self.nouns = by_concept("fr", "nouns", self._noun)
        self.adjectives, self.special_adjectives = _usual_and_special("adjectives", self._adjective)
        """The special ones are used with certain concepts and their kinds: *une voiture neuve*."""
        self.verbs, self.special_verbs = _usual_and_special("verbs", self._verb)
        """The special ones are done to certain concepts (or by them) and their kinds: to every ``person``."""
        self.aspirated |= {row["lemma"] for row in read_table("fr", "numbers") if row["flags"] == "h"}
        self.names = {row["name"]: row for row in read_table("fr", "names")}

    def begins_with_vowel(self, word: str) -> bool:
        """Whether a word before this one is elided."""
        first = word[0].lower()
        return first in VOWELS or (first == "h" and word not in self.aspirated)

    def _noun(self, row: dict[str, str]) -> Noun:
        lemma, flags = row["lemma"].split(" ")[0], row["flags"].split(",")
        plural = row["plural"] or plural_of(lemma)
        at, _, to = (row["any"] or "dans").partition("/")
        if "h" in flags:
            self.aspirated |= {lemma, plural}
        return Noun(
            lemma=lemma,
            plural=plural,
            feminine=row["gender"] == "f",
            rest=parse_fixed(row["rest"], "amod" if ":ADJ:" in row["rest"] else "nmod") if row["rest"] else None,
            vowel=self.begins_with_vowel(lemma),
            at=row["at"] or "dans",
            to=row["to"] or "dans",
            any=(at, to or at),
            using=row["with"] or "avec",
            counted="count" in flags,
            familiar="familiar" in flags,
        )

    def _adjective(self, row: dict[str, str]) -> Adjective:
        forms = agreeing(row["lemma"], row["feminine"], row["plural"])
        if row["flags"] == "h":
            self.aspirated.update(forms)
        phrase = parse_fixed(row["phrase"], "nmod") if row["phrase"] else None
        return Adjective(row["lemma"], forms, row["liaison"] or forms[0], row["place"] == "before", phrase)

    def _verb(self, row: dict[str, str]) -> Verb:
        lemma = row["lemma"].removeprefix("se ")
        reflexive = lemma != row["lemma"]
        predicate: tuple[str, ...] = ()
        if lemma.startswith("être "):
            lemma = lemma.removeprefix("être ")
            predicate, forms = agreeing(lemma), BE
        elif lemma == "avoir":
            forms = HAVE
        else:
            forms = conjugate(lemma, row["class"], row["present"], row["future"], row["subjunctive"], row["participle"])
        flags = row["flags"].split(",")
        if "h" in flags:
            self.aspirated.update(forms.present, forms.imperfect, forms.future, forms.subjunctive, forms.participle)
        return from_row(
            Verb,
            row,
            lemma=lemma,
            forms=forms,
            auxiliary=BE if reflexive or row["aux"] == "être" else HAVE,
            reflexive=reflexive,
            predicate=predicate,
            noun=row["object"],
            generic="generic" in flags,
            doubt="doubt" in flags,
        )


# --- noun phrases ---

STRONG = ("moi", "toi", "lui", "nous", "vous", "eux")
PERSON = frozenset({"person"})
DOUBLE = {"jusqu'à": ("jusque", "à"), "jusqu'en": ("jusque", "en")}


class FrenchPhrases(Grammar):
    """How things, names and pronouns are put into words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = FrenchLexicon()

    @abstractmethod
    def relative(self, sentence: Sentence, thing: Thing, head: int) -> None:
        """Append the relative clause of a thing whose noun is at ``head``."""

    def person(self, sentence: Sentence, phrase: Phrase | None) -> tuple[int, bool, bool]:
        """The person from 0 (je) to 5 (ils), whether it is feminine, whether it is several."""
        if isinstance(phrase, Pronoun) and phrase.person != 3:
            if phrase.person == 2 and not phrase.plural and sentence.meaning.register == "encyclopaedic":
                return 4, False, False  # one person is *vous*, too
            return phrase.person - 1 + 3 * phrase.plural, False, phrase.plural
        plural = phrase is not None and self.is_plural(phrase)
        return 2 + 3 * plural, self.is_feminine(phrase), plural

    def is_feminine(self, phrase: Phrase | None) -> bool:
        """The gender of a phrase; of two, feminine only if both are."""
        if isinstance(phrase, Thing):
            return self.words.nouns[phrase.concept][0].feminine
        if isinstance(phrase, Name):
            name = self.world.names[phrase.name]
            return (name.sex or self.words.names[phrase.name]["gender"]) == "f"
        if isinstance(phrase, Both):
            return self.is_feminine(phrase.first) and self.is_feminine(phrase.second)
        return isinstance(phrase, Pronoun) and self.is_feminine(phrase.of)

    def is_among(self, phrase: Phrase | None, concepts: frozenset[str] = PERSON) -> bool:
        """Whether the phrase is about one of the concepts, or a kind of it; about people, if none is given."""
        if isinstance(phrase, Thing):
            return phrase.concept in concepts or self.world.nouns[phrase.concept].isa in concepts
        if isinstance(phrase, Both):
            return self.is_among(phrase.first, concepts) and self.is_among(phrase.second, concepts)
        if isinstance(phrase, Pronoun) and phrase.of is not None:
            return self.is_among(phrase.of, concepts)
        person = phrase.word == "who" if isinstance(phrase, Asked) else isinstance(phrase, Pronoun)
        return "person" in concepts and (person or (isinstance(phrase, Name) and bool(self.sex(phrase))))

    def pick(self, sentence: Sentence, rows: list[Row], unit: int) -> Row:
        """The usual word, or its synonym where the wording asks for it and the register allows it."""
        row = super().pick(sentence, rows, unit)
        formal = sentence.meaning.register == "encyclopaedic"
        return rows[0] if formal and isinstance(row, Noun) and row.familiar else row

    def name_words(self, name: Name) -> list[str]:
        """The words of a name: a few places have a French one."""
        return ((name.name in self.words.names and self.words.names[name.name]["form"]) or name.name).split(" ")

    def adjective(self, sentence: Sentence, concept: str, of: Phrase | None, unit: int) -> Adjective:
        """The adjective for a concept: of some things French uses another one."""
        if concept in self.words.special_adjectives:
            concepts, special = self.words.special_adjectives[concept]
            if self.is_among(of, concepts):
                return special
        return self.pick(sentence, self.words.adjectives[concept], unit)

    def place(self, sentence: Sentence, phrase: Phrase, relation: str, always: str = "", *, to: bool = False) -> int:
        """Append a place or a goal after its preposition; ``always`` is the one the verb asks for."""
        if isinstance(phrase, Name):
            row = self.words.names[phrase.name]
            if not always or always == "sur":
                return self.phrase(sentence, phrase, relation, row["at"], bare=row["at"] != "dans")
            bare = row["at"] == "en"
            return self.phrase(sentence, phrase, relation, "jusqu'en" if bare and always != "de" else always, bare=bare)
        marker = always
        if not marker and isinstance(phrase, Thing):
            noun = self.words.nouns[phrase.concept][0]
            plain = phrase.definite and not phrase.plural and not phrase.adjective and phrase.relative is None
            marker = noun.any[to] if not plain else noun.to if to else noun.at
        return self.phrase(sentence, phrase, relation, marker or "à", bare=marker == "en")

    def phrase(
        self, sentence: Sentence, phrase: Phrase, relation: str, marker: str = "", mode: str = "", *, bare: bool = False
    ) -> int:
        """Append a noun phrase, after its preposition, and return its head.

        ``mode`` is what becomes of an indefinite article: ``de`` after a negation; ``generic`` makes a mass definite,
        ``generic+`` a plural, too. With ``ni`` two are joined by that. ``bare``: no article at all.
        """
        unit = phrase.unit * 8
        if isinstance(phrase, Both):
            word = "ni" if mode.endswith("ni") else "et"
            say = lambda one, role: self.phrase(sentence, one, role, marker, mode)  # noqa: E731
            return self.join(sentence, phrase, word, relation, say)
        cases = [
            sentence.add(word, word, "ADP", "case", unit + Part.MARKER)
            for word in (DOUBLE.get(marker, (marker,)) if marker else ())
        ]
        if isinstance(phrase, Thing):
            head = self._thing(sentence, phrase, mode, bare, of=marker == "de")
        elif isinstance(phrase, Name):
            article = "" if bare or phrase.name not in self.words.names else self.words.names[phrase.name]["article"]
            if article:
                cases.append(sentence.add(article, "le", "DET", "det", unit + Part.DETERMINER))
            head = self.add_name(sentence, phrase, self.name_words(phrase))
        elif isinstance(phrase, Pronoun):
            which, feminine, _ = self.person(sentence, phrase)
            word = {2: "elle", 5: "elles"}.get(which, "") if feminine else ""
            head = sentence.add(word or STRONG[which], STRONG[which], "PRON", relation, unit)
        else:
            word = {"who": "qui", "where": "où"}.get(phrase.word) or ("quoi" if marker else "que")
            head = sentence.add(word, word, "ADV" if word == "où" else "PRON", relation, unit)
        sentence.relations[head - 1] = relation
        return sentence.close(head, cases)

    def _thing(self, sentence: Sentence, thing: Thing, mode: str, bare: bool, *, of: bool) -> int:
        unit = thing.unit * 8
        noun = self.pick(sentence, self.words.nouns[thing.concept], unit)
        adjective = self.adjective(sentence, thing.adjective, thing, unit) if thing.adjective else None
        form = ""
        if adjective is not None:
            form = adjective.forms[noun.feminine + 2 * thing.plural]
            if noun.vowel and not noun.feminine and not thing.plural and adjective.before:
                form = adjective.liaison
        leads = adjective is not None and adjective.before
        before = [] if bare else self._article(sentence, thing, noun, form if leads else "", mode, of)
        if thing.count:
            number = self.number_words[thing.count]
            before.append(sentence.add(number, number, "NUM", "nummod", unit + Part.NUMBER))
        if leads and adjective is not None:
            before.append(sentence.add(form, adjective.lemma, "ADJ", "amod", unit + Part.ADJECTIVE))
        head = sentence.add(noun.plural if thing.plural else noun.lemma, noun.lemma, "NOUN", "dep", unit)
        if noun.rest is not None:
            before.append(noun.rest.add_to(sentence, unit))
        if adjective is not None and not leads:
            if adjective.phrase is not None:
                before.append(adjective.phrase.add_to(sentence, unit + Part.ADJECTIVE))
            else:
                before.append(sentence.add(form, adjective.lemma, "ADJ", "amod", unit + Part.ADJECTIVE))
        sentence.close(head, before)
        if thing.relative is not None:
            self.relative(sentence, thing, head)
        return head

    def _article(self, sentence: Sentence, thing: Thing, noun: Noun, adjective: str, mode: str, of: bool) -> list[int]:
        """Append the article, written out: elision and contraction come later. ``of``: after the preposition *de*."""
        unit = thing.unit * 8 + Part.DETERMINER
        mass = self.world.nouns[thing.concept].mass and not noun.counted
        generic = mode.startswith("generic") and (mass or (thing.plural and not thing.count and "+" in mode))
        if thing.definite or generic:
            word = "les" if thing.plural else "la" if noun.feminine else "le"
            return [sentence.add(word, "le", "DET", "det", unit)]
        if thing.count or (of and (thing.plural or mass)):
            return []
        if mode.startswith("de") or (thing.plural and adjective):
            return [sentence.add("de", "un", "DET", "det", unit)]
        if thing.plural or not mass:
            word = "des" if thing.plural else "une" if noun.feminine else "un"
            return [sentence.add(word, "un", "DET", "det", unit)]
        if noun.feminine or self.words.begins_with_vowel(adjective or noun.lemma):
            head = sentence.add("de", "de", "ADP", "det", unit)
            sentence.add("la" if noun.feminine else "le", "le", "DET", "fixed", unit, head)
            return [head]
        return [sentence.add("du", "du", "DET", "det", unit)]


def is_heavy(phrase: Phrase | None) -> bool:
    """Whether a relative clause makes the phrase long."""
    if isinstance(phrase, Both):
        return is_heavy(phrase.first) or is_heavy(phrase.second)
    return isinstance(phrase, Thing) and phrase.relative is not None

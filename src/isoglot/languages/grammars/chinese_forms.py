"""The words of Chinese, read from its tables, and its noun phrases, with measure words before and localizers after."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from isoglot.languages.grammars.lexicon import by_concept, read_table
from isoglot.languages.grammars.rendering import Grammar, Row
from isoglot.languages.meaning import Both, Clause, Name, Part, Phrase, Pronoun, Thing

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.languages.concepts import World
    from isoglot.languages.sentence import Sentence

PRONOUNS = {(1, False): "我", (2, False): "你", (1, True): "我们", (2, True): "你们"}
THIRD = {"m": ("他", "他们"), "f": ("她", "她们"), "": ("它", "它们")}
ASKED = {"who": "谁", "what": "什么", "where": "哪里"}

COVERBS = frozenset({"用", "给"})  # prepositions that the treebank takes for verbs, with what they mark as their object
POINTED = frozenset({"country"})  # nouns that need a demonstrative if they are definite: 访问那个国家


@dataclass(slots=True, frozen=True)
class Noun:
    """A noun with its measure word, empty for what is not counted."""

    word: str
    measure: str
    at: str  # the localizer of a place: 里, 上, or none
    to: str  # the localizer of a goal: 去河边
    plural: str  # of definite plural persons: the suffix 们, or a word such as 人们; else empty


@dataclass(slots=True, frozen=True)
class Verb:
    """A verb, how it goes with aspect, and where its place and its patient stand."""

    word: str
    # ``act`` takes 了 when it is past; ``go`` too, but has no progressive; ``end`` has an end and nothing before it;
    # ``turn`` has an end to which it may be on its way, 正在离开; ``bare`` lasts, without 了; ``state`` lasts and is
    # negated with 不 only; ``wear`` takes 着
    kind: str
    # Before the verb after 在 (empty); after it with 在 (``在>``) or as its object (``>``); ``bare``: a goal without
    # localizer, ``far``: one with it after a single syllable only, 前往岛上, 前往沙漠
    place: str
    marker: str  # the preposition of the patient or, if there is one, the recipient, which then stands before the verb
    to: str  # the verb with its recipient after it, where 把 has brought the patient forward: 把它寄给国王
    lasts: bool  # has a progressive


@dataclass(slots=True, frozen=True)
class Adjective:
    """An adjective before a noun and as a predicate; some differ: 长长的河, 河很长."""

    attribute: str
    lemma: str
    linked: bool  # needs 的 before a noun
    measured: bool  # needs 的 but after a measure word: 一本好书, but 读好的书, since 读好 is *read to the end*
    predicate: str
    mode: str  # what the predicate takes: 很; 是…的; 了 for a change; 着 for a lasting result
    tag: str
    keeps: frozenset[str]  # concepts before whose nouns 的 is kept


def _special(table: str, make: Callable[[dict[str, str]], Row], world: World) -> dict[str, dict[str, Row]]:
    """Words that are used with certain nouns only, by concept and noun; ``@both``: with two unlike ones."""
    special: dict[str, dict[str, Row]] = {}
    for row in read_table("zh", table):
        special.setdefault(row["concept"], {}).update(dict.fromkeys(world.and_below(row["of"]), make(row)))
    return special


def _verb(row: dict[str, str]) -> Verb:
    lasts = row["kind"] in {"act", "bare", "turn"} and row["place"] != "在>"
    return Verb(row["lemma"], row["kind"], row["place"], row["marker"], row["to"], lasts)


def _adjective(row: dict[str, str], world: World) -> Adjective:
    attribute = row["attribute"]
    # 长长 is a reduplication of 长.
    lemma = attribute[0] if len(attribute) == 2 and attribute[0] == attribute[1] else attribute
    return Adjective(
        attribute=attribute,
        lemma=lemma,
        linked=row["de"] == "的",
        measured=row["de"] == "一",
        predicate=row["predicate"],
        mode=row["mode"],
        tag=row["tag"] or "ADJ",
        keeps=world.and_below(row["keep"]),
    )


class ChinesePhrases(Grammar):
    """The noun phrases of Chinese."""

    language: ClassVar[str] = "zh"

    def __init__(self) -> None:
        super().__init__()
        world = self.world
        self.nouns = by_concept("zh", "nouns", self._noun)
        self.verbs, self.verbs_of = by_concept("zh", "verbs", _verb), _special("verbs_of", _verb, world)
        adjective = partial(_adjective, world=world)
        self.adjectives = by_concept("zh", "adjectives", adjective)
        self.adjectives_of = _special("adjectives_of", adjective, world)
        # with the dot between the parts of a person's name
        self.names = {row["name"]: row["words"].replace("·", " · ").split(" ") for row in read_table("zh", "names")}

    def _noun(self, row: dict[str, str]) -> Noun:
        measure = "" if self.world.nouns[row["concept"]].mass else row["clf"]
        return Noun(row["lemma"], measure, row["at"], row["to"], row["plural"])

    @abstractmethod
    def _relative(self, sentence: Sentence, thing: Thing, clause: Clause) -> int:
        """Append a relative clause with its 的 and return its head."""

    def _phrase(
        self,
        sentence: Sentence,
        phrase: Phrase,
        relation: str,
        marker: str = "",
        localizer: str = "",
        *,
        bare: bool = False,
        some: bool = False,
    ) -> int:
        """Append a noun phrase between its preposition and its localizer, and return what is to be attached.

        ``bare``: an indefinite one without 一; ``some``: indefinite ones with 一些.
        """
        unit = phrase.unit * 8
        coverb = marker in COVERBS
        case = sentence.add(marker, marker, "VERB" if coverb else "ADP", "case", unit + Part.MARKER) if marker else 0
        if isinstance(phrase, Thing):
            head = self._thing(sentence, phrase, bare=bare, some=some)
        elif isinstance(phrase, Name):
            head = self.add_name(sentence, phrase, self.names[phrase.name])
        elif isinstance(phrase, Both):
            say = lambda one, role: self._phrase(sentence, one, role, bare=bare, some=some)  # noqa: E731
            head = self.join(sentence, phrase, "和", relation, say)
        else:
            word = self._pronoun(phrase) if isinstance(phrase, Pronoun) else ASKED[phrase.word]
            head = sentence.add(word, word, "PRON", relation, unit)
        sentence.relations[head - 1] = relation
        if localizer:
            sentence.add(localizer, localizer, "ADP", "case", unit + Part.MARKER, head)
        if coverb:
            sentence.relations[case - 1] = "advcl"
            sentence.attach(head, case, "obj")
            return case
        if case:
            sentence.heads[case - 1] = head
        return head

    def _again(self, sentence: Sentence, thing: Thing, marker: str) -> int:
        """Append a pronoun for the thing that a relative clause is about: 农民给它挤奶的母牛."""
        start = len(sentence.words)
        head = self._phrase(sentence, Pronoun(3, thing.plural, thing), "obl", marker)
        for position in range(start, len(sentence.words)):
            sentence.units[position] = thing.unit * 8 + Part.RELATIVE
        return head

    def _pronoun(self, pronoun: Pronoun) -> str:
        if pronoun.person != 3:
            return PRONOUNS[pronoun.person, pronoun.plural]
        return THIRD["m" if pronoun.of is None else self.sex(pronoun.of)][pronoun.plural]

    def add_name(self, sentence: Sentence, name: Name, words: list[str]) -> int:
        """Append a name; the parts of a person's hang on the first, those of an organization's on the last, a noun."""
        kind = self.world.names[name.name].kind
        unit = name.unit * 8
        start = len(sentence.words) + 1
        head = start if kind == "PER" else start + len(words) - 1
        for position, word in enumerate(words, start=start):
            label = f"B-{kind}" if position == start else f"I-{kind}"
            if word == "·":
                sentence.add(word, word, "PUNCT", "punct", -1, position + 1, label)
                continue
            tag = "NOUN" if position == head != start else "PROPN"
            relation = "dep" if position == head else "flat:name" if kind == "PER" else "nmod"
            sentence.add(word, word, tag, relation, unit, head, label)
        return head

    def _thing(
        self, sentence: Sentence, thing: Thing, *, bare: bool = False, some: bool = False, measure: str = ""
    ) -> int:
        """Relative clause, number with measure word, adjective, noun; a new one of its kind is counted first."""
        unit = thing.unit * 8
        noun = self.pick(sentence, self.nouns[thing.concept], unit)
        before: list[int] = []
        one = not (thing.definite or thing.plural or bare) and bool(noun.measure or measure)
        some = some and thing.plural and not (thing.definite or thing.count or bare)
        late = (one or some or (thing.count and not thing.definite)) and thing.gap == "agent"
        if thing.relative is not None and not late:
            before.append(self._relative(sentence, thing, thing.relative))
        if one or thing.count:
            number = self.number_words[thing.count] if thing.count else "一"
            many = sentence.add(
                number, number, "NUM", "nummod", unit + (Part.NUMBER if thing.count else Part.DETERMINER)
            )
            before.append(many)
            measure = measure or noun.measure
            sentence.add(measure, measure, "NOUN", "clf", unit + Part.CLASSIFIER, many)
        elif some:
            before.append(sentence.add("一些", "一些", "ADJ", "amod", unit + Part.DETERMINER))
        elif thing.concept in POINTED and thing.definite and thing.relative is None:
            before.append(self._pointed(sentence, noun.measure, thing))
        if thing.relative is not None and late:
            before.append(self._relative(sentence, thing, thing.relative))
        if thing.adjective:
            before.append(self._attribute(sentence, thing.adjective, thing, noun.word))
        several = noun.plural if thing.plural and thing.definite and not thing.count else ""
        word = several if len(several) > 1 else noun.word
        head = sentence.add(word, word, "NOUN", "dep", unit)
        if several == "们":
            sentence.add("们", "们", "PART", "case", unit, head)
        return sentence.close(head, before)

    def _pointed(self, sentence: Sentence, measure: str, thing: Thing) -> int:
        """那个, on whose measure word the demonstrative hangs; or 那些."""
        unit = thing.unit * 8
        if thing.plural:
            return sentence.add("那些", "那些", "DET", "det", unit + Part.DETERMINER)
        that = sentence.add("那", "那", "DET", "det", unit + Part.DETERMINER)
        head = sentence.add(measure, measure, "NOUN", "clf", unit + Part.CLASSIFIER)
        sentence.heads[that - 1] = head
        return head

    def _attribute(self, sentence: Sentence, concept: str, thing: Thing, noun: str) -> int:
        unit = thing.unit * 8
        special = self.adjectives_of.get(concept, {}).get(thing.concept)
        adjective = special or self.pick(sentence, self.adjectives[concept], unit)
        head = sentence.add(adjective.attribute, adjective.lemma, adjective.tag, "amod", unit + Part.ADJECTIVE)
        if adjective.mode == "着":
            sentence.add("着", "着", "AUX", "aux", unit + Part.ADJECTIVE, head)
        # 大大象 would stutter: the particle keeps the two apart.
        counted = head > 1 and (sentence.relations[head - 2] == "clf" or sentence.words[head - 2] == "一些")
        linked = adjective.linked or (adjective.measured and not counted)
        if linked or thing.concept in adjective.keeps or noun[0] == adjective.attribute:
            sentence.add("的", "的", "SCONJ", "mark:rel", -1, head)
        return head

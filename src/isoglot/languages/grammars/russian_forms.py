"""Russian words and their forms: declension, and the conjugation and government of verbs, which come in aspect pairs.

A word's class follows from its gender and the end of its lemma; what does not follow (a vowel that comes and goes,
a plural such as *братья*) stands in the tables of ``data/ru``. All forms are made once, when the tables are read.

A form of a verb is written there as ``infinitive,first person,third person,past``. What follows by rule is left out;
two persons of the present give the other four, except for the few verbs that list all six, with blanks between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, cast

from isoglot.languages.grammars.lexicon import Fixed, by_concept, parse_particle, read_table

Case = Literal["nom", "gen", "dat", "acc", "ins", "loc"]  # ``loc`` is the prepositional
Gender = Literal["m", "f", "n"]

CASES: tuple[Case, ...] = ("nom", "gen", "dat", "acc", "ins", "loc")
GENDERS: tuple[Gender, ...] = ("m", "f", "n")

VELARS = "гкх"
HUSHERS = "жшчщ"
VOWELS = "аеёиоуыэюя"

# nom gen dat acc ins loc, for m f n pl
HARD = {
    "m": ("ый", "ого", "ому", "ый", "ым", "ом"),
    "f": ("ая", "ой", "ой", "ую", "ой", "ой"),
    "n": ("ое", "ого", "ому", "ое", "ым", "ом"),
    "pl": ("ые", "ых", "ым", "ые", "ыми", "ых"),
}
SOFT = {
    "m": ("ий", "его", "ему", "ий", "им", "ем"),
    "f": ("яя", "ей", "ей", "юю", "ей", "ей"),
    "n": ("ее", "его", "ему", "ее", "им", "ем"),
    "pl": ("ие", "их", "им", "ие", "ими", "их"),
}


@dataclass(slots=True, frozen=True)
class Adjective:
    """An adjective and its forms."""

    lemma: str
    # By gender (``m f n``) or ``pl``, and case; the accusative of ``m`` and ``pl`` is the one with things
    forms: dict[tuple[str, Case], str]
    # The predicate's forms ``m f n pl`` where they are the natural ones (*болен*, *открыт*)
    short: dict[str, str] | None

    def form(self, gender: str, case: Case, plural: bool, animate: bool) -> str:
        """The form that agrees with a noun."""
        key = "pl" if plural else gender
        if animate and case == "acc" and (plural or gender == "m"):
            return self.forms[key, "gen"]
        return self.forms[key, case]


@dataclass(slots=True, frozen=True)
class Noun:
    """A noun, its forms and its prepositions."""

    lemma: str
    gender: Gender
    animate: bool
    plural_only: bool  # *деньги*, *часы*: always plural, in form and agreement; both sets of forms are the plural ones
    singular: dict[Case, str]
    plural: dict[Case, str]
    counted: str  # the genitive plural after a number: *пять человек*, though *много людей*
    at: str  # preposition of place, *в* or *на*; empty where one cannot be there
    place: str  # the singular after it: *в лесу*, *на мосту*, else the prepositional
    to: str  # preposition of the goal: *в* or *на* with the accusative, *к* with the dative
    modifier: Adjective | None  # the adjective that always stands before the noun: *полицейский участок*
    collective: bool = False  # *оружие*, *картошка*: the singular stands for several, too, unless they are counted
    # The word for one of what a collective noun names, where they are counted: *лук*, but *пять луковиц*
    piece: Noun | None = None

    def is_plural(self, several: bool, counted: bool) -> bool:
        """Whether the noun stands in the plural for several things, perhaps counted ones."""
        return self.plural_only or (several and (counted or not self.collective))

    def form(self, case: Case, plural: bool) -> str:
        """The form of a case and a number."""
        return self.plural[case] if plural else self.singular[case]


@dataclass(slots=True, frozen=True)
class Number:
    """A cardinal number from two on."""

    lemma: str
    value: int
    forms: dict[Case, str]  # of the masculine and the neuter; the accusative is the one with things
    feminine: str  # the nominative with feminine nouns: *две*
    # *двое*, *трое*, *четверо*: with nouns that are always plural, where the plain number cannot stand
    together: dict[Case, str]

    def form(self, case: Case, gender: str, animate: bool) -> str:
        """The form that agrees with a noun, as far as it agrees at all."""
        if case == "acc" and animate and self.value <= 4:  # from five on the number governs the noun
            return self.forms["gen"]
        if gender == "f" and case in ("nom", "acc"):
            return self.feminine
        return self.forms[case]


@dataclass(slots=True, frozen=True)
class ProperName:
    """A name of one or more words."""

    words: tuple[dict[Case, str], ...]  # the forms of each word; all equal where it is not declined
    gender: Gender
    at: str  # preposition of place and goal: *в Париже*, *на Аляске*


def with_vowel(preposition: str, word: str) -> str:
    """The preposition as it stands before a word: *во дворце*, *со слоном*, *ко льву*, *об окне*.

    >>> with_vowel("в", "дворце"), with_vowel("в", "доме"), with_vowel("с", "слоном"), with_vowel("к", "мне")
    ('во', 'в', 'со', 'ко')
    """
    word = word.lower()
    if preposition == "о":
        return "обо" if word.startswith("мне") else "об" if word[0] in "аиоуэ" else "о"
    if preposition not in ("в", "к", "с"):
        return preposition
    hard = word.startswith(("мне", "мной", "льв", "все")) or (preposition != "с" and word.startswith("двор"))
    if preposition != "к" and len(word) > 1 and word[1] not in VOWELS + "ь":
        hard = hard or word[0] in ("вф" if preposition == "в" else "сзшж")
    return f"{preposition}о" if hard or (preposition == "с" and word[0] == "щ") else preposition


def decline_adjective(lemma: str) -> dict[tuple[str, Case], str]:
    """All long forms of an adjective.

    >>> [decline_adjective(lemma)["n", "gen"] for lemma in ("новый", "синий", "большой", "хороший", "тихий")]
    ['нового', 'синего', 'большого', 'хорошего', 'тихого']
    """
    stem, ending = lemma[:-2], lemma[-2:]
    soft = ending == "ий" and stem[-1] not in VELARS + HUSHERS
    found: dict[tuple[str, Case], str] = {}
    for gender, endings in (SOFT if soft else HARD).items():
        for case, plain in zip(CASES, endings, strict=True):
            tail = plain
            if stem[-1] in VELARS + HUSHERS:
                tail = tail.replace("ы", "и")
            if ending == "ий" and stem[-1] in HUSHERS and tail[0] == "о":
                tail = f"е{tail[1:]}"
            found[gender, case] = stem + tail
    found["m", "nom"] = found["m", "acc"] = lemma
    return found


def _zero(stem: str) -> str:
    """The genitive plural without an ending: a vowel breaks the cluster before *к*.

    >>> [_zero(stem) for stem in ("книг", "вилк", "чашк", "копейк", "аптек", "таблетк")]
    ['книг', 'вилок', 'чашек', 'копеек', 'аптек', 'таблеток']
    """
    before = stem[-2]
    if stem[-1] != "к" or before in VOWELS:
        return stem
    if before in "йь":
        return f"{stem[:-2]}ек"
    return f"{stem[:-1]}{'е' if before in HUSHERS else 'о'}к"


def _singular(lemma: str, gender: str, stem: str, stressed: bool) -> tuple[str, ...]:
    """Genitive, dative, instrumental and prepositional of the singular, and the accusative of the first declension."""
    end = lemma[-1]
    hissing = stem[-1] in HUSHERS + "ц"
    o, e = ("о", "ё") if stressed else ("е" if hissing else "о", "е")
    if end == "а":
        y = "и" if stem[-1] in VELARS + HUSHERS else "ы"
        return (f"{stem}{y}", f"{stem}е", f"{stem}{o}й", f"{stem}е", f"{stem}у")
    if end == "я" and gender != "n":
        dative = "и" if stem[-1] == "и" else "е"
        return (f"{stem}и", f"{stem}{dative}", f"{stem}{e}й", f"{stem}{dative}", f"{stem}ю")
    if end == "я":  # семя: stem семен
        return (f"{stem}и", f"{stem}и", f"{stem}ем", f"{stem}и")
    if end == "ь" and gender == "f":  # the instrumental keeps a vowel that goes elsewhere: церковью
        whole = lemma[:-1] if stem in (lemma[:-1], lemma[:-3] + lemma[-2]) else stem
        return (f"{stem}и", f"{stem}и", f"{whole}ью", f"{stem}и")
    if end in "ьйеё" and not hissing:
        prepositional = "и" if stem[-1] == "и" else "е"
        return (f"{stem}я", f"{stem}ю", f"{stem}{e}м", f"{stem}{prepositional}")
    return (f"{stem}а", f"{stem}у", f"{stem}{o}м", f"{stem}е")


def _plural(lemma: str, gender: str, stem: str) -> str:
    """The nominative plural by rule."""
    end = lemma[-1]
    if gender == "n":
        return f"{stem}я" if end in "её" and stem[-1] not in HUSHERS + "ц" else f"{stem}а"
    soft = end in "яьй" or stem[-1] in VELARS + HUSHERS
    return f"{stem}и" if soft else f"{stem}ы"


def _genitive_plural(lemma: str, gender: str, plural: str, stressed: bool) -> str:
    """The genitive plural by rule, from the nominative plural."""
    stem, end = plural[:-1], lemma[-1]
    if plural.endswith("ья") and end not in "её":
        return f"{stem}ев"
    if end in "ао":
        return _zero(stem)
    if gender == "n":
        if stem[-1] == "ь":
            return f"{stem[:-1]}ей" if stressed else f"{stem[:-1]}ий"
        return f"{stem}й" if stem[-1] == "и" else stem if stem[-1] in HUSHERS + "ц" else f"{stem}ей"
    if end == "я":
        if stem[-1] == "ь":
            return f"{stem[:-1]}ей"
        return f"{stem}й" if stem[-1] in VOWELS else f"{stem}ь"
    if end == "й":
        return f"{stem}ёв" if stressed else f"{stem}ев"
    if end == "ь" or stem[-1] in HUSHERS:
        return f"{stem}ей"
    return f"{stem}ев" if stem[-1] == "ц" and not stressed else f"{stem}ов"


def _decline(row: dict[str, str], flags: list[str]) -> tuple[dict[Case, str], dict[Case, str]]:
    """Both numbers of a noun with a declension of its own, before the exceptions of the column ``other``."""
    lemma, gender, stressed, animate = row["lemma"], row["gender"], "stressed" in flags, "animate" in flags
    stem = row["stem"] or (lemma if lemma[-1] not in VOWELS + "ьй" else lemma[:-1])
    singular: dict[Case, str]
    if "plural" in flags:
        nominative = lemma
    else:
        genitive, dative, instrumental, prepositional, *accusative = _singular(lemma, gender, stem, stressed)
        fourth = accusative[0] if accusative else genitive if animate and gender == "m" else lemma
        forms = (lemma, genitive, dative, fourth, instrumental, prepositional)
        singular = dict(zip(CASES, forms, strict=True))
        nominative = row["plural"] or _plural(lemma, gender, stem)
    second = row["genitive"] or _genitive_plural(lemma, gender, nominative, stressed)
    root = nominative[:-1]
    tail = "я" if nominative[-1] == "я" or (nominative[-1] == "и" and root[-1] not in VELARS + HUSHERS) else "а"
    fourth = second if animate else nominative
    forms = (nominative, second, f"{root}{tail}м", fourth, f"{root}{tail}ми", f"{root}{tail}х")
    plural = dict(zip(CASES, forms, strict=True))
    return (plural if "plural" in flags else singular), plural


def noun(row: dict[str, str]) -> Noun:
    """A noun from its row.

    ``flags``: ``animate``; ``stressed`` for stress on the endings (*ключом*, *королём*, *отцов*); ``fixed`` for no
    declension; ``plural`` for plural only; ``adjective`` for the declension of one (*рабочий*); ``collective`` for a
    singular that stands for several; ``piece`` for the word for one of them, after it. ``stem`` is what the endings go
    on where that is not the lemma; ``plural`` and ``genitive`` (of the plural) are given where no rule makes them;
    ``other`` holds single exceptions: ``ins=людьми``.
    """
    flags = row["flags"].split(",")
    lemma, gender = row["lemma"], cast("Gender", row["gender"])
    animate = "animate" in flags
    if "fixed" in flags:
        singular = dict.fromkeys(CASES, lemma)
        plural = dict(singular)
    elif "adjective" in flags:
        base = _adjective(row["stem"] or lemma)
        singular = {case: base.form(gender, case, False, animate) for case in CASES}
        plural = {case: base.form(gender, case, True, animate) for case in CASES}
    else:
        singular, plural = _decline(row, flags)
    counted = plural["gen"]
    for change in filter(None, row["other"].split(",")):
        key, _, form = change.partition("=")
        if key == "counted":
            counted = form
        else:
            number, case = key.split(".")
            (plural if number == "pl" else singular)[cast("Case", case)] = form
    return Noun(
        lemma=lemma,
        gender=gender,
        animate=animate,
        plural_only="plural" in flags,
        singular=singular,
        plural=plural,
        counted=counted,
        at=row["at"],
        place=row["place"] or singular["loc"],
        to=row["to"] or row["at"],
        modifier=_adjective(row["modifier"]) if row["modifier"] else None,
        collective="collective" in flags,
    )


def _adjective(lemma: str, short: str = "") -> Adjective:
    """An adjective from its lemma and its four short forms, if it has any."""
    forms = dict(zip((*GENDERS, "pl"), short.split(","), strict=True)) if short else None
    return Adjective(lemma, decline_adjective(lemma), forms)


def read_nouns() -> dict[str, list[Noun]]:
    """All nouns by concept, the usual word first."""
    found: dict[str, list[Noun]] = {}
    for row in read_table("ru", "nouns"):
        words = found.setdefault(row["concept"], [])
        if "piece" in row["flags"].split(","):
            words[:] = [replace(word, piece=noun(row)) for word in words]
        else:
            words.append(noun(row))
    return found


def read_adjectives() -> dict[str, list[Adjective]]:
    """All adjectives by concept, the usual word first."""
    return by_concept("ru", "adjectives", lambda row: _adjective(row["lemma"], row["short"]))


def read_special_adjectives() -> dict[tuple[str, str], Adjective]:
    """Adjectives by their concept and that of the noun, where they differ from the usual ones: *крепкий кофе*."""
    return {
        (row["concept"], of): _adjective(row["lemma"], row["short"])
        for row in read_table("ru", "special_adjectives")
        for of in row["of"].split(",")
    }


def read_numbers() -> dict[str, Number]:
    """All numbers by concept."""
    found = {}
    for row in read_table("ru", "numbers"):
        forms = _number_forms(row["forms"])
        found[row["concept"]] = Number(
            lemma=forms["nom"],
            value=int(row["value"]),
            forms=forms,
            feminine=row["feminine"] or forms["nom"],
            together=_number_forms(row["together"]) if row["together"] else {},
        )
    return found


def _number_forms(cell: str) -> dict[Case, str]:
    """The forms of a number from a cell without the accusative, which is the nominative."""
    nominative, genitive, dative, instrumental, prepositional = cell.split(",")
    forms = (nominative, genitive, dative, nominative, instrumental, prepositional)
    return dict(zip(CASES, forms, strict=True))


def read_names() -> dict[str, ProperName]:
    """All names, by the name in ``world/names.tsv``; see :func:`noun` for how a word is declined."""
    return {row["name"]: _name(row) for row in read_table("ru", "names")}


def _name(row: dict[str, str]) -> ProperName:
    """A name from its row: its words, and for each how it is declined, ``m``, ``f`` or ``0`` for not at all."""
    words = []
    for word, how in zip(row["words"].split(" "), row["declined"].split(" "), strict=True):
        cells = dict.fromkeys(("stem", "plural", "genitive", "other", "at", "place", "to", "modifier"), "")
        flags = "fixed" if how == "0" else "animate" if row["person"] else ""
        words.append(noun({**cells, "lemma": word, "gender": how if how != "0" else "n", "flags": flags}).singular)
    return ProperName(tuple(words), cast("Gender", row["gender"]), row["at"])


# --- verbs ---


LABIALS = "бвмпф"
MUTATIONS = {"ст": "щ", "д": "ж", "з": "ж", "с": "ш", "т": "ч"}
"""What the last consonant of the stem becomes in the first person of verbs in -ить."""

Government = tuple[str, "Case"]  # the preposition, or nothing, and the case


@dataclass(slots=True, frozen=True)
class Forms:
    """The forms of one aspect."""

    infinitive: str
    present: tuple[str, ...]  # я, ты, он, мы, вы, они; of a perfective verb this is the future
    past: tuple[str, ...]  # masculine, feminine, neuter, plural


@dataclass(slots=True, frozen=True)
class Verb:
    """A verb in both aspects."""

    imperfective: Forms
    habitual: Forms  # what is done again and again; another verb with motion (*идти*, but *часто ходить*)
    perfective: Forms | None
    patient: Government
    goal: Government | None  # government of the goal, if it does not depend on the place: *плыть к острову*
    place: str  # ``at``; ``to`` or ``from`` for verbs whose place is a goal or an origin (*уйти с вокзала*)
    instrument: Government | None  # government of the instrument, if it does not depend on the noun
    # ``event``: not a state in Russian; ``future``: only its future is perfective; ``denied``, ``asked``: the past is
    # imperfective where it is denied or asked for
    aspect: frozenset[str]
    word: Fixed | None  # a word that belongs to the verb: *выйти замуж*


def conjugate(cell: str) -> Forms:
    """All forms of a verb from those that do not follow from its infinitive.

    >>> conjugate("любить").present
    ('люблю', 'любишь', 'любит', 'любим', 'любите', 'любят')
    >>> conjugate("печь,пеку,печёт,пёк").past
    ('пёк', 'пекла', 'пекло', 'пекли')
    >>> conjugate("прятаться,прячу,прячет").present[:3]
    ('прячусь', 'прячешься', 'прячется')
    """
    infinitive, *parts = cell.split(",")
    if " " in infinitive:  # нужен нужна нужно нужны: a predicate that is no verb
        short = tuple(infinitive.split(" "))
        return Forms(f"{short[1][:-1]}ый", (), short)
    parts += [""] * (3 - len(parts))
    reflexive = infinitive.endswith(("ся", "сь"))
    plain = infinitive[:-2] if reflexive else infinitive
    present = tuple(parts[0].split(" ")) if " " in parts[0] else _persons(*_two_persons(plain, parts[0], parts[1]))
    past = _past(plain, parts[2])
    if reflexive:
        present = tuple(map(_reflexive, present))
        past = tuple(map(_reflexive, past))
    return Forms(infinitive, present, past)


def _reflexive(form: str) -> str:
    return f"{form}сь" if form[-1] in VOWELS else f"{form}ся"


def _two_persons(infinitive: str, first: str, third: str) -> tuple[str, str]:
    """The first and the third person of the singular, by rule where they are not given."""
    if infinitive.endswith(("овать", "евать")):
        stem = infinitive[:-5]
        return first or f"{stem}ую", third or f"{stem}ует"
    stem = infinitive[:-3]
    if infinitive.endswith("ить"):
        return first or _first_in_it(stem), third or f"{stem}ит"
    if infinitive.endswith("нуть"):
        return first or f"{stem}у", third or f"{stem}ет"
    return first or f"{infinitive[:-2]}ю", third or f"{infinitive[:-2]}ет"


def _first_in_it(stem: str) -> str:
    """The first person of a verb in -ить.

    >>> [_first_in_it(stem) for stem in ("лов", "прос", "чист", "стро", "реш", "накорм")]
    ['ловлю', 'прошу', 'чищу', 'строю', 'решу', 'накормлю']
    """
    if stem[-1] in LABIALS:
        stem += "л"
    for end, changed in MUTATIONS.items():
        if stem.endswith(end):
            stem = stem[: -len(end)] + changed
            break
    return f"{stem}у" if stem[-1] in HUSHERS else f"{stem}ю"


def _persons(first: str, third: str) -> tuple[str, ...]:
    stem = third[:-1]
    they = f"{third[:-2]}{'ат' if third[-3] in HUSHERS else 'ят'}" if third.endswith("ит") else f"{first}т"
    return (first, f"{stem}шь", third, f"{stem}м", f"{stem}те", they)


def _past(infinitive: str, given: str) -> tuple[str, ...]:
    """The four forms of the past; the stress leaves *ё* in all but the masculine."""
    masculine = given or f"{infinitive[:-2]}л"
    if masculine.endswith(("шёл", "шел", "чёл")):
        stem = masculine[:-2]
    else:
        stem = masculine.removesuffix("л").replace("ё", "е") if given else masculine[:-1]
    return (masculine, f"{stem}ла", f"{stem}ло", f"{stem}ли")


def read_verb(row: dict[str, str]) -> Verb:
    """A verb from its row."""
    imperfective = conjugate(row["imperfective"])
    perfective = imperfective if row["perfective"] == "=" else None
    return Verb(
        imperfective=imperfective,
        habitual=conjugate(row["habitual"]) if row["habitual"] else imperfective,
        perfective=perfective or (conjugate(row["perfective"]) if row["perfective"] else None),
        patient=government(row["patient"] or "acc"),
        goal=government(row["goal"]) if row["goal"] else None,
        place=row["place"] or "at",
        instrument=government(row["instrument"]) if row["instrument"] else None,
        aspect=frozenset(row["aspect"].split(",")) if row["aspect"] else frozenset(),
        word=parse_particle(row["word"]),
    )


def government(cell: str) -> Government:
    """A case, perhaps after a preposition.

    >>> government("на loc"), government("dat"), government("с помощью gen")
    (('на', 'loc'), ('', 'dat'), ('с помощью', 'gen'))
    """
    preposition, _, case = cell.rpartition(" ")
    return preposition, cast("Case", case)


# What goes with single verbs and instruments.

INSTRUMENTS = {
    concept: government(how)
    for how, concepts in {
        "в loc": ("pot", "oven"),
        "на loc": ("pan", "computer", "printer"),
        "по dat": ("telephone", "radio"),
        "в acc": ("telescope", "microscope"),
        "на acc": ("camera",),
        "из gen": ("wood", "stone", "iron", "bucket"),
        "с ins": ("lamp", "weapon", "ball"),
    }.items()
    for concept in concepts
}
"""Government of instruments that are not in the plain instrumental."""
CAREFULLY = {
    predicate: f"carefully~{how}"
    for how, predicates in {
        "attend": "read watch listen_to study play_game",
        "work": "wash write learn look_for build test make clean_v cook bake repair explain teach draw paint sew work",
    }.items()
    for predicate in predicates.split(" ")
}
"""Verbs whose *carefully* is *внимательно*, attentively, or *тщательно*, thoroughly, rather than *осторожно*."""
SOME = frozenset({"eat", "drink", "cook", "buy", "sell", "find", "steal", "give", "send", "bring", "lend"})
"""Verbs whose object may be an amount of a substance; if negated, it is in the genitive: *не купил хлеба*."""
LIVING = frozenset({"feed", "milk_cow", "hunt", "kill", "catch", "train"})
"""Verbs whose object is alive: questions ask for it with *кого*, also for animals."""

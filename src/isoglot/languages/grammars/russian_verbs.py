"""The verbs of Russian: aspect pairs, their conjugation and what they govern.

A form in the tables is written ``infinitive,first person,third person,past``. What follows by rule is left out; two
persons of the present give the other four, except for the few verbs that list all six, with blanks between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from isoglot.languages.grammars.lexicon import Fixed, parse_particle

if TYPE_CHECKING:
    from isoglot.languages.grammars.russian_nominals import Case

HUSHERS = "жшчщ"
VOWELS = "аеёиоуыэюя"
LABIALS = "бвмпф"
MUTATIONS = {"ст": "щ", "д": "ж", "з": "ж", "с": "ш", "т": "ч"}
"""What the last consonant of the stem becomes in the first person of verbs in -ить."""

Government = tuple[str, "Case"]
"""The preposition, or nothing, and the case."""


@dataclass(slots=True, frozen=True)
class Forms:
    """The forms of one aspect."""

    infinitive: str
    present: tuple[str, ...]
    """я, ты, он, мы, вы, они; of a perfective verb this is the future."""
    past: tuple[str, ...]
    """Masculine, feminine, neuter, plural."""


@dataclass(slots=True, frozen=True)
class Verb:
    """A verb in both aspects."""

    imperfective: Forms
    habitual: Forms
    """What is done again and again; another verb with motion (*идти*, but *часто ходить*)."""
    perfective: Forms | None
    patient: Government
    goal: Government | None
    """How the goal is said where that does not depend on the place: *плыть к острову*."""
    place: str
    """``at``, or how what is elsewhere the place is said: ``to``, ``from`` (*уйти с вокзала*)."""
    instrument: Government | None
    """How the instrument is said where that does not depend on the instrument."""
    aspect: frozenset[str]
    """``event``: not a state in Russian; ``future``: only its future is perfective; ``denied``, ``asked``: the past is
    imperfective where it is denied or asked for."""
    word: Fixed | None
    """A word that belongs to the verb: *выйти замуж*."""


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
"""How instruments are said that are not in the plain instrumental."""
CAREFULLY = {
    predicate: f"carefully~{how}"
    for how, predicates in {
        "attend": "read watch listen_to study play_game",
        "work": "wash write learn look_for build test make clean_v cook bake repair explain teach draw paint sew work",
    }.items()
    for predicate in predicates.split(" ")
}
"""What is done *внимательно*, with the mind, or *тщательно*, with much work, rather than *осторожно*."""
SOME = frozenset({"eat", "drink", "cook", "buy", "sell", "find", "steal", "give", "send", "bring", "lend"})
"""Verbs of which some stuff is the object; denied, it stands in the genitive: *не купил хлеба*."""
LIVING = frozenset({"feed", "milk_cow", "hunt", "kill", "catch", "train"})
"""Verbs whose object is alive, so that one asks *кого*, of animals, too."""

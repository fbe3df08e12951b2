"""The forms of German words: every one is derived once, when the grammar is built, and only looked up after that.

Cases, genders and declensions are small numbers, so that a form is found by its place in a tuple.
"""

from __future__ import annotations

from dataclasses import dataclass

from isoglot.languages.grammars.lexicon import from_row

NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
MASCULINE, FEMININE, NEUTER, PLURAL = range(4)
WEAK, MIXED, STRONG = range(3)  # how an adjective is inflected: after *der*, after *ein* and *kein*, after nothing

GENDERS = {"m": MASCULINE, "f": FEMININE, "n": NEUTER}

# Each is found at gender * 3 + case.
THE = ("der", "den", "dem", "die", "die", "der", "das", "das", "dem", "die", "die", "den")
A = ("ein", "einen", "einem", "eine", "eine", "einer", "ein", "ein", "einem")
NO = ("kein", "keinen", "keinem", "keine", "keine", "keiner", "kein", "kein", "keinem", "keine", "keine", "keinen")
RELATIVES = (*THE[:11], "denen")
THIRD = ("er", "ihn", "ihm", "sie", "sie", "ihr", "es", "es", "ihm", "sie", "sie", "ihnen")
# (person, plural) and then the case; the third person is above.
PRONOUNS = {
    (1, False): ("ich", "mich", "mir"),
    (2, False): ("du", "dich", "dir"),
    (1, True): ("wir", "uns", "uns"),
    (2, True): ("ihr", "euch", "euch"),
}
WHO = ("wer", "wen", "wem")
WHAT = ("was", "was", "wem")

# ich, du, er, wir, ihr, sie: the order of all finite forms.
REFLEXIVES = {
    "": (),
    "acc": ("mich", "dich", "sich", "uns", "euch", "sich"),
    "dat": ("mir", "dir", "sich", "uns", "euch", "sich"),
}
REFLEXIVE_LEMMAS = {"mich": "ich", "mir": "ich", "dich": "du", "dir": "du", "sich": "sich", "uns": "wir", "euch": "ihr"}
BE = {
    "present": ("bin", "bist", "ist", "sind", "seid", "sind"),
    "past": ("war", "warst", "war", "waren", "wart", "waren"),
}
HAVE = ("habe", "hast", "hat", "haben", "habt", "haben")
WILL = ("werde", "wirst", "wird", "werden", "werdet", "werden")

CONTRACTED = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
    ("bei", "dem"): "beim",
}

# declension * 12 + gender * 3 + case
ENDINGS = (
    *("e", "en", "en", "e", "e", "en", "e", "e", "en", "en", "en", "en"),
    *("er", "en", "en", "e", "e", "en", "es", "es", "en", "en", "en", "en"),
    *("er", "en", "em", "e", "e", "er", "es", "es", "em", "e", "e", "en"),
)


@dataclass(slots=True, frozen=True)
class Noun:
    """A noun, its forms and its prepositions."""

    lemma: str
    gender: int
    # At declension * 6 + number * 3 + case; only nouns such as *der Reisende* look at the declension
    forms: tuple[str, ...]
    mass: bool  # has no indefinite article
    at: str  # preposition of the place, with the dative
    at_for_animals: str  # the same for animals: sailors are *auf dem Meer*, sharks *im Meer*
    to: str  # preposition of the goal, with the accusative; *zu* with the dative
    by: str  # preposition of the instrument, with the dative


@dataclass(slots=True, frozen=True)
class Verb:
    """A verb and its forms; the finite ones in the order ich, du, er, wir, ihr, sie."""

    lemma: str
    particle: str  # what stands apart at the end of a main clause: *ein* of *einladen*
    present: tuple[str, ...]
    past: tuple[str, ...]
    final_present: tuple[str, ...]  # at the end of a subordinate clause, with the particle
    final_past: tuple[str, ...]
    participle: str
    auxiliary: str  # *haben* or *sein*; empty where the spoken past is the written one
    object_case: int
    reflexive: tuple[str, ...]  # its pronoun in all persons; empty for most verbs
    to: str  # preposition of the goal, whatever the goal is: *auf* with *klettern*


@dataclass(slots=True, frozen=True)
class Adjective:
    """An adjective: the form after *sein*, and the inflected ones at declension * 12 + gender * 3 + case."""

    lemma: str
    forms: tuple[str, ...]


def noun(row: dict[str, str], mass: bool) -> Noun:
    """A noun from its row; ``class`` is ``n`` (den Bären), ``adj`` (ein Reisender), ``count`` or ``dat:form``.

    Where animals have another preposition of place, it stands second in ``at``: *auf,in*.
    """
    lemma, plural, kind = row["lemma"], row["plural"], row["class"]
    gender = GENDERS[row["gender"]]
    at, _, at_for_animals = row["at"].partition(",")
    if kind == "adj":
        stem = lemma.removesuffix("e")
        forms = tuple(
            stem + ENDINGS[declension * 12 + number * 3 + case]
            for declension in range(3)
            for number in (gender, PLURAL)
            for case in range(3)
        )
    else:
        oblique = lemma + ("n" if lemma.endswith(("e", "er", "ar")) else "en") if kind == "n" else lemma
        dative = kind.removeprefix("dat:") if kind.startswith("dat:") else oblique
        plural_dative = plural if not plural or plural.endswith(("n", "s")) else plural + "n"
        forms = (lemma, oblique, dative, plural, plural, plural_dative) * 3
    return Noun(
        lemma=lemma,
        gender=gender,
        forms=forms,
        mass=mass and kind != "count",
        at=at or "in",
        at_for_animals=at_for_animals or at or "in",
        to=row["to"] or "zu",
        by=row["with"] or "mit",
    )


def verb(row: dict[str, str]) -> Verb:
    """A verb from its row: strong and inseparable verbs say their forms there, all others follow the rules."""
    lemma, particle = row["lemma"], row["particle"]
    base = lemma.removeprefix(particle)
    stem = _stem(base)
    present = _present(base, row["present"])
    past = _past(row["past"] or f"{stem}{_link(stem)}te")
    prefix = "" if base.endswith("ieren") else "ge"
    return from_row(
        Verb,
        row,
        present=present,
        past=past,
        final_present=tuple(particle + form for form in present),
        final_past=tuple(particle + form for form in past),
        participle=row["participle"] or f"{particle}{prefix}{stem}{_link(stem)}t",
        object_case=DATIVE if row["object"] == "dat" else ACCUSATIVE,
        reflexive=REFLEXIVES[row["reflexive"]],
    )


def adjective(row: dict[str, str]) -> Adjective:
    """An adjective from its row; ``stem`` is what the endings go on where it is not the lemma: *teuer*, *teur-*."""
    stem = row["stem"] or row["lemma"]
    return Adjective(row["lemma"], tuple(stem + ending for ending in ENDINGS))


def _stem(infinitive: str) -> str:
    """What the endings go on.

    >>> _stem("machen"), _stem("füttern"), _stem("behandeln")
    ('mach', 'fütter', 'behandel')
    """
    return infinitive.removesuffix("n") if infinitive.endswith(("eln", "ern")) else infinitive.removesuffix("en")


def _link(stem: str) -> str:
    """The *e* between a stem and an ending that could not be spoken without it.

    >>> [_link(stem) for stem in ("arbeit", "öffn", "zeichn", "lern", "wohn", "mach")]
    ['e', 'e', 'e', '', '', '']
    """
    if stem[-1] in "td":
        return "e"
    hard = stem[-1] in "mn" and stem[-2] not in "aeiouäöühlrmn"
    return "e" if hard or stem.endswith("chn") else ""


def _present(infinitive: str, given: str) -> tuple[str, ...]:
    """The present; ``given`` is the third person where it changes its vowel, or the three of the singular.

    >>> _present("sehen", "sieht")
    ('sehe', 'siehst', 'sieht', 'sehen', 'seht', 'sehen')
    >>> _present("behandeln", "")
    ('behandle', 'behandelst', 'behandelt', 'behandeln', 'behandelt', 'behandeln')
    """
    stem = _stem(infinitive)
    link = _link(stem)
    first = f"{stem[:-2]}le" if infinitive.endswith("eln") else f"{stem}e"
    if "," in given:
        first, second, third = given.split(",")
    else:
        third = given or f"{stem}{link}t"
        root = third.removesuffix("t")
        second = third if root.endswith(("s", "ß", "z", "x")) else f"{root}st"
    return (first, second, third, infinitive, f"{stem}{link}t", infinitive)


def _past(third: str) -> tuple[str, ...]:
    """The simple past, weak (*-te*) or strong.

    >>> _past("machte")
    ('machte', 'machtest', 'machte', 'machten', 'machtet', 'machten')
    >>> _past("fand")
    ('fand', 'fandest', 'fand', 'fanden', 'fandet', 'fanden')
    """
    if third.endswith("e"):
        return (third, f"{third}st", third, f"{third}n", f"{third}t", f"{third}n")
    second = f"{third}est" if third.endswith(("s", "ß", "z", "t", "d")) else f"{third}st"
    plural = f"{third}et" if third.endswith(("t", "d")) else f"{third}t"
    return (third, second, third, f"{third}en", plural, f"{third}en")

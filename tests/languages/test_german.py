"""German: textbook sentences for every construction, and what must hold of all sentences."""

from __future__ import annotations

import random

import pytest

from isoglot.languages.grammars.lexicon import read_table
from isoglot.languages.meaning import Both, Clause, Name, Part, Pronoun, Thing, Wording
from isoglot.languages.random_meanings import Sampler
from tests.languages.german_said import BAKER, BREAD, CHILD, DOG, GRAMMAR, WE, YOU, I, a, action, render, say, tree


@pytest.mark.parametrize(
    ("tense", "spoken", "text"),
    [
        ("present", False, "Der Bäcker verkauft Brot."),
        ("past", False, "Der Bäcker verkaufte Brot."),
        ("past", True, "Der Bäcker hat Brot verkauft."),
        ("future", False, "Der Bäcker wird Brot verkaufen."),
    ],
)
def test_tenses_and_registers(tense, spoken, text):
    assert say(action("sell", BAKER, BREAD, tense=tense), spoken=spoken) == text


@pytest.mark.parametrize(
    ("agent", "present", "past"),
    [
        (I, "Ich wasche das Auto.", "Ich las ein Buch."),
        (YOU, "Du wäschst das Auto.", "Du lasest ein Buch."),
        (CHILD, "Das Kind wäscht das Auto.", "Das Kind las ein Buch."),
        (WE, "Wir waschen das Auto.", "Wir lasen ein Buch."),
        (Pronoun(2, plural=True), "Ihr wascht das Auto.", "Ihr last ein Buch."),
        (Both(CHILD, Name("Anna")), "Das Kind und Anna waschen das Auto.", "Das Kind und Anna lasen ein Buch."),
    ],
)
def test_the_verb_agrees(agent, present, past):
    assert say(action("wash", agent, Thing("car"), tense="present")) == present
    assert say(action("read", agent, a("book"))) == past


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (action("go", CHILD, goal=Thing("school")), "Das Kind ist zur Schule gegangen."),
        (action("follow", DOG, Thing("thief")), "Der Hund ist dem Dieb gefolgt."),
        (action("fly_v", Thing("pilot"), Thing("aeroplane")), "Der Pilot hat das Flugzeug geflogen."),
        (action("repair", Thing("mechanic"), Thing("car")), "Der Mechaniker hat das Auto repariert."),
        (action("know", I, complement=Clause("property", "ill", DOG)), "Ich wusste, dass der Hund krank war."),
    ],
)
def test_spoken_past_with_haben_or_sein(clause, text):
    assert say(clause, spoken=True) == text


def test_separable_verbs():
    invite = action("invite", Thing("king"), Thing("boy"))
    assert say(invite) == "Der König lud den Jungen ein."
    assert say(invite, spoken=True) == "Der König hat den Jungen eingeladen."
    invite.tense = "future"
    assert say(invite) == "Der König wird den Jungen einladen."
    invite.tense = "present"
    hope = action("hope", Thing("queen"), complement=invite, tense="present")
    assert say(hope) == "Die Königin hofft, dass der König den Jungen einlädt."
    assert ("ein", "compound:prt", "lädt") in tree(render(invite))


def test_reflexive_verbs():
    hide = action("hide_self", Thing("thief"), place=Thing("cellar"), time="yesterday")
    assert say(hide) == "Der Dieb versteckte sich gestern im Keller."
    assert say(hide, wording=Wording(time_first=True)) == "Gestern versteckte sich der Dieb im Keller."
    assert say(action("rest", I), spoken=True) == "Ich habe mich ausgeruht."
    assert say(action("meet_up", WE, tense="present")) == "Wir treffen uns."
    assert ("sich", "expl:pv", "versteckte") in tree(render(hide))
    assert say(action("listen_to", YOU, Thing("song"), tense="present")) == "Du hörst dir das Lied an."
    assert render(action("rest", I)).lemmas[2] == "ich"
    it = Pronoun(3, of=Thing("song"))
    assert say(action("listen_to", CHILD, it, tense="present"), question=True) == "Hört das Kind es sich an?"


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (action("eat", DOG, Thing("meat")), "Der Hund fraß das Fleisch."),
        (action("eat", CHILD, Thing("meat")), "Das Kind aß das Fleisch."),
        (action("eat", Both(CHILD, DOG), Thing("meat")), "Das Kind und der Hund aßen das Fleisch."),
        (action("ride", Thing("girl"), a("bicycle")), "Das Mädchen fuhr ein Fahrrad."),
        (action("ride", Thing("girl"), a("horse")), "Das Mädchen ritt ein Pferd."),
        (action("paint", Thing("painter"), Thing("wall")), "Der Maler strich die Mauer."),
        (action("paint", Thing("painter"), Thing("painting")), "Der Maler malte das Gemälde."),
        (action("listen_to", CHILD, Name("Anna")), "Das Kind hörte Anna zu."),
        (Clause("property", "tall", Thing("man")), "Der Mann war groß."),
        (Clause("property", "tall", Thing("tower")), "Der Turm war hoch."),
        (action("watch", CHILD, Thing("film")), "Das Kind sah sich den Film an."),
        (action("watch", CHILD, Thing("bird")), "Das Kind beobachtete den Vogel."),
        (action("leave", Thing("train")), "Der Zug fuhr ab."),
        (action("leave", Thing("guest")), "Der Gast reiste ab."),
        (action("fall", Thing("snow")), "Der Schnee fiel."),
        (action("fall", Thing("knight")), "Der Ritter stürzte."),
        (action("shine", Thing("sun")), "Die Sonne schien."),
        (action("shine", Thing("lamp")), "Die Lampe leuchtete."),
        (action("break", Thing("thief"), Thing("window")), "Der Dieb schlug das Fenster ein."),
        (action("plant", Thing("farmer"), a("wheat")), "Der Bauer säte Weizen."),
        (action("carry", Thing("father"), CHILD), "Der Vater trug das Kind."),
        (action("drive", Thing("woman"), Thing("bus")), "Die Frau fuhr den Bus."),
    ],
)
def test_one_concept_has_two_words_where_german_has(clause, text):
    assert say(clause) == text


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        (Thing("bear"), "den Bären"),
        (a("prince"), "einen Prinzen"),
        (Thing("farmer"), "den Bauern"),
        (Thing("traveller"), "den Reisenden"),
        (a("traveller"), "einen Reisenden"),
        (a("traveller", plural=True), "Reisende"),
        (Thing("house", adjective="big"), "das große Haus"),
        (a("house", adjective="big"), "ein großes Haus"),
        (a("tower", adjective="tall"), "einen hohen Turm"),
        (a("ring", adjective="expensive"), "einen teuren Ring"),
        (a("flower", adjective="red"), "eine rote Blume"),
        (a("flower", adjective="red", plural=True), "rote Blumen"),
        (Thing("flower", adjective="red", plural=True), "die roten Blumen"),
        (a("flower", adjective="red", plural=True, count=3), "drei rote Blumen"),
        (Thing("flower", adjective="red", plural=True, count=3), "die drei roten Blumen"),
        (a("wine", adjective="red"), "roten Wein"),
        (a("water", adjective="cold"), "kaltes Wasser"),
        (a("milk", adjective="cold"), "kalte Milch"),
        (a("drink"), "ein Getränk"),
        (Name("Anna Weber"), "Anna Weber"),
        (Both(Thing("king"), a("lion")), "den König und einen Löwen"),
    ],
)
def test_accusative(phrase, text):
    assert say(action("see", I, phrase)) == f"Ich sah {text}."


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        (Thing("child"), "dem Kind"),
        (Thing("child", plural=True), "den Kindern"),
        (a("child", plural=True, adjective="poor"), "armen Kindern"),
        (a("child", plural=True, count=2, adjective="poor"), "zwei armen Kindern"),
        (Thing("guest", plural=True), "den Gästen"),
        (Thing("baby", plural=True), "den Babys"),
        (Thing("woman", plural=True), "den Frauen"),
        (Thing("patient"), "dem Patienten"),
        (a("woman", adjective="old"), "einer alten Frau"),
        (Thing("prisoner", plural=True), "den Gefangenen"),
        (YOU, "dir"),
        (Pronoun(3, of=Thing("girl")), "ihm"),
        (Pronoun(3, of=Name("Anna")), "ihr"),
        (Pronoun(3, plural=True, of=Thing("girl", plural=True)), "ihnen"),
    ],
)
def test_dative_object(phrase, text):
    assert say(action("help", I, phrase)) == f"Ich half {text}."


def test_pronouns_have_the_gender_of_the_word():
    for concept, subject, object_ in (("table", "Er", "ihn"), ("lamp", "Sie", "sie"), ("house", "Es", "es")):
        pronoun = Pronoun(3, of=Thing(concept))
        assert say(Clause("property", "new", pronoun)) == f"{subject} war neu."
        assert say(action("see", I, pronoun)) == f"Ich sah {object_}."


@pytest.mark.parametrize(
    ("place", "at", "to"),
    [
        (Thing("house"), "im Haus", "ins Haus"),
        (Thing("kitchen"), "in der Küche", "in die Küche"),
        (Thing("school"), "in der Schule", "zur Schule"),
        (Thing("station"), "am Bahnhof", "zum Bahnhof"),
        (Thing("river"), "am Fluss", "zum Fluss"),
        (Thing("market"), "auf dem Markt", "auf den Markt"),
        (Thing("house", plural=True), "in den Häusern", "in die Häuser"),
        (a("house"), "in einem Haus", "in ein Haus"),
        (Thing("house", adjective="old"), "im alten Haus", "ins alte Haus"),
        (Name("Paris"), "in Paris", "nach Paris"),
    ],
)
def test_place_and_goal(place, at, to):
    assert say(Clause("location", "", DOG, place=place, tense="present")) == f"Der Hund ist {at}."
    assert say(action("go", CHILD, goal=place)) == f"Das Kind ging {to}."


def test_some_verbs_choose_the_preposition_of_the_goal():
    assert say(action("climb", Thing("cat"), goal=Thing("tower"))) == "Die Katze kletterte auf den Turm."
    assert say(action("swim", Thing("boy"), goal=Thing("island"))) == "Der Junge schwamm zur Insel."


def test_people_are_on_the_sea_and_animals_in_it():
    at_sea = Clause("location", "", Thing("sailor"), place=Thing("sea"))
    assert say(at_sea) == "Der Matrose war auf dem Meer."
    at_sea.agent = Thing("shark")
    assert say(at_sea) == "Der Hai war im Meer."
    shark = Thing("shark", relative=action("attack", None, Name("Simon"), place=Thing("sea")))
    assert say(action("see", I, shark)) == "Ich sah den Hai, der Simon im Meer angriff."


def test_contractions_are_two_words():
    sentence = render(Clause("location", "", DOG, place=Thing("garden"), tense="present"))
    assert sentence.words == ["Der", "Hund", "ist", "in", "dem", "Garten", "."]
    assert sentence.tokens() == ["Der", "Hund", "ist", "im", "Garten", "."]
    garden = Thing("garden", relative=action("love", Thing("king"), tense="present"), gap="patient")
    text = "Der Hund ist in dem Garten, den der König liebt."
    assert say(Clause("location", "", DOG, place=garden, tense="present")) == text


def test_units():
    cake = a("cake", adjective="sweet")
    sentence = render(action("sell", BAKER, cake, place=Thing("market"), negative=True), spoken=True)
    assert sentence.text == "Der Bäcker hat auf dem Markt keinen süßen Kuchen verkauft."
    clause, baker, patient, market = 8, 16, 24, 32
    assert sentence.units == [
        baker + Part.DETERMINER, baker, clause, market + Part.MARKER, market + Part.DETERMINER, market,
        clause + Part.NEGATION, patient + Part.ADJECTIVE, patient, clause, -1,
    ]  # fmt: skip
    relative = render(action("sleep", Thing("man", relative=Clause("property", "rich", None))))
    assert relative.units == [16 + Part.DETERMINER, 16, -1, 16 + Part.RELATIVE, 24, 24 + Part.COPULA, -1, 8, -1]


def test_synonyms_keep_the_gender():
    assert (
        say(action("help", Thing("doctor"), CHILD), wording=Wording(synonyms=0b110))
        == "Der Doktor unterstützte das Kind."
    )
    for concept, rows in GRAMMAR.nouns.items():
        assert len({noun.gender for noun in rows}) == 1, concept


def test_synonyms_fit_everywhere():
    """A robber is no thief, nobody waits for a plane as a *Fahrgast*, and nobody erzählt an *Erzählung*."""
    words = {noun.lemma for rows in GRAMMAR.nouns.values() for noun in rows}
    assert not words & {"Räuber", "Fahrgast", "Erzählung", "Bauwerk", "Besucher"}
    send = action("send", Thing("king"), a("gift"), recipient=Name("Anna"))
    assert say(send, wording=Wording(synonyms=0b10)) == "Der König sandte Anna ein Geschenk."


def test_every_concept_has_a_word():
    world = GRAMMAR.world
    for concept, noun in world.nouns.items():
        if noun.spoken:
            number = {} if noun.mass else {"plural": True}
            assert say(action("see", I, Thing(concept)))
            assert say(action("help", I, a(concept, **number)))
    for concept, verb in world.verbs.items():
        patient = Thing(verb.patients[0]) if verb.frame in ("tr", "give") else None
        assert say(action(concept, Thing(verb.agents[0]), patient))
    for concept in world.adjectives:
        assert say(Clause("property", concept, DOG))
    assert world.adverbs.keys() == GRAMMAR.adverbs.keys()
    assert world.numbers.keys() == GRAMMAR.number_words.keys()


@pytest.mark.parametrize("table", ["nouns", "verbs", "adjectives"])
def test_no_two_concepts_share_a_word(table):
    owner: dict[str, str] = {}
    for row in read_table("de", table):
        family = row["concept"].partition("_")[0] if table == "verbs" else row["concept"]
        if family == "elderly":
            family = "old"  # alt says both
        assert owner.setdefault(row["lemma"], family) == family, row["lemma"]


def test_what_it_is_said_of_tells_shared_words_apart():
    """Children are carried and clothes are worn, and *tragen* says both; no sentence means two things."""
    world = GRAMMAR.world
    verbs = {row["lemma"]: row["concept"] for row in read_table("de", "verbs")}
    for row in read_table("de", "special_verbs"):
        other = verbs.get(row["lemma"], row["concept"])
        if other.partition("_")[0] != row["concept"].partition("_")[0]:
            patients = GRAMMAR.world.and_below(row["patients"])
            assert patients, row["lemma"]
            assert not patients.intersection(world.verbs[other].patients), row["lemma"]
    adjectives = {row["lemma"]: row["concept"] for row in read_table("de", "adjectives")}
    for row in read_table("de", "special_adjectives"):
        other = adjectives[row["lemma"]]
        assert not GRAMMAR.world.and_below(row["of"]).intersection(world.adjectives[other].of), row["lemma"]


def test_trees_are_sound():
    choose = random.Random(1)  # noqa: S311 - nothing secret
    for topic in GRAMMAR.world.topics:
        sampler = Sampler(choose, topic, "conversational" if choose.random() < 0.5 else "encyclopaedic")
        for _ in range(100):
            sentence = GRAMMAR.render(sampler.meaning(), sampler.wording())
            text, heads = sentence.text, sentence.heads
            assert heads.count(0) == 1, text
            assert sentence.relations[heads.index(0)] == "root"
            assert "dep" not in sentence.relations
            assert not any(doubled in text for doubled in (",,", ", ,", ",."))
            arcs = [(min(i, h), max(i, h)) for i, h in enumerate(heads, start=1)]  # the root's arc comes from before
            assert not any(p < q < r < s for p, r in arcs for q, s in arcs), text
            reached = {0}
            for _ in heads:
                reached |= {i for i, head in enumerate(heads, start=1) if head in reached}
            assert len(reached) == len(heads) + 1, text

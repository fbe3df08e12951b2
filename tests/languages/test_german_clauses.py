"""German clauses: the order of words, negation, questions, and one clause in another."""

from __future__ import annotations

import pytest

from isoglot.languages.meaning import Asked, Both, Clause, Name, Pronoun, Thing, Wording
from tests.languages.german_said import BAKER, BREAD, CHILD, DOG, I, a, action, render, say, tree


def test_the_verb_is_second():
    clause = action("sell", BAKER, BREAD, place=Thing("market"), time="yesterday")
    assert say(clause) == "Der Bäcker verkaufte gestern auf dem Markt Brot."
    front = Wording(time_first=True)
    assert say(clause, wording=front) == "Gestern verkaufte der Bäcker auf dem Markt Brot."
    assert say(clause, wording=front, spoken=True) == "Gestern hat der Bäcker auf dem Markt Brot verkauft."
    clause.time, clause.frequency = None, "every_day"
    assert say(clause, wording=front) == "Jeden Tag verkaufte der Bäcker auf dem Markt Brot."


@pytest.mark.parametrize(
    ("patient", "recipient", "text"),
    [
        (Thing("book"), Thing("child"), "Die Mutter gab dem Kind das Buch."),
        (a("book"), Thing("child"), "Die Mutter gab dem Kind ein Buch."),
        (Thing("book"), a("child"), "Die Mutter gab das Buch einem Kind."),
        (Thing("book"), Pronoun(1), "Die Mutter gab mir das Buch."),
        (Pronoun(3, of=Thing("book")), Thing("child"), "Die Mutter gab es dem Kind."),
        (Pronoun(3, of=Thing("book")), Pronoun(3, of=Thing("child")), "Die Mutter gab es ihm."),
        (Thing("book"), Name("Anna"), "Die Mutter gab Anna das Buch."),
    ],
)
def test_order_of_objects(patient, recipient, text):
    assert say(action("give", Thing("mother"), patient, recipient=recipient)) == text


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (action("give", BAKER, BREAD, recipient=CHILD, time="yesterday"), "Der Bäcker gab dem Kind gestern Brot."),
        (
            action("send", Name("Anna"), a("letter"), recipient=Thing("journalist"), frequency="rarely"),
            "Anna schickte dem Journalisten selten einen Brief.",
        ),
        (
            action("give", BAKER, Thing("bread"), recipient=a("child"), time="yesterday"),
            "Der Bäcker gab gestern das Brot einem Kind.",
        ),
        (action("meet", I, CHILD, time="today"), "Ich traf heute das Kind."),
        (action("meet", I, CHILD, time="today", negative=True), "Ich traf das Kind heute nicht."),
        (
            action("give", BAKER, Thing("bread"), recipient=CHILD, time="today", negative=True),
            "Der Bäcker gab dem Kind das Brot heute nicht.",
        ),
    ],
)
def test_what_is_known_comes_before_the_time(clause, text):
    assert say(clause) == text


def test_what_a_relative_clause_follows_comes_late():
    door = Thing("door", gap="patient", relative=action("paint", Thing("worker")))
    open_ = action("open", Name("Felix"), door, manner="quickly", place=Thing("house"))
    assert say(open_) == "Felix öffnete schnell im Haus die Tür, die der Arbeiter strich."


def test_a_dative_is_oblique():
    sentence = render(action("give", Thing("mother"), Thing("book"), recipient=CHILD))
    assert ("Kind", "obl:arg", "gab") in tree(sentence)
    assert ("Buch", "obj", "gab") in tree(sentence)
    assert ("Kind", "obl:arg", "half") in tree(render(action("help", I, CHILD)))
    assert ("ihm", "obl:arg", "half") in tree(render(action("help", I, Pronoun(3, of=CHILD))))
    assert ("Wem", "obl:arg", "half") in tree(render(action("help", I, Asked("who")), question=True))
    man = Thing("man", gap="patient", relative=action("help", I))
    assert ("dem", "obl:arg", "half") in tree(render(action("sleep", man)))


def test_manner_and_instrument():
    cut = action("cut", Thing("cook"), Thing("meat"), instrument=Thing("knife"), place=Thing("kitchen"))
    assert say(cut) == "Der Koch schnitt das Fleisch in der Küche mit dem Messer."
    bake = action("bake", BAKER, a("cake"), instrument=Thing("oven"), manner="gladly", tense="present")
    assert say(bake) == "Der Bäcker backt gern im Ofen einen Kuchen."
    build = action("build", Thing("worker"), a("house"), instrument=a("wood"))
    assert say(build) == "Der Arbeiter baute aus Holz ein Haus."


def test_well_comes_after_the_object():
    sing = action("sing_song", Thing("girl"), a("song"), place=Thing("church"), manner="well")
    assert say(sing) == "Das Mädchen sang in der Kirche ein Lied gut."
    assert say(sing, spoken=True) == "Das Mädchen hat in der Kirche ein Lied gut gesungen."
    sing.patient = Thing("song")
    assert say(sing) == "Das Mädchen sang das Lied in der Kirche gut."
    assert say(action("sleep", CHILD, place=Thing("bed"), manner="well")) == "Das Kind schlief gut im Bett."


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (action("sew", Thing("tailor"), a("dress"), manner="carefully"), "Der Schneider nähte sorgfältig ein Kleid."),
        (action("read", CHILD, a("book"), manner="carefully"), "Das Kind las aufmerksam ein Buch."),
        (action("climb", Thing("cat"), goal=Thing("tower"), manner="carefully"),
         "Die Katze kletterte vorsichtig auf den Turm."),
        (action("open", CHILD, a("door"), manner="quietly"), "Das Kind öffnete leise eine Tür."),
        (action("sleep", CHILD, manner="quietly"), "Das Kind schlief ruhig."),
    ],
)  # fmt: skip
def test_the_word_for_the_manner_depends_on_the_verb(clause, text):
    assert say(clause) == text


def test_adverbial_adjectives_are_adjectives():
    for manner, tag in (("quickly", "ADJ"), ("well", "ADJ"), ("gladly", "ADV")):
        sentence = render(action("sing", CHILD, manner=manner))
        assert (sentence.tags[3], sentence.relations[3]) == (tag, "advmod")
    assert render(action("sing", CHILD, frequency="rarely")).tags[3] == "ADJ"
    assert render(action("sing", CHILD, frequency="often")).tags[3] == "ADV"


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (action("sell", BAKER, BREAD, tense="present"), "Der Bäcker verkauft kein Brot."),
        (action("sell", BAKER, a("cake")), "Der Bäcker verkaufte keinen Kuchen."),
        (action("sell", BAKER, a("cake", adjective="good", plural=True)), "Der Bäcker verkaufte keine guten Kuchen."),
        (action("sell", BAKER, a("cake", plural=True, count=3)), "Der Bäcker verkaufte nicht drei Kuchen."),
        (action("sell", BAKER, Thing("cake")), "Der Bäcker verkaufte den Kuchen nicht."),
        (action("help", BAKER, a("child")), "Der Bäcker half keinem Kind."),
        (action("give", BAKER, Thing("cake"), recipient=a("child")), "Der Bäcker gab den Kuchen keinem Kind."),
        (action("see", BAKER, Both(a("dog"), a("cat"))), "Der Bäcker sah keinen Hund und keine Katze."),
        (action("see", BAKER, Pronoun(1), time="today"), "Der Bäcker sah mich heute nicht."),
        (action("go", BAKER, goal=Name("Paris")), "Der Bäcker ging nicht nach Paris."),
        (action("sleep", BAKER), "Der Bäcker schlief nicht."),
        (action("wake_up", BAKER), "Der Bäcker wachte nicht auf."),
        (Clause("property", "rich", BAKER), "Der Bäcker war nicht reich."),
        (Clause("location", "", BAKER, place=Thing("park")), "Der Bäcker war nicht im Park."),
        (Clause("class", "", a("dog"), a("bird"), tense="present"), "Ein Hund ist kein Vogel."),
    ],
)
def test_negation(clause, text):
    clause.negative = True
    assert say(clause) == text


def test_copular_clauses():
    assert say(Clause("class", "", a("bread"), a("food"), tense="present")) == "Brot ist Nahrung."
    big = Clause("property", "big", DOG, tense="future")
    sentence = render(big)
    assert sentence.text == "Der Hund wird groß sein."
    assert tree(sentence)[2:5] == [("wird", "aux", "groß"), ("groß", "root", ""), ("sein", "cop", "groß")]
    because = render(action("run", I, goal=Name("Oslo")), link="because", other=big)
    assert because.text == "Ich lief nach Oslo, weil der Hund groß sein wird."


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (action("sell", BAKER, BREAD, tense="present"), "Verkauft der Bäcker Brot?"),
        (action("sell", Asked("who"), BREAD), "Wer hat Brot verkauft?"),
        (action("sell", BAKER, Asked("what"), time="yesterday"), "Was hat der Bäcker gestern verkauft?"),
        (action("see", BAKER, Asked("who")), "Wen hat der Bäcker gesehen?"),
        (action("help", BAKER, Asked("who")), "Wem hat der Bäcker geholfen?"),
        (action("listen_to", BAKER, Asked("what")), "Was hat sich der Bäcker angehört?"),
        (action("listen_to", BAKER, Asked("who")), "Wem hat der Bäcker zugehört?"),
        (
            action("sell", BAKER, Asked("what"), place=Thing("market"), negative=True),
            "Was hat der Bäcker auf dem Markt nicht verkauft?",
        ),
        (action("live", BAKER, place=Asked("where"), tense="present"), "Wo lebt der Bäcker?"),
        (action("go", BAKER, goal=Asked("where"), tense="future"), "Wohin wird der Bäcker gehen?"),
        (Clause("location", "", DOG, place=Asked("where"), tense="present"), "Wo ist der Hund?"),
        (Clause("property", "big", DOG), "War der Hund groß?"),
        (action("hide_self", DOG, place=Thing("barn"), tense="present"), "Versteckt sich der Hund in der Scheune?"),
    ],
)
def test_questions(clause, text):
    assert say(clause, question=True, spoken=True) == text


def test_coordination():
    bark = action("bark", DOG)
    assert say(bark, link="and", other=action("cry", CHILD)) == "Der Hund bellte und das Kind weinte."
    assert say(bark, link="but", other=action("sleep", CHILD)) == "Der Hund bellte, aber das Kind schlief."


def test_subordination():
    bark = action("bark", DOG)
    arrive = action("arrive", Thing("guest"), time="today")
    assert say(bark, link="because", other=arrive) == "Der Hund bellte, weil der Gast heute ankam."
    assert say(bark, link="although", other=arrive, spoken=True) == (
        "Der Hund hat gebellt, obwohl der Gast heute angekommen ist."
    )
    first = Wording(link_first=True, time_first=True)
    bark.time = "at_night"
    assert say(bark, link="because", other=arrive, wording=first) == (
        "Weil der Gast heute ankam, bellte der Hund in der Nacht."
    )


def test_als_is_once_and_wenn_is_all_else():
    def when(**more) -> str:
        return say(action("bark", DOG, **more), link="when", other=action("arrive", Thing("guest"), **more))

    assert when() == "Der Hund bellte, als der Gast ankam."
    assert when(frequency="often") == "Der Hund bellte oft, wenn der Gast oft ankam."
    assert when(tense="present") == "Der Hund bellt, wenn der Gast ankommt."
    assert when(tense="future") == "Der Hund wird bellen, wenn der Gast ankommt."


def test_complement():
    inner = action("sleep", Thing("baby"), tense="future")
    text = "Der Arzt hat gesagt, dass das Baby schlafen wird"
    clause = action("say", Thing("doctor"), complement=inner)
    assert say(clause, spoken=True) == f"{text}."
    assert say(clause, spoken=True, link="and", other=action("cry", CHILD)) == f"{text}, und das Kind hat geweint."


def test_relative_clauses():
    loves = action("love", None, Thing("queen"), tense="present")
    king = Thing("king", relative=loves)
    house = Thing("house", relative=action("build", Thing("carpenter")), gap="patient")
    see = action("see", king, house)
    assert say(see) == "Der König, der die Königin liebt, sah das Haus, das der Tischler baute."
    assert say(see, spoken=True) == (
        "Der König, der die Königin liebt, hat das Haus, das der Tischler gebaut hat, gesehen."
    )
    sentence = render(see)
    assert ("liebt", "acl:relcl", "König") in tree(sentence)
    assert [(w, h) for w, r, h in tree(sentence) if r == "punct"] == [
        (",", "liebt"), (",", "liebt"), (",", "baute"), (".", "sah"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (Thing("man", gap="patient", relative=action("help", I)), "Der Mann, dem ich half,"),
        (Thing("woman", gap="patient", relative=action("help", I)), "Die Frau, der ich half,"),
        (Thing("man", gap="patient", relative=action("see", I)), "Der Mann, den ich sah,"),
        (Thing("man", plural=True, gap="patient", relative=action("help", I)), "Die Männer, denen ich half,"),
        (Thing("man", plural=True, relative=action("laugh", None)), "Die Männer, die lachten,"),
        (Thing("cat", relative=action("eat", None, Thing("fish"))), "Die Katze, die den Fisch fraß,"),
        (Thing("man", relative=Clause("property", "rich", None)), "Der Mann, der reich war,"),
    ],
)
def test_relative_pronouns(thing, text):
    verb = "schliefen" if thing.plural else "schlief"
    assert say(action("sleep", thing)) == f"{text} {verb}."

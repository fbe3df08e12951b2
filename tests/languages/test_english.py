"""English: textbook sentences for every construction, a few whole trees, and what holds for all sentences."""

from __future__ import annotations

from itertools import islice

import pytest

from isoglot.languages import parallel
from isoglot.languages.grammars.english import English, article
from isoglot.languages.grammars.lexicon import read_table
from isoglot.languages.meaning import (
    PLAIN,
    Asked,
    Both,
    Clause,
    Meaning,
    Name,
    Part,
    Pronoun,
    Register,
    Thing,
    Wording,
    number_units,
)
from isoglot.languages.sentence import Sentence

ENGLISH = English()

ME, YOU, WE = Pronoun(1), Pronoun(2), Pronoun(1, plural=True)
WHO, WHAT, WHERE = Asked("who"), Asked("what"), Asked("where")


def a(concept: str, **options) -> Thing:
    return Thing(concept, definite=False, **options)


def the(concept: str, **options) -> Thing:
    return Thing(concept, **options)


def act(predicate: str, agent, patient=None, **options) -> Clause:
    return Clause("action", predicate, agent, patient, **options)


def prop(adjective: str, agent, **options) -> Clause:
    return Clause("property", adjective, agent, **options)


def located(agent, place, **options) -> Clause:
    return Clause("location", "", agent, place=place, **options)


def render(main: Clause, wording: Wording = PLAIN, *, talk: bool = False, **options) -> Sentence:
    register: Register = "conversational" if talk else "encyclopaedic"
    return ENGLISH.render(number_units(Meaning(main, register=register, **options)), wording)


def say(main: Clause, wording: Wording = PLAIN, **options) -> str:
    return render(main, wording, **options).text


def ask(main: Clause, **options) -> str:
    return say(main, question=True, **options)


def tree(sentence: Sentence) -> list[str]:
    rows = zip(sentence.words, sentence.tags, sentence.heads, sentence.relations, strict=True)
    return [f"{word} {tag} {head} {relation}" for word, tag, head, relation in rows]


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        # Frames
        (act("read", the("girl"), a("book")), "The girl read a book."),
        (act("look_for", the("dog"), the("key")), "The dog looked for the key."),
        (act("sleep", the("baby"), place=the("bed")), "The baby slept in bed."),
        (act("go", the("child"), goal=the("school")), "The child went to school."),
        (act("go", the("tourist"), goal=Name("Paris")), "The tourist went to Paris."),
        (act("climb", the("cat"), goal=the("tower")), "The cat climbed up the tower."),
        (act("wake_up", the("bear")), "The bear woke up."),
        (act("get_married", the("princess")), "The princess got married."),
        (
            act("say", the("witness"), complement=act("sleep", the("judge"))),
            "The witness said that the judge slept.",
        ),
        # Copular clauses
        (prop("rich", the("king"), tense="present"), "The king is rich."),
        (prop("ripe", the("apple", plural=True)), "The apples were ripe."),
        (prop("tired", ME, tense="present"), "I am tired."),
        (prop("old", the("house"), tense="future", negative=True), "The house will not be old."),
        (located(the("ship"), the("harbour")), "The ship was in the harbour."),
        (located(the("sailor"), the("sea"), time="now", tense="present"), "The sailor is at sea now."),
        (Clause("class", "", a("owl"), a("bird"), tense="present"), "An owl is a bird."),
        (Clause("class", "", a("tea"), a("drink"), tense="present"), "Tea is a drink."),
        (Clause("class", "", a("bread"), a("food"), tense="present"), "Bread is food."),
        # Tenses, negation
        (act("cook", Name("Anna"), a("rice"), tense="present"), "Anna cooks rice."),
        (act("cook", Name("Anna"), a("rice"), tense="present", time="now"), "Anna is cooking rice now."),
        (act("cook", Name("Anna"), a("rice"), tense="present", time="today"), "Anna is cooking rice today."),
        (act("cook", Name("Anna"), a("rice"), tense="present", time="at_night"), "Anna cooks rice at night."),
        (act("love", Name("Anna"), a("rice"), tense="present", time="now"), "Anna loves rice now."),
        (act("cook", Name("Anna"), a("rice"), tense="present", negative=True), "Anna does not cook rice."),
        (act("cook", Name("Anna"), a("rice"), negative=True), "Anna did not cook rice."),
        (act("cook", Name("Anna"), a("rice"), tense="future"), "Anna will cook rice."),
        # Noun phrases
        (act("see", the("man"), a("elephant")), "The man saw an elephant."),
        (act("see", the("man"), a("elephant", adjective="big")), "The man saw a big elephant."),
        (act("see", the("man"), a("city", adjective="ugly")), "The man saw an ugly city."),
        (act("see", the("man"), a("university")), "The man saw a university."),
        (act("see", the("man"), a("sheep", plural=True, count=3)), "The man saw three sheep."),
        (
            act("see", the("man"), the("mouse", plural=True, count=2, adjective="white")),
            "The man saw the two white mice.",
        ),
        (act("clean_v", the("boy"), a("living_room")), "The boy cleaned a living room."),
        (act("eat", the("man"), a("soup", adjective="hot")), "The man ate hot soup."),
        (act("destroy", a("fire"), the("house")), "A fire destroyed the house."),
        (act("help", Both(the("nurse"), Name("Paul")), WE, tense="present"), "The nurse and Paul help us."),
        (act("see", Pronoun(3, of=Name("Anna")), Pronoun(3, of=Name("Paul"))), "She saw him."),
        (act("see", Pronoun(3, of=the("dog")), Pronoun(3, plural=True)), "It saw them."),
        # Adverbials
        (act("read", ME, a("book"), frequency="often"), "I often read a book."),
        (act("read", ME, a("book"), frequency="every_day"), "I read a book every day."),
        (prop("hungry", the("dog"), frequency="always", tense="present"), "The dog is always hungry."),
        (prop("hungry", the("dog"), frequency="every_day"), "The dog was hungry every day."),
        (act("run", the("child"), goal=the("forest"), manner="quickly"), "The child ran quickly to the forest."),
        (act("look_for", ME, the("key"), manner="patiently"), "I looked patiently for the key."),
        (
            act("cut", the("cook"), a("bread"), manner="slowly", instrument=a("knife"), place=the("kitchen")),
            "The cook cut bread slowly with a knife in the kitchen.",
        ),
        (act("bake", the("cook"), a("bread"), instrument=a("oven")), "The cook baked bread in an oven."),
        (act("write", ME, a("letter"), instrument=a("computer")), "I wrote a letter on a computer."),
        # Places
        (act("forget", ME, the("key"), place=the("train")), "I forgot the key on the train."),
        (act("meet_up", WE, place=the("school", adjective="old")), "We met at the old school."),
        (act("meet_up", WE, place=a("school")), "We met at a school."),
        (act("meet_up", WE, place=the("restaurant")), "We met at the restaurant."),
        (act("live", WE, place=Name("Oslo")), "We lived in Oslo."),
        # Recipients
        (act("give", the("king"), the("ring"), recipient=ME), "The king gave me the ring."),
        (act("give", the("king"), a("ring"), recipient=the("queen")), "The king gave the queen a ring."),
        (act("give", the("king"), the("ring"), recipient=the("queen")), "The king gave the ring to the queen."),
        (act("give", the("king"), a("ring"), recipient=a("child")), "The king gave a ring to a child."),
        (act("bring", the("nurse"), a("water"), recipient=Name("Eva")), "The nurse brought water to Eva."),
        (act("give", the("king"), Pronoun(3, of=the("ring")), recipient=ME), "The king gave it to me."),
    ],
)
def test_statements(clause: Clause, text: str):
    assert say(clause) == text


@pytest.mark.parametrize(
    ("clause", "plain", "talk"),
    [
        (prop("tired", ME, tense="present"), "I am tired.", "I'm tired."),
        (prop("tired", ME, tense="present", negative=True), "I am not tired.", "I'm not tired."),
        (prop("tired", WE, tense="present", negative=True), "We are not tired.", "We aren't tired."),
        (located(YOU, the("park"), tense="future"), "You will be in the park.", "You'll be in the park."),
        (act("eat", ME, a("meat"), tense="future", negative=True), "I will not eat meat.", "I won't eat meat."),
        (act("eat", ME, a("meat"), tense="present"), "I eat meat.", "I'm eating meat."),
        (act("eat", ME, a("meat"), tense="present", frequency="rarely"), "I rarely eat meat.", "I rarely eat meat."),
        (act("live", ME, place=Name("Lima"), tense="present"), "I live in Lima.", "I live in Lima."),
        (act("bark", the("dog"), negative=True), "The dog did not bark.", "The dog didn't bark."),
        (act("bark", the("dog"), tense="future"), "The dog will bark.", "The dog will bark."),
    ],
)
def test_registers(clause: Clause, plain: str, talk: str):
    assert (say(clause), say(clause, talk=True)) == (plain, talk)


@pytest.mark.parametrize(
    ("clause", "plain", "talk"),
    [
        (act("eat", Name("Eva"), a("cheese")), "Did Eva eat cheese?", "Did Eva eat cheese?"),
        (
            act("eat", Name("Eva"), a("cheese"), tense="future", negative=True),
            "Will Eva not eat cheese?",
            "Won't Eva eat cheese?",
        ),
        (prop("ill", the("baby"), tense="present", negative=True), "Is the baby not sick?", "Isn't the baby sick?"),
        (act("sleep", ME, tense="present", negative=True), "Do I not sleep?", "Am I not sleeping?"),
        (act("eat", WHO, a("cheese"), tense="present"), "Who eats cheese?", "Who is eating cheese?"),
        (act("eat", WHO, a("cheese"), negative=True), "Who did not eat cheese?", "Who didn't eat cheese?"),
        (act("eat", the("dog"), WHAT), "What did the dog eat?", "What did the dog eat?"),
        (act("thank", YOU, WHO, tense="future"), "Who will you thank?", "Who will you thank?"),
        (act("listen_to", YOU, WHAT, time="yesterday"), "What did you listen to yesterday?", None),
        (act("go", the("man", plural=True), goal=WHERE, tense="present"), "Where do the men go?", None),
        (act("work", the("cook"), place=WHERE, tense="present"), "Where does the cook work?", None),
        (located(WE, WHERE), "Where were we?", "Where were we?"),
        (located(WHO, the("cave")), "Who was in the cave?", "Who was in the cave?"),
        (located(YOU, WHERE, tense="future"), "Where will you be?", "Where will you be?"),
        (prop("rich", YOU, tense="present"), "Are you rich?", "Are you rich?"),
    ],
)
def test_questions(clause: Clause, plain: str, talk: str | None):
    assert ask(clause) == plain
    if talk is not None:
        assert ask(clause, talk=True) == talk


def test_relative_clauses():
    def thief(clause: Clause, **options) -> str:
        return say(act("see", ME, the("thief", relative=clause, **options)))

    assert thief(act("steal", None, the("ring"))) == "I saw the thief who stole the ring."
    assert thief(act("sleep", None, tense="present"), plural=True) == "I saw the thieves who sleep."
    assert thief(prop("rich", None), plural=True) == "I saw the thieves who were rich."
    assert thief(act("arrest", the("policeman")), gap="patient") == "I saw the thief that the policeman arrested."
    assert thief(act("look_for", YOU), gap="patient") == "I saw the thief you looked for."
    dog = the("dog", relative=act("bark", None, frequency="every_day", tense="present"))
    assert say(act("see", dog, Name("Leo"))) == "The dog that barks every day saw Leo."


def test_the_manner_comes_before_the_verb_if_its_object_is_long():
    book = the("book", relative=act("write", ME), gap="patient")
    assert say(act("read", the("girl"), book, manner="slowly")) == "The girl slowly read the book that I wrote."
    assert say(act("read", the("girl"), the("book"), manner="slowly")) == "The girl read the book slowly."


def test_two_clauses():
    main, other = act("sing", the("bird"), tense="present"), act("shine", the("sun"), tense="present")
    first = Wording(link_first=True)
    assert say(main, link="and", other=other) == "The bird sings, and the sun shines."
    assert say(main, link="but", other=other) == "The bird sings, but the sun shines."
    assert say(main, link="because", other=other) == "The bird sings because the sun shines."
    assert say(main, link="although", other=other) == "The bird sings, although the sun shines."
    assert say(main, first, link="when", other=other) == "When the sun shines, the bird sings."
    assert say(main, link="when", other=other, talk=True) == "The bird sings when the sun shines."
    main.tense = other.tense = "future"
    assert say(main, link="when", other=other) == "The bird will sing when the sun shines."


def test_the_time_may_come_first():
    first = Wording(time_first=True)
    assert say(act("sleep", ME, time="yesterday"), first) == "Yesterday I slept."
    assert say(act("sleep", ME, time="last_week"), first) == "Last week, I slept."
    assert say(act("sleep", ME, frequency="every_day"), first) == "Every day, I slept."
    assert say(act("sleep", ME, frequency="sometimes"), first) == "Sometimes I slept."
    assert say(act("sleep", ME, frequency="rarely"), first) == "I rarely slept."
    assert say(act("sleep", ME, time="yesterday"), first, question=True) == "Did I sleep yesterday?"


def test_synonyms():
    clause = act("buy", the("child"), a("gift"))
    assert say(clause, Wording(synonyms=0xFFFF)) == "The kid purchased a present."
    assert say(act("look_for", ME, the("path")), Wording(synonyms=0xFFFF)) == "I searched for the trail."


def test_trees():
    assert tree(render(act("give", the("king"), a("ring"), recipient=Name("Anna Weber"), time="last_week"))) == [
        "The DET 2 det",
        "king NOUN 3 nsubj",
        "gave VERB 0 root",
        "Anna PROPN 3 iobj",
        "Weber PROPN 4 flat",
        "a DET 7 det",
        "ring NOUN 3 obj",
        "last ADJ 9 amod",
        "week NOUN 3 obl:unmarked",
        ". PUNCT 3 punct",
    ]
    assert tree(render(located(WE, the("living_room"), tense="future", negative=True), talk=True)) == [
        "We PRON 8 nsubj",
        "wo AUX 8 aux",
        "n't PART 8 advmod",
        "be AUX 8 cop",
        "in ADP 8 case",
        "the DET 8 det",
        "living NOUN 8 compound",
        "room NOUN 0 root",
        ". PUNCT 8 punct",
    ]
    assert tree(render(act("get_married", the("actor"), place=the("church")))) == [
        "The DET 2 det",
        "actor NOUN 3 nsubj",
        "got VERB 0 root",
        "married ADJ 3 xcomp",
        "in ADP 7 case",
        "the DET 7 det",
        "church NOUN 3 obl",
        ". PUNCT 3 punct",
    ]


def test_a_preposition_left_behind():
    thief = the("thief", relative=act("look_for", YOU), gap="patient")
    assert tree(render(act("see", ME, thief)))[2:7] == [
        "the DET 4 det",
        "thief NOUN 2 obj",
        "you PRON 6 nsubj",
        "looked VERB 4 acl:relcl",
        "for ADP 6 obl",
    ]
    asked = render(act("look_for", YOU, Asked("what")), question=True)
    assert tree(asked) == [
        "What PRON 4 obl",
        "did AUX 4 aux",
        "you PRON 4 nsubj",
        "look VERB 0 root",
        "for ADP 4 case",
        "? PUNCT 4 punct",
    ]
    assert asked.units[4] == asked.units[0] + Part.MARKER


def test_contractions_are_multiword_tokens():
    clause = act("eat", YOU, a("meat"), tense="future", negative=True)
    sentence = render(clause, talk=True, question=True)
    assert sentence.words[:3] == ["Wo", "n't", "you"]
    assert sentence.lemmas[:3] == ["will", "not", "you"]
    assert sentence.tokens() == ["Won't", "you", "eat", "meat", "?"]
    assert render(prop("tired", ME, tense="present"), talk=True).tokens() == ["I'm", "tired", "."]


def test_articles():
    assert [article(word) for word in ("house", "uncle", "unknown", "university", "TV")] == ["a", "an", "an", "a", "a"]


def test_every_place_has_a_preposition():
    verbs = ENGLISH.world.verbs.values()
    places = {p for v in verbs for p in (*v.places, *(v.patients if v.frame == "stay" else ()))}
    places |= {noun.concept for noun in ENGLISH.world.nouns.values() if noun.place}
    assert all(ENGLISH.nouns[place][0].at for place in places)


def test_what_is_counted_has_a_plural():
    for noun in ENGLISH.world.nouns.values():
        if noun.spoken and not noun.mass:
            assert all(word.plural and word.article for word in ENGLISH.nouns[noun.concept])


def test_there_are_synonyms_enough():
    for table, least in (("nouns", 40), ("verbs", 15), ("adjectives", 12), ("adverbs", 3)):
        concepts = [row["concept"] for row in read_table("en", table)]
        assert len(concepts) - len(set(concepts)) >= least


def test_many_sentences():
    for (sentence,) in islice(parallel(["en"], seed=4), 3000):
        text = sentence.text
        assert not any(wrong in text for wrong in (" a a", " a e", " an b", " an c", "  ", " n't", " '"))
        assert sentence.relations.count("root") == 1
        arcs = [tuple(sorted((i, head))) for i, head in enumerate(sentence.heads, start=1) if head]
        assert not any(a < c < b < d for a, b in arcs for c, d in arcs), text

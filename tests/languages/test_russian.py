"""Russian: every construction by a textbook sentence, every word, every tree."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from isoglot.languages.concepts import world
from isoglot.languages.grammars.lexicon import read_table
from isoglot.languages.grammars.russian import Russian
from isoglot.languages.grammars.russian_forms import conjugate
from isoglot.languages.meaning import (
    Asked,
    Both,
    Clause,
    Meaning,
    Name,
    Pronoun,
    Thing,
    Wording,
    number_units,
)
from isoglot.languages.random_meanings import Sampler
from isoglot.languages.sentence import Sentence

RUSSIAN = Russian()
SYNONYMS = Wording(synonyms=0xFFFF)


def act(predicate: str, agent, patient=None, **roles) -> Clause:
    return Clause("action", predicate, agent, patient, **roles)


def be(predicate: str, agent, **roles) -> Clause:
    return Clause("property", predicate, agent, **roles)


def at(agent, place, **roles) -> Clause:
    return Clause("location", "", agent, place=place, **roles)


def render(clause: Clause, wording: Wording | None = None, **more) -> Sentence:
    return RUSSIAN.render(number_units(Meaning(clause, **more)), wording or Wording())


def say(clause: Clause, wording: Wording | None = None, **more) -> str:
    return render(clause, wording, **more).text


def ask(clause: Clause, register="conversational") -> str:
    return say(clause, question=True, register=register)


KING, BOOK = Thing("king"), Thing("book")
CASES = [
    # tense and aspect
    (act("read", Thing("mother"), BOOK), "Мать прочитала книгу."),
    (act("read", Thing("mother"), BOOK, tense="present"), "Мать читает книгу."),
    (act("read", Thing("mother"), BOOK, tense="future"), "Мать прочитает книгу."),
    (act("read", Thing("mother"), BOOK, frequency="often"), "Мать часто читала книгу."),
    (act("love", KING, Thing("princess")), "Король любил принцессу."),
    (act("love", KING, Thing("princess"), tense="future"), "Король будет любить принцессу."),
    (act("see", KING, Thing("dragon"), negative=True), "Король не видел дракона."),
    (act("wait", Pronoun(1), place=Thing("station"), manner="patiently", tense="future"),
     "Я буду терпеливо ждать на вокзале."),
    # persons and the gender of the past
    (act("sing", Pronoun(1), tense="present"), "Я пою."),
    (act("sing", Pronoun(2), tense="present"), "Ты поёшь."),
    (act("sing", Pronoun(1, plural=True), tense="present"), "Мы поём."),
    (act("sing", Pronoun(2, plural=True)), "Вы пели."),
    (act("sing", Name("Anna")), "Анна пела."),
    (act("shine", Thing("sun")), "Солнце светило."),
    (act("run", Thing("child", plural=True), goal=Thing("school"), tense="present"), "Дети бегут в школу."),
    # motion
    (act("go", Name("Paul"), goal=Thing("school")), "Пауль пошёл в школу."),
    (act("go", Name("Paul"), goal=Thing("school"), frequency="often"), "Пауль часто ходил в школу."),
    (act("go", Name("Paul"), goal=Name("Paris")), "Пауль поехал в Париж."),
    (act("swim", Thing("fish"), goal=Thing("bridge"), tense="present"), "Рыба плывёт к мосту."),
    (act("climb", Thing("cat"), goal=Thing("tower")), "Кошка поднялась на башню."),
    (act("leave", Thing("train"), place=Thing("station")), "Поезд ушёл с вокзала."),
    (act("arrive", Thing("train"), place=Thing("station")), "Поезд прибыл на вокзал."),
    # government
    (act("help", Pronoun(1), Name("Maria"), tense="present"), "Я помогаю Марии."),
    (act("play_music", Thing("girl"), Thing("guitar"), tense="present"), "Девочка играет на гитаре."),
    (act("hunt", Thing("wolf"), Thing("rabbit", plural=True), tense="present"), "Волк охотится на кроликов."),
    (act("follow", Thing("dog"), Pronoun(3, of=Thing("thief"))), "Собака следовала за ним."),
    (act("attack", Thing("wolf"), Pronoun(1)), "Волк напал на меня."),
    (act("need", Thing("patient"), Thing("medicine", definite=False), tense="present"), "Пациенту нужно лекарство."),
    (act("need", Pronoun(1), Thing("ticket", plural=True)), "Мне были нужны билеты."),
    (act("get_married", Thing("princess"), tense="future"), "Принцесса выйдет замуж."),
    (act("get_married", Both(Thing("princess"), Name("Paul"))), "Принцесса и Пауль поженились."),
    (act("get_married", Thing("sister", plural=True)), "Сёстры вышли замуж."),
    (act("wash", Pronoun(1), Thing("shirt")), "Я постирал рубашку."),
    (act("wash", Pronoun(1), Thing("plate")), "Я вымыл тарелку."),
    (act("give", Name("Anna"), Thing("gift", definite=False), recipient=Thing("child")),
     "Анна дала ребёнку подарок."),
    (act("give", Name("Anna"), Thing("gift"), recipient=Thing("child", definite=False)),
     "Анна дала подарок ребёнку."),
    (act("show", Pronoun(2), Thing("map"), recipient=Pronoun(2)), "Ты показал себе карту."),
    # instruments and places
    (act("open", KING, Thing("door"), instrument=Thing("key")), "Король открыл дверь ключом."),
    (act("bake", Thing("baker"), Thing("bread"), instrument=Thing("oven")), "Пекарь испёк хлеб в печи."),
    (act("study", Thing("student"), Thing("atom"), instrument=Thing("microscope")),
     "Студентка изучала атом с помощью микроскопа."),
    (act("work", Thing("cook"), place=Thing("palace")), "Повар работал во дворце."),
    (act("live", Thing("bear"), place=Thing("forest", adjective="big")), "Медведь жил в большом лесу."),
    (act("find", Thing("dog"), Thing("trace", definite=False), place=Thing("field")), "Собака нашла след в поле."),
    # what lasts is imperfective, and what is no change cannot be finished
    (act("push", Thing("boy", plural=True), Thing("car"), manner="slowly"), "Мальчики медленно толкали машину."),
    (act("push", Thing("boy"), Thing("door")), "Мальчик толкнул дверь."),
    (act("pull", Thing("horse"), Thing("cart"), tense="future"), "Лошадь будет тянуть телегу."),
    (act("treat", Thing("doctor"), Thing("wound")), "Врач лечил рану."),
    (act("ride", Thing("knight"), Thing("horse")), "Рыцарь скакал на лошади."),
    # words that go with certain others
    (act("protect", Name("Victor"), Thing("city"), instrument=Thing("sword")), "Виктор защищал город с мечом."),
    (act("pull", Thing("child"), Thing("cart"), instrument=Thing("rope")), "Ребёнок тянул телегу на верёвке."),
    (act("clean_v", Thing("boy"), Thing("blackboard")), "Мальчик вытер доску."),
    (act("watch", Pronoun(1), Thing("goal")), "Я смотрел гол."),
    (act("call", Pronoun(1), Thing("ambulance")), "Я вызвал скорую помощь."),
    (act("repair", Pronoun(1), Thing("vehicle", count=2, plural=True, adjective="old")),
     "Я починил два старых транспортных средства."),
    (act("go", Name("Paul"), goal=Thing("airport")), "Пауль поехал в аэропорт."),
    (act("sleep", Thing("girl", adjective="young")), "Юная девочка спала."),
    (act("fall", Thing("snow"), time="yesterday"), "Вчера выпал снег."),
    (act("fall", Thing("snow"), negative=True), "Снег не выпал."),
    (act("fall", Thing("rain"), place=Thing("forest"), tense="present"), "Дождь льёт в лесу."),
    (act("read", Name("Anna"), BOOK, manner="carefully"), "Анна внимательно прочитала книгу."),
    (act("read", Name("Anna"), BOOK, manner="carefully", negative=True), "Анна не читала книгу внимательно."),
    (act("write", Name("Anna"), BOOK, manner="carefully"), "Анна тщательно написала книгу."),
    (act("cut", Thing("cook"), Thing("meat"), manner="carefully"), "Повар осторожно разрезал мясо."),
    (act("get_married", Both(Thing("friend"), Name("Paul"))), "Друг и Пауль женились."),
    # some of a drink
    (act("drink", Pronoun(1), Thing("water", definite=False)), "Я выпил воды."),
    (act("drink", Pronoun(1), Thing("water")), "Я выпил воду."),
    (act("drink", Pronoun(1), Thing("water", definite=False), tense="present"), "Я пью воду."),
    # negation
    (act("buy", KING, Thing("bread", definite=False), negative=True), "Король не купил хлеба."),
    (act("buy", KING, Thing("bread"), negative=True), "Король не купил хлеб."),
    # numbers
    (act("see", Pronoun(1), Thing("student", count=2, plural=True)), "Я увидел двух студенток."),
    (act("see", Pronoun(1), Thing("house", count=3, plural=True, adjective="big")), "Я увидел три больших дома."),
    (act("read", Pronoun(1), Thing("book", count=2, plural=True, adjective="new")), "Я прочитал две новые книги."),
    (act("read", Pronoun(1), Thing("book", count=5, plural=True, adjective="new")), "Я прочитал пять новых книг."),
    (act("help", Pronoun(1), Thing("child", count=5, plural=True)), "Я помог пяти детям."),
    (act("sing", Thing("person", count=5, plural=True)), "Пять человек пели."),
    (act("grow", Thing("tree", count=10, plural=True, definite=False)), "Десять деревьев росло."),
    (act("sleep", Thing("worker", count=2, plural=True)), "Два рабочих спали."),
    (act("sleep", Thing("tailor", count=4, plural=True)), "Четыре портных спали."),
    (act("repair", Pronoun(1), Thing("clock", count=2, plural=True)), "Я починил двое часов."),
    # copular clauses
    (Clause("class", "", Thing("dog", definite=False), Thing("animal", definite=False), tense="present"),
     "Собака — животное."),
    (be("red", Thing("dress"), tense="present"), "Платье красное."),
    (be("red", Thing("dress")), "Платье было красным."),
    (be("red", Thing("dress"), tense="future", negative=True), "Платье не будет красным."),
    (be("ill", Thing("grandmother"), tense="present", time="today"), "Бабушка сегодня больна."),
    (be("open", Thing("shop", plural=True)), "Магазины были открыты."),
    (be("ill", Thing("animal")), "Животное было больным."),
    (be("hungry", Thing("insect"), tense="present"), "Насекомое голодное."),
    (be("tired", Thing("boss"), tense="present"), "Начальник утомлён."),
    (be("long", Thing("film"), tense="present"), "Фильм длинный."),
    (at(Thing("dog"), Thing("garden"), tense="present"), "Собака в саду."),
    (at(Thing("dog"), Thing("garden"), tense="future"), "Собака будет в саду."),
    (at(Thing("dog"), Thing("garden"), tense="present", negative=True), "Собака не в саду."),
    (at(Thing("dog"), Thing("garden"), negative=True), "Собаки не было в саду."),
    # names
    (act("see", Name("Anna Weber"), Name("Paul Keller")), "Анна Вебер увидела Пауля Келлера."),
    (act("thank", Pronoun(1), Both(Name("Max"), Thing("aunt"))), "Я поблагодарил Макса и тётю."),
    # relative and complement clauses
    (act("sleep", Thing("dog", relative=act("bark", None, tense="present")), tense="present"),
     "Собака, которая лает, спит."),
    (act("see", Pronoun(1), Thing("house", relative=act("build", KING), gap="patient")),
     "Я увидел дом, который построил король."),
    (act("see", Pronoun(1), Thing("horse", plural=True, relative=act("feed", Pronoun(2)), gap="patient")),
     "Я увидел лошадей, которых ты накормил."),
    (act("fall", Thing("guitar", relative=act("play_music", Thing("girl")), gap="patient")),
     "Гитара, на которой играла девочка, упала."),
    (act("die", Thing("patient", relative=act("need", None, Thing("doctor")))),
     "Пациент, которому был нужен врач, умер."),
    (act("say", Name("Eva"), complement=be("young", Thing("doctor"))), "Ева сказала, что врач был молодым."),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "text"), CASES, ids=[text for _, text in CASES])
def test_statements(clause: Clause, text: str):
    assert say(clause) == text


def test_questions_in_conversation():
    assert ask(act("see", Pronoun(2), Thing("bear"))) == "Ты видел медведя?"
    assert ask(act("eat", Asked("who"), Thing("soup"))) == "Кто съел суп?"
    assert ask(act("help", Pronoun(2), Asked("who"), tense="present")) == "Кому ты помогаешь?"
    assert ask(act("play_music", Name("Anna"), Asked("what"), tense="present")) == "На чём играет Анна?"
    assert ask(act("go", KING, goal=Asked("where"), time="yesterday")) == "Куда вчера пошёл король?"
    assert ask(act("sit", KING, place=Asked("where"), tense="future")) == "Где будет сидеть король?"
    assert ask(act("buy", KING, BOOK, place=Asked("where"))) == "Где король купил книгу?"
    assert ask(at(Name("Maria"), Asked("where"), time="in_the_morning")) == "Где была Мария утром?"
    assert ask(at(Pronoun(2), Asked("where"), tense="present")) == "Где ты?"
    assert ask(act("need", Pronoun(2), Asked("what"), tense="present")) == "Что тебе нужно?"


def test_questions_in_writing():
    assert ask(act("see", KING, Thing("dragon")), "encyclopaedic") == "Видел ли король дракона?"
    assert ask(act("live", KING, place=Thing("castle"), tense="future"), "encyclopaedic") == (
        "Будет ли король жить в замке?"
    )
    assert ask(be("rich", KING, tense="present"), "encyclopaedic") == "Богат ли король?"
    assert ask(be("young", KING), "encyclopaedic") == "Был ли король молодым?"


def test_two_clauses():
    one, other = act("sleep", Name("Anna"), time="at_night"), act("fall", Pronoun(3, of=Name("Anna")))
    assert say(one, link="and", other=other) == "Анна ночью спала, и она упала."
    assert say(one, link="but", other=other) == "Анна ночью спала, но она упала."
    assert say(one, link="because", other=other) == "Анна ночью спала, потому что она упала."
    assert say(one, link="when", other=other) == "Анна ночью спала, когда она упала."
    first = Wording(link_first=True)
    assert say(one, first, link="because", other=other) == "Поскольку она упала, Анна ночью спала."
    assert say(one, first, link="although", other=other) == "Хотя она упала, Анна ночью спала."


def test_a_relative_clause_before_a_conjunction_has_one_comma():
    girl = Thing("girl", relative=act("sing", None))
    clause = act("see", Pronoun(1), girl)
    text = say(clause, link="but", other=act("sleep", Pronoun(2)))
    assert text == "Я увидел девочку, которая пела, но ты спал."


def test_time_first_and_synonyms():
    clause = act("repair", Thing("worker"), Thing("car"), time="last_week")
    assert say(clause, Wording(time_first=True)) == "На прошлой неделе рабочий починил машину."
    assert "отремонтировал" in say(clause, SYNONYMS)
    often = act("sleep", Thing("cat"), frequency="every_day", tense="present")
    assert say(often, Wording(time_first=True)) == "Каждый день кошка спит."


def test_the_pronoun_has_the_gender_of_the_word_that_was_said():
    it = Pronoun(3, of=Thing("car"))
    for wording in (Wording(), SYNONYMS):
        text = say(be("new", Thing("car")), wording, link="and", other=be("red", it))
        assert ("она была" in text) == ("Машина" in text), text
        assert say(be("red", it), wording).startswith("Она была"), "of the usual word in a sentence before"


def test_agents_have_synonyms_of_one_gender():
    """A pronoun in the next sentence does not know which of them was said."""
    agents = {concept for verb in world().verbs.values() for concept in verb.agents if concept in RUSSIAN.nouns}
    assert {c for c in agents if len({noun.gender for noun in RUSSIAN.nouns[c]}) > 1} == set()


def test_questions_about_objects_have_the_subject_last():
    assert ask(act("eat", Thing("woman", adjective="young"), Asked("what"), time="yesterday")) == (
        "Что вчера съела молодая женщина?"
    )
    assert ask(act("solve", Name("Nina"), Asked("what"), tense="present")) == "Что решает Нина?"
    assert ask(act("find", Thing("man", plural=True), Asked("what"), tense="future", negative=True)) == (
        "Что не найдут мужчины?"
    )
    assert ask(act("need", Name("Anna"), Asked("what"), tense="present")) == "Что нужно Анне?"
    assert ask(act("solve", Pronoun(2), Asked("what"), tense="present")) == "Что ты решаешь?"


def test_animals_are_asked_for_like_people():
    assert ask(act("feed", Pronoun(2), Asked("what"))) == "Кого ты накормил?"
    assert ask(act("hunt", Thing("wolf"), Asked("what"), tense="present")) == "На кого охотится волк?"


def test_where_somebody_is_not():
    sentence = render(at(Thing("thief"), Asked("where"), tense="present", negative=True), question=True,
                      register="conversational")  # fmt: skip
    assert sentence.text == "Где нет вора?"
    assert sentence.relations == ["advmod", "root", "nsubj", "punct"]
    assert ask(at(Thing("thief"), Asked("where"), negative=True)) == "Где вора не было?"
    assert ask(at(Pronoun(2), Asked("where"), tense="present", negative=True)) == "Где тебя нет?"


def test_collective_nouns():
    potatoes = Thing("potato", plural=True)
    assert say(act("buy", Pronoun(1), potatoes)) == "Я купил картошку."
    assert say(act("grow", potatoes)) == "Картошка росла."
    assert say(act("buy", Pronoun(1), Thing("potato", plural=True, count=5))) == "Я купил пять картофелин."
    assert say(act("buy", Pronoun(1), Thing("onion", adjective="big"))) == "Я купил большую луковицу."
    assert say(act("hide", Thing("thief"), Thing("weapon", plural=True))) == "Вор спрятал оружие."
    assert say(act("grow", potatoes), link="and", other=be("good", Pronoun(3, plural=True, of=potatoes))) == (
        "Картошка росла, и она была хорошей."
    )
    hidden = Thing("weapon", plural=True, relative=act("hide", KING), gap="patient")
    assert say(act("find", Pronoun(1), hidden)) == "Я нашёл оружие, которое спрятал король."


def test_a_tree():
    sentence = render(act("see", Pronoun(1), Thing("book", count=5, plural=True), negative=True, place=Thing("palace")))
    assert sentence.words == ["Я", "не", "видел", "пять", "книг", "во", "дворце", "."]
    assert sentence.lemmas[2] == "видеть"
    assert sentence.heads == [3, 3, 0, 5, 3, 7, 3, 3]
    assert sentence.relations == ["nsubj", "advmod", "root", "nummod:gov", "obj", "case", "obl", "punct"]
    oblique = render(act("help", Pronoun(1), Thing("child", count=5, plural=True)))
    assert "nummod" in oblique.relations
    because = render(act("sing", KING), link="because", other=act("dance_v", Name("Anna Weber")))
    assert because.relations == ["nsubj", "root", "punct", "mark", "fixed", "nsubj", "flat:name", "advcl", "punct"]
    needed = render(act("need", Pronoun(1), Thing("ticket")))
    assert needed.relations == ["iobj", "cop", "root", "nsubj", "punct"]
    assert needed.tags[2] == "ADJ"


def test_conjugation():
    assert conjugate("мочь,могу,может,мог").present == ("могу", "можешь", "может", "можем", "можете", "могут")
    assert conjugate("танцевать").present[0] == "танцую"
    assert conjugate("видеть,вижу,видит").present[-1] == "видят"
    assert conjugate("слышать,слышу,слышит").present[-1] == "слышат"
    assert conjugate("пойти,пойду,пойдёт,пошёл").past == ("пошёл", "пошла", "пошло", "пошли")
    assert conjugate("нести,несу,несёт,нёс").past[1] == "несла"
    assert conjugate("умереть,умру,умрёт,умер").past[3] == "умерли"
    assert conjugate("встретиться").past == ("встретился", "встретилась", "встретилось", "встретились")


def many() -> list[Sentence]:
    r = random.Random(3)  # noqa: S311 - not for secrets
    found = []
    for _ in range(400):
        sampler = Sampler(r, r.choice(world().topics), r.choice(("encyclopaedic", "conversational")))
        found += [RUSSIAN.render(sampler.meaning(), sampler.wording()) for _ in range(5)]
    return found


def test_every_tree_is_projective_and_has_one_root():
    for sentence in many():
        heads = sentence.heads
        assert heads.count(0) == 1, sentence.text
        arcs = [tuple(sorted((i, head))) for i, head in enumerate(heads, start=1) if head]
        for a, b in arcs:
            assert not any(a < c < b < d for c, d in arcs), sentence.text
        for start in range(1, len(heads) + 1):
            here, steps = start, 0
            while here:
                here, steps = heads[here - 1], steps + 1
                assert steps <= len(heads), sentence.text
        assert ",," not in sentence.text
        assert ",." not in sentence.text
        assert "dep" not in sentence.relations, sentence.text


def test_every_concept_has_a_word():
    everything = world()
    for concept, verb in everything.verbs.items():
        place = Thing("city")
        clause = act(concept, KING, BOOK if verb.frame in {"tr", "give"} else None)
        clause.goal = place if verb.frame == "go" else None
        clause.place = place if verb.frame != "go" else None
        for tense in ("past", "present", "future"):
            clause.tense = tense
            assert say(clause)
            assert say(clause, SYNONYMS)
    for concept, noun in everything.nouns.items():
        if noun.spoken:
            for case_of in ("help", "play_music", "hunt", "follow", "see"):
                assert say(act(case_of, Thing(concept), Thing(concept, plural=not noun.mass)))
            assert say(at(KING, Thing(concept)))
    for concept in everything.adjectives:
        assert say(be(concept, Thing("house", adjective=concept)))
    for concept in everything.adverbs:
        assert concept in RUSSIAN.adverbs
    for name in everything.names:
        assert say(act("help", Name(name), Name(name)))


def test_no_two_concepts_share_a_verb():
    owners: dict[str, set[str]] = defaultdict(set)
    rows = read_table("ru", "verbs") + read_table("ru", "special_verbs")
    for row in rows:
        for column in ("imperfective", "habitual", "perfective"):
            lemma = row[column].partition(",")[0]
            if lemma and lemma != "=":
                owners[lemma].add(row["concept"].partition("_")[0])
    assert {lemma: found for lemma, found in owners.items() if len(found) > 1} == {}


def test_there_are_synonyms():
    assert sum(len(rows) > 1 for rows in RUSSIAN.verbs.values()) >= 15
    assert sum(len(rows) > 1 for rows in RUSSIAN.adverbs.values()) >= 4

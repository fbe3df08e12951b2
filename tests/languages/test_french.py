"""French: textbook sentences, valid trees, every concept, one word for one concept."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from isoglot.languages.grammars.french import French
from isoglot.languages.grammars.french_forms import BE, FrenchLexicon, Verb
from isoglot.languages.grammars.lexicon import read_table
from isoglot.languages.meaning import (
    Asked,
    Both,
    Clause,
    Meaning,
    Name,
    Part,
    Phrase,
    Pronoun,
    Thing,
    Wording,
    number_units,
)
from isoglot.languages.random_meanings import Sampler
from isoglot.languages.sentence import Sentence


@pytest.fixture(scope="module")
def french() -> French:
    return French()


def some(concept: str, **more: object) -> Thing:
    return Thing(concept, definite=False, **more)  # type: ignore[arg-type]


def act(predicate: str, agent: Phrase | None, patient: Phrase | None = None, **more: object) -> Clause:
    return Clause("action", predicate, agent, patient, **more)  # type: ignore[arg-type]


def is_so(adjective: str, agent: Phrase, **more: object) -> Clause:
    return Clause("property", adjective, agent, **more)  # type: ignore[arg-type]


def there(agent: Phrase, place: Phrase, **more: object) -> Clause:
    return Clause("location", "", agent, place=place, **more)  # type: ignore[arg-type]


def say(clause: Clause, **more: object) -> Meaning:
    return number_units(Meaning(clause, **more))  # type: ignore[arg-type]


def ask(clause: Clause, register: str = "conversational") -> Meaning:
    return say(clause, question=True, register=register)


KING, QUEEN = Thing("king"), Thing("queen")
NOW: dict[str, Any] = {"tense": "present"}
BREAD = some("bread")

STATEMENTS = [
    # articles, partitives, negation
    (act("sell", Thing("baker"), BREAD, place=Thing("market"), time="yesterday"),
     "Le boulanger a vendu du pain au marché hier."),
    (act("sell", Thing("baker"), BREAD, negative=True, **NOW), "Le boulanger ne vend pas de pain."),
    (act("drink", KING, some("water"), **NOW), "Le roi boit de l'eau."),
    (act("eat", KING, some("soup"), negative=True), "Le roi n'a pas mangé de soupe."),
    (act("eat", KING, some("bread", adjective="good"), **NOW), "Le roi mange du bon pain."),
    (act("buy", KING, some("cake", plural=True, count=3), negative=True), "Le roi n'a pas acheté trois gâteaux."),
    (act("buy", KING, some("house", plural=True, adjective="old")), "Le roi a acheté de vieilles maisons."),
    (act("buy", KING, some("house", plural=True, adjective="white")), "Le roi a acheté des maisons blanches."),
    (act("love", Thing("child"), some("chocolate"), **NOW), "L'enfant aime le chocolat."),
    (act("sell", KING, Both(BREAD, some("egg", plural=True)), negative=True), "Le roi n'a pas vendu de pain ni d'œufs."),
    # elision, muted and aspirated h, adjectives before a vowel
    (act("see", Thing("owl"), Thing("axe")), "Le hibou a vu la hache."),
    (act("see", Thing("man"), some("egg", adjective="new")), "L'homme a vu un nouvel œuf."),
    (act("see", some("man", adjective="beautiful"), Thing("tree", adjective="old")), "Un bel homme a vu le vieil arbre."),
    (act("see", KING, some("owl", plural=True, adjective="beautiful")), "Le roi a vu de beaux hiboux."),
    (act("see", KING, some("tower", adjective="tall")), "Le roi a vu une haute tour."),
    (act("see", KING, some("man", adjective="tall")), "Le roi a vu un homme de haute taille."),
    # participles
    (act("arrive", Thing("queen", plural=True)), "Les reines sont arrivées."),
    (act("arrive", Both(KING, Name("Anna"))), "Le roi et Anna sont arrivés."),
    (act("see", QUEEN, Pronoun(3, plural=True, of=Thing("house"))), "La reine les a vues."),
    (act("see", KING, Pronoun(3, of=Name("Anna"))), "Le roi l'a vue."),
    (act("rest", QUEEN, time="yesterday"), "La reine s'est reposée hier."),
    (act("wake_up", Pronoun(1)), "Je me suis réveillé."),
    (act("get_married", Both(Thing("sister"), Name("Anna")), negative=True), "La sœur et Anna ne se sont pas mariées."),
    # past of states, activities, habits; future
    (act("love", KING, QUEEN), "Le roi aimait la reine."),
    (act("sleep", KING), "Le roi dormait."),
    (act("sleep", KING, time="yesterday"), "Le roi a dormi hier."),
    (act("eat", KING, BREAD, frequency="often"), "Le roi mangeait souvent du pain."),
    (act("eat", KING, BREAD, frequency="every_day", **NOW), "Le roi mange du pain tous les jours."),
    (act("go", KING, goal=Thing("school"), tense="future"), "Le roi ira à l'école."),
    (act("come", KING, goal=Thing("house"), tense="future", time="soon"), "Le roi viendra bientôt à la maison."),
    (act("sing", KING, manner="well", time="yesterday"), "Le roi a bien chanté hier."),
    (act("sit", QUEEN, place=Thing("sofa"), negative=True), "La reine n'était pas assise sur le canapé."),
    # government and pronouns
    (act("need", KING, Pronoun(3, of=Thing("money")), **NOW), "Le roi en a besoin."),
    (act("need", KING, Pronoun(3, of=QUEEN), **NOW), "Le roi a besoin d'elle."),
    (act("need", KING, Both(some("money"), some("ticket")), **NOW), "Le roi a besoin d'argent et d'un billet."),
    (act("visit", KING, Thing("museum")), "Le roi a visité le musée."),
    (act("visit", KING, Thing("grandmother")), "Le roi a rendu visite à la grand-mère."),
    (act("visit", KING, Pronoun(3, of=QUEEN)), "Le roi lui a rendu visite."),
    (act("play_music", KING, Thing("piano"), **NOW), "Le roi joue du piano."),
    (act("give", KING, some("ring"), recipient=Both(QUEEN, Name("Paul"))), "Le roi a donné une bague à la reine et à Paul."),
    (act("give", Pronoun(1), Pronoun(3, plural=True, of=Thing("ring")), recipient=Pronoun(3, of=KING), negative=True),
     "Je ne les lui ai pas données."),
    (act("give", KING, Pronoun(3, of=Thing("ring")), recipient=Pronoun(1)), "Le roi me l'a donnée."),
    # places
    (act("go", QUEEN, goal=Name("Paris")), "La reine est allée à Paris."),
    (act("go", QUEEN, goal=Name("Alaska")), "La reine est allée en Alaska."),
    (act("go", QUEEN, goal=Name("Brandenburg")), "La reine est allée dans le Brandebourg."),
    (act("swim", KING, goal=Thing("bridge")), "Le roi a nagé jusqu'au pont."),
    (act("swim", KING, goal=Name("Alaska")), "Le roi a nagé jusqu'en Alaska."),
    (act("leave", Thing("train"), place=Thing("harbour")), "Le train est parti du port."),
    (act("go", KING, goal=some("school")), "Le roi est allé dans une école."),
    (act("study", KING, Thing("atom"), instrument=Thing("microscope"), **NOW), "Le roi étudie l'atome au microscope."),
    (act("bake", KING, BREAD, instrument=Thing("oven"), **NOW), "Le roi cuit du pain dans le four."),
    (there(Thing("dog"), Thing("garden"), **NOW), "Le chien est dans le jardin."),
    (there(KING, Thing("prison")), "Le roi était en prison."),
    (act("go", KING, goal=Thing("city")), "Le roi est allé en ville."),
    (act("meet", KING, QUEEN, place=Thing("city")), "Le roi a rencontré la reine en ville."),
    (act("come", KING, goal=some("river")), "Le roi est venu à une rivière."),
    (act("wash", KING, Thing("dog"), place=some("river")), "Le roi a lavé le chien dans une rivière."),
    (act("go", KING, goal=Thing("lake", adjective="quiet")), "Le roi est allé au lac calme."),
    (act("travel_v", QUEEN, goal=Thing("country")), "La reine s'est rendue dans le pays."),
    (there(Thing("shark"), Thing("sea")), "Le requin était dans la mer."),
    (there(Thing("sailor"), Thing("sea")), "Le marin était en mer."),
    # words that depend on what is spoken of
    (act("visit", KING, Both(Thing("museum"), Thing("friend"))), "Le roi a visité le musée et l'ami."),
    (act("visit", KING, Both(QUEEN, Name("Paul"))), "Le roi a rendu visite à la reine et à Paul."),
    (act("sit", Thing("hen"), place=Thing("garden")), "La poule était posée dans le jardin."),
    (act("fly_v", Thing("pilot"), Thing("aeroplane"), **NOW), "Le pilote pilote l'avion."),
    (act("milk_cow", KING, some("sheep", plural=True), **NOW), "Le roi trait des brebis."),
    (act("treat", Thing("doctor"), some("fever")), "Le médecin a soigné une fièvre."),
    (act("destroy", some("fire"), Thing("house")), "Un feu a détruit la maison."),
    (act("eat", KING, some("grape", plural=True, adjective="ripe")), "Le roi a mangé des grains de raisin mûrs."),
    (act("buy", KING, some("car", adjective="new")), "Le roi a acheté une voiture neuve."),
    (act("read", KING, some("novel", adjective="new")), "Le roi a lu un nouveau roman."),
    (act("eat", KING, some("pear", adjective="big")), "Le roi a mangé une grosse poire."),
    (is_so("big", Thing("garden")), "Le jardin était grand."),
    (is_so("strong", Thing("rope")), "La corde était solide."),
    # manner
    (act("treat", QUEEN, KING, manner="gladly"), "La reine a volontiers soigné le roi."),
    (act("read", KING, Thing("letter"), manner="carefully"), "Le roi a lu attentivement la lettre."),
    (act("treat", QUEEN, KING, manner="carefully"), "La reine a soigné le roi avec attention."),
    (act("climb", KING, goal=Thing("tower"), manner="carefully"), "Le roi a grimpé prudemment sur la tour."),
    (act("wash", KING, Thing("cup"), manner="carefully", frequency="often", **NOW),
     "Le roi lave souvent la tasse avec soin."),
    (act("say", KING, complement=is_so("ill", QUEEN, **NOW), manner="quietly", **NOW),
     "Le roi dit à voix basse que la reine est malade."),
    (act("ask", KING, QUEEN, manner="loudly"), "Le roi a interrogé la reine à voix haute."),
    # two, negated
    (act("meet", KING, Both(some("doctor"), QUEEN), negative=True, **NOW),
     "Le roi ne rencontre pas de médecin ni la reine."),
    (act("hate", KING, Both(some("war"), some("soup")), negative=True), "Le roi ne détestait pas une guerre ni la soupe."),
    (act("need", KING, Both(some("money"), some("ticket")), negative=True, **NOW),
     "Le roi n'a pas besoin d'argent ni d'un billet."),
    (act("give", KING, Thing("ring"), recipient=Both(QUEEN, Name("Paul")), negative=True),
     "Le roi n'a pas donné la bague à la reine ni à Paul."),
    # copula
    (is_so("big", Thing("house", plural=True)), "Les maisons étaient grandes."),
    (is_so("wooden", Thing("house"), **NOW), "La maison est en bois."),
    (is_so("good", some("wine"), **NOW), "Le vin est bon."),
    (Clause("class", "", some("dog"), some("animal"), tense="present"), "Un chien est un animal."),
    (Clause("class", "", some("bread"), some("food"), tense="present"), "Le pain est un aliment."),
    # relative clauses
    (act("see", KING, Thing("house", relative=act("build", Thing("carpenter")), gap="patient"), time="yesterday"),
     "Le roi a vu hier la maison que le charpentier a construite."),
    (act("see", Thing("king", relative=act("love", None, QUEEN, **NOW)), Thing("owl")),
     "Le roi qui aime la reine a vu le hibou."),
    (act("see", KING, some("tool", relative=act("need", QUEEN, **NOW), gap="patient")),
     "Le roi a vu un outil dont la reine a besoin."),
    (act("see", KING, Thing("friend", relative=act("visit", QUEEN), gap="patient")),
     "Le roi a vu l'ami à qui la reine a rendu visite."),
    # complement clauses
    (act("say", KING, complement=act("sell", Name("Anna"), BREAD)), "Le roi a dit qu'Anna avait vendu du pain."),
    (act("know", KING, complement=is_so("ill", QUEEN), **NOW), "Le roi sait que la reine était malade."),
    (act("believe", KING, complement=act("arrive", QUEEN), negative=True, **NOW),
     "Le roi ne croit pas que la reine soit arrivée."),
    (act("hear", KING, Thing("song"), time="on_sunday", **NOW), "Le roi entend la chanson le dimanche."),
    (act("hear", KING, Thing("song"), time="on_sunday"), "Le roi a entendu la chanson dimanche."),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "text"), STATEMENTS, ids=[text for _, text in STATEMENTS])
def test_statements(french: French, clause: Clause, text: str) -> None:
    assert french.render(say(clause)).text == text


QUESTIONS = [
    (act("eat", Pronoun(2), BREAD), "Est-ce que tu as mangé du pain ?", "Avez-vous mangé du pain ?"),
    (act("love", KING, QUEEN, **NOW), "Est-ce que le roi aime la reine ?", "Le roi aime-t-il la reine ?"),
    (is_so("big", Thing("house"), negative=True), "Est-ce que la maison n'était pas grande ?",
     "La maison n'était-elle pas grande ?"),
    (act("sell", KING, Asked("what")), "Qu'est-ce que le roi a vendu ?", "Qu'a vendu le roi ?"),
    (act("sell", Pronoun(3, of=KING), Asked("what")), "Qu'est-ce qu'il a vendu ?", "Qu'a-t-il vendu ?"),
    (act("see", QUEEN, Asked("who")), "Qui est-ce que la reine a vu ?", "Qui la reine a-t-elle vu ?"),
    (act("see", Asked("who"), QUEEN), "Qui a vu la reine ?", "Qui a vu la reine ?"),
    (act("need", KING, Asked("what"), **NOW), "De quoi est-ce que le roi a besoin ?", "De quoi le roi a-t-il besoin ?"),
    (act("visit", KING, Asked("who")), "À qui est-ce que le roi a rendu visite ?", "À qui le roi a-t-il rendu visite ?"),
    (act("go", KING, goal=Asked("where"), **NOW), "Où est-ce que le roi va ?", "Où le roi va-t-il ?"),
    (act("leave", Thing("train"), place=Asked("where"), **NOW), "D'où est-ce que le train part ?",
     "D'où le train part-il ?"),
    (there(Thing("dog"), Asked("where"), **NOW), "Où est le chien ?", "Où est le chien ?"),
    (there(Pronoun(3, of=QUEEN), Asked("where")), "Où était-elle ?", "Où était-elle ?"),
    (there(Thing("dog"), Asked("where"), negative=True, **NOW), "Où est-ce que le chien n'est pas ?",
     "Où le chien n'est-il pas ?"),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "spoken", "written"), QUESTIONS, ids=[text for _, text, _ in QUESTIONS])
def test_questions(french: French, clause: Clause, spoken: str, written: str) -> None:
    assert french.render(ask(clause)).text == spoken
    assert french.render(ask(clause, "encyclopaedic")).text == written


ILL = is_so("ill", Pronoun(3, of=KING))
LINKED = [
    ("because", ILL, False, "Le roi a mangé du pain parce qu'il était malade."),
    ("because", ILL, True, "Parce qu'il était malade, le roi a mangé du pain."),
    ("when", ILL, False, "Le roi a mangé du pain lorsqu'il était malade."),
    ("although", ILL, False, "Le roi a mangé du pain, bien qu'il soit malade."),
    ("although", act("arrive", QUEEN), True, "Bien que la reine soit arrivée, le roi a mangé du pain."),
    ("although", act("see", Name("Anna"), KING), False, "Le roi a mangé du pain, bien qu'Anna ait vu le roi."),
    ("but", ILL, False, "Le roi a mangé du pain, mais il était malade."),
    ("and", ILL, False, "Le roi a mangé du pain et il était malade."),
]


@pytest.mark.parametrize(("link", "other", "first", "text"), LINKED, ids=[text for *_, text in LINKED])
def test_links(french: French, link: str, other: Clause, first: bool, text: str) -> None:
    meaning = say(act("eat", KING, BREAD), link=link, other=other)
    assert french.render(meaning, Wording(link_first=first)).text == text


def test_wordings(french: French) -> None:
    meaning = say(act("love", Thing("doctor"), QUEEN, time="in_the_morning"))
    assert french.render(meaning, Wording(time_first=True)).text == "Le matin, le médecin aimait la reine."
    assert french.render(meaning, Wording(synonyms=0xFFFF)).text == "Le docteur adorait la souveraine le matin."


def test_familiar_words_only_in_conversation(french: French) -> None:
    clause, wording = act("love", Thing("grandfather"), Thing("dog"), **NOW), Wording(synonyms=0xFFFF)
    assert french.render(say(clause), wording).text == "Le grand-père adore le chien."
    assert french.render(say(clause, register="conversational"), wording).text == "Le papy adore le chien."


@pytest.mark.parametrize(("time", "text"), [("last_year", "L'an dernier,"), ("in_the_afternoon", "L'après-midi,"),
                                            ("in_winter", "Pendant l'hiver,")])  # fmt: skip
def test_times_are_elided(french: French, time: str, text: str) -> None:
    meaning = say(act("love", KING, QUEEN, time=time))
    assert french.render(meaning, Wording(synonyms=0xFFFF, time_first=True)).text.startswith(f"{text} le souverain")


def test_words_carry_their_units(french: French) -> None:
    house = Thing("house", adjective="old", relative=act("build", QUEEN), gap="patient")
    meaning = say(act("see", KING, house, place=Thing("market"), negative=True, time="yesterday"))
    sentence = french.render(meaning)
    assert sentence.text == "Le roi n'a pas vu hier au marché la vieille maison que la reine a construite."
    main, house_unit, inner = meaning.main.unit * 8, house.unit * 8, house.relative.unit * 8  # type: ignore[union-attr]
    where = dict(zip(sentence.words, sentence.units, strict=True))
    assert where["n'"] == where["pas"] == main + Part.NEGATION
    assert where["vu"] == main
    assert where["hier"] == main + Part.TIME
    assert where["vieille"] == house_unit + Part.ADJECTIVE
    assert where["que"] == house_unit + Part.RELATIVE
    assert where["construite"] == inner
    assert where["marché"] + Part.MARKER == where["à"]
    assert where["marché"] + Part.DETERMINER == sentence.units[sentence.words.index("à") + 1]
    question = french.render(ask(is_so("big", house)))
    assert question.units[:3] == [question.meaning.main.unit * 8 + Part.QUESTION] * 3
    assert question.units[question.words.index("était")] == question.meaning.main.unit * 8 + Part.COPULA


def test_contractions_and_names(french: French) -> None:
    sentence = french.render(say(act("go", Name("Laura Martin"), goal=Thing("theatre")), link="because", other=ILL))
    assert sentence.tokens() == ["Laura", "Martin", "est", "allée", "au", "théâtre", "parce", "qu'", "il", "était",
                                 "malade", "."]  # fmt: skip
    assert sentence.entities[:3] == ["B-PER", "I-PER", "O"]
    assert sentence.relations[:8] == ["nsubj", "flat", "aux:tense", "root", "case", "det", "obl:arg", "mark"]
    assert sentence.units[7] == sentence.units[8] == ILL.unit * 8 + Part.LINK


# --- trees ---


def is_tree(sentence: Sentence) -> bool:
    """One root, no cycle, no crossing arcs, every relation set."""
    heads = sentence.heads
    if heads.count(0) != 1 or sentence.relations[heads.index(0)] != "root" or sentence.relations.count("root") != 1:
        return False
    for start in range(1, len(heads) + 1):
        position, steps = start, 0
        while position and steps <= len(heads):
            position, steps = heads[position - 1], steps + 1
        if position:
            return False
    arcs = [(min(pair), max(pair)) for pair in enumerate(heads, start=1) if pair[1]]
    crossing = any(a < c < b < d for a, b in arcs for c, d in arcs)
    return not crossing and "dep" not in sentence.relations


@pytest.mark.parametrize("register", ["encyclopaedic", "conversational"])
def test_sampled_meanings_have_valid_trees(french: French, register: str) -> None:
    random = Random(5)  # noqa: S311 - not for secrets
    for topic in french.world.topics:
        sampler = Sampler(random, topic, register)  # type: ignore[arg-type]
        for _ in range(60):
            meaning = sampler.meaning()
            sentence = french.render(meaning, sampler.wording())
            assert is_tree(sentence), sentence.text
            assert not [pair for pair in (" de le ", " à le ", " de les ", " à les ", "  ") if pair in sentence.text]
            again = french.render(meaning, sentence.wording)
            assert (again.words, again.heads) == (sentence.words, sentence.heads)


@pytest.mark.parametrize("synonyms", [0, 0xFFFF])
def test_every_concept_has_words(french: French, synonyms: int) -> None:
    wording = Wording(synonyms=synonyms)
    world = french.world
    for concept, noun in world.nouns.items():
        if not noun.spoken:
            continue
        for thing in (Thing(concept), some(concept), some(concept, plural=not noun.mass)):
            assert is_tree(french.render(say(act("see", KING, thing, place=Thing(concept), instrument=thing)), wording))
    for concept, verb in world.verbs.items():
        for tense in ("past", "present", "future"):
            patient = QUEEN if verb.frame in {"tr", "give"} else None
            for who in (Pronoun(1), Pronoun(2), Pronoun(1, True), Pronoun(2, True), QUEEN, Pronoun(3, of=QUEEN)):
                clause = act(concept, who, patient, tense=tense)
                assert is_tree(french.render(say(clause, link="although", other=act(concept, who, patient)), wording))
                assert is_tree(french.render(ask(clause, "encyclopaedic"), wording))
    for concept in world.adjectives:
        clause = is_so(concept, Thing("house", adjective=concept), place=Thing("city"))
        assert is_tree(french.render(say(clause), wording))
    for concept, adverb in world.adverbs.items():
        clause = act("eat", KING, BREAD, **{adverb.kind: concept})
        assert is_tree(french.render(say(clause), wording))


# --- the lexicon ---


@pytest.mark.parametrize("table", ["nouns", "verbs", "adjectives", "adverbs", "numbers"])
def test_the_lexicon_is_complete_and_unambiguous(table: str) -> None:
    rows = read_table("fr", table)
    wanted = [row["concept"] for row in read_table("world", table) if "kind" not in row.get("flags", "").split(",")]
    assert {row["concept"].partition("~")[0] for row in rows} == set(wanted)
    concepts: dict[str, set[str]] = {}
    for row in rows:
        concepts.setdefault(row.get("lemma") or row["words"], set()).add(re.split("[_~]", row["concept"])[0])
    assert not {word: found for word, found in concepts.items() if len(found) > 1}


def test_synonyms_have_one_gender() -> None:
    lexicon = FrenchLexicon()
    for concept, nouns in lexicon.nouns.items():
        assert len({noun.feminine for noun in nouns}) == 1, concept


def test_names_are_known(french: French) -> None:
    places = {name for name, entity in french.world.names.items() if entity.kind != "PER"}
    assert places == set(french.words.names)


CONJUGATION = [
    ("eat", "mange manges mange mangeons mangez mangent", "mangions", "mangera", "mange"),
    ("buy", "achète achètes achète achetons achetez achètent", "achetions", "achètera", "achète"),
    ("call", "appelle appelles appelle appelons appelez appellent", "appelions", "appellera", "appelle"),
    ("throw", "lance lances lance lançons lancez lancent", "lancions", "lancera", "lance"),
    ("clean_v", "nettoie nettoies nettoie nettoyons nettoyez nettoient", "nettoyions", "nettoiera", "nettoie"),
    ("protect", "protège protèges protège protégeons protégez protègent", "protégions", "protégera", "protège"),
    ("destroy", "détruis détruis détruit détruisons détruisez détruisent", "détruisions", "détruira", "détruise"),
    ("sell", "vends vends vend vendons vendez vendent", "vendions", "vendra", "vende"),
    ("grow", "grandis grandis grandit grandissons grandissez grandissent", "grandissions", "grandira", "grandisse"),
    ("go", "vais vas va allons allez vont", "allions", "ira", "aille"),
    ("know", "sais sais sait savons savez savent", "savions", "saura", "sache"),
]


@pytest.mark.parametrize(("concept", "present", "imperfect", "future", "wish"), CONJUGATION)
def test_conjugation(concept: str, present: str, imperfect: str, future: str, wish: str) -> None:
    verb: Verb = FrenchLexicon().verbs[concept][0]
    assert verb.forms.present == tuple(present.split())
    assert (verb.forms.imperfect[3], verb.forms.future[2], verb.forms.subjunctive[2]) == (imperfect, future, wish)


def test_to_be() -> None:
    assert (BE.imperfect[2], BE.subjunctive[2], BE.future[5]) == ("était", "soit", "seront")

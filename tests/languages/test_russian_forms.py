"""The declension of Russian and its lexicon of nouns, adjectives, numbers and names."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain

import pytest

from isoglot.languages.concepts import world
from isoglot.languages.grammars import russian_forms as ru

NOUNS = {noun.lemma: noun for nouns in ru.read_nouns().values() for noun in nouns}
ADJECTIVES = {adjective.lemma: adjective for found in ru.read_adjectives().values() for adjective in found}
NUMBERS = {number.value: number for number in ru.read_numbers().values()}
CYRILLIC = re.compile("[а-яё]+", re.IGNORECASE)


def decline(lemma: str, gender: str, flags: str = "", **cells: str) -> ru.Noun:
    """A noun that need not stand in the lexicon."""
    empty = dict.fromkeys(("stem", "plural", "genitive", "other", "at", "place", "to", "modifier"), "")
    return ru.noun({**empty, "lemma": lemma, "gender": gender, "flags": flags, **cells})


# Singular and plural: nom gen dat acc ins loc.
PARADIGMS = """
стол стола столу стол столом столе: столы столов столам столы столами столах
книга книги книге книгу книгой книге: книги книг книгам книги книгами книгах
окно окна окну окно окном окне: окна окон окнам окна окнами окнах
море моря морю море морем море: моря морей морям моря морями морях
король короля королю короля королём короле: короли королей королям королей королями королях
гость гостя гостю гостя гостем госте: гости гостей гостям гостей гостями гостях
лошадь лошади лошади лошадь лошадью лошади: лошади лошадей лошадям лошадей лошадьми лошадях
музей музея музею музей музеем музее: музеи музеев музеям музеи музеями музеях
станция станции станции станцию станцией станции: станции станций станциям станции станциями станциях
здание здания зданию здание зданием здании: здания зданий зданиям здания зданиями зданиях
мать матери матери мать матерью матери: матери матерей матерям матерей матерями матерях
дочь дочери дочери дочь дочерью дочери: дочери дочерей дочерям дочерей дочерьми дочерях
семя семени семени семя семенем семени: семена семян семенам семена семенами семенах
ребёнок ребёнка ребёнку ребёнка ребёнком ребёнке: дети детей детям детей детьми детях
человек человека человеку человека человеком человеке: люди людей людям людей людьми людях
друг друга другу друга другом друге: друзья друзей друзьям друзей друзьями друзьях
брат брата брату брата братом брате: братья братьев братьям братьев братьями братьях
сын сына сыну сына сыном сыне: сыновья сыновей сыновьям сыновей сыновьями сыновьях
соседка соседки соседке соседку соседкой соседке: соседки соседок соседкам соседок соседками соседках
яблоко яблока яблоку яблоко яблоком яблоке: яблоки яблок яблокам яблоки яблоками яблоках
дерево дерева дереву дерево деревом дереве: деревья деревьев деревьям деревья деревьями деревьях
лист листа листу лист листом листе: листья листьев листьям листья листьями листьях
лес леса лесу лес лесом лесе: леса лесов лесам леса лесами лесах
отец отца отцу отца отцом отце: отцы отцов отцам отцов отцами отцах
принц принца принцу принца принцем принце: принцы принцев принцам принцев принцами принцах
ключ ключа ключу ключ ключом ключе: ключи ключей ключам ключи ключами ключах
матч матча матчу матч матчем матче: матчи матчей матчам матчи матчами матчах
лев льва льву льва львом льве: львы львов львам львов львами львах
муравей муравья муравью муравья муравьём муравье: муравьи муравьёв муравьям муравьёв муравьями муравьях
мужчина мужчины мужчине мужчину мужчиной мужчине: мужчины мужчин мужчинам мужчин мужчинами мужчинах
судья судьи судье судью судьёй судье: судьи судей судьям судей судьями судьях
сестра сестры сестре сестру сестрой сестре: сёстры сестёр сёстрам сестёр сёстрами сёстрах
песня песни песне песню песней песне: песни песен песням песни песнями песнях
крыша крыши крыше крышу крышей крыше: крыши крыш крышам крыши крышами крышах
свеча свечи свече свечу свечой свече: свечи свечей свечам свечи свечами свечах
статья статьи статье статью статьёй статье: статьи статей статьям статьи статьями статьях
змея змеи змее змею змеёй змее: змеи змей змеям змей змеями змеях
мышь мыши мыши мышь мышью мыши: мыши мышей мышам мышей мышами мышах
церковь церкви церкви церковь церковью церкви: церкви церквей церквям церкви церквями церквях
яйцо яйца яйцу яйцо яйцом яйце: яйца яиц яйцам яйца яйцами яйцах
сердце сердца сердцу сердце сердцем сердце: сердца сердец сердцам сердца сердцами сердцах
солнце солнца солнцу солнце солнцем солнце: солнца солнц солнцам солнца солнцами солнцах
сокровище сокровища сокровищу сокровище сокровищем сокровище: \
сокровища сокровищ сокровищам сокровища сокровищами сокровищах
оружие оружия оружию оружие оружием оружии: оружия оружий оружиям оружия оружиями оружиях
морковь моркови моркови морковь морковью моркови: моркови морковей морковям моркови морковями морковях
рабочий рабочего рабочему рабочего рабочим рабочем: рабочие рабочих рабочим рабочих рабочими рабочих
животное животного животному животное животным животном: \
животные животных животным животных животными животных
гостиная гостиной гостиной гостиную гостиной гостиной: гостиные гостиных гостиным гостиные гостиными гостиных
пальто пальто пальто пальто пальто пальто: пальто пальто пальто пальто пальто пальто
"""


@pytest.mark.parametrize("paradigm", PARADIGMS.strip().splitlines())
def test_paradigm(paradigm: str) -> None:
    singular, plural = paradigm.split(": ")
    noun = NOUNS[singular.split(" ")[0]]
    assert " ".join(noun.form(case, False) for case in ru.CASES) == singular
    assert " ".join(noun.form(case, True) for case in ru.CASES) == plural


def test_words_outside_the_lexicon() -> None:
    assert decline("герой", "m", "animate").plural["gen"] == "героев"
    assert decline("товарищ", "m", "animate").singular["ins"] == "товарищем"
    assert decline("месяц", "m").plural["gen"] == "месяцев"
    assert decline("неделя", "f").plural["gen"] == "недель"
    assert decline("гений", "m", "animate").singular["loc"] == "гении"
    gun = decline("ружьё", "n", "stressed")
    assert (gun.singular["ins"], gun.plural["gen"]) == ("ружьём", "ружей")
    neighbour = decline("сосед", "m", "animate", plural="соседи", genitive="соседей")
    assert list(neighbour.plural.values()) == ["соседи", "соседей", "соседям", "соседей", "соседями", "соседях"]


def test_plural_only() -> None:
    money = NOUNS["деньги"]
    assert money.plural_only
    assert money.form("gen", False) == money.form("gen", True) == "денег"
    assert [NOUNS["часы"].form(case, False) for case in ("gen", "ins")] == ["часов", "часами"]


@pytest.mark.parametrize(
    ("lemma", "at", "place", "to"),
    [
        ("лес", "в", "лесу", "в"),
        ("сад", "в", "саду", "в"),
        ("поле", "в", "поле", "в"),
        ("мост", "на", "мосту", "к"),
        ("порт", "в", "порту", "в"),
        ("кухня", "на", "кухне", "на"),
        ("школа", "в", "школе", "в"),
        ("завод", "на", "заводе", "на"),
        ("река", "в", "реке", "к"),
        ("мастерская", "в", "мастерской", "в"),
        ("книга", "", "книге", ""),
    ],
)
def test_places(lemma: str, at: str, place: str, to: str) -> None:
    noun = NOUNS[lemma]
    assert (noun.at, noun.place, noun.to) == (at, place, to)


def test_collective_nouns_and_their_pieces() -> None:
    onion = NOUNS["лук"]
    assert onion.collective
    assert onion.piece is not None
    assert (onion.piece.lemma, onion.piece.counted) == ("луковица", "луковиц")
    assert [onion.is_plural(True, counted) for counted in (False, True)] == [False, True]
    assert NOUNS["стол"].is_plural(True, counted=False)


def test_all_places_have_a_preposition() -> None:
    verbs = world().verbs.values()
    places = {place for verb in verbs for place in verb.places}
    places |= {goal for verb in verbs if verb.frame in ("go", "stay") for goal in verb.patients}
    places |= {concept for concept, noun in world().nouns.items() if noun.place and noun.spoken}
    nouns = ru.read_nouns()
    wanting = [noun.lemma for place in places for noun in nouns[place] if noun.at not in ("в", "на") or not noun.to]
    assert not wanting


def test_phrase_and_counted_form() -> None:
    station = ru.read_nouns()["police_station"][0]
    assert station.modifier is not None
    assert station.modifier.form("m", "loc", False, False) == "полицейском"
    assert NOUNS["человек"].counted == "человек"
    assert NOUNS["ребёнок"].counted == "детей"
    assert NOUNS["солдат"].counted == "солдат"


# m nom gen dat acc ins loc: f nom gen acc: n acc: pl acc gen ins; all with things.
ADJECTIVE_FORMS = """
новый нового новому новый новым новом: новая новой новую: новое: новые новых новыми
синий синего синему синий синим синем: синяя синей синюю: синее: синие синих синими
большой большого большому большой большим большом: большая большой большую: большое: большие больших большими
хороший хорошего хорошему хороший хорошим хорошем: хорошая хорошей хорошую: хорошее: хорошие хороших хорошими
маленький маленького маленькому маленький маленьким маленьком: маленькая маленькой маленькую: маленькое: маленькие маленьких маленькими
золотой золотого золотому золотой золотым золотом: золотая золотой золотую: золотое: золотые золотых золотыми
утомлённый утомлённого утомлённому утомлённый утомлённым утомлённом: утомлённая утомлённой утомлённую: утомлённое: утомлённые утомлённых утомлёнными
"""


@pytest.mark.parametrize("forms", ADJECTIVE_FORMS.strip().splitlines())
def test_adjective(forms: str) -> None:
    adjective = ADJECTIVES[forms.split(" ", maxsplit=1)[0]]
    found = [adjective.form("m", case, False, False) for case in ru.CASES]
    found += [adjective.form("f", case, False, True) for case in ("nom", "gen", "acc")]
    found.append(adjective.form("n", "acc", False, True))
    found += [adjective.form("f", case, True, False) for case in ("acc", "gen", "ins")]
    assert " ".join(found) == forms.replace(":", "")


def test_animate_accusative() -> None:
    new = ADJECTIVES["новый"]
    assert new.form("m", "acc", False, True) == "нового"
    assert new.form("f", "acc", True, True) == "новых"
    assert new.form("n", "acc", False, True) == "новое"
    assert new.form("f", "acc", False, True) == "новую"


def test_short_forms() -> None:
    assert ADJECTIVES["открытый"].short == {"m": "открыт", "f": "открыта", "n": "открыто", "pl": "открыты"}
    assert ADJECTIVES["деревянный"].short is None
    ill = ADJECTIVES["больной"].short
    assert ill is not None
    assert ill["n"] == "больное"  # "животное больно" would say that something hurts
    well = ADJECTIVES["здоровый"].short
    assert well is not None
    assert well["n"] == "здоровое"  # "здорово" is another word


def test_numbers() -> None:
    two, three, five = NUMBERS[2], NUMBERS[3], NUMBERS[5]
    assert [two.form("nom", gender, False) for gender in "mfn"] == ["два", "две", "два"]
    assert [two.form("acc", gender, True) for gender in "mf"] == ["двух", "двух"]
    assert [two.form("acc", gender, False) for gender in "mf"] == ["два", "две"]
    assert (three.form("acc", "f", True), three.form("acc", "f", False)) == ("трёх", "три")
    assert five.form("acc", "m", True) == "пять"
    assert [five.form(case, "f", True) for case in ru.CASES] == ["пять", "пяти", "пяти", "пять", "пятью", "пяти"]
    assert NUMBERS[4].form("ins", "m", True) == "четырьмя"
    assert NUMBERS[8].form("ins", "m", True) == "восемью"
    assert two.together["nom"] == "двое"
    assert not five.together


def test_names() -> None:
    names = ru.read_names()
    assert [word["dat"] for word in names["Anna Weber"].words] == ["Анне", "Вебер"]
    assert [word["ins"] for word in names["Paul Keller"].words] == ["Паулем", "Келлером"]
    assert [word["acc"] for word in names["Daniel Costa"].words] == ["Даниэля", "Косту"]
    assert names["Paris"].words[0]["ins"] == "Парижем"
    assert set(names["Oslo"].words[0].values()) == {"Осло"}
    assert (names["Alaska"].at, names["Alaska"].words[0]["loc"]) == ("на", "Аляске")
    assert names["Julia"].words[0]["dat"] == "Юлии"
    assert [word["gen"] for word in names["Nordia Bank"].words] == ["Нордия", "Банка"]
    assert names["Radio Nova"].gender == "n"
    people = {name: entity for name, entity in world().names.items() if entity.kind == "PER"}
    assert all(names[name].gender == entity.sex for name, entity in people.items())
    assert all(names[name].at in ("в", "на") for name in names.keys() - people.keys())


@pytest.mark.parametrize(
    ("preposition", "word", "form"),
    [
        ("в", "доме", "в"),
        ("в", "дворце", "во"),
        ("к", "дворцу", "ко"),
        ("с", "дворцом", "с"),
        ("с", "слоном", "со"),
        ("с", "собакой", "с"),
        ("с", "школьником", "со"),
        ("с", "львом", "со"),
        ("с", "щенком", "со"),
        ("с", "мной", "со"),
        ("в", "школе", "в"),
        ("в", "Франции", "во"),
        ("о", "окне", "об"),
        ("о", "яблоке", "о"),
        ("о", "мне", "обо"),
        ("на", "столе", "на"),
    ],
)
def test_prepositions_with_a_vowel(preposition: str, word: str, form: str) -> None:
    assert ru.with_vowel(preposition, word) == form


def test_every_concept_has_a_word() -> None:
    assert list(ru.read_nouns()) == [concept for concept, noun in world().nouns.items() if noun.spoken]
    assert list(ru.read_adjectives()) == list(world().adjectives)
    assert {number.value: concept for concept, number in ru.read_numbers().items()} == world().numbers
    assert list(ru.read_names()) == list(world().names)
    for concept, of in ru.read_special_adjectives():
        assert of in world().adjectives[concept].of


def test_sex_is_gender() -> None:
    for concept, nouns in ru.read_nouns().items():
        sex = world().nouns[concept].sex
        assert all(noun.gender == sex and noun.animate for noun in nouns if sex), concept


def test_no_word_twice() -> None:
    nouns = [noun.lemma for noun in chain.from_iterable(ru.read_nouns().values())]
    adjectives = [adjective.lemma for adjective in chain.from_iterable(ru.read_adjectives().values())]
    for lemmas in (nouns, adjectives):
        assert [lemma for lemma, count in Counter(lemmas).items() if count > 1] == []


def test_synonyms() -> None:
    assert sum(len(words) > 1 for words in ru.read_nouns().values()) >= 40
    assert sum(len(words) > 1 for words in ru.read_adjectives().values()) >= 12


def test_every_form_is_cyrillic() -> None:
    forms = [form for noun in NOUNS.values() for form in (*noun.singular.values(), *noun.plural.values(), noun.counted)]
    forms += [noun.place for noun in NOUNS.values()]
    forms += [form for adjective in ADJECTIVES.values() for form in adjective.forms.values()]
    forms += [form for adjective in ADJECTIVES.values() if adjective.short for form in adjective.short.values()]
    forms += [form for adjective in ru.read_special_adjectives().values() for form in adjective.forms.values()]
    forms += [form for number in NUMBERS.values() for form in (*number.forms.values(), number.feminine)]
    forms += [form for name in ru.read_names().values() for word in name.words for form in word.values()]
    assert [form for form in forms if not CYRILLIC.fullmatch(form)] == []

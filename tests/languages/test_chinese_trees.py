"""Chinese trees are those of the treebank, units meet those of other languages, and every concept has a word."""

from collections import defaultdict
from random import Random

import pytest

from isoglot.languages.grammars.chinese import Chinese
from isoglot.languages.grammars.english import English
from isoglot.languages.grammars.lexicon import read_table
from isoglot.languages.meaning import Meaning, Name, Part, Thing, number_units
from isoglot.languages.random_meanings import Sampler
from isoglot.languages.sentence import Sentence, align
from tests.languages.chinese_said import BREAD, a, act, check_tree, prop, said


def test_the_tree_is_that_of_the_treebank(chinese: Chinese) -> None:
    sentence = said(
        chinese, act("see", Name("Anna Weber"), a("horse", adjective="beautiful"), place="forest", manner="carefully")
    )
    found = list(zip(sentence.words, sentence.tags, sentence.heads, sentence.relations, strict=True))
    assert found == [
        ("安娜", "PROPN", 9, "nsubj"),
        ("·", "PUNCT", 3, "punct"),
        ("韦伯", "PROPN", 1, "flat:name"),
        ("在", "ADP", 5, "case"),
        ("森林", "NOUN", 9, "obl"),
        ("里", "ADP", 5, "case"),
        ("仔细", "ADJ", 9, "advmod"),
        ("地", "SCONJ", 7, "mark:adv"),
        ("看见", "VERB", 0, "root"),
        ("了", "AUX", 9, "aux"),
        ("一", "NUM", 15, "nummod"),
        ("匹", "NOUN", 11, "clf"),
        ("美丽", "ADJ", 15, "amod"),
        ("的", "SCONJ", 13, "mark:rel"),
        ("马", "NOUN", 9, "obj"),
        ("。", "PUNCT", 9, "punct"),
    ]
    assert sentence.entities[:4] == ["B-PER", "I-PER", "I-PER", "O"]


def test_an_organisation_is_headed_by_its_last_word(chinese: Chinese) -> None:
    sentence = said(chinese, act("sell", Name("Nordia Bank"), a("house")))
    assert sentence.words[:2] == ["诺迪亚", "银行"]
    assert sentence.tags[:2] == ["PROPN", "NOUN"]
    assert sentence.relations[:2] == ["nmod", "nsubj"]
    assert sentence.entities[:3] == ["B-ORG", "I-ORG", "O"]


def tree(sentence: Sentence) -> list[str]:
    """Each word with its tag, its relation and the word it hangs on."""
    heads = [sentence.words[head - 1] if head else "-" for head in sentence.heads]
    rows = zip(sentence.words, sentence.tags, sentence.relations, heads, strict=True)
    return [f"{word}/{tag} {relation} {head}" for word, tag, relation, head in rows]


def test_function_words_hang_as_in_the_treebank(chinese: Chinese) -> None:
    """Counted in the dev and test parts of UD Chinese-GSDSimp, where each of these is all but the only analysis."""
    knife = tree(said(chinese, act("cut", "cook", BREAD, instrument=a("knife"))))
    assert knife[1:3] == ["用/VERB advcl 切", "刀/NOUN obj 用"]
    letter = tree(said(chinese, act("send", "secretary", a("letter"), recipient="boss")))
    assert letter[1:3] == ["给/VERB advcl 寄", "老板/NOUN obj 给"]
    book = tree(said(chinese, act("give", "mother", "book", recipient="child")))
    assert book[1:6] == [
        "把/ADP case 书", "书/NOUN obl:patient 给", "给/VERB root -", "了/AUX aux 给", "孩子/NOUN iobj 给",
    ]  # fmt: skip
    assert tree(said(chinese, prop("red", "apple")))[1:4] == ["是/AUX cop 红", "红/ADJ root -", "的/PART discourse 红"]
    now = tree(said(chinese, act("eat", "child", BREAD, tense="present", time="now")))
    assert now[2:4] == ["正/ADV advmod 吃", "在/ADV advmod 吃"]
    country = tree(said(chinese, act("visit", "king", "country")))
    assert country[3:6] == ["那/DET det 个", "个/NOUN clf 国家", "国家/NOUN obj 访问"]
    some = tree(said(chinese, act("see", "king", a("child", plural=True))))
    assert some[3] == "一些/ADJ amod 孩子"
    talk = said(chinese, act("see", "dog", a("horse")), "and", act("cry", "child"), talk=True)
    assert "哭/VERB parataxis 看见" in tree(talk)


def test_a_pronoun_for_what_a_relative_clause_is_about_says_so(chinese: Chinese) -> None:
    cow = Thing("cow", relative=act("milk_cow", "farmer", None), gap="patient")
    sentence = said(chinese, prop("big", cow))
    units = dict(zip(sentence.words, sentence.units, strict=True))
    assert units["给"] == units["它"] == units["的"] == cow.unit * 8 + Part.RELATIVE


def test_units_meet_those_of_english(chinese: Chinese) -> None:
    meaning = number_units(
        Meaning(act("sell", "baker", a("cake", plural=True, count=3, adjective="sweet"), negative=True))
    )
    english, translated = English().render(meaning), chinese.render(meaning)
    pairs = {(english.words[i], translated.words[j]) for i, j in align(english, translated)}
    assert {("baker", "面包师"), ("sell", "卖"), ("not", "没有"), ("three", "三"), ("sweet", "甜")} <= pairs


def test_function_words_carry_their_parts(chinese: Chinese) -> None:
    house = a("house", relative=act("build", "carpenter", None), gap="patient", adjective="red")
    sentence = said(
        chinese, act("see", "king", house, negative=True, place="city"), "because", prop("golden", "ring"), talk=True
    )
    parts: dict[str, set[int]] = defaultdict(set)
    for word, unit in zip(sentence.words, sentence.units, strict=True):
        parts[word].add(unit % 8 if unit >= 0 else -1)
    assert parts["没"] == {Part.NEGATION}
    assert parts["在"] == parts["里"] == {Part.MARKER}
    assert Part.RELATIVE in parts["的"]
    assert parts["红"] == {Part.ADJECTIVE}
    assert parts["因为"] == {Part.LINK}
    assert parts["是"] == {Part.COPULA}
    one = said(chinese, act("see", "king", a("horse")))
    assert one.units[one.words.index("一")] % 8 == Part.DETERMINER
    counted = said(chinese, act("see", "king", a("horse", plural=True, count=2)), question=True)
    units = dict(zip(counted.words, counted.units, strict=True))
    assert (units["两"] % 8, units["匹"] % 8, units["吗"] % 8) == (Part.NUMBER, Part.CLASSIFIER, Part.QUESTION)


def test_every_word_is_glued(chinese: Chinese) -> None:
    sentence = said(chinese, act("eat", "child", BREAD))
    assert " " not in sentence.text
    assert sentence.glued == set(range(1, len(sentence.words) + 1))


def test_many_meanings_have_trees(chinese: Chinese) -> None:
    random = Random(20)  # noqa: S311 - nothing secret
    for topic in chinese.world.topics:
        for register in ("encyclopaedic", "conversational"):
            sampler = Sampler(random, topic, register)
            for _ in range(40):
                sentence = chinese.render(sampler.meaning(), sampler.wording())
                check_tree(sentence)
                assert "的的" not in sentence.text
                assert "正在在" not in sentence.text


def test_every_concept_has_words(chinese: Chinese) -> None:
    world = chinese.world
    assert set(chinese.nouns) == {c for c, noun in world.nouns.items() if noun.spoken}
    assert set(chinese.verbs) == set(world.verbs)
    assert set(chinese.adjectives) == set(world.adjectives)
    assert set(chinese.adverbs) >= set(world.adverbs)
    assert set(chinese.number_words) == set(world.numbers)
    assert set(chinese.names) == set(world.names)
    for concept, nouns in chinese.nouns.items():
        assert world.nouns[concept].mass or all(noun.measure for noun in nouns), concept
        for number in range(len(nouns)):
            said(chinese, act("see", "king", a(concept)), synonyms=0xFFFF * number)
    for adjective in chinese.adjectives.values():
        assert all(row.mode in {"很", "是", "了", "着"} for row in adjective)


@pytest.mark.parametrize("table", ["nouns", "verbs", "adjectives"])
def test_no_two_concepts_share_a_word(table: str) -> None:
    column = "attribute" if table == "adjectives" else "lemma"
    owners: dict[str, set[str]] = defaultdict(set)
    for row in read_table("zh", table):
        owners[row[column]].add(row["concept"].split("_")[0] if table == "verbs" else row["concept"])
    assert not {word: found for word, found in owners.items() if len(found) > 1}


@pytest.mark.parametrize(("table", "least"), [("nouns", 40), ("verbs", 15), ("adjectives", 12), ("adverbs", 3)])
def test_there_are_synonyms(table: str, least: int) -> None:
    concepts = [row["concept"] for row in read_table("zh", table)]
    assert len(concepts) - len(set(concepts)) >= least

"""Test pairs and training texts of English and its twins."""

from __future__ import annotations

import pytest

from isoglot.languages.corpus import documents, split_of
from isoglot.languages.random_meanings import zipf
from isoglot.languages.twins import unshift
from isoglot.study.demo.twin_pairs import TwinLanguage, WordOrder, held_out, pair_documents, paired

ORDERS: tuple[WordOrder, ...] = ("same", "verb-last", "mirrored")


def english(sentence: str) -> list[str]:
    return [word if word.isascii() else unshift(word) for word in sentence.split(" ")]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("anchors", [0.0, 0.2, 1.0])
def test_a_twin_says_the_same_words(order: WordOrder, anchors: float):
    sentences = held_out(40, 0)
    one, other = paired(sentences, TwinLanguage(order=order, anchors=anchors))
    assert [sorted(words.split(" ")) for words in one] == [sorted(english(words)) for words in other]
    if order == "same":
        assert [words.split(" ") for words in one] == [english(words) for words in other]
    else:
        assert sum(words.split(" ") != english(twin) for words, twin in zip(one, other, strict=True)) > 30
    plain = {word.isascii() for words in other for word in words.split(" ")}
    assert plain == {0.0: {False}, 0.2: {False, True}, 1.0: {True}}[anchors]


def test_verb_last_moves_verbs_alone():
    """What is no verb and has none below it keeps its order; a sentence of one verb ends with it."""
    sentences = [s for s in held_out(200, 0) if s.tags.count("VERB") == 1 and "AUX" not in s.tags]
    _, others = paired(sentences, TwinLanguage(order="verb-last", anchors=1.0))
    assert len(sentences) > 20
    for sentence, other in zip(sentences, others, strict=True):
        verb = sentence.tags.index("VERB")
        rest = sentence.words[:verb] + sentence.words[verb + 1 : -1]
        assert other.split(" ") == [*rest, sentence.words[verb], sentence.words[-1]]


def test_held_out_sentences_are_different_and_of_the_test_part():
    sentences = held_out(100, seed=3)
    assert len({tuple(sentence.words) for sentence in sentences}) == 100
    assert all(5 <= len(sentence.words) <= 20 for sentence in sentences)
    assert {split_of(sentence.meaning) for sentence in sentences} == {"test"}
    assert {split_of(sentence.meaning) for sentence in held_out(20, seed=3, split="dev")} == {"dev"}


def test_a_document_whose_topic_stays_the_same_stays_the_same():
    """Where two lists of topics agree, so do the documents; elsewhere they are about the other topic."""
    one, other = (documents("en", seed=1, topics=zipf(topics)) for topics in (["home", "sea"], ["home", "palace"]))
    kinds = set()
    for _ in range(30):
        left, right = next(one), next(other)
        topics = left[0].meaning.topic, right[0].meaning.topic
        assert topics in {("home", "home"), ("sea", "palace")}
        assert ([s.words for s in left] == [s.words for s in right]) == (topics[0] == topics[1])
        kinds.add(topics)
    assert len(kinds) == 2


def test_the_two_texts_do_not_say_the_same():
    texts = pair_documents(TwinLanguage(anchors=1.0), 300, seed=4)
    one, other = ([line for document in text for line in document] for text in texts)
    assert len(one) >= 300
    assert len(other) >= 300
    assert len(set(one) & set(other)) < 0.05 * len(one)  # short ones come twice by chance

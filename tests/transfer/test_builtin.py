"""Built-in examples: a twin says the same, word for word, with the same tree and the same names."""

from __future__ import annotations

from collections import Counter

import pytest

from isoglot.languages.builtin import annotated_sentences, inference_examples, topic_examples
from isoglot.languages.twins import unshift
from isoglot.transfer.scoring.metrics import spans
from tests.errors import raises


def made(language: str, **options):
    return list(annotated_sentences(language, "dev", 40, seed=2, part="ner", spaced=False, **options))


def arcs(sentence) -> Counter[tuple[str, str, str]]:
    """Each word with its head and relation, wherever they stand."""
    words = ["ROOT", *sentence.words]
    return Counter(zip(sentence.words, (words[head] for head in sentence.heads), sentence.relations, strict=True))


def test_another_order_keeps_tree_and_names():
    for one, other in zip(made("en"), made("en-x-order"), strict=True):
        assert Counter(one.words) == Counter(other.words)
        assert arcs(one) == arcs(other)
        assert Counter(span.kind for span in spans(one.entities)) == Counter(s.kind for s in spans(other.entities))
        assert all(other.blanks)
    assert any(one.words != other.words for one, other in zip(made("en"), made("en-x-order"), strict=True))


def test_another_script_keeps_all_but_the_letters():
    for one, other in zip(made("en"), made("en-x-shift"), strict=True):
        assert tuple(unshift(word) for word in other.words) == one.words
        assert (one.heads, one.relations, one.tags, one.entities) == (
            other.heads,
            other.relations,
            other.tags,
            other.entities,
        )


def test_blanks_are_as_written():
    assert all(sentence.blanks[-2:] == (False, True) for sentence in made("en") if sentence.words[-1] == ".")
    assert not any(any(sentence.blanks[:-1]) for sentence in made("zh"))


def test_pairs_and_texts_of_twins():
    (plain, label), (other, same) = (
        next(inference_examples(code, "test", 1, seed=1, spaced=True)) for code in ("en", "en-x-shift")
    )
    assert label == same
    assert [" ".join(map(unshift, text.split())) for text in other] == list(plain)
    assert (
        next(topic_examples("en", "test", 1, seed=1, spaced=True))[1]
        == next(topic_examples("zh", "test", 1, seed=1, spaced=False))[1]
    )


@pytest.mark.parametrize("language", ["sw", "en-x-freq"])
def test_languages_that_are_not_built_in(language):
    with raises("config.built-in-language", language):
        made(language)

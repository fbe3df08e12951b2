"""What is exported reads text as ours does, and a mask as one id in the place of a word."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from isoglot.vocab import Vocabulary, train_vocabulary
from isoglot.vocab.subword_scheme import for_masked_text

MODES = ("joint", "union", "disjoint", "graded")
MODELS = ("bpe", "wordpiece", "unigram")
NASTY = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" ▁\t\u00a0\u0301#[a1.ﬁ字"), max_size=30)


@pytest.fixture(scope="module")
def formed(texts):
    """``formed(normalization, unknown)``: a joint vocabulary in which some characters have no piece."""

    @cache
    def train(normalization: str, unknown: str) -> Vocabulary:
        return train_vocabulary(texts, mode="joint", size=400, normalization=normalization, unknown=unknown)

    return train


@cache
def exported(vocabulary: Vocabulary, language: str) -> Tokenizer:
    return Tokenizer.from_str(for_masked_text(vocabulary.view(language)))


def assert_same_ids(vocabulary: Vocabulary, text: str, language: str) -> None:
    assert exported(vocabulary, language).encode(text, add_special_tokens=False).ids == vocabulary.encode(
        text, language
    )


@given(text=NASTY)
def test_any_text_has_the_same_ids_in_every_mode_and_model(trained, text: str):
    for mode in MODES:
        assert_same_ids(trained(mode), text, "de")
    for model in MODELS:
        assert_same_ids(trained("union", model), text, "fr")


@given(text=NASTY)
def test_any_text_has_the_same_ids_in_every_normal_form(formed, text: str):
    for normalization in ("nfc", "nfkc", "none"):
        for unknown in ("bytes", "unk"):
            assert_same_ids(formed(normalization, unknown), text, "en")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("mode", MODES)
def test_a_masked_sentence_has_the_ids_of_the_sentence_but_one(trained, lines, mode: str, model: str):
    vocabulary = trained(mode, model)
    mask, masked = vocabulary.special["[MASK]"], 0
    for code, text in lines.items():
        tokenizer = exported(vocabulary, code)
        for sentence in [line for line in text if line][:40]:
            ids = vocabulary.encode(sentence, code)
            for word in re.finditer(r"(?<!\S)[^\W\d_]+(?![\w'’-])", sentence):
                own = vocabulary.encode(word[0], code)
                if len(own) == 1:
                    before = len(vocabulary.encode(sentence[: word.start()].rstrip(), code))
                    assert ids[before] == own[0]
                    shown = f"{sentence[: word.start()]}[MASK]{sentence[word.end() :]}"
                    wanted = [*ids[:before], mask, *ids[before + 1 :]]
                    assert tokenizer.encode(shown, add_special_tokens=False).ids == wanted
                    masked += 1
    assert masked > 100

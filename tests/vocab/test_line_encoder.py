"""The fast way gives the tokenizer's own ids, whatever the text and however little it may remember."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.languages import documents
from isoglot.vocab import line_encoder, train_vocabulary
from isoglot.vocab.line_encoder import LineEncoder, id_type
from tests.errors import raises

MODELS = ("bpe", "wordpiece", "unigram")
# Blanks of many kinds, marks, signs that NFC and NFKC change, and words that repeat.
WORD = st.sampled_from(
    [
        "the",
        "cat",
        "sleeps.",
        "(the",
        "#",
        "▁",
        "½",
        "´a",
        "e\u0301",
        "\u00a0",
        "ﬁ",
        "Å",
        "\u2126",
        "𝒳",
        "\U00011382\U000113c9",
        "日本",
        "[MASK]",
        "x1y2",
        "\t",
        "",
    ]
)
LINE = st.lists(st.one_of(WORD, st.text(st.characters(exclude_categories=["Cs"]), max_size=6)), max_size=12).map(
    " ".join
)


def same_ids(encoder: LineEncoder, tokenizer, lines: list[str]) -> None:
    found = [np.frombuffer(raw, encoder.dtype).tolist() for raw in encoder.encode(lines)]
    wanted = [encoding.ids for encoding in tokenizer.encode_batch_fast(lines, add_special_tokens=False)]
    assert found == wanted


@settings(max_examples=40)
@given(blocks=st.lists(st.lists(LINE, max_size=6), min_size=1, max_size=4))
@pytest.mark.parametrize("model", MODELS)
def test_the_ids_are_the_tokenizers_own(trained, model: str, blocks):
    vocabulary = trained("union", model)
    encoder = vocabulary.line_encoder("fr")
    for block in blocks:
        same_ids(encoder, vocabulary.tokenizer("fr"), block)


@settings(max_examples=40)
@given(blocks=st.lists(st.lists(LINE, max_size=6), min_size=1, max_size=4))
def test_they_are_with_next_to_no_memory(trained, blocks):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_encoder, "_REMEMBERED", 3)
        patch.setattr(line_encoder, "_GROUP", 2)
        patch.setattr(line_encoder, "_PART", 10)
        patch.setattr(line_encoder, "_BATCH", 2)
        vocabulary = trained("joint", "wordpiece")
        encoder = vocabulary.line_encoder("en")
        for block in blocks:
            same_ids(encoder, vocabulary.tokenizer("en"), block * 3)


@pytest.fixture(scope="module")
def by_form(texts):
    return {
        form: train_vocabulary({"en": texts["en"]}, mode="joint", size=500, normalization=form)
        for form in ("nfc", "nfkc", "none")
    }


@settings(max_examples=40)
@given(block=st.lists(LINE, max_size=8))
@pytest.mark.parametrize("form", ["nfc", "nfkc", "none"])
def test_they_are_in_every_normal_form(by_form, form: str, block):
    same_ids(by_form[form].line_encoder("en"), by_form[form].tokenizer("en"), block * 2)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_they_are_on_running_text(trained, language: str, model: str):
    vocabulary = trained("disjoint", model)
    encoder = vocabulary.line_encoder(language)
    made = [sentence.text for document in islice(documents(language, seed=9), 200) for sentence in document]
    for start in range(0, len(made), 600):
        same_ids(encoder, vocabulary.tokenizer(language), made[start : start + 600])
    assert encoder._known  # the short way was taken


def test_long_lines_are_encoded_in_parts(trained):
    vocabulary = trained("joint")
    line = "the cat sleeps " * 20_000 + "日" * 30_000
    same_ids(vocabulary.line_encoder("en"), vocabulary.tokenizer("en"), [line, "", "a b"])


def test_a_word_without_end_is_refused(trained):
    with raises("input.line-length", "1,000,001"):
        trained("joint").line_encoder("en").encode(["x " + "日" * 1_000_001])


def test_wide_ids_where_narrow_ones_do_not_fit():
    assert [id_type(size).str for size in (5, 65_536, 65_537)] == ["<u2", "<u2", "<u4"]

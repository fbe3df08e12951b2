from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.cleaning.segmentation import LineSegmenter, segmenter, word_method, word_spans
from tests.errors import raises

pieces = st.sampled_from(["don't", "l'", "-", "'", "’", "aujourd'hui", "3.5", "北京", "ひら", "カタ", "http://a.b/c.", "...", " ", "\u0301", "\ue000", "ʼ", "a-t-il", "½", "👍", "n't"])  # fmt: skip
texts = st.lists(pieces | st.text(max_size=5), max_size=12).map("".join)
LANGUAGES = ["en", "fr", "de", "ru", "zh", "it", "hi", "th", "en-x-shift"]


@given(texts, st.sampled_from(LANGUAGES))
def test_nothing_is_lost_but_white_space(text: str, language: str):
    words = segmenter(language)(text)
    assert "".join(words) == "".join(text.split())
    assert all(words)
    assert not any(sign.isspace() for word in words for sign in word)
    assert [text[start:end] for start, end in word_spans(text, words)] == words


@given(texts, st.sampled_from(LANGUAGES))
def test_segmented_text_stays_segmented_at_its_blanks(text: str, language: str):
    """Words never span white space, so segmenting word by word is segmenting the line."""
    split = segmenter(language)
    assert [part for word in text.split() for part in split(word)] == split(text)


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "I can't, won't; John's and DON'T.", "I ca n't , wo n't ; John 's and DO N'T ."),
        ("en", "They’ll say it’s 1,234.5 or 12:30 -- well-known!!!", "They ’ll say it ’s 1,234.5 or 12:30 -- well-known !!!"),
        ("en", "See https://a.org/b?c=1, ok", "See https://a.org/b?c=1 , ok"),
        ("en", "O'Neill 'quoted'", "O ' Neill ' quoted '"),
        ("fr", "C'est l'ami qu’il a vu aujourd'hui.", "C' est l' ami qu’ il a vu aujourd'hui ."),
        ("fr", "Y a-t-il peut-être un porte-avions ? Donne-le-moi", "Y a -t-il peut-être un porte-avions ? Donne -le -moi"),
        ("it", "dell'acqua un'altra", "dell' acqua un' altra"),
        ("de", "Der SPD-Politiker sagt: „Geht’s?“", "Der SPD-Politiker sagt : „ Geht’s ? “"),
        ("ru", "кто-то из-за 3,5 км…", "кто-то из-за 3,5 км …"),
        ("uk", "м'який п’ять", "м'який п’ять"),
        ("zh", "我们用Python 3.12写。", "我 们 用 Python 3.12 写 。"),
        ("ja", "東京でコンピュータを", "東 京 で コンピュータ を"),
        ("ko", "안녕 세계!", "안녕 세계 !"),
        ("hi", "नमस्ते दुनिया।", "नमस्ते दुनिया ।"),
        ("ar", "مُحَمَّد، نعم", "مُحَمَّد ، نعم"),
    ],
)  # fmt: skip
def test_textbook_cases(language: str, text: str, words: str):
    assert segmenter(language)(text) == words.split(" ")


def test_made_up_scripts_have_words():
    assert segmenter("en-x-shift")("\U000f0061\U000f0062 \ue000\ue001") == ["\U000f0061\U000f0062", "\ue000\ue001"]


def test_moses_is_moses():
    """The examples of the original tokenizer's manual, without escapes."""
    pytest.importorskip("sacremoses")
    split = segmenter("en", "moses")
    assert split("This, is a sentence with weird\xbb symbols\u2026 appearing everywhere\xbf") == [
        "This", ",", "is", "a", "sentence", "with", "weird", "\xbb", "symbols", "…", "appearing", "everywhere", "\xbf",
    ]  # fmt: skip
    assert split("Mr. Smith's & co. don't.") == ["Mr.", "Smith", "'s", "&", "co.", "don", "'t", "."]
    assert segmenter("fr", "moses")("l'ami d'Ana") == ["l'", "ami", "d'", "Ana"]


def test_chinese_words():
    pytest.importorskip("rjieba")
    assert segmenter("zh", "jieba")("我们来到 北京大学。") == ["我们", "来到", "北京大学", "。"]
    assert word_method("cmn-Hans") == "jieba"


def test_thai_words():
    pytest.importorskip("pythainlp")
    split = segmenter("th", "thai")
    assert split("แมวกินปลา ทุกวัน") == ["แมว", "กิน", "ปลา", "ทุกวัน"]
    assert "".join(split("ต่าง ๆ")) == "ต่างๆ"


def test_blanks_and_characters():
    assert segmenter("en", "blanks")(" a  b, ") == ["a", "b,"]
    assert segmenter("zh", "characters")("北 京A") == ["北", "京", "A"]


@pytest.mark.parametrize("name", ["sacremoses", "rjieba", "pythainlp"])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, name: str):
    language, method, extra = {"sacremoses": ("en", "moses", "moses"), "rjieba": ("zh", "jieba", "chinese"), "pythainlp": ("th", "thai", "thai")}[name]  # fmt: skip

    def absent(module: str) -> Any:
        raise ModuleNotFoundError(name=name)

    segmenter.cache_clear()
    monkeypatch.setattr("isoglot.core.optional.importlib.import_module", absent)
    with raises("missing-extra", name, f"isoglot[{extra}]"):
        segmenter(language, method)
    segmenter.cache_clear()


def test_wrong_methods():
    with raises("config.other-language", "'jieba'", "zh", "en"):
        segmenter("en", "jieba")
    with raises("config.unknown-name", "'mosse'"):
        segmenter("en", "mosse")


def test_words_of_another_text():
    with raises("config.not-supported", "'c'"):
        word_spans("a b c", ["a", "c"])


def test_lines_of_a_stream():
    assert LineSegmenter("en")(["It's.", ""]) == ["It 's .", ""]
    assert "sacremoses" not in sys.modules or LineSegmenter("en", "moses")(["It's."]) == ["It 's ."]

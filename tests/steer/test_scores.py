"""The figures of a token translation against examples worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from isoglot.steer import TokenSets, Translation, bleu_1, convert_rate, score_translation
from isoglot.steer.bleu import bleu_of_parts, bleu_parts
from isoglot.steer.scores import WordFinder, distinct_ratio, harmonic, neither_share
from isoglot.text.formats.dictionary import Entry
from isoglot.vocab import Vocabulary, train_vocabulary
from isoglot.vocab.subword_scheme import SPECIAL
from tests.errors import raises

ENGLISH = "the cat sleep ##s help ##ing me big house 3".split()
FRENCH = "le la chat dor ##t aide moi Maison".split()
CHINESE = "猫 帮 ##助 我 的".split()
OTHERS = "ひ ##ら カ ##タ ไ ##ท ລ ##າ ខ ##ម မ ##ြ བ ##ོ 한 ##글".split()
BOTH = [".", "'"]
SIDES = {"en": [*ENGLISH, *BOTH], "fr": [*FRENCH, *BOTH], "zh": [*CHINESE, *BOTH]}
TO_FRENCH = [
    Entry("the", "le"),
    Entry("the", "la"),
    Entry("cat", "chat"),
    Entry("sleeps", "dort"),
    Entry("house", "maison"),
    Entry("me", "moi"),
]
TO_CHINESE = {"cat": ["猫"], "helping": ["帮助"], "me": ["我"]}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory) -> Vocabulary:
    """A few pieces of three languages, continued with ##, as BERT has them."""
    pieces = dict.fromkeys([*SPECIAL, *ENGLISH, *FRENCH, *CHINESE, *OTHERS, *BOTH])
    made = Tokenizer(models.WordPiece({piece: index for index, piece in enumerate(pieces)}, unk_token=SPECIAL[1]))
    made.normalizer = normalizers.BertNormalizer(lowercase=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(list(SPECIAL))
    path = tmp_path_factory.mktemp("vocabulary") / "tokenizer.json"
    made.save(str(path))
    return Vocabulary.from_tokenizer(path)


@pytest.fixture(scope="module")
def sets(vocabulary) -> TokenSets:
    counts = {code: np.zeros(len(vocabulary)) for code in SIDES}
    for code, pieces in SIDES.items():
        counts[code][[vocabulary.pieces.index(piece) for piece in pieces]] = 1
    return TokenSets.from_counts(vocabulary, counts)


@pytest.fixture
def made(vocabulary, sets):
    """``made("the cat", "le chat", target)``: a translation of pieces with blanks between them."""

    def build(*pairs: tuple[str, str], target: str = "fr") -> Translation:
        ids = [[np.array([vocabulary.pieces.index(p) for p in text.split()]) for text in pair] for pair in pairs]
        given, out = [pair[0] for pair in ids], [pair[1] for pair in ids]
        return Translation("en", target, 1, 1.0, "mean", given, out, vocabulary, sets)

    return build


# --- convert rate ---


def test_the_papers_formula():
    """#(y in Vt - Vs) / (#y - #(y in Vs and Vt))."""
    sets = TokenSets({"en": np.array([1, 1, 1, 0, 0, 0]), "de": np.array([0, 0, 1, 1, 1, 0])})
    assert convert_rate([0, 1, 2, 2, 3, 4, 5], sets, "en", "de") == pytest.approx(2 / 5)
    assert convert_rate([0, 1, 2, 2, 3, 4, 5], sets, "de", "en") == pytest.approx(2 / 5)
    assert convert_rate([0, 1], sets, "en", "de") == 0.0
    assert convert_rate(np.array([3, 4, 2]), sets, "en", "de") == 1.0
    assert math.isnan(convert_rate([2, 2], sets, "en", "de"))
    assert neither_share([0, 1, 2, 2, 3, 4, 5], sets, "en", "de") == pytest.approx(1 / 7)
    assert math.isnan(neither_share([], sets, "en", "de"))


@given(st.lists(st.integers(0, 5), min_size=1))
def test_there_and_back_share_the_tokens_out(ids):
    sets = TokenSets({"en": np.array([1, 1, 1, 0, 0, 0]), "de": np.array([0, 0, 1, 1, 1, 0])})
    there, back = convert_rate(ids, sets, "en", "de"), convert_rate(ids, sets, "de", "en")
    counted = sum(index != 2 for index in ids)
    if counted:
        assert there + back + ids.count(5) / counted == pytest.approx(1)


def test_unknown_sets_and_tokens_are_refused():
    sets = TokenSets({"en": np.array([1, 0]), "de": np.array([0, 1])})
    with raises("config.unknown-name", "'fr'"):
        convert_rate([0], sets, "en", "fr")
    with raises("config.unknown-name", 7):
        convert_rate([0, 7], sets, "en", "de")


# --- precision ---


def test_all_right(made):
    scores = score_translation(made(("the cat sleep ##s .", "le chat dor ##t .")), dictionary=TO_FRENCH)
    assert (scores.tokens, scores.switched, scores.judged) == (5, 4, 4)
    assert (scores.convert_rate, scores.precision, scores.headline, scores.kept) == (1, 1, 1, 1)
    assert (scores.coverage, scores.begun, scores.distinct, scores.harmonic) == (1, 1, 1, 1)
    assert scores.neither == 0


def test_one_word_repeated_does_not_look_good(made):
    scores = score_translation(made(("the cat sleep ##s .", "le le le le .")), dictionary=TO_FRENCH)
    assert scores.convert_rate == 1
    assert scores.precision == scores.headline == scores.kept == pytest.approx(1 / 4)
    assert scores.distinct == pytest.approx(1 / 4)


def test_half_switched_and_half_of_that_right(made):
    """The -> la is right, cat stays, sleeps -> "chat" and "##s" stays: "chats" is no translation."""
    scores = score_translation(made(("the cat sleep ##s .", "la cat chat ##s .")), dictionary=TO_FRENCH)
    assert scores.convert_rate == pytest.approx(2 / 4)
    assert scores.precision == pytest.approx(1 / 2)
    assert scores.headline == pytest.approx(1 / 4)
    assert scores.kept == pytest.approx(3 / 4)  # la, cat and ##s
    assert scores.harmonic == pytest.approx(2 * 0.5 * 0.75 / 1.25)


def test_a_word_half_switched_is_begun_but_not_right(made):
    scores = score_translation(made(("sleep ##s", "dor ##s")), dictionary=TO_FRENCH)
    assert (scores.precision, scores.begun) == (0, 1)


def test_what_the_dictionary_does_not_have_is_not_judged(made):
    scores = score_translation(made(("the big cat .", "le la chat .")), dictionary=TO_FRENCH)
    assert (scores.switched, scores.judged, scores.precision) == (3, 2, 1)
    assert scores.coverage == pytest.approx(2 / 3)


def test_case_counts_for_nothing(made):
    assert score_translation(made(("house", "Maison")), dictionary=TO_FRENCH).precision == 1


def test_where_there_are_no_blanks_a_piece_is_a_word(made):
    pairs = ("the cat help ##ing me .", "的 猫 帮 ##助 我 .")
    scores = score_translation(made(pairs, target="zh"), dictionary=TO_CHINESE)
    assert (scores.judged, scores.precision) == (4, 1)  # 帮助 over the two pieces of helping
    wrong = score_translation(made(("cat me", "我 猫"), target="zh"), dictionary=TO_CHINESE)
    assert (wrong.judged, wrong.precision) == (2, 0)


def test_nothing_switched_is_nothing_right(made):
    scores = score_translation(made(("the cat .", "the cat .")), dictionary=TO_FRENCH)
    assert (scores.convert_rate, scores.precision, scores.headline, scores.kept) == (0, None, 0, 1)
    assert (scores.harmonic, scores.distinct, scores.coverage) == (0, None, None)


def test_all_shared_is_not_known(made):
    scores = score_translation(made((". '", "' .")), dictionary=TO_FRENCH)
    assert (scores.convert_rate, scores.headline, scores.kept, scores.harmonic) == (None, None, None, None)


def test_sentences_do_not_run_into_each_other(made):
    both = score_translation(made(("the", "le"), ("sleep ##s", "dor ##t")), dictionary=TO_FRENCH)
    assert (both.judged, both.precision) == (3, 1)


def test_figures_need_what_they_rest_on(made, vocabulary):
    translation = made(("the", "le"))
    assert score_translation(translation).precision is None
    with raises("input.empty"):
        score_translation(translation, dictionary=[])
    bare = Translation("en", "fr", 1, 1.0, "mean", translation.given, translation.made, vocabulary)
    with raises("config.missing-data"):
        score_translation(bare)


def test_harmonic_and_distinct():
    assert harmonic(0.5, 1.0) == pytest.approx(2 / 3)
    assert harmonic(0.0, 0.0) == 0.0
    none = np.zeros(2, dtype=bool)
    assert math.isnan(distinct_ratio(np.array([1, 2]), np.array([3, 3]), none))
    switched = np.array([True, True, True, False])
    assert distinct_ratio(np.array([1, 1, 2, 3]), np.array([9, 9, 9, 3]), switched) == 1 / 2  # 1 counts once
    assert distinct_ratio(np.array([1, 1, 2, 3]), np.array([8, 8, 9, 3]), switched) == 1


# --- words ---


def test_words_of_our_own_vocabularies_are_those_of_the_text(small_texts):
    vocabulary = train_vocabulary(small_texts, mode="joint", size=360, coverage=1.0)
    finder = WordFinder(vocabulary)
    ids = np.array(vocabulary.encode("Won't the big cats see 42 houses, Léo?", "en"))
    words = [finder.text(ids[first:last].tolist()) for first, last in finder.spans(ids)]
    assert words == ["Won", "'", "t", "the", "big", "cats", "see", "42", "houses", ",", "Léo", "?"]
    assert finder.spans(ids[:0]) == []


@pytest.mark.parametrize("decoder", [None, decoders.BPEDecoder(suffix="</w>")])
def test_words_that_end_with_a_mark_are_read_without_it(tmp_path: Path, decoder: decoders.Decoder | None):
    """XLM's tokenizers mark where a word ends (``</w>``); not all of them come with a decoder."""
    pieces = ["<pad>", "<unk>", "<s>", "</s>", "the</w>", "cat</w>", "sleep", "s</w>", ".</w>"]
    made = Tokenizer(models.BPE({piece: index for index, piece in enumerate(pieces)}, [], end_of_word_suffix="</w>"))
    if decoder is not None:
        made.decoder = decoder
    made.save(str(tmp_path / "tokenizer.json"))
    vocabulary = Vocabulary.from_tokenizer(tmp_path / "tokenizer.json")
    ids = np.arange(4, 9)
    finder = WordFinder(vocabulary)
    assert [finder.text(ids[first:last].tolist()) for first, last in finder.spans(ids)] == ["the", "cat", "sleeps", "."]
    assert vocabulary.decode(ids) == "the cat sleeps ."
    assert vocabulary.decode([5]) == "cat"


def test_a_piece_of_a_script_without_blanks_is_a_word_although_it_continues_one(vocabulary):
    def words(text: str) -> list[tuple[int, int]]:
        return WordFinder(vocabulary).spans(np.array([vocabulary.pieces.index(piece) for piece in text.split()]))

    assert words("帮 ##助 ##助 我") == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert words("help ##ing ##s 帮 ##助") == [(0, 3), (3, 4), (4, 5)]
    for pieces in ("ひ ##ら", "カ ##タ", "ไ ##ท", "ລ ##າ", "ខ ##ម", "မ ##ြ", "བ ##ོ"):
        assert words(pieces) == [(0, 1), (1, 2)], pieces
    assert words("한 ##글") == [(0, 2)]  # Korean has blanks


# --- BLEU-1 ---


def test_bleu_1_by_hand():
    assert bleu_1(["the the the"], ["the cat sleeps"], "en").score == pytest.approx(100 / 3)  # clipped
    assert bleu_1(["cat"], ["the cat"], "en").score == pytest.approx(100 * math.exp(-1))  # too short
    assert bleu_1(["sleeps cat the", "a b"], ["the cat sleeps", "c d"], "en").score == pytest.approx(60)
    assert bleu_1(["le chat ."], ["Le chat."], "fr").score == pytest.approx(200 / 3)  # case counts, blanks do not


def test_chinese_is_cut_into_characters():
    found = bleu_1(["我 们是 cat。"], ["我们是猫。"], "cmn")
    assert found.score == pytest.approx(80)
    assert found.signature.startswith("BLEU-1|nrefs:1|case:mixed|eff:no|tok:zh|smooth:exp|version:")
    assert "|tok:13a|" in bleu_1(["a"], ["a"], "de").signature


def test_every_sentence_has_a_reference(made):
    with raises("input.row-count", 1, 2):
        bleu_1(["a"], ["a", "b"], "en")
    with raises("input.empty"):
        bleu_1([], [], "en")
    scores = score_translation(made(("the cat .", "le chat .")), references=["le chat dort."])
    assert scores.bleu is not None
    assert scores.bleu.score == pytest.approx(100 * math.exp(1 - 4 / 3))


def test_what_bleu_1_counts_is_a_switch(small_texts):
    """Unchanged English shares its punctuation with German where signs are tokens, and where they are not, nothing."""
    english, german = ["We see a house, a cat."], ["Wir sehen ein Haus, eine Katze."]
    standard, whitespace, words = (
        bleu_1(english, german, "de", tokens=tokens).score for tokens in ("standard", "whitespace", "words")
    )
    assert standard == pytest.approx(25)  # two signs of eight tokens
    assert (whitespace, words) == (0, 0)
    assert bleu_1(["ein Haus"], ["ein, Haus!"], "de", tokens="whitespace").score == 0
    assert bleu_1(["ein Haus"], ["ein, Haus!"], "de", tokens="words").score == pytest.approx(100)
    assert bleu_1(["我们"], ["他们"], "zh", tokens="whitespace").score == pytest.approx(50)  # characters
    vocabulary = train_vocabulary(small_texts, mode="joint", size=400, coverage=1.0)
    same = bleu_1(["the cat"], ["the cat"], "en", tokens="subword", vocabulary=vocabulary)
    assert same.score == pytest.approx(100)
    assert same.signature.startswith("BLEU-1|subword|")
    with raises("config.missing-option"):
        bleu_1(["a"], ["a"], "en", tokens="subword")


def test_the_interval_of_bleu_1_is_that_of_resampled_sentences():
    texts, references = ["a b", "c d", "x y", "c"], ["a b", "c e", "v w", "c d"]
    draws_MN = np.random.default_rng(0).integers(4, size=(300, 4))
    every = [bleu_1([texts[i] for i in draw], [references[i] for i in draw], "en").score for draw in draws_MN]
    found_M = bleu_of_parts(bleu_parts(texts, references, "en")[draws_MN].sum(axis=1))
    assert found_M == pytest.approx(np.array(every))

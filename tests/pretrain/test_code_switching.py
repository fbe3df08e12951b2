"""The device replaces what the plain rule replaces, to the id; and what the offline switcher does, in the mean."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.languages import dictionary, documents
from isoglot.model.config import SharingPlan
from isoglot.pretrain.code_switching import CodeSwitchingConfig, DeviceSwitcher, span_hashes
from isoglot.pretrain.code_switching_table import (
    BARE,
    DIGIT,
    HYPHEN,
    LETTER,
    OPENS,
    POINT,
    WORD,
    Option,
    SwitchTable,
    check_switching,
    dictionaries_record,
)
from isoglot.pretrain.counter_rng import below, draws, high, host_draw, step_key, stream
from isoglot.text.cleaning.segmentation import segmenter
from isoglot.text.code_switching import CodeSwitchingRule, SwitchConfig, Switcher, drawn, select
from isoglot.text.formats.dictionary import Entry, read_dictionary, write_dictionary
from isoglot.vocab import Vocabulary, train_vocabulary
from tests.errors import raises
from tests.pretrain.plain_switching import decoded, plainly, spans_in, table_of

LANGUAGES = ("en", "fr", "de")
KINDS = [("joint", "bpe"), ("union", "bpe"), ("disjoint", "bpe"), ("union", "wordpiece"), ("union", "unigram")]


@cache
def lines_of(language: str) -> list[str]:
    return [sentence.text for document in islice(documents(language, seed=1), 400) for sentence in document]


@cache
def built_in() -> dict[tuple[str, str], list[Entry]]:
    return {pair: dictionary(*pair, sentences=4000).entries for pair in (("en", "fr"), ("de", "en"))}


SIGNS = '"Aa" (so) -- b-c; 3.50, CATS DOGS: it\'s two\n'


@cache
def table_for(vocabulary: Vocabulary, language: str) -> SwitchTable:
    """The built-in words of three languages."""
    return table_of(built_in(), vocabulary, language)


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory):
    """``vocabularies(mode, model)``, each trained once."""
    folder = tmp_path_factory.mktemp("texts")
    for language in LANGUAGES:
        (folder / language).write_text(SIGNS + "\n".join(lines_of(language)[:800]) + "\n", encoding="utf-8")
    texts = {language: [folder / language] for language in LANGUAGES}

    @cache
    def train(mode: str, model: str = "bpe") -> Vocabulary:
        return train_vocabulary(texts, mode=mode, size=700, model=model, coverage=1.0)

    return train


def stream_of(vocabulary: Vocabulary, language: str) -> torch.Tensor:
    return torch.tensor([index for ids in vocabulary.encode_batch(lines_of(language), language) for index in ids])


def rows_of(vocabulary: Vocabulary, language: str, window: int, count: int = 10**6) -> torch.Tensor:
    ids = stream_of(vocabulary, language)
    return ids[: len(ids) // window * window].reshape(-1, window)[:count]


# --- words ---


@pytest.mark.no_cover
@pytest.mark.parametrize("model", ["bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_words_are_those_of_the_offline_rule(vocabularies, language: str, model: str):
    """But for English and French apostrophes and for est-ce, which pieces do not show."""
    vocabulary = vocabularies("union", model)
    table = table_for(vocabulary, language)
    split = segmenter(language)
    compared = 0
    for line in lines_of(language)[:600]:
        if "'" in line or "-ce" in line:
            continue
        ids = [*vocabulary.encode(line, language), *vocabulary.encode("end", language)]
        found = [vocabulary.decode(ids[span.start : span.stop]).strip() for span in spans_in(table, ids) if span.word]
        assert found == [word for word in split(line) if any(sign.isalnum() for sign in word)]
        compared += len(found)
    assert compared > 2500


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("state-of-the-art 3.50, a2 b-", ["state-of-the-art", "3.50", "a2", "b"]),
        ('(so) -- "no" a-(b) 1-a', ["so", "no", "a", "b", "1", "a"]),
        ("cat's don't", ["cat", "s", "don", "t"]),
        ("a%b #c", ["a", "b", "c"]),  # signs the vocabulary has as bytes only
        ("a  b .c x.y 5.x", ["a", "b", "c", "x", "y", "5", "x"]),
    ],
)
def test_what_joins_and_what_does_not(vocabularies, text: str, words: list[str]):
    vocabulary = vocabularies("union")
    table = table_for(vocabulary, "en")
    ids = vocabulary.encode(text + " end", "en")
    assert [vocabulary.decode(ids[s.start : s.stop]).strip() for s in spans_in(table, ids) if s.word] == words


# --- the same as the plain rule ---


@pytest.mark.parametrize(("mode", "model"), KINDS)
@pytest.mark.parametrize(("rate", "cap"), [(0.3, 0.15), (1.0, 1.0)])
def test_the_device_does_what_the_plain_rule_does(vocabularies, mode: str, model: str, rate: float, cap: float):
    vocabulary = vocabularies(mode, model)
    for language in ("en", "fr"):
        table = table_for(vocabulary, language)
        raw = rows_of(vocabulary, language, 60, 12)
        switcher = DeviceSwitcher(table, window=60, length=40, rate=rate, cap=cap, seed=5)
        result = switcher.switched(raw, 9, torch.arange(100, 112))
        replaced = 0
        for row, ids in enumerate(raw.tolist()):
            plain, picks = plainly(table, ids, length=40, rate=rate, cap=cap, seed=5, step=9, row=100 + row)
            assert result.ids_BT[row].tolist() == plain
            assert int(result.replaced_B[row]) == len(picks)
            assert int(result.words_B[row]) == sum(span.word for span in spans_in(table, ids))
            replaced += len(picks)
        assert replaced > 12


@given(st.data(), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**40))
@settings(max_examples=60, deadline=None)
def test_any_ids_at_all(vocabularies, data: st.DataObject, rate: float, cap: float, step: int):
    """Rows that no text has: bare marks, bytes, signs in any order."""
    vocabulary = vocabularies("union")
    table = table_of_words(vocabulary)
    known = st.sampled_from([index for ids in table.entries for index in ids])
    odd = st.sampled_from([index for index, piece in enumerate(vocabulary.pieces) if piece in ("▁", "-", ".", "▁-", "s", "2", "[UNK]", "<0x41>", "('")])  # fmt: skip
    window = data.draw(st.integers(1, 24))
    length = data.draw(st.integers(1, window))
    ids = data.draw(st.lists(st.one_of(known, odd, st.integers(0, len(vocabulary) - 1)), min_size=window, max_size=window))  # fmt: skip
    switcher = DeviceSwitcher(table, window=window, length=length, rate=rate, cap=cap, seed=1)
    result = switcher.switched(torch.tensor([ids]), step, torch.tensor([3]))
    plain, picks = plainly(table, ids, length=length, rate=rate, cap=cap, seed=1, step=step, row=3)
    assert result.ids_BT.tolist() == [plain]
    assert len(picks) == int(result.replaced_B) <= int(result.with_entry_B) <= int(result.words_B)
    assert int(result.replaced_B) <= cap * int(result.words_B) + 1


@cache
def table_of_words(vocabulary: Vocabulary) -> SwitchTable:
    words = [Entry("s", "e"), Entry("a", "un chat", 2), Entry("a", "le"), Entry("the", "le"), Entry("2", "deux"), Entry("s-s", "a")]  # fmt: skip
    return table_of({("en", "fr"): words}, vocabulary, "en")


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=5), min_size=2, max_size=9, unique_by=tuple))
def test_hashes_tell_spans_apart(spans: list[list[int]]):
    assert len(set(span_hashes(spans).tolist())) == len(spans)


def test_a_batch_may_be_split_and_compiled(vocabularies):
    vocabulary = vocabularies("union")
    table = table_for(vocabulary, "en")
    raw, rows = rows_of(vocabulary, "en", 96, 16), torch.arange(7, 23)
    switcher = DeviceSwitcher(table, window=96, length=64, seed=2)
    whole = switcher.switched(raw, 4, rows).ids_BT
    parts = [switcher.switched(raw[part::2], 4, rows[part::2]).ids_BT for part in (0, 1)]
    assert torch.equal(torch.stack(parts, 1).flatten(0, 1), whole)
    assert not torch.equal(switcher.switched(raw, 5, rows).ids_BT, whole)
    compiled = torch.compile(switcher.switched, fullgraph=True, backend="eager")
    assert torch.equal(compiled(raw, torch.tensor(4), rows).ids_BT, whole)


# --- one rule for text and for ids ---


@cache
def whole_rows(vocabulary: Vocabulary, language: str) -> list[tuple[list[str], list[int]]]:
    """Lines whose words are the same in text and in ids, ended by a full stop."""
    table, split = table_for(vocabulary, language), segmenter(language)
    found = []
    for line in lines_of(language)[:300]:
        ids = vocabulary.encode(f"{line} .", language)
        words = [word for word in split(line) if any(sign.isalnum() for sign in word)]
        spans = [ids[span.start : span.stop] for span in spans_in(table, ids) if span.word]
        if [vocabulary.decode(span).strip() for span in spans] == words:
            found.append((words, ids))
    assert len(found) > 150
    return found


@pytest.mark.parametrize("model", ["bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_text_and_ids_have_the_same_candidates_with_the_same_probabilities(vocabularies, language: str, model: str):
    vocabulary = vocabularies("union", model)
    table, rule = table_for(vocabulary, language), CodeSwitchingRule(built_in())
    having = 0
    for words, ids in whole_rows(vocabulary, language):
        for word, span in zip(words, (span for span in spans_in(table, ids) if span.word), strict=True):
            candidates = rule.candidates(word, language)
            options = table.entries.get(tuple(ids[span.start : span.stop]), ())
            assert [(one.language, one.written) for one in options] == [(c.language, c.written) for c in candidates]
            assert [one.step / 2**32 for one in options] == pytest.approx([c.up_to for c in candidates], abs=2**-31)
            having += bool(candidates)
    assert having > 300


@pytest.mark.no_cover
@pytest.mark.parametrize(("rate", "cap"), [(0.3, 0.15), (0.8, 1.0)])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_random_numbers_switch_the_same_words_in_text_and_in_ids(
    vocabularies, language: str, rate: float, cap: float
):
    vocabulary = vocabularies("union")
    table, rule = table_for(vocabulary, language), CodeSwitchingRule(built_in())
    switched = 0
    for row, (words, ids) in enumerate(whole_rows(vocabulary, language)[:60]):
        spans = spans_in(table, ids)
        numbers = [number for number, span in enumerate(spans) if span.word]

        def draw(column: int, bits: int, row: int = row) -> float:
            return float(high(host_draw(3, f"switching {language}", 7, row, column), bits) / 2**bits)

        allowed = int(len(words) * round(cap * 2**24) / 2**24 + draw(0, 24))
        entries = [at for at, word in enumerate(words) if rule.candidates(word, language)]
        picks = select([draw(1 + 2 * numbers[at], 40) for at in entries], rate, allowed)
        expected = list(words)
        for at in (entries[pick] for pick in picks):
            value = draw(2 + 2 * numbers[at], 32)
            expected[at] = drawn(rule.candidates(words[at], language), value).written
        room = 4 * len(ids)
        switcher = DeviceSwitcher(table, window=room, length=room, rate=rate, cap=cap, seed=3)
        _, done = plainly(table, ids, length=len(ids), rate=rate, cap=cap, seed=3, step=7, row=row)
        assert [option.written for _, option in done] == [expected[entries[pick]] for pick in picks]
        stop = vocabulary.encode(".", language)
        padded = torch.tensor([[*ids, *(stop * room)[: room - len(ids)]]])
        result = switcher.switched(padded, 7, torch.tensor([row]))
        assert int(result.replaced_B) == len(picks)
        text = vocabulary.decode(result.ids_BT[0].tolist())
        found, written = (re.findall(r"\w+", some) for some in (text, " ".join(expected)))
        assert found[: len(written)] == written  # a row that runs short goes on with its beginning
        switched += len(picks)
    assert switched > 25


# --- the same as the offline switcher, in the mean ---


def test_defaults_are_the_offline_ones():
    online, offline = CodeSwitchingConfig(), SwitchConfig()
    assert (online.rate, online.cap) == (offline.rate, offline.cap)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_without_a_cap_the_rates_are_the_offline_ones(vocabularies, language: str):
    vocabulary = vocabularies("union")
    _, offline = Switcher(built_in(), cap=None).switch(lines_of(language), language)
    raw = rows_of(vocabulary, language, 192)
    switcher = DeviceSwitcher(table_for(vocabulary, language), window=192, length=128, cap=1.0)
    result = switcher.switched(raw, 0, torch.arange(len(raw)))
    words, having, replaced = (int(some.sum()) for some in (result.words_B, result.with_entry_B, result.replaced_B))
    error = math.sqrt(0.3 * 0.7 / having)
    assert abs(replaced / having - 0.3) < 4 * error
    assert abs(replaced / having - offline.replaced / offline.with_entry) < 4 * math.sqrt(2) * error
    # Rows cut a word in 40 in two; apostrophes of French make one word in 200 more.
    assert having / words == pytest.approx(offline.with_entry / offline.words, rel=0.02)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_with_a_full_dictionary_the_cap_binds_at_its_share(vocabularies, language: str):
    vocabulary = vocabularies("union")
    split = segmenter(language)
    known = {word.lower() for line in lines_of(language) for word in split(line)}
    full = {(language, "de"): [Entry(word, "haus") for word in sorted(known)]}
    _, offline = Switcher(full).switch(lines_of(language), language)
    raw = rows_of(vocabulary, language, 192)
    result = DeviceSwitcher(table_of(full, vocabulary, language), window=192, length=128).switched(
        raw, 0, torch.arange(len(raw))
    )
    share = int(result.replaced_B.sum()) / int(result.words_B.sum())
    assert offline.replaced / offline.words == pytest.approx(0.15, abs=1e-4)
    assert share == pytest.approx(0.15, abs=4 * 0.5 * math.sqrt(len(raw)) / int(result.words_B.sum()))
    assert (result.replaced_B <= 0.15 * result.words_B + 1).all()


def test_words_become_translations_as_often_as_offline(vocabularies):
    """Two texts, switched offline and here: a chi-square test that their words have one distribution."""
    vocabulary = vocabularies("union")
    split = segmenter("en")
    lines, _ = Switcher(built_in(), cap=None, seed=4).switch(lines_of("en"), "en")
    offline = Counter(word for line in lines for word in split(line))
    raw = rows_of(vocabulary, "en", 1024)
    switcher = DeviceSwitcher(table_for(vocabulary, "en"), window=1024, length=1024, cap=1.0, seed=4)
    ids = switcher.switched(raw, 0, torch.arange(len(raw))).ids_BT
    online = Counter(word for row in ids.tolist() for word in split(vocabulary.decode(row)))
    common = [word for word in offline | online if offline[word] + online[word] >= 20]
    total, other = sum(offline[word] for word in common), sum(online[word] for word in common)
    scale = math.sqrt(total / other)
    statistic = sum(
        (offline[word] / scale - online[word] * scale) ** 2 / (offline[word] + online[word]) for word in common
    )
    assert len(common) > 200
    assert statistic < len(common) + 4 * math.sqrt(2 * len(common))


def test_translations_are_drawn_by_weight_and_language(vocabularies):
    vocabulary = vocabularies("union")
    dictionaries = {
        ("en", "fr"): [Entry("cat", "chat", 3.0), Entry("cat", "chatte", 1.0), Entry("cat", "matou", 0.0)],
        ("de", "en"): [Entry("Katze", "cat"), Entry("Kater", "cat")],
    }
    table = table_of(dictionaries, vocabulary, "en")
    raw = torch.tensor(vocabulary.encode("cat " * 999 + "cat", "en")).repeat(8, 1)
    switcher = DeviceSwitcher(table, window=raw.shape[1], length=raw.shape[1], rate=1.0, cap=1.0)
    ids = switcher.switched(raw, 0, torch.arange(8)).ids_BT
    counts = Counter(word for row in ids.tolist() for word in vocabulary.decode(row).split()[:400])
    expected = {"chat": 3 / 8, "chatte": 1 / 8, "Katze": 1 / 4, "Kater": 1 / 4}
    offline = Switcher(dictionaries).probabilities("cat", "en")
    assert {word: share for (_, word), share in offline.items()} == pytest.approx(expected)
    assert set(counts) == set(expected)
    total = sum(counts.values())
    assert sum((counts[word] - total * share) ** 2 / (total * share) for word, share in expected.items()) < 16.3


# --- what stays ---


def test_case_and_marks_are_kept(vocabularies):
    found = {
        ("en", "fr"): [Entry("cat", "chat"), Entry("dog", "chien"), Entry("Dog", "Médor"), Entry("hot", "très chaud")]
    }
    for mode, model in KINDS:
        text = decoded(vocabularies(mode, model), '"Cat" (cat) CAT, dog Dog DOG; cats, hot-dog hot', found)
        assert text == '"Chat" (chat) CHAT, chien Médor CHIEN; cats, hot-dog très chaud'
        assert (
            text
            == Switcher(found, rate=1.0, cap=None).switch(['"Cat" (cat) CAT, dog Dog DOG; cats, hot-dog hot'], "en")[0][
                0
            ]
        )


def test_text_with_blanks_is_switched_as_ever():
    """To the bit: numbers of the first version, which knew of no other text."""
    import numpy as np

    traits = np.array([OPENS | WORD | LETTER, WORD | LETTER, 0, OPENS | BARE, HYPHEN, OPENS | WORD | DIGIT, POINT, WORD | DIGIT], "uint8")  # fmt: skip
    entries = {
        (0,): (Option("fr", "", (0, 1), 2**31), Option("fr", "", (5,), 2**32)),
        (0, 1): (Option("fr", "", (3, 1), 2**32),),
        (5, 6, 7): (Option("fr", "", (0,), 2**32),),
        (3, 1): (Option("fr", "", (0, 4, 1), 2**32),),
    }
    raw = below(draws(step_key(stream(3, "ids"), 1), torch.arange(64), 40), 8)
    switcher = DeviceSwitcher(SwitchTable("en", traits, entries, ()), window=40, length=30, rate=0.6, cap=0.4, seed=9)
    result = switcher.switched(raw, 12, torch.arange(64))
    assert (int(result.words_B.sum()), int(result.with_entry_B.sum()), int(result.replaced_B.sum())) == (898, 289, 170)
    assert sha256(result.ids_BT.numpy().tobytes()).hexdigest()[:16] == "8960cde333e6d293"


def test_rows_without_entries_stay(vocabularies):
    vocabulary = vocabularies("union")
    table = table_of({("en", "fr"): [Entry("xylophone", "xylophone")]}, vocabulary, "en")
    raw = rows_of(vocabulary, "en", 96, 20)
    for rate, cap in ((1.0, 1.0), (0.0, 1.0), (1.0, 0.0)):
        switcher = DeviceSwitcher(table, window=96, length=64, rate=rate, cap=cap)
        assert torch.equal(switcher.switched(raw, 0, torch.arange(20)).ids_BT, raw[:, :64])


def test_a_word_cut_by_the_edge_is_no_word(vocabularies):
    """The first may be the end of a longer one, and the last may go on."""
    vocabulary = vocabularies("union")
    table = table_of_words(vocabulary)
    rest = vocabulary.encode("(s the a", "en")[len(vocabulary.encode("(", "en")) :]
    switcher = DeviceSwitcher(table, window=len(rest), length=len(rest), rate=1.0, cap=1.0)
    result = switcher.switched(torch.tensor([rest]), 0, torch.tensor([0]))
    assert vocabulary.decode(rest) == "s the a"
    assert (int(result.words_B), int(result.replaced_B)) == (1, 1)
    assert vocabulary.decode(result.ids_BT[0].tolist()) == "s le a"


def test_a_row_that_runs_short_goes_on_with_its_beginning(vocabularies):
    vocabulary = vocabularies("union")
    word = "extraterrestrial"
    table = table_of({("en", "fr"): [Entry(word, "le")]}, vocabulary, "en")
    ids = vocabulary.encode(f"{word} {word} a", "en")
    switcher = DeviceSwitcher(table, window=len(ids), length=len(ids), rate=1.0, cap=1.0)
    result = switcher.switched(torch.tensor([ids]), 0, torch.tensor([0])).ids_BT[0].tolist()
    short = [*vocabulary.encode("le le", "fr"), *vocabulary.encode("a", "en")]
    assert result == [short[place % len(short)] for place in range(len(ids))]


def test_a_translation_has_the_ids_of_its_language(vocabularies):
    vocabulary = vocabularies("disjoint")
    table = table_for(vocabulary, "en")
    own = {code: set(vocabulary.ids_of(code).tolist()) for code in LANGUAGES}
    assert all(own["en"].issuperset(ids) for ids in table.entries)
    options = [option for some in table.entries.values() for option in some]
    assert all(own[option.language].issuperset(option.ids) for option in options)
    assert {option.language for option in options} == {"fr", "de"}


def test_what_is_no_word_as_ids_is_left_out_and_named(vocabularies):
    found = {("en", "fr"): [Entry("cat", "chat"), Entry("'s", "de"), Entry("cat", "l'"), Entry("two words", "x")]}
    assert table_of(found, vocabularies("union"), "en").left_out == ("'s",)
    assert table_of(found, vocabularies("union"), "fr").left_out == ("l'",)


# --- refusals and the record ---


def test_refusals(vocabularies):
    vocabulary = vocabularies("union")
    found = {("en", "fr"): [Entry("cat", "chat")]}
    with raises("config.missing-data", "'de'", "en, fr"):
        table_of(found, vocabulary, "de")
    with raises("config.missing-data", "en dictionaries"):
        table_of({("en", "fr"): [Entry("...", "chat")]}, vocabulary, "en")
    given_one = Vocabulary(mode="given", languages=["en", "fr"], views={"": "{}"})
    with raises("config.not-supported", "tokenizers"):
        table_of(found, given_one, "en")
    table = table_of(found, vocabulary, "en")
    with raises("config.invalid-value", 9, 8):
        DeviceSwitcher(table, window=8, length=9)
    with raises("config.invalid-value", "cap 1.5"):
        DeviceSwitcher(table, window=8, length=8, cap=1.5)


def test_private_tables_have_no_foreign_words():
    check_switching(SharingPlan.parse("sep-l1-3"))
    with raises("config.not-supported", "emb and softmax"):
        check_switching(SharingPlan.parse("sep-emb"))
    with raises("config.not-supported", "softmax"):
        check_switching(SharingPlan.parse("softmax"))


def test_the_record_has_the_words_of_each_dictionary_once(tmp_path: Path):
    path = tmp_path / "en-fr.txt"
    write_dictionary(path, [Entry("cat", "chat"), Entry("dog", "chien")])
    found = {("eng", "fr"): list(read_dictionary(path)), ("en", "de"): [Entry("cat", "Katze")]}
    first, second = dictionaries_record(found, {("eng", "fr"): path})
    assert (first.source, first.target, first.file) == ("en", "fr", "en-fr.txt")
    assert first.source_words == {"cat", "dog"}
    assert first.target_words == {"chat", "chien"}
    assert second.file == ""
    assert second.target_words == {"Katze"}
    assert len(dictionaries_record({**found, ("en", "fr"): found["eng", "fr"]})) == 2

"""The rate, the cap and the weights are those asked for; processes and seeds behave."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.code_switching import Switcher, switch_files, write_translations
from isoglot.text.formats.dictionary import Entry
from tests.errors import raises

WORDS = ["ba", "be", "bi", "bo", "bu"]
ENTRIES = [Entry("ba", "xa", 1.0), Entry("ba", "xb", 2.0), Entry("ba", "xc", 5.0), Entry("be", "xe"), Entry("bi", "xi")]
LINES = [" ".join(WORDS[(line + place) % 5] for place in range(20)) + "." for line in range(2000)]

words = st.sampled_from([*WORDS, "Ba", "BE", ",", "zz", "12"])
texts = st.lists(st.lists(words, max_size=12).map(" ".join), max_size=10)


def test_without_a_cap_the_rate_is_the_rate():
    _, report = Switcher({("en", "fr"): ENTRIES}, cap=None, seed=1).switch(LINES, "en")
    assert (report.words, report.with_entry) == (40_000, 24_000)
    error = math.sqrt(0.3 * 0.7 / report.with_entry)
    assert abs(report.replaced / report.with_entry - 0.3) < 4 * error


def test_translations_are_drawn_by_weight():
    switcher = Switcher({("en", "fr"): ENTRIES}, rate=1.0, cap=None, seed=3)
    _, report = switcher.switch(LINES, "en")
    expected = {("fr", "xa"): 1 / 8, ("fr", "xb"): 2 / 8, ("fr", "xc"): 5 / 8}
    assert switcher.probabilities("ba", "en") == pytest.approx(expected)
    counts = {translation: report.translations["ba", *translation] for translation in expected}
    total = sum(counts.values())
    chi_square = sum((counts[one] - total * share) ** 2 / (total * share) for one, share in expected.items())
    assert total == 8000
    assert chi_square < 13.8  # 2 degrees of freedom, p = 0.001


def test_words_that_survive_the_cap_are_no_special_words():
    """The cap must not prefer the start of a batch, nor one word to another."""
    switched, report = Switcher({("en", "fr"): ENTRIES}, rate=0.9, cap=0.1, seed=5).switch(LINES, "en")
    assert report.replaced == 4000
    half = sum(old != new for before, after in zip(LINES[:1000], switched[:1000], strict=True) for old, new in zip(before.split(), after.split(), strict=True))  # fmt: skip
    assert abs(half - 2000) < 4 * math.sqrt(1000)
    first = sum(count for (word, _, _), count in report.translations.items() if word == "ba")
    assert abs(first - 4000 / 3) < 4 * math.sqrt(4000 * 2 / 9)


@given(texts, st.floats(0, 1), st.floats(0, 1), st.integers(0, 9))
def test_the_cap_is_never_exceeded(lines: list[str], rate: float, cap: float, seed: int):
    switcher = Switcher({("en", "fr"): ENTRIES}, rate=rate, cap=cap, seed=seed)
    switched, report = switcher.switch(lines, "en")
    assert report.replaced <= cap * report.words + 1e-6
    assert report.replaced <= report.with_entry <= report.words
    changed = sum(old != new for before, after in zip(lines, switched, strict=True) for old, new in zip(before.split(), after.split(), strict=True))  # fmt: skip
    assert changed == report.replaced - report.unchanged
    assert sum(report.translations.values()) == report.replaced


@given(texts, st.floats(0, 0.5), st.integers(0, 9))
def test_a_higher_rate_switches_more_of_the_same(lines: list[str], rate: float, seed: int):
    low, _ = Switcher({("en", "fr"): ENTRIES}, rate=rate, cap=None, seed=seed).switch(lines, "en")
    high, _ = Switcher({("en", "fr"): ENTRIES}, rate=2 * rate, cap=None, seed=seed).switch(lines, "en")
    for before, one, two in zip(lines, low, high, strict=True):
        for word, lower, higher in zip(before.split(), one.split(), two.split(), strict=True):
            assert lower in (word, higher)


@given(texts, st.integers(0, 9))
def test_a_line_is_switched_the_same_wherever_its_batch_begins(lines: list[str], seed: int):
    switcher = Switcher({("en", "fr"): ENTRIES}, cap=None, seed=seed)
    whole, _ = switcher.switch(lines, "en")
    assert [switcher.switch([line], "en", first=number)[0][0] for number, line in enumerate(lines)] == whole


def test_either_direction_and_several_languages():
    switcher = Switcher(
        {("en", "fr"): [Entry("cat", "chat", 9.0)], ("deu", "en"): [Entry("Katze", "cat")]}, rate=1.0, cap=None
    )
    assert switcher.languages == ["de", "en", "fr"]
    assert switcher.probabilities("cat", "en") == {("fr", "chat"): 0.5, ("de", "Katze"): 0.5}  # each language alike
    assert switcher.switch(["Le chat, un Chat, CHAT"], "fr")[0] == ["Le cat, un Cat, CAT"]
    assert switcher.switch(["Die Katze"], "de")[0] == ["Die cat"]


def test_text_without_blanks_gets_them_around_words_that_have_them():
    switcher = Switcher({("en", "zh"): [Entry("love", "爱"), Entry("you", "你")]}, rate=1.0, cap=None)
    assert switcher.switch(["我爱你。", "爱,你"], "zh", method="unicode")[0] == ["我 love you。", "love,you"]
    assert switcher.switch(["I love you."], "en")[0] == ["I 爱 你."]


def test_phrases_and_weights_of_nothing():
    entries = [Entry("ice cream", "glace"), Entry("ice", "glace", 0.0), Entry("a", "b", 0.0)]
    switcher = Switcher({("en", "fr"): entries}, rate=1.0, cap=None)
    assert switcher.switch(["a ice cream"], "en")[0] == ["a ice cream"]
    assert switcher.switch(["une glace"], "fr")[0] == ["une ice cream"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"rate": 1.5}, ("config.invalid-value", "1.5")),
        ({"dictionaries": {("en", "eng"): []}}, ("config.other-language", "en")),
        ({"dictionaries": {("en", "fr"): [Entry("a", "b", -1.0)]}}, ("config.invalid-value", "-1.0", "'a'", "0")),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(arguments: dict[str, Any], expected: tuple[str, ...]):
    with raises(*expected):
        Switcher(**{"dictionaries": {}} | arguments)


def test_no_dictionary_for_the_text(tmp_path: Path):
    (tmp_path / "a.txt").write_text("a\n")
    with raises("config.missing-data", "'de'"):
        switch_files([tmp_path / "a.txt"], tmp_path / "b.txt", "de", Switcher({("en", "fr"): ENTRIES}))
    assert not (tmp_path / "b.txt").exists()


def test_processes_write_the_same_bytes(tmp_path: Path):
    (tmp_path / "a.txt").write_text("\n".join(LINES[:900]) + "\n\n" + "\n".join(LINES[900:]) + "\n")
    switcher = Switcher({("en", "fr"): ENTRIES}, seed=2)
    one = switch_files([tmp_path / "a.txt"], tmp_path / "1.txt", "en", switcher, batch_lines=100)
    two = switch_files([tmp_path / "a.txt"], tmp_path / "2.txt", "en", switcher, batch_lines=100, workers=2)
    assert (tmp_path / "1.txt").read_bytes() == (tmp_path / "2.txt").read_bytes() != (tmp_path / "a.txt").read_bytes()
    assert one == two
    assert one.facts()["share"] <= 0.15
    write_translations(tmp_path / "t.tsv", one)
    rows = [line.split("\t") for line in (tmp_path / "t.tsv").read_text().splitlines()]
    assert sum(int(row[3]) for row in rows) == one.replaced

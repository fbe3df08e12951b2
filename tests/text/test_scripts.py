from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.cleaning.scripts import OWN, RANGES, in_other_scripts, letter_table, scripts_of, written_with_blanks
from tests.errors import raises

NAMES = {"Latn": "LATIN", "Cyrl": "CYRILLIC", "Grek": "GREEK", "Arab": "ARABIC", "Deva": "DEVANAGARI", "Hani": "CJK UNIFIED", "Hang": "HANGUL", "Thai": "THAI", "Hira": "HIRAGANA", "Kana": "KATAKANA", "Armn": "ARMENIAN", "Hebr": "HEBREW", "Geor": "GEORGIAN", "Ethi": "ETHIOPIC", "Beng": "BENGALI", "Taml": "TAMIL"}  # fmt: skip


def test_ranges_agree_with_the_names_of_letters():
    """Independent of our table: the Unicode name of a letter begins with its script."""
    for script, name in NAMES.items():
        inside = {code for first, last in RANGES[script] for code in range(first, last + 1)}
        named = {
            code
            for code in range(0x20000)
            if unicodedata.category(chr(code))[0] == "L" and unicodedata.name(chr(code), "").startswith(name + " ")
        }
        rare = {code for code in named - inside if code > 0xFFFF}  # hieroglyphs of the alphabets: mathematics, seals
        assert len(named - inside - rare) <= 0.02 * len(named), script
        named_otherwise = tuple(f"{other} LETTER" for other in set(NAMES.values()) - {name})
        others = [hex(code) for code in inside if unicodedata.name(chr(code), "").startswith(named_otherwise)]
        assert others == [], script


def test_no_letter_has_two_scripts():
    spans = sorted((first, last, script) for script, ranges in RANGES.items() for first, last in ranges)
    for (_, last, one), (first, _, other) in pairwise(spans):
        assert last < first, (one, other)


@pytest.mark.parametrize(
    ("language", "scripts", "blanks"),
    [
        ("en", ("Latn",), True),
        ("rus", ("Cyrl",), True),
        ("zh", ("Hani",), False),
        ("zh-Hant", ("Hani", "Bopo"), False),
        ("ko", ("Hang", "Hani"), True),
        ("sr", ("Cyrl",), True),
        ("sr-Latn", ("Latn",), True),
        ("th", ("Thai",), False),
        ("zh-x-shift", ("Hani", "Zzzz"), False),
    ],
)
def test_languages(language: str, scripts: tuple[str, ...], blanks: bool):
    assert scripts_of(language) == scripts
    assert written_with_blanks(language) == blanks


def test_no_such_language():
    with raises("config.language-code", "'klingonese'"):
        scripts_of("klingonese")


def script_share(text: str, language: str) -> float:
    """The share of the letters that are of the language's scripts, letter by letter."""
    kinds = [int(letter_table(language)[ord(sign)]) for sign in text]
    letters = [kind for kind in kinds if kind]
    return letters.count(OWN) / len(letters) if letters else 1.0


def test_shares():
    assert script_share("Привет", "ru") == 1
    assert script_share("Привет", "en") == 0
    assert script_share("3.5 %", "en") == 1
    assert script_share("naïve Œuvre", "fr") == 1
    assert script_share("नमस्ते", "hi") == 1  # vowel signs too
    assert script_share("\U000f0061\ue000", "en-x-shift") == 1
    assert script_share("\U000f0061", "en") == 0


@given(st.lists(st.text("aбв漢 1\n\ue000", max_size=12)), st.sampled_from(["en", "ru", "zh", "en-x-shift"]), st.sampled_from([0.1, 0.3, 0.5, 1.0]))  # fmt: skip
def test_many_lines_at_once_are_judged_as_one_by_one(lines: list[str], language: str, least: float):
    expected = {number for number, line in enumerate(lines) if script_share(line, language) < least}
    assert in_other_scripts(lines, language, least_share=least) == expected

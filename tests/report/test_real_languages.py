"""What isoglot-mini made of sentences, on a page."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from isoglot.report.demo import real_sections
from isoglot.report.page import Page
from isoglot.steer.token_sets import TokenSets
from isoglot.steer.token_translation import Translation
from isoglot.study.demo.real_languages import RealLanguages
from isoglot.vocab import train_vocabulary


@pytest.fixture(scope="module")
def seen_languages(small_texts) -> RealLanguages:
    """An English sentence whose first token turns into one that only the other language has."""
    vocabulary = train_vocabulary(small_texts, mode="joint", size=400, coverage=1.0)
    english, other = (np.array(vocabulary.encode(text)) for text in ("the <b> man & woman", "voit"))
    counts = {code: np.zeros(len(vocabulary), dtype=int) for code in ("en", "fr", "zh")}
    counts["en"][english] = 1
    for code in ("fr", "zh"):
        counts[code][other[~np.isin(other, english)]] = 1
    made = english.copy()
    made[0] = np.flatnonzero(counts["fr"])[0]
    sets = TokenSets(counts, threshold=1)
    shifted = {
        code: Translation("en", code, 7, 2.0, "mean", [english], [made], vocabulary, sets) for code in ("fr", "zh")
    }
    return RealLanguages(shifted, {"fr": (0.574, 0.7), "zh": (0.25, 0.5)}, 40)


def test_sentences_stand_below_each_other_escaped(seen_languages: RealLanguages):
    section, _ = real_sections(seen_languages)
    words, html = " ".join(section.body[:2]), str(section.body[2])
    assert html.count("<table") == 1  # a block for each sentence
    assert html.count("<tr") == 3
    assert "<td lang='en'>the &lt;b&gt; man &amp; woman</td>" in html
    assert "<b>" not in html
    for code, name in (("fr", "French"), ("zh", "Chinese")):
        assert f">{name}</td><td lang='{code}'><span class='switched'" in html
    assert "English, French and Chinese" in words
    assert "added, 2 times, in layer 7;" in words
    assert "it has seen translated sentences too" in words


def test_what_was_found_is_a_table_with_chance(seen_languages: RealLanguages):
    _, section = real_sections(seen_languages)
    words, table = section.body
    assert table.dicts() == [
        {"language": "French", "raw": 0.574, "centered": 0.7},
        {"language": "Chinese", "raw": 0.25, "centered": 0.5},
    ]
    assert "English and" in table.text()
    assert "the nearest of 40 built-in sentences" in words
    assert "Chance is 2.5\u00a0%." in words


def test_without_a_search_there_is_no_table_of_it(seen_languages: RealLanguages):
    assert len(real_sections(RealLanguages(seen_languages.shifted, {}, 0))) == 1


def test_the_sections_in_a_browser(seen_languages: RealLanguages, seen: Callable[..., None]):
    seen(Page(title="Real languages", lead="What isoglot-mini makes of them.", sections=real_sections(seen_languages)))

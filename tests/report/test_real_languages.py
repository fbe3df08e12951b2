"""What isoglot-mini made of sentences, on a page."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from isoglot.report.page import page
from isoglot.report.real_languages import real_sections
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
    assert section.table.count("<table") == 1  # a block for each sentence
    assert section.table.count("<tr") == 3
    assert "<td lang='en'>the &lt;b&gt; man &amp; woman</td>" in section.table
    assert "<b>" not in section.table
    for code, name in (("fr", "French"), ("zh", "Chinese")):
        assert f">{name}</td><td lang='{code}'><span class='switched'" in section.table
    words = " ".join(section.words)
    assert "English, French and Chinese" in words
    assert "added, 2 times, in layer 7;" in words
    assert "it has seen translated sentences too" in words


def test_what_was_found_is_a_table_with_chance(seen_languages: RealLanguages):
    _, section = real_sections(seen_languages)
    cells = ("French", "57\u00a0%", "70\u00a0%"), ("Chinese", "25\u00a0%", "50\u00a0%")
    for name, raw, centered in cells:
        assert (
            f"<th scope='row'>{name}</th><td class='number'>{raw}</td><td class='number'>{centered}</td>"
            in section.table
        )
    assert "<th scope='col'>English and</th>" in section.table
    assert "the nearest of 40 built-in sentences" in section.words[0]
    assert "Chance is 2.5\u00a0%." in section.words[0]


def test_without_a_search_there_is_no_table_of_it(seen_languages: RealLanguages):
    assert len(real_sections(RealLanguages(seen_languages.shifted, {}, 0))) == 1


def test_the_sections_in_a_browser(seen_languages: RealLanguages, seen: Callable[[str], None]):
    seen(page("Real languages", "What isoglot-mini makes of them.", real_sections(seen_languages)))

"""Dictionaries from aligned bitext: what was planted comes back."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.align.words.induced_dictionary import InducedConfig, induce_dictionary, usual_case
from isoglot.align.words.word_aligner import train_aligner
from isoglot.text.code_switching import Switcher
from isoglot.text.formats.dictionary import Entry, read_dictionary, write_dictionary
from tests.errors import raises

LETTERS = "abcdefghij"


def planted(pairs: int = 500):
    """Sentences of fifty words, each with one translation, and one word with two."""
    rng = np.random.default_rng(8)
    lexicon = {f"{a}o{b}": f"{b}u{a}{a}" for a in LETTERS for b in LETTERS[:5]}
    words = list(lexicon)
    source, target = [], []
    for _ in range(pairs):
        line = [words[number] for number in rng.integers(len(words), size=8)]
        source.append(line)
        target.append(["zwei" if word == "aoa" and rng.random() < 0.3 else lexicon[word] for word in line])
    return lexicon, source, target


def test_a_planted_dictionary_is_recovered(tmp_path):
    lexicon, source, target = planted()
    aligner = train_aligner(zip(source, target, strict=True))
    links = aligner.align(zip(source, target, strict=True), "intersection")
    entries = induce_dictionary(source, target, links)
    best = {entry.source: entry.target for entry in reversed(entries)}
    assert best == lexicon
    assert {entry.target for entry in entries if entry.source == "aoa"} == {"auaa", "zwei"}
    write_dictionary(tmp_path / "d.tsv", entries, layout="weighted")
    assert list(read_dictionary(tmp_path / "d.tsv")) == entries


def test_counts_weigh_right_in_both_directions():
    source = [["discount"]] * 100
    target = [["Rabatt"]] * 97 + [["Gesamtrabatt"]] * 3
    links = [[(0, 0)]] * 100
    entries = induce_dictionary(source, target, links, InducedConfig(min_share=0.0, min_agreement=0.0))
    there = Switcher({("en", "de"): entries}).probabilities("discount", "en")
    assert there == pytest.approx({("de", "Rabatt"): 0.97, ("de", "Gesamtrabatt"): 0.03})
    shares = induce_dictionary(source, target, links, InducedConfig(min_agreement=0.0, weight="probability"))
    assert shares == [Entry("discount", "Rabatt", 0.97)]


def test_what_is_left_out():
    rows = {"Table": "table", "x1": "y1", "3": "3", ",": "，", "cat": "chat", "rare": "rar"}
    source, target = [[word] for word in rows], [[word] for word in rows.values()]
    source, target = source * 3, target * 3
    del source[-1], target[-1]  # two are too few
    links = [[(0, 0)]] * len(source)
    found = induce_dictionary(source, target, links)
    assert [(entry.source, entry.target) for entry in found] == [("cat", "chat")]
    everything = induce_dictionary(source, target, links, InducedConfig(kinds="all", min_count=1, case="lower"))
    assert {entry.source for entry in everything} == {"table", "x1", "3", ",", "cat", "rare"}


def test_a_translation_must_be_wanted_from_both_sides():
    """*le* in a third of the links of *rare*, and *rare* in a hundredth of those of *le*: 1/3 x 1/100 is too little."""
    source = [["rare"]] * 9 + [["the"]] * 297
    target = [["rar"]] * 6 + [["le"]] * 300
    links = [[(0, 0)]] * 306
    found = induce_dictionary(source, target, links)
    assert [(entry.source, entry.target) for entry in found] == [("the", "le"), ("rare", "rar")]
    every = induce_dictionary(source, target, links, InducedConfig(min_agreement=0.003))
    assert [(entry.source, entry.target) for entry in every] == [("the", "le"), ("rare", "rar"), ("rare", "le")]


def test_more_translations_than_are_wanted():
    target = [["a"]] * 5 + [["b"]] * 4 + [["c"]] * 3
    found = induce_dictionary([["w"]] * 12, target, [[(0, 0)]] * 12, InducedConfig(max_translations=2))
    assert [(entry.target, entry.weight) for entry in found] == [("a", 5.0), ("b", 4.0)]


def test_usual_case():
    text = [["Der", "Hund", "bellt"], ["Wir", "sehen", "der", "Katze", "zu", ".", "Der", "Rest"], ["Das", "Arbeiten"]]
    text += [["wir", "arbeiten", "und", "das", "Arbeiten", "ruht"], ["Arbeiten", "lohnt"]]
    found = usual_case(text)
    assert found[0] == ["der", "Hund", "bellt"]
    assert found[1][6:] == ["der", "Rest"]
    assert found[3][1] == "arbeiten"
    assert found[3][4] == "Arbeiten"


def test_what_does_not_fit_is_said():
    with raises("input.row-count", "1", "2"):
        induce_dictionary([["a"]], [["b"], ["c"]], [[]])
    with raises("input.out-of-range", "1"):
        induce_dictionary([["a"]], [["b"]], [[(0, 1)]])

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoglot.report.transfer import anchor_figure, anchor_page
from isoglot.report.transfer import anchor_finding as finding
from isoglot.vocab import anchor_report
from tests.errors import raises


@pytest.fixture(scope="module")
def counted(trained):
    """A vocabulary and counts that can be checked by hand."""
    vocabulary = trained("union")
    index = {vocabulary.word(i): i for i in range(len(vocabulary)) if vocabulary.word(i)}
    words = sorted(word for word in index if word.isalpha() and len(word) > 1)[:5]
    counts = {code: np.zeros(len(vocabulary), dtype=int) for code in ("en", "fr")}
    for word, english, french in zip(words, (10, 6, 4, 0, 0), (1, 4, 0, 5, 0), strict=True):
        counts["en"][index[word]] = english
        counts["fr"][index[word]] = french
    counts["en"][vocabulary.special["[MASK]"]] = 99
    return vocabulary, counts, words


def test_types_and_tokens_by_direction(counted):
    vocabulary, counts, _ = counted
    report = anchor_report(vocabulary, counts)
    (pair,) = report.pairs
    assert (pair.languages, pair.types, pair.anchors) == (("en", "fr"), {"en": 3, "fr": 3}, 2)
    assert pair.tokens == {"en": 0.8, "fr": 0.5}
    assert report.tokens == {"en": 20, "fr": 10}
    assert [friend.tokens for friend in pair.top] == [{"en": 6, "fr": 4}, {"en": 10, "fr": 1}]
    assert [(band.first, band.last, band.types, band.anchors) for band in pair.bands] == [(1, 4, 4, 2)]
    assert anchor_report(vocabulary, counts, at_least=2).pairs[0].anchors == 1


def test_bands_add_up(trained):
    for mode in ("joint", "union", "graded", "disjoint"):
        for pair in anchor_report(trained(mode)).pairs:
            assert sum(band.anchors for band in pair.bands) == pair.anchors
            for code in pair.languages:
                assert sum(band.tokens[code] for band in pair.bands) == pytest.approx(pair.tokens[code])
            assert [band.first for band in pair.bands][1:] == [band.last + 1 for band in pair.bands][:-1]
            assert (pair.anchors == 0) == (mode == "disjoint")


def test_a_sample_is_said_to_be_one(trained, counted):
    vocabulary, counts, _ = counted
    assert anchor_report(vocabulary, counts).sampled == {}
    assert anchor_report(vocabulary, counts).looked_at() == "Counted in 20 tokens of en and 10 tokens of fr"
    whole = trained("joint")
    assert set(anchor_report(whole).sampled.values()) == {1}
    part = whole.observed({})
    part.about["sample"] = {"en": {"lines": 9, "every": 1}, "fr": {"lines": 9, "every": 2}}
    report = anchor_report(part)
    assert (report.sampled, report.to_json()["sampled"]) == ({"en": 1, "fr": 2}, {"en": 1, "fr": 2})
    assert f" and {report.tokens['fr']:,} tokens of fr (a sample: one line of 2) and " in report.looked_at()
    seen = part.observed({"fr": part.counts("fr")})  # as in whole shards
    assert anchor_report(seen).sampled == {"en": 1}


def test_friends_by_a_dictionary(counted, tmp_path: Path):
    vocabulary, counts, words = counted
    path = tmp_path / "en-fr.txt"
    path.write_text(f"{words[0]} {words[0]}\n{words[1]} other\n{words[2]} {words[2]}\n")
    report = anchor_report(vocabulary, counts, dictionaries={("en", "fr"): [path]})
    (pair,) = report.pairs
    assert pair.friends == {"true": 1, "false": 1}
    assert [friend.word for friend in pair.true_friends] == [words[0]]
    assert [friend.word for friend in pair.false_friends] == [words[1]]
    assert report.dictionaries[0]["file"] == "en-fr.txt"


def test_one_language_is_no_pair(counted):
    vocabulary, counts, _ = counted
    with raises("config.other-language", 1):
        anchor_report(vocabulary, {"en": counts["en"]})
    with raises("config.missing-data", "fr"):
        anchor_report(vocabulary, {"en": counts["en"], "fr": counts["fr"] * 0})


# --- the figure ---


def test_the_title_states_the_finding(counted, trained):
    vocabulary, counts, _ = counted
    assert finding(anchor_report(vocabulary, counts)) == "2 anchors make up 80 % of the tokens of en and 50 % of fr"
    assert finding(anchor_report(trained("disjoint"))) == "No two languages share an id: there are no anchors"
    assert " share most (" in finding(anchor_report(trained("union")))


def test_the_figure_is_a_bar_for_each_direction_cut_by_frequency(trained):
    report = anchor_report(trained("union"))
    figure = anchor_figure(report)
    assert figure.title == finding(report)
    bars = {(row["g"], row["i"]): row["v"] for row in figure.spec["data"]["values"]}
    assert len(bars) == sum(2 * len(pair.bands) for pair in report.pairs)
    for pair in report.pairs:
        for code, other in (pair.languages, pair.languages[::-1]):
            for place, band in enumerate(pair.bands):
                assert bars[f"{code}, shared with {other}", place] == pytest.approx(100 * band.tokens[code])
    assert "types of the language" in anchor_page(report).html()


def test_a_figure_of_nothing_shared_and_of_what_is_met_often(trained, counted):
    assert all(row["v"] == 0 for row in anchor_figure(anchor_report(trained("disjoint"))).spec["data"]["values"])
    vocabulary, counts, _ = counted
    report = anchor_report(vocabulary, counts)
    assert "Counted in 20 tokens of en and 10 tokens of fr" in anchor_figure(report).caption
    sampled = replace(report, sampled={"fr": 4})
    assert "10 tokens of fr (a sample: one line of 4)" in anchor_figure(sampled).caption
    assert "of both at least 2 times each" in anchor_figure(anchor_report(vocabulary, counts, at_least=2)).caption

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoglot.core.errors import ConfigError, MissingPartError
from isoglot.core.parts import version_of
from isoglot.report.anchors import anchor_figure, finding
from isoglot.vocab import anchor_report

needs_matplotlib = pytest.mark.skipif(version_of("matplotlib") is None, reason="needs matplotlib")


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
    with pytest.raises(ConfigError) as caught:
        anchor_report(vocabulary, {"en": counts["en"]})
    assert str(caught.value) == (
        "counts of 1 language, where a pair takes two; name text or shards of at least two languages"
    )
    with pytest.raises(ConfigError, match="no tokens of fr"):
        anchor_report(vocabulary, {"en": counts["en"], "fr": counts["fr"] * 0})


# --- the figure ---


def test_the_title_states_the_finding(counted, trained):
    vocabulary, counts, _ = counted
    assert finding(anchor_report(vocabulary, counts)) == "2 anchors make up 80 % of the tokens of en and 50 % of fr"
    assert finding(anchor_report(trained("disjoint"))) == "No two languages share an id: there are no anchors"
    assert " share most (" in finding(anchor_report(trained("union")))


@needs_matplotlib
def test_the_figure_is_the_same_each_time(trained, tmp_path: Path):
    report = anchor_report(trained("union"))
    for name in ("a.png", "a.svg", "a.pdf"):
        anchor_figure(report, tmp_path / name)
        first = (tmp_path / name).read_bytes()
        anchor_figure(report, tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
        assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[2:]])
    anchor_figure(anchor_report(trained("disjoint")), tmp_path / "none.png")
    with pytest.raises(ConfigError) as caught:
        anchor_figure(report, tmp_path / "a.jpeg")
    assert str(caught.value) == "no figure can be written as 'a.jpeg'; did you mean 'png'?" or "choose one of" in str(
        caught.value
    )


def test_without_matplotlib_the_remedy_is_named(trained, tmp_path: Path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    with pytest.raises(MissingPartError) as caught:
        anchor_figure(anchor_report(trained("union")), tmp_path / "a.png")
    assert str(caught.value).endswith("pip install 'isoglot[report]'")

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.vocab import Grading, train_vocabulary
from isoglot.vocab.anchors import Friends
from isoglot.vocab.sharing import by_frequency, disjoint, graded, lay_out, union
from isoglot.vocab.subword_scheme import SPECIAL
from tests.errors import raises

PIECES = st.dictionaries(
    st.sampled_from(["en", "fr", "de"]), st.lists(st.sampled_from("abcdefgh"), unique=True), min_size=1
)


def _strings(vocabulary, first: str, second: str) -> set[str]:
    return {vocabulary.pieces[index] for index in vocabulary.anchors(first, second)}


@given(pieces=PIECES)
def test_union_has_each_string_once(pieces):
    types, ids = lay_out(pieces, union)
    assert sorted(kind.piece for kind in types[len(SPECIAL) :]) == sorted(set().union(*pieces.values()))
    for code, strings in pieces.items():
        assert [types[ids[code][piece]].piece for piece in strings] == strings


@given(pieces=PIECES)
def test_disjoint_has_each_string_once_a_language(pieces):
    types, ids = lay_out(pieces, disjoint)
    assert len(types) == len(SPECIAL) + sum(map(len, pieces.values()))
    for first, second in combinations(pieces, 2):
        assert not set(ids[first].values()) & set(ids[second].values())


@given(pieces=PIECES, kept=st.sets(st.sampled_from("abcdefgh")))
def test_graded_shares_what_is_kept_and_nothing_else(pieces, kept):
    everything = dict.fromkeys(combinations(pieces, 2), kept)
    types, ids = lay_out(pieces, graded(everything))
    for first, second in combinations(pieces, 2):
        shared = set(ids[first].values()) & set(ids[second].values())
        assert {types[index].piece for index in shared} == kept & set(pieces[first]) & set(pieces[second])


def test_a_chain_of_pairs_joins_its_ends():
    share = graded({("en", "fr"): {"a"}, ("fr", "de"): {"a"}})
    assert share("a", ["en", "fr", "de"]) == [("en", "fr", "de")]
    assert share("a", ["en", "de"]) == [("en",), ("de",)]
    assert share("b", ["en", "fr"]) == [("en",), ("fr",)]


@pytest.mark.parametrize("model", ["bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("band", [(1, 1), (1, 40), (20, 60)])
def test_a_band_keeps_exactly_those_ranks(texts, model, band):
    pair = {code: texts[code] for code in ("en", "de")}
    whole = train_vocabulary(pair, mode="union", size=700, model=model, coverage=1.0)
    some = train_vocabulary(
        pair, mode="graded", size=700, model=model, coverage=1.0, grading=Grading(keep="band", band=band)
    )
    counts = {code: dict(zip(whole.pieces, whole.counts(code), strict=True)) for code in pair}  # type: ignore[arg-type]
    ranked = by_frequency(_strings(whole, "en", "de"), counts["en"], counts["de"])
    assert _strings(some, "en", "de") == set(ranked[band[0] - 1 : band[1]])
    assert len(some) == len(whole) + len(ranked) - len(ranked[band[0] - 1 : band[1]])


def test_friends_keep_exactly_those_words(texts, tmp_path: Path):
    pair = {code: texts[code] for code in ("en", "fr")}
    whole = train_vocabulary(pair, mode="union", size=900, coverage=1.0)
    words = sorted(p[1:] for p in _strings(whole, "en", "fr") if p.startswith("▁") and p[1:].isalpha() and len(p) > 2)
    assert len(words) > 5
    true, false = words[:2], words[2:5]
    path = tmp_path / "en-fr.txt"
    path.write_text("".join([*(f"{w} {w}\n" for w in true), *(f"{w} {w}xyz\n" for w in false), "table chaise\n"]))
    for keep, wanted in (("true-friends", true), ("false-friends", false)):
        grading = Grading(keep=keep, dictionaries={("en", "fr"): [path]})  # type: ignore[arg-type]
        some = train_vocabulary(pair, mode="graded", size=900, coverage=1.0, grading=grading)
        folded = {w.casefold() for w in wanted}
        assert {p[1:].casefold() for p in _strings(some, "en", "fr")} == folded
        assert _strings(some, "en", "fr") == {
            p for p in _strings(whole, "en", "fr") if p[:1] == "▁" and p[1:].casefold() in folded
        }
        (record,) = some.provenance.dictionaries
        assert (record.source, record.target, record.file) == ("en", "fr", "en-fr.txt")
        assert {"table", *words[:5]} == some.provenance.words("en")
        assert "chaise" in some.provenance.words("fr")
    assert whole.provenance.words("en") == frozenset()


def test_friends_of_a_dictionary(tmp_path: Path):
    path = tmp_path / "d.txt"
    path.write_text("table table\ntable tableau\nchat bavarder\ncat chat\n")
    friends = Friends.read(("en", "fr"), [path])
    assert [friends.judge(word) for word in ("Table", "chat", "cat", "dog")] == ["true", "false", "false", None]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"keep": "band"}, ("config.missing-option",)),
        ({"keep": "band", "band": (0, 4)}, ("config.invalid-value", "0-4")),
        (
            {"keep": "true-friends"},
            ("config.missing-option",),
        ),
        ({"keep": "friends"}, ("config.unknown-name", "'friends'")),
    ],
)
def test_gradings_that_make_no_sense(options, expected: tuple[str, ...]):
    with raises(*expected):
        Grading(**options)


def test_every_pair_needs_a_dictionary(texts, tmp_path: Path):
    (tmp_path / "d.txt").write_text("a b\n")
    grading = Grading(keep="true-friends", dictionaries={("en", "fr"): [tmp_path / "d.txt"]})
    with raises("config.missing-data", "en-de"):
        train_vocabulary(texts, mode="graded", size=700, grading=grading)
    with raises("config.unknown-name", "en-fr", "fr"):
        train_vocabulary({"en": texts["en"]}, mode="graded", size=700, grading=grading)

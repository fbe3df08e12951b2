from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.formats.dictionary import Entry, read_dictionary, write_dictionary
from tests.errors import raises

phrases = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0\t"), min_size=1).filter(
    lambda phrase: not phrase.isspace()
)
words = phrases.filter(lambda phrase: phrase.split() == [phrase])
weights = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.builds(Entry, words, words)))
def test_muse_round_trip(tmp_path_factory: pytest.TempPathFactory, entries: list[Entry]):
    path = tmp_path_factory.getbasetemp() / "muse.txt"
    assert write_dictionary(path, iter(entries)) == len(entries)
    assert list(read_dictionary(path)) == entries


@given(st.lists(st.builds(Entry, phrases, phrases, weights)))
def test_weighted_round_trip(tmp_path_factory: pytest.TempPathFactory, entries: list[Entry]):
    path = tmp_path_factory.getbasetemp() / "weighted.txt"
    assert write_dictionary(path, iter(entries), "weighted") == len(entries)
    assert list(read_dictionary(path)) == entries


def test_layouts(tmp_path: Path):
    path = tmp_path / "a.txt"
    entries = [Entry("cat", "chat", 0.5), Entry("cat", "chatte")]
    write_dictionary(path, entries)
    assert path.read_text() == "cat chat\ncat chatte\n"
    write_dictionary(path, entries, layout="weighted")
    assert path.read_text() == "cat\tchat\t0.5\ncat\tchatte\t1.0\n"
    path.write_text("cat\tchat\ndog  chien\n")
    assert list(read_dictionary(path)) == [Entry("cat", "chat"), Entry("dog", "chien")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b\nc\n", ("input.malformed-line", "a.txt:2", "'c'")),
        ("a b\n\n", ("input.malformed-line", "a.txt:2", "''")),
        ("a b 0.5\n", ("input.malformed-line", "a.txt:1", "'a b 0.5'")),
        ("a b\nc\td\t1\n", ("input.malformed-line", "a.txt:2", "'c\\td\\t1'")),
        ("New York\tNueva York\n", ("input.malformed-line", "a.txt:1", "'New York\\tNueva York'")),
        ("a\tb\t1\nc d\n", ("input.malformed-line", "a.txt:2", "'c d'", "1")),
        ("a\tb\t1\n\td\t1\n", ("input.malformed-line", "a.txt:2", "'\\td\\t1'", "1")),
        ("a\tb\theavy\n", ("input.malformed-line", "a.txt:1", "'heavy'")),
        ("a\tb\tnan\n", ("input.malformed-line", "a.txt:1", "'nan'")),
        ("a\tb\t1e999\n", ("input.malformed-line", "a.txt:1", "'1e999'")),
        ("a\tb\t1_0\n", ("input.malformed-line", "a.txt:1", "'1_0'")),
    ],
)
def test_malformed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: tuple[str, ...]):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(text)
    with raises(*expected):
        list(read_dictionary("a.txt"))


@pytest.mark.parametrize("word", ["New York", "", " ", "a\tb", "a\u00a0b", "\u3000"])
def test_words_with_blanks_are_refused_in_the_muse_layout(tmp_path: Path, word: str):
    with raises("input.not-writable"):
        write_dictionary(tmp_path / "a.txt", [Entry("a", "b"), Entry("c", word)])
    assert not list(tmp_path.iterdir())


def test_refused(tmp_path: Path):
    path = tmp_path / "a.txt"
    with raises("input.not-writable", "'a\\tb'"):
        write_dictionary(path, [Entry("a\tb", "c")], "weighted")
    with raises("input.not-writable", "' '"):
        write_dictionary(path, [Entry("a", " ")], "weighted")
    with raises("input.not-writable", "inf", "'a'"):
        write_dictionary(path, [Entry("a", "b", math.inf)], "weighted")
    with raises("config.unknown-name", "'moses'"):
        write_dictionary(path, [], "moses")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import InputError
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


WEIGHTED = "write source<tab>target<tab>weight"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\nc\n", "a.txt:2: 'c' is not two words; "),
        ("a b\n\n", "a.txt:2: '' is not two words; "),
        ("a b 0.5\n", "a.txt:1: 'a b 0.5' is not two words; "),
        ("a b\nc\td\t1\n", r"a.txt:2: 'c\td\t1' is not two words; "),
        ("New York\tNueva York\n", r"a.txt:1: 'New York\tNueva York' is not two words; write source, a blank, target;"),
        ("a\tb\t1\nc d\n", f"a.txt:2: 'c d' is not two words and a weight, as line 1 is; {WEIGHTED}"),
        ("a\tb\t1\n\td\t1\n", rf"a.txt:2: '\td\t1' is not two words and a weight, as line 1 is; {WEIGHTED}"),
        ("a\tb\theavy\n", "a.txt:1: the weight 'heavy' is not a number; write it as 0.5"),
        ("a\tb\tnan\n", "a.txt:1: the weight 'nan' is not a number; write it as 0.5"),
        ("a\tb\t1e999\n", "a.txt:1: the weight '1e999' is not a number; write it as 0.5"),
        ("a\tb\t1_0\n", "a.txt:1: the weight '1_0' is not a number; write it as 0.5"),
    ],
)
def test_malformed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(text)
    with pytest.raises(InputError) as caught:
        list(read_dictionary("a.txt"))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("word", ["New York", "", " ", "a\tb", "a\u00a0b", "\u3000"])
def test_words_with_blanks_are_refused_in_the_muse_layout(tmp_path: Path, word: str):
    with pytest.raises(InputError, match=r"is not one word; write phrases in the weighted layout, or leave them out"):
        write_dictionary(tmp_path / "a.txt", [Entry("a", "b"), Entry("c", word)])
    assert not list(tmp_path.iterdir())


def test_refused(tmp_path: Path):
    path = tmp_path / "a.txt"
    with pytest.raises(InputError, match="a tab inside"):
        write_dictionary(path, [Entry("a\tb", "c")], "weighted")
    with pytest.raises(InputError, match="' ' is not a word; leave the entry out"):
        write_dictionary(path, [Entry("a", " ")], "weighted")
    with pytest.raises(InputError, match="the weight inf of 'a'; weights are finite numbers"):
        write_dictionary(path, [Entry("a", "b", math.inf)], "weighted")
    with raises("config.unknown-name", "'moses'"):
        write_dictionary(path, [], "moses")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())

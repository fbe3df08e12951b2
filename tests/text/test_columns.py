from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.formats.conll import find_prefix, read_tagged, read_tokens, write_tagged
from tests.errors import raises

tokens = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0\t"), min_size=1)
tags = st.sampled_from(["O", "B-PER", "I-PER", "I-LOC", "B-event"])
sentences = st.lists(st.lists(st.tuples(tokens, tags), min_size=1))


@given(sentences, st.sampled_from([None, "en", "zh"]))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, tagged: list[list[tuple[str, str]]], prefix: str | None):
    path = tmp_path_factory.getbasetemp() / "tagged.tsv"
    assert write_tagged(path, iter(tagged), prefix=prefix) == len(tagged)
    assert list(read_tagged(path, prefix=prefix)) == tagged


def test_layouts(tmp_path: Path):
    path = tmp_path / "a.tsv"
    tagged = [[("Paris", "B-LOC"), (":", "O")], [("x", "O")]]
    write_tagged(path, tagged)
    assert path.read_text() == "Paris\tB-LOC\n:\tO\n\nx\tO\n"
    write_tagged(path, tagged, prefix="en")
    assert path.read_text() == "en:Paris\tB-LOC\nen::\tO\n\nen:x\tO\n"
    path.write_text("Paris B-LOC\n: O\n\n\nx O")
    assert list(read_tagged(path)) == tagged


CONLL_2003 = """\
-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

-DOCSTART- -X- -X- O
Peter NNP B-NP B-PER
Blackburn NNP I-NP I-PER
"""


@pytest.mark.parametrize("between", [" ", "\t"])
def test_columns_between_token_and_tag_are_not_read(tmp_path: Path, between: str):
    path = tmp_path / "eng.train"
    path.write_text(CONLL_2003.replace(" ", between))
    tagged = [[("EU", "B-ORG"), ("rejects", "O")], [("Peter", "B-PER"), ("Blackburn", "I-PER")]]
    assert list(read_tagged(path)) == tagged
    assert list(read_tokens(path)) == [[token for token, _ in sentence] for sentence in tagged]
    path.write_text("".join(f"en:{line}\n" if line else "\n" for line in ("a X O", "", "b Y O")))
    assert (find_prefix(path, "en"), find_prefix(path, "de")) == ("en", None)
    assert list(read_tokens(path, prefix="en")) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("text", "prefix", "expected"),
    [
        ("a\tO\nParis\n", None, ("input.malformed-line", "a.tsv:2", "'Paris'")),
        ("a O\nNew York B-LOC\n", None, ("input.malformed-line", "a.tsv:2", "3", "'New York B-LOC'", "2")),
        ("\tO\n", None, ("input.malformed-line", "a.tsv:1", "'\\tO'")),
        ("a\tPER\n", None, ("input.malformed-line", "a.tsv:1", "'PER'")),
        ("a\t\n", None, ("input.malformed-line", "a.tsv:1", "''")),
        (
            "en:a\tO\n\nfr:b\tO\n",
            "en",
            ("input.malformed-line", "a.tsv:3", "'fr:b'", "'en:'"),
        ),
    ],
)
def test_malformed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, prefix: str | None, expected: tuple[str, ...]
):
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text(text)
    with raises(*expected):
        list(read_tagged("a.tsv", prefix=prefix))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ([], ("input.not-writable", "a.tsv:1", "1")),
        ([("", "O")], ("input.not-writable", "a.tsv:1", "1")),
        ([("a", "PER")], ("input.not-writable", "a.tsv:1", "'PER'")),
        ([("a\tb", "O")], ("input.not-writable", "a.tsv:1")),
    ],
)
def test_refused(tmp_path: Path, sentence: list[tuple[str, str]], expected: tuple[str, ...]):
    with raises(*expected):
        write_tagged(tmp_path / "a.tsv", [sentence])
    assert not list(tmp_path.iterdir())

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import InputError
from isoglot.text.formats.conll_columns import find_prefix, read_tagged, read_tokens, write_tagged

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


LAYOUT = "write token<tab>tag, and a blank line between sentences"


@pytest.mark.parametrize(
    ("text", "prefix", "message"),
    [
        ("a\tO\nParis\n", None, f"a.tsv:2: 'Paris' is not a token and its tag; {LAYOUT}"),
        ("a O\nNew York B-LOC\n", None, f"a.tsv:2: 3 columns in 'New York B-LOC', 2 in lines before; {LAYOUT}"),
        ("\tO\n", None, rf"a.tsv:1: '\tO' is not a token and its tag; {LAYOUT}"),
        ("a\tPER\n", None, "a.tsv:1: 'PER' is not a BIO tag; use O, B-PER, I-PER, ..."),
        ("a\t\n", None, "a.tsv:1: '' is not a BIO tag; use O, B-PER, I-PER, ..."),
        (
            "en:a\tO\n\nfr:b\tO\n",
            "en",
            "a.tsv:3: 'fr:b' does not begin with 'en:'; leave the prefix out, or name the one in the file",
        ),
    ],
)
def test_malformed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, prefix: str | None, message: str):
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text(text)
    with pytest.raises(InputError) as caught:
        list(read_tagged("a.tsv", prefix=prefix))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ([], "sentence 1 is empty"),
        ([("", "O")], "an empty token in sentence 1"),
        ([("a", "PER")], "'PER' is not a BIO tag"),
        ([("a\tb", "O")], "a tab inside"),
    ],
)
def test_refused(tmp_path: Path, sentence: list[tuple[str, str]], problem: str):
    with pytest.raises(InputError, match=f"a.tsv:1: not written: {problem}"):
        write_tagged(tmp_path / "a.tsv", [sentence])
    assert not list(tmp_path.iterdir())

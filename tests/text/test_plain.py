from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.formats.plain import read_documents, write_documents
from tests.errors import raises

lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), min_size=1).filter(
    lambda line: not line.isspace()
)
documents = st.lists(st.lists(lines, min_size=1))


@given(documents)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]]):
    path = tmp_path_factory.getbasetemp() / "plain.txt"
    assert write_documents(path, iter(texts)) == len(texts)
    assert list(read_documents(path)) == texts


def test_blank_lines_between_documents_only(tmp_path: Path):
    write_documents(tmp_path / "a.txt", [["a", "b"], ["c"]])
    assert (tmp_path / "a.txt").read_text() == "a\nb\n\nc\n"
    (tmp_path / "b.txt").write_text("\n\na\nb\n \n\nc\n\n")
    assert list(read_documents(tmp_path / "b.txt")) == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([["a"], []], ("input.not-writable", "a.txt:2", "2")),
        (
            [["a", " "]],
            ("input.not-writable", "a.txt:2", "' '", "1"),
        ),
    ],
)
def test_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[list[str]], expected: tuple[str, ...]):
    monkeypatch.chdir(tmp_path)
    with raises(*expected):
        write_documents("a.txt", texts)
    assert not list(tmp_path.iterdir())

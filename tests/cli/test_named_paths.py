from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.cli.inputs import parse_named
from isoglot.core.errors import IsoglotError
from tests.errors import raises


def test_several_files_a_language_in_the_order_given(tmp_path: Path):
    for name in ("a.txt", "b=c.txt", "d.txt"):
        (tmp_path / name).touch()
    values = [f"en={tmp_path}/d.txt", f"deu={tmp_path}/a.txt", f"de={tmp_path}/b=c.txt"]
    assert parse_named(values) == {"en": [tmp_path / "d.txt"], "de": [tmp_path / "a.txt", tmp_path / "b=c.txt"]}


def test_a_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.txt").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_named(["en=~/a.txt"]) == {"en": [tmp_path / "a.txt"]}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], ("config.missing-option", "--text")),
        (["a.txt"], ("config.malformed-option", "--text", "'a.txt'", "language=path")),
        (["=a.txt"], ("config.malformed-option", "--text", "'=a.txt'", "language=path")),
        (["en="], ("config.malformed-option", "--text", "'en='", "language=path")),
        (
            ["qqq1=a.txt"],
            ("config.language-code", "--text", "'qqq1=a.txt'", "'qqq1'"),
        ),
        (["en=no/such"], ("config.missing-file", "--text", "'en=no/such'")),
    ],
)
def test_what_is_wrong_is_said(values: list[str], expected: tuple[str, ...]):
    with raises(*expected):
        parse_named(values)


def test_the_same_file_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    path = Path("a.txt")
    path.touch()
    with raises("config.duplicate", path, "--parallel"):
        parse_named([f"en={path}", f"eng={path}"], option="--parallel")


@given(st.lists(st.text(max_size=12), max_size=3))
def test_whatever_is_typed_the_answer_is_one_line(values: list[str]):
    try:
        parse_named(values)
    except IsoglotError as error:
        assert "\n" not in str(error)

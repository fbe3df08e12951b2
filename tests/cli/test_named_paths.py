from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.cli.inputs import parse_named
from isoglot.core.errors import ConfigError, IsoglotError


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
    ("values", "message"),
    [
        ([], "--text is missing; name a file for each language: --text en=file.txt"),
        (["a.txt"], "--text 'a.txt' is not language=path; write it as --text en=file.txt"),
        (["=a.txt"], "--text '=a.txt' is not language=path; write it as --text en=file.txt"),
        (["en="], "--text 'en=' is not language=path; write it as --text en=file.txt"),
        (
            ["qqq1=a.txt"],
            "--text 'qqq1=a.txt': 'qqq1' is not a language code; use a BCP-47 or ISO 639-3 code such as en, de or swh",
        ),
        (["en=no/such"], "--text 'en=no/such': no such file; check the spelling of the path"),
    ],
)
def test_what_is_wrong_is_said(values: list[str], message: str):
    with pytest.raises(ConfigError) as caught:
        parse_named(values)
    assert str(caught.value) == message


def test_the_same_file_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    path = Path("a.txt")
    path.touch()
    with pytest.raises(ConfigError) as caught:
        parse_named([f"en={path}", f"eng={path}"], option="--parallel")
    assert str(caught.value) == f"--parallel 'eng={path}' is given twice; name each file once"


@given(st.lists(st.text(max_size=12), max_size=3))
def test_whatever_is_typed_the_answer_is_one_line(values: list[str]):
    try:
        parse_named(values)
    except IsoglotError as error:
        assert "\n" not in str(error)

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigError, InputError, IsoglotError, nearest_name, one_line, shown


def test_message_names_place_problem_and_remedy():
    error = InputError("'x' is not a number", remedy="write 0.5", file="a.txt", line=3, column=7)
    assert str(error) == "a.txt:3:7: 'x' is not a number; write 0.5"
    assert error.exit_code == 2


def test_message_without_a_place():
    assert str(ConfigError("no recipe 'x'", remedy="choose y")) == "no recipe 'x'; choose y"


@given(st.text(), st.text(), st.text())
def test_message_is_one_printable_line_whatever_is_in_it(problem: str, remedy: str, file: str):
    text = str(IsoglotError(problem, remedy=remedy, file=file))
    assert len(text.splitlines()) <= 1
    assert text.isprintable()


@given(st.text())
def test_one_line_is_idempotent(text: str):
    assert one_line(one_line(text)) == one_line(text)


@given(st.one_of(st.text(), st.lists(st.integers()), st.binary()), st.integers(10, 100))
def test_shown_keeps_to_its_limit(value: object, limit: int):
    text = shown(value, limit)
    assert len(text) <= limit
    assert text == repr(value) or "…" in text


def test_nearest_name():
    assert nearest_name("learning_rat", ["learning_rate", "seed"]) == "did you mean 'learning_rate'?"
    assert nearest_name("q", ["b", "a"]) == "choose one of a, b"
    assert nearest_name("q", []) == "there is none to choose from"


def test_an_error_survives_the_way_between_processes():
    error = InputError("'x' is not a number", remedy="write 0.5", file="a.txt", line=3)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is InputError
    assert str(again) == str(error)
    assert again.remedy == "write 0.5"


def test_a_remedy_is_short_however_many_and_long_the_known_names_are():
    assert len(nearest_name("x" * 100_000, ["y" * 100_000, *map(str, range(5000))])) < 4000

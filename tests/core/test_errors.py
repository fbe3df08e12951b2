from __future__ import annotations

import ast
import copy
import errno
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.align.maps.estimator import NotFittedError
from isoglot.core.errors import (
    CODES,
    ConfigError,
    CorruptFileError,
    DeviceError,
    InputError,
    IsoglotError,
    MissingPartError,
    NumericError,
    StorageError,
    nearest_name,
    one_line,
    shown,
)
from isoglot.core.files import storage_error
from isoglot.pretrain.distributed import ProcessError
from isoglot.text.stream import WorkerError

ROOT = Path(__file__).parents[2]
KINDS: tuple[type[IsoglotError], ...] = (
    ConfigError,
    InputError,
    StorageError,
    CorruptFileError,
    MissingPartError,
    NumericError,
    DeviceError,
    NotFittedError,
    WorkerError,
    ProcessError,
)


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
    assert nearest_name("q", []) == "there are none to choose from"


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_the_way_between_processes(kind: type[IsoglotError]):
    error = kind("'x' is not a number", remedy="write 0.5", code=f"{kind.code}.x", file="a.txt", line=3)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301
        assert type(again) is kind
        assert str(again) == str(error) == "a.txt:3: 'x' is not a number; write 0.5"
        assert again.as_dict() == error.as_dict()


def test_errors_are_those_of_python_too():
    """So that code that knows nothing of isoglot can catch them."""
    assert all(issubclass(kind, ValueError) for kind in (ConfigError, InputError))
    assert all(issubclass(kind, OSError) for kind in (StorageError, CorruptFileError))
    assert StorageError("gone", remedy="look").errno is None
    with pytest.raises(OSError, match="gone; look"):
        raise StorageError("gone", remedy="look")


def test_a_storage_error_on_its_way_through_a_handler_stays_what_it_is():
    damaged = CorruptFileError("cut short", remedy="copy it again", code="corrupt-file.size", file="a.bin")
    through = storage_error(damaged, "b.bin", doing="write")
    assert type(through) is CorruptFileError
    assert through.as_dict() == damaged.as_dict()


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "storage.disk-full"),
        (errno.EACCES, "storage.permission"),
        (errno.EROFS, "storage.permission"),
        (errno.ENOENT, "storage.not-found"),
        (errno.EISDIR, "storage.is-folder"),
        (errno.ENOTDIR, "storage.not-a-folder"),
        (errno.EIO, "storage"),
    ],
)
def test_what_the_system_says_has_a_code(number: int, code: str):
    assert storage_error(OSError(number, "no"), "a.txt", doing="read").code == code


def test_json_has_everything_and_is_bounded():
    error = InputError("x" * 5000, remedy="a\nb", code="input.empty", file="a.txt", line=3, column=7)
    found = json.loads(json.dumps(error.as_dict()))
    assert (found["code"], found["file"], found["line"], found["column"]) == ("input.empty", "a.txt", 3, 7)
    assert (len(found["message"]), found["remedy"]) == (1000, "a b")


def _raised() -> Iterator[tuple[str, str, str]]:
    """Where a code is given in the source, the class that it is given to, and the whole code."""
    base = {kind.__name__: kind.code for kind in KINDS}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                kind = getattr(node.func, "id", "")
                given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
                for code in [*given, *(node.args[2:3] if kind in base else [])]:
                    if isinstance(code, ast.Constant):
                        short = str(code.value)
                        yield f"{path.name}:{node.lineno}", kind, short if short in CODES else f"{base[kind]}.{short}"


def test_every_code_is_known_and_fits_its_class():
    base = {kind.__name__: kind.code for kind in KINDS} | {"IsoglotError": ""}
    for where, kind, code in _raised():
        assert code in CODES, f"{where}: {code}"
        assert kind in base, where
        assert not base[kind] or code.split(".")[0] == base[kind], f"{where}: {code} in a {kind}"
    assert {kind.code for kind in KINDS} <= set(CODES)


def test_every_code_is_in_use():
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    used = {code for _, _, code in _raised()}
    for code in CODES:
        assert code in used or re.search(rf'code(, \w+)* = "{code}"', text), code


def test_the_documentation_lists_every_code():
    page = (ROOT / "docs" / "ERRORS.md").read_text(encoding="utf-8")
    listed: Any = re.findall(r"^\| `([\w.-]+)` \| (.*) \|$", page, flags=re.MULTILINE)
    assert dict(listed) == CODES
    assert list(dict(listed)) == list(CODES)


def test_a_remedy_is_short_however_many_and_long_the_known_names_are():
    assert len(nearest_name("x" * 100_000, ["y" * 100_000, *map(str, range(5000))])) < 4000


def _asserted_sentences() -> Iterator[str]:
    """Where a test expects one of our errors by its sentence: ``pytest.raises(ConfigError, match=...)``."""
    ours = {kind.__name__ for kind in (*KINDS, IsoglotError)}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.raises" and node.args:
                names = {name.id for name in ast.walk(node.args[0]) if isinstance(name, ast.Name)}
                if names & ours and any(keyword.arg == "match" for keyword in node.keywords):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_tests_assert_codes_and_values_not_sentences():
    """See raises() in tests/errors.py."""
    assert list(_asserted_sentences()) == []

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.config import build_config, load_recipe, recipe_names
from isoglot.core.doctor import PeakConfig
from isoglot.core.errors import ConfigError, IsoglotError
from tests.errors import raises


def test_every_recipe_of_the_room_is_valid():
    assert recipe_names("core") == ["quick", "thorough"]
    for name in recipe_names("core"):
        build_config(PeakConfig, recipe=load_recipe(name, room="core"))


def test_recipe_by_path(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text("seconds = 2.0\n")
    recipe = load_recipe(str(path), room="core")
    assert (recipe.name, recipe.path, recipe.values) == ("mine", str(path), {"seconds": 2.0})


def test_unknown_name_and_missing_file():
    with raises("config.unknown-recipe", "'qick'"):
        load_recipe("qick", room="core")
    with raises("storage.not-found", "nowhere.toml"):
        load_recipe("nowhere.toml", room="core")


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("a = 1\nb = = 2\n", 2, 5), ("a = \n", 1, 5), ('a = 1\nb = "open', 2, 10), ("a = 1\na = 2\n", 2, 6), ("[x", 1, 3)],
)
def test_malformed_toml_names_line_and_column(tmp_path: Path, text: str, line: int, column: int):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with raises("config.malformed-toml") as caught:
        load_recipe(str(path), room="core")
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(path), line, column)
    assert "(at" not in str(caught.value)


@given(text=st.text())
def test_any_text_is_a_recipe_or_one_clear_error(tmp_path_factory: pytest.TempPathFactory, text: str):
    path = tmp_path_factory.mktemp("recipes") / "a.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load_recipe(str(path), room="core")
    except IsoglotError as error:
        assert isinstance(error, ConfigError) or "is not UTF-8" in error.problem
        assert error.line is not None
        assert 1 <= error.line <= text.count("\n") + 1


def test_a_recipe_takes_from_another_what_it_does_not_set(tmp_path: Path):
    (tmp_path / "base.toml").write_text("seconds = 2.0\nsize = 64\n[deep]\na = 1\nb = 2\n")
    child = tmp_path / "child.toml"
    child.write_text(f'extends = "{tmp_path}/base.toml"\nsize = 32\n[deep]\nb = 3\n')
    recipe = load_recipe(str(child), room="core")
    assert recipe.values == {"seconds": 2.0, "size": 32, "deep": {"a": 1, "b": 3}}


def test_what_is_wrong_is_shown_in_the_recipe_that_says_it(tmp_path: Path):
    (tmp_path / "base.toml").write_text("\nseconds = -1\n")
    child = tmp_path / "child.toml"
    child.write_text(f'extends = "{tmp_path}/base.toml"\n')
    with pytest.raises(ConfigError) as error:
        build_config(PeakConfig, recipe=load_recipe(str(child), room="core"))
    assert (Path(str(error.value.file)).name, error.value.line) == ("base.toml", 2)


def test_recipes_do_not_extend_themselves(tmp_path: Path):
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text(f'extends = "{other}"\n')
    other.write_text(f'extends = "{one}"\n')
    with raises("config.unknown-recipe"):
        load_recipe(str(one), room="core")
    one.write_text("extends = 3\n")
    with raises("config.unknown-recipe"):
        load_recipe(str(one), room="core")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("seconds = " + "9" * 5000, "config.malformed-toml"),
        ("seconds = 0x" + "f" * 5000, "config.invalid-value"),
        ("seconds = " + "[" * 5000, "config.malformed-toml"),
        (".".join("a" * 5000) + " = 1", "config.invalid-value"),
    ],
)
def test_numbers_and_nesting_beyond_what_python_converts_are_refused(tmp_path: Path, text: str, code: str):
    path = tmp_path / "large.toml"
    path.write_text(text)
    with raises(code, file=path):
        build_config(PeakConfig, recipe=load_recipe(str(path), room="core"))


@pytest.mark.parametrize("setting", ["seconds=0x" + "f" * 5000, ".".join("a" * 5000) + "=1"], ids=["a number", "a key"])
def test_a_setting_beyond_what_python_converts_is_refused(setting: str):
    with raises("config.invalid-value"):
        build_config(PeakConfig, settings=[setting])

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from isoglot.core.config import Config, Recipe, build_config, key_line, parse_setting
from isoglot.core.errors import ConfigError
from tests.errors import raises


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Oven(Config):
    """Where it is baked."""

    degrees: int = Field(220, gt=0, le=300)
    """Heat of the oven, in °C."""


class Bread(Config):
    """What is baked."""

    grams: int = Field(500, gt=0)
    """Weight of the flour."""

    salt: float = 0.02
    seeds: tuple[str, ...] = ()
    crust: Literal["thin", "thick"] = "thin"
    colour: Colour = Colour.RED
    note: str | None = None
    folder: Path = Path("out")
    vegan: bool = True
    oven: Oven = Oven()


def recipe(text: str) -> Recipe:
    return Recipe(name="bread", path="bread.toml", text=text, values=tomllib.loads(text))


def message(text: str = "", *settings: str) -> str:
    with pytest.raises(ConfigError) as caught:
        build_config(Bread, recipe=recipe(text) if text else None, settings=settings)
    return str(caught.value)


def test_later_sources_win():
    made = build_config(Bread, recipe=recipe("grams = 600\nsalt = 0.01"), settings=["grams=700"])
    assert (made.grams, made.salt, made.crust) == (700, 0.01, "thin")


def test_values_arrive_in_their_own_types():
    text = 'seeds = ["sesame", "poppy"]\ncolour = "blue"\nfolder = "x/y"\nsalt = 1\n[oven]\ndegrees = 180\n'
    made = build_config(Bread, recipe=recipe(text))
    assert made.seeds == ("sesame", "poppy")
    assert made.colour is Colour.BLUE
    assert made.folder == Path("x/y")
    assert made.oven.degrees == 180


def test_frozen_and_keyword_only():
    made = Bread()
    with pytest.raises(ValidationError, match="frozen"):
        made.grams = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        Bread(600)  # type: ignore[call-arg]


def test_unknown_key_names_the_nearest_and_the_line():
    assert message("salt = 0.1\ngram = 3") == "bread.toml:2: unknown key 'gram'; did you mean 'grams'?"
    assert message("[oven]\ndegree = 3") == "bread.toml:2: unknown key 'oven.degree'; did you mean 'degrees'?"
    assert message("", "gram=3") == "--set gram=3: unknown key 'gram'; did you mean 'grams'?"
    assert "choose one of colour, crust" in message("zzzzz = 1")


def test_bad_value_names_the_reason_and_what_the_key_means():
    assert message("grams = -1") == (
        "bread.toml:1: grams = -1 should be greater than 0; 'grams' is weight of the flour"
    )
    assert message("[oven]\n\ndegrees = 999").startswith(
        "bread.toml:3: oven.degrees = 999 should be less than or equal"
    )
    assert "should be 'thin' or 'thick'" in message('crust = "burnt"')
    assert message("grams = -1\nsalt = false\n").endswith("(and 1 more); 'grams' is weight of the flour")


@pytest.mark.parametrize(
    "setting", ['grams="5"', "grams=true", "grams=5.5", "vegan=1", "salt=nan", "salt=inf", "note=3"]
)
def test_no_silent_conversion(setting: str):
    assert message("", setting).startswith(f"--set {setting}: ")


def test_value_error_in_a_list_item():
    assert "seeds = 3 should be a valid string" in message("seeds = ['a', 3]")


@pytest.mark.parametrize("setting", ["grams", "=3", "oven.=3", ""])
def test_setting_without_key_or_value(setting: str):
    assert "is not a setting; write --set key=value" in message("", setting)


def test_setting_that_reaches_into_a_value():
    assert "'grams' is a value, not a table; write --set grams=… instead" in message("grams = 1", "grams.x=3")


def test_the_setting_is_blamed_and_not_the_recipe():
    assert message("grams = 1", "a.b.c=1").startswith("--set a.b.c=1: unknown key 'a'")
    assert message("grams = 1", "grams=2", "grams=-2").startswith("--set grams=-2: ")
    assert len(message("", "note" + "e" * 5000 + "=1")) < 6000
    assert message("", "grams=" + "[" * 3000).startswith("--set grams=[[[[")
    assert "should be a valid integer" in message("", "grams=1" + "0" * 5000)


def test_nearest_name_inside_an_optional_table():
    class House(Config):
        oven: Oven | None = None

    with raises("config.unknown-key", "'oven.degree'"):
        build_config(House, settings=["oven.degree=3"])


def test_missing_key():
    class Needs(Config):
        size: int

    with raises("config.missing-key", "'size'"):
        build_config(Needs)


def test_setting_values_are_toml_or_else_text():
    assert parse_setting("a=[1, 2]") == (("a",), [1, 2])
    assert parse_setting("a = x y ") == (("a",), "x y")
    assert parse_setting("a=1e-4")[1] == pytest.approx(1e-4)
    assert parse_setting("a=b=c") == (("a",), "b=c")
    assert parse_setting("a=1\nb=2") == (("a",), "1\nb=2")
    assert parse_setting("a=2020-01-02")[1].isoformat() == "2020-01-02"


def test_a_date_is_text_to_a_config():
    assert build_config(Bread, settings=["note=2020-01-02"]).note == "2020-01-02"


@given(st.text())
def test_any_setting_is_read_or_refused_in_one_line(setting: str):
    try:
        build_config(Bread, settings=[setting])
    except ConfigError as error:
        assert len(str(error).splitlines()) == 1


names = st.text("abcdefgh_", min_size=1, max_size=5)


@given(st.dictionaries(names, st.dictionaries(names, st.integers(), min_size=1, max_size=4), min_size=1, max_size=4))
def test_key_line_finds_every_key(tables: dict[str, dict[str, int]]):
    lines = ["# a comment"]
    where = {}
    for table, keys in tables.items():
        lines.append(f"[{table}]")
        for key, value in keys.items():
            lines.append(f"{key} = {value}")
            where[table, key] = len(lines)
    for path, line in where.items():
        assert key_line("\n".join(lines), path) == line


def test_key_line_of_dotted_quoted_and_missing_keys():
    assert key_line("oven.degrees = 3", ("oven", "degrees")) == 1
    assert key_line('\n"oven" . "degrees" = 3', ("oven", "degrees")) == 2
    assert key_line("[oven]\n", ("oven", "degrees")) == 1
    assert key_line("x = 1", ("oven",)) is None

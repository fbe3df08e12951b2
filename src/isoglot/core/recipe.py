"""Recipes: TOML files that set a config's defaults, found by name inside a room or by path.

A room keeps its recipes in its folder ``recipes/``; ``table1/sep-l1-3`` names ``recipes/table1/sep-l1-3.toml``.
A name that ends in ``.toml`` is a path of the user's own.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError, nearest_name
from isoglot.core.files import read_text

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A recipe as it was read: where from, the text (for line numbers), and the values."""

    name: str
    path: str
    text: str = field(repr=False)
    values: dict[str, Any]


def load_recipe(name: str, *, room: str) -> Recipe:
    """The recipe of that name in a room, or at that path.

    Args:
        name: A name such as ``quick`` or ``table1/sep-l1-3``, or the path of a ``.toml`` file.
        room: The room whose recipes are meant, such as ``core``.

    Raises:
        ConfigError: No such recipe (with the nearest name), or malformed TOML (with line and column).
        StorageError: The file cannot be read.
    """
    if name.endswith(".toml"):
        return _parse(Path(name).stem, name, read_text(name))
    known = _recipes(room)
    if name not in known:
        remedy = f"{nearest_name(name, known)} (or give the path of a .toml file)"
        raise ConfigError(f"there is no recipe {name!r}", remedy=remedy)
    return _parse(name, str(known[name]), known[name].read_text(encoding="utf-8"))


def recipe_names(room: str) -> list[str]:
    """The names of the recipes a room ships, sorted."""
    return sorted(_recipes(room))


def _recipes(room: str) -> dict[str, Traversable]:
    found: dict[str, Traversable] = {}
    folders = [("", resources.files(f"isoglot.{room}") / "recipes")]
    while folders:
        prefix, folder = folders.pop()
        for entry in folder.iterdir():
            if entry.is_dir():
                folders.append((f"{prefix}{entry.name}/", entry))
            elif entry.name.endswith(".toml"):
                found[prefix + entry.name.removesuffix(".toml")] = entry
    return found


def _parse(name: str, path: str, text: str) -> Recipe:
    try:
        return Recipe(name=name, path=path, text=text, values=tomllib.loads(text))
    except RecursionError as error:
        raise ConfigError("nested too deeply", remedy="flatten it", file=path) from error
    except tomllib.TOMLDecodeError as error:
        # Python 3.11 tells the place only in the message: "... (at line 2, column 5)" or "(at end of document)".
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        last = text.rstrip("\n").split("\n")
        line, column = (int(place[1]), int(place[2])) if place else (len(last), len(last[-1]) + 1)
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise ConfigError(
            f"malformed TOML: {reason}", remedy="correct it there", file=path, line=line, column=column
        ) from error

"""Recipes: TOML files that set a config's defaults, found by name inside a room or by path.

A room keeps its recipes in its folder ``recipes/``; ``table1/sep-l1-3`` names ``recipes/table1/sep-l1-3.toml``.
A name that ends in ``.toml`` is a path of the user's own. A recipe that says ``extends = "table1/default"`` takes
every value of that one that it does not set itself.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError, nearest_name, shown
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
    """All of them, those of the recipe it extends included."""
    base: Recipe | None = None
    """The recipe it extends."""


def load_recipe(name: str, *, room: str) -> Recipe:
    """The recipe of that name in a room, or at that path.

    Args:
        name: A name such as ``quick`` or ``table1/sep-l1-3``, or the path of a ``.toml`` file.
        room: The room whose recipes are meant, such as ``core``.

    Raises:
        ConfigError: No such recipe (with the nearest name), or malformed TOML (with line and column).
        StorageError: The file cannot be read.
    """
    return _load(name, room, ())


def _load(name: str, room: str, extended_by: tuple[str, ...]) -> Recipe:
    if name.endswith(".toml"):
        recipe = _parse(Path(name).stem, name, read_text(name))
    else:
        known = _recipes(room)
        if name not in known:
            remedy = f"{nearest_name(name, known)} (or give the path of a .toml file)"
            raise ConfigError(f"there is no recipe {name!r}", remedy=remedy, code="config.unknown-recipe")
        recipe = _parse(name, str(known[name]), known[name].read_text(encoding="utf-8"))
    other = recipe.values.get("extends")
    if other is None:
        return recipe
    way = (*extended_by, name)
    if not isinstance(other, str) or other in way:
        problem = f"extends = {shown(other)} should name another recipe"
        raise ConfigError(
            problem,
            remedy="write its name or the path of its .toml file",
            code="config.unknown-recipe",
            file=recipe.path,
        )
    base = _load(other, room, way)
    own = {key: value for key, value in recipe.values.items() if key != "extends"}
    return replace(recipe, values=_over(base.values, own), base=base)


def _over(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Values with changes laid over them, table by table."""
    found = dict(values)
    for key, value in changes.items():
        old = found.get(key)
        found[key] = _over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return found


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
        raise ConfigError("nested too deeply", remedy="flatten it", code="config.malformed-toml", file=path) from error
    except tomllib.TOMLDecodeError as error:
        # Python 3.11 tells the place only in the message: "... (at line 2, column 5)" or "(at end of document)".
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        last = text.rstrip("\n").split("\n")
        line, column = (int(place[1]), int(place[2])) if place else (len(last), len(last[-1]) + 1)
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise ConfigError(
            f"malformed TOML: {reason}",
            remedy="correct it there",
            code="config.malformed-toml",
            file=path,
            line=line,
            column=column,
        ) from error
    except ValueError as error:
        raise ConfigError(
            "a number has too many digits", remedy="write a smaller number", code="config.malformed-toml", file=path
        ) from error

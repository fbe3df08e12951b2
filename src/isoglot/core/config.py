"""Configs and recipes: frozen, typed, validated settings from a TOML recipe and ``--set``.

A config class is defined beside the component it configures and inherits from :class:`Config`. Values come from the
class's defaults, a TOML recipe and ``--set key=value``; later ones take precedence.

>>> from pydantic import Field
>>> class Bread(Config):
...     grams: int = Field(500, gt=0, description="weight of the flour")
>>> build_config(Bread, settings=["grams=750"]).grams
750

Recipes are in the folder ``recipes/`` of a room: ``table1/sep-l1-3`` is ``recipes/table1/sep-l1-3.toml``. A name that
ends in ``.toml`` is the path of a file. A recipe with ``extends = "table1/default"`` inherits the values of that one.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from isoglot.core.errors import ConfigError, cut, nearest_name, shown
from isoglot.core.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from importlib.resources.abc import Traversable

    from pydantic_core import ErrorDetails

LARGEST_NUMBER = 10**12  # the largest integer of a field without its own bound


class Config(BaseModel):
    """Base class of configs: keyword-only, frozen, strict types, no unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @model_validator(mode="after")
    def _numbers_are_bounded(self) -> Self:
        """Reject absurdly large integers in fields without an upper bound."""
        for name, info in type(self).model_fields.items():
            value = getattr(self, name)
            bounded = any(hasattr(limit, "le") or hasattr(limit, "lt") for limit in info.metadata)
            if isinstance(value, int) and not bounded and abs(value) > LARGEST_NUMBER:
                raise ValueError(f"{name} should be at most {LARGEST_NUMBER:,}")
        return self


ConfigT = TypeVar("ConfigT", bound=Config)
KeyPath = tuple[str, ...]


def build_config(
    kind: type[ConfigT],
    *,
    recipe: Recipe | None = None,
    values: Mapping[str, Any] | None = None,
    settings: Iterable[str] = (),
) -> ConfigT:
    """Build a validated config from a recipe, command-line options and ``--set`` settings.

    Args:
        kind: The config class.
        recipe: Overrides the defaults of the class.
        values: Command-line options; they override the recipe.
        settings: ``key=value`` strings; dotted keys reach into nested configs. They override everything else.

    Raises:
        ConfigError: An unknown key or an invalid value; the message has the file and line of the recipe, or the
            ``--set`` it came from.
    """
    file = None if recipe is None else recipe.path
    merged: dict[str, Any] = {} if recipe is None else json.loads(_as_json(recipe.values, file))
    merged.update(values or {})
    given: dict[KeyPath, str] = {}
    for setting in settings:
        path, value = parse_setting(setting)
        _assign(merged, path, value, setting)
        given[path] = setting
    try:
        # Through JSON: with strict types, lists still become tuples and strings become enums or paths.
        return kind.model_validate_json(_as_json(merged, file))
    except ValidationError as error:
        found = error.errors(include_url=False)
        ours = (one.get("ctx", {}).get("error") for one in found)  # an error raised by a validator is complete
        raise next((one for one in ours if isinstance(one, ConfigError)), None) or _explain(
            kind, found, recipe, given
        ) from error


def parse_setting(setting: str) -> tuple[KeyPath, Any]:
    """Split ``key.sub=value`` and parse the value as TOML, or else take it as a string.

    >>> parse_setting("optimizer.learning_rate=1e-4")
    (('optimizer', 'learning_rate'), 0.0001)
    >>> parse_setting("plan=sep-emb")
    (('plan',), 'sep-emb')

    Raises:
        ConfigError: There is no ``=``, or no key before it.
    """
    key, equals, raw = setting.partition("=")
    path = tuple(part.strip() for part in key.split("."))
    if not equals or not all(path) or not _is_text(setting):
        raise ConfigError(f"--set {shown(setting)} is not a setting", "write --set key=value", "malformed-setting")
    try:
        value = tomllib.loads(f"value = {raw}")
    except (ValueError, RecursionError):  # not TOML, or nested too deeply
        return path, raw.strip()
    return path, value["value"] if len(value) == 1 else raw.strip()


def _is_text(text: str) -> bool:
    """Whether a command-line argument is valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _assign(values: dict[str, Any], path: KeyPath, value: Any, setting: str) -> None:  # noqa: ANN401 - any TOML value
    table = values
    for part in path[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            problem = f"--set {shown(setting)}: {part!r} is a value, not a table"
            raise ConfigError(problem, f"write --set {part}=… instead", "malformed-setting")
    table[path[-1]] = value


def _as_json(values: Mapping[str, Any], file: str | None) -> str:
    try:
        return json.dumps(values, default=str)  # dates and times of TOML become ISO strings
    except RecursionError as error:
        raise ConfigError("a key is nested too deeply", "flatten it", "invalid-value", file=file) from error
    except ValueError as error:  # a hexadecimal number may have more decimal digits than Python converts
        raise ConfigError("a number has too many digits", "write a smaller one", "invalid-value", file=file) from error


# --- error messages ---


def _explain(
    kind: type[Config], errors: list[ErrorDetails], recipe: Recipe | None, given: dict[KeyPath, str]
) -> ConfigError:
    """Convert the first of pydantic's errors to a ConfigError."""
    first = errors[0]
    names = tuple(str(part) for part in first["loc"] if not isinstance(part, int))
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    key = ".".join(names)
    owner = _owner(kind, names)
    if first["type"] == "extra_forbidden":
        code, problem = "config.unknown-key", f"unknown key {key!r}{more}"
        remedy = nearest_name(names[-1], owner.model_fields)
    elif first["type"] == "missing":
        code, problem = "config.missing-key", f"{key!r} is missing{more}"
        remedy = f"set it in the recipe or with --set {key}=…"
    else:
        code = "config.invalid-value"
        reason = first["msg"].removeprefix("Value error, ").replace("Input should", "should")
        problem = f"{key} = {shown(first['input'])} {reason}{more}" if key else f"{reason}{more}"
        field = owner.model_fields.get(names[-1]) if names else None
        meaning = field.description if field is not None and field.description else None
        remedy = f"{names[-1]!r} is {meaning[0].lower()}{meaning[1:].rstrip('.')}" if meaning else "give another value"
    for path, setting in reversed(given.items()):
        if names[: len(path)] == path or path[: len(names)] == names:
            return ConfigError(f"--set {cut(setting, 60)}: {problem}", remedy, code=code)
    if recipe is None:
        return ConfigError(problem, remedy, code=code)
    while recipe.base is not None and key_line(recipe.text, names) is None:
        recipe = recipe.base  # the one that sets the value
    return ConfigError(problem, remedy, code=code, file=recipe.path, line=key_line(recipe.text, names))


def _owner(kind: type[Config], names: KeyPath) -> type[Config]:
    """The config class, possibly nested, of the last key."""
    for name in names[:-1]:
        field = kind.model_fields.get(name)
        annotation = None if field is None else field.annotation
        inner = [a for a in (annotation, *get_args(annotation)) if isinstance(a, type) and issubclass(a, Config)]
        if not inner:
            break
        kind = inner[0]
    return kind


_HEADER = re.compile(r"\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}\s*(#.*)?$")
_KEY = re.compile(r"""\s*([A-Za-z0-9_\-."' ]+?)\s*=""")


def key_line(text: str, path: KeyPath) -> int | None:
    r"""The line of a TOML text, from 1, that sets a key or the table around it; None if there is none.

    >>> key_line("seed = 1\n[model]\nhidden_size = 64\n", ("model", "hidden_size"))
    3
    """
    table: KeyPath = ()
    best: tuple[int, int] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _dotted(header[1])
        here = table if header else (*table, *_dotted(key[1])) if key else None
        if here and here == path[: len(here)] and (best is None or len(here) > best[0]):
            best = (len(here), number)
    return None if best is None else best[1]


def _dotted(key: str) -> KeyPath:
    return tuple(part.strip().strip("\"'") for part in key.split("."))


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Recipe with its path, text (for line numbers) and values."""

    name: str
    path: str
    text: str = field(repr=False)
    values: dict[str, Any]  # all values, including inherited ones
    base: Recipe | None = None  # the recipe it extends


def load_recipe(name: str, *, room: str) -> Recipe:
    """Load a recipe of a room, or from a file.

    Args:
        name: A name such as ``quick`` or ``table1/sep-l1-3``, or the path of a ``.toml`` file.
        room: The room, such as ``core``.

    Raises:
        ConfigError: There is no such recipe, or it is malformed TOML; the message has line and column.
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
            raise ConfigError(f"there is no recipe {name!r}", remedy, "unknown-recipe")
        recipe = _parse(name, str(known[name]), known[name].read_text(encoding="utf-8"))
    other = recipe.values.get("extends")
    if other is None:
        return recipe
    way = (*extended_by, name)
    if not isinstance(other, str) or other in way:
        problem = f"extends = {shown(other)} should name another recipe"
        raise ConfigError(problem, "write its name or the path of its .toml file", "unknown-recipe", file=recipe.path)
    base = _load(other, room, way)
    own = {key: value for key, value in recipe.values.items() if key != "extends"}
    return replace(recipe, values=laid_over(base.values, own), base=base)


def laid_over(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Override nested values by others, key by key."""
    found = dict(values)
    for key, value in changes.items():
        old = found.get(key)
        found[key] = laid_over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return found


def recipe_names(room: str) -> list[str]:
    """The names of the recipes of a room, sorted."""
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
        raise ConfigError("nested too deeply", "flatten it", "malformed-toml", file=path) from error
    except tomllib.TOMLDecodeError as error:
        # Python 3.11 has the position only in the message: "... (at line 2, column 5)" or "(at end of document)".
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        last = text.rstrip("\n").split("\n")
        line, column = (int(place[1]), int(place[2])) if place else (len(last), len(last[-1]) + 1)
        reason = re.sub(r" \(at .*\)$", "", str(error))
        problem = f"malformed TOML: {reason}"
        raise ConfigError(problem, "correct it there", "malformed-toml", file=path, line=line, column=column) from error
    except ValueError as error:
        raise ConfigError("a number has too many digits", "write a smaller one", "malformed-toml", file=path) from error

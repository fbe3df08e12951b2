"""Declaration of verbs and their options.

A verb is a function registered with :func:`verb`, with keyword-only parameters. A parameter is an option by its
type (``seed: Seed = 0``), or a group: a dataclass whose fields are options, which share a section of the help. Every
verb has the group ``output: Output``.

Options are documented as parameters are, in a section ``Options:`` of the docstring of the verb or group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature, cleandoc, signature
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

INPUT, RUN, OUTPUT = "Input", "Run", "Output"
"""Sections of the help, for verbs with more than a dozen options."""
MANY = 1_000_000_000
"""The most of anything that an option may ask for, where it says nothing else."""
MODEL = "A training run's or an encoder's folder, isoglot-mini, a Hugging Face folder, or a name on its hub."
POOLS = (
    "the mean of its subwords (special tokens left out), the mean of all its tokens, its first (also cls) or last "
    "token, the maximum over its tokens, their mean weighted by position"
)
"""Poolings of sentences. All but ``mean`` count special tokens, as sentence-transformers does."""
_PHRASES = {"{MODEL}": MODEL, "{POOLS}": POOLS}
"""What stands for what several helps say."""


def option(
    metavar: str | None = None,
    text: str | None = None,
    *,
    name: str | tuple[str, ...] = (),
    section: str | None = None,
    **more: Any,  # noqa: ANN401 - as typer.Option
) -> Any:  # noqa: ANN401
    """Declare an option: what it takes, its help, its name, and anything else :func:`typer.Option` takes.

    Name and help default to those of the parameter, see :func:`flatten`.
    """
    names = (name,) if isinstance(name, str) else name
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=section, **more)


def argument(metavar: str | None = None, text: str | None = None, **more: Any) -> Any:  # noqa: ANN401 - as typer.Argument
    """Declare an argument likewise."""
    return typer.Argument(metavar=metavar, help=text, **more)


def verb(app: typer.Typer, name: str, *, example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a verb of a group of verbs.

    Args:
        app: The group of verbs.
        name: What the user types.
        example: A command that works, without ``isoglot``; the end of the help.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        app.command(name, epilog=f"Example: isoglot {example}")(flatten(function))
        return function

    return register


def command(example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a function as a verb that is not in a group, likewise."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        flat = flatten(function)
        flat.__dict__["epilog"] = f"Example: isoglot {example}"
        return flat

    return declare


def flatten(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function as Typer wants it: with a named and described option for every parameter, and no groups.

    What the section ``Options:`` of the docstring says of a parameter is the help of its option. A group is a dataclass
    with annotated fields, documented likewise; what the verb says of one of its options counts more. ``SECTION`` names
    its section of the help. Where the parameter has a default, an instance of the group, its fields' values are the
    defaults of the options.
    """
    hints, (about, words) = get_type_hints(function, include_extras=True), described(function)
    flat: dict[str, Parameter] = {}
    groups: dict[str, tuple[Any, list[str]]] = {}
    for name, parameter in signature(function).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            flat[name] = _option(name, kind, parameter.default, words)
            continue
        options = _options_of(kind, parameter.default, words)
        groups[name] = kind, [option.name for option in options]
        flat |= {option.name: option for option in options}

    def call(**values: Any) -> None:  # noqa: ANN401 - what Typer parsed
        grouped = {name: kind(**{each: values.pop(each) for each in names}) for name, (kind, names) in groups.items()}
        function(**grouped, **values)

    call.__name__, call.__doc__ = function.__name__, about
    call.__signature__ = Signature(list(flat.values()))  # type: ignore[attr-defined]
    call.__annotations__ = {name: option.annotation for name, option in flat.items()}
    return call


def described(thing: object) -> tuple[str, dict[str, str]]:
    """Return what a docstring says before its section ``Options:``, and of each parameter in it."""
    about, _, listed = cleandoc(getattr(thing, "__doc__", None) or "").partition("\n\nOptions:\n")
    said = (entry.split(": ", 1) for entry in listed.replace("\n        ", " ").splitlines())
    return about, {name.strip(): text for name, text in said}


def _options_of(group: Any, default: Any, own: dict[str, str]) -> list[Parameter]:  # noqa: ANN401 - any dataclass
    """Return the fields of a group as parameters in its section, with the verb's own words for them if it has any."""
    section, hints = getattr(group, "SECTION", None), get_type_hints(group, include_extras=True)
    words = {name: text for kind in reversed(group.__mro__) for name, text in described(kind)[1].items()} | own
    values = {each.name: getattr(default, each.name, each.default) for each in fields(group)}
    return [
        _option(name, hints[name], Parameter.empty if value is MISSING else value, words, section)
        for name, value in values.items()
    ]


def _option(name: str, kind: Any, default: Any, words: Mapping[str, str], section: str | None = None) -> Parameter:  # noqa: ANN401 - any type
    """Return a parameter with the name, help and section of its option or argument."""
    kind, info = (get_args(kind) if get_origin(kind) is Annotated else (kind, option()))[:2]
    info = copy(info)
    info.help = words.get(name) or info.help
    for phrase, text in _PHRASES.items():
        info.help = info.help and info.help.replace(phrase, text)
    if isinstance(info, OptionInfo):
        if info.default is ...:
            info.default = f"--{name.rstrip('_').replace('_', '-')}"
        info.rich_help_panel = info.rich_help_panel or section
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])

"""What Typer's help says otherwise than people read it, put right for every verb in one place."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperArgument, TyperOption

from isoglot.cli.options import INPUT, MANY, OUTPUT, RUN

HELP = ["-h", "--help"]
"""What asks for help."""
_TEXT = ("<str>", "<path>")  # whatever is typed is that
_LARGE = MANY  # a bound that nobody meets is not worth its digits
_SECTIONS = {INPUT: -1, RUN: 1, OUTPUT: 2}  # the others in between, as a verb has them
_ONE_SECTION = 12
"""Up to how many options the help shows without sections."""


def make_readable(command: Any) -> None:  # noqa: ANN401 - the type of Typer's commands is its own
    """Paragraphs have one line each, which fits any width; flags take no value, numbers are N, and text is no type.

    A group without an example of its own has that of its first verb. The options of a short help are in one section.

    Typer keeps the line breaks of a docstring after its first paragraph, shows flags as ``<bool>``, numbers as
    ``<int range>``, and after the name of an argument ``<str>`` or ``<path>``.
    """
    command.help = joined(command.help or "")
    asked = command.get_help_option(typer.Context(command, help_option_names=HELP))
    command.params.sort(key=lambda option: _SECTIONS.get(getattr(option, "rich_help_panel", None) or "", 0))
    short = len(command.params) <= _ONE_SECTION
    for option in (*command.params, asked):
        if short and hasattr(option, "rich_help_panel"):
            option.rich_help_panel = None
        if isinstance(option, TyperOption):
            _make_option_readable(option)
        elif isinstance(option, TyperArgument):
            _make_argument_readable(option)
    children = list(getattr(command, "commands", {}).values())
    for child in children:
        make_readable(child)
    if children and not command.epilog:
        command.epilog = children[0].epilog


def joined(text: str) -> str:
    r"""A text with one line a paragraph.

    >>> joined("What it\n does.\n\nMore\nof it.")
    'What it does.\n\nMore of it.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in cleandoc(text).split("\n\n"))


def _make_option_readable(option: TyperOption) -> None:
    info = option.type_descriptor.parameter_info
    if option.type_descriptor.annotation is int and info.max is None and not option.is_flag:
        option.max = info.max = MANY  # no number of anything is without a bound
    if option.is_flag:
        option.metavar = ""
    elif option.metavar is None and (option.min, option.max) != (None, None):
        option.metavar = "N"
    if option.max is not None and option.max >= _LARGE:
        option.max = None  # for the help alone: values are checked by the type


def _make_argument_readable(argument: Any) -> None:  # noqa: ANN401 - Typer has no name for what is set here
    shown = argument.display_type_rich

    def kind(ctx: Any) -> str | None:  # noqa: ANN401 - Typer's own
        found: str | None = shown(ctx=ctx)
        return None if found in _TEXT else found

    argument.display_type_rich = kind

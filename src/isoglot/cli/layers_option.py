"""The option ``--layers``: all of them, or some by their numbers."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from isoglot.core.errors import ConfigError, shown

LayerList = Annotated[
    str, typer.Option("--layers", metavar="LIST", help="all, or numbers such as 0,4,-1; 0 is the embeddings.")
]


def parse_layers(text: str) -> Literal["all"] | list[int]:
    """The layers that ``--layers`` names.

    Raises:
        ConfigError: It is no list of numbers.
    """
    if text == "all":
        return "all"
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(
            f"--layers {shown(text)} is no list of numbers", remedy="write --layers all, or --layers 0,4,-1"
        ) from None

"""Words whose translations training was given: whether they are refused, left out or scored on."""

from __future__ import annotations

from typing import Annotated

import typer

from isoglot.core.errors import ConfigError
from isoglot.core.progress import counted

LeaveOutKnown = Annotated[
    bool,
    typer.Option(
        "--leave-out-known", help="Leave out test words whose translations training was given, and say how many."
    ),
]
AllowLeak = Annotated[
    bool, typer.Option("--allow-leak", help="Score on words whose translations training was given, too.")
]


def refuse_both(*, leave_out_known: bool, allow_leak: bool) -> None:
    """Words are left out or scored on.

    Raises:
        ConfigError: Both are asked for.
    """
    if leave_out_known and allow_leak:
        raise ConfigError("--leave-out-known and --allow-leak exclude each other", remedy="give one of them")


def left_out(words: int) -> str:
    """How many words were left out.

    >>> left_out(1)
    '1 source word left out: known from training'
    """
    return f"{counted(words, 'source words')} left out: known from training"

"""The option ``--langs``: which languages of a table, a folder of test sets, or the built-in sentences."""

from __future__ import annotations

from typing import Annotated

import typer

from isoglot.core.errors import ConfigError, shown
from isoglot.core.language_codes import language_code

Langs = Annotated[
    str | None,
    typer.Option(
        "--langs", metavar="CODES", help="Which languages of a table, a folder or the built-in sentences: en,de."
    ),
]


def parse_langs(text: str | None) -> list[str]:
    """The languages that ``--langs`` names, each once.

    >>> parse_langs("eng, de"), parse_langs(None)
    (['en', 'de'], [])

    Raises:
        ConfigError: One is no language code.
    """
    return list(dict.fromkeys(language_code(code.strip()) for code in text.split(","))) if text else []


def two_langs(text: str) -> tuple[str, str]:
    """The two languages of ``en,fr``.

    >>> two_langs("en,eng")
    Traceback (most recent call last):
    isoglot.core.errors.ConfigError: --langs 'en,eng' is en twice; name two languages: --langs en,fr

    Raises:
        ConfigError: There are no two, or they are the same.
    """
    codes = [code.strip() for code in text.split(",")]
    if len(codes) != 2:
        raise ConfigError(f"--langs {shown(text)} is not two languages", remedy="write them as --langs en,fr")
    first, second = language_code(codes[0]), language_code(codes[1])
    if first == second:
        raise ConfigError(f"--langs {shown(text)} is {first} twice", remedy="name two languages: --langs en,fr")
    return first, second

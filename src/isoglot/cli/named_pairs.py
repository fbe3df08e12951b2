"""Options that name a file for a pair of languages: ``--dictionary en-fr=a.txt --dictionary en-zh-Hant=b.txt``."""

from __future__ import annotations

from pathlib import Path

from isoglot.core.errors import ConfigError, shown
from isoglot.core.language_codes import language_code


def parse_pairs(values: list[str], option: str = "--dictionary") -> dict[tuple[str, str], list[Path]]:
    """The files of each pair of languages, in the order given; a pair may have several.

    A code may have hyphens of its own: the pair is cut at the first one that leaves a language on each side. A colon
    cuts where it stands: ``en-x-shift:en``.

    >>> import os
    >>> list(parse_pairs([f"eng-zh-Hant={os.devnull}"]))
    [('en', 'zh-Hant')]

    Raises:
        ConfigError: There is no ``=``, no two languages, or no such file.
    """
    named: dict[tuple[str, str], list[Path]] = {}
    for value in values:
        pair, equals, name = value.partition("=")
        if not equals or not name.strip():
            raise ConfigError(
                f"{option} {shown(value)} is not from-to=path", remedy=f"write it as {option} en-fr=file.txt"
            )
        languages = _two_languages(pair.strip())
        if languages is None:
            raise ConfigError(
                f"{option} {shown(value)}: {shown(pair)} is not two languages",
                remedy=f"write them as {option} en-fr={name}",
            )
        path = Path(name).expanduser()
        if not path.exists():
            raise ConfigError(f"{option} {shown(value)}: no such file", remedy="check the spelling of the path")
        named.setdefault(languages, []).append(path)
    return named


def _two_languages(pair: str) -> tuple[str, str] | None:
    cuts = [pair.index(":")] if ":" in pair else [place for place, sign in enumerate(pair) if sign == "-"]
    for cut in cuts:
        try:
            return language_code(pair[:cut]), language_code(pair[cut + 1 :])
        except ConfigError:
            continue
    return None

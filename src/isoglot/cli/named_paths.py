"""Options that name a file for each language: ``--text en=a.txt --text en=b.txt --text fr=c.txt``."""

from __future__ import annotations

from pathlib import Path

from isoglot.core.errors import ConfigError, shown
from isoglot.core.language_codes import language_code


def parse_named(values: list[str], option: str = "--text") -> dict[str, list[Path]]:
    """The files or folders of each language, in the order given; a language may have several.

    Languages are made canonical, so that ``deu=`` and ``de=`` add to the same list. A path may have ``=`` in it: the
    first one counts.

    Args:
        values: What the user typed, one ``language=path`` each.
        option: The option, for error messages.

    Raises:
        ConfigError: There is nothing, no ``=``, no such language or file, or the same file twice for a language.
    """
    if not values:
        raise ConfigError(f"{option} is missing", remedy=f"name a file for each language: {option} en=file.txt")
    named: dict[str, list[Path]] = {}
    for value in values:
        language, equals, name = value.partition("=")
        if not equals or not language.strip() or not name.strip():
            raise ConfigError(
                f"{option} {shown(value)} is not language=path", remedy=f"write it as {option} en=file.txt"
            )
        try:
            code = language_code(language.strip())
        except ConfigError as error:
            raise ConfigError(
                f"{option} {shown(value)}: {error.problem}", remedy=error.remedy, code=error.code
            ) from error
        path = Path(name).expanduser()  # a shell leaves the ~ in en=~/file.txt alone
        if not path.exists():
            raise ConfigError(f"{option} {shown(value)}: no such file", remedy="check the spelling of the path")
        paths = named.setdefault(code, [])
        if path in paths:
            raise ConfigError(f"{option} {shown(value)} is given twice", remedy="name each file once")
        paths.append(path)
    return named


def one_each(named: list[str], option: str) -> dict[str, Path]:
    """The file of each language.

    Raises:
        ConfigError: A language has two, and as for :func:`parse_named`.
    """
    files = parse_named(named, option)
    for code, paths in files.items():
        if len(paths) > 1:
            raise ConfigError(f"{option} {code}={paths[1]}: {code} has a file already", remedy="join them into one")
    return {code: paths[0] for code, paths in files.items()}


def is_path(value: str) -> bool:
    """Whether a path stands alone, with no language before it; it may have ``=`` in it, if it is there."""
    return "=" not in value or Path(value).expanduser().exists()

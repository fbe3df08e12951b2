"""Options that name bitext: a file for each of two languages, or one table that has both."""

from __future__ import annotations

from pathlib import Path

from isoglot.cli.langs_option import two_langs
from isoglot.cli.named_paths import is_path, one_each
from isoglot.core.errors import ConfigError, shown


def is_table(named: list[str]) -> bool:
    """Whether one table is named, and no file for each language."""
    return len(named) == 1 and is_path(named[0])


def two_sides(
    named: list[str], option: str, langs: str | tuple[str, str] | None = None
) -> tuple[tuple[str, str], dict[str, Path] | Path]:
    """The two languages, and a file for each, or the table that has both.

    Args:
        named: What the user typed.
        option: The option, for error messages.
        langs: Which two of a table with more, as ``en,de`` or apart; None where it has just two.

    Raises:
        ConfigError: There is no such file, or not two languages.
        InputError: The table names no languages.
    """
    from isoglot.text.parallel import read_parallel

    table = Path(named[0]).expanduser()
    files: dict[str, Path] = {}
    if is_table(named):
        if not table.is_file():
            raise ConfigError(
                f"{option} {shown(named[0])}: no such file", remedy=f"write {option} en=a.txt {option} fr=b.txt"
            )
        codes = list(next(read_parallel(table), ()))
        if langs is not None:
            wanted = two_langs(langs) if isinstance(langs, str) else langs
            missing = [code for code in wanted if code not in codes]
            if missing:
                raise ConfigError(
                    f"{option} {table} has no {missing[0]}", remedy=f"it has {', '.join(codes) or 'none'}"
                )
            codes = list(wanted)
    else:
        if langs is not None:
            raise ConfigError("--langs chooses from a table", remedy="leave it out: the files name theirs")
        files = one_each(named, option)
        codes = list(files)
    if len(codes) != 2:
        raise ConfigError(
            f"{option} names {', '.join(codes) or 'no language'}",
            remedy=f"name two languages: {option} en=a.txt {option} fr=b.txt",
        )
    return (codes[0], codes[1]), files or table


def one_bitext(parallel: list[str] | None, langs: str | None) -> tuple[tuple[str, str], dict[str, Path] | Path]:
    """The languages, and the files or the table of ``--parallel``; none where they are built in.

    Raises:
        ConfigError: Neither is named, and as for :func:`two_sides`.
        InputError: The table names no languages.
    """
    if parallel:
        return two_sides(parallel, "--parallel", langs)
    if langs is None:
        raise ConfigError(
            "--parallel is missing",
            remedy="give --parallel en=a.txt --parallel fr=b.txt, or built-in languages: --langs en,fr",
        )
    return two_langs(langs), {}


def two_bitexts(
    parallel: list[str] | None, test: list[str] | None, langs: str | None
) -> tuple[tuple[str, str], dict[str, Path] | Path, dict[str, Path] | Path]:
    """The languages, and the files or tables to learn from and to score on; none where they are built in.

    Of a table to score on, the languages are those that are learned from.

    Raises:
        ConfigError: The options do not go together, and as for :func:`one_bitext`.
        InputError: A table names no languages.
    """
    if test and not parallel:
        raise ConfigError(
            "--test-parallel without --parallel",
            remedy="give --parallel too, or leave it out: built-in sentences have a test of their own",
        )
    languages, files = one_bitext(parallel, langs)
    if not test:
        return languages, files, {}
    others, tests = two_sides(test, "--test-parallel", languages if is_table(test) else None)
    if set(others) != set(languages):
        raise ConfigError(
            f"--test-parallel names {' and '.join(others)}, --parallel {' and '.join(languages)}",
            remedy="score on the languages that were aligned",
        )
    return languages, files, tests


def paths_of(*given: dict[str, Path] | Path) -> list[Path]:
    """All files."""
    return [path for each in given for path in (each.values() if isinstance(each, dict) else [each])]

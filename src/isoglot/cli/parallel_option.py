"""The option ``--parallel``: a file for each language, one table, or a folder of Tatoeba's test sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoglot.cli.langs_option import parse_langs
from isoglot.cli.named_paths import is_path, one_each
from isoglot.core.errors import ConfigError, shown

if TYPE_CHECKING:
    from isoglot.retrieve.parallel_sets import ParallelSet

ParallelSets = Annotated[
    list[str] | None,
    typer.Option(
        "--parallel",
        metavar="LANG=FILE",
        help="Sentences line by line, a file for each language; or one table.tsv with the languages in its first "
        "line; or a folder of Tatoeba test sets.",
    ),
]


def read_sets(
    parallel: list[str], langs: str | None = None, limit: int | None = None, *, pairs: bool = False
) -> list[ParallelSet]:
    """The sets that the option names.

    Args:
        parallel: What the user typed.
        langs: Which languages of a table or folder, with commas between.
        limit: Only the first so many rows.
        pairs: Whether lines of a file for each language are pairs of texts.

    Raises:
        ConfigError: The options do not go together, or there is no such file.
        InputError: The files are not parallel.
        StorageError: A file cannot be read.
    """
    from isoglot.retrieve.parallel_sets import aligned_set, pairs_set, table_set, tatoeba_sets

    codes = parse_langs(langs)
    whole = [Path(value).expanduser() for value in parallel if is_path(value)]
    if not whole:
        if codes:
            raise ConfigError("--langs chooses from a table or folder", remedy="leave it out: the files name theirs")
        read = pairs_set if pairs else aligned_set
        return [read(one_each(parallel, "--parallel"), limit=limit)]
    if len(parallel) > 1:
        raise ConfigError(
            f"--parallel {shown(str(whole[0]))} is a whole set, and there is more",
            remedy=f"name the language of a file: --parallel en={whole[0]}; or give one table or folder",
        )
    if not whole[0].exists():
        raise ConfigError(
            f"--parallel {shown(parallel[0])}: no such file", remedy="write en=file.txt, or name a table or folder"
        )
    if whole[0].is_dir():
        return tatoeba_sets(whole[0], codes, limit=limit)
    return [table_set(whole[0], codes, limit=limit)]

"""Options and examples that the ``isoglot transfer`` commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.inputs import one_each

if TYPE_CHECKING:
    from isoglot.transfer import Data, Task
    from isoglot.transfer.tasks.builtin_data import Splits

    Files = tuple[list[str] | None, list[str] | None, list[str] | None]

OPTIONS = ("--train", "--dev", "--test")
FILES = "LANG=FILE"

Seeds = Annotated[int, typer.Option("--seeds", min=1, max=1000, help="Number of random seeds to train with.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")]
AllowLeak = Annotated[
    bool, typer.Option("--allow-leak", help="Accept dev and test examples even if nearly all are in training too.")
]
OwnTask = Annotated[Path | None, typer.Option("--task", metavar="FILE", help="The Python file of your own task.")]


def read_examples(
    task: Task[Any], option: str, values: list[str] | None, most: int | None = None
) -> dict[str, Data[Any]]:
    """Examples of an option such as ``--test de=FILE``, by language.

    Args:
        task: The task.
        option: Name of the option, for error messages.
        values: Values of the option.
        most: Maximum number of examples per language. Default: all.

    Raises:
        ConfigError: It is not language=path, or a language has two files.
        InputError: A file is malformed.
        StorageError: It cannot be read.
    """
    found = {}
    for code, path in (one_each(values, option) if values else {}).items():
        data = task.read(path, code)
        found[code] = data if most is None else data.head(most)
    return found


def read_sets(task: Task[Any], files: Files, most: int | None) -> Splits:
    """Examples of ``--train`` (the first N), ``--dev`` and ``--test``; as :func:`read_examples`."""
    from isoglot.transfer.tasks.builtin_data import Splits

    given = zip(OPTIONS, files, (most, None, None), strict=True)
    train, dev, test = (read_examples(task, *each) for each in given)
    return Splits(train, dev, test)

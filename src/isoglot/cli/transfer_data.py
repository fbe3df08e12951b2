"""What the verbs of ``isoglot transfer`` share: options, examples by language, the folder of a fine-tuned model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.inputs import one_each
from isoglot.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.transfer import Data, Task

    Files = tuple[list[str] | None, list[str] | None, list[str] | None]
    Sets = tuple[Mapping[str, Data[Any]], Mapping[str, Data[Any]], Mapping[str, Data[Any]]]

OPTIONS = ("--train", "--dev", "--test")
FILES = "LANG=FILE"
EXAMPLES = 2000
"""Built-in examples to learn from, unless told."""

Seeds = Annotated[int, typer.Option("--seeds", min=1, max=1000, help="How many seeds to train with, for the spread.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")]
AllowLeak = Annotated[
    bool, typer.Option("--allow-leak", help="Choose by and test on examples even if nearly all are in training too.")
]
OwnTask = Annotated[
    Path | None, typer.Option("--task", metavar="FILE", help="The Python file of the task, for one of your own.")
]


def read_examples(
    task: Task[Any], option: str, values: list[str] | None, most: int | None = None
) -> dict[str, Data[Any]]:
    """The examples of ``--test de=FILE`` and the like, by language; none where nothing was given.

    Args:
        task: What they are examples of.
        option: The option, for error messages.
        values: What the user typed.
        most: The first so many of each language; None: all.

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


def read_sets(task: Task[Any], files: Files, most: int | None) -> Sets:
    """The examples to learn from, the first so many, to choose by and to test on; as :func:`read_examples`."""
    given = zip(OPTIONS, files, (most, None, None), strict=True)
    train, dev, test = (read_examples(task, *each) for each in given)
    return train, dev, test


def builtin_source(known: Sequence[str]) -> str:
    """The built-in language to learn from, of those an encoder knows.

    >>> builtin_source(["de", "en"]), builtin_source(["fr", "de"])
    ('en', 'fr')
    """
    return "en" if "en" in known else known[0]


def builtin_counts(sentences: int | None) -> tuple[int, int]:
    """How many built-in examples to learn from, and how many to choose by and to test on.

    >>> builtin_counts(None), builtin_counts(20)
    ((2000, 400), (20, 10))
    """
    count = sentences or EXAMPLES
    return count, max(10, count // 5)


def builtin_sets(
    task: Task[Any], source: str, tests: Sequence[str], sentences: int | None, *, spaced: bool
) -> tuple[dict[str, Data[Any]], dict[str, Data[Any]], dict[str, Data[Any]]]:
    """Built-in examples to learn from and to choose by, of one language, and to test on, of others."""
    count, some = builtin_counts(sentences)
    return (
        {source: task.builtin(source, "train", count, spaced=spaced)},
        {source: task.builtin(source, "dev", some, spaced=spaced)},
        {code: task.builtin(code, "test", some, spaced=spaced) for code in tests},
    )


def model_folder(folder: Path) -> Path:
    """The fine-tuned model in a folder: itself, or the best of an experiment.

    Raises:
        StorageError: There is none.
    """
    from isoglot.core.artifact import read_sealed

    if (folder / "tuned.json").exists():
        return folder
    made = folder / "result.json"
    again = "make it again with isoglot transfer"
    found = read_sealed(made, remedy=again).get("model") if made.exists() else None
    if found is not None:  # map transfer has results and no model
        best = Path(str(found))
        inside = folder / best.parent.name / best.name  # the folder may have been moved since
        return inside if inside.exists() else best
    raise StorageError(
        "no fine-tuned model in this folder",
        remedy="make one with isoglot transfer",
        code="storage.not-found",
        file=folder,
    )

"""Built-in examples of tasks: the defaults where the user gives no files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.core.errors import ConfigError
from isoglot.languages.builtin import builtin_languages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.transfer.tasks.task import Data, Task

EXAMPLES = 2000
"""Default number of built-in training examples."""


class Splits(NamedTuple):
    """Examples by language: to train on, to select epochs and settings, and to test on."""

    train: Mapping[str, Data[Any]]
    dev: Mapping[str, Data[Any]]
    test: Mapping[str, Data[Any]]

    def files(self) -> list[Path]:
        """Files that the examples were read from."""
        return [Path(data.file) for some in self for data in some.values() if data.file]


def read_splits(
    task: Task[Any],
    train: Mapping[str, Path],
    dev: Mapping[str, Path],
    test: Mapping[str, Path],
    count: int | None = None,
) -> Splits:
    """Read examples from a file per language: the first of those to train on, and all others.

    Args:
        task: The task.
        train: Files of training examples.
        dev: Files of dev examples.
        test: Files of test examples.
        count: Maximum number of training examples. Default: all.

    Raises:
        InputError: A file is malformed.
        StorageError: A file cannot be read.
    """
    own, *others = ({code: task.read(path, code) for code, path in some.items()} for some in (train, dev, test))
    return Splits({code: data if count is None else data.head(count) for code, data in own.items()}, *others)


def mapped_splits(
    task: Task[Any], given: Splits, known: Sequence[str], others: Sequence[str], count: int | None = None
) -> Splits:
    """Examples of map transfer: all those of the user, or built-in ones.

    The training language of built-in examples is one that the first model knows and that no other model has.

    Args:
        task: The task.
        given: Examples of the user, for training, dev and test, or none at all.
        known: Languages that the first model knows.
        others: Languages of the other models.
        count: Number of built-in training examples.

    Raises:
        ConfigError: Examples of the user are incomplete, or the first model knows no other built-in language.
    """
    missing = [name for name, some in zip(("training", "dev", "test"), given, strict=True) if not some]
    if not missing:
        return given
    if len(missing) < 3:
        remedy = "give training, dev and test examples, or none of them"
        raise ConfigError(f"there are no {missing[0]} examples", remedy, "missing-option")
    own = [code for code in builtin_languages(known) if code not in others]
    if not own:
        problem = "the model knows no built-in language but those of other models"
        raise ConfigError(problem, "give files of training, dev and test examples", "built-in-language")
    source = training_language(own)
    spaced = any("-x-" in code for code in (source, *others))
    return builtin_splits(task, source, (source, *others), count, spaced=spaced)


def builtin_splits(
    task: Task[Any], source: str, tests: Sequence[str], count: int | None = None, *, spaced: bool = False
) -> Splits:
    """Built-in examples: train and dev of one language, test of others.

    Args:
        task: The task.
        source: The training language.
        tests: The test languages.
        count: Number of training examples; dev and test have a fifth of it, at least 10. Default: 2,000.
        spaced: Whether all words are separated by blanks, as in twins of built-in languages.

    Raises:
        ConfigError: The task or a language has no built-in examples.
    """
    train, few = example_counts(count)
    return Splits(
        {source: task.builtin(source, "train", train, spaced=spaced)},
        {source: task.builtin(source, "dev", few, spaced=spaced)},
        {code: task.builtin(code, "test", few, spaced=spaced) for code in tests},
    )


def completed_splits(
    task: Task[Any], given: Splits, known: Sequence[str], *, languages: Sequence[str] = (), count: int | None = None
) -> Splits:
    """The user's examples, completed with built-in ones.

    Without training examples, those of English are used, or of the first language an encoder knows. Built-in test and
    dev examples are added for ``languages``, or for all known languages if there are no test examples.

    Args:
        task: The task.
        given: Examples of the user, possibly empty.
        known: Languages that the encoder knows; empty if it does not say.
        languages: Languages to test on with built-in examples.
        count: Number of built-in training examples.

    Raises:
        ConfigError: There are examples for training or dev only, or built-in examples are needed and the encoder knows
            none of their languages.
    """
    train, dev, test = given
    missing = {"dev": train and not dev, "test": train and not test and not languages, "training": dev and not train}
    for name in (name for name, lacks in missing.items() if lacks):
        raise ConfigError(f"there are no {name} examples", "give them too", "missing-option")
    if train and test and not languages:
        return given
    built_in = builtin_languages(known)
    spaced = any("-x-" in code for code in built_in)
    if not train:
        if not built_in:
            problem = "the encoder knows none of the built-in languages"
            raise ConfigError(problem, "give files of training, dev and test examples", "built-in-language")
        train, dev, _ = builtin_splits(task, training_language(built_in), (), count, spaced=spaced)
    _, few = example_counts(count)
    for code in languages or (() if test else built_in):
        test = {**test, code: task.builtin(code, "test", few, spaced=spaced)}
        if code not in dev:
            dev = {**dev, code: task.builtin(code, "dev", few, spaced=spaced)}
    return Splits(train, dev, test)


def training_language(known: Sequence[str]) -> str:
    """The default training language among those an encoder knows.

    >>> training_language(["de", "en"]), training_language(["fr", "de"])
    ('en', 'fr')
    """
    return "en" if "en" in known else known[0]


def example_counts(count: int | None) -> tuple[int, int]:
    """Number of built-in training examples, and of dev and test examples.

    >>> example_counts(None), example_counts(20)
    ((2000, 400), (20, 10))
    """
    count = count or EXAMPLES
    return count, max(10, count // 5)

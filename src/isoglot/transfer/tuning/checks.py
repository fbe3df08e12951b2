"""Checks before fine-tuning: settings, languages, empty data, leaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError, InputError
from isoglot.model.protocol import EncoderLike, check_layer
from isoglot.transfer.tasks.task import Data, Task, text_of
from isoglot.transfer.tuning.config import trained_parameters
from isoglot.transfer.tuning.tuned_encoder import reader_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.core.progress import Say
    from isoglot.transfer.tuning.config import TuneConfig

NEARLY_ALL = 0.9
"""Share of a dev or test set in training from which on it is refused. WikiAnn's splits share up to 14 %."""


def check_setting(encoder: EncoderLike, task: Task[Any], config: TuneConfig) -> None:
    """Check that settings fit an encoder and a task.

    Raises:
        ConfigError: A setting does not fit.
    """
    trained_parameters(encoder, config)
    if config.layer is not None:
        check_layer(config.layer, encoder.depth)
    if config.head.pool != "first" and task.kind != "classification":
        problem = f"head.pool={config.head.pool} for {task.name}, which has a label for each word"
        raise ConfigError(problem, "remove it; it is for tasks with one label per text", "conflicting-options")


def check_learned(
    encoder: EncoderLike, train: Mapping[str, Data[Any]], dev: Mapping[str, Data[Any]], config: TuneConfig
) -> None:
    """Check that training and dev data are present and readable by an encoder.

    Args:
        encoder: The encoder.
        train: Training data by canonical language code.
        dev: Dev data; that of the first training language selects epochs.
        config: Settings, with the maximum length of rows.

    Raises:
        ConfigError: The encoder lacks a language, or training or dev data are missing.
        InputError: A dev set is empty.
    """
    if not train or next(iter(train)) not in dev:
        named = f"dev data of {next(iter(train))}" if train else "training data"
        problem = f"there is no {named}"
        raise ConfigError(problem, "give both for one language; epochs are selected on dev", "missing-data")
    for code in train:
        reader_of(encoder, code, config.max_length)
    check_scored(encoder, dev, config.max_length)


def check_scored(encoder: EncoderLike, data: Mapping[str, Data[Any]], length: int | None) -> None:
    """Check that dev or test data can be scored.

    Raises:
        ConfigError: The encoder lacks a language.
        InputError: A language has no examples.
    """
    for code, some in data.items():
        reader_of(encoder, code, length)
        if not len(some):
            raise InputError(f"there are no examples of {code}", "give some", "empty", file=some.file)


def in_training(train: Mapping[str, Data[Any]], data: Mapping[str, Data[Any]]) -> dict[str, int]:
    """Number of examples of each training language whose text is in training, whatever the label.

    Args:
        train: Training data by canonical language code.
        data: Dev or test data.
    """
    return {
        code: sum(text_of(example) in train[code].texts for example in some.examples)
        for code, some in data.items()
        if code in train
    }


def report_overlap(
    train: Mapping[str, Data[Any]], dev: Mapping[str, Data[Any]], test: Mapping[str, Data[Any]], say: Say
) -> dict[str, dict[str, int]]:
    """Count and report dev and test examples that are in training.

    Test examples in dev are reported too, since epochs are selected on dev.
    """
    sets = {"dev": dev, "test": test}
    found = {name: in_training(train, data) for name, data in sets.items()}
    for name, counts in found.items():
        for code, count in counts.items():
            if count:
                say(f"{name} {code}: {count:,} of {len(sets[name][code]):,} examples are in training as well")
    for code, count in in_training(dev, test).items():
        if count:
            say(f"test {code}: {count:,} of {len(test[code]):,} examples are in dev as well, which selects epochs")
    return found


def check_examples(
    task: Task[Any],
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    test: Mapping[str, Data[Any]],
    config: TuneConfig,
    *,
    allow_leak: bool,
) -> None:
    """Check that labels of dev and test data are in training, and that nearly all of their examples are not.

    Raises:
        InputError: A label is not in training and the task refuses it, or nearly all examples of a language are in
            training and this is not allowed.
    """
    labels = task.learned_labels(train.values())
    for some in (*dev.values(), *test.values()):
        task.unseen_labels(some, labels, config.unseen_labels)
    for name, data in () if allow_leak else (("dev", dev), ("test", test)):
        for code, count in in_training(train, data).items():
            if count >= NEARLY_ALL * len(data[code]):
                problem = f"{count:,} of {len(data[code]):,} {code} examples of {name} are in training as well"
                raise InputError(problem, "use other data, or allow the leak", "leak", file=data[code].file)

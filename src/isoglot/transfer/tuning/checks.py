"""What is refused before any work: settings that do not fit an encoder, languages it does not have, empty data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigError, InputError
from isoglot.model.edits import check_layer
from isoglot.transfer.tasks.examples import text_of
from isoglot.transfer.tuning.tunable import tunable
from isoglot.transfer.tuning.tuned_encoder import reader_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoglot.model.protocol import EncoderLike
    from isoglot.transfer.tasks.examples import Data
    from isoglot.transfer.tasks.task import Task
    from isoglot.transfer.tuning.config import TuneConfig

NEARLY_ALL = 0.9
"""The share of a dev or test set from which on it is the training data. WikiAnn's splits have up to 14 % in common."""


def check_setting(encoder: EncoderLike, task: Task[Any], config: TuneConfig) -> None:
    """Refuse knobs that do not fit an encoder or a task.

    Raises:
        ConfigError: One does not.
    """
    tunable(encoder, config.tune, config.freeze, config.frozen)
    if config.layer is not None:
        check_layer(config.layer, encoder.depth)
    if config.head.pool != "first" and task.kind != "classification":
        raise ConfigError(
            f"head.pool={config.head.pool} for {task.name}, which has a label for each word",
            remedy="leave it out: it is for tasks with one label a text",
            code="config.conflicting-options",
        )


def check_learned(
    encoder: EncoderLike, train: Mapping[str, Data[Any]], dev: Mapping[str, Data[Any]], config: TuneConfig
) -> None:
    """Refuse data to learn from and to choose by that an encoder cannot read, or of which something is missing.

    Args:
        encoder: What reads them.
        train: Of canonical language codes, as all are.
        dev: Those of the first training language decide.
        config: How long rows are.

    Raises:
        ConfigError: The encoder does not have a language, or there is nothing to choose by.
        InputError: A dev set is empty.
    """
    if not train or next(iter(train)) not in dev:
        named = f"dev data of {next(iter(train))}" if train else "training data"
        raise ConfigError(
            f"there is no {named}",
            remedy="an epoch is chosen by it: give both for one language",
            code="config.missing-data",
        )
    for code in train:
        reader_of(encoder, code, config.max_length)
    check_scored(encoder, dev, config.max_length)


def check_scored(encoder: EncoderLike, data: Mapping[str, Data[Any]], length: int | None) -> None:
    """Refuse dev or test data that nothing can be scored on.

    Raises:
        ConfigError: The encoder does not have a language.
        InputError: There are no examples of one.
    """
    for code, some in data.items():
        reader_of(encoder, code, length)
        if not len(some):
            raise InputError(f"there are no examples of {code}", remedy="give some", code="input.empty", file=some.file)


def in_training(train: Mapping[str, Data[Any]], data: Mapping[str, Data[Any]]) -> dict[str, int]:
    """How many examples of each training language have a text that training has, whatever their labels.

    Args:
        train: What is learned from, by canonical language codes.
        data: What is chosen by, or tested on.
    """
    return {
        code: sum(text_of(example) in train[code].texts for example in some.examples)
        for code, some in data.items()
        if code in train
    }


def tell_in_training(
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    test: Mapping[str, Data[Any]],
    say: Callable[[str], None],
) -> dict[str, dict[str, int]]:
    """What :func:`in_training` counts in dev and in test, by their names; what there is is said.

    So is what test has of dev: the epoch was chosen by it.
    """
    sets = {"dev": dev, "test": test}
    found = {name: in_training(train, data) for name, data in sets.items()}
    for name, counts in found.items():
        for code, count in counts.items():
            if count:
                say(f"{name} {code}: {count:,} of {len(sets[name][code]):,} examples are in training as well")
    for code, count in in_training(dev, test).items():
        if count:
            say(
                f"test {code}: {count:,} of {len(test[code]):,} examples are in dev as well, by which epochs are chosen"
            )
    return found


def refuse_training_data(train: Mapping[str, Data[Any]], data: Mapping[str, Data[Any]], name: str) -> None:
    """Refuse to choose by, or to test on, what was learned from.

    Raises:
        InputError: All or nearly all examples of a language are in training as well.
    """
    for code, count in in_training(train, data).items():
        if count >= NEARLY_ALL * len(data[code]):
            raise InputError(
                f"{count:,} of {len(data[code]):,} {code} examples of {name} are in training as well",
                remedy="give others, or allow the leak with --allow-leak",
                code="input.leak",
                file=data[code].file,
            )

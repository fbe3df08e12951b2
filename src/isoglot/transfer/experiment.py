"""Transfer experiments: fine-tune with every seed and setting of a grid, and test the best settings in each language.

Settings are selected on the dev set of the training language, and the mean of the best two is reported, as in Wu et al.
(2020). The confidence interval over test sentences and the deviation over seeds are reported separately.

In the folder::

    seed-0/01/ …             a fine-tuned model for each seed and setting, with the best epochs of the best settings
    sentences.safetensors    two counts of each test sentence, for paired tests between models
    result.json              scores by language and selection rule, settings with their dev scores
    result.csv               the scores
"""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.artifact import save_arrays, write_sealed
from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError, shown
from isoglot.core.files import writable_folder, write_text
from isoglot.core.folders import remove_folder
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.core.table import Table
from isoglot.transfer.scoring.significance import Estimate, estimate_runs
from isoglot.transfer.tuning.checks import (
    check_learned,
    check_scored,
    check_setting,
    refuse_training_data,
    tell_in_training,
)
from isoglot.transfer.tuning.config import TuneConfig
from isoglot.transfer.tuning.epoch_selection import Selected, SelectionRule, select
from isoglot.transfer.tuning.fine_tuning import events_in_words, fine_tune
from isoglot.transfer.tuning.kept_epochs import FOLDER as EPOCHS
from isoglot.transfer.tuning.row_vectors import HeldVectors
from isoglot.transfer.tuning.tuned_folder import INDEX, check_begun, check_free, learned_hashes, run_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from isoglot.model.protocol import EncoderLike
    from isoglot.transfer.tasks.examples import Data
    from isoglot.transfer.tasks.task import Task
    from isoglot.transfer.tuning.tuned_encoder import Tuned

RESULT, TABLE, SENTENCES = "result.json", "result.csv", "sentences.safetensors"
COUNTS = "counts of test sentences"


@dataclass
class Trial:
    """A run with one seed and one setting."""

    seed: int
    setting: str
    dev: float
    """The best dev score of the training language."""
    epoch: int
    folder: str | None
    chosen: bool = False
    """Whether it is among the best settings of its seed."""
    tests: list[Selected] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "seed": self.seed,
            "setting": self.setting,
            "dev": self.dev,
            "epoch": self.epoch,
            "folder": self.folder,
            "chosen": self.chosen,
            "tests": [one.facts() for one in self.tests],
        }


@dataclass(frozen=True)
class LanguageScore:
    """Score of a language by one selection rule, over all seeds and their best settings."""

    language: str
    way: SelectionRule
    estimate: Estimate
    others: Mapping[str, float] = field(default_factory=dict)
    """Means of the task's other scores by name."""

    def facts(self) -> dict[str, Any]:
        """As a JSON object or row of a table."""
        return {
            "language": self.language,
            "way": self.way,
            **self.estimate.facts(),
            **{name: round(value, 4) for name, value in self.others.items()},
        }


@dataclass(frozen=True, kw_only=True)
class LearningCheck:
    """The best dev score of the training language, compared with a trivial baseline."""

    language: str
    metric: str
    score: float
    epoch: int
    majority: float | None
    """Accuracy of the most frequent label; None for tasks with several labels per text."""
    constant: str | None
    """The label of all dev predictions, if they are equal."""

    @property
    def nothing(self) -> bool:
        """Whether predictions are constant or no better than the most frequent label."""
        return self.constant is not None or (self.majority is not None and self.score <= self.majority)

    def finding(self) -> str:
        """One sentence for the reader."""
        score = f"{self.metric} {self.score:.1f} on its dev set, epoch {self.epoch}"
        always = "" if self.majority is None else f"; its most frequent label alone gives {self.majority:.1f}"
        if self.constant is not None:
            return f"Nothing was learned from {self.language}: every prediction is {self.constant!r} ({score}{always})."
        verb = "Nothing was learned from" if self.nothing else "Learned from"
        return f"{verb} {self.language}: {score}{always}."

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {**asdict(self), "nothing": self.nothing}


@dataclass(frozen=True)
class Outcome:
    """Result of an experiment."""

    task: str
    metric: str
    languages: tuple[str, ...]
    """The training languages."""
    trials: tuple[Trial, ...]
    lines: tuple[LanguageScore, ...]
    best: Tuned
    """The model with the best dev score."""
    learned: LearningCheck
    tests: Mapping[str, str]
    """Hash of the test set of each language."""
    in_training: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Number of dev and test examples that are also in training, by training language."""

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        model = max(self.trials, key=lambda trial: trial.dev)
        return {
            "task": self.task,
            "metric": self.metric,
            "trained_on": list(self.languages),
            "learned": self.learned.facts(),
            "tests": dict(self.tests),
            "in_training": {name: dict(counts) for name, counts in self.in_training.items()},
            "scores": [line.facts() for line in self.lines],
            "trials": [trial.facts() for trial in self.trials],
            "model": model.folder,
        }


def run_experiment(
    encoder: EncoderLike,
    task: Task[Any],
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    test: Mapping[str, Data[Any]],
    config: TuneConfig | None = None,
    out: str | Path | None = None,
    *,
    seeds: int = 1,
    source: str | None = None,
    resume: bool = False,
    allow_leak: bool = False,
    progress: Progress = SILENT,
    say: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Fine-tune with every seed and setting, and test the best.

    Args:
        encoder: Any encoder; it is not changed.
        task: The task.
        train: Training examples by language.
        dev: Dev examples: of the first training language for selection, of test languages for the oracle.
        test: Test examples by language.
        config: Settings and grid.
        out: Folder for models and results. Default: nothing is written.
        seeds: Number of seeds, starting at the config's.
        source: Folder or name of the encoder.
        resume: Resume the experiment in the folder. Seeds and values at the end of a grid may be added; finished runs
            cannot be left out.
        allow_leak: Accept dev and test examples that are in training.
        progress: Reports progress.
        say: Called with remarks for the user.

    Raises:
        ConfigError: As :func:`check_experiment`.
        InputError: As :func:`check_experiment`.
        NumericError: The loss is not finite.
        StorageError: The folder cannot be written.
    """
    config = config or TuneConfig()
    check_experiment(encoder, task, train, dev, test, config, out, seeds=seeds, resume=resume, allow_leak=allow_leak)
    train, dev, test = ({language_code(code): some for code, some in each.items()} for each in (train, dev, test))
    leaked = tell_in_training(train, dev, test, say)
    folder = None if out is None else writable_folder(out)
    trials: list[Trial] = []
    best: tuple[float, Tuned] | None = None
    held = HeldVectors(encoder)
    for number in range(seeds):
        seed = config.seed + number
        found: list[tuple[Trial, Tuned]] = []
        for index, (name, chosen) in enumerate(_of_seed(config, seed).items(), start=1):
            place = None if folder is None else _place(folder, seed, index)
            tuned = fine_tune(
                encoder,
                task,
                train,
                dev,
                chosen,
                place,
                source=source,
                resume=resume,
                held=held,
                progress=progress,
                say=say,
            )
            score = tuned.history[tuned.epoch - 1]["dev"][tuned.languages[0]]
            trial = Trial(seed, name, score, tuned.epoch, None if place is None else str(place))
            trials.append(trial)
            # Keep only the best in memory.
            found = sorted([*found, (trial, tuned)], key=lambda one: -one[0].dev)[: config.mean_of_best]
        for trial, _ in found:
            trial.chosen = True
        for trial in trials:
            if trial.folder is not None and not trial.chosen:  # its epochs are no longer needed
                remove_folder(Path(trial.folder) / EPOCHS)
        for trial, tuned in found:
            trial.tests = select(tuned, test, progress=progress)
            if best is None or trial.dev > best[0]:
                best = trial.dev, tuned
    assert best is not None  # noqa: S101 - for the type checker
    _tell_tests(best_tests(trials), say)
    hashes = {code: data.sha256 for code, data in test.items()}
    lines = tuple(_lines(trials, task.metric))
    learned = _learned(best[1], dev)
    outcome = Outcome(task.name, task.metric, best[1].languages, tuple(trials), lines, best[1], learned, hashes, leaked)
    if folder is not None:
        _write(outcome, folder)
    return outcome


def _tell_tests(tests: Sequence[Selected], say: Callable[[str], None]) -> None:
    """Report skipped test examples, unseen labels and constant predictions."""
    for one in tests:
        if one.way != "source dev":
            continue
        unseen = {f"of the label {name}, which is not in training": n for name, n in one.test.unseen.items()}
        if one.test.counts or unseen:
            say(f"test {one.language}: {events_in_words({**one.test.counts, **unseen})}")
        if one.test.constant is not None:
            say(f"test {one.language}: every prediction is {shown(one.test.constant)}; nothing was transferred")


def _learned(tuned: Tuned, dev: Mapping[str, Data[Any]]) -> LearningCheck:
    language, entry = tuned.languages[0], tuned.history[tuned.epoch - 1]
    majority = None
    if tuned.task.kind == "classification":
        labels = Counter(example.label for example in dev[language].examples)
        majority = 100 * max(labels.values()) / labels.total()
    return LearningCheck(
        language=language,
        metric=tuned.task.metric,
        score=entry["dev"][language],
        epoch=tuned.epoch,
        majority=majority,
        constant=entry["constant"].get(language),
    )


def check_experiment(
    encoder: EncoderLike,
    task: Task[Any],
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    test: Mapping[str, Data[Any]],
    config: TuneConfig,
    out: str | Path | None = None,
    *,
    seeds: int = 1,
    resume: bool = False,
    allow_leak: bool = False,
) -> None:
    """Check the arguments of :func:`run_experiment` without computing or writing anything.

    Args:
        encoder: The encoder; this and the rest as there.
        task: The task.
        train: Training examples.
        dev: Dev examples.
        test: Test examples.
        config: Settings and grid.
        out: The folder, if any.
        seeds: Number of seeds.
        resume: Whether the experiment in the folder is resumed.
        allow_leak: Accept dev and test examples that are in training.

    Raises:
        ConfigError: There are no seeds or tests, a setting is invalid, the encoder lacks a language, or the folder has
            another experiment or runs that are left out.
        InputError: Examples are missing, a label is not in training and the task refuses it, or nearly all dev or test
            examples are in training.
    """
    if seeds < 1 or not test:
        raise ConfigError(
            "no seeds" if seeds < 1 else "no test data", remedy="give at least one", code="config.missing-data"
        )
    train, dev, test = ({language_code(code): some for code, some in each.items()} for each in (train, dev, test))
    for setting in config.settings().values():
        check_setting(encoder, task, setting)
    check_learned(encoder, train, dev, config)
    check_scored(encoder, test, config.max_length)
    labels = task.learned_labels(train.values())
    for data in (*dev.values(), *test.values()):
        task.unseen_labels(data, labels, config.unseen_labels)
    if not allow_leak:
        refuse_training_data(train, dev, "dev")
        refuse_training_data(train, test, "test")
    if out is not None and not resume:
        check_free(Path(out))
    elif out is not None:
        hashes = learned_hashes(encoder, train, dev)
        runs = {
            _place(Path(out), seed, index): run_identity(task, setting, hashes)
            for seed in range(config.seed, config.seed + seeds)
            for index, setting in enumerate(_of_seed(config, seed).values(), start=1)
        }
        for place, identity in runs.items():
            check_begun(place, identity)
        _check_all(Path(out), runs)


def _check_all(out: Path, places: Container[Path]) -> None:
    """Refuse to resume without finished runs, whose results would be lost.

    Settings and seeds may be added: a run that is not among the best of fewer is not among the best of more.
    """
    for path in sorted(out.glob(f"seed-*/*/{INDEX}")):
        if path.parent not in places:
            raise ConfigError(
                f"{out} has a finished run {path.parent.relative_to(out)}, which this grid and these seeds leave out",
                remedy="resume with at least its grid and seeds, or use another folder",
                code="config.other-settings",
            )


def _of_seed(config: TuneConfig, seed: int) -> dict[str, TuneConfig]:
    """Settings of the grid with a seed."""
    return {
        name: build_config(TuneConfig, values=setting.model_dump(mode="json") | {"seed": seed})
        for name, setting in config.settings().items()
    }


def _place(folder: Path, seed: int, index: int) -> Path:
    """Folder of a seed and setting."""
    return folder / f"seed-{seed}" / f"{index:02d}"


def best_tests(trials: Sequence[Trial]) -> list[Selected]:
    """Tests of the trial with the best dev score."""
    return max(trials, key=lambda trial: trial.dev).tests


def _lines(trials: Sequence[Trial], metric: str) -> list[LanguageScore]:
    """Scores by language and selection rule."""
    tests: dict[tuple[str, SelectionRule], dict[int, list[Selected]]] = {}
    for trial in trials:
        for one in trial.tests:
            tests.setdefault((one.language, one.way), {}).setdefault(trial.seed, []).append(one)
    lines = []
    for (language, way), by_seed in tests.items():
        found = estimate_runs([[one.test.scores.ratio_S2 for one in some] for some in by_seed.values()])
        lines.append(LanguageScore(language, way, found, _other_means([*by_seed.values()], metric)))
    return lines


def _other_means(by_seed: Sequence[Sequence[Selected]], metric: str) -> dict[str, float]:
    """Means over seeds and settings of all scores but the main one; a missing score counts as 0.

    An entity type that is neither in the gold nor predicted in a run has no F1 there.
    """
    names = {name: None for some in by_seed for one in some for name in one.test.scores.values if name != metric}
    means = [
        {name: statistics.fmean(one.test.scores.values.get(name, 0.0) for one in some) for name in names}
        for some in by_seed
    ]
    return {name: statistics.fmean(each[name] for each in means) for name in names}


def _write(outcome: Outcome, folder: Path) -> None:
    import numpy as np

    counts = {
        f"{trial.seed}/{trial.setting}/{one.language}/{one.way}": np.ascontiguousarray(one.test.scores.ratio_S2)
        for trial in outcome.trials
        for one in trial.tests
    }
    save_arrays(folder / SENTENCES, COUNTS, {}, counts)
    about = {"task": outcome.task, "metric": outcome.metric}
    write_text(folder / TABLE, Table.from_rows({**about, **line.facts()} for line in outcome.lines).csv())
    write_sealed(folder / RESULT, outcome.facts())

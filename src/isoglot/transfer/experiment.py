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
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from isoglot.core.artifact import load_arrays, read_sealed, save_arrays, write_sealed
from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError, InputError, StorageError, shown
from isoglot.core.files import writable_folder, write_files, write_text
from isoglot.core.folders import remove_folder
from isoglot.core.progress import SILENT, Progress, Say, say_nothing
from isoglot.core.table import Table
from isoglot.transfer.scoring.evaluation import Selected, SelectionRule, select
from isoglot.transfer.scoring.significance import Estimate, PairedComparison, compare_all, estimate_runs
from isoglot.transfer.tasks.task import Data, Task, by_code
from isoglot.transfer.tuning.checks import check_examples, check_learned, check_scored, check_setting, report_overlap
from isoglot.transfer.tuning.config import TuneConfig
from isoglot.transfer.tuning.fine_tuning import events_in_words, fine_tune
from isoglot.transfer.tuning.tuned_encoder import EPOCHS, HeldVectors, Tuned
from isoglot.transfer.tuning.tuned_folder import INDEX, check_begun, check_free, learned_hashes, run_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.core.run import RunRecord
    from isoglot.model.protocol import EncoderLike

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
        return {**vars(self), "tests": [one.facts() for one in self.tests]}


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
        others = {name: round(value, 4) for name, value in self.others.items()}
        return {"language": self.language, "way": self.way, **self.estimate.facts(), **others}


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
        return {
            "task": self.task,
            "metric": self.metric,
            "trained_on": list(self.languages),
            "learned": self.learned.facts(),
            "tests": dict(self.tests),
            "in_training": {name: dict(counts) for name, counts in self.in_training.items()},
            "scores": [line.facts() for line in self.lines],
            "trials": [trial.facts() for trial in self.trials],
            "model": _best(self.trials).folder,
        }

    def table(self) -> Table:
        """Scores by language and selection rule; of the other scores, those that all lines have."""
        every = [name for name in self.lines[0].others if all(name in line.others for line in self.lines)]
        others = [name for name in every if " " not in name]
        several = any(line.estimate.over_seeds.seeds > 1 for line in self.lines)
        heads = ["language", "chosen by", self.metric, "95 % over sentences", *["over seeds"] * several, *others]
        words: dict[SelectionRule, str] = {
            "source dev": f"{self.languages[0]} dev",
            "oracle": "its own dev (not zero-shot)",
            "averaged": "none: weights averaged",
        }
        rows: list[list[str]] = []
        before = None
        for line in self.lines:
            facts = line.facts()
            cells = ["" if line.language == before else line.language, words[line.way], f"{facts['score']:.1f}"]
            cells += [f"{facts['low']:.1f} – {facts['high']:.1f}", *[f"± {facts['seed_deviation']:.1f}"] * several]
            rows.append([*cells, *(f"{line.others[name]:.1f}" for name in others)])
            before = line.language
        return Table.from_cells(heads, rows, align="llr")


class RunOptions(TypedDict, total=False):
    """Options of :func:`run_experiment`."""

    seeds: int
    """Number of seeds, starting at the config's. Default: 1."""
    source: str | None
    """Folder or name of the encoder, to load it again if it is not an isoglot encoder."""
    resume: bool
    """Resume the experiment in the folder. Seeds and values at the end of a grid may be added; finished runs cannot be
    left out."""
    allow_leak: bool
    """Accept dev and test examples that are in training."""
    page: Callable[[Outcome], Mapping[str, str | bytes]]
    """Makes the files of a page of the result, by name. Default: none."""
    record: AbstractContextManager[RunRecord | None] | None
    """Record of the run, entered once all arguments have been checked, so that nothing is written before."""


def run_experiment(
    encoder: EncoderLike,
    task: Task[Any],
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    test: Mapping[str, Data[Any]],
    config: TuneConfig | None = None,
    out: str | Path | None = None,
    *,
    progress: Progress = SILENT,
    say: Say = say_nothing,
    **options: Unpack[RunOptions],
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
        progress: Reports progress.
        say: Called with remarks for the user.
        options: Number of seeds and other options of :class:`RunOptions`.

    Raises:
        ConfigError: There are no seeds or tests, a setting is invalid, the encoder lacks a language, or the folder has
            another experiment or runs that are left out.
        InputError: Examples are missing, a label is not in training and the task refuses it, or nearly all dev or test
            examples are in training.
        NumericError: The loss is not finite.
        StorageError: The folder cannot be written.
    """
    config, seeds, resume = config or TuneConfig(), options.get("seeds", 1), options.get("resume", False)
    train, dev, test = by_code(train), by_code(dev), by_code(test)
    if seeds < 1 or not test:
        problem = "no seeds" if seeds < 1 else "no test data"
        raise ConfigError(problem, "give at least one", "missing-data")
    for setting in config.settings().values():
        check_setting(encoder, task, setting)
    check_learned(encoder, train, dev, config)
    check_scored(encoder, test, config.max_length)
    check_examples(task, train, dev, test, config, allow_leak=options.get("allow_leak", False))
    folder = None if out is None else Path(out)
    grid = {seed: _of_seed(config, seed) for seed in range(config.seed, config.seed + seeds)}
    if folder is not None:
        _check_folder(folder, encoder, task, train, dev, grid, resume=resume)
    with options.get("record") or nullcontext() as run:
        leaked = report_overlap(train, dev, test, say)
        folder = None if folder is None else writable_folder(folder)
        told: dict[str, Any] = {"held": HeldVectors(encoder), "progress": progress, "say": say, "resume": resume}
        tune = partial(fine_tune, encoder, task, train, dev, source=options.get("source"), **told)
        trials: list[Trial] = []
        tuned_models: list[tuple[Trial, Tuned]] = []
        for seed, settings in grid.items():
            of_seed, found = _tune_settings(tune, seed, settings, folder, keep=config.mean_of_best)
            trials += of_seed
            for trial, tuned in found:
                trial.tests = select(tuned, test, progress=progress)
            tuned_models = [max([*tuned_models, *found], key=lambda one: one[0].dev)]
        ((_, best),) = tuned_models
        _report_tests(_best(trials).tests, say)
        hashes = {code: data.sha256 for code, data in test.items()}
        scores, learned = tuple(_lines(trials, task.metric)), _learned(best, dev)
        done = Outcome(task.name, task.metric, best.languages, tuple(trials), scores, best, learned, hashes, leaked)
        if folder is not None:
            page = options["page"](done) if "page" in options else {}
            for path in [*_write(done, folder), *write_files(folder, page)]:
                if run is not None:
                    run.add_output(path)
    return done


def _tune_settings(
    tune: Callable[[TuneConfig, Path | None], Tuned],
    seed: int,
    settings: Mapping[str, TuneConfig],
    folder: Path | None,
    *,
    keep: int,
) -> tuple[list[Trial], list[tuple[Trial, Tuned]]]:
    """Fine-tune with every setting of a seed; returns all trials, and the best with their models."""
    trials: list[Trial] = []
    best: list[tuple[Trial, Tuned]] = []
    for index, (name, setting) in enumerate(settings.items(), start=1):
        place = None if folder is None else _place(folder, seed, index)
        tuned = tune(setting, place)
        score = tuned.history[tuned.epoch - 1]["dev"][tuned.languages[0]]
        trials.append(Trial(seed, name, score, tuned.epoch, None if place is None else str(place)))
        # Keep only the best in memory.
        best = sorted([*best, (trials[-1], tuned)], key=lambda one: -one[0].dev)[:keep]
    for trial, _ in best:
        trial.chosen = True
    for trial in trials:
        if trial.folder is not None and not trial.chosen:  # its epochs are no longer needed
            remove_folder(Path(trial.folder) / EPOCHS)
    return trials, best


def _check_folder(
    out: Path,
    encoder: EncoderLike,
    task: Task[Any],
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    grid: Mapping[int, Mapping[str, TuneConfig]],
    *,
    resume: bool,
) -> None:
    """Check that a folder is free or can be resumed without leaving out finished runs, whose results would be lost.

    Settings and seeds may be added: a run that is not among the best of fewer is not among the best of more.
    """
    if not resume:
        check_free(out)
        return
    hashes = learned_hashes(encoder, train, dev)
    places = set()
    for seed, settings in grid.items():
        for index, setting in enumerate(settings.values(), start=1):
            places.add(_place(out, seed, index))
            check_begun(_place(out, seed, index), run_identity(task, setting, hashes))
    for path in sorted(out.glob(f"seed-*/*/{INDEX}")):
        if path.parent not in places:
            raise ConfigError(
                f"{out} has a finished run {path.parent.relative_to(out)}, which this grid and these seeds leave out",
                "resume with at least its grid and seeds, or use another folder",
                "other-settings",
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


def _best(trials: Sequence[Trial]) -> Trial:
    """The trial with the best dev score."""
    return max(trials, key=lambda trial: trial.dev)


def _report_tests(tests: Sequence[Selected], say: Say) -> None:
    """Report skipped test examples, unseen labels and constant predictions."""
    for one in tests:
        if one.way == "source dev":
            if told := events_in_words(one.test.events()):
                say(f"test {one.language}: {told}")
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
    scores = [[one.test.scores.values for one in some] for some in by_seed]
    names = {name: None for some in scores for values in some for name in values if name != metric}
    return {
        name: statistics.fmean(statistics.fmean(values.get(name, 0.0) for values in some) for some in scores)
        for name in names
    }


def _write(outcome: Outcome, folder: Path) -> list[Path]:
    counts = {
        f"{trial.seed}/{trial.setting}/{one.language}/{one.way}": np.ascontiguousarray(one.test.scores.ratio_S2)
        for trial in outcome.trials
        for one in trial.tests
    }
    save_arrays(folder / SENTENCES, COUNTS, {}, counts)
    about = {"task": outcome.task, "metric": outcome.metric}
    write_text(folder / TABLE, Table.from_rows({**about, **line.facts()} for line in outcome.lines).csv())
    write_sealed(folder / RESULT, outcome.facts())
    return [folder / name for name in (RESULT, TABLE, SENTENCES)]


# --- paired tests between two experiments ---

_MISSING: dict[SelectionRule, str] = {
    "source dev": "run it again with isoglot transfer",
    "oracle": "run it with dev sets of the test languages, or choose another selection rule",
    "averaged": "run it for at least two epochs, or choose another selection rule",
}
"""Remedy for experiments without tests of a selection rule."""


@dataclass(frozen=True)
class Compared:
    """Comparison of two experiments on the test set of one language."""

    language: str
    one: float
    other: float
    comparison: PairedComparison

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        scores = {"one": round(self.one, 4), "other": round(self.other, 4)}
        return {"language": self.language, **scores, **self.comparison.facts()}


def compare_experiments(one: str | Path, other: str | Path, *, way: SelectionRule = "source dev") -> list[Compared]:
    """Compare two folders of :func:`run_experiment`, language by language, on the same sentences.

    All seeds and selected settings are used; both experiments must have the same number.

    Args:
        one: Folder of an experiment.
        other: Folder of another, of the same task and test sentences.
        way: The selection rule.

    Raises:
        InputError: Tasks or test sets differ, or there is no common language with that selection rule.
        StorageError: A folder has no experiment.
    """
    facts, other_facts = (_facts(Path(folder)) for folder in (one, other))
    counts, other_counts = (_counts(Path(folder), way) for folder in (one, other))
    if facts["task"] != other_facts["task"]:
        problem = f"{facts['task']} in {one}, {other_facts['task']} in {other}"
        raise InputError(problem, "compare runs of one task", "other-data")
    for folder, own in ((one, counts), (other, other_counts)):
        if not own:
            problem = f"no test in {folder} has epochs chosen by {way}"
            raise InputError(problem, _MISSING[way], "no-match")
    languages = [language for language in counts if language in other_counts]
    if not languages:
        problem = f"{one} and {other} have no test of one language with epochs chosen by {way}"
        raise InputError(problem, "test both on the same files", "no-match")
    for language in languages:
        if facts["tests"].get(language) != other_facts["tests"].get(language):
            problem = f"{one} and {other} were tested on different {language} sentences"
            raise InputError(problem, "test both on the same file", "other-data")
    found = compare_all([(counts[language], other_counts[language]) for language in languages])
    return [
        Compared(code, _mean_score(counts[code]), _mean_score(other_counts[code]), each)
        for code, each in zip(languages, found, strict=True)
    ]


def _facts(folder: Path) -> dict[str, Any]:
    if not (folder / RESULT).exists() or not (folder / SENTENCES).exists():
        remedy = "create one with isoglot transfer"
        raise StorageError("no experiment in this folder", remedy, "not-found", file=folder)
    form = {"task": str, "tests": dict}
    return read_sealed(folder / RESULT, form, remedy="create it again with isoglot transfer")


def _counts(folder: Path, way: SelectionRule) -> dict[str, list[np.ndarray]]:
    """Counts per sentence for every seed and setting, by language."""
    _, counts = load_arrays(folder / SENTENCES, COUNTS, remedy="create it again with isoglot transfer")
    found: dict[str, list[np.ndarray]] = {}
    for name, counts_S2 in sorted(counts.items()):
        _, language, chosen = name.rsplit("/", 2)
        if chosen == way:
            found.setdefault(language, []).append(counts_S2)
    return found


def _mean_score(counts: list[np.ndarray]) -> float:
    return statistics.fmean(100 * float(each[:, 0].sum()) / max(1, int(each[:, 1].sum())) for each in counts)

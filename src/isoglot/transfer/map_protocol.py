"""Map transfer (Wu et al. 2020, section 5.1.2): upper layers trained on one model, tested on another through a map.

The first i layers of an English model are frozen, and four new Transformer layers with a task head are trained on top
of them in English. At test another model reads its own language up to its layer i, a map W_i takes its hidden states
into the space of the English model, and the same upper layers continue from there. Every i, from 0 for the embeddings,
is a point of a curve::

    monolingual = Models("monolingual", english, {"de": german}, {"de": maps})
    bilingual = Models("bilingual", both, {"de": both}, {"de": its_maps})
    map_transfer(task, [monolingual, bilingual], {"en": train}, {"en": dev}, {"de": test}).lines

The mapped score is compared with the same without a map, with a bilingual model cut at layer i (one encoder for both
languages, so no map is needed), with the bilingual model and a map, and with the training language, an upper bound.

In the folder::

    fine_tune.json                       identity of the run; resuming requires the same
    points/monolingual-3-0.safetensors   layer 3, seed 0: scores, and two counts of each test sentence
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from isoglot.align.apply import Lengths  # noqa: TC001 - pydantic reads it
from isoglot.core.artifact import load_arrays, save_arrays, write_sealed
from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError
from isoglot.core.files import writable_folder, write_files
from isoglot.core.progress import SILENT, Progress, Say, say_nothing
from isoglot.core.table import Table
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.represent.layer_pass import Layers, chosen_layers
from isoglot.transfer.layer_maps import LayerMaps, check_maps, map_hash, maps_folder
from isoglot.transfer.scoring.evaluation import Evaluation, evaluate
from isoglot.transfer.scoring.significance import Estimate, PairedComparison, compare_all, estimate_runs
from isoglot.transfer.stacked_encoder import MEMORY, FrozenStates, LowerLayers, StackedEncoder
from isoglot.transfer.tasks.task import Data, Task, TaskRow, by_code
from isoglot.transfer.tuning.checks import check_examples, check_scored, report_overlap
from isoglot.transfer.tuning.config import TuneConfig
from isoglot.transfer.tuning.fine_tuning import events_in_words, fine_tune
from isoglot.transfer.tuning.tuned_encoder import Tuned, reader_of
from isoglot.transfer.tuning.tuned_folder import check_begun, check_free, open_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.align.maps.estimator import PairMap
    from isoglot.core.run import RunRecord
    from isoglot.model.protocol import EncoderLike

    Examples = Mapping[str, Data[Any]]

_FIXED = ("tune", "freeze", "frozen", "layer")
_SHARED = ("max_length", "precision", "memory_gib", "vector_norms", "seed", "keep", "unseen_labels")
"""Settings of the frozen states, the data and the maps, which are shared by all settings of a grid."""
Arm = Literal["source", "unmapped", "mapped"]
"""``source``: the training language, an upper bound; ``unmapped``: another language without a map; ``mapped``: mapped
into the space of the first model."""
ModelsAndArm = tuple[str, Arm]
"""Models and an arm."""
POINTS, RESULT, TABLE = "points", "result.json", "result.csv"
_KIND = "a point of map transfer"
_PAIRS: tuple[tuple[ModelsAndArm, ModelsAndArm], ...] = (
    (("monolingual", "mapped"), ("monolingual", "unmapped")),
    (("bilingual", "unmapped"), ("monolingual", "mapped")),
    (("bilingual", "mapped"), ("bilingual", "unmapped")),
)


class MapTransferConfig(TuneConfig):
    """Settings of map transfer, in addition to fine-tuning; ``encoder_learning_rate`` is that of the new layers.

    >>> config = MapTransferConfig(new_layers=2)
    >>> config.new_layers, config.vector_norms
    (2, 'auto')
    """

    new_layers: int = Field(4, ge=1)
    """new Transformer layers on the frozen ones"""
    new_dropout: float = Field(0.1, ge=0, lt=1)
    """dropout in the new layers"""
    vector_norms: Lengths = "auto"
    """norms of mapped vectors: those of the map, those before mapping, or auto: the latter if the map loses them"""
    memory_gib: float = Field(MEMORY, gt=0)
    """GiB of frozen states per language and model kept in memory; more are kept in a file"""

    def tuning(self, seed: int) -> TuneConfig:
        """Settings of fine-tuning with a seed; only the best epoch on dev is kept.

        Raises:
            ConfigError: A setting selects trained parts of the encoder, or the grid has a shared setting.
        """
        for key in _FIXED:
            if getattr(self, key) != TuneConfig.model_fields[key].default or key in self.grid:
                problem = f"{key} is set, but map transfer trains the new layers and freezes all others"
                raise ConfigError(problem, "remove it, or choose another recipe", "conflicting-options")
        for key in self.grid:
            if key in _SHARED:
                raise ConfigError(
                    f"a grid of {key}, which all settings of map transfer share",
                    "give it one value; a grid may have batch sizes, epochs, learning rates, weight decay, "
                    "dropout or new layers",
                    "conflicting-options",
                )
        own = {name: self.model_dump(mode="json")[name] for name in TuneConfig.model_fields}
        return build_config(TuneConfig, values=own | {"keep": 1, "seed": seed, "grid": {}})


@dataclass(frozen=True)
class Models:
    """Models of each language, and the maps between them.

    Args:
        name: Name of the models in results.
        source: Model of the training language.
        others: Model of each test language; the same one if it is multilingual.
        maps: For each test language, maps by layer from its model to the source model. Default: nothing is mapped.

    >>> from isoglot.model import Encoder, encoder_config
    >>> encoder = Encoder(encoder_config("paper", "nano", vocabulary_size=50))
    >>> Models("bilingual", encoder, {"de": encoder}).depth
    2
    """

    name: Literal["monolingual", "bilingual"]
    source: EncoderLike
    others: Mapping[str, EncoderLike]
    maps: Mapping[str, Mapping[int, PairMap]] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """Number of layers that all models have."""
        return min(each.depth for each in (self.source, *self.others.values()))

    def hashes(self, layer: int) -> dict[str, str]:
        """Hash of the map of each test language."""
        return {code: map_hash(maps[layer]) for code, maps in self.maps.items()}


def models_with(
    source: EncoderLike, others: Mapping[str, EncoderLike], bilingual: EncoderLike | None = None
) -> list[Models]:
    """Return monolingual models and, to compare with, one of all languages if there is one.

    Args:
        source: Model of the training language.
        others: Model of each test language.
        bilingual: One model of all of them.
    """
    found = [Models("monolingual", source, others)]
    return found if bilingual is None else [*found, Models("bilingual", bilingual, dict.fromkeys(others, bilingual))]


# --- results ---


@dataclass(frozen=True)
class SettingRun:
    """One setting of a grid at one layer with one seed."""

    setting: str
    """Name of the setting; empty without a grid."""
    dev: float
    epoch: int
    tests: Mapping[tuple[str, Arm], Evaluation] = field(default_factory=dict)
    """Test results by language and arm; empty unless the setting is among the best on dev."""


@dataclass(frozen=True)
class MapPoint:
    """Results of one layer with one seed: dev scores of all settings, and tests of the best."""

    facts: Mapping[str, Any]
    """JSON object: models, layer, seed, best dev score, seconds, hashes of maps, dev score of every setting, and scores
    of each arm."""
    ratios: Mapping[str, np.ndarray]
    """Two counts per sentence, by ``language/arm/setting``."""

    @classmethod
    def of(
        cls, key: tuple[str, int, int], runs: Sequence[SettingRun], maps: Mapping[str, str], *, seconds: float
    ) -> MapPoint:
        """Collect the runs of every setting, by models, layer and seed."""
        best = max(runs, key=lambda run: run.dev)
        tested = [(run.setting, code, arm, one) for run in runs for (code, arm), one in run.tests.items()]
        settings = [
            {"setting": run.setting, "dev": run.dev, "epoch": run.epoch, "chosen": bool(run.tests)} for run in runs
        ]
        facts = dict(zip(("models", "layer", "seed"), key, strict=True)) | {
            "dev": best.dev,
            "epoch": best.epoch,
            "seconds": round(seconds, 3),
            "maps": dict(maps),
            "settings": settings,
            "tests": [{"arm": arm, "setting": setting, **one.facts()} for setting, _, arm, one in tested],
        }
        ratios = {
            f"{code}/{arm}/{setting}": np.ascontiguousarray(one.scores.ratio_S2) for setting, code, arm, one in tested
        }
        return cls(facts, ratios)


@dataclass
class MapPoints:
    """Finished points, in memory and, if there is a folder, in one file each.

    Args:
        out: Folder of the run. Default: they are kept in memory only.
    """

    out: Path | None = None
    _known: dict[tuple[str, int, int], MapPoint] = field(default_factory=dict)

    def has(self, models: str, layer: int, seed: int, maps: Mapping[str, str]) -> bool:
        """Whether a point is finished.

        Args:
            models: Name of the models.
            layer: The mapped layer.
            seed: The seed.
            maps: Hash of the map of each test language.

        Raises:
            ConfigError: It was computed with other maps.
            CorruptFileError: Its file is damaged.
        """
        if self.out is not None and self._path(models, layer, seed).exists():
            there = dict(self.get(models, layer, seed).facts["maps"])
            changed = [code for code in {*there, *maps} if there.get(code) != maps.get(code)]
            if changed:
                problem = f"{self.out} has another run: the map of {changed[0]} in layer {layer} has changed"
                raise ConfigError(problem, "resume with the same maps, or use another folder", "other-settings")
        return (models, layer, seed) in self._known

    def put(self, point: MapPoint) -> None:
        """Store a point.

        Raises:
            StorageError: It cannot be written.
        """
        key = point.facts["models"], point.facts["layer"], point.facts["seed"]
        self._known[key] = point
        if self.out is not None:
            save_arrays(self._path(*key), _KIND, point.facts, point.ratios)

    def get(self, models: str, layer: int, seed: int) -> MapPoint:
        """Get a finished point.

        Raises:
            CorruptFileError: Its file is damaged.
            StorageError: It does not exist.
        """
        key = models, layer, seed
        if key not in self._known:
            self._known[key] = MapPoint(*load_arrays(self._path(*key), _KIND, remedy="delete it, and run again"))
        return self._known[key]

    def _path(self, models: str, layer: int, seed: int) -> Path:
        assert self.out is not None  # noqa: S101 - for the type checker
        return self.out / POINTS / f"{models}-{layer}-{seed}.safetensors"


@dataclass(frozen=True)
class LayerScore:
    """Score of a language, models and arm at one layer, over all seeds."""

    models: str
    language: str
    arm: Arm
    layer: int
    estimate: Estimate

    def facts(self) -> dict[str, Any]:
        """As a JSON object or row of a table."""
        found = {**vars(self), **self.estimate.facts()}
        del found["estimate"]
        return found


@dataclass(frozen=True)
class PairedTest:
    """Paired test of two combinations of models and arm at one layer, on the same sentences."""

    language: str
    layer: int
    one: ModelsAndArm
    other: ModelsAndArm
    comparison: PairedComparison

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        both = {"one": " ".join(self.one), "other": " ".join(self.other)}
        return {"language": self.language, "layer": self.layer, **both, **self.comparison.facts()}


def _ratios(points: Sequence[MapPoint]) -> dict[tuple[str, str, Arm, int], dict[int, list[np.ndarray]]]:
    """Counts per sentence for every tested setting of every seed, by models, language, arm and layer."""
    found: dict[tuple[str, str, Arm, int], dict[int, list[np.ndarray]]] = {}
    for point in points:
        for test in point.facts["tests"]:
            key = point.facts["models"], test["language"], test["arm"], point.facts["layer"]
            runs = found.setdefault(key, {}).setdefault(point.facts["seed"], [])
            runs.append(point.ratios[f"{test['language']}/{test['arm']}/{test['setting']}"])
    return found


def lines_of(points: Sequence[MapPoint]) -> tuple[LayerScore, ...]:
    """Scores with confidence intervals over sentences and deviation over seeds."""
    return tuple(LayerScore(*key, estimate_runs(list(by_seed.values()))) for key, by_seed in _ratios(points).items())


def pairs_of(points: Sequence[MapPoint]) -> tuple[PairedTest, ...]:
    """Paired tests of mapped against unmapped, and of a map against a bilingual model."""
    ratios = {key: [run for runs in by_seed.values() for run in runs] for key, by_seed in _ratios(points).items()}
    every = dict.fromkeys((language, layer) for _, language, _, layer in ratios)
    tests = [
        (language, layer, one, other)
        for language, layer in every
        for one, other in _PAIRS
        if all((models, language, arm, layer) in ratios for models, arm in (one, other))
    ]
    counts = [
        (ratios[one[0], language, one[1], layer], ratios[other[0], language, other[1], layer])
        for language, layer, one, other in tests
    ]
    return tuple(PairedTest(*test, found) for test, found in zip(tests, compare_all(counts), strict=True))


@dataclass(frozen=True)
class MapTransfer:
    """Result of map transfer.

    >>> found = MapTransfer("ner", "f1", "en", "test", (0, 8), points=(), lines=(), pairs=())
    >>> found.facts()["ceiling"]
    'en test'
    """

    task: str
    """Name of the task."""
    metric: str
    """Name of the score."""
    source: str
    """The training language."""
    ceiling: Literal["test", "dev"]
    """The data set of the training language that gives the upper bound."""
    layers: tuple[int, ...]
    """Layers that were tested."""
    points: tuple[MapPoint, ...]
    """Results of each layer and seed of each model."""
    lines: tuple[LayerScore, ...]
    """Scores over seeds, by models, language, arm and layer."""
    pairs: tuple[PairedTest, ...]
    """Paired tests between models and arms, Holm-corrected."""
    in_training: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Number of dev and test examples that are also in training, by training language."""

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "task": self.task,
            "metric": self.metric,
            "trained_on": self.source,
            "ceiling": f"{self.source} {self.ceiling}",
            "layers": list(self.layers),
            "in_training": {name: dict(counts) for name, counts in self.in_training.items()},
            "scores": [line.facts() for line in self.lines],
            "paired": [pair.facts() for pair in self.pairs],
            "runs": [point.facts for point in self.points],
        }


# --- the run ---


def map_transfer(
    task: Task[Any],
    models: Sequence[Models],
    train: Examples,
    dev: Examples,
    test: Examples,
    config: MapTransferConfig | None = None,
    out: str | Path | None = None,
    *,
    progress: Progress = SILENT,
    say: Say = say_nothing,
    **options: Any,  # noqa: ANN401 - fields of MapRun
) -> MapTransfer:
    """Train a task on every layer of a model, and test it on other models through maps.

    Args:
        task: The task.
        models: Monolingual models, optionally with a bilingual one; they are not changed.
        train: Training examples of one language.
        dev: Dev examples of that language, which select the epoch.
        test: Test examples of the language of every other model, optionally of the training language.
        config: Settings.
        out: Folder for finished points. Default: nothing is written.
        progress: Reports progress.
        say: Called with remarks for the user.
        options: ``layers``, ``seeds``, ``resume`` and ``allow_leak`` of :class:`MapRun`.

    Returns:
        Scores of every layer with and without a map, with paired tests.

    Raises:
        ConfigError: Settings, languages, layers or maps do not fit, or the folder has another run.
        InputError: Examples are missing, a label is not in training and the task refuses it, or nearly all dev or test
            examples are in training.
        NumericError: The loss is not finite.
        StorageError: The folder cannot be written.
    """
    place = None if out is None else Path(out)
    return MapRun(task, models, train, dev, test, config or MapTransferConfig(), place, **options).run(progress, say)


@dataclass
class MapRun:
    """A run of map transfer, in two steps: arguments are checked when it is created, maps when it starts.

    Args:
        task: The task; this and the rest up to ``out`` as those of :func:`map_transfer`.
        models: The models; their maps may be added later.
        train: Training examples.
        dev: Dev examples.
        test: Test examples.
        config: Settings.
        out: The folder, if any.
        layers: Layers at which the models are cut; 0 is the embeddings.
        seeds: Number of seeds, starting at the config's.
        resume: Resume the run in the folder: finished points are not computed again.
        allow_leak: Accept dev and test examples that are in training.
    """

    task: Task[Any]
    models: Sequence[Models]
    train: Examples
    dev: Examples
    test: Examples
    config: MapTransferConfig
    out: Path | None = None
    layers: Layers = "all"
    seeds: int = 1
    resume: bool = False
    allow_leak: bool = False

    def __post_init__(self) -> None:
        self.train, self.dev, self.test = by_code(self.train), by_code(self.dev), by_code(self.test)
        self.config.tuning(self.config.seed)
        self.source = self._check_languages()
        """The training language."""
        self.tests = {self.source: self.test.get(self.source, self.dev[self.source]), **self.test}
        for each in self.models:
            for some in (self.dev[self.source], self.tests[self.source]):
                check_scored(each.source, {self.source: some}, self.config.max_length)
            for code, encoder in each.others.items():
                check_scored(encoder, {code: self.test[code]}, self.config.max_length)
        check_examples(self.task, self.train, self.dev, self.test, self.config, allow_leak=self.allow_leak)
        self.layers = self.chosen = chosen_layers(self.layers, min(each.depth for each in self.models))
        if self.out is not None and not self.resume:
            check_free(self.out)
        if self.out is not None:
            check_begun(self.out, self.identity())

    def _check_languages(self) -> str:
        """Check that models, maps and data are of the same languages; returns the training language."""
        if len(self.train) != 1:
            languages = " and ".join(self.train) or "no language"
            raise ConfigError(f"training data of {languages}", "give training data of one language", "other-language")
        (source,) = self.train
        if source not in self.dev:
            problem = f"there is no dev data of {source}"
            raise ConfigError(problem, f"give dev data of {source}; epochs are selected on it", "missing-data")
        if not self.models or len({each.name for each in self.models}) < len(self.models):
            remedy = "give monolingual ones, and a bilingual one if any"
            raise ConfigError("no models, or two of one name", remedy, "duplicate")
        for each in self.models:
            for code in self.test:
                if code != source and code not in each.others:
                    remedy = f"give a model of {code}, or remove its test data"
                    raise ConfigError(f"no {each.name} model reads {code}", remedy, "other-language")
            for code in each.others:
                if code == source:
                    raise ConfigError(f"another model for {code}, the training language", "remove it", "other-language")
                if code not in self.test:
                    problem = f"there is no test data of {code}"
                    raise ConfigError(problem, f"give test data of {code}, or remove its model", "missing-data")
            if unread := sorted(set(each.maps) - set(each.others)):
                problem = f"maps of {', '.join(unread)}, which no {each.name} model reads"
                raise ConfigError(problem, "remove them, or give the model", "other-language")
        return source

    def identity(self) -> dict[str, Any]:
        """Identity of the run; layers and seeds may be added to it."""
        hashes = {"train": self.train[self.source].sha256, "dev": self.dev[self.source].sha256}
        hashes |= {f"test {code}": data.sha256 for code, data in self.tests.items()}
        for each in self.models:
            for code, encoder in {self.source: each.source, **each.others}.items():
                hashes[f"{each.name} {code}"] = encoder_hash(encoder) or ""
        return {"task": self.task.name, "config": self.config.model_dump(mode="json"), "data": hashes}

    def fit(self, maps_of: Callable[[Models, str], LayerMaps]) -> dict[Path, LayerMaps]:
        """Add maps to the models; returns them by the folder, relative to that of the run, to save them in.

        Args:
            maps_of: Returns the maps of models and a test language.
        """
        if self.out is not None:
            writable_folder(self.out)  # before the work
        made = {each.name: {code: maps_of(each, code) for code in each.others} for each in self.models}
        self.models = [
            replace(each, maps={code: one.maps for code, one in made[each.name].items()}) for each in self.models
        ]
        return {maps_folder(name, code): one for name, some in made.items() for code, one in some.items()}

    def run(
        self,
        progress: Progress = SILENT,
        say: Say = say_nothing,
        *,
        record: AbstractContextManager[RunRecord | None] | None = None,
        fitted: Mapping[Path, LayerMaps] | None = None,
        figures: Callable[[MapTransfer], Mapping[str, str | bytes]] | None = None,
    ) -> MapTransfer:
        """Train and test at every layer with every seed.

        Args:
            progress: Reports progress.
            say: Called with remarks for the user.
            record: Record of the run, entered once the maps have been checked; results are written to its folder.
            fitted: Newly fitted maps, which are saved in the folder.
            figures: Returns further files by name, which are written with the results.

        Raises:
            ConfigError: Maps do not fit the models or finished points, or the folder has another run.
            NumericError: The loss is not finite.
            StorageError: The folder cannot be written.
        """
        points = MapPoints(self.out)
        every = range(self.config.seed, self.config.seed + self.seeds)
        keys = [(layer, seed) for layer in self.chosen for seed in every]
        todo: dict[str, list[tuple[int, int]]] = {}
        for each in self.models:
            for code, maps in each.maps.items():
                check_maps(maps, self.chosen, (code, self.source), each.others[code], each.source)
            hashes = {layer: each.hashes(layer) for layer in self.chosen}
            todo[each.name] = [key for key in keys if not points.has(each.name, *key, hashes[key[0]])]
        with record or nullcontext() as opened:
            if self.out is not None:
                for place, some in (fitted or {}).items():
                    some.save(self.out / place)
                open_run(self.out, self.identity(), resume=self.resume)
            leaked = report_overlap(self.train, self.dev, self.test, say)
            for each in self.models:
                if todo[each.name]:
                    self._train(each, todo[each.name], points, progress, say)
            done = tuple(points.get(each.name, *key) for each in self.models for key in keys)
            kind: Literal["test", "dev"] = "test" if self.source in self.test else "dev"
            scores = lines_of(done), pairs_of(done)
            found = MapTransfer(self.task.name, self.task.metric, self.source, kind, self.chosen, done, *scores, leaked)
            if opened is not None:
                texts = {TABLE: Table.from_rows(line.facts() for line in found.lines).csv()}
                for path in write_files(opened.folder, {**texts, **(figures(found) if figures else {})}):
                    opened.add_output(path)
                about = {"opened": opened.models} if opened.models else {}
                opened.add_output(write_sealed(opened.folder / RESULT, found.facts() | about))
        return found

    def _train(
        self, models: Models, todo: Sequence[tuple[int, int]], points: MapPoints, progress: Progress, say: Say
    ) -> None:
        """Train new layers on the frozen ones, layer by layer, with every setting of the grid; test the best."""
        states, only = self._frozen_states(models), {self.source: self.dev[self.source]}
        for number, (layer, seed) in enumerate(todo):
            began = time.monotonic()
            for held in states.values():
                held.advance_to(layer, progress)
            tell = say if number == 0 else lambda _: None  # rows are the same in all layers
            runs: dict[str, SettingRun] = {}
            best: list[tuple[str, Tuned]] = []
            for name, setting in self.config.settings().items():
                below = LowerLayers(states[self.source])
                new = StackedEncoder(below, layers=setting.new_layers, dropout=setting.new_dropout, seed=seed)
                told = (lambda _: None) if runs else tell
                own = setting.tuning(seed)
                tuned = fine_tune(new, self.task, self.train, only, own, progress=progress, say=told)
                runs[name] = SettingRun(name, tuned.history[tuned.epoch - 1]["dev"][self.source], tuned.epoch)
                # Keep only the best in memory.
                best = sorted([*best, (name, tuned)], key=lambda one: -runs[one[0]].dev)[: self.config.mean_of_best]
            for name, tuned in best:
                runs[name] = replace(runs[name], tests=self._tested(tuned, models, states, layer))
            key, took = (models.name, layer, seed), time.monotonic() - began
            points.put(MapPoint.of(key, list(runs.values()), models.hashes(layer), seconds=took))
            for code, one in {code: one for (code, _), one in runs[best[0][0]].tests.items()}.items():
                if events := events_in_words(one.events()):
                    tell(f"tested on {code}: {events}")

    def _frozen_states(self, models: Models) -> dict[str, FrozenStates]:
        """Empty states for all rows that the model of each language reads, in training or at test."""
        labels = self.task.learned_labels(self.train.values())
        found = {}
        for code, data in self.tests.items():
            encoder = models.source if code == self.source else models.others[code]
            reader = reader_of(encoder, code, self.config.max_length)
            rows: list[TaskRow] = []
            for some in [data, *([self.train[code], self.dev[code]] if code == self.source else [])]:
                rows += self.task.rows(some.examples, reader, labels, purpose="test").rows
            found[code] = FrozenStates(
                encoder,
                code,
                rows,
                length=self.config.max_length,
                precision=self.config.precision,
                memory=self.config.memory_gib,
                scratch=self.out,
            )
        return found

    def _tested(
        self, tuned: Tuned, models: Models, states: Mapping[str, FrozenStates], layer: int
    ) -> dict[tuple[str, Arm], Evaluation]:
        """Test the training language, and every other language with a map, and without if the hidden size is equal."""
        assert isinstance(tuned.encoder, StackedEncoder)  # noqa: S101 - for the type checker
        ways: list[tuple[str, Arm, LowerLayers]] = [(self.source, "source", tuned.encoder.below)]
        for code in models.others:
            if states[code].encoder.hidden_size == tuned.encoder.hidden_size:
                ways.append((code, "unmapped", LowerLayers(states[code])))
            if code in models.maps:
                below = LowerLayers(states[code], models.maps[code][layer], self.config.vector_norms)
                ways.append((code, "mapped", below))
        found: dict[tuple[str, Arm], Evaluation] = {}
        for code, arm, below in ways:
            readers = {code: tuned.encoder.on_lower_layers(below)}
            found[code, arm] = evaluate(tuned, tuned.task, {code: self.tests[code]}, encoders=readers)[code]
        return found

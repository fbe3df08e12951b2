"""Map transfer (Wu et al. 2020, section 5.1.2): upper layers trained on one model, tested on another through a map.

The first i layers of a model of English are frozen, and four new Transformer layers with the head of a task learn on
top of them from English. At test another model reads its own language up to its layer i, a map W_i takes what it has
there into the English model's space, and the same upper layers go on. Every i, from 0 for the embeddings, is a point of
a curve::

    monolingual = Models("monolingual", english, {"de": german}, {"de": maps})
    bilingual = Models("bilingual", both, {"de": both}, {"de": its_maps})
    map_transfer(task, [monolingual, bilingual], {"en": train}, {"en": dev}, {"de": test}).lines

Beside the mapped score stand the same without the map, the bilingual model cut at i (one encoder for both languages, so
no map is needed), the bilingual model with a map all the same, and the language that was learned from, a ceiling.

In the folder::

    fine_tune.json                       what the run is of: resuming must be given the same
    points/monolingual-3-0.safetensors   layer 3, seed 0: scores, and two counts of each test sentence
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from isoglot.align.mapped_forward import Lengths  # noqa: TC001 - pydantic reads it
from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.represent.layer_pass import Layers, chosen_layers
from isoglot.transfer.layer_maps import check_maps, map_hash
from isoglot.transfer.map_points import Arm, LayerScore, MapPoint, MapPoints, PairedTest, SettingRun, lines_of, pairs_of
from isoglot.transfer.scoring.evaluation import evaluate
from isoglot.transfer.stacked_encoder import Below, Continued
from isoglot.transfer.tuning.checks import check_scored, refuse_training_data, tell_in_training
from isoglot.transfer.tuning.config import TuneConfig
from isoglot.transfer.tuning.fine_tuning import events_in_words, fine_tune
from isoglot.transfer.tuning.frozen_states import MEMORY, FrozenStates
from isoglot.transfer.tuning.tuned_encoder import reader_of
from isoglot.transfer.tuning.tuned_folder import check_begun, open_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoglot.align.maps.estimator import PairMap
    from isoglot.model.protocol import EncoderLike
    from isoglot.transfer.scoring.evaluation import Evaluation
    from isoglot.transfer.tasks.examples import Data
    from isoglot.transfer.tasks.task import Task, TaskRow
    from isoglot.transfer.tuning.tuned_encoder import Tuned


_FIXED = ("tune", "freeze", "frozen", "layer")
_SHARED = ("max_length", "precision", "memory_gib", "vector_norms", "seed", "keep", "unseen_labels")
"""Settings of the frozen states, the data and the maps, which are made once for a whole grid."""


class MapTransferConfig(TuneConfig):
    """Settings of map transfer, in addition to fine-tuning; ``encoder_learning_rate`` is that of the new layers."""

    new_layers: int = Field(4, ge=1)
    """new Transformer layers on the frozen ones"""
    new_dropout: float = Field(0.1, ge=0, lt=1)
    """dropout in the new layers"""
    vector_norms: Lengths = "auto"
    """how long mapped vectors are: as the map gives them, as they were in the source, or auto: the latter where the
    map loses lengths"""
    memory_gib: float = Field(MEMORY, gt=0)
    """GiB of frozen states per language and model kept in memory; more are kept in a file"""

    def tuning(self, seed: int) -> TuneConfig:
        """Settings of fine-tuning with a seed; only the best epoch on dev is kept.

        Raises:
            ConfigError: A setting that says which part of an encoder learns, or a grid over what all settings share.
        """
        for key in _FIXED:
            if getattr(self, key) != TuneConfig.model_fields[key].default or key in self.grid:
                raise ConfigError(
                    f"{key} is set, and in map transfer the new layers learn and all below are frozen",
                    remedy="leave it out, or choose another recipe",
                    code="config.conflicting-options",
                )
        for key in self.grid:
            if key in _SHARED:
                raise ConfigError(
                    f"a grid of {key}, which all settings of map transfer share",
                    remedy="give it one value; a grid may have batch, epochs, rates, decay, dropout or new layers",
                    code="config.conflicting-options",
                )
        own = {name: self.model_dump(mode="json")[name] for name in TuneConfig.model_fields}
        return build_config(TuneConfig, values=own | {"keep": 1, "seed": seed, "grid": {}})


@dataclass(frozen=True)
class Models:
    """Models of each language, and the maps between them.

    Args:
        name: What they are called in results.
        source: The model that reads the language that is learned from.
        others: The model that reads each test language; the same one, where it knows them all.
        maps: For each test language, the maps of its model's layers into the source's; none: nothing is mapped.
    """

    name: Literal["monolingual", "bilingual"]
    source: EncoderLike
    others: Mapping[str, EncoderLike]
    maps: Mapping[str, Mapping[int, PairMap]] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """Layers that all models have."""
        return min(each.depth for each in (self.source, *self.others.values()))


@dataclass(frozen=True)
class MapTransfer:
    """Result of map transfer."""

    task: str
    metric: str
    source: str
    """The training language."""
    ceiling: Literal["test", "dev"]
    """Which of its sets stands beside the test languages."""
    layers: tuple[int, ...]
    points: tuple[MapPoint, ...]
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


def map_transfer(
    task: Task[Any],
    models: Sequence[Models],
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    test: Mapping[str, Data[Any]],
    config: MapTransferConfig | None = None,
    out: str | Path | None = None,
    *,
    layers: Layers = "all",
    seeds: int = 1,
    resume: bool = False,
    allow_leak: bool = False,
    progress: Progress = SILENT,
    say: Callable[[str], None] = lambda _: None,
) -> MapTransfer:
    """Train a task on every layer of a model, and test it on other models through maps.

    Args:
        task: What to learn.
        models: The monolingual ones, and the bilingual one beside them if there is one; none of them is changed.
        train: Examples of the one language that is learned from.
        dev: Examples of it to choose an epoch by.
        test: Examples of every other model's language, and of the first language if there are any.
        config: Every knob.
        out: Folder for points that are done; None: nothing is written.
        layers: At which layers the models are cut, 0 being the embeddings.
        seeds: How often to learn anew, from the config's seed on.
        resume: Go on with the run in the folder: points that are done are not run again.
        allow_leak: Choose by and test on what was learned from, too.
        progress: Reports progress.
        say: Told what the user should know.

    Raises:
        ConfigError: Settings, languages, layers or maps that do not fit, or a folder with another run.
        InputError: As :func:`check_before`.
        NumericError: The loss was not finite.
        StorageError: The folder cannot be written to.
    """
    config = config or MapTransferConfig()
    train, dev, test = ({language_code(code): some for code, some in each.items()} for each in (train, dev, test))
    source = check_before(task, models, train, dev, test, config, allow_leak=allow_leak)
    chosen = chosen_layers(layers, min(each.depth for each in models))
    folder = None if out is None else Path(out)
    check_with_maps(models, source, chosen, config, folder, seeds=seeds)
    leaked = tell_in_training(train, dev, test, say)
    tests = {source: test.get(source, dev[source]), **test}
    if folder is not None:
        open_run(folder, _identity(task, models, config, train, dev, test), resume=resume)
    points, every = MapPoints(folder), range(config.seed, config.seed + seeds)
    for each in models:
        hashes = _hashes(each, chosen)
        todo = [(layer, seed) for layer in chosen for seed in every]
        todo = [(layer, seed) for layer, seed in todo if not points.has(each.name, layer, seed, hashes[layer])]
        if todo:
            states = _frozen_states(task, each, train, dev, tests, config, folder)
            _climb(task, each, states, todo, hashes, train, dev, tests, config, points, progress, say)
            del states  # before the next models' are made
    done = tuple(points.get(each.name, layer, seed) for each in models for layer in chosen for seed in every)
    kind: Literal["test", "dev"] = "test" if source in test else "dev"
    return MapTransfer(task.name, task.metric, source, kind, chosen, done, lines_of(done), pairs_of(done), leaked)


def _silent(_: str) -> None:
    """Say nothing."""


def _climb(
    task: Task[Any],
    models: Models,
    states: Mapping[str, FrozenStates],
    todo: Sequence[tuple[int, int]],
    hashes: Mapping[int, Mapping[str, str]],
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    tests: Mapping[str, Data[Any]],
    config: MapTransferConfig,
    points: MapPoints,
    progress: Progress,
    say: Callable[[str], None],
) -> None:
    """Train new layers on the frozen ones, layer by layer, with every setting of the grid; test the best settings."""
    (source,) = train
    for number, (layer, seed) in enumerate(todo):
        began = time.monotonic()
        for held in states.values():
            held.climb(layer, progress)
        tell = say if number == 0 else _silent  # the rows are the same in all layers
        runs: dict[str, SettingRun] = {}
        best: list[tuple[str, Tuned]] = []
        for name, setting in config.settings().items():
            below = Below(states[source])
            new = Continued(below, layers=setting.new_layers, dropout=setting.new_dropout, seed=seed)
            own, only = setting.tuning(seed), {source: dev[source]}
            tuned = fine_tune(new, task, train, only, own, progress=progress, say=_silent if runs else tell)
            runs[name] = SettingRun(name, tuned.history[tuned.epoch - 1]["dev"][source], tuned.epoch)
            # Only the best are held: models of every setting would fill the memory.
            best = sorted([*best, (name, tuned)], key=lambda one: -runs[one[0]].dev)[: config.mean_of_best]
        for name, tuned in best:
            runs[name] = replace(runs[name], tests=_tested(tuned, models, states, layer, tests, config))
        took = time.monotonic() - began
        points.put(MapPoint.of(models.name, layer, seed, list(runs.values()), hashes[layer], seconds=took))
        for code, told in {code: one for (code, _), one in runs[best[0][0]].tests.items()}.items():
            unseen = {f"of the label {name} that training does not have": n for name, n in told.unseen.items()}
            if told.counts or unseen:
                tell(f"tested on {code}: {events_in_words({**told.counts, **unseen})}")


def check_before(
    task: Task[Any],
    models: Sequence[Models],
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    test: Mapping[str, Data[Any]],
    config: MapTransferConfig,
    *,
    allow_leak: bool = False,
) -> str:
    """Check the data and models, and return the training language; maps are not checked.

    Args:
        task: What is to be learned.
        models: Who reads what.
        train: Examples to learn from, of canonical language codes, as all three are.
        dev: Examples to choose by.
        test: Examples to test on.
        config: Every knob.
        allow_leak: Whether what is learned from may be chosen by and tested on.

    Raises:
        ConfigError: They do not, or a setting has no meaning here.
        InputError: A label that training does not have and the task refuses, nothing to learn, no examples, or
            examples of dev or test of which all or nearly all are in training.
    """
    config.tuning(config.seed)
    if len(train) != 1:
        raise ConfigError(
            f"training data of {' and '.join(train) or 'no language'}",
            remedy="give training data of one language",
            code="config.other-language",
        )
    (source,) = train
    if source not in dev:
        raise ConfigError(
            f"there is no dev data of {source}",
            remedy=f"give dev data of {source}; epochs are selected on it",
            code="config.missing-data",
        )
    if not models or len({each.name for each in models}) < len(models):
        raise ConfigError(
            "no models, or two of one name",
            remedy="give monolingual ones, and a bilingual one if any",
            code="config.duplicate",
        )
    for each in models:
        for code in test:
            if code != source and code not in each.others:
                raise ConfigError(
                    f"no {each.name} model reads {code}",
                    remedy=f"give a model of {code}, or remove its test data",
                    code="config.other-language",
                )
        for code in each.others:
            if code == source:
                raise ConfigError(
                    f"another model for {code}, which is learned from",
                    remedy="name the models of other languages",
                    code="config.other-language",
                )
            if code not in test:
                raise ConfigError(
                    f"there is no test data of {code}",
                    remedy=f"give test data of {code}, or remove its model",
                    code="config.missing-data",
                )
        if set(each.maps) - set(each.others):
            raise ConfigError(
                f"maps of {', '.join(sorted(set(each.maps) - set(each.others)))}, which no {each.name} model reads",
                remedy="remove them, or give the model",
                code="config.other-language",
            )
        for some in (dev[source], test.get(source, dev[source])):
            check_scored(each.source, {source: some}, config.max_length)
        for code, encoder in each.others.items():
            check_scored(encoder, {code: test[code]}, config.max_length)
    labels = task.learned_labels(train.values())
    for some in (dev[source], *test.values()):
        task.unseen_labels(some, labels, config.unseen_labels)
    if not allow_leak:
        refuse_training_data(train, dev, "dev")
        refuse_training_data(train, test, "test")
    return source


def check_same_run(
    out: Path,
    task: Task[Any],
    models: Sequence[Models],
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    test: Mapping[str, Data[Any]],
    config: MapTransferConfig,
) -> None:
    """Check that a folder has no other run; nothing is written.

    Args:
        out: The folder.
        task: What is to be learned; this and the rest as in :func:`check_before`.
        models: Who reads what.
        train: Examples to learn from.
        dev: Examples to choose by.
        test: Examples to test on.
        config: Every knob.

    Raises:
        ConfigError: It holds one.
    """
    check_begun(out, _identity(task, models, config, train, dev, test))


def check_with_maps(
    models: Sequence[Models],
    source: str,
    layers: Sequence[int],
    config: MapTransferConfig,
    out: Path | None,
    *,
    seeds: int,
) -> None:
    """Check that maps fit the models and the finished points; nothing is written.

    Args:
        models: Who reads what, with their maps.
        source: The language that is learned from.
        layers: Where the models are cut.
        config: Every knob.
        out: The folder of the run, if there is one.
        seeds: How often it is learned.

    Raises:
        ConfigError: They do not, or are not.
        CorruptFileError: The file of a point is damaged.
    """
    points = MapPoints(out)
    for each in models:
        for code, maps in each.maps.items():
            check_maps(maps, layers, (code, source), each.others[code], each.source)
        for layer, hashes in _hashes(each, layers).items():
            for seed in range(config.seed, config.seed + seeds):
                points.has(each.name, layer, seed, hashes)


def _hashes(models: Models, layers: Sequence[int]) -> dict[int, dict[str, str]]:
    """Hash of the map of each test language, by layer."""
    return {layer: {code: map_hash(maps[layer]) for code, maps in models.maps.items()} for layer in layers}


def _identity(
    task: Task[Any],
    models: Sequence[Models],
    config: MapTransferConfig,
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    test: Mapping[str, Data[Any]],
) -> dict[str, Any]:
    """Identity of a run; layers and seeds may be added to it."""
    (source,) = train
    tests = {source: test.get(source, dev[source]), **test}
    hashes = {"train": train[source].sha256, "dev": dev[source].sha256}
    hashes |= {f"test {code}": data.sha256 for code, data in tests.items()}
    for each in models:
        hashes[f"{each.name} {source}"] = encoder_hash(each.source) or ""
        for code, encoder in each.others.items():
            hashes[f"{each.name} {code}"] = encoder_hash(encoder) or ""
    return {"task": task.name, "config": config.model_dump(mode="json"), "data": hashes}


def _frozen_states(
    task: Task[Any],
    models: Models,
    train: Mapping[str, Data[Any]],
    dev: Mapping[str, Data[Any]],
    tests: Mapping[str, Data[Any]],
    config: MapTransferConfig,
    scratch: Path | None,
) -> dict[str, FrozenStates]:
    """Room for the states of all that each language's model will read: at test, or to learn from."""
    (source,) = train
    labels = task.learned_labels(train.values())
    found = {}
    for code, data in tests.items():
        encoder = models.source if code == source else models.others[code]
        reader = reader_of(encoder, code, config.max_length)
        rows: list[TaskRow] = []
        for some in [data, *([train[source], dev[source]] if code == source else [])]:
            rows += task.rows(some.examples, reader, labels, purpose="test").rows
        found[code] = FrozenStates(
            encoder,
            code,
            rows,
            length=config.max_length,
            precision=config.precision,
            memory=config.memory_gib,
            scratch=scratch,
        )
    return found


def _tested(
    tuned: Tuned,
    models: Models,
    states: Mapping[str, FrozenStates],
    layer: int,
    tests: Mapping[str, Data[Any]],
    config: MapTransferConfig,
) -> dict[tuple[str, Arm], Evaluation]:
    """The language that was learned from; every other as its model has it, where it is as wide, and mapped."""
    (source,) = tuned.languages
    assert isinstance(tuned.encoder, Continued)  # noqa: S101 - for the type checker
    ways: list[tuple[str, Arm, Below]] = [(source, "source", tuned.encoder.below)]
    for code in models.others:
        if states[code].encoder.hidden_size == tuned.encoder.hidden_size:
            ways.append((code, "unmapped", Below(states[code])))
        if code in models.maps:
            ways.append((code, "mapped", Below(states[code], models.maps[code][layer], config.vector_norms)))
    found: dict[tuple[str, Arm], Evaluation] = {}
    for code, arm, below in ways:
        readers = {code: tuned.encoder.standing_on(below)}
        found[code, arm] = evaluate(tuned, tuned.task, {code: tests[code]}, encoders=readers)[code]
    return found

"""Points of map transfer: results of one layer with one seed, one file each, and scores over layers.

A file contains two counts of each test sentence, for intervals and paired tests, and the rest as JSON metadata. With a
grid, a point has the dev scores of all settings and the tests of the best.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoglot.core.artifact import load_arrays, save_arrays
from isoglot.core.errors import ConfigError
from isoglot.retrieve.simultaneous_intervals import holm
from isoglot.transfer.scoring.significance import Estimate, PairedComparison, compare, estimate_runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoglot.transfer.scoring.evaluation import Evaluation

Arm = Literal["source", "unmapped", "mapped"]
"""``source``: the training language, an upper bound; ``unmapped``: another language without a map; ``mapped``: mapped
into the space of the first model."""
ModelsAndArm = tuple[str, Arm]
"""Models and an arm."""
FOLDER = "points"
_KIND = "a point of map transfer"
_PAIRS: tuple[tuple[ModelsAndArm, ModelsAndArm], ...] = (
    (("monolingual", "mapped"), ("monolingual", "unmapped")),
    (("bilingual", "unmapped"), ("monolingual", "mapped")),
    (("bilingual", "mapped"), ("bilingual", "unmapped")),
)


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
    """One layer with one seed."""

    facts: Mapping[str, Any]
    """JSON object: models, layer, seed, best dev score, seconds, hashes of maps, dev score of every setting, and scores
    of each arm."""
    ratios: Mapping[str, np.ndarray]
    """Two counts per sentence, by ``language/arm/setting``."""

    @classmethod
    def of(
        cls,
        models: str,
        layer: int,
        seed: int,
        runs: Sequence[SettingRun],
        maps: Mapping[str, str],
        *,
        seconds: float,
    ) -> MapPoint:
        """Collect the runs of every setting."""
        best = max(runs, key=lambda run: run.dev)
        tested = [(run.setting, code, arm, one) for run in runs for (code, arm), one in run.tests.items()]
        facts = {
            "models": models,
            "layer": layer,
            "seed": seed,
            "dev": best.dev,
            "epoch": best.epoch,
            "seconds": round(seconds, 3),
            "maps": dict(maps),
            "settings": [
                {"setting": run.setting, "dev": run.dev, "epoch": run.epoch, "chosen": bool(run.tests)} for run in runs
            ],
            "tests": [{"arm": arm, "setting": setting, **one.facts()} for setting, _, arm, one in tested],
        }
        ratios = {
            f"{code}/{arm}/{setting}": np.ascontiguousarray(one.scores.ratio_S2) for setting, code, arm, one in tested
        }
        return cls(facts, ratios)


@dataclass
class MapPoints:
    """Finished points, in files or in memory.

    Args:
        out: Folder of the run; None to keep them in memory.
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
                raise ConfigError(
                    f"{self.out} has another run: the map of {changed[0]} in layer {layer} has changed",
                    remedy="resume with the same maps, or use another folder",
                    code="config.other-settings",
                )
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
            self._known[key] = _read(self._path(*key))
        return self._known[key]

    def _path(self, models: str, layer: int, seed: int) -> Path:
        assert self.out is not None  # noqa: S101 - for the type checker
        return self.out / FOLDER / f"{models}-{layer}-{seed}.safetensors"


def _read(path: Path) -> MapPoint:
    return MapPoint(*load_arrays(path, _KIND, remedy="delete it, and run again"))


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
        return {
            "models": self.models,
            "language": self.language,
            "arm": self.arm,
            "layer": self.layer,
            **self.estimate.facts(),
        }


@dataclass(frozen=True)
class PairedTest:
    """Paired test of two combinations of models and arm at one layer, on the same sentences."""

    language: str
    layer: int
    one: ModelsAndArm
    other: ModelsAndArm
    comparison: PairedComparison
    corrected: float
    """p-value after Holm's correction over all tests."""

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "language": self.language,
            "layer": self.layer,
            "one": " ".join(self.one),
            "other": " ".join(self.other),
            **self.comparison.facts(),
            "p_corrected": self.corrected,
        }


def lines_of(points: Sequence[MapPoint]) -> tuple[LayerScore, ...]:
    """Scores with confidence intervals over sentences and deviation over seeds."""
    return tuple(LayerScore(*key, estimate_runs(list(by_seed.values()))) for key, by_seed in _ratios(points).items())


def pairs_of(points: Sequence[MapPoint]) -> tuple[PairedTest, ...]:
    """Paired tests of mapped against unmapped, and of a map against a bilingual model."""
    ratios = {key: [run for runs in by_seed.values() for run in runs] for key, by_seed in _ratios(points).items()}
    found = []
    for language, layer in dict.fromkeys((language, layer) for _, language, _, layer in ratios):
        for one, other in _PAIRS:
            first, second = (ratios.get((way[0], language, way[1], layer)) for way in (one, other))
            if first is not None and second is not None:
                found.append((language, layer, one, other, compare(first, second)))
    corrected = holm([each[-1].p for each in found]).tolist() if found else []
    return tuple(PairedTest(*each, p) for each, p in zip(found, corrected, strict=True))


def _ratios(points: Sequence[MapPoint]) -> dict[tuple[str, str, Arm, int], dict[int, list[np.ndarray]]]:
    """Counts per sentence for every tested setting of every seed, by models, language, arm and layer."""
    found: dict[tuple[str, str, Arm, int], dict[int, list[np.ndarray]]] = {}
    for point in points:
        for test in point.facts["tests"]:
            key = point.facts["models"], test["language"], test["arm"], point.facts["layer"]
            runs = found.setdefault(key, {}).setdefault(point.facts["seed"], [])
            runs.append(point.ratios[f"{test['language']}/{test['arm']}/{test['setting']}"])
    return found

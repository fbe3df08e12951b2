"""Two sides meet by the maps of a folder: each layer by its own, one layer by the only one there is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoglot.align import Procrustes
from isoglot.align.apply import map_sides, read_maps
from isoglot.core.artifact import write_sealed
from isoglot.core.files import file_hash
from isoglot.retrieve.layer_scores import VectorSet
from tests.errors import raises


@pytest.fixture
def rows(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(3, 20, 4))


@pytest.fixture
def turned(rows) -> np.ndarray:
    return np.stack([X[:, ::-1] if layer % 2 else -X for layer, X in enumerate(rows)])


@pytest.fixture
def folder(rows, turned, tmp_path: Path) -> Path:
    """A map for each of three layers."""
    for layer in range(3):
        Procrustes().fit(rows[layer], turned[layer]).save(tmp_path / f"layer-{layer}.safetensors")
    return tmp_path


def side(name: str, layers: dict[int | None, np.ndarray]) -> VectorSet:
    return VectorSet(name=name, layers=layers)


def test_every_layer_goes_by_its_own_map(folder: Path, rows, turned):
    source, target = side("a", dict(enumerate(rows))), side("b", dict(enumerate(turned[:2])))
    own, their = map_sides(read_maps(folder), source, target)
    for layer in (0, 1):
        np.testing.assert_allclose(own.layers[layer], their.layers[layer], atol=1e-9)
    np.testing.assert_array_equal(own.layers[2], rows[2])  # the target has no such layer


@pytest.mark.parametrize("layer", [None, 1, 7])
def test_a_single_layer_goes_by_the_only_map(folder: Path, rows, turned, layer: int | None):
    own, their = map_sides(
        read_maps(folder / "layer-1.safetensors"), side("a", {layer: rows[1]}), side("b", {None: turned[1]})
    )
    np.testing.assert_allclose(own.layers[layer], their.layers[None], atol=1e-9)


def test_metrics_say_which_maps_there_are(folder: Path):
    assert set(read_maps(folder)) == {0, 1, 2}
    listed = {"layer": 2, "file": "layer-2.safetensors", "sha256": file_hash(folder / "layer-2.safetensors")}
    write_sealed(folder / "metrics.json", {"layers": [listed]})
    assert list(read_maps(folder)) == [2]  # the others are of a former run


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({}, "'layers'"),
        ({"layers": [{"scores": 1}]}, "'layers.0.layer'"),
        ({"layers": 3}, "'layers'"),
    ],
)
def test_metrics_of_something_else_are_refused(folder: Path, written: dict[str, object], problem: str):
    write_sealed(folder / "metrics.json", written)
    with raises("corrupt-file", "metrics.json", problem):
        read_maps(folder)


def test_what_has_no_map_is_refused(folder: Path, rows, turned):
    maps = read_maps(folder)
    for layer, where in ((None, "a"), (7, "layer 7 of a")):
        with raises("config.missing-data", where):
            map_sides(maps, side("a", {layer: rows[0]}), side("b", {layer: turned[0]}))
    with raises("config.other-size", "4", "3"):
        map_sides(maps, side("a", {0: rows[0]}), side("b", {0: turned[0][:, :3]}))

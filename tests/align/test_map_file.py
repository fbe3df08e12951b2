"""A map on disk is the map, or an error."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from isoglot.align import Center, IterativeNormalization, Procrustes, Ridge, Steps, load_map
from tests.errors import raises


@pytest.fixture
def file(tmp_path: Path, rng) -> Path:
    X, Y = rng.normal(size=(2, 20, 3))
    return Steps([IterativeNormalization(), Ridge(penalty=2.0)]).fit(X, Y).save(tmp_path / "map")


def test_a_folder_or_a_file(file: Path, tmp_path: Path):
    assert file == tmp_path / "map" / "map.safetensors"
    steps = load_map(tmp_path / "map")
    assert [type(step).__name__ for step in steps.source_] == ["IterativeNormalization", "Ridge"]
    assert steps.source_[1].penalty == 2.0
    assert steps.target_[1] is None
    assert steps.steps[1].learned() == {}
    assert steps.save(tmp_path / "deep" / "one.safetensors") == tmp_path / "deep" / "one.safetensors"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["one.safetensors"]


def test_other_tools_can_read_it(tmp_path: Path, rng):
    X = rng.normal(size=(9, 2))
    fitted = Procrustes().fit(X, X)
    assert np.array_equal(load_file(fitted.save(tmp_path))["W_"], fitted.W_)


def test_another_class_is_refused(file: Path):
    with raises("input.unknown-format"):
        Procrustes.load(file)
    assert isinstance(Steps.load(file), Steps)


def test_an_altered_file_is_refused(file: Path):
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with raises("corrupt-file.hash"):
        load_map(file)
    file.write_bytes(data[:-3])
    with raises("corrupt-file.size"):
        load_map(file)


def test_no_file(tmp_path: Path):
    with raises("storage.not-found", "map.safetensors"):
        load_map(tmp_path)


def test_a_file_of_something_else(tmp_path: Path):
    path = tmp_path / "x.safetensors"
    save_file({"W_": torch.ones(2)}, path)
    with raises("input.unknown-format", "x.safetensors", "1"):
        load_map(path)
    save_file({"W_": torch.ones(2)}, path, metadata={"isoglot": json.dumps({"format": 9})})
    with raises("input.unknown-format", "1"):
        load_map(path)


def test_a_class_that_is_no_estimator_is_not_made(tmp_path: Path, monkeypatch, rng):
    class Stranger(Center):
        pass

    path = Stranger().fit(rng.normal(size=(4, 2))).save(tmp_path)
    with raises("input.unknown-format", "'Stranger'"):
        load_map(path)

"""Arrays in a file are those that were written, of the kind that is wanted, or an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from isoglot.core.array_file import load_arrays, save_arrays
from isoglot.core.errors import CorruptFileError, InputError

ARRAYS = {
    "number": np.array(2.5),
    "turned": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "whole": np.array([1, 2], np.int64),
    "none": np.zeros((0, 3), np.float32),
    "flags": np.array([True, False]),
}


def test_what_is_read_is_what_was_written(tmp_path: Path):
    file = tmp_path / "deep" / "x.safetensors"
    save_arrays(file, "thing", {"name": "ä", "list": [1, None]}, ARRAYS)
    facts, arrays = load_arrays(file, "thing", remedy="make one")
    assert facts == {"name": "ä", "list": [1, None]}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize(
    "about",
    [
        None,
        3,
        [],
        {},
        {"format": 1},
        {"format": 1, "layers": [0], "count": 3},
        {"format": 1, "sha256": "0", "map": {}},
        {"format": 1, "sha256": "0", "config": {}},
        {"format": 1, "sha256": "0", "kind": "thing"},
        {"format": 1, "sha256": "0", "kind": "other", "facts": {}},
        {"format": 2, "sha256": "0", "kind": "thing", "facts": {}},
    ],
)
def test_what_is_something_else_is_refused(tmp_path: Path, about: Any):
    file = tmp_path / "x.safetensors"
    save_file({"W": torch.ones(2)}, file, metadata=None if about is None else {"isoglot": json.dumps(about)})
    with pytest.raises(InputError, match=r"x.safetensors: no thing of format 1; make one$"):
        load_arrays(file, "thing", remedy="make one")


def test_weights_of_a_type_that_numpy_lacks_are_something_else(tmp_path: Path):
    save_file({"W": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "x.safetensors")
    with pytest.raises(InputError, match="no thing of format 1"):
        load_arrays(tmp_path / "x.safetensors", "thing", remedy="make one")


@pytest.mark.parametrize("changed", [{"name": "b"}, {"name": "a", "more": 1}])
def test_other_facts_are_noticed_as_other_numbers_are(tmp_path: Path, changed: dict[str, Any]):
    file = tmp_path / "x.safetensors"
    save_arrays(file, "thing", {"name": "a"}, {"W": np.ones(2, np.float32)})
    size = int.from_bytes(file.read_bytes()[:8], "little")
    about = json.loads(json.loads(file.read_bytes()[8 : 8 + size])["__metadata__"]["isoglot"])
    save_file({"W": torch.ones(2)}, file, metadata={"isoglot": json.dumps(about | {"facts": changed})})
    with pytest.raises(CorruptFileError, match="the numbers are not those that were written"):
        load_arrays(file, "thing", remedy="make one")

"""Files of ours are what was written, of the kind that is wanted, or an error that names what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from isoglot.core.artifact import (
    Compression,
    check_arrays,
    check_form,
    load_arrays,
    load_tensors,
    read_index_file,
    read_sealed,
    save_arrays,
    sealed,
    write_index,
    write_sealed,
)
from isoglot.core.errors import CorruptFileError, InputError
from tests.errors import raises

FORM = {"size": int, "name": str | None, "files": {...: {"bytes": int}}, "ids": [[int]], "mode": ("a", "b")}
WHOLE: dict[str, Any] = {
    "kind": "shards",
    "format": 2,
    "size": 1,
    "name": None,
    "files": {"a.b": {"bytes": 3}},
    "ids": [[1, 2], []],
    "mode": "b",
}


def test_what_is_whole_goes_through(tmp_path: Path):
    path = tmp_path / "index.json"
    write_index(path, "shards", 2, {key: value for key, value in WHOLE.items() if key not in ("kind", "format")})
    assert read_index_file(path, FORM, version=2, what="shards", remedy="") == WHOLE
    assert read_sealed(path, FORM, remedy="") == WHOLE
    with raises("input.unknown-format", "index.json"):
        read_index_file(path, FORM, version=3, what="shards", remedy="build them again")
    path.write_text("[]")
    with raises("input.unknown-format"):
        read_index_file(path, FORM, version=2, what="shards", remedy="")
    with raises("corrupt-file", "index.json"):
        read_sealed(path, FORM, remedy="build them again")


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_changed_value_is_refused_and_another_layout_is_not(tmp_path: Path, compression: Compression):
    path = tmp_path / "x.json"
    content: dict[Any, Any] = {"rate": 1e-12, "ranges": [[0, 3], (7, 9)], 5: "ä", "path": "\udcff", "none": None}
    write_sealed(path, content, compression=compression)
    found = read_sealed(path, remedy="again")
    assert found == json.loads(json.dumps(content))
    for key in found:
        path.write_text(json.dumps(sealed(found) | {key: "other"}))
        with raises("corrupt-file.hash", "x.json"):
            read_sealed(path, remedy="again")
    path.write_text(json.dumps(dict(reversed(sealed(found).items())), indent=7))
    assert read_sealed(path, remedy="again") == found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"size": "1"}, ("corrupt-file", "x.json", "'size'", "'1'")),
        ({"size": None}, ("corrupt-file", "x.json", "'size'")),
        ({"name": 3}, ("corrupt-file", "x.json", "'name'", "3")),
        ({"files": []}, ("corrupt-file", "x.json", "'files'")),
        ({"files": {"a.b": {}}}, ("corrupt-file", "x.json", "'files.a.b.bytes'")),
        ({"mode": []}, ("corrupt-file", "x.json", "'mode'")),
        ({"ids": {}}, ("corrupt-file", "x.json", "'ids'")),
        ({"ids": [[], [1, "x"]]}, ("corrupt-file", "x.json", "'ids.1.1'", "'x'")),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], expected: tuple[str, ...]):
    with raises(*expected):
        check_form(WHOLE | change, FORM, "x.json", remedy="again")


@pytest.mark.parametrize("key", FORM)
def test_what_is_missing_is_named(key: str):
    with raises("corrupt-file", "x.json", repr(key)):
        check_form({name: value for name, value in WHOLE.items() if name != key}, FORM, "x.json", remedy="again")


# --- arrays ---

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
        {"format": 3, "sha256": "0", "header_sha256": "0", "kind": "thing", "facts": {}},
    ],
)
def test_what_is_something_else_is_refused(tmp_path: Path, about: Any):
    file = tmp_path / "x.safetensors"
    save_file({"W": torch.ones(2)}, file, metadata=None if about is None else {"isoglot": json.dumps(about)})
    with raises("input.unknown-format"):
        load_arrays(file, "thing", remedy="make one")


def test_weights_of_a_type_that_numpy_lacks_are_something_else(tmp_path: Path):
    save_file({"W": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "x.safetensors")
    with raises("input.unknown-format"):
        load_arrays(tmp_path / "x.safetensors", "thing", remedy="make one")


@pytest.mark.parametrize("changed", [{"name": "b"}, {"name": "a", "more": 1}])
def test_other_facts_are_noticed_as_other_numbers_are(tmp_path: Path, changed: dict[str, Any]):
    file = tmp_path / "x.safetensors"
    save_arrays(file, "thing", {"name": "a"}, {"W": np.ones(2, np.float32)})
    size = int.from_bytes(file.read_bytes()[:8], "little")
    about = json.loads(json.loads(file.read_bytes()[8 : 8 + size])["__metadata__"]["isoglot"])
    save_file({"W": torch.ones(2)}, file, metadata={"isoglot": json.dumps(about | {"facts": changed})})
    with raises("corrupt-file.hash"):
        load_arrays(file, "thing", remedy="make one")


def test_tensors_come_back_as_they_were(tmp_path: Path):
    tensors = {"a": torch.arange(3.0).bfloat16(), "b": torch.ones(2, 2).T}
    save_arrays(tmp_path / "x.safetensors", "thing", {}, tensors)
    found = load_tensors(tmp_path / "x.safetensors", "thing", remedy="")
    assert found.keys() == tensors.keys()
    assert all(
        torch.equal(found[name], tensor) and found[name].dtype == tensor.dtype for name, tensor in tensors.items()
    )


def test_every_flipped_bit_is_refused_or_without_effect(tmp_path: Path):
    """Numbers may be left unread; headers and sizes are checked in any case."""
    file = tmp_path / "x.safetensors"
    save_arrays(file, "thing", {"name": "a"}, {"W": np.arange(4, dtype=np.float32)})
    whole = file.read_bytes()
    for at in range(len(whole)):
        for bit in range(8):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            try:
                facts, arrays = load_arrays(file, "thing", remedy="")
            except (CorruptFileError, InputError):
                continue
            assert facts == {"name": "a"}
            np.testing.assert_array_equal(arrays["W"], np.arange(4))
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises((CorruptFileError, InputError)), file.open("rb") as opened:
            check_arrays(opened, file, "thing", remedy="", numbers=False)


@pytest.mark.parametrize("value", [True, False, 1.0, "1"])
def test_a_whole_number_is_neither_a_truth_value_nor_a_fraction(value: Any):
    check_form({"size": 1, "sure": True}, {"size": int, "sure": bool}, "a.json", remedy="again")
    with raises("corrupt-file", "'size'"):
        check_form({"size": value}, {"size": int}, "a.json", remedy="again")

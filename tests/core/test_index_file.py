"""What is missing in a file of ours, or of another type, is named; what is whole goes through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isoglot.core.errors import CorruptFileError, InputError
from isoglot.core.index_file import check_form, read_form, read_index_file

FORM = {"size": int, "name": str | None, "files": {...: {"bytes": int}}, "ids": [[int]], "kind": ("a", "b")}
WHOLE: dict[str, Any] = {
    "format": 2,
    "size": 1,
    "name": None,
    "files": {"a.b": {"bytes": 3}},
    "ids": [[1, 2], []],
    "kind": "b",
}


def test_what_is_whole_goes_through(tmp_path: Path):
    path = tmp_path / "index.json"
    path.write_text(json.dumps(WHOLE))
    assert read_index_file(path, FORM, version=2, what="shards", remedy="") == WHOLE
    assert read_form(path, FORM, remedy="") == WHOLE
    with pytest.raises(InputError, match=r"index\.json: not shards of format 3; build them again$"):
        read_index_file(path, FORM, version=3, what="shards", remedy="build them again")
    path.write_text("[]")
    with pytest.raises(InputError, match="not shards of format 2"):
        read_index_file(path, FORM, version=2, what="shards", remedy="")
    with pytest.raises(CorruptFileError, match=r"index\.json: what is in it cannot be \[\]; build them again$"):
        read_form(path, FORM, remedy="build them again")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": "1"}, "'size' cannot be '1'"),
        ({"size": None}, "'size' cannot be None"),
        ({"name": 3}, "'name' cannot be 3"),
        ({"files": []}, r"'files' cannot be \[\]"),
        ({"files": {"a.b": {}}}, r"no 'files\.a\.b\.bytes' in it"),
        ({"kind": []}, r"'kind' cannot be \[\]"),
        ({"ids": {}}, "'ids' cannot be {}"),
        ({"ids": [[], [1, "x"]]}, r"'ids\.1\.1' cannot be 'x'"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], message: str):
    with pytest.raises(CorruptFileError, match=f"^x.json: {message}; again$"):
        check_form(WHOLE | change, FORM, "x.json", remedy="again")


@pytest.mark.parametrize("key", FORM)
def test_what_is_missing_is_named(key: str):
    with pytest.raises(CorruptFileError, match=f"^x.json: no '{key}' in it; again$"):
        check_form({name: value for name, value in WHOLE.items() if name != key}, FORM, "x.json", remedy="again")

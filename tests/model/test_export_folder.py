"""The folder of an export is renewed with its index last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isoglot.core.errors import StorageError
from isoglot.model.export_folder import written_together

FILES = ("encoder.json", "means", "vocabulary/pieces", "weights")


def write(folder: Path, content: str, names: tuple[str, ...] = FILES) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def renew(target: Path) -> None:
    with written_together(target, index="encoder.json", stale=("means",)) as scratch:
        write(scratch, "new", ("encoder.json", "vocabulary/pieces", "weights"))


@pytest.mark.parametrize("failing", ["vocabulary/pieces", "weights", "encoder.json"])
def test_until_all_is_there_the_index_is_the_old_one(failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target = tmp_path / "out"
    write(target, "old")
    replace = os.replace

    def fail(source: Path, place: Path) -> None:
        if place == target / failing:
            raise OSError(28, "No space left on device")
        replace(source, place)

    with monkeypatch.context() as patched:
        patched.setattr("isoglot.model.export_folder.os.replace", fail)
        with pytest.raises(StorageError):
            renew(target)
    found = contents(target)
    assert found["encoder.json"] == found[failing] == "old"
    if failing == "encoder.json":  # all else was done, and what is stale is gone
        assert found == {"encoder.json": "old", "vocabulary/pieces": "new", "weights": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    renew(target)
    assert contents(target) == dict.fromkeys(("encoder.json", "vocabulary/pieces", "weights"), "new")

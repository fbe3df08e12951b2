"""An export takes the place of an earlier one in one step, and files of the user come along."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.core import folders
from isoglot.core.errors import StorageError
from isoglot.core.run import sole_writer, written_together
from tests.core.test_sole_writer import another_process
from tests.errors import raises

FILES = ("encoder.json", "means", "vocabulary/pieces", "weights")


def write(folder: Path, content: str, names: tuple[str, ...] = FILES) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def renew(target: Path) -> None:
    with written_together(target, stale=("means",)) as scratch:
        write(scratch, "new", ("encoder.json", "vocabulary/pieces", "weights"))


def test_until_all_is_there_the_earlier_export_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target = tmp_path / "out"
    write(target, "old")
    write(target, "mine", ("README.md", "notes/a.txt"))
    before = contents(target)

    def fail(*_: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(folders, "put_folder", fail)
        with pytest.raises(StorageError):
            renew(target)
    assert contents(target) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (tmp_path / ".out.new").mkdir()  # as a killed process leaves it
    (tmp_path / ".out.new" / "weights").write_text("half")
    renew(target)
    new = dict.fromkeys(("encoder.json", "vocabulary/pieces", "weights"), "new")
    assert contents(target) == new | {"README.md": "mine", "notes/a.txt": "mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_of_two_exports_at_once_the_second_is_refused(tmp_path: Path):
    with another_process(tmp_path / "out"), raises("storage.locked"):
        renew(tmp_path / "out")
    with sole_writer(tmp_path / "out"):
        renew(tmp_path / "out")
    assert set(contents(tmp_path / "out").values()) == {"new"}

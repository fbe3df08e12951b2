"""Checkpoints: whole or not there, checked, and the right ones kept."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from isoglot.core.artifact import write_sealed
from isoglot.core.folders import replace_folder, restore_folder, sweep
from isoglot.pretrain import run_folder as module
from isoglot.pretrain.run_folder import MODEL, OPTIMIZER, STATE, Checkpoints
from tests.errors import raises


def save(checkpoints: Checkpoints, step: int) -> Path:
    tensors = {"weight": torch.full((3,), float(step))}
    return checkpoints.save(step, tensors, {"weight/step": torch.tensor(float(step))}, {"tokens": 10 * step})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_saved_is_found(tmp_path: Path):
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.newest() is None
    save(checkpoints, 5)
    found = checkpoints.newest()
    assert found is not None
    assert (found.state["step"], found.state["tokens"]) == (5, 50)
    assert found.tensors(MODEL)["weight"].tolist() == [5.0, 5.0, 5.0]
    assert found.tensors(OPTIMIZER)["weight/step"].item() == 5.0
    assert names(found.path) == [MODEL, OPTIMIZER, STATE]


def test_the_newest_are_kept(tmp_path: Path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (5, 10, 99_999_999, 100_000_000):
        save(checkpoints, step)
    assert names(checkpoints.folder) == ["step-100000000", "step-99999999"]
    checkpoints.drop_after(99_999_999)
    assert names(checkpoints.folder) == ["step-99999999"]


@pytest.mark.parametrize("name", [MODEL, OPTIMIZER, STATE])
@pytest.mark.parametrize("harm", ["cut", "alter", "remove"])
def test_a_damaged_one_is_refused_and_the_one_before_is_used(tmp_path: Path, name: str, harm: str):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5)
    path = save(checkpoints, 10) / name
    data = path.read_bytes()
    if harm == "cut":
        path.write_bytes(data[:-7])
    elif harm == "alter":
        place = data.index(b"10,") if name == STATE else len(data) - 3
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    else:
        path.unlink()
    found = checkpoints.newest()
    assert found is not None
    assert found.state["step"] == 5
    assert len(checkpoints.rejected) == 1
    assert checkpoints.rejected[0].startswith(f"{path}:")


def test_the_refusal_says_what_is_wrong(tmp_path: Path):
    checkpoints = Checkpoints(tmp_path)
    path = save(checkpoints, 5) / MODEL
    path.write_bytes(path.read_bytes()[:-1])
    assert checkpoints.newest() is None
    assert checkpoints.rejected[0].endswith("the file was truncated or altered: create it again or download it again")


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 5)

    def full(self, data):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Path, "write_bytes", full)
    with raises("storage.disk-full"):
        save(checkpoints, 10)
    monkeypatch.undo()
    found = checkpoints.newest()
    assert found is not None
    assert found.state["step"] == 5
    assert names(checkpoints.folder) == ["step-00000005"]


class Died(BaseException):
    """The process ends here."""


def writer(text: str):
    """Fills a folder with one file."""

    def fill(folder: Path) -> None:
        (folder / "x").write_text(text)

    return fill


@pytest.mark.parametrize("death", range(24))
def test_whenever_the_process_dies_one_is_whole(tmp_path: Path, monkeypatch, death: int):
    """Every file operation of a write, a replacement and a removal in turn is the last."""
    checkpoints = Checkpoints(tmp_path, keep=1)
    best = tmp_path / "best"
    save(checkpoints, 5)
    replace_folder(best, writer("old"))
    left = [death]

    def deadly(real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if left[0] == 0:
                raise Died
            left[0] -= 1
            return real(*args, **kwargs)

        return call

    for name in ("rename", "mkdir", "write_bytes", "write_text"):
        monkeypatch.setattr(Path, name, deadly(getattr(Path, name)))
    monkeypatch.setattr(shutil, "rmtree", deadly(shutil.rmtree))
    monkeypatch.setattr(module, "write_sealed", deadly(write_sealed))
    died = False
    try:
        save(checkpoints, 10)
        replace_folder(best, writer("new"))
    except Died:
        died = True
    monkeypatch.undo()
    after = Checkpoints(tmp_path, keep=1)
    sweep(after.folder)
    restore_folder(best)
    found = after.newest()
    assert found is not None
    assert found.tensors(MODEL)["weight"][0].item() == found.state["step"]
    assert after.rejected == []
    assert (best / "x").read_text() in ("old", "new")
    assert died or (found.state["step"], (best / "x").read_text()) == (10, "new")
    assert [name for name in names(tmp_path) if name.startswith(".")] == []

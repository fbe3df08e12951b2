"""Saving onto a folder that holds an earlier one: all of the new, or all of the old, and the user's files stay."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from isoglot.align import AlignConfig, align_embeddings
from isoglot.align.apply import read_maps
from isoglot.core import folders
from isoglot.core.errors import StorageError
from isoglot.model import TableEncoder, load_encoder, save_encoder
from isoglot.model.folder import PACKED, WEIGHTS
from isoglot.model.static_table import save_table
from isoglot.text.formats.dictionary import Entry
from isoglot.text.formats.word_vectors import Vectors
from isoglot.vocab import Vocabulary
from tests.core.test_sole_writer import another_process
from tests.errors import raises


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(params=["vocabulary", "encoder", "table", "alignment"])
def saves(request: pytest.FixtureRequest, encoders, vocabularies) -> list[Callable[[Path], object]]:
    """Two ways to save something of one kind to a folder; what they write differs."""
    if request.param == "vocabulary":
        return [vocabularies(mode).save for mode in ("union", "joint")]
    if request.param == "encoder":
        return [partial(save_encoder, encoders(mode=mode)) for mode in ("union", "joint")]
    if request.param == "table":
        import torch

        tables = []
        for mode in ("union", "joint"):
            size = len(vocabularies(mode))
            tables.append(TableEncoder(torch.ones(size, 4), torch.ones(size, dtype=torch.bool), vocabularies(mode), {}))
        return [partial(save_table, each) for each in tables]
    return [aligned(seed).save for seed in (1, 2)]


def aligned(seed: int):
    """A map between two tables of random vectors."""
    words = [f"w{number}" for number in range(40)]
    rows = np.random.default_rng(seed).standard_normal((2, 40, 5)).astype(np.float32)
    source, target = (Vectors(words, each) for each in rows)
    pairs = [Entry(word, word) for word in words]
    return align_embeddings(source, target, pairs[:30], pairs[30:], languages=("en", "fr"), config=AlignConfig())


def test_until_all_is_written_the_earlier_one_is_there(saves, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target, only = tmp_path / "out", tmp_path / "only"
    saves[0](target)
    (target / "README.md").write_text("mine")
    before = contents(target)

    def killed(*_: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(folders, "put_folder", killed)
        with pytest.raises(StorageError):
            saves[1](target)
    assert contents(target) == before
    with another_process(target), raises("storage.locked"):
        saves[1](target)
    assert contents(target) == before
    saves[1](target)
    saves[1](only)
    assert contents(target) == contents(only) | {"README.md": b"mine"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["only", "out"]


def test_a_first_save_is_refused_while_another_process_writes_there(saves, tmp_path: Path):
    target = tmp_path / "out"
    with another_process(target), raises("storage.locked"):
        saves[0](target)
    assert not contents(target)
    saves[0](target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_files_are_named_where_they_are(encoders, tmp_path: Path):
    for form in ("whole", "packed", "whole"):
        files = save_encoder(encoders(), tmp_path / "out", form=form)
        assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in files) == sorted(
            contents(tmp_path / "out")
        )
        assert (tmp_path / "out" / (WEIGHTS if form == "whole" else PACKED)).exists()
    load_encoder(tmp_path / "out")
    assert Vocabulary.load(tmp_path / "out" / "vocabulary").hash == encoders().vocabulary.hash


def test_the_current_folder_is_not_taken_away(vocabularies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    vocabularies("joint").save(".")
    with raises("config.current-folder"):
        vocabularies("union").save(".")
    assert Vocabulary.load(".").mode == "joint"
    assert Path.cwd().samefile(tmp_path)


def test_a_map_of_another_alignment_is_refused(tmp_path: Path):
    for seed in (1, 2):
        aligned(seed).save(tmp_path / str(seed))
    (tmp_path / "2" / "map.safetensors").replace(tmp_path / "1" / "map.safetensors")
    with raises("corrupt-file.hash"):
        read_maps(tmp_path / "1")

"""A file of ours where another of ours is wanted: one line that says so, never a crash."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from isoglot.align import Procrustes
from isoglot.align.words.word_aligner import train_aligner
from isoglot.represent import Representations
from isoglot.represent.moments import LanguageStatistics
from isoglot.steer import LEACE, LanguageMeans

FILES = {
    "vectors": "no representations",
    "map": "no map of format 1",
    "aligner": "no word aligner of format 1",
    "eraser": "",
    "means": "",
}
"""Each kind, and what is said of others where it is wanted."""
USES = {
    "vectors": [
        "align apply --map map.safetensors --vectors {}.safetensors --out new.safetensors",
        "retrieve sentences --source {0}.safetensors --target {0}.safetensors --resamples 1",
    ],
    "map": [
        "align apply --map {}.safetensors --vectors vectors.safetensors --out new.safetensors",
        "retrieve sentences --source vectors.safetensors --target vectors.safetensors --map {}.safetensors --resamples 1",
    ],
    "aligner": ["align links --aligner {}.safetensors --parallel en=en.txt --parallel fr=fr.txt --out new"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of each kind."""
    folder: Path = tmp_path_factory.mktemp("kinds")
    X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    Representations({0: X}, {"format": 1}).save(folder / "vectors.safetensors")
    Procrustes().fit(X, X).save(folder / "map.safetensors")
    LEACE().fit(X, ["en", "fr"] * 3).save(folder / "eraser.safetensors")
    moments = LanguageStatistics([0])
    moments.update({0: X})
    LanguageMeans({"en": moments.result()}, {}).without_covariances().save(folder / "means.safetensors")
    train_aligner([(["a"], ["x"])], languages=("en", "fr")).save(folder / "aligner.safetensors")
    for code in ("en", "fr"):
        (folder / f"{code}.txt").write_text("a b\n")
    return folder


@pytest.mark.parametrize(
    ("wanted", "command", "given"),
    [(wanted, each, given) for (wanted, commands), given in product(USES.items(), FILES) for each in commands],
)
def test_a_file_of_another_kind_is_one_line(
    folder: Path, isoglot, monkeypatch: pytest.MonkeyPatch, wanted: str, command: str, given: str
):
    monkeypatch.chdir(folder)
    result = isoglot(*command.format(given).split(), "--quiet")
    if given == wanted:
        assert result.code == 0
        return
    said = "unknown estimator 'LEACE'" if (wanted, given) == ("map", "eraser") else FILES[wanted]
    assert result.code == 2
    assert result.err.startswith(f"isoglot: {given}.safetensors: {said}")
    assert result.err.count("\n") == 1

"""``isoglot align migrate``: an index in the space of another model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from isoglot.model import load_encoder
from isoglot.represent import extract


@pytest.fixture
def index(align_folder: Path, tmp_path: Path) -> Path:
    """Vectors of the model under a rotation; the lines of text.txt are its rows."""
    lines = list(dict.fromkeys((align_folder / "p.en").read_text().splitlines()))
    (tmp_path / "text.txt").write_text("\n".join(lines[:100]) + "\n")
    vectors = extract(load_encoder(str(align_folder / "model"), device="cpu"), lines, layers=[-1])
    rows_ND = next(iter(vectors.stacked()))
    rotation_DD = np.linalg.qr(np.random.default_rng(0).normal(size=(rows_ND.shape[1],) * 2))[0]
    np.save(tmp_path / "new.npy", rows_ND)
    np.save(tmp_path / "old.npy", (rows_ND @ rotation_DD).astype(np.float32))
    return tmp_path


def test_a_rotated_index_comes_back(isoglot, index: Path, align_folder: Path):
    options = ("--set", "resamples=10", "--set", "smallest=40", "--device", "cpu")
    sample = ("--to", str(align_folder / "model"), "--text", str(index / "text.txt"))
    old, out = str(index / "old.npy"), index / "out"
    result = isoglot("align", "migrate", old, *sample, *options, "--out", str(out))
    assert result.code == 0, result.err
    assert np.allclose(np.load(out / "vectors.npy"), np.load(index / "new.npy"), atol=1e-3)
    found = json.loads((out / "migration.json").read_text())
    assert found["name"] == "procrustes"
    assert found["curve"][-1]["recall"]["1"]["value"] > 0.99
    assert "nearest documents" in (out / "index.html").read_text()
    reused = ("--map", str(out / "map.safetensors"), "--format", "faiss")
    again = isoglot("align", "migrate", old, *reused, "--out", str(index / "again"), "--json", "--quiet")
    assert again.code == 0, again.err
    assert json.loads(again.out)["file"] == "vectors.faiss"
    by_file = isoglot(
        "align", "migrate", old, "--to", str(index / "new.npy"), *options, "--out", str(index / "by-file")
    )
    assert by_file.code == 0, by_file.err


def test_what_does_not_go_together_is_refused(isoglot, index: Path, align_folder: Path):
    model, out = str(align_folder / "model"), ("--out", str(index / "out"))
    (index / "few.txt").write_text("One line.\n")
    (index / "many.txt").write_text("".join(f"Line {n}.\n" for n in range(1000)))
    cases: dict[str, list[tuple[str, ...]]] = {
        "config.missing-option": [(), ("--to", model)],
        "config.conflicting-options": [("--to", model, "--map", "m")],
        "input.too-few": [("--to", model, "--text", str(index / "few.txt"))],
        "input.out-of-range": [("--to", model, "--text", str(index / "many.txt"))],
    }
    for code, each in ((code, each) for code, options in cases.items() for each in options):
        result = isoglot("align", "migrate", str(index / "old.npy"), *each, *out, "--json")
        assert result.code == 2
        assert code in result.out + result.err
    assert not (index / "out").exists()

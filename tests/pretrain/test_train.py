"""The run as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from isoglot.core.files import read_json
from isoglot.model.folder import open_encoder
from isoglot.pretrain.log import read_metrics
from isoglot.pretrain.train import pretrain


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return open_encoder(folder).state_dict()


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_leaves_an_encoder_a_record_and_metrics(tmp_path: Path, corpus, nano):
    seen = []
    probes = [lambda encoder, step: seen.append((step, encoder.training)) or {"step squared": step**2}]
    done = pretrain(nano(), corpus.shards, corpus.vocabulary, tmp_path, device="cpu", probes=probes)
    assert (done.position.step, done.position.tokens) == (12, 12 * 8 * 16)
    assert seen == [(5, False), (10, False), (12, False)]
    record = read_json(tmp_path / "run.json")
    assert record["status"] == "finished"
    assert {Path(name).name for name in record["inputs"]} == {"index.json"}
    lines = read_metrics(tmp_path)
    assert [line["step"] for line in lines if line["kind"] == "train"] == [2, 4, 6, 8, 10, 12]
    assert [line["value"] for line in lines if line["kind"] == "probe"][0] == {"step squared": 25}
    dev = [line["perplexity"] for line in lines if line["kind"] == "dev"]
    assert [sorted(one) for one in dev] == [["en", "fr"]] * 3
    assert dev[-1] == done.position.dev
    assert done.position.best == min(one["en"] for one in dev)
    assert same(weights(tmp_path), open_encoder(tmp_path).state_dict())
    assert open_encoder(tmp_path / "best").config.languages == ("en", "fr")
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step-00000008", "step-00000012"]

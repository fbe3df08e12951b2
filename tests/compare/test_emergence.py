"""Measures over the checkpoints of a run."""

from __future__ import annotations

import json
import shutil
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from safetensors.torch import load_file

from isoglot.compare.emergence import SimilarityProbe, trace_emergence
from isoglot.compare.measures.registry import compute
from isoglot.core.config import build_config
from isoglot.languages import documents
from isoglot.languages.builtin import builtin_pairs
from isoglot.model import load_encoder
from isoglot.model.load import load_native_encoder
from isoglot.pretrain import PretrainConfig, pretrain
from isoglot.pretrain.metrics_log import read_metrics
from isoglot.represent import extract
from isoglot.text.formats.plain import write_documents
from isoglot.vocab import build_shards, train_vocabulary
from tests.errors import raises

MEASURES = ("debiased-cka", "cka")


class Run(NamedTuple):
    folder: Path
    probe: SimilarityProbe
    pairs: list[tuple[str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Twelve steps, watched by a probe and with every checkpoint kept."""
    folder = tmp_path_factory.mktemp("emergence")
    texts = {}
    for code in ("en", "fr"):
        made = islice(documents(code, seed=1), 30)
        write_documents(folder / f"{code}.txt", ([sentence.text for sentence in text] for text in made))
        texts[code] = [folder / f"{code}.txt"]
    vocabulary = train_vocabulary(texts, mode="joint", size=400, coverage=1.0)
    shards = {
        code: build_shards(paths, vocabulary, code, folder / code, window=32, dev_share=0.2)
        for code, paths in texts.items()
    }
    config = build_config(
        PretrainConfig,
        settings=[
            "model.size=nano", "model.max_length=16", "batch.size=8", "budget=12steps", "optimizer.learning_rate=1e-2",
            "evaluation.every=4", "evaluation.sequences=4", "checkpoints.every=4", "checkpoints.keep=1000", "log.peak=off",
        ],
    )  # fmt: skip
    pairs = builtin_pairs(("en", "fr"), 40)
    probe = SimilarityProbe(pairs, ("en", "fr"), measures=MEASURES)
    pretrain(config, shards, vocabulary, folder / "run", device="cpu", probes=[probe])
    return Run(folder / "run", probe, pairs)


def test_checkpoints_say_what_the_probe_saw_on_the_way(run: Run):
    found = trace_emergence(run.folder, run.pairs, ("en", "fr"), measures=MEASURES, device="cpu")
    assert [moment.step for moment in found.moments] == [4, 8, 12]
    assert [moment.tokens for moment in found.moments] == [4 * 112, 8 * 112, 12 * 112]  # of text: 8 rows of 14
    assert {moment.step: moment.values for moment in found.moments} == {
        step: {name: pytest.approx(values, abs=1e-6) for name, values in seen.items()}
        for step, seen in run.probe.moments.items()
    }
    encoder = load_encoder(run.folder, device="cpu", weights="last")
    X, Y = (
        extract(encoder, [pair[side] for pair in run.pairs], language=code) for side, code in enumerate(("en", "fr"))
    )
    for layer in (0, 1, 2):
        step, value = found.curve("cka", layer)[-1]
        assert (step, round(value, 5)) == (12, round(compute("cka", X[layer], Y[layer]).value, 5))
    assert found.curve("cka", 2)[0][1] != found.curve("cka", 2)[-1][1]


def test_the_probe_is_in_the_log(run: Run):
    lines = [line for line in read_metrics(run.folder) if line["kind"] == "probe"]
    assert [line["step"] for line in lines] == [4, 8, 12]
    assert set(lines[0]["value"]) == {f"{name}, layer {layer}" for name in MEASURES for layer in range(3)}


def test_layers_and_json(run: Run):
    found = trace_emergence(run.folder, run.pairs, ("en", "fr"), layers=[-1], device="cpu")
    assert found.layers == (2,)
    value = json.loads(json.dumps(found.as_dict()))
    assert list(value["moments"][0]["values"]["debiased-cka"]) == ["2"]
    assert found.as_rows()[0].keys() == {"step", "tokens", "measure", "layer", "value"}


def test_a_checkpoint_is_a_model(run: Run, tmp_path: Path):
    shutil.copytree(run.folder, tmp_path / "copy")
    path = tmp_path / "copy" / "checkpoints" / "step-00000008"
    encoder, last = (load_native_encoder(each, device="cpu", weights="last") for each in (path, run.folder))
    stored = load_file(path / "model.safetensors")
    assert all(torch.equal(tensor, stored[name]) for name, tensor in encoder.state_dict().items())
    assert not torch.equal(*(next(each.parameters()) for each in (encoder, last)))
    assert not encoder.training
    (path / "model.safetensors").write_bytes(b"cut")
    with raises("corrupt-file.hash", "step-00000008"):
        load_encoder(path, device="cpu")
    with raises("storage.unfinished", "step-00000004"):
        load_encoder(shutil.copytree(path.with_name("step-00000004"), tmp_path / "alone" / "a" / "step-00000004"))


def test_what_will_not_do(run: Run, tmp_path: Path):
    with raises("config.unknown-name", "'ckaa'"):
        trace_emergence(run.folder, run.pairs, ("en", "fr"), measures=["ckaa"])
    with raises("input.too-few", "2"):
        trace_emergence(run.folder, run.pairs[:2], ("en", "fr"))
    with raises("storage.not-found", "pretrain.json"):
        trace_emergence(tmp_path, run.pairs, ("en", "fr"))
    with raises("storage.not-found"):
        trace_emergence(tmp_path / "none", run.pairs, ("en", "fr"))
    copy = tmp_path / "copy"
    shutil.copytree(run.folder, copy)
    (copy / "checkpoints" / "step-00000008" / "model.safetensors").write_bytes(b"cut")
    with raises("corrupt-file.hash", "step-00000008"):
        trace_emergence(copy, run.pairs, ("en", "fr"), device="cpu")
    shutil.rmtree(copy / "checkpoints")
    with raises("storage.unfinished"):
        trace_emergence(copy, run.pairs, ("en", "fr"), device="cpu")
    shutil.rmtree(copy / "best")
    shutil.rmtree(copy / "last")
    with raises("storage.unfinished"):
        trace_emergence(copy, run.pairs, ("en", "fr"), device="cpu")

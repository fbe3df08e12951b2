"""Sentence vectors agree with ``SentenceTransformer.encode``, for every module and pooling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

from isoglot.model import load_encoder
from isoglot.represent import extract
from tests.errors import raises

peer: Any = pytest.importorskip("sentence_transformers")
modules: Any = pytest.importorskip("sentence_transformers.sentence_transformer.modules")

TEXTS = [
    "the cat sleeps",
    "a small dog sees the big house and the old woman gives the girl a red apple",
    "yes",
    "a cat",
]
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
CONFIGS: dict[str, Any] = {
    "bert": hf.BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=22),
    "distilbert": hf.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=48, vocab_size=22),
}  # fmt: skip


@pytest.fixture
def saved(hf_folder, shake, tmp_path: Path):
    """``saved(*modules, kind=…, **options)``: a model of sentence-transformers with these modules, and its folder."""

    def save(*after: Any, kind: str = "bert", length: int = 12, **options: Any) -> tuple[Any, Path]:
        torch.manual_seed(0)
        auto: Any = hf.AutoModel
        model = auto.from_config(CONFIGS[kind])
        shake(model)
        read = modules.Transformer(str(hf_folder(model)), max_seq_length=length)
        made = peer.SentenceTransformer(modules=[read, *after], device="cpu", **options)
        made.save(str(tmp_path / "saved"))
        return made, tmp_path / "saved"

    return save


def agree(made: Any, folder: Path) -> Any:
    found = extract(load_encoder(folder, device="cpu"), TEXTS)
    np.testing.assert_allclose(found[2], made.encode(TEXTS), atol=1e-5)
    return found.header


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("pooling", [*POOLINGS, ("mean", "cls")])
def test_every_pooling(saved, kind: str, pooling: Any):
    agree(*saved(modules.Pooling(32, pooling), kind=kind))


def test_every_module_after_pooling(saved):
    torch.manual_seed(1)
    norm = modules.LayerNorm(8)
    torch.nn.init.normal_(norm.norm.weight)
    torch.nn.init.normal_(norm.norm.bias)
    dense = [
        modules.Dense(32, 32, activation_function=torch.nn.GELU(), use_residual=True),
        modules.Dense(32, 8, bias=False, use_residual=True),
    ]
    header = agree(*saved(modules.Pooling(32), *dense, norm, modules.Dropout(0.5), modules.Normalize()))
    assert header["modules"] == [
        "mean pooling", "dense to 32 (GELU)", "dense to 8 (Tanh)", "layer norm", "dropout (no effect)", "normalize",
    ]  # fmt: skip


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("include", [True, False])
def test_the_default_prompt(saved, pooling: str, include: bool):
    prompts = {"query": "the girl sees ", "other": "yes "}
    made, folder = saved(
        modules.Pooling(32, pooling, include_prompt=include), prompts=prompts, default_prompt_name="query"
    )
    header = agree(made, folder)
    assert header["modules"][0].startswith("prompt 'the girl sees '")
    assert header["cut"] == 1  # by a length that includes the prompt
    plain, folder = saved(modules.Pooling(32, pooling, include_prompt=include), prompts=prompts)
    agree(plain, folder)  # prompts without a default are not used
    assert not np.allclose(plain.encode(TEXTS), made.encode(TEXTS), atol=1e-3)


def test_lowercasing(saved):
    _, folder = saved(modules.Pooling(32))
    config = folder / "sentence_bert_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"do_lower_case": True}))
    texts = ["The CAT sleeps", "YES"]
    found = extract(load_encoder(folder, device="cpu"), texts)
    np.testing.assert_allclose(found[2], peer.SentenceTransformer(str(folder), device="cpu").encode(texts), atol=1e-5)


@pytest.mark.parametrize(
    ("pool", "pooling"),
    [("mean-all", "mean"), ("cls", "cls"), ("first", "cls"), ("last", "lasttoken"), ("max", "max"), ("weighted", "weightedmean")],
)  # fmt: skip
def test_poolings_of_the_last_layer_by_name(saved, pool: Any, pooling: str):
    made, folder = saved(modules.Pooling(32, pooling))
    found = extract(load_encoder(folder, device="cpu"), TEXTS, pool=pool, length=12)
    np.testing.assert_allclose(found[2], made.encode(TEXTS), atol=1e-5)


def test_weighted_layers_are_refused_by_name(saved):
    _, folder = saved(modules.WeightedLayerPooling(32, num_hidden_layers=2, layer_start=1), modules.Pooling(32))
    with raises("input.unknown-format", "WeightedLayerPooling"):
        load_encoder(folder)

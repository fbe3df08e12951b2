"""Sentence-transformers folders: their modules make the vectors that the model is deployed with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import save_file
from torch.nn import functional as F

from isoglot.model import load_encoder
from isoglot.represent import extract
from isoglot.retrieve.parallel_sets import ParallelSet
from isoglot.retrieve.sentences import sentence_sides
from tests.errors import raises

MODES = ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
CONFIGS: dict[str, Any] = {
    "bert": lambda: hf.BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=22),
    "distilbert": lambda: hf.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=48, vocab_size=22),
}  # fmt: skip


@pytest.fixture(params=CONFIGS)
def model(request: pytest.FixtureRequest, shake) -> Any:
    torch.manual_seed(0)
    kind: Any = hf.AutoModel
    made = kind.from_config(CONFIGS[request.param]())
    shake(made)
    return made


def write(
    folder: Path, modes: tuple[str, ...], *, dense: str | None = "Tanh", inside: str = "", length: int = 12
) -> None:
    """The files of sentence-transformers beside a model."""
    kinds = (
        {"Transformer": inside, "Pooling": "1_Pooling"}
        | ({"Dense": "2_Dense"} if dense else {})
        | {"Normalize": "3_Normalize"}
    )
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(kinds.items())
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / inside / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": length, "do_lower_case": False})
    )
    (folder / "1_Pooling").mkdir(exist_ok=True)
    pooling: dict[str, Any] = {f"pooling_mode_{mode}": mode in modes for mode in MODES}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32} | pooling))
    if dense:
        (folder / "2_Dense").mkdir(exist_ok=True)
        size = 32 * len(modes)
        config = {
            "in_features": size,
            "out_features": 8,
            "bias": True,
            "activation_function": f"torch.nn.modules.activation.{dense}",
        }
        (folder / "2_Dense" / "config.json").write_text(json.dumps(config))
        torch.manual_seed(1)
        weights = {"linear.weight": torch.randn(8, size), "linear.bias": torch.randn(8)}
        save_file(weights, folder / "2_Dense" / "model.safetensors")


def expected(model: Any, folder: Path, texts: list[str], mode: str) -> torch.Tensor:
    """As sentence-transformers computes it, one sentence at a time and so without padding."""
    kind: Any = hf.AutoTokenizer
    tokenizer = kind.from_pretrained(folder)
    rows = []
    for text in texts:
        inputs = tokenizer(text, truncation=True, max_length=12, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        with torch.no_grad():
            hidden = model(**inputs).last_hidden_state[0]
        count = len(hidden)
        weights = torch.arange(1, count + 1)[:, None]
        rows.append(
            {
                "cls_token": hidden[0],
                "max_tokens": hidden.amax(0),
                "mean_tokens": hidden.mean(0),
                "mean_sqrt_len_tokens": hidden.sum(0) / count**0.5,
                "weightedmean_tokens": (hidden * weights).sum(0) / weights.sum(),
                "lasttoken": hidden[-1],
            }[mode]
        )
    return torch.stack(rows)


@pytest.mark.parametrize("mode", MODES)
def test_the_vectors_are_those_of_the_modules(model, mode: str, hf_folder, sentences):
    folder, texts = hf_folder(model), list(sentences)
    write(folder, (mode,))
    torch.manual_seed(1)
    weight, bias = torch.randn(8, 32), torch.randn(8)
    pooled = expected(model, folder, texts, mode)
    wanted = F.normalize(torch.tanh(F.linear(pooled, weight, bias)), dim=1)
    found = extract(load_encoder(folder, device="cpu"), texts)
    assert (found.header["pool"], found.layers, found.hidden_size) == ("model", (2,), 8)
    np.testing.assert_allclose(found[2], wanted.numpy(), atol=1e-5)
    assert found.header["cut"] == 1  # by the length that the folder states


def test_several_poolings_stand_side_by_side(model, hf_folder, sentences):
    folder, texts = hf_folder(model), list(sentences)
    write(folder, ("mean_tokens", "cls_token"), dense=None)
    parts = [expected(model, folder, texts, mode) for mode in ("cls_token", "mean_tokens")]
    found = extract(load_encoder(folder, device="cpu"), texts)
    np.testing.assert_allclose(found[2], F.normalize(torch.cat(parts, dim=1), dim=1).numpy(), atol=1e-5)


def test_the_transformer_may_be_in_a_folder_inside(model, hf_folder, sentences, tmp_path: Path):
    outer = tmp_path / "outer"
    inner = hf_folder(model, "outer/0_Transformer")
    write(outer, ("mean_tokens",), inside="0_Transformer", dense=None)
    texts = list(sentences)
    wanted = F.normalize(expected(model, inner, texts, "mean_tokens"), dim=1)
    encoder = load_encoder(outer, device="cpu")
    np.testing.assert_allclose(extract(encoder, texts)[2], wanted.numpy(), atol=1e-5)
    sides = sentence_sides(encoder, ParallelSet(name="x", sentences={"en": texts, "de": texts}, numbers=[1, 2, 3]))
    np.testing.assert_allclose(sides["en"].layers[2], wanted.numpy(), atol=1e-5)


def test_other_poolings_are_there_when_asked_for(model, hf_folder, sentences):
    folder = hf_folder(model)
    write(folder, ("mean_tokens",))
    encoder = load_encoder(folder, device="cpu")
    assert extract(encoder, list(sentences), pool="mean").layers == (0, 1, 2)
    with raises("config.not-supported"):
        extract(encoder, list(sentences), layers=[1])
    (folder / "modules.json").unlink()
    plain = load_encoder(folder, device="cpu")
    assert extract(plain, list(sentences)).header["pool"] == "mean"
    with raises("config.not-supported"):
        extract(plain, list(sentences), pool="model")


def test_without_a_length_of_its_own_the_tokenizers_counts(hf_folder, sentences, shake):
    kind: Any = hf.AutoModel
    folder = hf_folder(kind.from_config(CONFIGS["bert"]()))
    write(folder, ("mean_tokens",))
    (folder / "sentence_bert_config.json").write_text("{}")
    assert extract(load_encoder(folder, device="cpu"), list(sentences)).header["max_length"] == 512
    changed(folder / "tokenizer_config.json", model_max_length=9)
    assert extract(load_encoder(folder, device="cpu"), list(sentences)).header["max_length"] == 9


@pytest.mark.parametrize("name", ["roberta", "distilbert", "xlm-roberta"])
def test_early_versions_named_the_settings_by_the_model(hf_folder, sentences, name: str):
    kind: Any = hf.AutoModel
    folder = hf_folder(kind.from_config(CONFIGS["bert"]()))
    write(folder, ("mean_tokens",), length=7)
    (folder / "sentence_bert_config.json").rename(folder / f"sentence_{name}_config.json")
    assert extract(load_encoder(folder, device="cpu"), list(sentences)).header["max_length"] == 7


def test_a_pooling_that_is_not_stated_is_the_mean(model, hf_folder, sentences):
    folder, texts = hf_folder(model), list(sentences)
    write(folder, (), dense=None)
    wanted = F.normalize(expected(model, folder, texts, "mean_tokens"), dim=1)
    np.testing.assert_allclose(extract(load_encoder(folder, device="cpu"), texts)[2], wanted.numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("pool", "mode"),
    [("mean-all", "mean_tokens"), ("first", "cls_token"), ("cls", "cls_token"), ("last", "lasttoken"),
     ("max", "max_tokens"), ("weighted", "weightedmean_tokens")],
)  # fmt: skip
def test_poolings_that_count_special_tokens(model, pool: Any, mode: str, hf_folder, sentences):
    folder, texts = hf_folder(model), list(sentences)
    found = extract(load_encoder(folder, device="cpu"), texts, pool=pool, length=12)
    np.testing.assert_allclose(found[2], expected(model, folder, texts, mode).numpy(), atol=1e-5)
    assert (found.header["pool"], found.header["special_tokens"]) == ("first" if pool == "cls" else pool, True)
    assert not extract(load_encoder(folder, device="cpu"), texts).header["special_tokens"]


def test_the_default_prompt_is_put_before_every_text(model, hf_folder, sentences):
    folder = hf_folder(model)
    write(folder, ("mean_tokens",), dense=None)
    plain = extract(load_encoder(folder, device="cpu"), [f"the girl {text}" for text in sentences])
    prompts = {"default_prompt_name": "query", "prompts": {"query": "the girl ", "document": "yes "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    np.testing.assert_array_equal(extract(load_encoder(folder, device="cpu"), list(sentences))[2], plain[2])
    changed(folder / "1_Pooling" / "config.json", include_prompt=False)
    text = "the cat sleeps"  # [CLS] the girl | the cat sleeps [SEP]: the last four tokens count
    encoder = load_encoder(folder, device="cpu")
    words = extract(encoder, [f"the girl {text}".split()], pool="words")[2]
    end = extract(encoder, [f"the girl {text}"], pool="last")[2]
    mean = np.concatenate([words[2:], end]).mean(0)
    np.testing.assert_allclose(extract(encoder, [text])[2][0], mean / np.linalg.norm(mean), atol=1e-5)


def changed(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_what_is_not_known_is_refused_in_one_line(hf_folder, shake):
    kind: Any = hf.AutoModel
    folder = hf_folder(kind.from_config(CONFIGS["bert"]()))
    write(folder, ("mean_tokens",))
    good = (folder / "modules.json").read_text()
    for module in ("evil.EvilModule", "sentence_transformers.models.CNN", "sentence_transformers_evil.Dense"):
        (folder / "modules.json").write_text(good.replace("sentence_transformers.models.Dense", module))
        with raises("input.unknown-format"):
            load_encoder(folder)
    (folder / "modules.json").write_text(good)
    changed(folder / "2_Dense" / "config.json", activation_function="evil.Activation")
    with raises("input.unknown-format", "'Activation'"):
        load_encoder(folder)
    changed(folder / "1_Pooling" / "config.json", pooling_mode_other_tokens=True)
    with raises("input.unknown-format", "'pooling_mode_other_tokens'"):
        load_encoder(folder)

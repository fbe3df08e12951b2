"""A model with a fix: the same vectors after writing and loading, here and in sentence-transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoglot.diagnose.repair.folder import hf_folder, largest_difference, write_first_layers, write_fixed
from isoglot.diagnose.repair.onnx_model import onnx_difference, write_onnx
from isoglot.diagnose.repair.treatments import Affine, unit_rows
from isoglot.model import load_encoder
from isoglot.model.hf.export import export_to_hf
from isoglot.represent import extract
from isoglot.vocab import train_vocabulary
from tests.errors import raises

SIZE = 32
TEXTS = ["The cat sleeps.", "A small dog sees the big house and the old woman.", "Yes."]


def random_fix(size: int, seed: int = 0) -> Affine:
    random = np.random.default_rng(seed)
    return Affine(random.normal(size=(size, size)) / size**0.5, random.normal(size=size) / size**0.5)


def vectors(model: str | Path, **options: Any) -> np.ndarray:
    encoder = load_encoder(model, device="cpu")
    return np.asarray(extract(encoder, TEXTS, layers=[-1], language="en", **options)[encoder.depth])


@pytest.fixture(scope="module")
def plain(small_texts, nano_encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face folder without modules, of a small encoder built as isoglot-mini is."""
    folder: Path = tmp_path_factory.mktemp("plain") / "model"
    vocabulary = train_vocabulary(small_texts, mode="joint", size=1000, coverage=1.0)
    export_to_hf(nano_encoder(vocabulary, "modern", layers=4), folder)
    return folder


@pytest.fixture(scope="module")
def fixed(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("fixed") / "model"
    write_fixed(plain, random_fix(SIZE), folder)
    return folder


def test_an_encoder_of_ours(tmp_path: Path):
    write_fixed("isoglot-mini", random_fix(384), tmp_path / "fixed")
    expected = random_fix(384)(vectors("isoglot-mini", pool="mean-all"))
    assert largest_difference(tmp_path / "fixed", {"en": TEXTS}, {"en": expected}) < 1e-5
    assert largest_difference(tmp_path / "fixed", {"en": TEXTS}, {"en": expected[::-1]}) > 1e-3


@pytest.mark.parametrize("pool", ["first", "last", "weighted"])
def test_a_hugging_face_folder(plain: Path, tmp_path: Path, pool: Any):
    write_fixed(plain, random_fix(SIZE), tmp_path / "fixed", pool=pool)
    expected = random_fix(SIZE)(vectors(plain, pool=pool))
    assert largest_difference(tmp_path / "fixed", {"en": TEXTS}, {"en": expected}) < 1e-5


def test_a_model_with_modules_keeps_them(fixed: Path, tmp_path: Path):
    write_fixed(fixed, random_fix(SIZE, 1), tmp_path / "twice")
    expected = random_fix(SIZE, 1)(vectors(fixed))
    assert largest_difference(tmp_path / "twice", {"en": TEXTS}, {"en": expected}) < 1e-5


def test_transformers_opens_it(fixed: Path):
    """The README of the library: pool the last layer, then the linear layer of the module."""
    import torch
    import transformers
    from safetensors.torch import load_file

    tokenizer, auto = transformers.AutoTokenizer, transformers.AutoModel
    batch = tokenizer.from_pretrained(fixed)(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = auto.from_pretrained(fixed)(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None]
    pooled = (hidden * mask).sum(1) / mask.sum(1)
    dense = load_file(fixed / "2_Dense" / "model.safetensors")
    mapped = torch.nn.functional.linear(pooled, dense["linear.weight"], dense["linear.bias"])
    np.testing.assert_allclose(unit_rows(mapped.numpy()), vectors(fixed), atol=1e-5)


def test_sentence_transformers_opens_it(fixed: Path):
    peer: Any = pytest.importorskip("sentence_transformers")
    np.testing.assert_allclose(
        peer.SentenceTransformer(str(fixed), device="cpu").encode(TEXTS), vectors(fixed), atol=1e-5
    )


@pytest.fixture(scope="module")
def routed(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("routed") / "model"
    write_fixed(plain, random_fix(SIZE), folder, by_language={"de": random_fix(SIZE, 1), "fr": random_fix(SIZE, 2)})
    return folder


def test_a_fix_by_language_has_a_route_for_each_and_a_fallback(plain: Path, routed: Path):
    rows = vectors(plain, pool="mean-all")
    expected = {"de": random_fix(SIZE, 1)(rows), "fr": random_fix(SIZE, 2)(rows), "sw": random_fix(SIZE)(rows)}
    assert largest_difference(routed, dict.fromkeys(expected, TEXTS), expected) < 1e-5
    assert largest_difference(routed, {"de": TEXTS}, {"de": expected["fr"]}) > 1e-3


def test_sentence_transformers_routes_by_task(plain: Path, routed: Path):
    peer: Any = pytest.importorskip("sentence_transformers")
    model, rows = peer.SentenceTransformer(str(routed), device="cpu"), vectors(plain, pool="mean-all")
    for seed, found in ((1, model.encode(TEXTS, task="de")), (2, model.encode(TEXTS, task="fr"))):
        np.testing.assert_allclose(found, unit_rows(random_fix(SIZE, seed)(rows)), atol=1e-5)
    for found in (model.encode(TEXTS), model.encode_query(TEXTS), model.encode_document(TEXTS)):
        np.testing.assert_allclose(found, unit_rows(random_fix(SIZE)(rows)), atol=1e-5)


def test_a_fix_of_an_earlier_layer_leaves_out_the_later_ones(plain: Path, tmp_path: Path):
    write_first_layers(plain, 3, tmp_path / "first")
    rows = vectors(tmp_path / "first", pool="mean-all")
    write_fixed(plain, random_fix(SIZE), tmp_path / "fixed", layers=3)
    assert load_encoder(tmp_path / "fixed", device="cpu").depth == 3
    assert largest_difference(tmp_path / "fixed", {"en": TEXTS}, {"en": random_fix(SIZE)(rows)}) < 1e-5
    sizes = [(each / "model.safetensors").stat().st_size for each in (tmp_path / "fixed", plain)]
    assert sizes[0] < sizes[1]


def test_of_a_post_norm_model_an_earlier_layer_is_the_hidden_state(plain: Path, tmp_path: Path):
    """BERT has no norm after its last layer."""
    import transformers

    config = transformers.BertConfig(
        vocab_size=1000, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=48
    )
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path / "bert")  # type: ignore[no-untyped-call]
    transformers.AutoTokenizer.from_pretrained(plain).save_pretrained(tmp_path / "bert")
    write_first_layers(tmp_path / "bert", 2, tmp_path / "first")
    encoder = load_encoder(tmp_path / "bert", device="cpu")
    whole = extract(encoder, TEXTS, layers=[2], pool="mean-all", language="en")[2]
    np.testing.assert_allclose(vectors(tmp_path / "first", pool="mean-all"), whole, atol=1e-5)


def test_onnx_has_the_same_vectors(plain: Path, tmp_path: Path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    write_fixed(plain, random_fix(SIZE), tmp_path / "fixed", layers=2)
    write_onnx(tmp_path / "fixed")
    expected = vectors(tmp_path / "fixed")
    assert onnx_difference(tmp_path / "fixed", {"en": TEXTS}, {"en": expected}) < 1e-5
    assert onnx_difference(tmp_path / "fixed", {"en": TEXTS}, {"en": expected[::-1]}) > 1e-3


def test_onnx_routes_by_language(plain: Path, tmp_path: Path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    write_fixed(plain, random_fix(SIZE), tmp_path / "fixed", layers=1, by_language={"de": random_fix(SIZE, 1)})
    write_onnx(tmp_path / "fixed")
    encoder = load_encoder(tmp_path / "fixed", device="cpu")
    expected = {
        code: extract(encoder, TEXTS, layers=[-1], language=code, pool="model")[encoder.depth] for code in ("de", "sw")
    }
    assert onnx_difference(tmp_path / "fixed", dict.fromkeys(expected, TEXTS), expected) < 1e-5
    assert np.abs(expected["de"] - expected["sw"]).max() > 1e-3


def test_a_name_on_the_hub(fixed: Path, tmp_path: Path, monkeypatch):
    """A snapshot in the local cache, without a network."""
    import shutil

    import huggingface_hub.constants

    from isoglot.model.hf import source

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(source, "_network", lambda: False)
    stored = tmp_path / "models--me--fixed"
    shutil.copytree(fixed, stored / "snapshots" / "0123")
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text("0123")
    assert source.hub_snapshot("me/fixed").name == "0123"
    write_fixed(source.hub_snapshot("me/fixed"), random_fix(SIZE, 1), tmp_path / "twice")
    assert hf_folder("me/fixed", tmp_path / "scratch") == source.hub_snapshot("me/fixed")
    with raises("storage.model-not-found", "me/other"):
        hf_folder("me/other", tmp_path / "scratch")


def test_bad_input_is_one_line(plain: Path, tmp_path: Path):
    with raises("storage.model-not-found", "no/such"):
        write_fixed("no/such", random_fix(SIZE), tmp_path / "a")
    with raises("config.not-supported", "mean"):
        write_fixed(plain, random_fix(SIZE), tmp_path / "b", pool="mean")
    with raises("config.other-size", 16, SIZE):
        write_fixed(plain, random_fix(16), tmp_path / "c")

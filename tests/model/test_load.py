from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from transformers import AutoModelForMaskedLM, BertConfig, DistilBertConfig

from isoglot.model import Encoder, load_encoder, save_encoder
from isoglot.model.hf.source import WAYS
from tests.errors import raises

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 22,
}


def made(config: Any) -> Any:
    kind: Any = AutoModelForMaskedLM
    return kind.from_config(config)


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def test_our_folder(encoders, tmp_path: Path):
    encoder = encoders()
    save_encoder(encoder, tmp_path / "ours")
    loaded = load_encoder(str(tmp_path / "ours"), device="cpu")
    assert isinstance(loaded, Encoder)
    assert all(torch.equal(tensor, loaded.state_dict()[name]) for name, tensor in encoder.state_dict().items())
    assert not loaded.training


def test_a_hugging_face_folder_gives_no_remarks(hf_folder, shake, capfd):
    model = made(BertConfig(**SMALL))
    shake(model)
    folder = hf_folder(model)
    capfd.readouterr()
    assert isinstance(load_encoder(folder, device="cpu"), Encoder)
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("without_mini")
def test_what_is_not_there_names_two_ways_to_get_one(tmp_path: Path):
    with raises("config.not-supported", "isoglot-mini", WAYS):
        load_encoder("isoglot-mini")
    for source in (tmp_path, tmp_path / "nothing", "./nothing", __file__):
        with raises("storage.model-not-found", source, WAYS):
            load_encoder(source)


def test_a_name_without_the_network_is_one_line_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("isoglot.model.hf.source._network", lambda: False)
    with raises("storage.model-not-found", "'nobody/no-such-encoder'"):
        load_encoder("nobody/no-such-encoder")


def test_a_folder_that_is_not_whole(hf_folder, shake, tmp_path: Path):
    model = made(DistilBertConfig(dim=32, n_layers=2, n_heads=4, vocab_size=22))
    folder = hf_folder(model)
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with raises("input.unknown-format"):
        load_encoder(folder)
    (folder / "model.safetensors").write_bytes(whole)
    (folder / "tokenizer.json").unlink()
    with raises("storage.tokenizer-not-found", "tokenizer.save_pretrained"):
        load_encoder(folder)
    (folder / "config.json").write_text('{"model_type": "no such"}')
    with raises("input.unknown-format"):
        load_encoder(folder)


def test_weights_that_are_missing_are_not_made_up(hf_folder, shake):
    from safetensors.torch import load_file, save_file

    folder = hf_folder(made(BertConfig(**SMALL)))
    weights = load_file(folder / "model.safetensors")
    del weights["bert.encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with raises("input.unknown-format", folder, 1, "'bert.encoder.layer.1.output.dense.weight'"):
        load_encoder(folder)


def test_no_such_device(encoders, tmp_path: Path):
    save_encoder(encoders(), tmp_path)
    with raises("device.not-found", "'cuda:99'"):
        load_encoder(tmp_path, device="cuda:99")


def test_our_folder_needs_no_transformers(encoders, tmp_path: Path):
    save_encoder(encoders("modern", mode="joint"), tmp_path / "ours")
    program = (
        "import sys; sys.modules['transformers'] = None;"
        "from isoglot.model import load_encoder; from isoglot.model.hf.export import export_to_hf;"
        f"export_to_hf(load_encoder({str(tmp_path / 'ours')!r}, device='cpu'), {str(tmp_path / 'hf')!r})"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert (tmp_path / "hf" / "config.json").exists()

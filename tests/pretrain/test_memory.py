"""What a step needs at least, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from isoglot.core.config import build_config, load_recipe
from isoglot.model import Encoder, encoder_config
from isoglot.pretrain import step as memory
from isoglot.pretrain.config import PretrainConfig
from isoglot.pretrain.step import check_memory, kept_activations
from isoglot.pretrain.train import pretrain
from tests.errors import raises


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("preset", ["paper", "modern"])
def test_the_estimate_is_less_than_what_torch_keeps_but_not_by_much(preset, dropout: float):
    shape = encoder_config(preset, "nano", vocabulary_size=50, dropout=dropout)
    encoder = Encoder(shape).train()
    weights = {parameter.untyped_storage().data_ptr() for parameter in encoder.parameters()}
    kept: dict[int, torch.Tensor] = {}  # by place, and held so that no place is taken twice

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    rows, length = 4, 64
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        encoder(torch.full((rows, length), 7), torch.zeros(rows, 2, dtype=torch.long), torch.full((rows, 2), 7))
    found = sum(tensor.untyped_storage().nbytes() for place, tensor in kept.items() if place not in weights)
    assert 0.6 < 4 * kept_activations(shape, rows=rows, length=length) / found < 1


def test_the_paper_s_step_is_refused_on_a_small_machine(monkeypatch: pytest.MonkeyPatch):
    recipe = load_recipe("table1/sep-l1-3", room="pretrain")
    shape = encoder_config("paper", "base", vocabulary_size=100)

    def check(*settings: str) -> None:
        check_memory(
            build_config(PretrainConfig, recipe=recipe, settings=settings), shape, processes=1, precision="float32"
        )

    monkeypatch.setattr(memory, "machine_memory", lambda: 24_000_000_000)
    with raises("config.requirement", 111, "GB", 768, 256, 24):
        check()
    check("batch.gradient_accumulation=12")
    check("budget=0steps")
    with raises("config.requirement", 56, "GB", 384):
        check("batch.gradient_accumulation=2")
    for known in (0, 240_000_000_000):  # on some systems it is not known
        monkeypatch.setattr(memory, "machine_memory", lambda known=known: known)
        check()


def test_what_is_refused_leaves_no_folder(corpus, nano, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 10_000)
    with raises("config.requirement", "--set", "batch.gradient_accumulation=8"):
        pretrain(nano(), corpus.shards, corpus.vocabulary, tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()

"""Optimizers: their formulas, who has decay, and that what is not reached does not move."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from isoglot.model import Encoder, encoder_config
from isoglot.pretrain.optimizer import Optimizer, OptimizerConfig, build_optimizer
from tests.errors import raises

KINDS = ["adam", "adamw", "muon"]


def encoder(plan: str = "default") -> Encoder:
    config = encoder_config("modern", "nano", vocabulary_size=40, languages=("en", "fr"), plan=plan)
    return Encoder(config, members={"en": range(25), "fr": range(20, 40)})  # type: ignore[dict-item]


def step(model: Encoder, optimizer: Optimizer, language: str, seed: int = 0, factor: float = 1.0) -> torch.Tensor:
    ids = torch.randint(20, 25, (2, 8), generator=torch.Generator().manual_seed(seed))
    optimizer.clear()
    model(ids, torch.tensor([[1, 2], [3, 4]]), ids[:, :2], language).backward()
    return optimizer.step(factor)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("plan", ["default", "1", "emb,softmax", "emb,1-2,transform,softmax"])
def test_what_a_language_does_not_reach_does_not_move(kind, plan):
    model = encoder(plan)
    optimizer = build_optimizer(dict(model.named_parameters()), OptimizerConfig(kind=kind, weight_decay=0.1), "cpu")
    for seed in range(3):  # the others get momentum first, which must then do nothing
        step(model, optimizer, "fr", seed)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    memory = {name: value.clone() for name, value in optimizer.state().items()}
    step(model, optimizer, "en")
    moved = {name for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    still = {name for name in before if "fr" in name.split(".")}
    assert moved == {name for name, _ in model.named_parameters()} - still
    assert all(
        torch.equal(optimizer.state()[name], memory[name]) for name in memory if name.rpartition("/")[0] in still
    )


def test_adamw_is_torchs_with_decay_on_matrices_only():
    model, twin = encoder(), encoder()
    config = OptimizerConfig(kind="adamw", learning_rate=1e-2, weight_decay=0.1, max_gradient_norm=0.0)
    optimizer = build_optimizer(dict(model.named_parameters()), config, "cpu")
    groups = [
        {"params": [p for p in twin.parameters() if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in twin.parameters() if p.dim() == 1], "weight_decay": 0.0},
    ]
    plain = torch.optim.AdamW(groups, lr=1e-2)
    for seed in range(3):
        step(model, optimizer, "en", seed)
        ids = torch.randint(20, 25, (2, 8), generator=torch.Generator().manual_seed(seed))
        plain.zero_grad()
        twin(ids, torch.tensor([[1, 2], [3, 4]]), ids[:, :2], "en").backward()
        plain.step()
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_muon_takes_the_matrices_of_the_layers_and_nothing_else():
    model = encoder("1")
    optimizer = build_optimizer(dict(model.named_parameters()), OptimizerConfig(kind="muon"), "cpu")
    assert optimizer.kinds == ["Muon", "AdamW"]
    step(model, optimizer, "en")
    for name in {name.rpartition("/")[0] for name in optimizer.state()}:
        by_muon = f"{name}/momentum_buffer" in optimizer.state()
        assert by_muon == (name.startswith("blocks.") and name.endswith(".weight") and "norm" not in name), name


@pytest.mark.parametrize("kind", KINDS)
def test_the_rate_follows_the_factor(kind):
    model = encoder()
    optimizer = build_optimizer(dict(model.named_parameters()), OptimizerConfig(kind=kind, weight_decay=0.1), "cpu")
    before = [value.clone() for value in model.parameters()]
    step(model, optimizer, "en", factor=0.0)
    assert all(torch.equal(one, other) for one, other in zip(before, model.parameters(), strict=True))


def test_clipping_shortens_the_gradient_and_tells_its_length():
    layer = nn.Linear(3, 1, bias=False)
    optimizer = build_optimizer(dict(layer.named_parameters()), OptimizerConfig(max_gradient_norm=1.0), "cpu")
    layer(torch.tensor([[2.0, 3.0, 6.0]])).sum().backward()
    assert float(optimizer.step(1.0)) == pytest.approx(7.0)
    assert layer.weight.grad is not None
    assert float(layer.weight.grad.norm()) == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_state_taken_and_given_back_goes_on_the_same(kind):
    one, other = encoder("1"), encoder("1")
    first = build_optimizer(dict(one.named_parameters()), OptimizerConfig(kind=kind), "cpu")
    second = build_optimizer(dict(other.named_parameters()), OptimizerConfig(kind=kind), "cpu")
    step(one, first, "en", 0)
    other.load_state_dict(one.state_dict())
    second.load(first.state())
    for model, optimizer in ((one, first), (other, second)):
        step(model, optimizer, "fr", 1)
        step(model, optimizer, "en", 2)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    with raises("corrupt-file", "'x'"):
        second.load({"x/step": torch.tensor(1.0)})

"""float16: overflows are skipped and counted, small gradients are kept, and a resumed run ends with the same bits."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

from isoglot.core import devices
from isoglot.core.errors import NumericError
from isoglot.model.folder import open_encoder
from isoglot.pretrain.metrics_log import read_metrics
from isoglot.pretrain.optimizer import LARGEST_SCALE, SMALLEST_SCALE, LossScale, OptimizerConfig, build_optimizer
from isoglot.pretrain.train import Stop, pretrain


def planted(*gradients: float, scale: LossScale | None, kind: str = "adamw") -> tuple[nn.Linear, list[float]]:
    """A matrix after steps with these gradients, as a loss that is scaled would leave them; lengths as reported."""
    torch.manual_seed(0)
    model = nn.Linear(2, 2, bias=False)
    config = OptimizerConfig.model_validate({"kind": kind, "learning_rate": 0.1, "max_gradient_norm": 1.0})
    optimizer = build_optimizer(dict(model.named_parameters()), config, "cpu")
    lengths = []
    for gradient in gradients:
        factor = 1.0 if scale is None else scale.value
        model.weight.grad = torch.full((2, 2), gradient * factor)
        lengths.append(float(optimizer.step(1.0, scale)))
    return model, lengths


def test_the_scale_halves_at_an_overflow_and_doubles_after_so_many_good_steps():
    scale = LossScale(value=8.0, interval=3)
    kept = [scale.keep(length) for length in (1.0, float("nan"), 2.0, 0.0, 1.0, 1.0)]
    assert kept == [True, False, True, True, True, True]
    assert asdict(scale) == {"value": 8.0, "good": 1, "skipped": 1, "interval": 3}
    low, high = LossScale(value=SMALLEST_SCALE), LossScale(value=LARGEST_SCALE, interval=1)
    assert not low.keep(float("inf"))
    assert high.keep(1.0)
    assert (low.value, high.value) == (SMALLEST_SCALE, LARGEST_SCALE)


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_a_step_that_overflows_moves_nothing_and_leaves_the_optimizer_as_it_was(bad: float):
    scale = LossScale(value=1024.0)
    with_bad, lengths = planted(0.3, bad, 0.2, scale=scale)
    without, _ = planted(0.3, 0.2, scale=None)
    assert torch.equal(with_bad.weight, without.weight)  # powers of two: dividing by them is exact
    assert (lengths[1], scale.value, scale.skipped) == (0.0, 512.0, 1)
    assert lengths[0] == pytest.approx(0.6)


def test_an_overflow_at_the_smallest_scale_is_reported_as_it_is():
    _, (length,) = planted(float("inf"), scale=LossScale(value=SMALLEST_SCALE))
    assert length == float("inf")


def test_gradients_that_float16_would_lose_arrive():
    """A gradient of 2e-8 is 0 in float16, and times the scale it is not."""
    half = torch.ones(1, dtype=torch.float16, requires_grad=True)
    found: list[float] = []
    for factor in (1.0, LossScale().value):
        half.grad = None
        (half.float() * 2e-8 * factor).sum().backward()
        gradient = half.grad
        assert gradient is not None
        found.append(float(gradient) / factor)
    assert found == [0.0, pytest.approx(2e-8, rel=1e-3)]


def test_a_run_in_float16_skips_overflows_counts_them_and_resumes_with_the_same_bits(
    tmp_path: Path, corpus, nano, monkeypatch: pytest.MonkeyPatch
):
    from isoglot.pretrain import train

    real = train.Trainer._step

    def step(self):
        if self.position.step in (1, 4):
            plain = self.backward.run

            def backward(batch):
                loss = plain(batch)
                next(p for p in self.encoder.parameters() if p.grad is not None).grad.flatten()[0] = float("inf")
                return loss

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(self.backward, "run", backward)
                real(self)
            return
        real(self)

    monkeypatch.setattr(train.Trainer, "_step", step)
    config = nano("precision=float16", "log.every=1", "budget=7steps", "evaluation.every=0")
    run = partial(pretrain, config, corpus.shards, corpus.vocabulary, device="cpu", resume=True)
    run(tmp_path / "whole")
    while not run(tmp_path / "cut", stop=Stop(0.0)).finished:
        pass
    lines = [
        [(x["loss"], x["loss_scale"], x["skipped"]) for x in read_metrics(tmp_path / name)] for name in ("whole", "cut")
    ]
    assert lines[0] == lines[1]
    assert [(scale, skipped) for _, scale, skipped in lines[0]] == [
        (65536.0, 0), (32768.0, 1), (32768.0, 1), (32768.0, 1), (16384.0, 2), (16384.0, 2), (16384.0, 2)
    ]  # fmt: skip
    one, other = (open_encoder(tmp_path / name / "last").state_dict() for name in ("whole", "cut"))
    assert all(torch.equal(value, other[name]) for name, value in one.items())


def test_a_loss_that_is_not_finite_stops_a_run_in_float16_too(tmp_path: Path, corpus, nano):
    with pytest.raises(NumericError):
        pretrain(
            nano("precision=float16", "optimizer.learning_rate=1e30", "log.every=1", "optimizer.max_gradient_norm=0"),
            corpus.shards,
            corpus.vocabulary,
            tmp_path,
            device="cpu",
        )


@pytest.mark.parametrize(
    ("capability", "expected"),
    [((6, 1), "float32"), ((7, 0), "float16"), ((7, 5), "float16"), ((8, 0), "bfloat16"), ((9, 0), "bfloat16")],
)
def test_the_format_of_products_is_what_the_hardware_computes_in(monkeypatch, capability, expected):
    """Volta says it supports bfloat16, by emulation."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: True)
    assert devices.product_precision(torch.device("cuda")) == expected
    assert devices.product_precision(torch.device("cpu")) == "float32"

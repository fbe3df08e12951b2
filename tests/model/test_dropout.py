"""Dropout by a hash: the right share, the right mean, decided by the seed; norms that give the format of products."""

import shutil
import sys
import sysconfig
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from isoglot.model.config import encoder_config
from isoglot.model.kernels.dropout import Dropout, kept, mixed
from isoglot.model.modules import FeedForward, Norm

CAN_COMPILE = (
    sys.platform == "linux" and shutil.which("g++") and (Path(sysconfig.get_path("include")) / "Python.h").exists()
)
INT32 = st.integers(-(2**31), 2**31 - 1)


def keys(*values: int) -> list[torch.Tensor]:
    return [torch.tensor(value, dtype=torch.int32) for value in values]


@given(INT32)
@settings(max_examples=20, deadline=None)
def test_mixing_is_one_to_one(start: int) -> None:
    numbers = torch.arange(start, start + 50_000).to(torch.int32)  # wraps around
    assert len(mixed(numbers).unique()) == len(numbers)


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.5, 0.9])
def test_the_share_is_dropped_in_every_row_and_column(rate: float) -> None:
    (key,) = keys(987_654)
    dropped = ~kept(torch.zeros(1000, 1000), key, rate)
    spread = (rate * (1 - rate)) ** 0.5
    assert abs(dropped.float().mean().item() - rate) < 5 * spread / 1000
    for dim in (0, 1):
        shares = dropped.float().mean(dim)
        assert abs(shares.std().item() / (spread / 1000**0.5) - 1) < 0.15
        assert (shares - rate).abs().max().item() < 5.5 * spread / 1000**0.5


def test_two_keys_drop_independently() -> None:
    one, other = keys(128, 1_000_064)
    x = torch.zeros(1000, 1000)
    both = (~kept(x, one, 0.1) & ~kept(x, other, 0.1)).float().mean().item()
    assert abs(both - 0.01) < 0.0006


def test_the_key_alone_decides() -> None:
    one, same, other = keys(5, 5, 6)
    x = torch.zeros(64, 64)
    assert kept(x, one, 0.5).equal(kept(x, same, 0.5))
    assert not kept(x, one, 0.5).equal(kept(x, other, 0.5))


def compiled_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)


@pytest.mark.parametrize("compiled", [False, True])
def test_what_is_left_keeps_the_mean_and_the_seed_decides(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if compiled:
        compiled_like(monkeypatch)
    part, x = Dropout(0.1), torch.ones(500, 500, requires_grad=True)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(part(x))
    assert found[0].equal(found[1])
    assert not found[0].equal(found[2])
    assert abs(found[0].mean().item() - 1) < 0.005
    assert sorted(found[0].unique().tolist()) == pytest.approx([0, 1 / 0.9])
    (gradient,) = torch.autograd.grad(found[0].sum(), x)
    assert gradient.equal(found[0])  # d(mask * x * c)/dx at x = 1


@pytest.mark.no_cover
@pytest.mark.skipif(not CAN_COMPILE, reason="torch compiles with g++ and Python's headers")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, of its own parts
def test_compiled_code_drops_the_same_forwards_and_backwards() -> None:
    two = torch.compile(nn.Sequential(Dropout(0.1), Dropout(0.1)))
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        x = torch.ones(64, 64, requires_grad=True)
        found.append(two(x))
        found[-1].sum().backward()
        assert x.grad is not None
        torch.testing.assert_close(x.grad, found[-1])  # d(mask * x * c)/dx at x = 1
    assert found[0].equal(found[1])
    assert not found[0].equal(found[2])
    assert abs((found[0] == 0).float().mean().item() - 0.19) < 0.025  # not 0.1: the two do not drop the same


@pytest.mark.parametrize("compiled", [False, True])
def test_evaluation_drops_nothing(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if compiled:
        compiled_like(monkeypatch)
    x = torch.randn(4, 4)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_a_norm_computes_in_float32_and_gives_the_format_of_products() -> None:
    part, x = Norm(16), torch.randn(3, 16)
    plain = F.layer_norm(x, (16,), part.weight, part.bias)
    assert part(x).equal(plain)
    with torch.autocast("cpu", torch.bfloat16):
        halved = part(x)
    assert halved.dtype == torch.bfloat16
    assert halved.equal(plain.to(torch.bfloat16))


@pytest.mark.parametrize("bias", ["all", "none"])
def test_a_gated_layer_is_gelu_of_one_half_times_the_other(bias: str) -> None:
    torch.manual_seed(0)
    part = FeedForward(encoder_config("modern", "nano", vocabulary_size=9, bias=bias))
    if part.up.bias is not None:
        nn.init.normal_(part.up.bias)
    x = torch.randn(2, 5, 32)
    value, gate = part.up(x).chunk(2, dim=-1)
    torch.testing.assert_close(part(x), part.down(F.gelu(value) * gate))

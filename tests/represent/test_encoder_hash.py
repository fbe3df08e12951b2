"""The hash of an encoder's weights: it stands for their bytes, is computed once, and is never out of date."""

from __future__ import annotations

import hashlib
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch import nn

from isoglot.represent import encoder_hash as room
from isoglot.represent.encoder_hash import encoder_hash, hashing


class Weights(nn.Module):
    """Tensors of several kinds, as a state that is hashed."""

    device = torch.device("cpu")

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.one = nn.Parameter(torch.randn(5, 4, generator=generator))
        self.short = nn.Parameter(torch.randn(9, generator=generator).to(torch.bfloat16))
        self.register_buffer("odd", torch.arange(7, dtype=torch.uint8)[1:])
        self.register_buffer("none", torch.zeros(0, 3))
        self.register_buffer("number", torch.tensor(3))


def hashed(module: Any) -> str | None:
    return encoder_hash(module)


def plainly(module: nn.Module) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(bytes(tensor.contiguous().flatten().view(torch.uint8).tolist()))
    return digest.hexdigest()


def through_data(module: Weights) -> None:
    module.one.data[2, 1] += 1


def through_numpy(module: Weights) -> None:
    module.one.detach().numpy()[0, 0] = 7


def in_inference_mode(module: Weights) -> None:
    with torch.inference_mode():
        module.one[1].zero_()


def rows_change_places(module: Weights) -> None:
    with torch.no_grad():
        module.one[:2] = module.one[:2].flip(0).clone()


def a_half(module: Weights) -> None:
    with torch.no_grad():
        module.short[8] += 1


def another_tensor(module: Weights) -> None:
    module.one = nn.Parameter(module.one.detach() * 2)


def cast(module: Weights) -> None:
    module.to(torch.bfloat16)


@pytest.mark.parametrize(
    "change", [through_data, through_numpy, in_inference_mode, rows_change_places, a_half, another_tensor, cast]
)
def test_every_change_is_seen(change):
    module = Weights()
    before = hashed(module)
    assert before == plainly(module)
    change(module)
    assert hashed(module) == plainly(module) != before


def test_the_same_weights_are_hashed_once(monkeypatch):
    module: Any = Weights()
    sha256 = Mock(side_effect=room._sha256)
    monkeypatch.setattr(room, "_sha256", sha256)
    found = {hashed(module) for _ in range(3)}
    with hashing(module) as coming:
        found.add(coming.result())
    assert found == {plainly(module)}
    assert sha256.call_count == 1


def test_weights_made_in_inference_mode_are_no_exception():
    with torch.inference_mode():
        module = Weights()
    before = hashed(module)
    with torch.inference_mode():
        module.one[1].zero_()
    assert hashed(module) == plainly(module) != before


def test_what_is_no_module_has_none():
    assert encoder_hash(object()) is None  # type: ignore[arg-type]

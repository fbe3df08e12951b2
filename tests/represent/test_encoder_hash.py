"""The hash of an encoder's weights: it stands for their bytes, is computed once, and is never out of date."""

from __future__ import annotations

import hashlib
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from isoglot.represent import encoder_hash as room
from isoglot.represent.encoder_hash import encoder_hash, hashing, weighted_sum


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
    module.one.data[[0, 1]] = module.one.data[[1, 0]].clone()


def numbers_change_places(module: Weights) -> None:
    module.one.data[0, [0, 2]] = module.one.data[0, [2, 0]].clone()


def odd_signs(module: Weights) -> None:
    module.one.data[:, 1::2] *= -1


def even_signs(module: Weights) -> None:
    module.one.data[:2, ::2] *= -1


def a_short_one(module: Weights) -> None:
    with torch.no_grad():
        module.short[8] += 1


def another_tensor(module: Weights) -> None:
    module.one = nn.Parameter(module.one.detach() * 2)


def another_shape(module: Weights) -> None:
    module.one = nn.Parameter(module.one.detach().reshape(4, 5))


def cast(module: Weights) -> None:
    module.to(torch.bfloat16)


CHANGES = [
    through_data,
    through_numpy,
    in_inference_mode,
    rows_change_places,
    numbers_change_places,
    odd_signs,
    even_signs,
    a_short_one,
    another_tensor,
    another_shape,
    cast,
]


@pytest.mark.parametrize("summed", [False, True], ids=["as on the CPU", "as on a GPU"])
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_seen(change, summed, monkeypatch):
    if summed:
        monkeypatch.setattr(room, "_checksum", weighted_sum)
    module = Weights()
    before = hashed(module)
    assert before == plainly(module)
    change(module)
    assert hashed(module) == plainly(module) != before


@given(st.data(), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=30, unique=True), st.integers(1, 9))
def test_sums_see_words_that_change_or_change_places(data, words, part):
    one, other = data.draw(st.lists(st.integers(0, len(words) - 1), min_size=2, max_size=2, unique=True))
    changed, exchanged = list(words), list(words)
    changed[one] ^= 1 << data.draw(st.integers(0, 62))
    exchanged[one], exchanged[other] = words[other], words[one]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_PART", part)
        sums = [int(weighted_sum(torch.tensor(found))) for found in (words, changed, exchanged)]
        patch.setattr(room, "_PART", 100)
        whole = int(weighted_sum(torch.tensor(words)))
    assert sums[0] == whole  # whatever the parts
    assert whole not in sums[1:]


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

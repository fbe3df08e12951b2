"""Attention over short rows: the plain twin against torch's own, and the kernels against the twin where there is a GPU."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

from isoglot.model.kernels.short_attention import (
    BACKWARD,
    FORWARD,
    HAS_TRITON,
    SHAPES,
    is_supported,
    kept,
    plain_attention,
    short_attention,
)
from isoglot.model.modules import rotated, rotation

needs_gpu = pytest.mark.skipif(not (HAS_TRITON and torch.cuda.is_available()), reason="needs CUDA and Triton")


def packed(
    rows: int = 2,
    tokens: int = 11,
    heads: int = 3,
    size: int = 32,
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
) -> torch.Tensor:
    generator = torch.Generator().manual_seed(tokens)
    return torch.randn(rows, tokens, 3, heads, size, generator=generator, dtype=torch.float64).to(device, dtype)


def of_torch(qkv: torch.Tensor, turn: torch.Tensor | None = None) -> torch.Tensor:
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    if turn is not None:
        q, k = rotated(q, turn), rotated(k, turn)
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def test_without_dropout_it_is_torchs():
    qkv = packed().requires_grad_()
    twin = qkv.detach().clone().requires_grad_()
    ours, theirs = short_attention(qkv, 3), of_torch(twin)
    torch.testing.assert_close(ours, theirs)
    weights = torch.linspace(-1, 1, ours.numel(), dtype=ours.dtype).view(ours.shape)
    (ours * weights).sum().backward()
    (theirs * weights).sum().backward()
    torch.testing.assert_close(qkv.grad, twin.grad)


def test_turns_are_those_of_the_blocks():
    qkv = packed()
    turn = rotation(torch.arange(11), 32, 10_000.0).double()
    torch.testing.assert_close(short_attention(qkv, 3, turn=turn), of_torch(qkv, turn))
    torch.testing.assert_close(short_attention(qkv, 3, turn=turn[..., :16]), of_torch(qkv, turn))


def test_the_projection_comes_as_it_is():
    qkv = packed()
    assert torch.equal(short_attention(qkv.flatten(2), 3), short_attention(qkv, 3))


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_keeps_its_share_everywhere(rate):
    stays = kept(8, 4, 101, torch.tensor(-7, dtype=torch.int32), rate).double()
    spread = (rate * (1 - rate)) ** 0.5
    assert stays.shape == (8, 4, 101, 101)
    assert abs(stays.mean() - (1 - rate)) < 4 * spread / stays.numel() ** 0.5
    for way in range(4):  # along rows, heads, queries, keys
        means = stays.transpose(0, way).flatten(1).mean(1)
        assert (means - (1 - rate)).abs().max() < 5 * spread / (stays.numel() / len(means)) ** 0.5
    centered = stays - stays.mean()
    for one, other in ((centered[..., 1:], centered[..., :-1]), (centered[..., 1:, :], centered[..., :-1, :])):
        assert abs((one * other).mean()) < 5 * spread**2 / stays.numel() ** 0.5  # neighbors know nothing of each other


def test_dropout_is_of_the_key():
    qkv, key = packed(), torch.tensor(3, dtype=torch.int32)
    one = short_attention(qkv, 3, dropout=0.3, key=key)
    assert torch.equal(one, short_attention(qkv, 3, dropout=0.3, key=key))
    assert not torch.equal(one, short_attention(qkv, 3, dropout=0.3, key=key + 1))
    torch.manual_seed(0)
    drawn = short_attention(qkv, 3, dropout=0.3)
    assert not torch.equal(drawn, short_attention(qkv, 3, dropout=0.3))
    torch.manual_seed(0)
    assert torch.equal(drawn, short_attention(qkv, 3, dropout=0.3))


def test_dropout_changes_nothing_on_average():
    qkv = packed(rows=1, heads=1)
    draws = [short_attention(qkv, 1, dropout=0.2, key=torch.tensor(i * 7919, dtype=torch.int32)) for i in range(2000)]
    assert (torch.stack(draws).mean(0) - short_attention(qkv, 1)).abs().max() < 0.1


def test_dropout_needs_a_key():
    with pytest.raises(ValueError, match="dropout needs a key"):
        plain_attention(packed(), 3, dropout=0.1)


def test_no_kernels_on_a_cpu():
    assert not is_supported(packed(dtype=torch.bfloat16, size=64), 3)


def test_a_compiler_knows_the_shapes():
    with FakeTensorMode():
        qkv = torch.empty(4, 100, 3, 6, 64, dtype=torch.bfloat16, requires_grad=True)
        seen, sums = torch.ops.isoglot.short_attention(qkv, 0.1, torch.empty((), dtype=torch.int32), None)
        assert (seen.shape, seen.dtype) == ((4, 100, 384), torch.bfloat16)
        assert (sums.shape, sums.dtype) == ((4, 6, 100), torch.float32)
        seen.sum().backward()
        assert qkv.grad is not None
        assert qkv.grad.shape == qkv.shape
        assert qkv.grad.is_contiguous()


def test_every_length_has_tiles():
    lengths = [16, 32, 64, 128, 256, 512]
    assert list(FORWARD) == list(BACKWARD) == lengths
    for length in lengths:
        assert length % FORWARD[length].queries == length % FORWARD[length].keys == length % BACKWARD[length].keys == 0


@needs_gpu
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.1])
@pytest.mark.parametrize(("tokens", "size"), SHAPES)
def test_kernels_equal_their_twin(tokens, size, rate, turned):
    qkv = packed(3, tokens, 4, size, torch.bfloat16, "cuda")
    if not is_supported(qkv, 4):
        pytest.skip("needs a newer GPU")
    turn = rotation(torch.arange(tokens, device="cuda"), size, 10_000.0) if turned else None
    key = torch.tensor(12345, dtype=torch.int32, device="cuda")
    ours, theirs = qkv.clone().requires_grad_(), qkv.double().requires_grad_()
    seen = short_attention(ours, 4, dropout=rate, key=key, turn=turn)
    expected = plain_attention(theirs, 4, dropout=rate, key=key, turn=None if turn is None else turn.double())
    weights = torch.randn(seen.shape, device="cuda", dtype=torch.bfloat16)
    seen.backward(weights)
    expected.backward(weights.double())
    assert ours.grad is not None
    assert theirs.grad is not None
    pairs = [(seen, expected), *((ours.grad[:, :, i], theirs.grad[:, :, i]) for i in range(3))]
    assert all((one.double() - other).norm() < 1e-2 * other.norm() for one, other in pairs)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

from isoglot.compare import cka, judge, placed, random_encoder_like, without_top
from isoglot.model import Batch, Encoder, HookedEncoder, encoder_config, encoder_from_hf
from isoglot.model.protocol import EncoderLike
from tests.errors import raises

PLACES: dict[str, Any] = {"max_position_embeddings": 40, "vocab_size": 30}
BERT: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}


def ours() -> Encoder:
    config = encoder_config("paper", "nano", vocabulary_size=30, languages=("en", "fr"), plan="sep-emb+l1")
    members = {"en": np.arange(20), "fr": np.concatenate([np.arange(5), np.arange(20, 30)])}
    return Encoder(config, members=members, seed=0)


def imported() -> Encoder:
    model: Any = hf.BertForMaskedLM
    return encoder_from_hf(model(hf.BertConfig(**BERT, **PLACES)))


def wrapped() -> HookedEncoder:
    config = hf.DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=48, **PLACES)
    return HookedEncoder(hf.DistilBertForMaskedLM(config))


@pytest.fixture(params=[ours, imported, wrapped], ids=lambda build: build.__name__)
def trained(request: pytest.FixtureRequest) -> Any:
    """An encoder far from its initial values."""
    torch.manual_seed(0)
    encoder = request.param()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.3)
    return encoder.eval()


@torch.no_grad()
def pooled(encoder: Any, language: str = "en") -> np.ndarray:
    """The last layer's means over 300 random sentences of 8 tokens."""
    ids_BT = torch.randint(5, 20, (300, 8), generator=torch.Generator().manual_seed(1))
    all_BT = torch.ones_like(ids_BT, dtype=torch.bool)
    batch = Batch(ids_BT, all_BT, all_BT)
    last: torch.Tensor = encoder.layers(batch, language)[-1]
    return last.mean(dim=1).numpy()


def test_an_untrained_encoder_of_the_same_shape(trained: Any):
    before = torch.get_rng_state()
    other: Any = random_encoder_like(trained, seed=1)
    assert torch.equal(torch.get_rng_state(), before)  # nobody else's chance is changed
    assert type(other) is type(trained)
    assert not other.training
    assert (other.hidden_size, other.depth, other.max_length) == (
        trained.hidden_size,
        trained.depth,
        trained.max_length,
    )
    theirs, mine = trained.state_dict(), other.state_dict()
    assert {name: tensor.shape for name, tensor in mine.items()} == {name: t.shape for name, t in theirs.items()}
    same = [n for n, p in other.named_parameters() if p.dim() > 1 and torch.equal(p, theirs[n])]
    assert same == []
    weights = torch.cat([p.flatten() for p in other.parameters() if p.dim() > 1])
    assert weights.detach().std().item() == pytest.approx(
        0.02, rel=0.1
    )  # as BERT begins, not as the trained one went on


def test_the_seed_decides(trained: Any):
    one, again, other = (pooled(random_encoder_like(trained, seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(one, other)


def test_a_floor_is_above_0_and_below_1(trained: Any):
    """An untrained encoder knows which tokens a sentence has: that is why a floor is needed."""
    found = judge(pooled(trained), pooled(random_encoder_like(trained)))
    assert found.above_chance
    assert found.high < 0.99


def test_private_parts_stay_private():
    encoder = ours()
    other: Any = random_encoder_like(encoder, seed=3)
    for code, ids in encoder.member_ids().items():
        np.testing.assert_array_equal(other.member_ids()[code], ids)
    assert not np.allclose(pooled(other, "en"), pooled(other, "fr"))


def test_an_encoder_of_another_kind():
    class Strange(EncoderLike):
        pass

    with raises("config.not-supported", "Strange"):
        random_encoder_like(Strange())


def test_places():
    assert placed(0.5, 0.5, 0.9) == 0
    assert placed(0.9, 0.5, 0.9) == 1
    assert placed(0.4, 0.5, 0.9) == pytest.approx(-0.25)
    assert placed(0.3, 0.9, 0.1, kind="distance") == pytest.approx(0.75)
    assert placed(0.5, 0.9, 0.1) is None
    assert placed(0.5, 0.1, 0.9, kind="distance") is None


@pytest.mark.parametrize("shape", [(50, 6), (8, 20)])
def test_without_top_components(rng: np.random.Generator, shape: tuple[int, int]):
    X = rng.normal(size=shape) * np.geomspace(100, 1, shape[1]) + 7
    left = without_top(X, 2)
    center = X - X.mean(axis=0)
    top = np.linalg.svd(center, full_matrices=False)[2][:2]
    np.testing.assert_allclose(left, X - X @ top.T @ top, atol=1e-9)
    np.testing.assert_allclose(left @ top.T, 0, atol=1e-9)  # nothing along them, not even of the mean
    values = np.linalg.svd(left - left.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(values[:3], np.linalg.svd(center, compute_uv=False)[2:5], rtol=1e-8)


@pytest.mark.parametrize("shape", [(60, 3), (5, 8)])
def test_the_mean_is_no_component(rng: np.random.Generator, shape: tuple[int, int]):
    """However far from the origin the rows are, it is how they differ that is taken out."""
    X = rng.normal(size=shape) * 0.01
    X[:, 0] += 10 * rng.permutation(shape[0])
    X[:, 1] += 1000
    left = without_top(X)
    assert left[:, 0].std() < 0.1
    assert left[:, 1].mean() == pytest.approx(1000, rel=1e-3)


def test_an_outlier_dimension_hides_what_the_rest_is(rng: np.random.Generator):
    X, Y = rng.normal(size=(2, 300, 10))
    X[:, 3] = Y[:, 5] = 100 * rng.normal(size=300)
    assert cka(X, Y) > 0.99
    assert abs(cka(without_top(X), without_top(Y), debiased=True)) < 0.05


def test_what_comes_in_goes_out(rng: np.random.Generator):
    X = torch.from_numpy(rng.normal(size=(9, 4))).float()
    assert without_top(X, 0) is X
    left = without_top(X, 1)
    assert isinstance(left, torch.Tensor)
    assert (left.dtype, left.shape) == (torch.float32, X.shape)
    assert without_top(X.numpy(), 1).dtype == np.float32
    for k in (-1, 4):
        with raises("config.invalid-value", k, 9, 4):
            without_top(X, k)
    with raises("input.not-finite", "2"):
        without_top(torch.where(torch.arange(9)[:, None] == 2, torch.nan, X))

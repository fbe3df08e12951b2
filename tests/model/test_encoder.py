"""The encoder: who gets gradient from whom, and what depends on nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from isoglot.model import Batch, Encoder, EncoderConfig, EncoderLike, encoder_config
from isoglot.model.config import SIZES, Preset
from isoglot.model.modules import ABSENT, aligned
from tests.errors import raises

LANGUAGES = ("en", "fr")
MEMBERS = {"en": np.arange(30), "fr": np.array([*range(5), *range(25, 50)])}
PLANS = [
    "default",
    "sep-emb",
    "sep-l1-1",
    "sep-emb+l1-1",
    "emb",
    "pos",
    "softmax",
    "transform",
    "emb,softmax",
    "1",
    "2",
    "1-2",
    "emb,pos,1-2,transform,softmax",
]


def build(plan: str = "default", preset: Preset = "paper", **changes) -> Encoder:
    changes = {"dropout": 0.0} | changes
    config = encoder_config(preset, "nano", vocabulary_size=50, languages=LANGUAGES, plan=plan, **changes)
    return Encoder(config, members=MEMBERS)


def rows(language: str = "en", count: int = 4, length: int = 10, seed: int = 0) -> torch.Tensor:
    chance = torch.Generator().manual_seed(seed)
    own = torch.from_numpy(MEMBERS[language][5:])
    return own[torch.randint(len(own), (count, length), generator=chance)]


def batch(ids_BT: torch.Tensor, lengths: list[int] | None = None) -> Batch:
    mask_BT = torch.ones_like(ids_BT, dtype=torch.bool)
    for row, length in enumerate(lengths or []):
        mask_BT[row, length:] = False
    return Batch(ids_BT, mask_BT, mask_BT, full=lengths is None)


def train_loss(encoder: Encoder, language: str) -> torch.Tensor:
    ids_BT = rows(language)
    at_BK = torch.tensor([[1, 4, 7]]).expand(len(ids_BT), -1)
    loss: torch.Tensor = encoder(ids_BT, at_BK, ids_BT.gather(1, at_BK), language)
    return loss


def expected_parts(plan: str, preset: Preset, encoder: Encoder, language: str) -> set[str]:
    """Worked out from the plan, not from the encoder's own answer."""
    private = encoder.config.sharing
    found = set()
    for name, _ in encoder.named_parameters():
        part, *rest = name.split(".")
        if part == "embedding":
            owner = {"tokens": "emb", "positions": "pos", "norm": "emb"}[rest[0]]
            is_private, holder = private.is_private(owner), rest[1]
        elif part == "blocks":
            is_private, holder = private.layer_is_private(int(rest[0]) + 1), rest[1]
        elif part == "final_norm":
            is_private, holder = private.layer_is_private(encoder.depth), rest[0]
        else:
            is_private, holder = private.is_private(rest[0]), rest[1]
        assert holder in (LANGUAGES if is_private else ("shared",)), name
        if holder in ("shared", language):
            found.add(name)
    return found


@pytest.mark.parametrize("preset", ["paper", "modern"])
@pytest.mark.parametrize("plan", PLANS)
def test_a_batch_reaches_the_shared_parts_and_its_languages_own_only(plan: str, preset: Preset):
    encoder = build(plan, preset)
    for language in LANGUAGES:
        encoder.zero_grad(set_to_none=True)
        train_loss(encoder, language).backward()
        reached = {name for name, parameter in encoder.named_parameters() if parameter.grad is not None}
        moved = {n for n, p in encoder.named_parameters() if p.grad is not None and bool(p.grad.abs().sum() > 0)}
        assert reached == moved == expected_parts(plan, preset, encoder, language)


@pytest.mark.parametrize("plan", ["default", "sep-emb", "emb", "softmax", "emb,softmax"])
def test_the_loss_is_the_softmax_over_what_the_plan_says(plan: str):
    encoder = build(plan).eval()
    ids_BT = rows("fr")
    at_BK = torch.tensor([[2, 5]]).expand(len(ids_BT), -1)
    scores = encoder.logits(encoder.layers(batch(ids_BT), "fr")[-1], "fr")
    chosen = scores.gather(1, at_BK[:, :, None].expand(-1, -1, 50)).double()
    wanted = -chosen.log_softmax(-1).gather(2, ids_BT.gather(1, at_BK)[:, :, None]).squeeze(2)
    hidden = encoder.hidden(ids_BT, "fr")
    found = encoder.loss(hidden, at_BK, ids_BT.gather(1, at_BK), "fr", reduction="none")
    torch.testing.assert_close(found.double(), wanted, atol=1e-5, rtol=0)
    outside = [index for index in range(50) if index not in MEMBERS["fr"]]
    if "softmax" in encoder.config.sharing.private:
        assert (scores[..., outside] == ABSENT).all()
    else:
        assert (scores > -100).all()


def test_a_position_without_target_counts_for_nothing():
    encoder = build("sep-emb").eval()
    hidden, ids_BT = encoder.hidden(rows("fr"), "fr"), rows("fr")
    at_BK = torch.tensor([[1, 2, 3]]).expand(4, -1)
    targets_BK = ids_BT.gather(1, at_BK).clone()
    wanted = encoder.loss(hidden, at_BK[:, :2], targets_BK[:, :2], "fr")
    targets_BK[:, 2] = -100
    torch.testing.assert_close(encoder.loss(hidden, at_BK, targets_BK, "fr"), wanted)


@pytest.mark.parametrize("most", [5, 6, 12])
def test_positions_without_target_can_be_left_out_of_the_softmax(most: int):
    """Five targets in three rows of four: with room for five or more, loss and gradients are those of all positions."""
    encoder, ids_BT = build("sep-emb"), rows("fr", count=3)
    at_BK = torch.tensor([[1, 4, 0, 0], [0, 0, 0, 0], [2, 3, 9, 0]])
    wanted_BK = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]], dtype=torch.bool)
    targets_BK = torch.where(wanted_BK, ids_BT.gather(1, at_BK), -100)
    found = []
    for limit in (None, most):
        encoder.zero_grad(set_to_none=True)
        loss = encoder(ids_BT, at_BK, targets_BK, "fr", most=limit)
        loss.backward()
        gradients = {name: p.grad for name, p in encoder.named_parameters() if p.grad is not None}
        found.append({"loss": loss.detach(), **gradients})
    assert found[0].keys() == found[1].keys()
    for name, value in found[0].items():
        torch.testing.assert_close(found[1][name], value, atol=1e-6, rtol=1e-5, msg=name)


def test_targets_beyond_the_most_are_left_out():
    encoder, ids_BT = build().eval(), rows("en", count=2)
    at_BK = torch.tensor([[1, 4], [2, 3]])
    targets_BK = ids_BT.gather(1, at_BK)
    shorter_BK = torch.tensor([[1, 1], [1, 0]], dtype=torch.bool)
    wanted = encoder(ids_BT, at_BK, torch.where(shorter_BK, targets_BK, -100))
    torch.testing.assert_close(encoder(ids_BT, at_BK, targets_BK, most=3), wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_an_aligned_softmax_has_the_same_probabilities_and_gradients(dtype: torch.dtype):
    weight_VD = torch.randn(70, 8, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
    bias_V = torch.linspace(-1, 1, 70).to(dtype).requires_grad_()
    x_ND, targets_N = torch.ones(3, 8, dtype=dtype), torch.tensor([0, 69, -100])
    found = []
    for parts in ((weight_VD, bias_V), aligned(weight_VD, bias_V)):
        scores = torch.nn.functional.linear(x_ND, *parts).float()
        loss = torch.nn.functional.cross_entropy(scores, targets_N)
        found.append((loss.detach(), *torch.autograd.grad(loss, (weight_VD, bias_V))))
    assert aligned(weight_VD, bias_V)[0].shape == (128, 8)
    for mine, wanted in zip(found[1], found[0], strict=True):
        torch.testing.assert_close(mine, wanted)
    assert aligned(weight_VD[:64], bias_V[:64])[0].shape == (64, 8)


def test_a_private_softmax_is_tied_to_the_private_embeddings():
    encoder = build("sep-emb")
    assert encoder.head.weight("fr") is encoder.embedding.tokens.of("fr").weight
    assert not any(
        name.startswith("head.softmax") and name.endswith("weight") for name, _ in encoder.named_parameters()
    )
    assert len(encoder.embedding.tokens.of("fr").weight) == len(MEMBERS["fr"])


def test_a_private_softmax_over_shared_embeddings_is_tied_to_the_languages_rows():
    encoder = build("softmax")
    ids = torch.from_numpy(encoder.member_ids()["fr"])
    assert torch.equal(encoder.head.weight("fr"), encoder.embedding.tokens.of(None).weight[ids])


def test_a_shared_softmax_over_private_embeddings_has_its_own_matrix():
    assert build("emb").head.weight("fr").shape == (50, 32)
    assert "head.softmax.shared.weight" in dict(build("emb").named_parameters())


def test_an_id_of_another_language_is_unknown_to_private_embeddings():
    encoder = build("emb").eval()
    foreign = torch.tensor([[10, 11]])
    unknown = torch.tensor([[1, 1]])
    torch.testing.assert_close(encoder.embedding(foreign, "fr"), encoder.embedding(unknown, "fr"))


@pytest.mark.parametrize("preset", ["paper", "modern"])
def test_padding_changes_nothing(preset: Preset):
    encoder = build(preset=preset).eval()
    ids_BT = rows(count=2, length=10)
    padded = encoder.layers(batch(ids_BT, [10, 6]))
    alone = encoder.layers(batch(ids_BT[1:, :6]))
    for one, other in zip(padded, alone, strict=True):
        torch.testing.assert_close(one[1:, :6], other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("preset", ["paper", "modern"])
@pytest.mark.parametrize("plan", ["default", "1", "2"])
def test_going_on_from_any_layer_gives_the_same(plan: str, preset: Preset):
    encoder = build(plan, preset).eval()
    one = batch(rows("fr"))
    found = encoder.layers(one, "fr")
    assert len(found) == encoder.depth + 1
    for layer, hidden in enumerate(found):
        torch.testing.assert_close(encoder.run_from(layer, hidden, one, "fr"), found[-1])
        torch.testing.assert_close(encoder.run_from(0, found[0], one, "fr", to=layer), hidden)
    torch.testing.assert_close(encoder.hidden(one.ids_BT, "fr"), found[-1])


def test_local_layers_see_their_neighborhood_only():
    encoder = build(preset="modern", layers=1, local_window=4, global_every=2).eval()
    everywhere = build(preset="modern", layers=3, local_window=4, global_every=3).eval()
    ids_BT, changed_BT = rows(count=1, length=12), rows(count=1, length=12)
    changed_BT[0, 0] = 7 if int(ids_BT[0, 0]) != 7 else 8
    first = everywhere.run_from(1, everywhere.layers(batch(ids_BT))[0], batch(ids_BT), to=2)
    other = everywhere.run_from(1, everywhere.layers(batch(changed_BT))[0], batch(ids_BT), to=2)
    differs_T = (first - other).abs().amax(-1)[0] > 0
    assert differs_T.tolist() == [True] * 3 + [False] * 9
    assert not encoder.config.is_local(0)


def test_the_same_part_starts_the_same_in_every_plan():
    shared, separated = dict(build("default").named_parameters()), dict(build("1").named_parameters())
    common = shared.keys() & separated.keys()
    assert "blocks.1.shared.attention.qkv.weight" in common
    assert all(torch.equal(shared[name], separated[name]) for name in common)
    assert not torch.equal(separated["blocks.0.en.attention.qkv.weight"], separated["blocks.0.fr.attention.qkv.weight"])


def test_seeds_are_twins_apart():
    config = encoder_config("paper", "nano", vocabulary_size=50)
    one, same, other = (Encoder(config, seed=seed) for seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.embedding.tokens.of(None).weight, other.embedding.tokens.of(None).weight)


def test_language_vectors_are_added_by_row_or_by_token():
    encoder = build(language_embeddings="added").eval()
    ids_BT = rows()
    by_row = encoder.hidden(ids_BT, "fr")
    by_token = encoder.hidden(ids_BT, languages_BT=torch.ones_like(ids_BT))
    torch.testing.assert_close(by_row, by_token)
    assert not torch.allclose(by_row, encoder.hidden(ids_BT, "en"))
    with raises("config.unknown-language", "'de'"):
        encoder.hidden(ids_BT, "de")


def test_a_language_vector_moves_with_its_own_language_only():
    encoder = build(language_embeddings="added")
    train_loss(encoder, "fr").backward()
    grads = {name: parameter.grad for name, parameter in encoder.named_parameters() if "languages" in name}
    assert grads["embedding.languages.en"] is None
    assert grads["embedding.languages.fr"] is not None


@pytest.mark.parametrize("preset", ["paper", "modern"])
def test_places_may_be_given_token_by_token(preset: Preset):
    encoder = build(preset=preset).eval()
    ids_BT = rows(count=2, length=6)
    columns_BT = torch.arange(6).expand(2, -1)
    torch.testing.assert_close(encoder.hidden(ids_BT, positions_BT=columns_BT), encoder.hidden(ids_BT))
    again_BT = torch.tensor([[0, 1, 2, 0, 1, 2]]).expand(2, -1)
    assert not torch.allclose(encoder.hidden(ids_BT, positions_BT=again_BT), encoder.hidden(ids_BT))
    # Rows whose halves are the same say the same twice when places begin anew.
    twice_BT = torch.cat([ids_BT[:, :3], ids_BT[:, :3]], dim=1)
    found = encoder.hidden(twice_BT, positions_BT=again_BT)
    torch.testing.assert_close(found[:, :3], found[:, 3:])


def test_base_is_the_first_papers_encoder_and_base12_the_seconds():
    one = encoder_config("paper", "base", vocabulary_size=80_000)
    assert (one.layers, one.heads, one.hidden_size, one.intermediate_size, one.dropout) == (8, 12, 768, 3072, 0.1)
    two = encoder_config("paper", "base12", vocabulary_size=119_547)
    assert (two.layers, two.heads, two.hidden_size, two.intermediate_size, two.max_length) == (12, 12, 768, 3072, 512)


def test_sizes_grow():
    sizes = [
        sum(p.numel() for p in Encoder(encoder_config("modern", size, vocabulary_size=100), seed=None).parameters())
        for size in ("nano", "micro", "mini", "small", "base", "base12")
    ]
    assert sizes == sorted(sizes)
    assert set(SIZES) == {"nano", "micro", "mini", "small", "base", "base12"}


def test_it_is_an_encoder_as_every_analysis_takes_it():
    encoder: EncoderLike = build()  # the type checker is the test
    assert (encoder.hidden_size, encoder.depth, encoder.max_length, encoder.device.type) == (32, 2, 64, "cpu")
    with raises("config.not-supported"):
        _ = build().vocabulary


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"heads": 3}, ("config.invalid-value", "hidden_size", "32", "3")),
        ({"plan": "7"}, ("config.malformed-option", "7")),
        ({"languages": (), "plan": "1"}, ("config.invalid-value", "'languages'")),
        ({"languages": ("en", "eng")}, ("config.invalid-value", "'en'", "'eng'")),
        ({"colour": 1}, ("config.unknown-key", "'colour'")),
    ],
)
def test_what_cannot_be_built(changes: dict[str, Any], expected: tuple[str, ...]):
    values: dict[str, Any] = {"vocabulary_size": 50, "languages": LANGUAGES} | changes
    with raises(*expected):
        encoder_config("paper", "nano", **values)


def test_what_the_language_must_be():
    encoder = build("1").eval()
    with raises("config.missing-option"):
        encoder.layers(batch(rows()))
    with raises("config.unknown-language", "'de'"):
        encoder.layers(batch(rows()), "de")
    assert len(encoder.layers(batch(rows()), "eng")) == 3


def test_rows_that_are_too_long():
    with raises("config.invalid-value", 65, 64):
        build().hidden(rows(length=65))


def test_no_way_back():
    encoder = build().eval()
    with raises("config.unknown-layer", 2, 1):
        encoder.run_from(2, torch.zeros(1, 3, 32), batch(rows(count=1, length=3)), to=1)


def test_private_tables_need_to_know_the_ids():
    config = EncoderConfig(
        layers=1, heads=1, hidden_size=4, intermediate_size=4, vocabulary_size=9, languages=("en", "fr"), plan="softmax"
    )
    with raises("config.missing-data"):
        Encoder(config)


@pytest.mark.parametrize("plan", ["default", "sep-emb", "transform"])
def test_a_head_without_a_transform_is_the_softmax_alone(plan: str):
    """XLM's head: scores are the last layer times the embeddings, plus a bias, and nothing else has weights."""
    encoder = build(plan, head_transform="none").eval()
    assert not [name for name, _ in encoder.named_parameters() if "transform" in name]
    hidden = torch.randn(3, encoder.hidden_size)
    ids = torch.from_numpy(MEMBERS["fr"])
    table = encoder.embedding.tokens.of("fr").weight
    rows = table if plan == "sep-emb" else table[ids]
    bias = encoder.head.softmax.of("fr").bias
    expected = hidden @ rows.T + (bias if plan == "sep-emb" else bias[ids])
    assert torch.allclose(encoder.logits(hidden, "fr")[:, ids], expected, atol=1e-6)


def test_a_plan_can_separate_the_transform():
    names = {name for name, _ in build("transform").named_parameters() if "transform" in name}
    assert {name.split(".")[2] for name in names} == {"en", "fr"}
    assert {name.split(".")[2] for name, _ in build().named_parameters() if "transform" in name} == {"shared"}


@pytest.mark.parametrize("preset", ["paper", "modern"])
def test_the_longest_row_is_read_and_a_longer_one_is_refused(preset: Preset):
    encoder = build(preset=preset)
    longest = encoder.config.max_length
    assert encoder.embedding(rows(count=1, length=longest), "en").shape[1] == longest
    with raises("config.invalid-value", longest + 1, longest):
        encoder.embedding(rows(count=1, length=longest + 1), "en")

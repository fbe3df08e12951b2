"""Shifts inside encoders: what they promise, and that nothing is left of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.model import EncoderLike, make_batch
from isoglot.represent import extract
from isoglot.steer import LanguageMeans, ShiftOptions, make_shift, shift
from isoglot.steer.shifts import Shift, gaussian_transport
from tests.errors import raises

KINDS: tuple[Any, ...] = ("mean", "norm-matched", "transport")


@pytest.fixture
def batch(encoder: EncoderLike, texts):
    return make_batch(encoder.vocabulary, texts["en"], "en", length=encoder.max_length)


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_alpha_0_changes_nothing_bit_for_bit(encoder: EncoderLike, means: LanguageMeans, batch, kind):
    before = encoder.layers(batch, "en")
    for options in ({}, {"positions": "tokens"}, {"shared": [7, 8], "shared_alpha": 0.0}):
        with shift(encoder, means, "en", "fr", alpha=0, layers="all", kind=kind, **options):
            found = encoder.layers(batch, "en")
            assert torch.equal(encoder.logits(found[-1], "en"), encoder.logits(before[-1], "en"))
        assert all(torch.equal(one, two) for one, two in zip(found, before, strict=True))
        change = make_shift(encoder, means, "en", "fr", 1, alpha=0, options=ShiftOptions(kind=kind, **options))
        assert change(before[1], batch.ids_BT) is before[1]


@torch.no_grad()
def test_there_and_back_restores(encoder: EncoderLike, means: LanguageMeans, batch):
    before = encoder.layers(batch, "en")
    for layer in means.layers:
        for alpha in (-1.0, 0.5, 1.0, 3.0):
            with (
                shift(encoder, means, "en", "fr", alpha=alpha, layers=layer),
                shift(encoder, means, "fr", "en", alpha=alpha, layers=layer),
            ):
                found = encoder.layers(batch, "en")
            for one, two in zip(found, before, strict=True):
                torch.testing.assert_close(one[batch.mask_BT], two[batch.mask_BT], atol=1e-5, rtol=1e-5)
    assert all(torch.equal(one, two) for one, two in zip(encoder.layers(batch, "en"), before, strict=True))


@torch.no_grad()
def test_a_shift_is_what_is_done_by_hand(encoder: EncoderLike, means: LanguageMeans, batch):
    before = encoder.layers(batch, "en")
    at = batch.mask_BT
    for layer in means.layers:
        difference = torch.from_numpy(means.difference("en", "fr", layer)).float()
        wanted = encoder.run_from(layer, before[layer] + 2 * difference, batch, "en")
        with shift(encoder, means, "en", "fr", alpha=2, layers=layer):
            found = encoder.layers(batch, "en")
            torch.testing.assert_close(found[-1][at], wanted[at], atol=1e-5, rtol=1e-5)
            assert all(torch.equal(one, two) for one, two in zip(found[:layer], before[:layer], strict=True))
        change = make_shift(encoder, means, "en", "fr", layer).with_alpha(2)
        assert torch.equal(change(before[layer], batch.ids_BT), found[layer])
        assert torch.equal(encoder.run_from(layer, change(before[layer], batch.ids_BT), batch, "en")[at], found[-1][at])


@torch.no_grad()
def test_several_layers_have_the_same_alpha(encoder: EncoderLike, means: LanguageMeans, batch):
    with shift(encoder, means, "en", "fr", alpha=0.7, layers=[0, -1]):
        found = encoder.layers(batch, "en")
    with (
        shift(encoder, means, "en", "fr", alpha=0.7, layers=0),
        shift(encoder, means, "en", "fr", alpha=0.7, layers=encoder.depth),
    ):
        again = encoder.layers(batch, "en")
    assert all(torch.equal(one, two) for one, two in zip(found, again, strict=True))
    with shift(encoder, means, "en", "fr", alpha=2):
        found = encoder.layers(batch, "en")
    with shift(encoder, means, "en", "fr", alpha=2, layers=encoder.depth - 1):  # the last but one
        again = encoder.layers(batch, "en")
    assert all(torch.equal(one, two) for one, two in zip(found, again, strict=True))


def test_the_mean_of_the_source_becomes_the_targets(encoder: EncoderLike, means: LanguageMeans, texts):
    for layer in means.layers:
        with shift(encoder, means, "en", "fr", layers=layer):
            moved = LanguageMeans.fit(encoder, {"en": texts["en"]}, layers=[layer])
        np.testing.assert_allclose(moved.mean("en", layer), means.mean("fr", layer), atol=1e-5)
        np.testing.assert_allclose(moved.covariance("en", layer), means.covariance("en", layer), atol=1e-4)


@torch.no_grad()
def test_norm_matched_keeps_norms_and_turns_as_the_mean_shift_does(encoder: EncoderLike, means: LanguageMeans, batch):
    before = encoder.layers(batch, "en")[1]
    plain, matched = (
        make_shift(encoder, means, "en", "fr", 1, alpha=1.5, options=ShiftOptions(kind=kind))(before, batch.ids_BT)
        for kind in KINDS[:2]
    )
    torch.testing.assert_close(matched.norm(dim=-1), before.norm(dim=-1))
    torch.testing.assert_close(torch.cosine_similarity(plain, matched, dim=-1), torch.ones(batch.ids_BT.shape))
    assert not torch.allclose(plain, matched, atol=1e-4)
    zero = Shift("norm-matched", 1.0, torch.zeros(32))  # a token at the origin has no direction to be given a length
    assert torch.equal(zero(torch.zeros(1, 1, 32), torch.zeros(1, 1)), torch.zeros(1, 1, 32))


@torch.no_grad()
def test_shared_and_special_tokens_are_treated_apart(encoder: EncoderLike, means: LanguageMeans, batch):
    before, ids = encoder.layers(batch, "en")[1], batch.ids_BT
    shared = [int(ids[0, 1]), int(ids[1, 2])]
    special = torch.isin(ids, torch.tensor(list(encoder.vocabulary.special.values())))
    both = torch.isin(ids, torch.tensor(shared))
    for kind in KINDS:
        own, theirs = (
            make_shift(encoder, means, "en", "fr", 1, alpha=alpha, options=ShiftOptions(kind=kind))(before, ids)
            for alpha in (2.0, 0.5)
        )
        for positions in ("all", "tokens"):
            for shared_alpha in (0.0, 0.5):
                options = ShiftOptions(kind=kind, shared=shared, shared_alpha=shared_alpha, positions=positions)
                found = make_shift(encoder, means, "en", "fr", 1, alpha=2.0, options=options)(before, ids)
                wanted = torch.where(both[..., None], theirs if shared_alpha else before, own)
                if positions == "tokens":
                    wanted = torch.where(special[..., None], before, wanted)
                torch.testing.assert_close(found, wanted)
                assert torch.equal(found[both], before[both]) == (shared_alpha == 0)
        options = ShiftOptions(kind=kind, shared=shared, shared_alpha=0.5)
        only = make_shift(encoder, means, "en", "fr", 1, alpha=0, options=options)
        assert not only.nothing
        assert torch.equal(only(before, ids)[~both], before[~both])
        with raises("config.not-supported"):
            only.with_alpha(1)


# --- transport ---


@st.composite
def covariances(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(draw(st.integers(0, 9999)))
    width = draw(st.integers(1, 6))
    one, two = (chance.normal(size=(width, 3 * width)) * chance.uniform(0.1, 10, (width, 1)) for _ in range(2))
    return one @ one.T / (3 * width), two @ two.T / (3 * width)


@given(covariances())
def test_transport_moves_one_covariance_onto_the_other(pair: tuple[np.ndarray, np.ndarray]):
    A, B = pair
    T = gaussian_transport(A, B)
    np.testing.assert_allclose(T @ A @ T, B, atol=1e-6 * np.abs(B).max())
    np.testing.assert_array_equal(T, T.T)
    assert np.linalg.eigvalsh(T).min() > 0  # a gradient of a convex function, so the one that moves least (Brenier)
    np.testing.assert_allclose(gaussian_transport(B, A) @ T, np.eye(len(A)), atol=1e-5)
    np.testing.assert_allclose(gaussian_transport(A, A), np.eye(len(A)), atol=1e-6)
    # Its cost is the Bures distance, the least there is.
    cost = np.trace((T - np.eye(len(A))) @ A @ (T - np.eye(len(A))))
    values = np.linalg.eigvals(A @ B).real.clip(min=0)
    np.testing.assert_allclose(cost, np.trace(A) + np.trace(B) - 2 * np.sqrt(values).sum(), rtol=1e-5, atol=1e-6)


def test_transport_where_a_language_does_not_fill_the_space():
    chance = np.random.default_rng(1)
    flat = chance.normal(size=(50, 3)) @ chance.normal(size=(3, 6))
    other = chance.normal(size=(50, 6))
    A, B = np.cov(flat.T), np.cov(other.T)
    T = gaussian_transport(A, B)
    plane = np.linalg.svd(A)[0][:, :3] @ np.linalg.svd(A)[0][:, :3].T
    np.testing.assert_allclose(T @ A @ T, plane @ B @ plane, atol=1e-8)  # as far as the source reaches
    np.testing.assert_allclose(T @ (np.eye(6) - plane), np.eye(6) - plane, atol=1e-8)  # nothing else is touched
    back = gaussian_transport(B, A)
    np.testing.assert_allclose(back @ B @ back, A, atol=1e-8)
    np.testing.assert_array_equal(gaussian_transport(np.zeros((2, 2)), B[:2, :2]), np.eye(2))
    assert np.isfinite(gaussian_transport(A * 1e-20, B)).all()


def test_transport_on_the_way_there():
    """McCann's interpolation: the mean goes straight, and the spread from one to the other."""
    chance = np.random.default_rng(2)
    A, B = (np.cov((chance.normal(size=(90, 4)) @ chance.normal(size=(4, 4))).T) for _ in range(2))
    X = torch.from_numpy(chance.multivariate_normal(np.arange(4), A, 4000))[None]
    ids = torch.zeros(X.shape[:2], dtype=torch.int64)
    spread, center = np.cov(X[0].T.numpy()), X[0].mean(0)
    T = gaussian_transport(spread, B)
    move = Shift("transport", 1.0, torch.full((4,), 2.0, dtype=torch.float64), center, torch.from_numpy(T - np.eye(4)))
    for alpha in (-0.5, 0.0, 0.3, 1.0, 1.7):
        Y = move.with_alpha(alpha)(X, ids)[0].numpy()
        M = (1 - alpha) * np.eye(4) + alpha * T
        np.testing.assert_allclose(Y.mean(0), center.numpy() + 2 * alpha, atol=1e-9)
        np.testing.assert_allclose(np.cov(Y.T), M @ spread @ M, atol=1e-8)
    np.testing.assert_allclose(np.cov(move(X, ids)[0].T.numpy()), B, atol=1e-6)


def test_transport_inside_an_encoder_moves_mean_and_covariance(ours, small_texts):
    """On enough text for covariances of full rank."""
    files = {code: paths[0] for code, paths in small_texts.items()}
    means = LanguageMeans.fit(ours, files, layers=[1])
    with shift(ours, means, "en", "fr", layers=1, kind="transport"):
        moved = LanguageMeans.fit(ours, {"en": files["en"]}, layers=[1])
        with shift(ours, means, "fr", "en", layers=1, kind="transport"):
            back = LanguageMeans.fit(ours, {"en": files["en"]}, layers=[1])
    size = np.abs(means.covariance("fr", 1)).max()
    np.testing.assert_allclose(moved.mean("en", 1), means.mean("fr", 1), atol=1e-4)
    np.testing.assert_allclose(moved.covariance("en", 1), means.covariance("fr", 1), atol=1e-4 * size)
    np.testing.assert_allclose(back.covariance("en", 1), means.covariance("en", 1), atol=1e-4 * size)


# --- what is wrong ---


def test_bad_input_is_one_clear_line(ours, imported: EncoderLike, texts):
    means = LanguageMeans.fit(ours, texts, layers=[0, 1])
    wrong: tuple[tuple[dict[str, Any], str, object], ...] = (
        ({"target": "de"}, "config.unknown-name", "'de'"),
        ({"source": "de"}, "config.unknown-name", "'de'"),
        ({"layers": 7}, "config.unknown-layer", 7),
        ({"layers": 2}, "config.unknown-layer", 2),
        ({"layers": []}, "config.invalid-value", "layers"),
        ({"kind": "men"}, "config.unknown-name", "'men'"),
        ({"positions": "some"}, "config.unknown-name", "'some'"),
        ({"other_encoder": "x"}, "config.unknown-name", "'x'"),
        ({"alpha": float("nan")}, "config.invalid-value", "alpha = nan"),
        ({"shared_alpha": float("inf")}, "config.invalid-value", "shared_alpha = inf"),
        ({"shared": [3, 99_999]}, "config.unknown-name", 99999),
        ({"encoder": imported}, "config.other-encoder", "2, not 3"),
    )
    for options, code, value in wrong:
        arguments: dict[str, Any] = {"encoder": ours, "source": "en", "target": "fr", "layers": 1, **options}
        with raises(code, value), shift(means=means, **arguments):
            pass
    with raises("config.unknown-layer", 5):
        make_shift(ours, means, "en", "fr", 5)


def test_means_of_before_fine_tuning_can_be_allowed(ours, texts):
    means = LanguageMeans.fit(ours, texts)
    weight = list(ours.parameters())[-1]
    before = weight.detach().clone()
    with torch.no_grad():
        weight.add_(0.5)
    try:
        with raises("config.other-encoder"), shift(ours, means, "en", "fr"):
            pass
        plain = extract(ours, texts["en"], language="en")
        with shift(ours, means, "en", "fr", other_encoder="allow"):
            assert not np.allclose(extract(ours, texts["en"], language="en")[2], plain[2])
    finally:
        with torch.no_grad():
            weight.copy_(before)


def test_a_shift_used_without_gradients_can_be_used_with_them(encoder: EncoderLike, means: LanguageMeans, batch):
    with shift(encoder, means, "en", "fr", layers=1, kind="transport"):
        with torch.inference_mode():
            before = encoder.layers(batch, "en")[-1].clone()
        found = encoder.layers(batch, "en")[-1]
        found.square().sum().backward()
    torch.testing.assert_close(found.detach(), before.clone())

"""A map at layer i: one encoder reads up to there, another goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from isoglot.align import AlignConfig, IterativeNormalization, Procrustes, Steps, align_words, map_hidden
from isoglot.align.apply import loses_lengths
from isoglot.align.words.bitext import Bitext
from isoglot.model import load_encoder, make_batch, save_encoder
from tests.errors import raises

TEXTS = ["The cat sleeps.", "A small dog sees the big house and the old woman.", "Yes"]


@pytest.fixture
def batch(encoder):
    return make_batch(encoder.vocabulary, TEXTS, "en")


def identity(width: int) -> Procrustes:
    rows = np.eye(width, dtype=np.float32)
    return Procrustes().fit(rows, rows)


def read_on(source: Any, target: Any, mapping: Any, layer: int, batch: Any, to: int | None = None) -> Any:
    mapped = map_hidden(mapping, source.layers(batch, "en")[layer], batch)
    return target.run_from(layer, mapped, batch, "en", to)


@pytest.mark.parametrize("layer", [0, 1, 2])
@torch.no_grad()
def test_an_identity_map_changes_nothing(encoder, batch, layer, tmp_path):
    save_encoder(encoder, tmp_path / "model")
    other = load_encoder(tmp_path / "model", device="cpu")
    found = read_on(encoder, other, identity(32), layer, batch)
    expected = encoder.layers(batch, "en")[-1]
    torch.testing.assert_close(found[batch.mask_BT], expected[batch.mask_BT], atol=1e-5, rtol=1e-5)
    partly = read_on(encoder, other, identity(32), layer, batch, to=layer)
    expected = encoder.layers(batch, "en")[layer]
    torch.testing.assert_close(partly[batch.mask_BT], expected[batch.mask_BT], atol=1e-5, rtol=1e-5)
    assert not partly[~batch.mask_BT].any()


@torch.no_grad()
def test_a_planted_rotation_is_read_on_as_if_nothing_had_happened(encoder, turned, batch):
    words = [text.replace(".", " .").split() for text in TEXTS for _ in range(1)]
    more = [[*words[1][start:], *words[0]] for start in range(9)] + [words[1][:stop] for stop in range(2, 9)]
    lists = [*words, *more]
    bitext = Bitext(source=lists, target=lists, links=[[(at, at) for at in range(len(each))] for each in lists])
    config = AlignConfig(normalize="none", resamples=10, test_share=0.1)
    result = align_words(encoder, turned, bitext, languages=("en", "en"), config=config)
    expected = turned.layers(batch, "en")[-1][batch.mask_BT]
    for each in result.layers[1:]:
        assert each.layer is not None
        found = read_on(encoder, turned, each.mapping, each.layer, batch)
        torch.testing.assert_close(found[batch.mask_BT], expected, atol=1e-2, rtol=1e-2)


@torch.no_grad()
def test_lengths_that_the_map_loses_are_put_back(encoder, batch, rng):
    rows = rng.normal(size=(80, 32)).astype(np.float32) + 1
    mapping = Steps([IterativeNormalization(), Procrustes()]).fit(rows, rows)
    assert loses_lengths(mapping)
    assert not loses_lengths(identity(32))
    hidden = encoder.layers(batch, "en")[1]
    mask = batch.mask_BT
    torch.testing.assert_close(map_hidden(mapping, hidden, batch)[mask], hidden[mask], atol=2e-3, rtol=1e-3)
    bare = map_hidden(mapping, hidden, batch, lengths="map")[mask]
    torch.testing.assert_close(bare.norm(dim=1), torch.ones(len(bare)), atol=1e-3, rtol=0)


def test_what_will_not_do(encoder, batch):
    with raises("config.unknown-name", "'long'"):
        map_hidden(identity(32), encoder.layers(batch, "en")[0], batch, lengths="long")  # type: ignore[arg-type]
    with raises("input.shape", "32", "8"):
        map_hidden(identity(8), encoder.layers(batch, "en")[1], batch)

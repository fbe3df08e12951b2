from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.model import EncoderLike, make_batch
from isoglot.represent import LanguageStatistics, extract, language_statistics
from tests.errors import raises


def rows(count: int, seed: int, width: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(1000.0, 0.1, (count, width))  # far from 0: naive sums would lose it


@given(st.lists(st.integers(0, 7), min_size=1, max_size=6).filter(lambda sizes: sum(sizes) > 1), st.integers(0, 99))
def test_streaming_equals_batch(sizes: list[int], seed: int):
    X = rows(sum(sizes), seed)
    fitter, at = LanguageStatistics([3]), 0
    for size in sizes:
        fitter.update({3: X[at : at + size]})
        at += size
    found = fitter.result()
    assert found.count == len(X)
    np.testing.assert_allclose(found.mean(3), X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.covariance(3), np.cov(X.T), atol=1e-9)


def test_merging_equals_going_on():
    X = rows(30, 1)
    one, two, whole = (LanguageStatistics([0, 1]) for _ in range(3))
    one.update({0: X[:11], 1: -X[:11]})
    two.update({0: torch.from_numpy(X[11:]), 1: torch.from_numpy(-X[11:])})
    whole.update({0: X, 1: -X})
    one.merge(two)
    one.merge(LanguageStatistics([0, 1]))
    np.testing.assert_allclose(one.result().means_LD, whole.result().means_LD, rtol=1e-12)
    np.testing.assert_allclose(one.result().spreads_LDD(), whole.result().spreads_LDD(), atol=1e-9)


def test_float32_rows_are_summed_in_float64():
    X = rows(2000, 2).astype(np.float32)
    fitter = LanguageStatistics([0])
    for start in range(0, len(X), 100):
        fitter.update({0: torch.from_numpy(X[start : start + 100])})
    np.testing.assert_allclose(fitter.result().covariance(0), np.cov(X.astype(np.float64).T), rtol=1e-7, atol=1e-10)


def test_one_row_has_no_spread():
    fitter = LanguageStatistics([0])
    fitter.update({0: np.ones((1, 3))})
    assert fitter.result().covariance(0).tolist() == np.zeros((3, 3)).tolist()


def test_a_language_over_its_sentences(encoder: EncoderLike, sentences: list[str]):
    found = language_statistics(encoder, sentences, of="sentences", language="en", chunk=7, batch_tokens=60)
    vectors = extract(encoder, sentences, language="en")
    assert (found.layers, found.count) == (vectors.layers, len(sentences))
    for layer in found.layers:
        np.testing.assert_allclose(found.mean(layer), vectors[layer].mean(axis=0), atol=1e-5)
        np.testing.assert_allclose(found.covariance(layer), np.cov(vectors[layer].T), atol=1e-5)
    fitter = LanguageStatistics(vectors.layers)
    fitter.update(vectors)
    np.testing.assert_allclose(fitter.result().means_LD, found.means_LD, atol=1e-5)


def test_a_language_over_its_tokens(encoder: EncoderLike, sentences: list[str]):
    found = language_statistics(encoder, sentences, language="en", layers=[1], batch_tokens=90, name="x")
    tokens = []
    with torch.no_grad():
        for sentence in sentences:
            batch = make_batch(encoder.vocabulary, [sentence], "en", length=encoder.max_length)
            tokens.append(encoder.layers(batch, "en")[1][0, 1:-1].numpy())
    X = np.concatenate(tokens)
    assert found.count == len(X)
    np.testing.assert_allclose(found.mean(1), X.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(found.covariance(1), np.cov(X.T), atol=1e-5)
    assert (found.about["name"], found.about["language"], found.about["of"]) == ("x", "en", "tokens")


def test_errors():
    fitter = LanguageStatistics([0, 1])
    X = np.ones((2, 3))
    for batch, code, value in (
        ({0: X}, "config.unknown-layer", "layer 1"),
        ({0: X, 1: X[:1]}, "config.other-size", "(2, 3) and (1, 3)"),
        ({0: X[0], 1: X}, "config.other-size", "(3,)"),
    ):
        with raises(code, value):
            fitter.update(batch)
    with raises("config.missing-data"):
        fitter.result()
    with raises("input.not-finite", "layer 1"):
        fitter.update({0: X, 1: X * np.nan})
    fitter.update({0: X, 1: X})
    with raises("config.other-size", "2", "3"):
        fitter.update({0: X[:, :2], 1: X[:, :2]})
    with raises("config.not-supported", "[0]", "[0, 1]"):
        fitter.merge(LanguageStatistics([0]))
    with raises("config.unknown-layer", "7"):
        fitter.result().mean(7)

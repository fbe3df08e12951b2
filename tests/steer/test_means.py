"""The means of languages: of real tokens, in parts or at once, of one encoder only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from isoglot.core.artifact import save_arrays
from isoglot.model import EncoderLike, make_batch
from isoglot.represent.moments import LanguageStatistics
from isoglot.steer import LanguageMeans
from tests.errors import raises


def made(parts: dict[str, list[np.ndarray]], layers: tuple[int, ...] = (0, 3)) -> LanguageMeans:
    """Means of rows; layer l has the rows times l + 1."""
    moments = {}
    for code, batches in parts.items():
        fitter = LanguageStatistics(layers)
        for X in batches:
            fitter.update({layer: X * (layer + 1) for layer in layers})
        moments[code] = fitter.result({"sentences": len(batches), "sentences_sha256": code})
    return LanguageMeans(moments, {"encoder_sha256": "a" * 64, "depth": 3, "hidden_size": 4})


@torch.no_grad()
def test_special_tokens_and_padding_do_not_count(encoder: EncoderLike, means: LanguageMeans, texts):
    assert (means.languages, means.layers) == (("en", "fr"), tuple(range(encoder.depth + 1)))
    for code, sentences in texts.items():
        each = [make_batch(encoder.vocabulary, [text], code, length=encoder.max_length) for text in sentences]
        for layer in means.layers:
            X = np.concatenate([encoder.layers(batch, code)[layer][0, 1:-1].numpy() for batch in each])
            assert means.count(code) == len(X)
            np.testing.assert_allclose(means.mean(code, layer), X.mean(axis=0), atol=1e-5)
            np.testing.assert_allclose(means.covariance(code, layer), np.cov(X.T.astype(np.float64)), atol=1e-5)
    np.testing.assert_array_equal(means.difference("en", "fra", 1), means.mean("fr", 1) - means.mean("eng", 1))


def test_a_file_has_all_of_it(tmp_path: Path):
    X = np.random.default_rng(0).normal(size=(9, 4))
    means = made({"fr": [X], "en": [X + 1]})
    file = tmp_path / "means.safetensors"
    means.save(file)
    again = LanguageMeans.load(file)
    assert (again.languages, again.layers, again.about) == (("fr", "en"), (0, 3), means.about)
    assert again.moments["en"].about == means.moments["en"].about
    for code in means.languages:
        assert again.count(code) == 9
        np.testing.assert_array_equal(again.moments[code].means_LD, means.moments[code].means_LD)
        np.testing.assert_array_equal(again.covariance(code, 3), means.covariance(code, 3))
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == file.read_bytes()

    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    (tmp_path / "altered").write_bytes(data)
    with raises("corrupt-file.hash"):
        LanguageMeans.load(tmp_path / "altered")
    (tmp_path / "cut").write_bytes(bytes(data[:-9]))
    with raises("corrupt-file.size"):
        LanguageMeans.load(tmp_path / "cut")
    save_arrays(tmp_path / "moments", "language moments", {}, {"means": np.ones((1, 4))})
    with raises("input.unknown-format", 1):
        LanguageMeans.load(tmp_path / "moments")
    with raises("storage.not-found"):
        LanguageMeans.load(tmp_path / "none")


def test_what_is_not_there_is_named(ours: EncoderLike, texts):
    X = np.ones((2, 4))
    means = made({"en": [X], "fr": [X]})
    for ask, code, value in (
        (lambda: means.mean("de", 0), "config.unknown-name", "'de'"),
        (lambda: means.difference("en", "deu", 0), "config.unknown-name", "'de'"),
        (lambda: means.covariance("en", 2), "config.unknown-layer", 2),
        (lambda: means.count("english"), "config.language-code", "'english'"),
        (lambda: LanguageMeans.fit(ours, {}), "config.missing-data", "language"),
        (lambda: LanguageMeans.fit(ours, {"en": ["a"], "eng": ["b"]}), "config.duplicate", "en"),
        (lambda: LanguageMeans.fit(ours, texts, layers=[9]), "config.unknown-layer", 9),
    ):
        with raises(code, value) as failure:
            ask()
        assert "\n" not in str(failure.value)
    with raises("input.empty", 1):
        LanguageMeans.fit(ours, {"en": [""]})


def test_means_of_another_encoder_are_refused(ours, imported: EncoderLike, texts):
    means = LanguageMeans.fit(ours, texts, layers=[1])
    means.check_encoder(ours)
    with raises("config.other-encoder", 2, 3):
        means.check_encoder(imported)
    weight = next(iter(ours.parameters()))
    with torch.no_grad():
        before = weight.clone()
        weight[0, 0] += 1
    try:
        with raises("config.other-encoder"):
            means.check_encoder(ours)
        means.check_shape(ours)
    finally:
        with torch.no_grad():
            weight.copy_(before)
    means.check_encoder(ours)

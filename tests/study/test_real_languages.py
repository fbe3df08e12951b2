"""Sentences shifted and translations found, with a small encoder that has learned nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from isoglot.languages.builtin import builtin_pairs
from isoglot.model import Encoder, load_encoder
from isoglot.represent import extract
from isoglot.retrieve import score_retrieval
from isoglot.retrieve.estimates import Estimates
from isoglot.retrieve.layer_scores import found_both
from isoglot.steer import LanguageMeans, TokenSets
from isoglot.steer.language_files import export_packed
from isoglot.study.demo.real_languages import ALPHA, SENTENCES, see_real_languages
from isoglot.vocab import train_vocabulary
from tests.errors import raises


@pytest.fixture(scope="module")
def folder(nano_encoder, small_texts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    encoder: Encoder = nano_encoder(
        train_vocabulary(small_texts, mode="joint", size=400, coverage=1.0), "modern"
    ).eval()
    texts = {code: paths[0].read_text().splitlines()[:40] for code, paths in small_texts.items()}
    known = LanguageMeans.fit(encoder, texts), TokenSets.from_text(encoder.vocabulary, texts)
    made: Path = tmp_path_factory.mktemp("real")
    export_packed(encoder, made / "with", known=known)
    export_packed(encoder, made / "without")
    return made


def test_every_other_language_is_shifted_to_and_looked_for(folder: Path):
    seen = see_real_languages(str(folder / "with"), tested=12, device="cpu", seed=3)
    assert list(seen.shifted) == list(seen.found) == ["fr"]
    made = seen.shifted["fr"]
    encoder = load_encoder(folder / "with", device="cpu")
    assert (made.source, made.target, made.alpha) == ("en", "fr", ALPHA)
    assert 0 <= made.layer <= encoder.depth
    assert tuple(made.sources) == SENTENCES
    told = json.loads(json.dumps(seen.as_dict()))
    assert (told["sentences"], told["shifted"]) == (list(SENTENCES), {"fr": list(made.texts)})
    assert told["tested"] == seen.tested == 12

    raw, centered = seen.found["fr"]
    assert told["found"] == {"fr": {"raw": raw, "centered": centered}}
    sides = [
        np.asarray(extract(encoder, list(sentences), layers=[encoder.depth], language=code)[encoder.depth])
        for code, sentences in zip(
            ("en", "fr"), zip(*builtin_pairs(("en", "fr"), 12, seed=3), strict=True), strict=True
        )
    ]
    assert raw == pytest.approx(both_ways(*sides))
    cross_fitted = score_retrieval(
        sides[0], sides[1], methods=["cosine"], center="mean", estimates=Estimates(), resamples=1
    )
    assert centered == pytest.approx(found_both(cross_fitted, "cosine"))


def both_ways(one_ND: np.ndarray, other_ND: np.ndarray) -> float:
    """P@1 by cosine, the mean of both directions."""
    one_ND, other_ND = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (one_ND, other_ND))
    cosines_NN = one_ND @ other_ND.T
    return float(np.mean([cosines_NN.argmax(axis=axis) == np.arange(len(one_ND)) for axis in (0, 1)]))


def test_what_is_shifted_can_be_given_and_nothing_looked_for(folder: Path):
    seen = see_real_languages(str(folder / "with"), sentences=["The cat sleeps."], tested=0, device="cpu")
    assert (list(seen.shifted["fr"].sources), dict(seen.found)) == (["The cat sleeps."], {})


def test_an_encoder_without_means_is_refused(folder: Path):
    with raises("config.missing-data", folder / "without"):
        see_real_languages(str(folder / "without"), tested=0, device="cpu")

"""What gensim is handed: all words, names that differ, and an order that does not change."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from isoglot.core.config import build_config
from isoglot.core.optional import version_of
from isoglot.static.config import FastTextConfig, GloveConfig, Word2VecConfig, lower_rate
from isoglot.static.gensim_models import LONGEST, GensimModel, distinct, stable_hash
from isoglot.static.token_stream import Stream
from tests.errors import raises

needs_gensim = pytest.mark.skipif(version_of("gensim") is None, reason="gensim is not installed")
RNG = np.random.default_rng(0)
TOKENS = np.sort(RNG.integers(0, 20, 25_000)).astype(np.int32)
STREAM = Stream(TOKENS, np.array([0, 24_000, 25_000]), np.arange(20), np.bincount(TOKENS, minlength=20))
NAMES = [f"w{number}" for number in range(20)]


def test_names_are_made_different():
    assert len(set(distinct(["a"] * 50 + ["b"]))) == 51
    assert distinct(["a", "b"]) == ["a", "b"]


def test_the_hash_does_not_depend_on_the_process():
    program = "from isoglot.static.gensim_models import stable_hash; print(stable_hash('maison'))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {f"{stable_hash('maison')}\n"}


def test_without_gensim_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    def missing(library: str) -> None:
        raise ModuleNotFoundError(f"No module named {library!r}", name=library.partition(".")[0])

    monkeypatch.setattr("isoglot.core.optional.importlib.import_module", missing)
    with raises("missing-extra"):
        GensimModel(STREAM, NAMES, Word2VecConfig(dimensions=4))


@needs_gensim
def test_long_documents_are_read_to_their_end():
    """By itself, gensim drops what comes after 10,000 words of a sentence."""
    assert STREAM.parts(LONGEST) == 4
    model = GensimModel(STREAM, NAMES, Word2VecConfig(dimensions=4, epochs=1, sample=0))
    before = model.vectors()
    model.learn_epoch()
    assert (model.vectors() != before).any(axis=1).all()


@needs_gensim
def test_the_step_falls_over_all_epochs():
    model = GensimModel(
        STREAM, NAMES, Word2VecConfig(dimensions=4, epochs=4, learning_rate=0.04, learning_rate_end=0.01)
    )
    ends = []
    for _ in range(4):
        model.learn_epoch()
        ends.append(model.model.min_alpha)
    assert ends == pytest.approx([0.0325, 0.025, 0.0175, 0.01])


def test_runs_of_characters_must_have_a_length():
    with raises("config.invalid-value", 4, 3):
        build_config(FastTextConfig, settings=["min_ngram=4", "max_ngram=3"])


def test_the_rate_to_try_is_lower_and_at_most_the_default():
    assert lower_rate(GloveConfig(learning_rate=0.2)) == pytest.approx(0.04)
    assert (lower_rate(GloveConfig(learning_rate=1e30)), lower_rate(Word2VecConfig(learning_rate=1e30))) == (
        0.05,
        0.025,
    )


@needs_gensim
@pytest.mark.parametrize("kind", [Word2VecConfig, FastTextConfig])
@pytest.mark.parametrize("rate", [50.0, 1e36])
def test_numbers_that_run_away_are_one_line(kind, rate):
    """At 1e36 the vectors stay where they began: what they are held against has run away."""
    model = GensimModel(STREAM, NAMES, kind(dimensions=4, learning_rate=rate))
    with raises("config.diverged", 1):
        model.learn_epoch()


@needs_gensim
def test_what_is_no_number_has_run_away(monkeypatch: pytest.MonkeyPatch):
    model = GensimModel(STREAM, NAMES, Word2VecConfig(dimensions=4))
    monkeypatch.setattr(model, "arrays", lambda: {"one": np.ones(2), "two": np.array([0.0, np.nan])})
    with raises("config.diverged", "nan"):
        model.learn_epoch()


@needs_gensim
def test_neighbors_come_close():
    """Words that share their neighbors are alike: two topics of ten words each."""
    rng = np.random.default_rng(1)
    topics = rng.integers(0, 2, 600)
    tokens = (rng.integers(0, 10, (600, 10)) + 10 * topics[:, None]).astype(np.int32).ravel()
    stream = Stream(tokens, np.arange(0, 6001, 10), np.arange(20), np.bincount(tokens, minlength=20))
    model = GensimModel(stream, NAMES, Word2VecConfig(dimensions=16, epochs=20, sample=0))
    for _ in range(20):
        model.learn_epoch()
    vectors = model.vectors()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similar = vectors @ vectors.T
    assert similar[:10, :10].mean() > similar[:10, 10:].mean() + 0.3

"""Whole evaluations: from matrices, and from files of vectors with a dictionary."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from isoglot.retrieve import (
    Gold,
    RetrievalConfig,
    hubness,
    precision_at_k,
    read_side,
    score_dictionary,
    score_retrieval,
)
from isoglot.retrieve.leaks import refuse_leak
from isoglot.retrieve.methods import METHODS
from isoglot.retrieve.results import write_pairs
from isoglot.text.formats.dictionary import read_dictionary
from isoglot.text.formats.word_vectors import write_vectors
from tests.errors import raises


def spaces(rows: int = 60, noise: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    stream = np.random.default_rng(0)
    X = stream.normal(size=(rows, 8)).astype(np.float32)
    return X, (X + noise * stream.normal(size=X.shape)).astype(np.float32)


def test_every_method_both_ways_equals_the_definition(brute):
    X, Y = spaces()
    result = score_retrieval(X, Y, methods=METHODS, resamples=50)
    assert [(each.method, each.direction) for each in result.methods] == [
        (method, direction) for method in METHODS for direction in ("forward", "backward")
    ]
    for each in result.methods:
        A, B = (X, Y) if each.direction == "forward" else (Y, X)
        ordered = brute.order(brute.scores(A, B, each.method))
        place = np.argsort(ordered, axis=1).diagonal() + 1
        for k, interval in each.precision.items():
            assert interval.value == pytest.approx((place <= k).mean())
            assert interval.low <= interval.value <= interval.high
        assert each.mrr.value == each.best_mrr.value == pytest.approx((1 / place).mean())
        np.testing.assert_array_equal(each.found_QK, ordered[:, :10])
        assert (each.queries, each.candidates) == (60, 60)
    json.dumps(result.as_dict(), allow_nan=False)
    assert result.of("csls", "backward").as_dict()["p@5"]["value"] == result.of("csls", "backward").precision[5].value
    with pytest.raises(KeyError):
        score_retrieval(X, Y, methods=["cosine"], directions=["forward"], resamples=5).of("cosine", "backward")


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_the_candidates_are_the_gold_or_all(brute, kind):
    X, Y = spaces()
    gold = Gold.from_pairs([(5, 5), (5, 40), (9, 9), (30, 40)])
    narrow = score_retrieval(kind(X), kind(Y), gold, methods=["csls"], resamples=20).of("csls")
    wide = score_retrieval(kind(X), kind(Y), gold, methods=["csls"], candidates="all", resamples=20).of("csls")
    assert (narrow.queries, narrow.candidates, wide.candidates) == (3, 3, 60)
    assert narrow.queries_Q.tolist() == wide.queries_Q.tolist() == [5, 9, 30]
    assert set(narrow.found_QK.ravel()) == {5, 9, 40}
    place = np.argsort(brute.order(brute.scores(X, Y, "csls")), axis=1) + 1
    assert wide.ranks_Q.tolist() == [min(place[5, 5], place[5, 40]), place[9, 9], place[30, 40]]
    assert wide.mrr.value == pytest.approx(np.mean([1 / place[pair] for pair in ((5, 5), (5, 40), (9, 9), (30, 40))]))
    inner = np.argsort(brute.order(brute.scores(X[[5, 9, 30]], Y[[5, 9, 40]], "csls")), axis=1) + 1
    assert narrow.mrr.value == pytest.approx(np.mean([1 / inner[pair] for pair in ((0, 0), (0, 2), (1, 1), (2, 2))]))


def test_intervals_come_from_the_seed_alone():
    X, Y = spaces()
    first, second = (score_retrieval(X, Y, methods=["cosine"], resamples=50, seed=4) for _ in range(2))
    assert first == second
    assert first != score_retrieval(X, Y, methods=["cosine"], resamples=50, seed=5)


def test_unknown_options():
    X, Y = spaces(5)
    for options, value in (
        ({"candidates": "al"}, "'al'"),
        ({"directions": ["forwards"]}, "'forwards'"),
        ({"methods": ["cosines"]}, "'cosines'"),
    ):
        with raises("config.unknown-name", value):
            score_retrieval(X, Y, **options)


@pytest.fixture
def files(tmp_path):
    """English and French with one space; ``big`` has two translations, ``grand`` two sources, ``sky`` no vector."""
    write_vectors(
        tmp_path / "en.vec", ["dog", "big", "tall", "of"], np.array([[1, 0, 0], [0, 1, 0], [0, 0.9, 0.4], [1, 1, 1.0]])
    )
    write_vectors(
        tmp_path / "fr.vec",
        ["de", "chien", "grand", "gros"],
        np.array([[1, 1, 0.9], [1, 0.1, 0], [0, 1, 0.3], [0.1, 1, 0]]),
    )
    (tmp_path / "en-fr.txt").write_text("dog chien\nbig grand\nbig gros\ntall grand\nsky ciel\nsky grand\n")
    return tmp_path


def test_words_from_files(files):
    sides = read_side(files / "en.vec"), read_side(files / "fr.vec")
    entries = list(read_dictionary(files / "en-fr.txt"))
    narrow = RetrievalConfig(candidates="gold", methods=["cosine"], centers=["none"], resamples=20)
    result = score_dictionary(*sides, entries, config=narrow)
    assert result.as_dict()["coverage"] == {
        "entries": 6, "entries_found": 4, "sources": 4, "sources_found": 3, "targets": 4, "targets_found": 3,
    }  # fmt: skip
    scores = result.of(None, "none")
    forward, backward = scores.of("cosine"), scores.of("cosine", "backward")
    assert (forward.queries, forward.candidates, backward.queries) == (3, 3, 3)
    assert forward.precision[1].value == backward.precision[1].value == 1.0
    assert forward.mrr.value == pytest.approx((1 + 1 + 1 / 2 + 1) / 4)
    assert forward.best_mrr.value == 1.0
    assert write_pairs(files / "pairs.tsv", [result]) == 1 + 3 + 3
    lines = [line.split("\t") for line in (files / "pairs.tsv").read_text().splitlines()[1:4]]
    assert [(line[6], line[8], line[10]) for line in lines] == [
        ("dog", "chien", "1"), ("big", "gros", "1"), ("tall", "grand", "1"),
    ]  # fmt: skip
    assert lines[0][9] == "0.995037"
    assert score_dictionary(*sides, entries).of(None, "none").of("csls").candidates == 4  # all that have vectors


def test_words_refused(files):
    (files / "none.txt").write_text("sky ciel\ndog ciel\nsea mer\n")
    (files / "empty.txt").write_text("")
    sides = read_side(files / "en.vec"), read_side(files / "fr.vec")
    for name, *expected in (("none.txt", "input.no-match", "1 of 3", "0 of 2"), ("empty.txt", "input.empty")):
        with raises(*expected, file=files / name):
            score_dictionary(*sides, read_dictionary(files / name), files / name)
    with raises("input.leak", "en-fr.txt", 2, 4, "'dog'", "'big'"):
        words = [entry.source for entry in read_dictionary(files / "en-fr.txt")]
        refuse_leak({"dog", "big", "xyz"}, words, "source words", file="en-fr.txt")


def test_lists_are_taken_as_arrays_and_results_are_short_to_read():
    X = np.random.default_rng(0).normal(size=(12, 4))
    for center in ("none", "mean"):
        from_lists, from_arrays = (score_retrieval(side, side, center=center, resamples=10) for side in (X.tolist(), X))
        assert from_lists.as_dict() == from_arrays.as_dict()
        assert len(repr(from_lists)) < 1000
    assert precision_at_k([[0], [1]]) == 1
    assert hubness([[0], [0]], 2) == hubness(np.array([[0], [0]]), 2)

"""Whole evaluations: from matrices, and from files of vectors with a dictionary."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from isoglot.core.errors import ConfigError, InputError
from isoglot.retrieve import Gold, retrieve_words, score_retrieval
from isoglot.retrieve.methods import METHODS
from isoglot.retrieve.scores import ALL
from isoglot.retrieve.words import write_predictions
from isoglot.text.vectors import Vectors, write_vectors


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
    narrow = score_retrieval(kind(X), kind(Y), gold, ["csls"], resamples=20).of("csls")
    wide = score_retrieval(kind(X), kind(Y), gold, ["csls"], candidates="all", resamples=20).of("csls")
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
    for options, message in (
        ({"candidates": "al"}, "no 'al' here; did you mean 'all'?"),
        ({"directions": ["forwards"]}, "no 'forwards' here; did you mean 'forward'?"),
        ({"methods": ["cosines"]}, "no method 'cosines'; did you mean 'cosine'?"),
    ):
        with pytest.raises(ConfigError) as caught:
            score_retrieval(X, Y, **options)
        assert str(caught.value) == message


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
    result = retrieve_words(files / "en.vec", files / "fr.vec", files / "en-fr.txt", resamples=20)
    assert result.as_dict()["coverage"] == {
        "entries": 6, "entries_found": 4, "sources": 4, "sources_found": 3, "targets": 4, "targets_found": 3,
    }  # fmt: skip
    forward, backward = result.scores.of("cosine"), result.scores.of("cosine", "backward")
    assert (forward.queries, forward.candidates, backward.queries) == (3, 3, 3)
    assert forward.precision[1].value == backward.precision[1].value == 1.0
    assert forward.mrr.value == pytest.approx((1 + 1 + 1 / 2 + 1) / 4)
    assert forward.best_mrr.value == 1.0
    assert [(each.source, each.target, each.rank) for each in result.predictions["cosine"]] == [
        ("dog", "chien", 1), ("big", "gros", 1), ("tall", "grand", 1),
    ]  # fmt: skip
    assert set(result.predictions) == set(ALL)
    assert write_predictions(files / "pairs.tsv", result.predictions["cosine"]) == 3
    assert (files / "pairs.tsv").read_text().splitlines()[0] == "dog\tchien\t0.995037\t1"
    wide = retrieve_words(
        files / "en.vec", files / "fr.vec", files / "en-fr.txt", ["csls"], candidates="all", resamples=5
    )
    assert wide.scores.of("csls").candidates == 4


def test_words_through_a_map(files):
    turned = Vectors(["dog", "big", "tall"], np.array([[0, 1, 0], [0, 0, 1], [0.4, 0, 0.9]], dtype=np.float32))
    result = retrieve_words(
        turned, files / "fr.vec", files / "en-fr.txt", ["cosine"], mapping=lambda X: X[:, [1, 2, 0]], resamples=5
    )
    assert result.scores.of("cosine").precision[1].value == 1.0


def test_words_refused(files):
    (files / "none.txt").write_text("sky ciel\ndog ciel\nsea mer\n")
    (files / "empty.txt").write_text("")
    for name, seen, message in (
        (
            "none.txt",
            set(),
            "no entry of the dictionary has both words: 1 of 3 source words and 0 of 2 target words have vectors; check the two languages",
        ),
        ("empty.txt", set(), "the dictionary has no entries; write source, a blank, target a line"),
        (
            "en-fr.txt",
            {"dog", "big", "xyz"},
            "training has seen 2 of 4 source words of the dictionary, such as 'dog', 'big'; score on others, or allow the leak",
        ),
    ):
        with pytest.raises(InputError) as caught:
            retrieve_words(files / "en.vec", files / "fr.vec", files / name, seen=seen)
        assert str(caught.value) == f"{files / name}: {message}"

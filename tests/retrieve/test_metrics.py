"""Precision, reciprocal ranks, hubs and intervals against examples worked by hand and against definitions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.core.arrays import paired_rows
from isoglot.retrieve import Gold, gold_ranks, hubness, mean_reciprocal_rank, nearest, precision_at_k
from isoglot.retrieve.metrics import best_ranks, bootstrap
from isoglot.retrieve.search import ScoringRule, ranks, search
from tests.errors import raises


def at(*degrees: float) -> np.ndarray:
    """Directions in the plane."""
    angle = np.radians(degrees)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_reciprocal_ranks_by_hand():
    # From 0° the targets at 10°, 30°, 60° come first, second, third; from 50°: 60°, 30°, 10°; from 29°: 30°, 10°, 60°.
    X, Y = at(0, 50, 29), at(10, 30, 60)
    assert gold_ranks(X, Y).tolist() == [1, 2, 3]
    assert mean_reciprocal_rank(X, Y) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    found = nearest(X, Y)
    assert [precision_at_k(found, k=k) for k in (1, 2, 3)] == pytest.approx([1 / 3, 2 / 3, 1])


def test_many_to_many_by_hand():
    # 0° has two translations, ranks 1 and 3; 50° has one, rank 3; 29° none.
    X, Y = at(0, 50, 29), at(10, 30, 60)
    gold = Gold.from_pairs([(0, 2), (0, 0), (1, 0)])
    assert gold_ranks(X, Y, gold).tolist() == [1, 3, 3]
    assert mean_reciprocal_rank(X, Y, gold) == pytest.approx((1 + 1 / 3 + 1 / 3) / 3)  # each pair, as in the paper
    assert mean_reciprocal_rank(X, Y, gold, over="queries") == pytest.approx((1 + 1 / 3) / 2)
    found = nearest(X, Y)
    assert [precision_at_k(found, gold, k) for k in (1, 2, 3)] == pytest.approx([1 / 2, 1 / 2, 1])
    # Backward: 10° is right for 0° (nearest: 0°, then 29°, then 50°) and 50°; 60° for 0° (50°, 29°, 0°).
    assert gold_ranks(Y, X, gold.turned()).tolist() == [1, 3, 3]


def test_a_tie_with_the_right_row_counts_by_index():
    X, Y = np.array([[1.0, 0.0]]), np.array([[2.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    assert [gold_ranks(X, Y, Gold.from_pairs([(0, row)]))[0] for row in range(4)] == [1, 2, 3, 4]


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 40),
    columns=st.integers(1, 60),
    method=st.sampled_from(["cosine", "csls", "ratio", "euclidean"]),
)
def test_ranks_equal_the_definition(brute, seed, rows, columns, method):
    stream = np.random.default_rng(seed)
    X, Y = stream.normal(size=(rows, 6)).astype(np.float32), stream.normal(size=(columns, 6)).astype(np.float32)
    Y[columns // 2 :] = Y[0]  # duplicates
    gold = Gold.from_pairs(np.stack([stream.integers(rows, size=30), stream.integers(columns, size=30)], axis=1))
    place = np.argsort(brute.order(brute.scores(X, Y, method)), axis=1) + 1
    np.testing.assert_array_equal(gold_ranks(X, Y, gold, method), place[tuple(gold.pairs_P2.T)])


@pytest.mark.parametrize("shape", [(20, 1), (7, 4), (64, 16), (1000, 1000)])
def test_ranks_and_neighbors_agree_whatever_the_block(shape):
    stream = np.random.default_rng(1)
    X_ND, Y_MD = paired_rows(stream.normal(size=(12, 5)), stream.integers(-1, 2, size=(15, 5)) + 0.25, unit=True)
    top = search(X_ND, Y_MD, 15, ScoringRule())
    pairs_P2 = torch.cartesian_prod(torch.arange(12), torch.arange(15))
    place = ranks(X_ND, Y_MD, pairs_P2, ScoringRule(), shape=shape).view(12, 15)
    assert torch.equal(place, top.indices_NK.argsort(dim=1) + 1)


def test_precision_counts_rows_with_an_answer_only():
    indices = torch.tensor([[0, 1], [2, 0], [1, 2]])
    assert precision_at_k(indices, Gold.from_pairs([(1, 0)]), k=1) == 0.0
    assert precision_at_k(indices, Gold.from_pairs([(1, 0)]), k=2) == 1.0


def test_gold():
    gold = Gold.from_pairs([(3, 1), (0, 2), (3, 1), (3, 0)])
    assert gold.pairs_P2.tolist() == [[0, 2], [3, 0], [3, 1]]
    assert best_ranks(np.array([5, 4, 2]), gold).tolist() == [5, 2]
    assert gold.turned().turned().pairs_P2.tolist() == gold.pairs_P2.tolist()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda: Gold.from_pairs([]),
            ("input.shape", "(0,)"),
        ),
        (
            lambda: Gold.from_pairs([(0, -1)]),
            ("input.out-of-range", -1),
        ),
        (
            lambda: gold_ranks(np.eye(2), np.eye(2), Gold.from_pairs([(0, 1), (1, 2)])),
            ("input.out-of-range", "(1, 2)"),
        ),
        (
            lambda: gold_ranks(np.eye(2), np.eye(2), Gold(np.array([[-1, 0]]))),
            ("input.out-of-range", "(-1, 0)"),
        ),
        *(
            (
                lambda pairs=pairs: gold_ranks(np.eye(2), np.eye(2), Gold(np.array(pairs, dtype=np.uint8))),
                ("input.duplicate",),
            )
            for pairs in ([[1, 1], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [0, 0]])
        ),
        (
            lambda: precision_at_k(np.eye(2, dtype=int), Gold(np.array([[0.0, 1.0]]))),
            ("input.type", "float64"),
        ),
        (
            lambda: precision_at_k(np.eye(2, dtype=int), Gold(np.arange(2))),
            ("input.type", "(2,)"),
        ),
        (
            lambda: mean_reciprocal_rank(np.eye(3), np.eye(3)[:2]),
            ("input.row-count", 3, 2),
        ),
        (
            lambda: mean_reciprocal_rank(np.eye(3), np.eye(3), over="pair"),  # type: ignore[arg-type]
            ("config.unknown-name", "'pair'"),
        ),
        (
            lambda: precision_at_k(np.zeros((2, 3), dtype=int), k=5),
            ("config.invalid-value", 5),
        ),
        (
            lambda: bootstrap(np.ones((3, 1)), np.ones((3, 1)), level=1.0),
            ("config.invalid-value", "1.0"),
        ),
    ],
)
def test_errors(call, expected):
    with raises(*expected):
        call()


def test_hubness_is_the_third_standardized_moment():
    stream = np.random.default_rng(0)
    indices = stream.zipf(1.5, size=(200, 10)).clip(max=50) - 1
    counts = np.array([(indices == y).sum() for y in range(60)])
    assert hubness(indices, 60) == pytest.approx((((counts - counts.mean()) / counts.std()) ** 3).mean())
    assert hubness(np.arange(10)[:, None], 10) == 0.0  # each once: no hub
    assert hubness(np.zeros((10, 1), dtype=int), 10) == pytest.approx(8 / 3)  # one has all: (p (1 - p))^-½ (1 - 2p)


def test_bootstrap_covers_the_truth_about_as_often_as_it_says():
    stream = np.random.default_rng(3)
    inside = 0
    for trial in range(200):
        hits = (stream.random(300) < 0.4).astype(float)[:, None]
        (interval,) = bootstrap(hits, np.ones_like(hits), resamples=200, level=0.9, seed=trial)
        assert interval.low <= interval.value <= interval.high
        assert interval.value == hits.mean()
        inside += interval.low <= 0.4 <= interval.high
    assert 165 <= inside <= 195  # 180 expected, deviation 4


def test_bootstrap_is_a_function_of_the_seed():
    values, ones = np.random.default_rng(0).random((50, 2)), np.ones((50, 2))
    assert bootstrap(values, ones, seed=1) == bootstrap(values, ones, seed=1)
    assert bootstrap(values, ones, seed=1) != bootstrap(values, ones, seed=2)


def test_bootstrap_keeps_the_pairs_of_a_query_together():
    """All pairs from one query: nothing can vary."""
    (interval,) = bootstrap(np.array([[1.5]]), np.array([[3.0]]))
    assert (interval.value, interval.low, interval.high) == (0.5, 0.5, 0.5)

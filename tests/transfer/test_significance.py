"""Intervals hold the truth as often as they say, p-values are uniform where nothing differs, and Holm is Holm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigError, InputError
from isoglot.retrieve.metrics import Interval
from isoglot.retrieve.simultaneous_intervals import holm
from isoglot.transfer.scoring import significance
from isoglot.transfer.scoring.significance import Estimate, PairedComparison, compare, estimate, spread_over_seeds
from tests.errors import raises


def planted(stream: np.random.Generator, sentences: int, skill: float, lengths_N: np.ndarray | None = None):
    """Right words and words of each sentence; how easy a sentence is, is its own affair."""
    words_N = stream.integers(1, 20, size=sentences) if lengths_N is None else lengths_N
    ease_N = np.clip(skill + stream.uniform(-0.2, 0.2, size=sentences), 0, 1)
    return np.stack([stream.binomial(words_N, ease_N), words_N], axis=1)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    stream = np.random.default_rng(0)
    inside = {0.8: 0, 0.95: 0}
    rounds = 400
    for number in range(rounds):
        counts_N2 = planted(stream, 150, 0.6)
        for level in inside:
            found = estimate(counts_N2, draws=400, level=level, seed=number).over_sentences
            inside[level] += found.low <= 60.0 <= found.high
    # Three standard errors of 400 rounds are 0.06 and 0.033; the percentile interval is a little narrow.
    assert inside[0.8] / rounds == pytest.approx(0.8, abs=0.07)
    assert inside[0.95] / rounds == pytest.approx(0.94, abs=0.04)


def test_the_interval_is_that_of_sentences_drawn_one_by_one():
    counts_N2 = planted(np.random.default_rng(1), 60, 0.7)
    found = estimate(counts_N2, draws=20_000).over_sentences
    stream = np.random.default_rng(2)
    sums_R2 = counts_N2[stream.integers(60, size=(20_000, 60))].sum(axis=1)
    low, high = np.quantile(100 * sums_R2[:, 0] / sums_R2[:, 1], [0.025, 0.975])
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.2)


def test_the_interval_of_an_accuracy_is_binomial():
    right_N = np.repeat([1, 0], [160, 40])
    found = estimate(np.stack([right_N, np.ones_like(right_N)], axis=1), draws=20_000)
    assert found.value == 80.0
    drawn_R = np.random.default_rng(0).binomial(200, 0.8, size=200_000) / 2
    low, high = np.quantile(drawn_R, [0.025, 0.975])
    assert [found.over_sentences.low, found.over_sentences.high] == pytest.approx([low, high], abs=0.5)


def test_p_is_uniform_where_the_systems_are_equally_good():
    stream = np.random.default_rng(3)
    found = []
    for number in range(400):
        words_N = stream.integers(1, 20, size=80)
        pair = (planted(stream, 80, 0.6, words_N) for _ in range(2))
        found.append(compare(*pair, draws=199, seed=number).p)
    # Kolmogorov and Smirnov: of 400 uniform numbers the distance is below 0.081 with 99 %; p is a little larger than
    # uniform by its + 1 and by ties.
    ranked = np.sort(found)
    above = ranked - np.arange(1, 401) / 400
    assert np.abs(above).max() < 0.085
    assert np.mean(ranked <= 0.05) < 0.09


def test_p_is_never_too_small_on_tiny_test_sets():
    # Three sentences, each better: of the eight exchanges two are as far from 0.
    one, other = np.array([[1, 1]] * 3), np.array([[0, 1]] * 3)
    found = compare(one, other, draws=20_000)
    assert found.p == pytest.approx(0.25, abs=0.02)
    assert found.difference.value == 100.0


def test_p_equals_all_exchanges_counted():
    stream = np.random.default_rng(4)
    one, other = planted(stream, 8, 0.7), planted(stream, 8, 0.4)  # as with F1, what is divided by differs too
    signs = np.array(list(np.ndindex(*(2,) * 8))).astype(bool)
    first = np.where(signs[:, :, None], one, other).sum(axis=1)
    second = np.where(signs[:, :, None], other, one).sum(axis=1)
    differences = 100 * (first[:, 0] / first[:, 1] - second[:, 0] / second[:, 1])
    exact = np.mean(np.abs(differences) >= abs(differences[-1]) - 1e-9)
    found = compare(one, other, draws=40_000)
    assert found.difference.value == pytest.approx(differences[-1])
    assert found.p == pytest.approx(exact, abs=0.01)


def test_a_real_difference_is_seen_and_pairing_makes_it_visible():
    stream = np.random.default_rng(5)
    words_N = stream.integers(5, 20, size=400)
    hard_N = stream.uniform(0.2, 0.9, size=400)
    other = np.stack([np.round(words_N * hard_N), words_N], axis=1)
    one = other + np.stack(
        [stream.random(400) < 0.15, np.zeros(400)], axis=1
    )  # one word more in every seventh sentence
    found = compare(one, other)
    assert found.p < 0.001
    assert found.difference.low > 0
    # By themselves the two intervals overlap.
    assert estimate(one).over_sentences.low < estimate(other).over_sentences.high


def test_the_order_of_systems_changes_the_sign_only():
    stream = np.random.default_rng(6)
    one, other = planted(stream, 50, 0.7), planted(stream, 50, 0.6)
    forth, back = compare(one, other), compare(other, one)
    assert forth.difference.value == pytest.approx(-back.difference.value)
    assert forth.p == pytest.approx(back.p, abs=0.02)
    same = compare(one, one)
    assert (same.p, same.difference.low, same.difference.high) == (1.0, 0.0, 0.0)


def test_several_seeds_are_a_mean_and_their_spread_is_no_part_of_the_interval():
    counts_N2 = planted(np.random.default_rng(7), 100, 0.6)
    alone = estimate(counts_N2)
    thrice = estimate([counts_N2] * 3)
    assert thrice.over_sentences.value == pytest.approx(alone.over_sentences.value)
    assert thrice.over_sentences.low == pytest.approx(alone.over_sentences.low)
    assert (thrice.over_seeds.deviation, thrice.over_seeds.seeds) == (0.0, 3)
    # A worse seed moves the mean by half, and is seen in the spread.
    worse = counts_N2 * [0, 1]
    both = estimate(np.stack([counts_N2, worse]))
    assert both.value == pytest.approx(alone.value / 2)
    assert both.over_sentences.high == pytest.approx(alone.over_sentences.high / 2)
    assert compare([counts_N2] * 2, [counts_N2, worse]).difference.value == pytest.approx(alone.value / 2)


def test_draws_in_blocks_are_the_same_draws(monkeypatch):
    stream = np.random.default_rng(8)
    one, other = planted(stream, 70, 0.6), planted(stream, 70, 0.5)
    whole = compare(one, other, draws=300), estimate(one, draws=300)
    monkeypatch.setattr(significance, "_BLOCK", 70 * 7)
    assert (compare(one, other, draws=300), estimate(one, draws=300)) == whole


def test_the_seed_decides_and_the_order_of_sentences_does_not():
    counts_N2 = planted(np.random.default_rng(9), 40, 0.6)
    assert estimate(counts_N2, seed=1) == estimate(counts_N2[::-1], seed=1)
    assert estimate(counts_N2, seed=1) != estimate(counts_N2, seed=2)


def test_nothing_to_divide_by_is_0():
    found = estimate(np.zeros((5, 2)))
    assert (found.value, found.over_sentences.low, found.over_sentences.high) == (0.0, 0.0, 0.0)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([[0.02, np.nan], [0.5, 0.9]])).tolist() == [
        [0.06, pytest.approx(np.nan, nan_ok=True)],
        [1.0, 1.0],
    ]
    assert holm([]).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_rejects_what_its_definition_rejects(p_values):
    corrected = holm(p_values)
    for level in (0.01, 0.05, 0.3):
        order = sorted(range(len(p_values)), key=p_values.__getitem__)
        rejected = set()
        for step, index in enumerate(order):  # step down, and stop at the first that holds
            if p_values[index] * (len(p_values) - step) > level:
                break
            rejected.add(index)
        assert {index for index, p in enumerate(corrected) if p <= level} == rejected
    assert all(np.asarray(p_values) <= corrected)
    assert all(corrected <= np.minimum(1.0, np.asarray(p_values) * len(p_values)))


def test_holm_holds_for_all_at_once():
    stream = np.random.default_rng(10)
    wrong = [holm(stream.uniform(size=10)).min() <= 0.05 for _ in range(4000)]
    assert np.mean(wrong) == pytest.approx(1 - (1 - 0.005) ** 10, abs=0.012)


def test_spread():
    assert spread_over_seeds([71.5]).deviation == 0.0
    found = spread_over_seeds([70.0, 71.0, 75.0])
    assert [found.mean, found.deviation] == pytest.approx([72.0, 7**0.5])
    assert found.seeds == 3


@pytest.mark.parametrize(
    ("act", "error", "expected"),
    [
        (
            lambda: estimate(np.zeros((0, 2))),
            InputError,
            ("input.shape", "(0, 2)"),
        ),
        (
            lambda: estimate([np.ones((3, 2)), np.ones((4, 2))]),
            InputError,
            ("input.shape", "(3, 2)", "(4, 2)"),
        ),
        (
            lambda: compare(np.ones((3, 2)), np.ones((4, 2))),
            InputError,
            ("input.row-count", "3", "4"),
        ),
        (
            lambda: compare([np.ones((3, 2))] * 2, np.ones((3, 2))),
            InputError,
            ("input.row-count", "2", "1"),
        ),
        (
            lambda: estimate(np.ones((3, 2)), draws=0),
            ConfigError,
            ("config.invalid-value", "0", "0.95"),
        ),
        (
            lambda: compare(np.ones((3, 2)), np.ones((3, 2)), level=95),
            ConfigError,
            ("config.invalid-value", "10000", "95"),
        ),
        (lambda: holm([0.5, 1.5]), InputError, ("input.out-of-range", "1.5")),
        (lambda: spread_over_seeds([]), InputError, ("input.empty",)),
    ],
)
def test_refusals(act, error, expected: tuple[str, ...]):
    with raises(*expected):
        act()


def test_what_files_hold_is_rounded_but_for_p():
    """In this order, which is that of the columns of a CSV file; the score is the mean over seeds."""
    score = Estimate(Interval(70.00001, 60.12346, 80.98766), spread_over_seeds([70.0, 72.0]))
    assert list(score.facts().items()) == [
        ("score", 71.0),
        ("low", 60.1235),
        ("high", 80.9877),
        ("seeds", 2),
        ("seed_deviation", 1.4142),
    ]
    found = PairedComparison(Interval(1.23456, -0.98765, 3.33333), 0.0123456, 0.0234567)
    assert list(found.facts().items()) == [
        ("difference", 1.2346),
        ("low", -0.9877),
        ("high", 3.3333),
        ("p", 0.0123456),
        ("p_corrected", 0.0234567),
    ]

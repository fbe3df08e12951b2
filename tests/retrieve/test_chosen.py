"""The best of many figures, and how sure it is."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.retrieve import Interval, VectorSet, score_layers
from isoglot.retrieve.metrics import resampled_means
from isoglot.retrieve.simultaneous_intervals import (
    choose_by_other_half,
    chosen_interval,
    compare_with_best,
    halves,
    leads,
)


def test_the_interval_of_what_was_chosen_is_wider_and_no_narrower_than_for_one_alone():
    samples = np.random.default_rng(0).normal(size=(2001, 10))
    samples[0] = 0
    alone, chosen = chosen_interval(samples[:, :1], 0), chosen_interval(samples, 3)
    assert alone.high == pytest.approx(1.96, rel=0.05)
    assert chosen.high == pytest.approx(2.8, rel=0.05)  # of ten independent figures
    assert leads(samples, 3)[3] == Interval(0.0, 0.0, 0.0)
    assert leads(samples, 3)[0].high / np.sqrt(2) > chosen.high


def test_of_layers_that_are_all_noise_none_is_said_to_be_the_best():
    sure = missed = 0
    for seed in range(8):
        X_LND, Y_LND = np.random.default_rng(seed).normal(size=(2, 6, 100, 3))
        one, other = (
            VectorSet(name=name, layers=dict(enumerate(each))) for name, each in (("en", X_LND), ("de", Y_LND))
        )
        best = score_layers(one, other, methods=["cosine"], resamples=100, seed=seed).best
        assert best.chosen_among == 6 * 2
        sure += len({*best.as_good, *best.undecided}) < 5
        missed += not best.low <= 0.01 <= best.high
    assert sure <= 2  # of 8, where 5 % are less than 1
    assert missed <= 2


def test_a_layer_that_surely_finds_more_stands_alone():
    stream = np.random.default_rng(0)
    X, noise = stream.normal(size=(2, 100, 8))
    one = VectorSet(name="en", layers={0: X, 1: X, 2: X})
    other = VectorSet(name="de", layers={0: noise, 1: X + 0.6 * noise, 2: X + 0.6 * stream.normal(size=noise.shape)})
    best = score_layers(one, other, methods=["cosine"], centers=["none"], resamples=200).best
    assert best.chosen_among == 3
    assert best.layer in (1, 2)
    assert 0 not in (*best.as_good, *best.undecided)
    assert 0.5 < best.low < best.value < best.high <= 1


# --- chosen on other items ---


def planted_hits(shares, items: int = 1000, seed: int = 0):
    """Items that figures find with these shares; what is hard is hard for all."""
    ease = np.random.default_rng(seed).random(items)
    noise = np.random.default_rng(seed + 1).normal(scale=0.05, size=(items, len(shares)))
    return (ease[:, None] + noise < np.array(shares)).astype(float)


def test_the_luck_of_the_choice_is_not_in_what_is_scored_on_the_other_half():
    """Forty figures that are all 0.3: the highest is above it, and the one chosen on other items is not."""
    highest, honest = [], []
    for seed in range(40):
        hits = (np.random.default_rng(seed).random((200, 40)) < 0.3).astype(float)
        highest.append(hits.mean(axis=0).max())
        part = halves(200, seed=seed)
        assert part is not None
        honest.append(choose_by_other_half([hits], [part])[0][0].mean())
    assert np.mean(highest) > 0.35
    assert np.mean(honest) == pytest.approx(0.3, abs=0.012)
    assert halves(99, seed=0) is None


def test_no_item_is_scored_by_what_was_chosen_with_it():
    hits = planted_hits([0.5, 0.52, 0.48], items=120)
    part = halves(120, seed=3)
    assert part is not None
    before, _ = choose_by_other_half([hits], [part])
    changed = hits.copy()
    changed[part] = 1 - changed[part]  # whatever the first half says …
    after, _ = choose_by_other_half([changed], [part])
    choice = int(hits[~part].mean(axis=0).argmax())
    assert np.array_equal(before[0][part], hits[part, choice])
    assert np.array_equal(after[0][part], changed[part, choice])  # … its own figure is chosen without it


def samples(hits: np.ndarray) -> np.ndarray:
    return resampled_means(hits, resamples=500, seed=0)


def test_as_good_takes_a_test_and_noise_is_no_proof():
    """Of 1,000 items half a point is as good and five points are worse; of 40 items nothing can be told."""
    found_SC = samples(planted_hits([0.9, 0.895, 0.85]))
    assert [each.verdict for each in compare_with_best(found_SC[:, 0], found_SC[:, 1:], 1000)] == ["as good", "worse"]
    few_SC = samples((np.random.default_rng(1).random((40, 2)) < 0.8).astype(float))
    (found,) = compare_with_best(few_SC[:, 0], few_SC[:, 1:], 40)
    assert found.verdict == "undecided"
    assert found.lead.low < 0 < found.lead.high


def test_a_few_items_that_do_not_differ_are_no_proof_either():
    for items, verdict in ((20, "undecided"), (500, "as good")):
        ones_SC = np.ones((51, 2))
        assert compare_with_best(ones_SC[:, 0], ones_SC[:, 1:], items)[0].verdict == verdict


def test_a_layer_that_a_paired_test_sets_apart_is_not_said_to_be_as_good():
    """89.7 against 84.8 % of 1,000 paired sentences is z = 3.3 or more, however wide either interval is."""
    stream = np.random.default_rng(5)
    X = stream.normal(size=(600, 12))
    error = stream.normal(size=X.shape)
    scales = {0: 1.02, 1: 0.95, 2: 0.95}
    other: dict[int | None, np.ndarray] = {
        layer: X + scale * error + 0.05 * stream.normal(size=X.shape) for layer, scale in scales.items()
    }
    sides = VectorSet(name="en", layers=dict.fromkeys(scales, X)), VectorSet(name="de", layers=other)
    best = score_layers(*sides, methods=["cosine"], centers=["none"], resamples=300).best
    assert best.layer in (1, 2)
    assert 0 not in best.as_good
    assert best.as_good == (3 - best.layer,)
    assert best.held_out is not None
    assert best.held_out.value <= best.value


def test_every_difference_is_judged_at_once():
    """Twenty figures that are as good as the best: hardly ever is one of them said to be worse."""
    wrong = 0
    for seed in range(40):
        stream = np.random.default_rng(seed)
        found_SC = samples((stream.random((200, 21)) < 0.5).astype(float))
        wrong += any(each.verdict == "worse" for each in compare_with_best(found_SC[:, 0], found_SC[:, 1:], 200))
    assert wrong <= 6  # of 40, where 5 % are 2

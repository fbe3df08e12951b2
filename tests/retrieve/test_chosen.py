"""The best of many figures, and how sure it is."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.retrieve import Interval, Side, score_layers
from isoglot.retrieve.chosen import chosen_interval, leads


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
    for seed in range(20):
        X_LND, Y_LND = np.random.default_rng(seed).normal(size=(2, 6, 100, 3))
        one, other = (Side(name=name, layers=dict(enumerate(each))) for name, each in (("en", X_LND), ("de", Y_LND)))
        best = score_layers(one, other, resamples=100, seed=seed).best
        assert best.chosen_among == 6 * 2 * 2
        sure += len(best.near) < 6
        missed += not best.low <= 0.01 <= best.high
    assert sure <= 4  # of 20, where 5 % are 1
    assert missed <= 4


def test_a_layer_that_surely_finds_more_stands_alone():
    stream = np.random.default_rng(0)
    X, noise = stream.normal(size=(2, 100, 8))
    one = Side(name="en", layers={0: X, 1: X, 2: X})
    other = Side(name="de", layers={0: noise, 1: X + 0.6 * noise, 2: X + 0.6 * stream.normal(size=noise.shape)})
    best = score_layers(one, other, methods=["cosine"], centres=["none"], resamples=200).best
    assert (best.chosen_among, set(best.near)) == (3, {1, 2})
    assert 0.5 < best.low < best.value < best.high <= 1

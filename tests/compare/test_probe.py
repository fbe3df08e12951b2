"""The language probe on made-up rows whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.compare.language_probe import probe_languages, probe_linearly

N, D = 200, 24


def noise(*names: int, rows: int = N, width: int = D):
    return np.random.default_rng(names).normal(size=(rows, width)).astype(np.float32)


def told(*languages: np.ndarray, folds: int = 5) -> tuple[float, ...]:
    numbers = [np.arange(len(each)) % folds for each in languages]
    return tuple(float(np.mean([part.mean() for part in kind])) for kind in probe_languages(languages, numbers))


def test_means_far_apart_are_told_perfectly_and_are_at_chance_once_removed():
    """Languages that differ in their mean only."""
    means = 10 * noise(9)[:3]
    linear, centered, by_spread = told(*(noise(seed) + mean for seed, mean in enumerate(means)))
    assert linear == 1.0
    assert centered == pytest.approx(1 / 3, abs=1e-12)
    assert abs(by_spread - 1 / 3) < 0.08


def test_the_same_cloud_twice_is_not_told():
    assert abs(told(noise(1), noise(2))[0] - 1 / 2) < 0.08


def test_a_spread_of_its_own_is_told_without_the_mean():
    linear, centered, by_spread = told(noise(1), noise(2) * np.linspace(0.2, 3, D).astype(np.float32))
    assert abs(linear - 0.5) < 0.1
    assert centered == pytest.approx(0.5, abs=1e-12)
    assert by_spread > 0.9


def test_a_language_in_the_middle_is_told_too():
    """A regression onto indicators would hide it behind the two around it."""
    step = np.zeros((1, D), dtype=np.float32)
    step[0, 0] = 8
    assert told(noise(1) - step, noise(2), noise(3) + step)[0] > 0.99


def test_accuracy_is_balanced_and_works_on_one_vector():
    rare, common = noise(1, rows=20), noise(2, rows=400)
    assert abs(told(rare, common)[0] - 0.5) < 0.2
    same = np.ones((N, D), dtype=np.float32)
    assert told(same, same) == pytest.approx((0.5, 0.5, 0.5))


def test_the_linear_probe_alone_says_the_same():
    languages = [noise(1), noise(2, rows=150) + 0.3]
    folds = [np.arange(len(each)) % 5 for each in languages]
    for alone, one_of_three in zip(
        probe_linearly(languages, folds), probe_languages(languages, folds).linear, strict=True
    ):
        np.testing.assert_array_equal(alone, one_of_three)

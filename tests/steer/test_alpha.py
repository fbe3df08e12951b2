"""How far to shift: by labels, by means, by what is decoded."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.represent.moments import LanguageMoments
from isoglot.steer import LanguageMeans, alpha_by_dev, alpha_by_means
from tests.errors import raises


def means_of(**languages: tuple[np.ndarray, np.ndarray]) -> LanguageMeans:
    moments = {
        code: LanguageMoments((0,), 100, mean[None], covariance[None], {})
        for code, (mean, covariance) in languages.items()
    }
    return LanguageMeans(moments, {"depth": 1, "hidden_size": 2})


def test_a_dev_set_chooses_the_best_and_says_so():
    chosen = alpha_by_dev(lambda alpha: -((alpha - 1.4) ** 2), [0, 0.5, 1, 1.5, 2])
    assert (chosen.alpha, chosen.rule, chosen.zero_shot) == (1.5, "target dev set", False)
    assert chosen.tried[0.0] == pytest.approx(-1.96)


def test_among_equals_the_smallest_shift_wins():
    assert alpha_by_dev(lambda _: 0.5, [2, -1, 0.5, 0]).alpha == 0


def test_a_dev_set_must_say_something():
    with raises("config.invalid-value"):
        alpha_by_dev(lambda _: 1.0, [])
    with raises("input.not-finite", 1):
        alpha_by_dev(lambda _: float("nan"), [1])


def test_half_of_the_tokens_get_there_half_way():
    spread = np.array([[2.0, 0.3], [0.3, 9.0]])
    means = means_of(en=(np.zeros(2), spread), de=(np.array([3.0, -1.0]), spread))
    assert alpha_by_means(means, "en", "de", 0, share=0.5).alpha == pytest.approx(0.5)


@pytest.mark.parametrize("share", [0.2, 0.9, 0.99])
def test_that_share_of_tokens_is_then_nearer_to_the_target(share):
    """By the distance whose metric is the spread; a wide direction, here the second, hardly counts."""
    chance = np.random.default_rng(1)
    spread = np.array([[1.0, 0.5], [0.5, 400.0]])
    means = means_of(en=(np.zeros(2), spread), de=(np.array([2.0, 4.0]), spread))
    chosen = alpha_by_means(means, "en", "de", 0, share=share)
    assert chosen.zero_shot
    tokens = chance.multivariate_normal(np.zeros(2), spread, size=40_000) + chosen.alpha * np.array([2.0, 4.0])
    inverse = np.linalg.inv(spread)
    distance = [np.einsum("nd,de,ne->n", tokens - mean, inverse, tokens - mean) for mean in ([0, 0], [2.0, 4.0])]
    assert (distance[1] < distance[0]).mean() == pytest.approx(share, abs=0.02)


def test_means_alone_can_be_too_little():
    spread = np.eye(2)
    means = means_of(en=(np.zeros(2), spread), de=(np.zeros(2), spread))
    with raises("config.not-supported", "en", "de", 0):
        alpha_by_means(means, "en", "de", 0)
    with raises("config.unknown-name", "'fr'"):
        alpha_by_means(means, "en", "fr", 0)
    with raises("config.invalid-value", "1.0"):
        alpha_by_means(means, "en", "de", 0, share=1.0)

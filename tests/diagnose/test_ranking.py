"""Rankings of made-up models: equal ones tie, better ones are found, and luck is declared a difference rarely enough."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.diagnose import RankConfig, Ranking, rank_models, ranking
from isoglot.diagnose.layer_choice import sample_weights
from isoglot.diagnose.ranking import PairedSamples, _pair_weights, sampled_scores, tie_groups
from isoglot.retrieve import Retrieval, VectorSet, score_layers
from isoglot.retrieve.parallel_sets import ParallelSet
from isoglot.retrieve.simultaneous_intervals import choose_by_other_half
from tests.errors import raises

N = 200
CODES = ("en", "de", "fr", "ru", "zh", "sw")


def parallel(*codes: str, rows: int = N) -> ParallelSet:
    texts = {code: [f"{code} {row}" for row in range(rows)] for code in codes}
    return ParallelSet(name="-".join(codes), sentences=texts, numbers=list(range(1, rows + 1)))


@pytest.fixture
def rank(monkeypatch: pytest.MonkeyPatch):
    """Rank models that are given by the noise of their layers and a seed; the meaning of a sentence is common."""

    def retrieve(encoder: Any, sets: Any, config: Any, *, layers: Any, **_: Any) -> Retrieval:
        noises, seed = encoder
        noises = noises if layers == "all" else [noises[layer] for layer in layers]
        pairs = []
        for one in sets:
            meaning = np.random.default_rng(0).normal(size=(len(one), 8))
            sides = {}
            for place, code in enumerate(one.sentences):
                stream = np.random.default_rng((seed, place))
                rows: dict[int | None, np.ndarray] = {
                    at: meaning + noise * stream.normal(size=meaning.shape) for at, noise in enumerate(noises)
                }
                sides[code] = VectorSet(name=code, layers=rows)
            pairs += [score_layers(sides[first], sides[second], config=config) for first, second in one.pairs]
        return Retrieval(kind="sentences", pairs=tuple(pairs), facts={})

    monkeypatch.setattr(ranking, "retrieve_sentences", retrieve)
    monkeypatch.setattr(ranking, "_unknown_tokens", lambda encoder, sets: [])

    def ranked(models: dict[str, Any], *sets: ParallelSet, **options: Any) -> Ranking:
        config = RankConfig(resamples=300, **options)
        return rank_models(list(models.items()), sets or [parallel("en", "de", "fr")], config=config)

    return ranked


def test_identical_models_tie(rank):
    found = rank({"a": ((0.6, 0.5), 1), "b": ((0.6, 0.5), 1)})
    assert found.p_MM.tolist() == [[1, 1], [1, 1]]
    assert found.ties == (("a", "b"),)
    assert [(each.ranks, each.groups) for each in found.models] == [((1, 2), "a")] * 2
    assert found.models[1].behind.low < 0 < found.models[1].behind.high


@pytest.mark.parametrize("rows", [1, 9])
def test_too_few_sentences_are_refused(rank, rows: int):
    with raises("input.too-few", rows):
        rank({"a": ((0.6,), 1), "b": ((0.6,), 2)}, parallel("en", "de", rows=rows), layer=-1)


def test_a_better_model_is_found_and_the_layer_of_each_is_its_own(rank):
    found = rank({"a": ((0.9, 0.6, 0.9), 1), "good": ((0.3, 0.9), 2), "b": ((0.6,), 3)})
    best, *others = found.models
    assert (best.name, best.layers, best.ranks, best.groups) == ("good", (0,), (1, 1), "a")
    assert {each.name: each.layers for each in others} == {"a": (1,), "b": (0,)}
    assert [(each.ranks, each.groups) for each in others] == [((2, 3), "b")] * 2
    assert set(map(frozenset, found.ties)) == {frozenset(["good"]), frozenset(["a", "b"])}
    assert all(each.behind.low > 0 for each in others)
    assert found.over == "sentences"
    assert list(best.by_language) == ["en", "de", "fr"]
    last = rank({"a": ((0.9, 0.6, 0.9), 1), "good": ((0.3, 0.9), 2)}, layer=-1)
    assert {each.name: each.layers for each in last.models} == {"a": (0,), "good": (0,)}  # numbered by what was asked


def test_a_score_is_the_mean_over_pairs_and_sets(rank):
    sets = [parallel("en", "de"), parallel("en", "fr", rows=150)]
    found = rank({"a": ((0.6,), 1), "b": ((0.7,), 2)}, *sets)
    for model in found.models:
        assert model.score.value == pytest.approx(model.by_language["en"])
        assert model.score.value == pytest.approx((model.by_language["de"] + model.by_language["fr"]) / 2)
    assert found.sentences == {"en-de": 200, "en-fr": 150}


# --- tests ---


def samples(hits_MPNC: np.ndarray, pairs: list[tuple[str, str]], *, resamples: int = 2000, over: Any = "auto"):
    """Bootstrap samples of models on one set."""
    rows = hits_MPNC.shape[2]
    weights_SP, resampled = _pair_weights(pairs, RankConfig(resamples=resamples, over=over))
    weights, parts = [sample_weights(rows, resamples, seed=0)], [np.arange(rows) % 2 == 0]
    scores = [sampled_scores([hits_PNC], weights, parts, weights_SP)[0] for hits_PNC in hits_MPNC]
    scores_SM = np.stack([(scores_SP * weights_SP).sum(axis=1) for scores_SP in scores], axis=1)
    units = len(ranking._free(pairs)) if resampled == "languages" else rows
    return PairedSamples(scores_SM, units, rows)


def test_the_observed_score_is_that_of_the_layer_chosen_on_the_other_half():
    stream = np.random.default_rng(0)
    hits = [stream.integers(3, size=(2, 120, 4)) / 2, stream.integers(3, size=(1, 100, 4)) / 2]
    weights = [sample_weights(each.shape[1], 20, seed=1) for each in hits]
    parts = [stream.integers(2, size=each.shape[1]).astype(bool) for each in hits]
    scores_SP, chosen = sampled_scores(hits, weights, parts, np.full((21, 3), 1 / 3))
    expected, choice = choose_by_other_half([*hits[0], *hits[1]], [parts[0], parts[0], parts[1]])
    np.testing.assert_allclose(scores_SP[0], [each.mean() for each in expected])
    assert chosen == choice


def test_p_values_over_sentences_are_those_of_a_paired_t_test():
    stats = pytest.importorskip("scipy.stats")
    stream = np.random.default_rng(3)
    one = (stream.random(400) < 0.5).astype(float)
    other = np.where(stream.random(400) < 0.2, stream.random(400) < 0.6, one)
    found = samples(np.stack([one, other])[:, None, :, None], [("en", "de")], resamples=20_000).p_value(0, 1)
    expected = stats.ttest_rel(one, other).pvalue
    assert 0.001 < expected < 0.2
    assert found == pytest.approx(expected, rel=0.05)


def test_p_values_over_languages_are_those_of_a_t_test_of_languages():
    """Where all sentences of a language agree, languages alone are the sample."""
    stats = pytest.importorskip("scipy.stats")
    lead_P = np.array([0.3, 0.1, 0.25, -0.05, 0.2])
    pairs = [("en", code) for code in CODES[1:]]
    scores_MPN = np.stack([np.repeat(0.5 + lead_P[:, None], 400, axis=1), np.full((5, 400), 0.5)])
    found = samples(scores_MPN[..., None], pairs, resamples=20_000)
    assert found.units == 5
    assert found.p_value(0, 1) == pytest.approx(stats.ttest_1samp(lead_P, 0).pvalue, rel=0.05)


@pytest.mark.parametrize("layers", [1, 3])
def test_equal_models_are_declared_different_rarely(layers: int):
    """Four equal models, each in the best of several equal layers: in at most 5 % of the draws any two differ."""
    draws, wrong = 200, 0
    for seed in range(draws):
        stream = np.random.default_rng(seed)
        difficulty_N = stream.random(120)
        hits_MPNC = (stream.random((4, 1, 120, layers)) < difficulty_N[:, None]).astype(float)
        found = samples(hits_MPNC, [("en", "de")], resamples=200)
        wrong += bool((found.holm_p_values() < 0.05).any())
    assert wrong / draws <= 0.05 + 2 * (0.05 * 0.95 / draws) ** 0.5


def test_models_that_differ_by_languages_alone_need_languages_to_be_resampled():
    """Each language prefers a model at random: over sentences they differ, over languages they do not."""
    draws, pairs = 100, list(combinations(CODES, 2))
    wrong = {"sentences": 0, "languages": 0}
    for seed in range(draws):
        stream = np.random.default_rng(seed)
        taste = dict(zip(CODES, stream.normal(size=6) * 0.1, strict=True))
        chance_P = np.array([0.5 + taste[one] + taste[other] for one, other in pairs])
        scores_MPN = np.stack(
            [stream.random((15, 150)) < chance_P[:, None], stream.random((15, 150)) < 1 - chance_P[:, None]]
        ).astype(float)
        for over in wrong:
            wrong[over] += samples(scores_MPN[..., None], pairs, resamples=200, over=over).p_value(0, 1) < 0.05
    assert wrong["languages"] / draws <= 0.1
    assert wrong["sentences"] / draws > 0.4


def test_a_pivot_is_not_resampled():
    weights_SP, over = _pair_weights([("en", code) for code in CODES[1:]], RankConfig(resamples=500))
    assert over == "languages"
    assert weights_SP[0].tolist() == [0.2] * 5
    np.testing.assert_allclose(weights_SP.sum(axis=1), 1)
    np.testing.assert_allclose(weights_SP * 5 % 1, 0, atol=1e-12)  # how often each language was drawn
    assert _pair_weights([("en", "de")], RankConfig(resamples=10))[1] == "sentences"


@settings(max_examples=60, deadline=None)
@given(count=st.integers(1, 7), seed=st.integers(0, 999), share=st.floats(0, 1))
def test_groups_of_ties_are_the_largest_ones(count: int, seed: int, share: float):
    upper = np.triu(np.random.default_rng(seed).random((count, count)) < share, 1)
    different = upper | upper.T
    groups = [set(group) for group in tie_groups(different)]
    for group in groups:
        assert not any(different[one, other] for one, other in combinations(group, 2))
        assert all(any(different[each, one] for one in group) for each in set(range(count)) - group)
    for one, other in combinations(range(count), 2):
        assert different[one, other] != any({one, other} <= group for group in groups)

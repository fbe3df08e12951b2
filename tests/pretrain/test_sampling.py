from __future__ import annotations

import json
import math
from collections import Counter
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.config import build_config
from isoglot.pretrain.batches import LanguageSampler, SamplingConfig
from tests.errors import raises

TOKENS = {"en": 800, "fr": 150, "sw": 50}


def test_shares_to_the_power():
    wanted = {code: count**0.7 for code, count in TOKENS.items()}
    total = sum(wanted.values())
    found = LanguageSampler(TOKENS).probabilities()
    assert found == pytest.approx({code: weight / total for code, weight in wanted.items()})


@pytest.mark.parametrize(("exponent", "wanted"), [(0, [1 / 3] * 3), (1, [0.8, 0.15, 0.05])])
def test_exponents_nought_and_one(exponent: float, wanted: list[float]):
    sampler = LanguageSampler(TOKENS, SamplingConfig(exponent=exponent))
    assert list(sampler.probabilities(0.5).values()) == pytest.approx(wanted)


def test_an_exponent_that_changes():
    sampler = LanguageSampler(TOKENS, SamplingConfig(exponent=1, exponent_end=0))
    assert list(sampler.probabilities(0).values()) == pytest.approx([0.8, 0.15, 0.05])
    half = LanguageSampler(TOKENS, SamplingConfig(exponent=0.5)).probabilities()
    assert sampler.probabilities(0.5) == pytest.approx(half)
    assert (
        list(sampler.probabilities(1).values()) == list(sampler.probabilities(7).values()) == pytest.approx([1 / 3] * 3)
    )


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 10**12), min_size=1), st.floats(0, 10))
def test_probabilities_add_up_and_keep_the_order_of_the_shares(tokens: dict[str, int], exponent: float):
    found = LanguageSampler(tokens, SamplingConfig(exponent=exponent)).probabilities()
    assert sum(found.values()) == pytest.approx(1)
    for one, other in permutations(tokens, 2):
        assert tokens[one] > tokens[other] or found[one] <= found[other] * (1 + 1e-12)


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0])
def test_languages_come_as_often_as_they_should(exponent: float):
    sampler = LanguageSampler(TOKENS, SamplingConfig(exponent=exponent), seed=3)
    size = 20_000
    seen = Counter(sampler.language(step) for step in range(size))
    for code, probability in sampler.probabilities().items():
        assert abs(seen[code] - size * probability) < 4 * math.sqrt(size * probability * (1 - probability))


def test_a_step_tells_nothing_of_the_next():
    sampler = LanguageSampler({"en": 1, "fr": 1}, seed=1)
    drawn = [sampler.language(step) for step in range(20_001)]
    pairs = Counter(pairwise(drawn))
    assert all(
        abs(pairs[one, other] - 5000) < 4 * math.sqrt(20_000 * 3 / 16) for one in ("en", "fr") for other in ("en", "fr")
    )


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.floats(0, 1))
def test_the_draw_depends_on_seed_and_step_alone(seed: int, step: int, progress: float):
    one = LanguageSampler(TOKENS, seed=seed)
    other = LanguageSampler(dict(reversed(TOKENS.items())), seed=seed)
    other.turn(step + 1, 8)
    assert one.language(step, progress) == other.language(step, progress) == one.language(step, progress)


def test_the_seed_matters():
    runs = [[LanguageSampler(TOKENS, seed=seed).language(step) for step in range(50)] for seed in (0, 1)]
    assert runs[0] != runs[1]


@given(st.integers(0, 1000), st.lists(st.tuples(st.integers(1, 64), st.floats(0, 1)), max_size=40), st.integers(0, 40))
def test_the_state_after_some_steps_is_that_of_a_replay(seed: int, steps: list[tuple[int, float]], cut: int):
    config = SamplingConfig(exponent=1, exponent_end=0.2)

    whole = LanguageSampler(TOKENS, config, seed=seed)
    turns = [whole.turn(step, rows, progress) for step, (rows, progress) in enumerate(steps)]
    halted = LanguageSampler(TOKENS, config, seed=seed)
    for step, (rows, progress) in enumerate(steps[:cut]):
        halted.turn(step, rows, progress)
    resumed = LanguageSampler(TOKENS, config, seed=seed)
    resumed.restore(json.loads(json.dumps(halted.state())))
    later = [resumed.turn(step, *steps[step]) for step in range(min(cut, len(steps)), len(steps))]
    assert later == turns[cut:]
    assert resumed.state() == whole.state()
    for code in TOKENS:  # the rows of a language follow each other without a gap
        at = 0
        for (language, first), (rows, _) in zip(turns, steps, strict=True):
            if language == code:
                assert first == at
                at += rows
        assert whole.rows[code] == at


def test_a_state_does_not_change_afterwards():
    sampler = LanguageSampler(TOKENS)
    state = sampler.state()
    sampler.turn(0, 8)
    assert state == dict.fromkeys(TOKENS, 0)
    assert sum(sampler.rows.values()) == 8


def test_what_is_refused():
    with raises("config.missing-data"):
        LanguageSampler({})
    with raises("config.missing-data", "'fr'"):
        LanguageSampler({"en": 3, "fr": 0})
    with raises("config.other-settings", "de", "en", "fr", "sw"):
        LanguageSampler(TOKENS).restore({"en": 3, "de": 1})
    with raises("config.invalid-value", -1, 0):
        build_config(SamplingConfig, settings=["exponent=-1"])

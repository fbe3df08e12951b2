"""Schedules of the learning rate: their formulas, and that they fit any budget."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from isoglot.core.config import build_config
from isoglot.pretrain.schedule import ScheduleConfig, rate_factor
from tests.errors import raises


@given(step=st.integers(1, 10**6))
def test_the_papers_schedule_is_its_formula(step: int):
    paper = ScheduleConfig(kind="inverse-sqrt", warmup=30_000)
    assert rate_factor(paper, step, 0.5) == pytest.approx(min(step / 30_000, math.sqrt(30_000 / step)))


@given(step=st.integers(1, 300_000))
def test_a_warm_up_of_a_tenth_is_30000_steps_of_300000(step: int):
    steps = ScheduleConfig(kind="inverse-sqrt", warmup=30_000)
    share = ScheduleConfig(kind="inverse-sqrt", warmup=0.1)
    assert rate_factor(share, step, step / 300_000) == pytest.approx(rate_factor(steps, step, 0.0))


def test_the_trapezoid_has_three_sides():
    config = ScheduleConfig(kind="trapezoid", warmup=0.1, cooldown=0.2, floor=0.1)
    path = {0.0: 0.0, 0.05: 0.5, 0.1: 1.0, 0.5: 1.0, 0.8: 1.0, 0.9: 0.55, 1.0: 0.1}
    assert {p: round(rate_factor(config, 1, p), 6) for p in path} == path


def test_a_trapezoid_has_room_for_its_three_sides():
    for settings in (["warmup=0.5", "cooldown=0.8"], ["warmup=0.9"]):
        with raises("config.invalid-value"):
            build_config(ScheduleConfig, settings=["kind=trapezoid", *settings])
    assert build_config(ScheduleConfig, settings=["kind=trapezoid", "warmup=0.2", "cooldown=0.8"]).cooldown == 0.8
    assert build_config(ScheduleConfig, settings=["kind=linear", "warmup=0.5", "cooldown=0.8"]).warmup == 0.5
    # A warm-up in steps may turn out to be longer than what the cooldown leaves: then the rate falls from its peak.
    steps = ScheduleConfig(kind="trapezoid", warmup=2, cooldown=0.8)
    assert [rate_factor(steps, step, step / 4) for step in (1, 2, 3, 4)] == [0.5, 1.0, 0.5, 0.0]


def test_linear_falls_from_the_end_of_the_warm_up():
    config = ScheduleConfig(kind="linear", warmup=0.5)
    assert [rate_factor(config, 1, p) for p in (0.25, 0.5, 0.75, 1.0)] == [0.5, 1.0, 0.5, 0.0]


@given(total=st.integers(2, 10_000), share=st.floats(0.01, 0.9), at=st.floats(0, 1))
def test_linear_is_the_same_with_its_warm_up_in_steps(total: int, share: float, at: float):
    """It begins to fall from the peak, not from where it would be without a warm-up."""
    warmup, step = max(1, round(share * total)), max(1, round(at * total))
    steps, fraction = (ScheduleConfig(kind="linear", warmup=one) for one in (warmup, warmup / total))
    progress = step / total
    assert rate_factor(steps, step, progress) == pytest.approx(rate_factor(fraction, step, progress), abs=1e-9)


@given(
    kind=st.sampled_from(["inverse-sqrt", "trapezoid", "linear"]),
    warmup=st.one_of(st.integers(0, 1000), st.floats(0, 1)),
    cooldown=st.floats(0, 1),
    step=st.integers(1, 10**6),
    progress=st.floats(0, 1),
)
def test_a_factor_lies_between_0_and_1(kind, warmup, cooldown, step, progress):
    assume(kind != "trapezoid" or isinstance(warmup, int) or warmup + cooldown <= 1)
    config = ScheduleConfig(kind=kind, warmup=warmup, cooldown=cooldown)
    assert 0 <= rate_factor(config, step, progress) <= 1


def test_a_whole_number_is_steps_and_a_fraction_a_share():
    assert isinstance(build_config(ScheduleConfig, settings=["warmup=30000"]).warmup, int)
    assert isinstance(build_config(ScheduleConfig, settings=["warmup=0.06"]).warmup, float)
    assert rate_factor(ScheduleConfig(kind="linear", warmup=0), 1, 0.0) == 1.0

"""Budgets: what a person writes, and how far a run is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import shown
from isoglot.pretrain.schedule import Budget, parse_budget
from tests.errors import raises


@pytest.mark.parametrize(
    ("text", "kind", "amount"),
    [
        ("8m", "time", 480),
        ("90s", "time", 90),
        ("1.5h", "time", 5400),
        ("2d", "time", 172_800),
        ("2000steps", "steps", 2000),
        ("0steps", "steps", 0),
        ("1 step", "steps", 1),
        ("400Mtokens", "tokens", 400_000_000),
        (" 1.5B tokens ", "tokens", 1_500_000_000),
        ("30k steps", "steps", 30_000),
        ("1,000,000tokens", "tokens", 1_000_000),
    ],
)
def test_budgets_are_read_as_written(text, kind, amount):
    assert parse_budget(text) == Budget(kind, amount)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("8", "config.malformed-option"),
        ("soon", "config.malformed-option"),
        ("-3steps", "config.malformed-option"),
        ("8parsecs", "config.malformed-option"),
        ("8Mm", "config.malformed-option"),
        ("1.5steps", "config.malformed-option"),
        ("9" * 309 + "h", "config.invalid-value"),
        ("9" * 309 + "steps", "config.invalid-value"),
    ],
)
def test_what_is_no_budget_is_refused_with_examples(text, code):
    with raises(code, shown(text), "2000steps"):
        parse_budget(text)


@given(steps=st.integers(1, 10**6), size=st.integers(1, 10**6))
def test_a_budget_of_tokens_is_spent_after_its_steps_and_not_before(steps: int, size: int):
    budget = Budget("tokens", steps * size - size // 2)
    assert budget.steps(size) == steps
    assert budget.used(steps=0, tokens=steps * size, seconds=0) == 1
    assert budget.used(steps=0, tokens=(steps - 1) * size, seconds=0) < 1


@given(count=st.integers(1, 1000), kind=st.sampled_from(["steps", "tokens"]))
def test_progress_rises_inside_the_run_and_is_never_0_or_1(count: int, kind):
    budget = Budget(kind, count if kind == "steps" else count * 10)
    path = [budget.progress(steps=n, tokens=10 * n, seconds=0, step_tokens=10) for n in range(count)]
    assert path == sorted(set(path))
    assert 0 < path[0] <= path[-1] < 1


def test_time_is_counted_by_the_clock():
    budget = parse_budget("8m")
    assert budget.steps(100) is None
    assert budget.progress(steps=7, tokens=700, seconds=120, step_tokens=100) == 0.25
    assert (
        budget.used(
            steps=7,
            tokens=700,
            seconds=500,
        )
        == 1.0
    )


def test_budgets_are_shown_as_people_say_them():
    assert [str(parse_budget(text)) for text in ("8m", "2ksteps")] == ["8 min 0 s", "2,000 steps"]


def test_nothing_is_spent_at_once():
    assert parse_budget("0steps").used(steps=0, tokens=0, seconds=0.0) == 1.0

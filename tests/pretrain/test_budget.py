"""Budgets: what a person writes, and how far a run is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigError, shown
from isoglot.pretrain.schedule import Budget, parse_budget


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
    ("text", "problem"),
    [
        ("8", "'8' is not a budget"),
        ("soon", "'soon' is not a budget"),
        ("-3steps", "'-3steps' is not a budget"),
        ("8parsecs", "'8parsecs': no unit 'parsecs'"),
        ("8Mm", "'8Mm': no unit 'Mm'"),
        ("1.5steps", "'1.5steps' is not a whole number of steps"),
        ("9" * 309 + "h", f"{shown('9' * 309 + 'h')} is too large a budget"),
        ("9" * 309 + "steps", f"{shown('9' * 309 + 'steps')} is too large a budget"),
    ],
)
def test_what_is_no_budget_is_refused_with_examples(text, problem):
    with pytest.raises(ConfigError) as error:
        parse_budget(text)
    assert str(error.value) == f"{problem}; write 8m, 90s, 2h, 2000steps or 400Mtokens"


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

"""Sharing plans: names and free form are the same thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.model.config import PLAN_NAMES, PLAN_PARTS, SharingPlan
from tests.errors import raises


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("default", "default"),
        ("sep-emb", "emb,pos,softmax"),
        ("sep-l1-3", "1-3"),
        ("sep-l1-6", "1-6"),
        ("sep-emb+l1-3", "emb,pos,1-3,softmax"),
        ("sep-emb+l1-6", "emb,pos,1-6,softmax"),
    ],
)
def test_the_papers_arms(name: str, text: str):
    plan = SharingPlan.parse(name, depth=8)
    assert plan.text == text
    assert plan.name == name
    assert SharingPlan.parse(text, depth=8) == plan


def test_every_name_is_a_plan():
    assert [SharingPlan.parse(name, 8).name for name in PLAN_NAMES] == list(PLAN_NAMES)


@given(
    private=st.frozensets(st.sampled_from(PLAN_PARTS)),
    layers=st.frozensets(st.integers(1, 12)),
)
def test_what_is_written_is_read_back(private, layers):
    plan = SharingPlan(private, layers)
    assert SharingPlan.parse(plan.text, depth=12) == plan
    assert SharingPlan.parse(plan.name, depth=12) == plan


def test_top_and_middle_layers():
    plan = SharingPlan.parse("4-5, 8", depth=8)
    assert [number for number in range(1, 9) if plan.layer_is_private(number)] == [4, 5, 8]
    assert plan.text == "4-5,8"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sep-l1-9", ("config.malformed-option", "'sep-l1-9'")),
        ("3-1", ("config.malformed-option", "'3-1'", "3-1")),
        ("0", ("config.malformed-option", "'0'", "0")),
        ("sep-embb", ("config.malformed-option", "'sep-embb'", "'embb'")),
        ("emb,sofmax", ("config.malformed-option", "'emb,sofmax'", "'sofmax'")),
    ],
)
def test_what_is_no_plan(text: str, expected: tuple[str, ...]):
    with raises(*expected):
        SharingPlan.parse(text, depth=8)

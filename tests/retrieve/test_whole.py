"""Searching all products at once finds what going through them block by block finds."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.core.arrays import paired_rows
from isoglot.retrieve.methods import METHODS, Direction, PairSearch
from isoglot.retrieve.metrics import bootstrap


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    different=st.integers(1, 60),
    k=st.integers(1, 12),
    method=st.sampled_from(METHODS),
    direction=st.sampled_from(get_args(Direction)),
    seed=st.integers(0, 2**16),
)
def test_equals_the_blocked_search(sizes, different, k, method, direction, seed):
    chance = np.random.default_rng(seed)
    X, Y = (chance.normal(size=(rows, 7))[chance.integers(min(different, rows), size=rows)] for rows in sizes)
    X_ND, Y_MD = paired_rows(X, Y, unit=method != "euclidean")
    searches = [PairSearch(X_ND, Y_MD, neighborhood=5, **how) for how in ({}, {"asked_only": True}, {"most": 0})]
    asked = torch.arange(sizes[0 if direction == "forward" else 1] - 1, -1, -2)
    for some in (None, asked):
        *found, blocked = (rules.best(method, direction, k, some) for rules in searches)
        for one in found:
            torch.testing.assert_close(one.scores_NK, blocked.scores_NK, rtol=1e-6, atol=1e-6)
            if different >= max(sizes):  # among duplicates a last bit may decide
                assert torch.equal(one.indices_NK, blocked.indices_NK)
    rows, columns = sizes if direction == "forward" else sizes[::-1]
    for chosen in (torch.arange(rows), torch.arange(rows)[::2]):
        pairs_P2 = torch.stack([chosen, chosen % columns], dim=1)
        *ranks, expected = (rules.ranks(method, direction, pairs_P2) for rules in searches)
        if different >= max(sizes):
            assert all(torch.equal(each, expected) for each in ranks)


def test_the_lower_of_equal_rows_comes_first():
    X_ND, Y_MD = paired_rows(np.eye(2), np.eye(2)[[1, 0, 0, 1]], unit=True)
    rules = PairSearch(X_ND, Y_MD)
    assert rules.best("cosine", "forward", 2).indices_NK.tolist() == [[1, 2], [0, 3]]
    assert rules.best("cosine", "forward", 1).indices_NK.tolist() == [[1], [0]]
    assert rules.ranks("cosine", "forward", torch.tensor([[0, 2], [0, 0], [1, 3]])).tolist() == [2, 3, 2]


def test_draws_are_the_same_whether_kept_or_made_in_parts(monkeypatch: pytest.MonkeyPatch):
    sums_QF = np.random.default_rng(0).random((30, 2))
    once = bootstrap(sums_QF, np.ones_like(sums_QF), resamples=50, seed=3)
    assert bootstrap(sums_QF, np.ones_like(sums_QF), resamples=50, seed=3) == once
    monkeypatch.setattr("isoglot.retrieve.metrics._COUNTS", 100)
    parts = bootstrap(sums_QF, np.ones_like(sums_QF), resamples=50, seed=3)
    for one, other in zip(once, parts, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-12)

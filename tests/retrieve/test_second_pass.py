"""A second pass over a prefix of the columns finds what one over all of them finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isoglot.core.arrays import paired_rows
from isoglot.retrieve import search as second_pass
from isoglot.retrieve.methods import PairSearch
from isoglot.retrieve.search import ScoringRule, search, search_both, values_of

KINDS = ("random", "clustered", "hubby", "duplicates", "grid")


def vectors(kind: str, rows: int, chance: np.random.Generator, shared: np.random.Generator) -> Any:
    centers = shared.normal(size=(4, 8))
    drawn = chance.normal(size=(rows, 8))
    match kind:
        case "random":
            return drawn
        case "clustered":  # tight: the neighborhoods of the clusters differ
            return centers[chance.integers(4, size=rows)] + drawn * chance.choice([0.01, 0.3, 1.0], size=(rows, 1))
        case "hubby":  # a few rows near the mean of all
            return np.where(chance.random((rows, 1)) < 0.1, 0.05 * drawn, drawn) + 0.7
        case "duplicates":
            return drawn[chance.integers(max(1, rows // 12), size=rows)]
        case _:  # small whole numbers: ties
            return np.sign(drawn.round()) + np.eye(8)[0] * 2


# Among these duplicates scores are near 0 by cancellation, where rounding could decide which copy a pass chooses.
@example(kinds=("duplicates",) * 2, sizes=(173, 50), k=1, neighborhood=11, method="csls", shape=(7, 16), seed=8782)
@settings(max_examples=60, deadline=None)
@given(
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    sizes=st.tuples(st.integers(1, 200), st.integers(1, 200)),
    k=st.integers(1, 40),
    neighborhood=st.integers(1, 12),
    method=st.sampled_from(["csls", "distance"]),
    shape=st.sampled_from([(7, 16), (64, 40), (1000, 1000)]),
    seed=st.integers(0, 2**16),
)
def test_equals_the_plain_pass(kinds, sizes, k, neighborhood, method, shape, seed):
    chance = np.random.default_rng(seed)
    X, Y = (vectors(kind, rows, chance, np.random.default_rng(seed)) for kind, rows in zip(kinds, sizes, strict=True))
    X_ND, Y_MD = paired_rows(X, Y, unit=True)
    rules = PairSearch(X_ND, Y_MD, neighborhood=neighborhood, most=0)
    for queries, answers, rule in (
        (X_ND, Y_MD, rules.rule(method, "forward")),
        (Y_MD, X_ND, rules.rule(method, "backward")),
    ):
        again = search(queries, answers, k, rule, shape=shape)
        plain = search(queries, answers, k, replace(rule, kept_NS=None))
        assert torch.equal(again.indices_NK, plain.indices_NK)
        assert torch.equal(again.scores_NK, plain.scores_NK)
        some = torch.arange(len(queries) - 1, -1, -2)
        part = search(queries[some], answers, k, rule.of_rows(some), shape=shape)
        assert torch.equal(part.indices_NK, plain.indices_NK[some])


@example(kinds=("clustered",) * 2, sizes=(200, 190), k=3, shape=(64, 40), seed=7)
@settings(max_examples=60, deadline=None)
@given(
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    sizes=st.tuples(st.integers(1, 200), st.integers(1, 200)),
    k=st.integers(1, 40),
    shape=st.sampled_from([(7, 16), (64, 40), (1000, 1000)]),
    seed=st.integers(0, 2**16),
)
def test_a_first_search_in_bfloat16_changes_nothing(kinds, sizes, k, shape, seed):
    chance = np.random.default_rng(seed)
    X, Y = (vectors(kind, rows, chance, np.random.default_rng(seed)) for kind, rows in zip(kinds, sizes, strict=True))
    X_ND, Y_MD = paired_rows(X, Y, unit=True)
    found = []
    for pays in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(second_pass, "_SCREENED", 0)
            patch.setattr(second_pass, "rounding_pays", lambda *_, pays=pays: pays)
            found.append(
                (*search_both(X_ND, Y_MD, k, ScoringRule(), shape=shape), search(X_ND, Y_MD, k, ScoringRule()))
            )
    tolerance = ScoringRule().tolerance(torch.cat([X_ND, Y_MD]), 1.001, slice(None)).max()
    for plain, screened in zip(*found, strict=True):
        assert torch.equal(plain.indices_NK, screened.indices_NK)
        assert torch.equal(plain.scores_NK, screened.scores_NK)
        if plain.kept_NS is not None:  # a second search relies on these values
            kept = [values_of(top.kept_NS) for top in (plain, screened)]
            assert torch.allclose(kept[0], kept[1], rtol=0, atol=2 * float(tolerance))


@pytest.mark.parametrize(("kind", "again"), [("random", (0, 0.2)), ("duplicates", (1, 1.1))])
def test_what_bfloat16_cannot_tell_apart_is_searched_in_float32(kind, again, monkeypatch):
    chance = np.random.default_rng(0)
    X_ND, Y_MD = paired_rows(*(vectors(kind, 1500, chance, np.random.default_rng(1)) for _ in "XY"), unit=True)
    Y_MD = Y_MD[:30].repeat(50, 1) if kind == "duplicates" else Y_MD
    products = {"multiply": 0, "multiply_rounded": 0}

    def counting(name: str):
        product = getattr(second_pass, name)

        def counted(X_BD, Y_CD, out_BC):
            products[name] += len(X_BD) * len(Y_CD)
            product(X_BD, Y_CD, out_BC)

        return counted

    for name in ("multiply", "multiply_rounded"):
        monkeypatch.setattr(second_pass, name, counting(name))
    monkeypatch.setattr(second_pass, "_SCREENED", 0)
    monkeypatch.setattr(second_pass, "rounding_pays", lambda *_: True)
    search(X_ND, Y_MD, 3, ScoringRule(), shape=(100, 1000))
    share = products["multiply"] / (len(X_ND) * len(Y_MD))
    assert again[0] <= share <= again[1]
    assert products["multiply_rounded"] == (len(X_ND) * len(Y_MD) if kind == "random" else 0)


def test_vectors_that_point_the_same_way_keep_more_entries_instead_of_whole_rows(monkeypatch):
    chance = np.random.default_rng(0)
    X, Y = (np.ones(8) * 4 + 0.05 * chance.normal(size=(2500, 8)) for _ in "XY")
    X_ND, Y_MD = paired_rows(X, Y, unit=True)
    lines = []
    whole = second_pass._whole_rows

    def counted(*some):
        lines.append(len(some[2]))
        return whole(*some)

    monkeypatch.setattr(second_pass, "_whole_rows", counted)
    found, counts = [], []
    for spares in ((4,), second_pass._SPARES):
        monkeypatch.setattr(second_pass, "_SPARES", spares)
        lines.clear()
        found.append(search(X_ND, Y_MD, 10, ScoringRule()).indices_NK)
        counts.append(sum(lines))
    assert torch.equal(*found)
    assert counts[0] > 250
    assert counts[1] < counts[0] / 10


@pytest.mark.parametrize(("kind", "least", "most"), [("random", 0, 0.5), ("clustered", 1, 0.95)])
def test_many_columns_are_passed_over(kind, least, most, monkeypatch):
    chance = np.random.default_rng(0)
    X, Y = (vectors(kind, 600, chance, np.random.default_rng(1)) for _ in "XY")
    X_ND, Y_MD = paired_rows(X, Y, unit=True)
    needs = []
    prefixes = second_pass._prefixes

    def counted(*arguments):
        needs.append(prefixes(*arguments))
        return needs[-1]

    monkeypatch.setattr(second_pass, "_prefixes", counted)
    rule = PairSearch(X_ND, Y_MD, most=0).rule("csls", "forward")
    again = search(X_ND, Y_MD, 10, rule)
    assert float(needs[0].double().mean()) < most * 600
    assert int(needs[0].max()) >= least
    assert rule.kept_NS is not None
    search(X_ND, Y_MD, rule.kept_NS.shape[1] - 3, rule)  # more than those kept can vouch for
    assert len(needs) == 1
    assert torch.equal(again.indices_NK, search(X_ND, Y_MD, 10, replace(rule, kept_NS=None)).indices_NK)

"""Means and neighborhoods of a test come from other rows than its queries: what is left out, and what that changes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from isoglot.core.arrays import paired_rows
from isoglot.retrieve import Gold, VectorSet, score_layers, score_retrieval
from isoglot.retrieve.estimates import Estimates, OtherText, SearchInputs, SearchView, fold_numbers, views
from isoglot.retrieve.evaluation import apart_from
from isoglot.retrieve.layer_scores import found_both
from isoglot.retrieve.methods import METHODS, PairSearch
from tests.errors import raises

N, D = 60, 7


def rows(seed: int, count: int = N, width: int = D) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def parts_of(X: np.ndarray, Y: np.ndarray, gold: Gold | None = None) -> list[SearchView]:
    gold = gold or Gold.one_to_one(len(X))
    inputs = SearchInputs((X, Y), (np.arange(len(X)), np.arange(len(Y))))
    return views(inputs, gold, "mean", Estimates(), seed=0)


def test_the_mean_a_query_sees_is_that_of_the_other_folds():
    X, Y = rows(0) + 5, rows(1) - 2
    seen = parts_of(X, Y)
    assert len(seen) == 5
    assert sum(view.parts[0].sources_N.sum() for view in seen) == N
    for view in seen:
        (part,) = view.parts
        assert (part.sources_N == part.targets_M).all()
        for side, given in ((view.X, X), (view.Y, Y)):
            expected = given - given[~part.sources_N].astype(np.float64).mean(axis=0)
            assert side == pytest.approx(expected, abs=1e-5)


def test_a_query_and_its_answer_never_enter_a_mean_that_they_see():
    """Change both beyond all measure: no other row of their view moves."""
    X, Y = rows(0), rows(1)
    gold = Gold.from_pairs([(row, (row * 7 + 3) % N) for row in range(N)] + [(4, 5), (9, 5)])
    before = parts_of(X, Y, gold)
    for query in (0, 4, 17):
        right = gold.pairs_P2[gold.pairs_P2[:, 0] == query, 1]
        far_X, far_Y = X.copy(), Y.copy()
        far_X[query] += 1e4
        far_Y[right] -= 1e4
        after = parts_of(far_X, far_Y, gold)
        (own,) = [number for number, view in enumerate(after) if view.parts[0].sources_N[query]]
        assert np.array_equal(np.delete(after[own].X, query, 0), np.delete(before[own].X, query, 0))
        assert np.array_equal(np.delete(after[own].Y, right, 0), np.delete(before[own].Y, right, 0))


def test_right_pairs_are_in_one_fold_and_other_rows_in_none():
    gold = Gold.from_pairs([(0, 0), (1, 0), (1, 2), (3, 4), (5, 4), (6, 7)])
    fold_X, fold_Y = fold_numbers(gold, 8, 9, 3, seed=1)
    assert (fold_X[gold.pairs_P2[:, 0]] == fold_Y[gold.pairs_P2[:, 1]]).all()
    assert set(np.flatnonzero(fold_X < 0)) == {2, 4, 7}
    assert set(np.flatnonzero(fold_Y < 0)) == {1, 3, 5, 6, 8}
    equal = fold_numbers(Gold.one_to_one(23), 23, 23, 5, seed=0)[0]
    assert sorted(np.bincount(equal)) == [4, 4, 5, 5, 5]


def test_own_means_find_more_than_the_true_ones_and_those_of_other_sentences_do_not():
    """The own mean is fitted to the queries: it is worth more than the language's true mean, which nobody can beat."""
    found: dict[str, list[float]] = {"own": [], "folds": [], "given": []}
    for seed in range(40):
        stream = np.random.default_rng(seed)
        said, means = stream.normal(size=(10, 30)), 4 * stream.normal(size=(2, 30))
        X, Y = (said + 1.5 * stream.normal(size=said.shape) + mean for mean in means)
        others = (OtherText(means[0]), OtherText(means[1]))
        for source, values in found.items():
            estimates = Estimates(means=source)  # type: ignore[arg-type]
            scores = score_retrieval(
                X, Y, methods=["cosine"], center="mean", estimates=estimates, others=others, resamples=1
            )
            values.append(found_both(scores, "cosine"))
    own, folds, true = (np.mean(found[source]) for source in ("own", "folds", "given"))
    assert own > true + 0.015
    assert folds < true + 0.005


def test_own_means_hide_a_domain_and_given_ones_show_it():
    """The means of the test are best for the test: with those of text of another domain less is found."""
    stream = np.random.default_rng(0)
    said = stream.normal(size=(200, 16))
    domain = {"en": 1.5 * stream.normal(size=16), "de": 1.5 * stream.normal(size=16)}
    X, Y = (said + 0.8 * stream.normal(size=said.shape) + domain[code] for code in ("en", "de"))
    others = (OtherText(np.zeros(16)), OtherText(np.zeros(16)))
    found = {
        source: found_both(
            score_retrieval(
                X, Y, methods=["cosine"], center="mean", estimates=Estimates(means=source), others=others, resamples=1
            ),
            "cosine",
        )
        for source in ("own", "folds", "given")
    }
    assert found["given"] < found["folds"] - 0.05
    assert found["folds"] <= found["own"] + 0.01


def test_given_means_are_what_is_removed():
    X, Y = rows(0), rows(0) + 3
    others = (OtherText(np.full(D, 0.5)), OtherText(np.full(D, 2.5)))
    found = score_retrieval(
        X, Y, methods=["cosine"], center="mean", estimates=Estimates(means="given"), others=others, resamples=1
    )
    expected = score_retrieval(X - 0.5, Y - 2.5, methods=["cosine"], resamples=1)
    assert [each.ranks_Q.tolist() for each in found.methods] == [each.ranks_Q.tolist() for each in expected.methods]
    with raises("config.missing-data"):
        score_retrieval(X, Y, center="mean", estimates=Estimates(means="given"))


def plain_csls(X, Y, folds, k: int) -> list[int]:
    """CSLS by loops: the neighborhood of y is made of queries of other folds than x's, without y's translation."""
    found = []
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (X.astype(float), Y.astype(float))]
    for query in range(len(X)):
        scores = []
        for answer in range(len(Y)):
            pool = [row for row in range(len(X)) if folds[row] != folds[query] and row != answer]
            near = sorted((unit[0][row] @ unit[1][answer] for row in pool), reverse=True)[:k]
            scores.append(2 * unit[0][query] @ unit[1][answer] - np.mean(near))
        found.append(1 + sum(score > scores[query] for score in scores))
    return found


@pytest.mark.parametrize("most", [2**22, 0])
def test_neighborhoods_are_made_of_other_queries(most: int):
    X = rows(0, 24)
    Y = X + 0.7 * rows(1, 24)
    gold = Gold.one_to_one(24)
    folds = fold_numbers(gold, 24, 24, 5, seed=0)[0]
    expected = plain_csls(X, Y, folds, 3)
    rules = PairSearch(*paired_rows(X, Y, unit=True), neighborhood=3, most=most)
    pairs = torch.from_numpy(gold.pairs_P2)
    for view in views(SearchInputs((X, Y), (np.arange(24),) * 2), gold, "none", Estimates(), seed=0):
        for part in view.parts:
            own = rules.apart(apart_from(part, (rules.X_ND, rules.Y_MD), gold))
            asked = np.flatnonzero(part.sources_N)
            assert own.ranks("csls", "forward", pairs[asked]).tolist() == [expected[row] for row in asked]
    found = score_retrieval(X, Y, methods=["csls"], estimates=Estimates(), neighborhood=3, resamples=1)
    assert found.of("csls").ranks_Q.tolist() == expected


def test_candidates_of_the_querys_fold_have_no_advantage():
    """Wrong answers come from the query's fold as often as others do: one in five."""
    same = total = 0
    for seed in range(12):
        X = rows(seed, 50)
        Y = X + 1.5 * rows(500 + seed, 50)
        folds = fold_numbers(Gold.one_to_one(50), 50, 50, 5, seed=0)[0]
        found = score_retrieval(X, Y, methods=["csls"], center="mean", estimates=Estimates(), resamples=1).of("csls")
        wrong = found.ranks_Q > 1
        same += (folds[found.found_QK[wrong, 0]] == folds[wrong]).sum()
        total += wrong.sum()
    assert same / total == pytest.approx(9 / 49, abs=0.06)


def test_of_noise_every_method_finds_what_chance_does():
    X, Y = rows(5, 600), rows(6, 600)
    found = score_retrieval(X, Y, methods=METHODS, center="mean", estimates=Estimates(), resamples=1)
    for method in METHODS:
        assert found_both(found, method) < 6 / 600, method  # chance is 1 / 600


def test_other_text_makes_neighborhoods():
    X, Y = rows(0, 20), rows(1, 20)
    others = (OtherText(rows=rows(2, 30)), OtherText(rows=rows(3, 30)))
    found = score_retrieval(
        X, Y, methods=["csls"], estimates=Estimates(neighborhoods="given"), others=others, neighborhood=4, resamples=1
    ).of("csls")
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (X, Y, rows(2, 30))]
    near = np.sort(unit[1] @ unit[2].T, axis=1)[:, -4:].mean(axis=1)
    scores = 2 * unit[0] @ unit[1].T - near
    assert found.found_QK[:, 0].tolist() == scores.argmax(axis=1).tolist()
    with raises("config.missing-data"):
        score_retrieval(X, Y, methods=["csls"], estimates=Estimates(neighborhoods="given"))


def test_rows_of_no_pair_count_in_the_means():
    X, Y = rows(0, 30), rows(1, 30)
    gold = Gold.one_to_one(10)
    for candidates in ("gold", "all"):
        score_retrieval(X, Y, gold, candidates=candidates, center="mean", estimates=Estimates(), resamples=1)
    inputs = SearchInputs((X, Y), (np.arange(10), np.arange(10)))
    (view, *_) = views(inputs, gold, "mean", Estimates(), seed=0)
    kept = np.ones(30, dtype=bool)
    kept[:10] = ~view.parts[0].sources_N
    assert pytest.approx(X[:10] - X[kept].mean(axis=0), abs=1e-5) == view.X


def test_too_few_rows_are_refused_by_name():
    with raises("input.too-few", "2"):
        score_layers(VectorSet(name="en", layers={0: rows(0, 2)}), VectorSet(name="de", layers={0: rows(1, 2)}))
    with raises("input.zero-row", "1"):
        score_layers(VectorSet(name="en", layers={0: rows(0, 4)}), VectorSet(name="de", layers={0: np.ones((4, D))}))
    with raises("config.invalid-value", "1"):
        Estimates(folds=1)

"""One pool of all languages: the query is no candidate, and a language of its own region is found out."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.core.errors import ConfigError, InputError
from isoglot.retrieve import RetrievalConfig, VectorSet, score_mixed
from isoglot.retrieve.estimates import OWN, Estimates, OtherText

CODES = ("en", "fr", "de")


def drawn(rows: int = 60, *, shift: float = 0.0, noise: float = 0.3, seed: int = 0) -> dict[str, VectorSet]:
    """Three languages that say the same, each moved by a vector of its own."""
    stream = np.random.default_rng(seed)
    meaning = stream.normal(size=(rows, 20))
    return {
        code: VectorSet(
            name=code, layers={0: meaning + noise * stream.normal(size=meaning.shape) + shift * stream.normal(size=20)}
        )
        for code in CODES
    }


def by_definition(pool: np.ndarray, rows: int, r: np.ndarray | None = None):
    """Order of the pool for every query, without the query, by cosine less half of r."""
    unit = pool / np.linalg.norm(pool, axis=1, keepdims=True)
    similarity = unit @ unit.T - (0 if r is None else r / 2)
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(-similarity, axis=1)[:, :-1]
    languages, sentences = order // rows, order % rows
    own = np.arange(len(pool))[:, None]
    right = sentences == own % rows
    wrong = np.argsort(right, axis=1, kind="stable")[:, :10]
    return order[:, 0], right[:, :2].mean(axis=1), np.take_along_axis(languages == own // rows, wrong, 1).mean(axis=1)


@pytest.mark.parametrize("center", ["none", "mean"])
def test_cosine_is_its_definition(center):
    sides = drawn(shift=1.0)
    found = score_mixed(sides, RetrievalConfig(methods=("cosine",), centers=(center,), estimates=OWN, resamples=10))
    rows = [side.layers[0] - (side.layers[0].mean(0) if center == "mean" else 0) for side in sides.values()]
    first, recall, own_share = by_definition(np.concatenate(rows), 60)
    (scores,) = found.scores
    assert scores.found_LN.ravel().tolist() == first.tolist()
    np.testing.assert_allclose(scores.recall_LN.ravel(), recall)
    np.testing.assert_allclose(scores.own_share_LN.ravel(), own_share)
    (figures,) = found.figures
    assert figures.precision.value == pytest.approx((first % 60 == np.arange(180) % 60).mean())
    assert figures.own_language.value == pytest.approx((first // 60 == np.arange(180) // 60).mean())
    parts = figures.precision.value + figures.own_language.value + figures.other_language.value
    assert parts == pytest.approx(1)
    np.testing.assert_allclose(scores.found_languages().sum(axis=1), 1)


def test_neighborhoods_leave_out_the_candidate_and_its_translations():
    sides = drawn(shift=0.5)
    found = score_mixed(
        sides, RetrievalConfig(methods=("csls",), centers=("none",), estimates=OWN, neighborhood=4, resamples=10)
    )
    pool = np.concatenate([side.layers[0] for side in sides.values()])
    unit = pool / np.linalg.norm(pool, axis=1, keepdims=True)
    similarity = unit @ unit.T
    number = np.arange(180) % 60
    similarity[number[:, None] == number] = -np.inf
    r = np.sort(similarity, axis=1)[:, -4:].mean(axis=1)
    assert found.scores[0].found_LN.ravel().tolist() == by_definition(pool, 60, r)[0].tolist()


def test_a_language_mean_is_found_out_and_removing_it_mends_it():
    found = score_mixed(drawn(rows=200, shift=2.0), RetrievalConfig(methods=("cosine",), resamples=50))
    before, after = found.figures
    assert before.own_language.low > 0.9
    assert before.own_share.low > 0.95
    assert after.precision.low > 0.9
    assert after.own_share.low - 0.03 < 1 / 3 < after.own_share.high + 0.03
    assert (found.best.center, found.candidates) == ("mean", 599)


def test_without_an_influence_of_the_language_its_share_is_at_chance():
    stream = np.random.default_rng(1)
    noise = {code: VectorSet(name=code, layers={0: stream.normal(size=(300, 12))}) for code in CODES}
    (figures,) = score_mixed(noise, RetrievalConfig(methods=("cosine",), centers=("none",), resamples=200)).figures
    assert figures.own_share.low < 1 / 3 < figures.own_share.high
    assert figures.precision.value < 0.02


def test_a_query_never_enters_the_mean_that_it_sees():
    """A fold with an outlier is searched as with means of the other folds."""
    config = RetrievalConfig(methods=("cosine",), centers=("mean",), resamples=10)
    sides = drawn(shift=1.0)
    far = {code: VectorSet(name=code, layers={0: side.layers[0].copy()}) for code, side in sides.items()}
    for side in far.values():
        side.layers[0][7] *= -50
    given: dict[str, dict[int | None, OtherText]] = {  # the means that the fold of row 7 sees, as given ones
        code: {0: OtherText(np.delete(side.layers[0], _fold(7), axis=0).mean(axis=0))} for code, side in sides.items()
    }
    given_sides = {code: VectorSet(name=code, layers=side.layers, others=given[code]) for code, side in far.items()}
    one = score_mixed(far, config).scores[0]
    other = score_mixed(
        given_sides,
        RetrievalConfig(methods=("cosine",), centers=("mean",), resamples=10, estimates=Estimates(means="given")),
    ).scores[0]
    assert (one.found_LN[:, _fold(7)] == other.found_LN[:, _fold(7)]).all()


def _fold(row: int) -> np.ndarray:
    from isoglot.retrieve.estimates import fold_numbers
    from isoglot.retrieve.metrics import Gold

    fold_N = fold_numbers(Gold.one_to_one(60), 60, 60, 5, seed=0)[0]
    return np.flatnonzero(fold_N == fold_N[row])


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(ConfigError) as refused:
        score_mixed(drawn(), RetrievalConfig(methods=("inverted_softmax",)))
    assert refused.value.code == "config.conflicting-options"
    with pytest.raises(InputError) as few:
        score_mixed(drawn(rows=2))
    assert few.value.code == "input.too-few"
    with pytest.raises(ConfigError) as refused:
        score_mixed(drawn(), RetrievalConfig(estimates=Estimates(means="given")))
    assert refused.value.code == "config.missing-data"

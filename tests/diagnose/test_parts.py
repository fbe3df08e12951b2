"""The parts of a check-up on made-up vectors whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.compare.parallel_sentences import builtin_set
from isoglot.diagnose.checkup import _mexa_over_layers
from isoglot.diagnose.layer_choice import RetrievalHits, choose_best, language_layers, sample_weights
from isoglot.diagnose.measurements import anisotropy, mean_distance
from isoglot.diagnose.retrieval import (
    VARIANTS,
    PairEstimates,
    SearchVariant,
    find_misses,
    find_translations,
    fold_numbers,
)
from isoglot.diagnose.sentence_vectors import distinct_rows
from isoglot.languages import twin
from isoglot.retrieve.estimates import OWN, Estimates, OtherText
from isoglot.retrieve.parallel_sets import ParallelSet
from isoglot.retrieve.simultaneous_intervals import chosen_interval, interval
from tests.errors import raises

N, D = 200, 24


def noise(*names: int, rows: int = N, width: int = D):
    return np.random.default_rng(names).normal(size=(rows, width)).astype(np.float32)


def turn(seed: int, width: int = D):
    return np.linalg.qr(noise(seed, rows=width, width=width))[0].astype(np.float32)


def found(result, way: str) -> float:
    return float(result.found_WN[VARIANTS.index(way)].mean())


# --- retrieval and maps ---


def test_a_planted_rotation_is_found_by_a_map_alone():
    X = noise(1)
    result = find_translations(X, X @ turn(2), fold_numbers(N, 5, seed=0))
    assert found(result, "mapped") == 1.0
    assert found(result, "centered") < 0.1


def test_a_planted_shift_is_found_by_centering():
    X = noise(1)
    result = find_translations(X, 0.2 * X + 40 * noise(3)[:1], fold_numbers(N, 5, seed=0))
    assert found(result, "centered") == found(result, "mapped") == 1.0
    assert found(result, "raw") < 0.6  # in one direction every query is as far from the shift as any other


def mexa_by_definition(X, Y) -> np.ndarray:
    """Kargaran et al. (2024): the diagonal is above all else in its row and its column."""
    cosines = (X / np.linalg.norm(X, axis=1, keepdims=True)) @ (Y / np.linalg.norm(Y, axis=1, keepdims=True)).T
    right = np.diag(cosines).copy()
    np.fill_diagonal(cosines, -np.inf)
    return np.asarray((right > cosines.max(axis=0)) & (right > cosines.max(axis=1)))


@pytest.mark.parametrize("amount", [0.0, 0.5, 2.0])
def test_mexa_is_its_definition(amount: float):
    X = noise(1)
    Y = X + amount * noise(2) + noise(3)[:1]
    mutual = find_translations(X, Y, fold_numbers(N, 5, seed=0)).mutual_N
    assert mutual.tolist() == mexa_by_definition(X.astype(float), Y.astype(float)).tolist()
    X[1], Y[1] = X[0], Y[0]  # a tie is no mutual best
    assert not find_translations(X, Y, fold_numbers(N, 5, seed=0)).mutual_N[:2].any()


def test_mexa_over_layers_and_pairs():
    samples_SPL = np.stack([np.array([[0.2, 0.6], [0.9, 0.1]]) + step for step in (0, -0.02, -0.01, 0.01, 0.02)])
    found = _mexa_over_layers(samples_SPL)
    assert [found.highest.value, found.mean.value] == pytest.approx([0.75, 0.45])
    assert found.highest.low < 0.74
    assert found.highest.high > 0.76
    alone = _mexa_over_layers(samples_SPL[:, :1])
    assert alone.highest == chosen_interval(samples_SPL[:, 0], 1)


@pytest.mark.parametrize("width", [4, D, 150])
def test_nothing_of_the_fold_leaks_into_what_it_sees(width: int):
    """With as many columns as rows to fit, a map fitted on its own fold would find everything."""
    hits = [
        find_translations(
            noise(seed, 1, width=width), noise(seed, 2, width=width), fold_numbers(N, 5, seed=seed)
        ).found_WN.mean(axis=1)
        for seed in range(6)
    ]
    assert (np.mean(hits, axis=0) < 4 / N).all()  # chance is 1 / N
    X, Y = noise(0, 1, width=150), noise(0, 2, width=150)
    leaked = find_translations(np.tile(X, (2, 1)), np.tile(Y, (2, 1)), np.repeat([0, 1], N))
    assert (
        leaked.found_WN[VARIANTS.index("mapped"), :N].mean() > 0.5
    )  # the other fold holds the same rows: a leak is seen


def test_a_sentence_never_enters_what_it_is_looked_for_by():
    """Change one sentence beyond all measure in both languages: the others of its fold are found as before."""
    X = noise(1)
    Y = X + 2 * noise(2)
    folds = fold_numbers(N, 5, seed=0)
    before = find_translations(X, Y, folds).found_WN
    row = 17
    X[row] *= 1e3
    Y[row] *= -1e3
    after = find_translations(X, Y, folds).found_WN
    mates = (folds == folds[row]) & (np.arange(N) != row)
    changed = (before != after)[:, mates].sum(axis=1)
    assert dict(zip(VARIANTS, changed.tolist(), strict=True))["centered"] <= 1  # only by finding that very sentence
    own = find_translations(X, Y, folds, means=PairEstimates(OWN)).found_WN
    assert (own != before)[VARIANTS.index("centered"), mates].sum() > 5


def test_own_means_are_the_means_of_all():
    X = noise(1)
    Y = X + noise(2) + 3
    folds = fold_numbers(N, 5, seed=0)
    own = find_translations(X, Y, folds, means=PairEstimates(OWN))
    moved = find_translations(X - X.mean(0), Y - Y.mean(0), folds, means=PairEstimates(OWN))
    assert np.array_equal(own.found_WN[VARIANTS.index("centered")], moved.found_WN[VARIANTS.index("raw")])
    given = PairEstimates(Estimates(means="given"), (OtherText(X.mean(0)), OtherText(Y.mean(0))))
    found = find_translations(X, Y, folds, means=given)
    assert np.array_equal(own.found_WN[VARIANTS.index("centered")], found.found_WN[VARIANTS.index("centered")])


def test_candidates_are_as_many_with_a_map_as_without():
    """A row of another fold can be found: here each has one nearer than its translation, in the other fold."""
    X = noise(1)
    folds = np.arange(N) % 2
    Y = X[np.arange(N) ^ 1]
    assert found(find_translations(X, Y, folds), "mapped") < 0.05


def test_folds_are_equal_parts():
    assert np.bincount(fold_numbers(23, 5, seed=1)).tolist() == [5, 5, 5, 4, 4]
    assert np.bincount(fold_numbers(3, 5, seed=1)).tolist() == [1, 1, 1]


def test_rows_without_a_direction_are_found_by_chance():
    X = np.ones((N, D), dtype=np.float32)
    result = find_translations(X, noise(1), fold_numbers(N, 5, seed=0))
    assert found(result, "centered") < 0.05
    assert found(find_translations(0 * X, noise(1), fold_numbers(N, 5, seed=0)), "raw") < 0.05


@pytest.mark.parametrize("way", ["raw", "centered"])
def test_misses_are_those_of_the_search_with_their_similarities_and_ranks(way: SearchVariant):
    X = noise(1)
    Y, folds = X + 1.5 * noise(2) + 3, fold_numbers(N, 5, seed=0)
    both = find_misses(X, Y, folds, way=way, most=7)
    hits_N = find_translations(X, Y, folds).found_WN[VARIANTS.index(way)]
    assert sum(one.total for one in both) == round(2 * (1 - hits_N).sum()) > 14
    for one, (queries, answers) in zip(both, ((X, Y), (Y, X)), strict=True):
        gaps = [miss.similarity_right - miss.similarity_found for miss in one.worst]
        assert len(gaps) == 7
        assert gaps == sorted(gaps)
        for miss in one.worst:
            apart = folds != folds[miss.row]
            gone = [side[apart].mean(0) if way == "centered" else 0 for side in (queries, answers)]
            query, candidates = queries[miss.row] - gone[0], answers - gone[1]
            cosines = candidates @ query / np.linalg.norm(candidates, axis=1) / np.linalg.norm(query)
            assert miss.found == cosines.argmax() != miss.row
            assert miss.rank == 1 + (cosines > cosines[miss.row]).sum()
            assert (miss.similarity_found, miss.similarity_right) == pytest.approx(
                (cosines.max(), cosines[miss.row]), abs=1e-5
            )
    full = find_misses(X, Y, folds, way=way, most=N)
    assert [one.worst[:7] for one in full] == [one.worst for one in both]


def test_nothing_is_missed_where_all_is_found():
    assert [one.total for one in find_misses(noise(1), noise(1), fold_numbers(N, 5, seed=0), way="raw", most=5)] == [
        0,
        0,
    ]


# --- shape ---


def test_mean_cosine_and_top_component_are_those_of_all_pairs():
    X = noise(1, rows=30) + 0.5
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines = unit @ unit.T
    values = np.linalg.eigvalsh(np.cov(X.T))
    facts = anisotropy(X)
    assert facts.mean_cosine == pytest.approx(cosines[~np.eye(30, dtype=bool)].mean(), abs=1e-6)
    assert facts.top_share == pytest.approx(values[-1] / values.sum(), rel=1e-5)
    wide = noise(1, rows=10)
    assert anisotropy(wide).top_share == pytest.approx(
        np.linalg.svd(wide - wide.mean(0))[1][0] ** 2 / ((wide - wide.mean(0)) ** 2).sum(), rel=1e-5
    )


def test_the_distance_of_equal_means_is_about_zero_whatever_chance_adds():
    few = [mean_distance(noise(seed, 1, rows=20), noise(seed, 2, rows=20)) ** 2 for seed in range(200)]
    plain = [
        np.sum((noise(seed, 1, rows=20).mean(0) - noise(seed, 2, rows=20).mean(0)) ** 2) / D for seed in range(200)
    ]
    assert np.mean(few) < 0.4 * np.mean(plain)
    X = noise(1)
    assert mean_distance(X, X + 3) == pytest.approx(3 * np.sqrt(D) / np.sqrt(X.var(axis=0).sum()), rel=1e-3)


# --- how sure ---


def test_an_interval_is_that_of_the_binomial():
    hits = (np.arange(400) < 100).astype(float)
    weights = sample_weights(400, 2000, seed=1)
    ends = interval(weights @ hits)
    assert ends.value == pytest.approx(0.25)
    half = 1.96 * np.sqrt(0.25 * 0.75 / 400)
    assert (ends.high - ends.low) / 2 == pytest.approx(half, rel=0.1)


def planted(best: int, way: str, layers: int = 5, height: float = 0.8, count: int = 300):
    """Three pairs in which one layer finds more, in one way."""
    chance = np.random.default_rng(0)
    found_PLWN = (chance.random((3, layers, len(VARIANTS), count)) < 0.3).astype(float)
    place = VARIANTS.index(way)
    found_PLWN[:, best, place] = chance.random((3, count)) < height
    return RetrievalHits.of_sets([found_PLWN], resamples=500, seed=0)


@pytest.mark.parametrize("count", [90, 300])
@pytest.mark.parametrize("way", ["raw", "centered"])
def test_the_planted_layer_is_found(way: str, count: int):
    best, best_SP = choose_best(planted(3, way, count=count), range(5))
    assert (best.layer, best.way, best.as_good, best.undecided) == (3, way, (), ())
    assert best.chosen_apart is (count == 300)
    assert (best.over_first or best.found).low > 0.2
    assert best.found.value == pytest.approx(0.8, abs=0.05)
    assert best.over_last is not None
    assert best.over_last.low > 0.2
    assert (best.centering.low > 0) is (way == "centered")
    assert best.csls.high < 0
    assert best_SP.shape == (501, 3)
    assert (best.top.layer, best.top.way, best.top.among) == (3, way, 5 * len(VARIANTS))


def test_where_nothing_is_better_nothing_is_said_to_be():
    """The best of many equal figures is the highest by chance; hardly ever is any of them claimed to be better."""
    claims = missed = sure = 0
    values = []
    for seed in range(40):
        chance = np.random.default_rng(seed)
        found_PLWN = (chance.random((1, 8, len(VARIANTS), 200)) < 0.3).astype(float)
        best, _ = choose_best(RetrievalHits.of_sets([found_PLWN], resamples=300, seed=seed), range(8))
        gains = (best.centering, best.csls, best.mapping)
        claims += best.way == "centered" or len({*best.as_good, *best.undecided}) < 7
        missed += not best.found.low <= 0.3 <= best.found.high
        sure += any(gain.low > 0 for gain in gains)
        values.append(best.found.value)
        assert best.top.found.value >= best.found.value - 0.1
    assert missed <= 6  # of 40, where 5 % are 2
    assert claims <= 7  # 5 % each of two things
    assert sure <= 7
    assert np.mean(values) == pytest.approx(0.3, abs=0.015)  # no luck of the choice is in it


def test_the_headline_is_the_highest_of_what_is_shown():
    """A map finds most, and not in the layer that is best by cosine."""
    chance = np.random.default_rng(3)
    found_PLWN = (chance.random((2, 4, len(VARIANTS), 400)) < 0.3).astype(float)
    found_PLWN[:, 2, VARIANTS.index("centered")] = chance.random((2, 400)) < 0.54
    found_PLWN[:, 1, VARIANTS.index("mapped")] = chance.random((2, 400)) < 0.6
    best, _ = choose_best(RetrievalHits.of_sets([found_PLWN], resamples=200, seed=0), range(4))
    assert (best.layer, best.way) == (2, "centered")
    assert (best.top.layer, best.top.way) == (1, "mapped")
    assert best.top.found.value == pytest.approx(found_PLWN.mean(axis=(0, 3)).max())
    assert best.top.held_out is not None
    assert best.top.held_out.value == pytest.approx(0.6, abs=0.05)


def test_a_language_with_a_best_layer_of_its_own_is_found():
    """Three pairs with English: Spanish is best in layer 0 and the others in layer 3."""
    chance = np.random.default_rng(4)
    found_PLWN = (chance.random((3, 4, len(VARIANTS), 300)) < 0.3).astype(float)
    found_PLWN[:2, 3] = chance.random((2, len(VARIANTS), 300)) < 0.8
    found_PLWN[2, 0] = chance.random((len(VARIANTS), 300)) < 0.45
    hits = RetrievalHits.of_sets([found_PLWN], resamples=300, seed=0)
    best, _ = choose_best(hits, range(4))
    pairs = [("en", "de"), ("en", "fr"), ("en", "es")]
    facts = language_layers(hits, range(4), pairs, ["en", "de", "fr", "es"], best)
    assert best.layer == 3
    assert {code: each["layer"] for code, each in facts.items()} == {"en": 3, "de": 3, "fr": 3, "es": 0}
    assert [code for code, each in facts.items() if each["layer_gain"] is not None] == ["es"]
    assert facts["es"]["layer_gain"].value == pytest.approx(0.15, abs=0.08)
    noise_PLWN = (chance.random((3, 4, len(VARIANTS), 300)) < 0.3).astype(float)
    hits = RetrievalHits.of_sets([noise_PLWN], resamples=300, seed=0)
    facts = language_layers(hits, range(4), pairs, ["en", "de", "fr", "es"], choose_best(hits, range(4))[0])
    assert all(each["layer_gain"] is None for each in facts.values())


# --- sentences ---


def test_built_in_sentences_stand_once_in_every_language():
    made = builtin_set(["en", "zh"], 300, seed=3)
    assert len(made) == 300
    assert {len(set(texts)) for texts in made.sentences.values()} == {300}
    assert distinct_rows(made).repeated == 0


def test_built_in_sentences_of_twins_are_made_of_their_language():
    made = builtin_set(["en", "en-x-shift", "de"], 40, seed=3)
    assert list(made.sentences) == ["en", "en-x-shift", "de"]
    for english, shifted in zip(made.sentences["en"], made.sentences["en-x-shift"], strict=True):
        assert shifted == " ".join(next(twin([english.split()], "shift")).tokens)
    assert distinct_rows(made).repeated == 0
    paraphrased = builtin_set(["en", "en-x-two"], 20)
    assert all(one != other for one, other in zip(*paraphrased.sentences.values(), strict=True))
    with raises("config.other-language", "en", "en-x-two"):
        builtin_set(["en", "de", "en-x-two"], 20)


def test_rows_that_repeat_a_sentence_are_left_out():
    english = [f"{number} cats" for number in range(12)]
    given = ParallelSet(
        name="x", sentences={"en": [*english, "0 cats"], "de": [*english, "other"]}, numbers=list(range(13))
    )
    kept = distinct_rows(given)
    assert (len(kept), kept.repeated) == (12, 1)
    with raises("input.too-few", 1, 10, file="x"):
        distinct_rows(ParallelSet(name="x", sentences={"en": ["a"], "de": ["b"]}, numbers=[1]))


def test_strong_directions_hide_translations_that_trimming_finds():
    chance = np.random.default_rng(0)
    said = chance.normal(size=(200, 16))
    noise = chance.normal(size=(2, 200, 2)) * 300
    X, Y = (np.concatenate([said, loud], axis=1).astype(np.float32) for loud in noise)
    result = find_translations(X, Y, fold_numbers(200, 5, seed=0))
    assert found(result, "centered") < 0.1
    assert found(result, "trimmed") > 0.95


def test_trimming_two_rows_of_two_columns_leaves_what_can_be_left():
    result = find_translations(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), np.array([0, 1]))
    assert np.isfinite(result.found_WN).all()

"""Planted defects: found, named, and mended where they can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoglot.diagnose.repair.choice import FixConfig, choose
from isoglot.diagnose.repair.cross_validation import Candidate, ParallelVectors, Trial
from isoglot.diagnose.repair.treatments import NAMES, TREATMENTS, Moments, Sample
from isoglot.diagnose.retrieval import fold_numbers
from tests.errors import raises

N, D = 240, 32
CODES = ("en", "de", "fr", "ru")


def noise(*names: int, rows: int = N, width: int = D):
    return np.random.default_rng(names).normal(size=(rows, width)).astype(np.float32)


def clean() -> dict[str, np.ndarray]:
    """One meaning in four languages, with some noise of their own."""
    return {code: noise(0) + 0.5 * noise(1, number) for number, code in enumerate(CODES)}


def trial(rows: dict[str, np.ndarray], **layers: dict[str, np.ndarray]) -> Trial:
    vectors = {code: {1: each} for code, each in rows.items()}
    return Trial(
        sets=[ParallelVectors(name="made up", vectors=vectors, folds_N=fold_numbers(N, 5, seed=0))], pivot="en"
    )


def p_at_1(found, candidate: Candidate) -> float:
    return next(float(each.found.value) for each in found.tried if (each.layer, each.name) == candidate)


def fixed(rows: dict[str, np.ndarray], languages="known", **settings):
    return choose(trial(rows), FixConfig(resamples=200, languages=languages, **settings))


def test_a_healthy_model_is_left_alone():
    found = fixed(clean())
    assert found.best == found.before == Candidate(1, "none")
    assert not found.recommended
    assert found.gain.value == 0


@pytest.mark.parametrize("languages", ["known", "unknown"])
def test_a_planted_mean_is_mended(languages: str):
    rows = clean()
    whole = fixed(rows).tried[0].found.value
    rows["de"] = rows["de"] + 20 * noise(2, rows=1)
    found = fixed(rows, languages=languages)
    assert p_at_1(found, found.before) < whole - 0.1
    assert found.recommended
    assert p_at_1(found, found.best) > whole - 0.01
    assert TREATMENTS[found.best.name].needs_language is False  # one mean is erased as well by a projection


def test_a_planted_rotation_is_mended_by_a_rotation_alone():
    rows = clean()
    whole = fixed(rows).tried[0].found.value
    rows["de"] = rows["de"] @ np.linalg.qr(noise(3, rows=D))[0]
    found = fixed(rows)
    assert found.best.name == "rotation"
    assert found.fallback is not None
    assert p_at_1(found, found.best) > whole - 0.01
    assert not fixed(rows, languages="unknown").recommended


def test_a_planted_outlier_direction_is_mended():
    rows = clean()
    whole = fixed(rows).tried[0].found.value
    for number, code in enumerate(CODES):
        rows[code][:, 5] = 60 * noise(4, number, width=1)[:, 0]
    found = fixed(rows, languages="unknown")
    assert p_at_1(found, found.before) < 0.5
    assert found.recommended
    assert found.best.name in ("trimmed", "whitening")
    assert p_at_1(found, found.best) > whole - 0.02  # a dimension of 32 is gone for good


def test_noise_cannot_be_mended():
    rows = clean()
    rows["ru"] = noise(5)
    found = fixed(rows)
    assert all(each.after.high < 0.05 for each in found.pairs if "ru" in (each.source, each.target))
    assert found.beyond_repair == ("ru",)
    assert fixed(clean()).beyond_repair == ()


def test_no_fix_finds_translations_in_noise():
    """Folds keep a sentence out of what it is searched with: on noise every fix is at chance."""
    rows = {code: noise(6, number) for number, code in enumerate(CODES)}
    found = fixed(rows)
    assert max(each.found.value for each in found.tried) < 4 / N
    assert not found.recommended


@pytest.mark.parametrize("name", NAMES)
def test_a_fix_is_affine_and_does_what_it_says(name):
    rows = {code: 3 * each + 5 * noise(7, number, rows=1) for number, (code, each) in enumerate(clean().items())}
    moments = {code: Moments.of(each) for code, each in rows.items()}
    maps = TREATMENTS[name].fit(Sample(moments, {code: (rows[code], rows["en"]) for code in CODES[1:]}, "en"))
    assert (len({id(each) for each in maps.values()}) > 1) == TREATMENTS[name].needs_language
    if name in ("means", "means-whitening", "rotation", "leace", "leace-whitening"):
        means = [maps[code](rows[code]).mean(axis=0) for code in CODES]
        assert np.allclose(means, means[0], atol=1e-3)
    if name in ("whitening", "leace-whitening"):
        everything = np.concatenate([maps[code](rows[code]) for code in CODES])
        largest = np.linalg.eigvalsh(np.cov(everything.T))[-1]
        assert largest == pytest.approx(1, abs=0.05)


def test_the_cost_to_a_language_alone_is_seen():
    """Sentences that differ in two directions only are found by them, and no more once those are removed."""
    assert all(each.kept.value == pytest.approx(1) for each in fixed(clean()).languages)
    rows = {code: 0.01 * noise(9, number) for number, code in enumerate(CODES)}
    for number, code in enumerate(CODES):
        rows[code][:, :2] += 10 * noise(8, width=2) + 0.1 * noise(10, number, width=2)
    given = trial(rows)
    numbers = np.arange(0, N, 2)
    copies = {code: (numbers, {1: rows[code][numbers] + 0.02 * noise(11, rows=len(numbers))}) for code in CODES}
    given = replace(given, sets=[replace(given.sets[0], copies=copies)])
    found = choose(given, FixConfig(resamples=200, method="trimmed"))
    assert not found.recommended
    assert all(each.kept.value < 0.5 and each.change and each.change.high < 0 for each in found.languages)


def test_bad_input_is_one_line():
    whole = trial(clean())
    short = replace(
        whole.sets[0], vectors={c: {1: v[1][:20]} for c, v in whole.sets[0].vectors.items()}, folds_N=np.arange(20) % 5
    )
    with raises("input.too-few", 20, 50):
        choose(replace(whole, sets=[short]))
    uneven = {**whole.sets[0].vectors, "de": {1: noise(0, width=16)}}
    with raises("input.shape", 16, 32):
        choose(replace(whole, sets=[replace(whole.sets[0], vectors=uneven)]))
    with raises("config.missing-data", "en"):
        choose(replace(whole, sets=[replace(whole.sets[0], vectors={"en": {1: noise(0)}})]))

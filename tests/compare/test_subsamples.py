"""CKA in subsamples equals CKA of those rows alone."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.compare import cka, paper_cka
from isoglot.compare.cka_inference import subsampled_cka


def test_every_subsample_has_the_value_of_its_rows_alone() -> None:
    stream = np.random.default_rng(0)
    X = stream.normal(size=(40, 6)) + 1
    Y = X @ stream.normal(size=(6, 9)) + stream.normal(size=(40, 9))
    members = np.zeros((5, 40), dtype=bool)
    for row in members:
        row[stream.permutation(40)[:17]] = True
    members[4] = True
    found = subsampled_cka(X, Y, members)
    for number, rows in enumerate(members):
        assert found.paper[number] == pytest.approx(paper_cka(X[rows], Y[rows]))
        assert found.centered[number] == pytest.approx(cka(X[rows], Y[rows]))
        assert found.debiased[number] == pytest.approx(cka(X[rows], Y[rows], debiased=True))


def test_halves_vary_as_much_as_samples_do() -> None:
    stream = np.random.default_rng(1)
    sampled, spreads = [], []
    for _ in range(120):
        X = stream.normal(size=(60, 3))
        Y = X + stream.normal(size=(60, 3))
        halves = np.zeros((40, 60), dtype=bool)
        for row in halves:
            row[stream.permutation(60)[:30]] = True
        sampled.append(cka(X, Y, debiased=True))
        spreads.append(subsampled_cka(X, Y, halves).debiased.std())
    assert np.mean(spreads) == pytest.approx(np.std(sampled), rel=0.3)

"""Every layer at once: the same figures as one by one, and a planted shift that centering takes away."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.retrieve import Gold, VectorSet, score_layers, score_retrieval
from isoglot.retrieve.estimates import OWN, Center
from isoglot.retrieve.results import metrics_csv, write_pairs
from tests.errors import raises


def sides(layers: int = 3, rows: int = 40, shift: float = 3.0, noise: float = 0.5) -> tuple[VectorSet, VectorSet]:
    stream = np.random.default_rng(0)
    X, error = stream.normal(size=(2, layers, rows, 8)).astype(np.float32)
    Y = X + noise * error + shift * np.arange(8, dtype=np.float32)
    return VectorSet(name="en", layers=dict(enumerate(X))), VectorSet(name="fr", layers=dict(enumerate(Y)))


def test_each_layer_equals_a_scoring_of_its_own():
    source, target = sides()
    pair = score_layers(source, target, methods=["cosine", "ratio"], estimates=OWN, resamples=30, seed=4)
    center: Center
    for layer, X in source.layers.items():
        Y = target.layers[layer]
        for center, A, B in (("none", X, Y), ("mean", X - X.mean(0), Y - Y.mean(0))):
            alone = score_retrieval(A, B, methods=["cosine", "ratio"], resamples=30, seed=4)
            for found, expected in zip(pair.of(layer, center).methods, alone.methods, strict=True):
                assert found.precision == expected.precision
                assert found.mrr.value == pytest.approx(expected.mrr.value)
    with pytest.raises(KeyError):
        pair.of(7, "none")


def test_centering_takes_a_shift_away():
    shifted, plain = (
        score_layers(*sides(shift=shift, noise=0.2), methods=["cosine"], resamples=5) for shift in (3.0, 0.0)
    )
    for layer in (0, 1, 2):
        # Asked from the shifted side, all queries point one way, and one hub answers them.
        lost = shifted.of(layer, "none").of("cosine", "backward")
        found = shifted.of(layer, "mean").of("cosine", "backward")
        assert found.precision == plain.of(layer, "mean").of("cosine", "backward").precision
        assert found.precision[1].value > 0.9
        assert lost.precision[1].value < 0.2
        assert lost.hubness > 1 > found.hubness
    assert shifted.best.center == "mean"
    assert shifted.chance == 1 / 40


@settings(max_examples=20)
@given(st.permutations(range(12)))
def test_a_permuted_target_is_found_by_its_gold(order: list[int]):
    X = np.random.default_rng(1).normal(size=(12, 6)).astype(np.float32)
    gold = Gold.from_pairs([(row, place) for place, row in enumerate(order)])
    pair = score_layers(
        VectorSet(name="a", layers={None: X}), VectorSet(name="b", layers={5: X[order]}), gold, resamples=2
    )
    assert pair.best[:2] == (None, "none")
    assert pair.best.value == 1.0


def test_files_are_tables(tmp_path):
    source, target = sides(layers=2, rows=5)
    source = VectorSet(name="en", layers=source.layers, items=["a\tb", "c", "d", "e", "f"], numbers=[1, 2, 3, 5, 8])
    pair = score_layers(source, target, methods=["csls"], resamples=5)
    lines = metrics_csv([pair, pair]).splitlines()
    assert len(lines) == 1 + 2 * 2 * 2 * 2
    assert len({line.count(",") for line in lines}) == 1
    assert write_pairs(tmp_path / "pairs.tsv", [pair], "all") == 1 + 2 * 2 * 2 * 5
    rows = [line.split("\t") for line in (tmp_path / "pairs.tsv").read_text().splitlines()]
    assert {len(row) for row in rows} == {12}
    assert rows[1][5:7] == ["1", "a b"]
    assert rows[5][5:7] == ["8", "f"]


def test_no_such_center():
    with raises("config.unknown-name", "'meen'"):
        score_layers(*sides(), centers=["meen"])

"""Maps without pairs: planted rotations are found and said to be, and what cannot be found is said not to be."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.align import (
    AlignConfig,
    Center,
    MiniVec2Vec,
    Steps,
    UnitLength,
    Vecmap,
    align_sentences,
    load_map,
    make_map,
)
from isoglot.align.maps.unsupervised import _kept, best_assignment, k_means, null_space, similar_shapes
from isoglot.retrieve import csls

N, D = 600, 24
MAPS: dict[str, Any] = {"vecmap": Vecmap, "mini-vec2vec": lambda: MiniVec2Vec(runs=15, rounds=60)}


def clustered(rng: np.random.Generator, rows: int = N) -> np.ndarray:
    """Rows in 20 clusters of different sizes and spreads, with more variance in some directions than in others."""
    scale = np.linspace(2, 0.3, D)
    which = rng.choice(20, rows, p=rng.dirichlet(np.full(20, 2)))
    spread = 0.6 * rng.gamma(4, 0.25, size=(20, 1))
    return np.asarray(rng.normal(size=(20, D))[which] * scale + spread[which] * rng.normal(size=(rows, D)) * scale)


def turned(X: np.ndarray, rng: np.random.Generator, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows turned, with noise and in another order; the order; and the rotation."""
    turn = np.linalg.qr(rng.normal(size=(D, D)))[0]
    order = rng.permutation(len(X))
    Y = np.empty_like(X)
    Y[order] = X @ turn + noise * rng.normal(size=X.shape)
    return Y, order, turn


def fit(name: str, X: np.ndarray, Y: np.ndarray) -> tuple[Steps, Any]:
    found = Steps([UnitLength(), Center(), UnitLength(), MAPS[name]()]).fit(X, Y)
    return found, found.source_[-1]


def precision(found: Steps, X: np.ndarray, Y: np.ndarray, order: np.ndarray) -> float:
    return float((csls(found.transform(X), found.transform_target(Y), k=1).indices_NK[:, 0] == order).mean())


@pytest.mark.parametrize("name", MAPS)
def test_a_planted_rotation_is_found_and_said_to_be(name: str, tmp_path: Path):
    rng = np.random.default_rng(1)
    X = clustered(rng)
    Y, order, _ = turned(X, rng)
    kept = np.setdiff1d(np.arange(N), order[:40])  # 40 rows have no partner
    found, own = fit(name, X, Y[kept])
    known = np.isin(order, kept)
    assert precision(found, X[known], Y, order[known]) > 0.9
    assert own.convergence.converged
    assert str(own.convergence).startswith("converged: ")
    assert load_map(found.save(tmp_path)).source_[-1].convergence == own.convergence


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", ["unrelated", "isotropic", "gaussian"])
def test_what_cannot_be_found_is_said_not_to_be(name: str, kind: str):
    """Other clusters; no direction unlike the others; directions that are known, but not their signs."""
    rng = np.random.default_rng(2)
    scale = np.ones(D) if kind == "isotropic" else np.arange(1, D + 1) ** -1.0
    X, Y = (clustered(rng) if kind == "unrelated" else rng.normal(size=(N, D)) * scale for _ in "XY")
    _, own = fit(name, X, Y)
    assert not own.convergence.converged
    assert str(own.convergence).startswith("did not converge: ")


def test_mini_vec2vec_needs_no_row_of_one_side_on_the_other():
    rng = np.random.default_rng(0)
    both = clustered(rng, 4 * N + 300)
    turn = np.linalg.qr(rng.normal(size=(D, D)))[0]
    one, other, unseen = np.split(both, [2 * N, 4 * N])
    found = Steps([UnitLength(), Center(), UnitLength(), MiniVec2Vec(starts=0)]).fit(one, other @ turn)
    assert precision(found, unseen, unseen @ turn, np.arange(300)) > 0.9


@pytest.mark.parametrize("name", MAPS)
def test_pairs_are_ignored(name: str):
    rng = np.random.default_rng(3)
    X, Y = clustered(rng, 90), clustered(rng, 80)
    quick = MAPS[name]().set_params(starts=0)
    one, two = (quick.clone().fit(X, Y, pairs=pairs) for pairs in (None, np.array([[0, 1], [5, 2]])))
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    assert one.convergence is None
    assert not np.array_equal(quick.clone().set_params(seed=1).fit(X, Y).transform(X), one.transform(X))


# --- parts ---


@given(st.integers(2, 6), st.integers(0, 10_000))
@settings(max_examples=30)
def test_the_assignment_is_the_best_of_all(count: int, seed: int):
    own, other = (each @ each.T for each in np.random.default_rng(seed).normal(size=(2, count, 3)))
    chance = torch.Generator().manual_seed(seed)
    order = best_assignment(torch.from_numpy(own), torch.from_numpy(other), 50, chance).numpy()
    every = [(own * other[np.ix_(each, each)]).sum() for each in permutations(range(count))]
    assert (own * other[np.ix_(order, order)]).sum() == pytest.approx(max(every))


def test_agreement_is_that_of_mutual_neighbors():
    """Rows 0 and 1 of X are the neighbors of theirs; row 2 has a neighbor that prefers row 0, and does not count."""
    own = torch.tensor([[0, 0], [1, 1], [2, 0], [0, 0], [1, 1]])
    assert _kept(own, own, 3) == 1
    assert _kept(own, torch.tensor([[0, 0], [1, 0], [2, 1], [0, 0], [1, 1]]), 3) == 0.5
    assert _kept(torch.tensor([[0, 0], [1, 0]]), own, 1) == 0  # no mutual neighbors


def test_centers_are_the_means_of_their_rows():
    rows = torch.tensor([[0.0, 0], [0, 2], [10, 0], [10, 4]])
    assert k_means(rows, rows[[0, 2]]).tolist() == [[0, 1], [10, 2]]
    assert k_means(rows, torch.tensor([[5.0, 1], [99, 99]])).tolist() == [[5, 1.5], [99, 99]]  # nothing is near this


def test_shapes_do_not_change_under_rotation():
    rng = np.random.default_rng(4)
    X = clustered(rng, 50)
    Y, order, _ = turned(X, rng, noise=0)
    pairs = similar_shapes(torch.from_numpy(X), torch.from_numpy(Y), 4000, 5)
    assert len(pairs) == 100
    np.testing.assert_array_equal(pairs[:50, 1], order)
    np.testing.assert_array_equal(pairs[50:, 0], np.argsort(order))


def test_a_null_space_has_the_same_covariance_but_another_shape():
    Y = torch.from_numpy(clustered(np.random.default_rng(5), 5000))
    null = null_space(Y, torch.Generator().manual_seed(0))
    np.testing.assert_allclose(null.norm(dim=1), Y.norm(dim=1))
    spectra = [torch.linalg.eigvalsh(torch.cov(side.T)) for side in (Y, null)]
    assert float((spectra[0] - spectra[1]).norm() / spectra[0].norm()) < 0.2
    assert float(((Y @ Y.T) - (null @ null.T)).norm() / (Y @ Y.T).norm()) > 0.3


# --- uses ---


def test_the_config_makes_them_with_its_seed():
    made: Any = make_map(AlignConfig(method="vecmap", seed=3, options={"starts": 1}))
    assert repr(made).startswith("Steps(steps=[UnitLength(), Center(), UnitLength(), Vecmap(")
    assert (made.steps[-1].seed, made.steps[-1].starts) == (3, 1)


def test_sentences_without_pairs(encoder, turned, tmp_path: Path):
    from isoglot.languages import documents

    made = (sentence.text for document in documents("en", seed=3) for sentence in document)
    pairs = [(text, text) for text in dict.fromkeys(next(made) for _ in range(300))]
    config = AlignConfig(method="vecmap", resamples=10, options={"starts": 1, "patience": 2})
    result = align_sentences(encoder, turned, pairs, languages=("en", "fr"), config=config, layers=[1])
    (layer,) = result.layers
    assert layer.convergence is not None
    assert layer.after.of("csls").precision[1].value > (0.9 if layer.convergence.converged else -1)
    assert result.as_dict()["layers"][0]["convergence"]["converged"] is layer.convergence.converged
    disjoint = config.model_copy(update={"disjoint": True})
    other = align_sentences(encoder, turned, pairs, languages=("en", "fr"), config=disjoint, layers=[1])
    sizes = [len(each.layers[0].mapping.source_[-1].pairs_) for each in (result, other)]  # type: ignore[attr-defined]
    assert sizes == [2 * result.train, 2 * (result.train // 2) + result.train % 2]

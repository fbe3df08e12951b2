"""LEACE against its two theorems: no linear probe beats chance, and no other affine map gets there with less change."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.steer import LEACE, LSAR, MeanRemoval

CODES = ("en", "de", "fr", "ru")


def rows(seed: int, count: int = 400, width: int = 8, languages: int = 4, rank: int | None = None):
    """Languages that differ in mean and spread; with a rank, all rows in a subspace of it."""
    chance = np.random.default_rng(seed)
    of = chance.choice(languages, count, p=np.arange(1, languages + 1) / sum(range(1, languages + 1)))
    of[:languages] = range(languages)
    inner = rank or width
    places, shapes = chance.normal(size=(languages, inner)) * 2, chance.normal(size=(languages, inner, inner))
    X = places[of] + np.einsum("nd,nde->ne", chance.normal(size=(count, inner)), shapes[of])
    return (X if rank is None else X @ chance.normal(size=(rank, width)) + 1), of


def codes(of: np.ndarray) -> list[str]:
    return [CODES[number] for number in of]


def labels(of: np.ndarray) -> np.ndarray:
    return np.asarray(np.eye(of.max() + 1)[of])


def logistic(X: np.ndarray, of: np.ndarray, steps: int = 60) -> tuple[float, float]:
    """Accuracy and cross entropy of multinomial logistic regression, by damped Newton steps."""
    X = (X - X.mean(axis=0)) / X.std(axis=0).clip(min=1e-9)
    X_ND = torch.from_numpy(np.c_[X, np.ones(len(X))])
    Y = torch.from_numpy(labels(of))
    W = torch.zeros(X_ND.shape[1], Y.shape[1], dtype=torch.float64)
    eye = 1e-9 * torch.eye(W.numel(), dtype=torch.float64)

    def loss(W: torch.Tensor) -> float:
        return float(-(torch.log_softmax(X_ND @ W, 1) * Y).sum(1).mean())

    for _ in range(steps):
        P = torch.softmax(X_ND @ W, 1)
        gradient = (X_ND.T @ (P - Y) / len(X)).flatten()
        S = torch.diag_embed(P) - P[:, :, None] * P[:, None, :]
        H = torch.einsum("nd,nkl,ne->dkel", X_ND, S, X_ND).reshape(W.numel(), -1) / len(X)
        step, now, size = torch.linalg.solve(H + eye, gradient).view_as(W), loss(W), 1.0
        while loss(W - size * step) > now + 1e-12 and size > 1e-6:
            size /= 2
        W = W - size * step
    return float(((X_ND @ W).argmax(1) == Y.argmax(1)).double().mean()), loss(W)


def test_no_linear_probe_beats_chance():
    X, of = rows(0)
    shares = np.bincount(of) / len(of)
    chance_loss, majority = -(shares * np.log(shares)).sum(), shares.max()
    accuracy, loss = logistic(X, of)
    assert accuracy > 0.85
    assert loss < 0.5 * chance_loss
    Z = LEACE().fit_transform(X, codes(of))
    accuracy, loss = logistic(Z, of)
    assert abs(loss - chance_loss) < 1e-8  # no better than knowing how frequent each language is
    assert accuracy == majority
    Y = labels(of) - shares
    weights = np.linalg.lstsq(Z - Z.mean(axis=0), Y, rcond=None)[0]
    assert np.abs((Z - Z.mean(axis=0)) @ weights).max() < 1e-9


def test_nor_on_rows_it_has_not_seen():
    X, of = rows(1, count=12_000, languages=2)
    seen, unseen = slice(None, 10_000), slice(10_000, None)
    eraser = LEACE().fit(X[seen], codes(of[seen]))
    assert eraser.score(X[unseen], codes(of[unseen])) > -1e-3
    before, after = (logistic(Z, of[unseen], 20)[0] for Z in (X[unseen], eraser.transform(X[unseen])))
    majority = max(np.bincount(of[unseen])) / 2000
    assert before > majority + 0.1
    assert after < majority + 0.01


@given(st.integers(0, 999), st.sampled_from([None, 3, 5]), st.integers(2, 4))
def test_it_is_its_definition(seed: int, rank: int | None, languages: int):
    X, of = rows(seed, 200, languages=languages, rank=rank)
    eraser = LEACE().fit(X, codes(of))
    covariance = np.cov(X.T, bias=True)
    C = (X - X.mean(axis=0)).T @ labels(of) / len(X)
    values, vectors = np.linalg.eigh(covariance)
    good = values > 1e-9 * values.max()
    W = vectors[:, good] / np.sqrt(values[good]) @ vectors[:, good].T
    U, S, _ = np.linalg.svd(W @ C, full_matrices=False)
    U = U[:, S > 1e-8]
    P = eraser.matrix.numpy()
    wanted = np.eye(8) - np.linalg.pinv(W, rcond=1e-7) @ U @ U.T @ W
    size = np.abs(wanted).max()
    np.testing.assert_allclose(P, wanted, atol=1e-7 * size)
    np.testing.assert_allclose(P @ C, 0, atol=1e-9 * size * np.abs(C).max())
    np.testing.assert_allclose(P @ P, P, atol=1e-8 * size**2)  # erased once is erased
    np.testing.assert_allclose(eraser.mean_, X.mean(axis=0), atol=1e-9)
    found = eraser.transform(X)
    np.testing.assert_allclose(found, X.mean(axis=0) + (X - X.mean(axis=0)) @ P.T, atol=1e-8 * size)
    np.testing.assert_allclose(found.mean(axis=0), X.mean(axis=0), atol=1e-8 * size)
    assert eraser.left_.shape[1] <= languages - 1
    if rank is None:  # where Σ has an inverse: W and its rotation cancel
        inverse = np.linalg.inv(covariance)
        np.testing.assert_allclose(
            P, np.eye(8) - C @ np.linalg.pinv(C.T @ inverse @ C) @ C.T @ inverse, atol=1e-6 * size
        )


def cost(X: np.ndarray, Z: np.ndarray) -> float:
    return float(((X - Z) ** 2).sum(axis=1).mean())


@given(st.integers(0, 999), st.integers(2, 4))
def test_no_affine_map_that_erases_changes_less(seed: int, languages: int):
    X, of = rows(seed, 200, languages=languages)
    chance = np.random.default_rng(seed)
    eraser = LEACE().fit(X, codes(of))
    least = cost(X, eraser.transform(X))
    centered = X - X.mean(axis=0)
    C = centered.T @ labels(of) / len(X)
    U = np.linalg.svd(C)[0][:, : languages - 1]
    P = eraser.matrix.numpy()

    def erases(Q: np.ndarray) -> np.ndarray:
        assert np.abs(Q @ C).max() < 1e-6 * max(1.0, np.abs(Q).max())
        return np.asarray(X.mean(axis=0) + centered @ Q.T)

    orthogonal = erases(np.eye(8) - U @ U.T)
    assert cost(X, orthogonal) >= least
    np.testing.assert_allclose(
        cost(X, orthogonal), cost(X, LSAR().fit(X, codes(of)).transform(X) + X.mean(axis=0) @ U @ U.T), rtol=1e-6
    )
    for _ in range(5):
        B = chance.normal(size=(8, languages - 1))
        assert cost(X, erases(np.eye(8) - U @ np.linalg.solve(B.T @ U, B.T))) >= least  # oblique, along the same plane
        assert cost(X, erases(chance.normal(size=(8, 8)) @ (np.eye(8) - U @ U.T))) >= least
        # The maps that erase are a plane and the change is convex in it: no way from here is downhill.
        way = chance.normal(size=(8, 8)) @ (np.eye(8) - U @ U.T)
        for size in (1e-3, -1e-3, 0.3):
            assert cost(X, erases(P + size * way)) >= least - 1e-12
    assert cost(X, eraser.transform(X) + 1e-3 * chance.normal(size=8)) >= least


def test_it_changes_less_than_what_only_erases():
    """How much less: with languages told apart in a direction where rows hardly spread, much."""
    chance = np.random.default_rng(5)
    mixing = np.array([[1.0, 0.0], [5.0, 0.1]])  # correlated columns: language is a small part of a wide direction
    X = chance.normal(size=(1000, 2)) @ mixing
    of = np.arange(1000) % 2
    X[:, 1] += 0.5 * of
    least = cost(X, LEACE().fit_transform(X, codes(of)))
    gap = X[of == 1].mean(axis=0) - X[of == 0].mean(axis=0)
    gap /= np.linalg.norm(gap)
    projected = X - (X - X.mean(axis=0)) @ np.outer(gap, gap)
    assert cost(X, projected) > 1.2 * least
    # Mean removal is told the language of each row, and no map that is not can do with less.
    assert cost(X, MeanRemoval(onto="common").fit_transform(X, codes(of))) <= least


def test_rows_of_any_scale_are_erased():
    X, of = rows(6)
    scales = np.array([1e-4, 1e4, 1, 1, 1e3, 1, 1e-3, 1])
    for count in (len(X), 6):  # also with fewer rows than columns
        its = codes(of[:count])
        Z = LEACE().fit_transform(X[:count] * scales, its) / scales
        for code in set(its):
            mask = np.array([each == code for each in its])
            np.testing.assert_allclose(Z[mask].mean(axis=0), X[:count].mean(axis=0), atol=1e-7)
    single = LEACE().fit_transform(X.astype(np.float32), codes(of))
    assert single.dtype == np.float32
    means = np.stack([single[of == number].mean(axis=0) for number in range(4)])
    np.testing.assert_allclose(means, np.tile(X.mean(axis=0), (4, 1)), atol=1e-4)

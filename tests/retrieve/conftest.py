"""The methods by their definitions, with the whole matrix, in float64."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest


def unit(X: np.ndarray):
    X = X.astype(np.float64)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32).astype(np.float64)


def mean_of_best(S: np.ndarray, k: int):
    """r: the mean of the k greatest of every row."""
    return np.sort(S.astype(np.float32), axis=1)[:, ::-1][:, :k].astype(np.float64).mean(axis=1)


def scores(X: np.ndarray, Y: np.ndarray, method: str, k: int = 10, sharpness: float = 30.0):
    """Every score, float32, N x M."""
    if method == "euclidean":
        X, Y = X.astype(np.float64), Y.astype(np.float64)
        return (-(((X[:, None] - Y[None]) ** 2).sum(-1))).astype(np.float32)
    S = unit(X) @ unit(Y).T
    r_x, r_y = mean_of_best(S, k)[:, None], mean_of_best(S.T, k)[None]
    match method:
        case "csls":
            S = 2 * (S - r_y / 2) - r_x
        case "distance":
            S = S - r_y / 2 - r_x / 2
        case "ratio":
            S = S / np.maximum((r_x + r_y) / 2, 1e-6)
        case "inverted_softmax":
            S = sharpness * S - np.log(np.exp(sharpness * S).sum(axis=0))[None]
    return S.astype(np.float32) + np.float32(0)


def order(scores_NM: np.ndarray):
    """Columns of every row, best first, the lower index first among equals."""
    return np.argsort(-scores_NM, axis=1, kind="stable")


@pytest.fixture(scope="session")
def brute() -> SimpleNamespace:
    return SimpleNamespace(scores=scores, order=order)

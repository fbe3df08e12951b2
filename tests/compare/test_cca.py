"""CCA, SVCCA and PWCCA against planted correlations and the textbook's eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.compare import MEASURES, compute, mean_canonical_correlation, pwcca, svcca
from isoglot.compare.encoders import judge_measure
from isoglot.compare.measures.cca import bases_of, correlations
from tests.errors import raises


def by_eigenvalues(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The squared canonical correlations are the eigenvalues of Sxx⁻¹ Sxy Syy⁻¹ Syx; with the eigenvectors (Hotelling)."""
    X, Y = X - X.mean(0), Y - Y.mean(0)
    product = np.linalg.solve(X.T @ X, X.T @ Y) @ np.linalg.solve(Y.T @ Y, Y.T @ X)
    values, vectors = np.linalg.eig(product)
    order = np.argsort(values.real)[::-1][: min(X.shape[1], Y.shape[1])]
    return np.sqrt(values.real[order].clip(0)), vectors.real[:, order]


def with_most_variance(X: np.ndarray, kept: float) -> np.ndarray:
    """The principal components that have the share, by the eigenvectors of the covariance."""
    X = X - X.mean(0)
    values, vectors = np.linalg.eigh(X.T @ X)
    values, vectors = values[::-1], vectors[:, ::-1]
    count = 1
    while values[:count].sum() < kept * values.sum():
        count += 1
    return np.asarray(X @ vectors[:, :count])


@pytest.fixture
def planted(rng):
    """X and Y whose canonical correlations are known: columns at right angles, each mixed with one of the other side."""
    basis = rng.normal(size=(100, 8))
    basis, _ = np.linalg.qr(basis - basis.mean(0))
    correlation = np.array([0.9, 0.6, 0.3, 0.0])
    return basis[:, :4], basis[:, :4] * correlation + basis[:, 4:] * np.sqrt(1 - correlation**2), correlation


def test_planted_correlations_are_found(planted, rng):
    X, Y, correlation = planted
    mixed = X @ rng.normal(size=(4, 4)) + 3, Y @ rng.normal(size=(4, 4)) - 1
    for pair in ((X, Y), mixed):
        own, other = bases_of(*pair)
        found = correlations(own.directions_NR, other.directions_NR)[1]
        assert found.numpy() == pytest.approx(correlation, abs=1e-10)
        assert svcca(*pair, kept=1.0) == pytest.approx(correlation.mean(), abs=1e-10)


def test_pwcca_weights_by_what_a_direction_accounts_for(planted):
    """Column i has length s_i and is a canonical direction by itself, so that its weight is s_i; Y's lengths are no matter."""
    X, Y, correlation = planted
    lengths = np.array([1.0, 5.0, 2.0, 4.0])
    assert pwcca(X * lengths, Y) == pytest.approx(correlation @ lengths / lengths.sum(), abs=1e-10)
    assert pwcca(X * lengths, Y * [7, 1, 1, 1]) == pytest.approx(correlation @ lengths / lengths.sum(), abs=1e-10)
    assert pwcca(X, Y * lengths) == pytest.approx(correlation.mean(), abs=1e-10)


@pytest.mark.parametrize("widths", [(5, 5), (4, 9), (9, 4)])
def test_against_the_eigenvalues(widths, rng):
    X = rng.normal(size=(60, widths[0])) * rng.uniform(0.05, 3, widths[0])
    Y = X @ rng.normal(size=widths) + rng.normal(size=(60, widths[1])) * 2
    values, vectors = by_eigenvalues(X, Y)
    variates = (X - X.mean(0)) @ vectors
    variates /= np.linalg.norm(variates, axis=0)
    weights = np.abs(variates.T @ (X - X.mean(0))).sum(axis=1)
    assert pwcca(X, Y) == pytest.approx(weights @ values / weights.sum(), abs=1e-8)
    for kept in (0.5, 0.9, 0.99, 1.0):
        kept_values, _ = by_eigenvalues(with_most_variance(X, kept), with_most_variance(Y, kept))
        assert svcca(X, Y, kept=kept) == pytest.approx(kept_values.mean(), abs=1e-8)


def test_svcca_does_not_see_what_hardly_varies(rng):
    shared = rng.normal(size=(200, 3))
    X, Y = (np.hstack([shared, rng.normal(size=(200, 5)) * 1e-3]) for _ in "XY")
    assert svcca(X, Y) == pytest.approx(1, abs=1e-4)
    assert svcca(X, Y, kept=1.0) < 0.6
    assert pwcca(X, Y) > 0.95  # the directions that hardly vary weigh hardly anything


def test_with_fewer_items_than_columns_everything_correlates(rng):
    X, Y = rng.normal(size=(20, 40)), rng.normal(size=(20, 40))
    assert svcca(X, Y, kept=1.0) == pytest.approx(1)
    assert pwcca(X, Y) == pytest.approx(1)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rounding_is_no_direction(kind, rng):
    """A column that is the sum of two others adds nothing; its rounding would otherwise be blown up to a direction."""
    X, Y = rng.normal(size=(500, 6)) + 20, rng.normal(size=(500, 6))
    X, Y = X.astype(kind), Y.astype(kind)
    wide = np.hstack([X, X[:, :1] + X[:, 1:2], X[:, :1] * kind(0.3)])
    assert bases_of(wide, Y)[0].directions_NR.shape[1] == 6
    assert svcca(wide, Y, kept=1.0) == pytest.approx(svcca(X, Y, kept=1.0), abs=1e-4)


@pytest.mark.parametrize("kept", [0.0, 1.01, float("nan")])
def test_a_share_that_is_none(kept, rng):
    X = rng.normal(size=(10, 2))
    with raises("config.invalid-value"):
        svcca(X, X, kept=kept)


# --- plain CCA ---


def by_qr(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Canonical correlations are the cosines of the principal angles between the column spaces (Björck & Golub 1973)."""
    bases = [np.linalg.qr(side - side.mean(0))[0] for side in (X, Y)]
    return np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)


@pytest.mark.parametrize("widths", [(5, 5), (3, 9), (9, 3), (1, 1)])
def test_plain_cca_is_the_mean_cosine_of_the_principal_angles(widths, rng):
    X = rng.normal(size=(80, widths[0])) * np.logspace(-3, 1, widths[0])
    Y = X @ rng.normal(size=widths) + rng.normal(size=(80, widths[1]))
    assert compute("cca", X, Y).value == pytest.approx(by_qr(X, Y).mean(), abs=1e-9)
    assert compute("cca", X, Y).value == pytest.approx(by_eigenvalues(X, Y)[0].mean(), abs=1e-7)
    assert mean_canonical_correlation(X, Y) == svcca(X, Y, kept=1.0)


def test_with_fewer_items_than_columns_together_so_many_correlations_are_one(rng):
    """Two subspaces of dimensions D and E among N - 1 meet in at least D + E - (N - 1) directions."""
    X, Y = rng.normal(size=(30, 18)), rng.normal(size=(30, 16))
    own, other = bases_of(X, Y)
    found = correlations(own.directions_NR, other.directions_NR)[1]
    assert int((found > 1 - 1e-9).sum()) == 18 + 16 - 29
    assert found.mean() == pytest.approx(compute("cca", X, Y).value)


def test_too_few_items_are_said_to_be_too_few(rng):
    assert [name for name, each in MEASURES.items() if each.rows_beyond_columns] == ["cca", "pwcca"]
    for rows, few in ((12, True), (13, False)):
        X, Y = rng.normal(size=(rows, 7)), rng.normal(size=(rows, 5))
        assert judge_measure("cca", X, Y, draws=20)["few_rows"] is few
        assert judge_measure("cka", X, Y, draws=20)["few_rows"] is False

"""Erasers of language identity: MeanRemoval, LSAR, LIR, INLP and LEACE.

**MeanRemoval** (Libovický et al. 2020) removes the mean of each language.

**LSAR** (Xie et al. 2022) projects out the low-rank subspace of the language means. The paper writes their matrix as a
common vector and a few directions orthogonal to it, M ≈ c 1' + S G' with c ⊥ S, found by two singular value
decompositions with a new center between them. The columns of the first approximation lie on an affine plane, and the
new center is its point nearest to the origin. So the second decomposition only rotates the basis inside the subspace,
which is spanned by the top directions of the centered means.

**LIR** (Yang et al. 2021) removes the strongest directions of each language. The paper takes the singular vectors of
the uncentered rows, so the first is nearly the direction of the mean and removes what is common to all languages too.

**INLP** (Ravfogel et al. 2020) trains a linear classifier of the languages, projects its directions out, and repeats
until no classifier is better than chance. The paper's classifiers are trained on the rows; here it is ridge regression
onto the languages, which needs only moments. The share of variance it explains is R² = tr CᵀMC / tr Cov(languages),
with C the covariance of the rows with the languages, and M the inverse of Σ + λI within the directions that are left.
If languages are assigned to rows at random, the mean of R² is tr MΣ / (N − 1) exactly. INLP stops at a part of it,
since what is left of the languages in the rows it was fitted on is less than in others.

**LEACE** (Belrose et al. 2023) is the smallest change after which no linear probe identifies languages above chance.
With Σ the covariance of the rows, C their covariance with the languages (one column each, 0 or 1) and W the
pseudo-inverse of Σ^(1/2), the map is x → x − W⁺ P W (x − mean), where P projects onto the columns of W C. A linear
probe is at chance exactly if all languages have the same mean, that is if C is 0; among all affine maps with this
property, LEACE has the least mean squared change.

Shapes: ``N`` rows, ``D`` columns, ``K`` languages, ``R`` directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch

from isoglot.align.maps.estimator import bounds
from isoglot.core.errors import InputError
from isoglot.steer.erasers.eraser import Eraser, MomentsByLanguage

if TYPE_CHECKING:
    from isoglot.core.arrays import Array

Onto = Literal["origin", "common"]
_NONE = 1e-10  # a correlation with a language below this is rounding
_DEAD = 1e-12  # spread of a column, relative to the largest, below which nothing but rounding is left


@dataclass(eq=False, kw_only=True)
class MeanRemoval(Eraser):
    """Moves all languages to one mean; needs the language of every row.

    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [9.0, 4.0], [9.0, 6.0]])
    >>> MeanRemoval().fit_transform(X, ["en", "en", "de", "de"]).tolist()
    [[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]]

    Args:
        onto: The ``origin``, as in the paper, or the ``common`` mean of the language means, which the following layers
            of an encoder can still process.

    Learns ``means_`` (K × D), the vector subtracted from each language.
    """

    needs_language: ClassVar[bool] = True

    onto: Onto = field(default="origin", metadata=bounds(choices=("origin", "common")))

    means_: Array = field(init=False, repr=False)

    def _learn(self, spread: MomentsByLanguage) -> dict[str, Any]:
        means_KD = spread.means_KD
        return {"means_": means_KD - means_KD.mean(dim=0) if self.onto == "common" else means_KD}

    def _apply(self, rows_ND: torch.Tensor, which_N: torch.Tensor | None) -> torch.Tensor:
        assert which_N is not None  # noqa: S101 - for the type checker
        return rows_ND - self._tensor("means_", rows_ND)[which_N.to(rows_ND.device)]


@dataclass(eq=False, kw_only=True)
class Projection(Eraser):
    """Base of the erasers that project a subspace out, ``x − S S' x``; they need no language at test time.

    Learns ``basis_`` (R × D), orthonormal.
    """

    basis_: Array = field(init=False, repr=False)

    def _apply(self, rows_ND: torch.Tensor, which_N: torch.Tensor | None) -> torch.Tensor:
        basis_RD = self._tensor("basis_", rows_ND)
        return rows_ND - rows_ND @ basis_RD.T @ basis_RD


@dataclass(eq=False, kw_only=True)
class LSAR(Projection):
    """Projects out the subspace in which the language means differ.

    Args:
        rank: Rank of the subspace. Default: one less than the number of languages, which is all of it.

    Learns ``basis_`` (R × D), orthonormal, the direction of highest variance first; ``common_`` (D), the point of the
    plane of the means nearest to the origin, orthogonal to the basis.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 4)), rng.normal(size=(50, 4)) + 3])
    >>> languages = ["en"] * 50 + ["de"] * 50
    >>> Z = LSAR().fit_transform(X, languages)
    >>> bool(abs(Z[:50].mean(0) - Z[50:].mean(0)).max() < 0.5)
    True
    """

    rank: int | None = field(default=None, metadata=bounds(least=1))

    common_: Array = field(init=False, repr=False)

    def _learn(self, spread: MomentsByLanguage) -> dict[str, Any]:
        most = min(len(spread.languages) - 1, spread.means_KD.shape[1])
        rank = most if self.rank is None else self.rank
        if rank > most:
            raise InputError(
                f"rank {rank} of the means of {len(spread.languages)} languages", f"give {most} or less", "out-of-range"
            )
        center_D = spread.means_KD.mean(dim=0)
        _, values_R, basis_RD = torch.linalg.svd(spread.means_KD - center_D, full_matrices=False)
        there_R = values_R[:rank] > 1e-12 * values_R[0].clamp(min=1e-300)  # none if all means are equal
        basis_RD = basis_RD[:rank][there_R]
        return {"basis_": basis_RD, "common_": center_D - center_D @ basis_RD.T @ basis_RD}


@dataclass(eq=False, kw_only=True)
class INLP(Projection):
    """Projects out the directions of one linear classifier after another until none identifies languages.

    Args:
        rounds: Maximum number of classifiers. Default: until they are at chance.
        penalty: Penalty of the ridge regression, relative to the mean variance of a column.
        tolerance: Variance explained by a classifier at chance, relative to that with languages assigned at random.

    Learns ``basis_`` (R × D), the directions of the first classifier first.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 4)), rng.normal(size=(50, 4)) + 3])
    >>> languages = ["en"] * 50 + ["de"] * 50
    >>> Z = INLP().fit_transform(X, languages)
    >>> bool(abs(Z[:50].mean(0) - Z[50:].mean(0)).max() < 0.5)
    True
    """

    rounds: int | None = field(default=None, metadata=bounds(least=1))
    penalty: float = field(default=1.0, metadata=bounds(above=0))
    tolerance: float = field(default=0.05, metadata=bounds(least=0))

    def _learn(self, spread: MomentsByLanguage) -> dict[str, Any]:
        _, covariance_DD, cross_DK = _pooled(spread)
        share_K, count, width = spread.counts_K / spread.counts_K.sum(), spread.counts_K.sum(), len(covariance_DD)
        penalty = (self.penalty * covariance_DD.trace() / width).clamp(min=1e-300)  # 0 if all rows are equal
        inverse_DD = torch.linalg.inv(covariance_DD + penalty * torch.eye(width, dtype=torch.float64))
        basis_RD = covariance_DD[:0]
        for _ in range(width if self.rounds is None else self.rounds):
            weights_DK = inverse_DD @ cross_DK
            explained = (cross_DK * weights_DK).sum() / (share_K * (1 - share_K)).sum()
            at_random = (width - len(basis_RD) - penalty * inverse_DD.trace()) / (count - 1)
            if explained <= self.tolerance * at_random + _NONE:
                break
            weights_DK -= basis_RD.T @ (basis_RD @ weights_DK)  # zero but for rounding
            directions_DK, strengths_K, _ = torch.linalg.svd(weights_DK, full_matrices=False)
            found_DR = directions_DK[:, strengths_K > _NONE * strengths_K[0]]
            moved_DR = inverse_DD @ found_DR
            inverse_DD = inverse_DD - moved_DR @ torch.linalg.solve(found_DR.T @ moved_DR, moved_DR.T)
            basis_RD = torch.cat([basis_RD, found_DR.T])
        return {"basis_": basis_RD}


@dataclass(eq=False, kw_only=True)
class LIR(Eraser):
    """Removes the top singular directions of each language, ``x − C C' x``; needs the language of every row.

    Args:
        rank: Number of directions per language. Default: the paper's 1.

    Learns ``directions_`` (K × R × D), orthonormal in each language.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 4)), rng.normal(size=(50, 4)) + 3])
    >>> languages = ["en"] * 50 + ["de"] * 50
    >>> Z = LIR().fit_transform(X, languages)
    >>> bool(abs(Z[:50].mean(0) - Z[50:].mean(0)).max() < 0.5)
    True
    """

    needs_language: ClassVar[bool] = True

    rank: int = field(default=1, metadata=bounds(least=1))

    directions_: Array = field(init=False, repr=False)

    def _learn(self, spread: MomentsByLanguage) -> dict[str, Any]:
        width = spread.means_KD.shape[1]
        if self.rank > width:
            raise InputError(
                f"{self.rank} directions of rows with {width} columns", f"give {width} or less", "out-of-range"
            )
        found = []
        for count, mean_D, covariance_DD in zip(spread.counts_K, spread.means_KD, spread.covariances, strict=True):
            # Right singular vectors of the rows are eigenvectors of X'X / n = covariance + mean mean'.
            moment_DD = covariance_DD * ((count - 1).clamp(min=1) / count) + torch.outer(mean_D, mean_D)
            _, vectors_DD = torch.linalg.eigh(moment_DD)
            found.append(vectors_DD[:, -self.rank :].flip(1).T)
        return {"directions_": torch.stack(found)}

    def _apply(self, rows_ND: torch.Tensor, which_N: torch.Tensor | None) -> torch.Tensor:
        directions_KRD = self._tensor("directions_", rows_ND)
        assert which_N is not None  # noqa: S101 - for the type checker
        erased_ND = rows_ND.clone()
        for number in which_N.unique().tolist():
            basis_RD, its = directions_KRD[number], (which_N == number).to(rows_ND.device)
            erased_ND[its] = rows_ND[its] - rows_ND[its] @ basis_RD.T @ basis_RD
        return erased_ND


@dataclass(eq=False, kw_only=True)
class LEACE(Eraser):
    """Removes everything that a linear probe could identify languages by; needs no language at test time.

    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]])
    >>> LEACE().fit_transform(X, ["en", "en", "de", "de"]).round(6).tolist()
    [[2.0, 0.0], [2.0, 2.0], [2.0, 0.0], [2.0, 2.0]]

    Learns ``mean_`` (D), ``left_`` (D × R) and ``right_`` (R × D): ``x − left right (x − mean)``, R less than the
    number of languages.
    """

    mean_: Array = field(init=False, repr=False)
    left_: Array = field(init=False, repr=False)
    right_: Array = field(init=False, repr=False)

    @property
    def matrix(self) -> torch.Tensor:
        """Linear part, D × D: the identity minus ``left_ right_``."""
        self._check_fitted()
        like = torch.empty(0, dtype=torch.float64)
        left_DR, right_RD = self._tensor("left_", like), self._tensor("right_", like)
        return torch.eye(self.width_, dtype=torch.float64) - left_DR @ right_RD

    def _learn(self, spread: MomentsByLanguage) -> dict[str, Any]:
        mean_D, covariance_DD, cross_DK = _pooled(spread)
        # Scale columns to variance 1: the result is the same, and small columns are not lost to rounding.
        # Columns that are constant but for rounding are left alone: what they tell is scaled up without bound.
        scale_D = covariance_DD.diagonal().sqrt()
        is_dead_D = scale_D <= _DEAD * scale_D.max()
        scale_D = torch.where(is_dead_D, 1.0, scale_D)
        covariance_DD, cross_DK = covariance_DD.clone(), cross_DK.clone()
        covariance_DD[is_dead_D], covariance_DD[:, is_dead_D], cross_DK[is_dead_D] = 0, 0, 0
        values_D, vectors_DD = torch.linalg.eigh(covariance_DD / scale_D / scale_D[:, None])
        there_D = values_D > len(values_D) * torch.finfo(values_D.dtype).eps * values_D[-1].clamp(min=0)
        roots_R, basis_DR = values_D[there_D].sqrt(), vectors_DD[:, there_D]
        whitened_RK = (basis_DR.T @ (cross_DK / scale_D[:, None])) / roots_R[:, None]
        directions_RR, strengths_R, _ = torch.linalg.svd(whitened_RK, full_matrices=False)
        found_RR = directions_RR[:, strengths_R > _NONE]
        left_DR = scale_D[:, None] * (basis_DR @ (roots_R[:, None] * found_RR))
        right_RD = (found_RR.T / roots_R) @ basis_DR.T / scale_D
        if not bool(there_D.all()):  # leave directions outside the span of the rows unchanged
            inside_DR, _ = torch.linalg.qr(scale_D[:, None] * basis_DR)
            right_RD = right_RD @ inside_DR @ inside_DR.T
        return {"mean_": mean_D, "left_": left_DR, "right_": right_RD}

    def _apply(self, rows_ND: torch.Tensor, which_N: torch.Tensor | None) -> torch.Tensor:
        left_DR, right_RD = self._tensor("left_", rows_ND), self._tensor("right_", rows_ND)
        return rows_ND - (rows_ND - self._tensor("mean_", rows_ND)) @ right_RD.T @ left_DR.T


def _pooled(spread: MomentsByLanguage) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean (D) and covariance (D × D) of all rows, and their covariance with the languages (D × K)."""
    share_K = spread.counts_K / spread.counts_K.sum()
    mean_D = share_K @ spread.means_KD
    apart_KD = spread.means_KD - mean_D
    cross_DK = (apart_KD * share_K[:, None]).T
    covariance_DD = cross_DK @ apart_KD
    for count, share, within_DD in zip(spread.counts_K, share_K, spread.covariances, strict=True):
        covariance_DD += within_DD * (share * (count - 1) / count)
    return mean_D, covariance_DD, cross_DK

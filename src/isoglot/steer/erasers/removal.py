"""Erasers that remove means or directions: MeanRemoval, LSAR and LIR.

**MeanRemoval** (Libovický et al. 2020) removes the mean of each language.

**LSAR** (Xie et al. 2022) projects out the low-rank subspace of the language means. The paper writes their matrix as a
common vector and a few directions orthogonal to it, M ≈ c 1' + S G' with c ⊥ S, found by two singular value
decompositions with a new center between them. The columns of the first approximation lie on an affine plane, and the
new center is its point nearest to the origin. So the second decomposition only rotates the basis inside the subspace,
which is spanned by the top directions of the centered means.

**LIR** (Yang et al. 2021) removes the strongest directions of each language. The paper takes the singular vectors of
the uncentered rows, so the first is nearly the direction of the mean and removes what is common to all languages too.

Shapes: ``N`` rows, ``D`` columns, ``K`` languages, ``R`` directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch

from isoglot.align.maps.estimator import bounds
from isoglot.core.errors import InputError
from isoglot.steer.erasers.eraser import Eraser

if TYPE_CHECKING:
    from isoglot.core.arrays import Array
    from isoglot.steer.erasers.eraser import MomentsByLanguage

Onto = Literal["origin", "common"]


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
class LSAR(Eraser):
    """Rows without the subspace in which the languages' means differ: ``x − S S' x``; no language need be known.

    Args:
        rank: Of the subspace; by default one less than there are languages, all of it.

    Learns ``basis_`` (R × D), orthonormal, the widest first; ``common_`` (D), what all means share: the point of their
    plane nearest to the origin, at right angles to the basis.
    """

    rank: int | None = field(default=None, metadata=bounds(least=1))

    basis_: Array = field(init=False, repr=False)
    common_: Array = field(init=False, repr=False)

    def _learn(self, spread: MomentsByLanguage) -> dict[str, Any]:
        most = min(len(spread.languages) - 1, spread.means_KD.shape[1])
        rank = most if self.rank is None else self.rank
        if rank > most:
            raise InputError(
                f"rank {rank} of the means of {len(spread.languages)} languages",
                remedy=f"give {most} or less",
                code="input.out-of-range",
            )
        center_D = spread.means_KD.mean(dim=0)
        _, values_R, basis_RD = torch.linalg.svd(spread.means_KD - center_D, full_matrices=False)
        there_R = values_R[:rank] > 1e-12 * values_R[0].clamp(min=1e-300)  # none if all means are equal
        basis_RD = basis_RD[:rank][there_R]
        return {"basis_": basis_RD, "common_": center_D - center_D @ basis_RD.T @ basis_RD}

    def _apply(self, rows_ND: torch.Tensor, which_N: torch.Tensor | None) -> torch.Tensor:
        basis_RD = self._tensor("basis_", rows_ND)
        return rows_ND - rows_ND @ basis_RD.T @ basis_RD


@dataclass(eq=False, kw_only=True)
class LIR(Eraser):
    """Removes the top singular directions of each language, ``x − C C' x``; needs the language of every row.

    Args:
        rank: Number of directions per language. Default: the paper's 1.

    Learns ``directions_`` (K × R × D), orthonormal in each language.
    """

    needs_language: ClassVar[bool] = True

    rank: int = field(default=1, metadata=bounds(least=1))

    directions_: Array = field(init=False, repr=False)

    def _learn(self, spread: MomentsByLanguage) -> dict[str, Any]:
        width = spread.means_KD.shape[1]
        if self.rank > width:
            raise InputError(
                f"{self.rank} directions of rows with {width} columns",
                remedy=f"give {width} or less",
                code="input.out-of-range",
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

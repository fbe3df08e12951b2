"""LEACE (Belrose et al. 2023): the smallest change after which no linear probe identifies languages above chance.

With Σ the covariance of the rows, C their covariance with the languages (one column each, 0 or 1) and W the
pseudo-inverse of Σ^(1/2), the map is x → x − W⁺ P W (x − mean), where P projects onto the columns of W C. A linear
probe is at chance exactly if all languages have the same mean, that is if C is 0; among all affine maps with this
property, LEACE has the least mean squared change.

Shapes: ``N`` rows, ``D`` columns, ``K`` languages, ``R`` directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from isoglot.steer.erasers.eraser import Eraser

if TYPE_CHECKING:
    from isoglot.core.arrays import Array
    from isoglot.steer.erasers.eraser import MomentsByLanguage

_NONE = 1e-10  # a correlation with a language below this is rounding


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
        share_K = spread.counts_K / spread.counts_K.sum()
        mean_D = share_K @ spread.means_KD
        apart_KD = spread.means_KD - mean_D
        covariance_DD = (apart_KD * share_K[:, None]).T @ apart_KD
        for count, share, within_DD in zip(spread.counts_K, share_K, spread.covariances, strict=True):
            covariance_DD += within_DD * (share * (count - 1) / count)
        # Scale columns to variance 1: the result is the same, and small columns are not lost to rounding.
        scale_D = covariance_DD.diagonal().sqrt()
        scale_D = torch.where(scale_D > 0, scale_D, 1.0)
        values_D, vectors_DD = torch.linalg.eigh(covariance_DD / scale_D / scale_D[:, None])
        there_D = values_D > len(values_D) * torch.finfo(values_D.dtype).eps * values_D[-1].clamp(min=0)
        roots_R, basis_DR = values_D[there_D].sqrt(), vectors_DD[:, there_D]
        with_languages_DK = (apart_KD * share_K[:, None]).T / scale_D[:, None]
        whitened_RK = (basis_DR.T @ with_languages_DK) / roots_R[:, None]
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

"""Moments of paired rows, accumulated in batches: all that the maps with a closed form need.

Shape legend: ``N`` or ``P`` pairs, ``D`` columns of X, ``E`` columns of Y.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import torch

from isoglot.align.maps.estimator import LearnedMap
from isoglot.core.arrays import Array, exact, refuse_large, take_same_rows
from isoglot.core.errors import InputError
from isoglot.represent.moments import StreamingMoments

if TYPE_CHECKING:
    from isoglot.core.progress import Progress

BLOCK = 8192


class PairMoments(StreamingMoments[str]):
    """First and second moments of pairs of rows: call :meth:`update`, then pass it to a map's ``fit_moments``.

    ``means`` has the keys ``x`` and ``y``; ``scatters`` the pairs of them.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(6, 2))
    >>> moments = PairMoments().update(X[:4], X[:4]).update(X[4:], X[4:])
    >>> moments.count, np.allclose(moments.product("xy"), X.T @ X)
    (6, True)
    """

    def __init__(self) -> None:
        super().__init__([("x", "x"), ("x", "y"), ("y", "y")])

    def update(self, X: Array, Y: Array) -> Self:
        """Add pairs, N × D and N × E.

        Raises:
            InputError: The rows are invalid, or have other widths than the batches before.
        """
        x_ND, y_NE = take_same_rows(X, Y)
        refuse_large(x_ND)
        refuse_large(y_NE, "Y")
        if self.count and (x_ND.shape[1], y_NE.shape[1]) != tuple(self.scatters["x", "y"].shape):
            before = " and ".join(map(str, self.scatters["x", "y"].shape))
            raise InputError(
                f"X and Y have {x_ND.shape[1]} and {y_NE.shape[1]} columns, and {before} in earlier batches",
                "use one object for each pair of spaces",
                "shape",
            )
        for start in range(0, len(x_ND), BLOCK):
            rows = slice(start, start + BLOCK)
            self.add({"x": exact(x_ND[rows]), "y": exact(y_NE[rows].to(x_ND.device))})
        return self

    def product(self, name: str) -> torch.Tensor:
        """Sum of products about zero: ``product("xy")`` is XᵀY."""
        self._check_rows()
        return self.scatters[name[0], name[1]] + self.count * torch.outer(self.means[name[0]], self.means[name[1]])

    def covariance(self, name: str) -> torch.Tensor:
        """Scatter about the means, divided by N."""
        self._check_rows()
        return self.scatters[name[0], name[1]] / self.count

    def _check_rows(self) -> None:
        if not self.count:
            raise InputError("there are no rows yet", "call update first", "empty")


def moments_of_pairs(rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor) -> PairMoments:
    """Moments of the paired rows, gathered block by block."""
    moments = PairMoments()
    for block_P2 in pairs_P2.split(BLOCK):
        moments.add({"x": exact(rows_ND[block_P2[:, 0]]), "y": exact(others_ME[block_P2[:, 1]])})
    return moments


@dataclass(eq=False, kw_only=True)
class MomentMap(LearnedMap):
    """Map with a closed form in the moments of the pairs; the base of Procrustes, least squares and CCA."""

    def fit_moments(self, moments: PairMoments) -> Self:
        """Fit to moments accumulated in batches; learned attributes are torch tensors, float64."""
        self.check_options()
        learned = self._solve(moments)
        self._keep(learned, next(value for value in learned.values() if isinstance(value, torch.Tensor)))
        return self

    def _learn(
        self, rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor, progress: Progress
    ) -> dict[str, Any]:
        return self._solve(moments_of_pairs(rows_ND, others_ME, pairs_P2))

    @abstractmethod
    def _solve(self, moments: PairMoments) -> dict[str, Any]:
        """Learned attributes by name, among them ``widths_``."""


def product_of_pairs(rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor) -> torch.Tensor:
    """XᵀY of the paired rows, float64: enough for a rotation, and three times as fast as all moments."""
    product_DE = exact(rows_ND[:0]).T @ exact(others_ME[:0])
    for block_P2 in pairs_P2.split(BLOCK):
        product_DE += exact(rows_ND[block_P2[:, 0]]).T @ exact(others_ME[block_P2[:, 1]])
    return product_DE


def penalized(covariance_DD: torch.Tensor, penalty: float) -> torch.Tensor:
    """Covariance plus ``penalty`` times the mean variance on the diagonal (shrinkage)."""
    return covariance_DD + penalty * covariance_DD.diagonal().mean() * torch.eye(
        len(covariance_DD), dtype=covariance_DD.dtype, device=covariance_DD.device
    )


def root_powers(symmetric_DD: torch.Tensor, *powers: float) -> tuple[torch.Tensor, ...]:
    """Powers of a positive semidefinite matrix, on the space it spans.

    Eigenvalues below the largest times D times the machine epsilon count as zero and stay zero, so that the power −½
    of a covariance of too few rows whitens the space those rows span.
    """
    values_D, vectors_DD = torch.linalg.eigh(symmetric_DD)
    present = values_D > _floor(values_D)
    return tuple(
        (vectors_DD * torch.where(present, values_D.clamp(min=torch.finfo(values_D.dtype).tiny) ** power, 0.0))
        @ vectors_DD.T
        for power in powers
    )


def rank(symmetric_DD: torch.Tensor) -> int:
    """Numerical rank, by the threshold of :func:`root_powers`."""
    values_D = torch.linalg.eigvalsh(symmetric_DD)
    return int((values_D > _floor(values_D)).sum())


def _floor(values_D: torch.Tensor) -> torch.Tensor:
    return values_D[-1].clamp(min=0) * len(values_D) * torch.finfo(values_D.dtype).eps

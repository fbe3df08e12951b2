"""Means and scatter of paired rows, a batch at a time: all that the maps with a closed form need to know.

Sums are float64 and about the mean so far (Chan, Golub & LeVeque 1983), so that neither many rows nor a large mean
cost digits.

Shape legend: ``N`` pairs, ``D`` columns of X, ``E`` columns of Y.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import torch

from isoglot.core.arrays import Array, exact, refuse_large, take_same_rows
from isoglot.core.errors import InputError

BLOCK = 8192


@dataclass
class PairMoments:
    """The first and second moments of pairs of rows; feed it with :meth:`update`, hand it to ``fit_moments``.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(6, 2))
    >>> moments = PairMoments().update(X[:4], X[:4]).update(X[4:], X[4:])
    >>> moments.count, np.allclose(moments.product("xy"), X.T @ X)
    (6, True)
    """

    count: int = 0
    means: dict[str, torch.Tensor] = field(default_factory=dict)
    """of x (D) and of y (E)"""
    scatters: dict[str, torch.Tensor] = field(default_factory=dict)
    """xx (D × D), xy (D × E), yy (E × E): sums of products about the means"""

    def update(self, X: Array, Y: Array) -> Self:
        """Add pairs, N × D and N × E.

        Raises:
            InputError: The rows will not do, or have other widths than those before.
        """
        x_ND, y_NE = take_same_rows(X, Y)
        refuse_large(x_ND)
        refuse_large(y_NE, "Y")
        if self.count and (x_ND.shape[1], y_NE.shape[1]) != tuple(self.scatters["xy"].shape):
            before = " and ".join(map(str, self.scatters["xy"].shape))
            raise InputError(
                f"X and Y have {x_ND.shape[1]} and {y_NE.shape[1]} columns where {before} came before",
                remedy="keep batches of different spaces apart",
            )
        for start in range(0, len(x_ND), BLOCK):
            self._add(exact(x_ND[start : start + BLOCK]), exact(y_NE[start : start + BLOCK].to(x_ND.device)))
        return self

    def _add(self, x_ND: torch.Tensor, y_NE: torch.Tensor) -> None:
        rows = {"x": x_ND, "y": y_NE}
        means = {name: values.mean(dim=0) for name, values in rows.items()}
        deviations = {name: values - means[name] for name, values in rows.items()}
        new, total = len(x_ND), self.count + len(x_ND)
        steps = {name: means[name] - self.means[name] if self.count else means[name] for name in rows}
        for name in ("xx", "xy", "yy"):
            scatter = deviations[name[0]].T @ deviations[name[1]]
            if self.count:
                scatter += torch.outer(steps[name[0]], steps[name[1]]) * (self.count * new / total)
                scatter += self.scatters[name]
            self.scatters[name] = scatter
        for name in rows:
            self.means[name] = self.means[name] + steps[name] * (new / total) if self.count else means[name]
        self.count = total

    def product(self, name: str) -> torch.Tensor:
        """The sum of products about zero: ``product("xy")`` is XᵀY."""
        if not self.count:
            raise InputError("there are no rows yet", remedy="call update first")
        return self.scatters[name] + self.count * torch.outer(self.means[name[0]], self.means[name[1]])

    def covariance(self, name: str) -> torch.Tensor:
        """The scatter about the means over N."""
        if not self.count:
            raise InputError("there are no rows yet", remedy="call update first")
        return self.scatters[name] / self.count


def moments_of_pairs(rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor) -> PairMoments:
    """The moments of the paired rows, gathered block by block."""
    moments = PairMoments()
    for block_P2 in pairs_P2.split(BLOCK):
        moments._add(exact(rows_ND[block_P2[:, 0]]), exact(others_ME[block_P2[:, 1]]))
    return moments


def product_of_pairs(rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor) -> torch.Tensor:
    """XᵀY of the paired rows alone, float64: what a rotation needs, in a third of the time of all moments."""
    product_DE = exact(rows_ND[:0]).T @ exact(others_ME[:0])
    for block_P2 in pairs_P2.split(BLOCK):
        product_DE += exact(rows_ND[block_P2[:, 0]]).T @ exact(others_ME[block_P2[:, 1]])
    return product_DE


def penalised(covariance_DD: torch.Tensor, penalty: float) -> torch.Tensor:
    """The covariance with a share of the mean variance added to every variance."""
    return covariance_DD + penalty * covariance_DD.diagonal().mean() * torch.eye(
        len(covariance_DD), dtype=covariance_DD.dtype, device=covariance_DD.device
    )


def root_powers(symmetric_DD: torch.Tensor, *powers: float) -> tuple[torch.Tensor, ...]:
    """Powers of a symmetric matrix without negative eigenvalues; directions it does not have stay without.

    An eigenvalue below the largest times D times the rounding error counts as none: powers[0] = −½ of a covariance of
    too few rows is that of the space the rows span.
    """
    values_D, vectors_DD = torch.linalg.eigh(symmetric_DD)
    present = values_D > _floor(values_D)
    return tuple(
        (vectors_DD * torch.where(present, values_D.clamp(min=torch.finfo(values_D.dtype).tiny) ** power, 0.0))
        @ vectors_DD.T
        for power in powers
    )


def rank(symmetric_DD: torch.Tensor) -> int:
    """How many eigenvalues count, by the same measure."""
    values_D = torch.linalg.eigvalsh(symmetric_DD)
    return int((values_D > _floor(values_D)).sum())


def _floor(values_D: torch.Tensor) -> torch.Tensor:
    return values_D[-1].clamp(min=0) * len(values_D) * torch.finfo(values_D.dtype).eps

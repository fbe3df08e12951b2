"""Canonical correlation analysis: the directions two spaces share (Hotelling 1936; Faruqui & Dyer 2014).

Shape legend: ``N`` pairs, ``D`` columns of X, ``E`` columns of Y, ``C`` canonical directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from isoglot.align.maps.estimator import bounds, pseudo_inverse
from isoglot.align.maps.pair_moments import MomentMap, penalized, rank, root_powers
from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from isoglot.align.maps.pair_moments import PairMoments
    from isoglot.core.arrays import Array


@dataclass(eq=False, kw_only=True)
class CCA(MomentMap):
    """Both spaces, centered and whitened, rotated such that corresponding columns correlate as much as possible.

    On the training pairs, the columns of either side have variance 1 and are uncorrelated, and the c-th of one
    correlates with the c-th of the other by ``correlations_[c]``, and with no other.

    Args:
        components: Number of directions to keep, most correlated first; None: as many as the narrower space has.
        penalty: Added to the variance of every column, as a fraction of the mean variance. With few pairs the
            correlations are too high; a penalty corrects that and leaves the variance a little below 1.

    Learns ``correlations_`` (C), ``source_`` (D × C), ``target_`` (E × C), ``source_mean_`` (D), ``target_mean_`` (E).

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> Y = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> CCA().fit(X, Y).transform(X).shape
    (50, 4)
    """

    same_width: ClassVar[bool] = False

    components: int | None = field(default=None, metadata=bounds(least=1))
    penalty: float = field(default=0.0, metadata=bounds(least=0))

    correlations_: Array = field(init=False, repr=False)
    source_: Array = field(init=False, repr=False)
    target_: Array = field(init=False, repr=False)
    source_mean_: Array = field(init=False, repr=False)
    target_mean_: Array = field(init=False, repr=False)

    def _solve(self, moments: PairMoments) -> dict[str, Any]:
        spread = {name: penalized(moments.covariance(name), self.penalty) for name in ("xx", "yy")}
        whitening = {name: root_powers(matrix, -0.5)[0] for name, matrix in spread.items()}
        most = min(rank(matrix) for matrix in spread.values())
        count = most if self.components is None else int(self.components)
        if not most or count > most:
            raise InputError(
                f"components = {count} exceeds the {most} common directions",
                "give fewer components, more pairs, or a penalty",
                "out-of-range",
            )
        U_DD, values, Vt_EE = torch.linalg.svd(whitening["xx"] @ moments.covariance("xy") @ whitening["yy"])
        source_DC, target_EC = whitening["xx"] @ U_DD[:, :count], whitening["yy"] @ Vt_EE.T[:, :count]
        return {
            "correlations_": values[:count].clamp(max=1.0),
            "source_": source_DC,
            "target_": target_EC,
            "source_mean_": moments.means["x"],
            "target_mean_": moments.means["y"],
            "widths_": (len(source_DC), len(target_EC), count),
        }

    def _apply(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return self._project(rows_ND, "source_")

    def _apply_target(self, rows_ME: torch.Tensor) -> torch.Tensor:
        return self._project(rows_ME, "target_")

    def _undo(self, rows_ND: torch.Tensor) -> torch.Tensor:
        return self._recover(rows_ND, "source_")

    def _undo_target(self, rows_ME: torch.Tensor) -> torch.Tensor:
        return self._recover(rows_ME, "target_")

    def _project(self, rows_ND: torch.Tensor, side: str) -> torch.Tensor:
        return (rows_ND - self._tensor(f"{side}mean_", rows_ND)) @ self._tensor(side, rows_ND)

    def _recover(self, rows_NC: torch.Tensor, side: str) -> torch.Tensor:
        back_CD = pseudo_inverse(self._tensor(side, rows_NC.double())).to(rows_NC)
        return rows_NC @ back_CD + self._tensor(f"{side}mean_", rows_NC)

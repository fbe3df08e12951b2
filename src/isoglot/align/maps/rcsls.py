"""RCSLS: a map optimized for CSLS retrieval (Joulin et al. 2018).

Shape legend: ``N`` rows of X, ``M`` rows of Y, ``P`` pairs, ``D`` columns, ``K`` neighbors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch

from isoglot.align.maps.closed_form import moments_of_pairs, rotation
from isoglot.align.maps.estimator import MatrixMap, bounds, matrix_learned
from isoglot.align.maps.self_learning import top
from isoglot.core.arrays import exact, unit

if TYPE_CHECKING:
    from isoglot.core.progress import Progress

Constraint = Literal["none", "spectral"]

_SMALLEST_RATE = 1e-4


@dataclass(eq=False, kw_only=True)
class RCSLS(MatrixMap):
    """Gradient descent from Procrustes on the relaxed CSLS loss.

    With rows of unit length, the loss of a pair is −2 xW·y, plus the mean of xW·y' over the K nearest y' of xW, plus
    the mean of x'W·y over the K nearest x'W of y: minus its CSLS, with the cosine relaxed to a product. Neighbors come
    from all rows of X and Y, with or without a partner. A step that does not lower the loss is undone and the learning
    rate halved.

    Args:
        rounds: Maximum number of steps.
        learning_rate: Initial learning rate.
        neighborhood: K of CSLS.
        cutoff: Neighbors are searched among the first ``cutoff`` rows.
        constraint: ``none``: any matrix; ``spectral``: no singular value above 1, which makes the relaxed loss convex.

    Learns ``W_`` (D × D) and ``losses_``: that of Procrustes, then that after every accepted step.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> Y = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> RCSLS(rounds=2).fit(X, Y).score(X, Y) > 0.99
    True
    """

    rounds: int = field(default=10, metadata=bounds(least=1))
    learning_rate: float = field(default=1.0, metadata=bounds(above=0))
    neighborhood: int = field(default=10, metadata=bounds(least=1))
    cutoff: int = field(default=200_000, metadata=bounds(least=1))
    constraint: Constraint = field(default="none", metadata=bounds(choices=("none", "spectral")))

    losses_: tuple[float, ...] = field(init=False, repr=False)

    def _learn(
        self, rows_ND: torch.Tensor, others_ME: torch.Tensor, pairs_P2: torch.Tensor, progress: Progress
    ) -> dict[str, Any]:
        rows_ND, others_ME = unit(rows_ND), unit(others_ME)
        x_PD, y_PD = rows_ND[pairs_P2[:, 0]], others_ME[pairs_P2[:, 1]]
        around = rows_ND[: self.cutoff], others_ME[: self.cutoff]
        W_DD = rotation(moments_of_pairs(rows_ND, others_ME, pairs_P2).product("xy"))[0]
        rate = float(self.learning_rate)
        loss, slope_DD = csls_loss(W_DD, x_PD, y_PD, *around, neighborhood=self.neighborhood)
        losses = [loss]
        with progress.task("RCSLS", total=self.rounds, unit="steps") as task:
            for _ in range(self.rounds):
                if rate < _SMALLEST_RATE:
                    break
                next_DD = W_DD - rate * slope_DD
                if self.constraint == "spectral":
                    U_DD, values_D, Vt_DD = torch.linalg.svd(next_DD)
                    next_DD = (U_DD * values_D.clamp(max=1)) @ Vt_DD
                loss, next_slope_DD = csls_loss(next_DD, x_PD, y_PD, *around, neighborhood=self.neighborhood)
                if loss < losses[-1]:
                    W_DD, slope_DD = next_DD, next_slope_DD
                    losses.append(loss)
                else:
                    rate /= 2
                task.advance()
                task.note(f"loss {losses[-1]:.4f}")
        return matrix_learned(W_DD) | {"losses_": tuple(losses)}


def csls_loss(
    W_DD: torch.Tensor,
    x_PD: torch.Tensor,
    y_PD: torch.Tensor,
    rows_ND: torch.Tensor,
    others_MD: torch.Tensor,
    *,
    neighborhood: int = 10,
) -> tuple[float, torch.Tensor]:
    """Relaxed CSLS loss of a map, mean over pairs of rows of unit length, and its gradient in W.

    The neighbors are held fixed for the gradient.

    Args:
        W_DD: The map.
        x_PD: Rows of the source.
        y_PD: Their partners.
        rows_ND: All rows of the source.
        others_MD: All rows of the target.
        neighborhood: K of CSLS.
    """
    to = W_DD.to(x_PD)
    mapped_PD, mapped_ND = x_PD @ to, rows_ND @ to
    # By product instead of cosine: the relaxation.
    around_x = top(mapped_PD, others_MD, neighborhood).indices_NK
    around_y = top(y_PD, mapped_ND, neighborhood).indices_NK
    nearest_y_PD = exact(others_MD[around_x].mean(dim=1))
    nearest_x_PD = exact(rows_ND[around_y].mean(dim=1))
    x_PD, y_PD = exact(x_PD), exact(y_PD)
    slope_DD = (x_PD.T @ (nearest_y_PD - 2 * y_PD) + nearest_x_PD.T @ y_PD) / len(x_PD)
    # The loss is linear in W for given neighbors: the product of W and its gradient.
    return float((slope_DD * W_DD).sum()), slope_DD

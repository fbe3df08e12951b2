"""How the rows of a language lie in the space, and how far two languages are apart.

Shape legend: ``N`` rows, ``D`` hidden size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch


class Spread(NamedTuple):
    """How unevenly the rows of one language fill the space.

    Attributes:
        mean_cosine: Of two different rows, on average: near 0 where rows point everywhere, near 1 where they all point
            one way (anisotropy; Ethayarajh 2019).
        top_share: Of the variance, what the first principal component has; 1 / D where all directions are alike.
    """

    mean_cosine: float
    top_share: float


def spread(rows_ND: np.ndarray) -> Spread:
    """The facts of one language in one layer, over all pairs of rows.

    >>> spread(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])).top_share
    0.5
    """
    rows_ND = rows_ND.astype(np.float64)
    lengths_N = np.linalg.norm(rows_ND, axis=1)
    unit_ND = rows_ND[lengths_N > 0] / lengths_N[lengths_N > 0, None]
    count = len(unit_ND)
    # All pairs at once: the square of the sum holds every product twice, and each row with itself.
    cosine = (float((unit_ND.sum(axis=0) ** 2).sum()) - count) / (count * (count - 1)) if count > 1 else 1.0
    away_ND = torch.from_numpy(rows_ND - rows_ND.mean(axis=0))
    gram = away_ND.T @ away_ND if away_ND.shape[0] >= away_ND.shape[1] else away_ND @ away_ND.T
    total = float(gram.trace())
    top = float(torch.linalg.eigvalsh(gram)[-1]) / total if total > 0 else 1.0
    return Spread(cosine, min(top, 1.0))


def mean_distance(X_ND: np.ndarray, Y_ND: np.ndarray) -> float:
    """How far the means of two languages are apart, in units of how far rows lie from their own mean.

    What chance adds to the distance of two means of N rows is taken off; the rows are translations of each other, so
    chance is that of their differences.

    >>> mean_distance(np.array([[1.0], [-1.0]]), np.array([[4.0], [2.0]]))
    3.0
    """
    X_ND, Y_ND = X_ND.astype(np.float64), Y_ND.astype(np.float64)
    away_ND = X_ND - Y_ND
    step_D = away_ND.mean(axis=0)
    count = len(away_ND)
    by_chance = float(((away_ND - step_D) ** 2).sum()) / (count * max(count - 1, 1))
    within = (X_ND.var(axis=0).sum() + Y_ND.var(axis=0).sum()) / 2
    squared = max(float((step_D**2).sum()) - by_chance, 0.0)
    return float(np.sqrt(squared / within)) if within > 0 else 0.0

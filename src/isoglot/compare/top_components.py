"""Removal of the top principal components, to report every value with and without them.

In many encoders one to three columns are a hundred times larger than the rest (Timkey & van Schijndel 2021). Measures
based on products see little else, so a high value may be due to these few alone.

Shape legend: ``N`` items, ``D`` columns, ``K`` directions removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoglot.core.arrays import exact, give_back, take_rows
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from isoglot.core.arrays import ArrayT


def without_top(X: ArrayT, k: int = 1) -> ArrayT:
    """Rows without their k top principal components, that of the mean included.

    The components are those of the centered rows; the rest of the mean stays.

    >>> import numpy as np
    >>> rows = np.array([[100.0, 1.0], [-100.0, 1.0], [100.0, -1.0], [-100.0, -1.0]])
    >>> without_top(rows, 1).round(6).tolist()
    [[0.0, 1.0], [0.0, 1.0], [0.0, -1.0], [0.0, -1.0]]

    Args:
        X: N × D.
        k: Number of components; 0 removes nothing.

    Raises:
        ConfigError: There are not that many components with anything left besides them.
        InputError: The rows are invalid.
    """
    given_ND = take_rows(X)
    N, D = given_ND.shape
    most = max(min(N - 1, D) - 1, 0)
    if not 0 <= k <= most:
        raise ConfigError(
            f"{k} top components of {N} rows with {D} columns",
            remedy=f"remove 0 to {most}",
            code="config.invalid-value",
        )
    if k == 0:
        return X
    X_ND = exact(given_ND)
    centered_ND = X_ND - X_ND.mean(dim=0)
    directions_DK = top_directions(centered_ND, k)
    return give_back(X_ND - (X_ND @ directions_DK) @ directions_DK.T, X)


def top_directions(centered_ND: torch.Tensor, k: int) -> torch.Tensor:
    """The k top principal directions, from the smaller of the two Gram matrices."""
    N, D = centered_ND.shape
    directions_DK: torch.Tensor
    if D <= N:
        directions_DK = torch.linalg.eigh(centered_ND.T @ centered_ND).eigenvectors[:, -k:]
    else:
        vectors_NK = torch.linalg.eigh(centered_ND @ centered_ND.T).eigenvectors[:, -k:]
        directions_DK = torch.linalg.qr(centered_ND.T @ vectors_NK).Q
    return directions_DK

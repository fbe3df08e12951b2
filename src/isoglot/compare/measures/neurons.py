"""Average neuron-wise correlation (ANC): whether the same columns carry the same information (Del & Fishel 2022).

Shape legend: ``N`` items, ``D`` columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoglot.compare.measures.declaration import Measure, unchanged_by
from isoglot.compare.measures.paired_rows import paired, refuse_equal_rows
from isoglot.core.errors import InputError

if TYPE_CHECKING:
    from isoglot.core.arrays import Array


def anc(X: Array, Y: Array) -> float:
    """Correlation of each column of X with the same column of Y over the items, mean over columns.

    Signed, as the authors compute it. For two languages in one model, whose columns are the same neurons. A column that
    is constant in both spaces is left out; one that is constant in one of them counts as 0.

    Raises:
        InputError: The rows are invalid, the spaces have different widths, or the rows of one side are all equal.
    """
    X_ND, Y_ND = paired(X, Y)
    if X_ND.shape[1] != Y_ND.shape[1]:
        raise InputError(
            f"X has {X_ND.shape[1]} columns and Y {Y_ND.shape[1]}",
            remedy="give two spaces of the same neurons, or use a measure that allows different columns, such as cka",
            code="input.shape",
        )
    refuse_equal_rows(X_ND, "X")
    refuse_equal_rows(Y_ND, "Y")
    X_ND, Y_ND = _standardized(X_ND), _standardized(Y_ND)
    varies_D = X_ND.any(dim=0) | Y_ND.any(dim=0)
    return max(-1.0, min(1.0, float((X_ND * Y_ND).sum() / varies_D.sum())))


def _standardized(X_ND: torch.Tensor) -> torch.Tensor:
    """Columns with mean 0 and length 1; constant columns become zeros."""
    shifted_ND = _over_largest(_over_largest(X_ND) - _over_largest(X_ND)[0])
    centered_ND = shifted_ND - shifted_ND.mean(dim=0)
    length_D: torch.Tensor = centered_ND.norm(dim=0)
    return centered_ND / torch.where(length_D > 0, length_D, 1.0)


def _over_largest(X_ND: torch.Tensor) -> torch.Tensor:
    largest_D = X_ND.abs().amax(dim=0)
    return X_ND / torch.where(largest_D > 0, largest_D, 1.0)


ANC = Measure(
    name="anc",
    title="ANC",
    meaning="Mean correlation of each neuron of one space with the same neuron of the other.",
    function=anc,
    invariances=unchanged_by("scaling", "translation"),
    bounds=(-1.0, 1.0),
    widths="same",
)

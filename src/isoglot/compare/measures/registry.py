"""All measures by name, and one function to compute any of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch

from isoglot.compare.measures import cca, distances, neighbors, topology
from isoglot.compare.measures import cka as kernel_alignment
from isoglot.compare.measures import rsa as dissimilarity
from isoglot.compare.measures.measure import INVARIANCES, Invariance, Measure, paired, unchanged_by
from isoglot.core.errors import check_name
from isoglot.core.rng import random_stream

if TYPE_CHECKING:
    import numpy as np

    from isoglot.core.arrays import Array

__all__ = ["INVARIANCES", "MEASURES", "Invariance", "Measure", "Score", "compute", "find_measure", "unchanged_by"]

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        kernel_alignment.PAPER_CKA,
        kernel_alignment.CKA,
        kernel_alignment.DEBIASED_CKA,
        kernel_alignment.RBF_CKA,
        cca.CCA,
        cca.SVCCA,
        cca.PWCCA,
        distances.PROCRUSTES,
        dissimilarity.RSA,
        distances.DISTANCE_CORRELATION,
        topology.RTD,
        neighbors.MUTUAL_KNN,
        cca.ANC,
        neighbors.SPECTRAL,
        distances.GROMOV_WASSERSTEIN,
    )
}
"""Every measure by name, in the order of tables."""


@dataclass(frozen=True, slots=True)
class Score:
    """Value of a measure, and the number of items it was computed on.

    >>> import numpy as np
    >>> from isoglot.compare import compute
    >>> X = np.random.default_rng(0).normal(size=(30, 5))
    >>> score = compute("cka", X, X)
    >>> round(score.value, 9), score.rows_used, score.of
    (1.0, 30, 30)
    """

    value: float
    rows_used: int
    """number of items used"""
    of: int
    """number of items given"""

    def as_dict(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return asdict(self)


def find_measure(name: str) -> Measure:
    """Measure by name.

    Args:
        name: A key of ``MEASURES``.

    Returns:
        The measure, with its formula, invariances and bounds.

    >>> find_measure("cka").bounds
    (0.0, 1.0)

    Raises:
        ConfigError: It does not exist.
    """
    check_name("measure", name, MEASURES)
    return MEASURES[name]


def compute(name: str, X: Array, Y: Array, *, seed: int = 0) -> Score:
    """Compute any measure; if there are more rows than it takes, a random sample of them.

    Args:
        name: One of :data:`MEASURES`.
        X: N × D.
        Y: N × E, the same items in the same order.
        seed: Random seed of the sample; the same rows for every measure that takes as many.

    Returns:
        The value, with the number of rows it was computed on.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(30, 5))
    >>> score = compute("cka", X, 2 * X + 1)
    >>> round(score.value, 9), score.rows_used
    (1.0, 30)

    Raises:
        ConfigError: The measure does not exist.
        InputError: The rows are invalid.
    """
    measure = find_measure(name)
    count = len(paired(X, Y)[0])
    if measure.rows is not None and count > measure.rows:
        drawn = random_stream(seed, "compare", "rows").choice(count, size=measure.rows, replace=False)
        drawn.sort()
        X, Y = _some_rows(X, drawn), _some_rows(Y, drawn)
    return Score(measure.function(X, Y), len(X), count)


def _some_rows(X: Array, rows: np.ndarray) -> Array:
    return X[torch.from_numpy(rows).to(X.device)] if isinstance(X, torch.Tensor) else X[rows]

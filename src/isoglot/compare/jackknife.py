"""Jackknife: the confidence interval of a number from its values without each tenth of the sentences.

It suits any smooth function of the sentences. It covers sampling of sentences only, not other sources of variation such
as the seed of the encoders' training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.rng import random_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

GROUPS = 10
"""Groups of sentences that are left out one at a time."""
FEWEST = 4 * GROUPS
"""With fewer sentences there is no interval."""
_T_95 = 2.262  # 97.5th percentile of Student's t with GROUPS - 1 degrees of freedom


def groups_of(count: int, seed: int = 0) -> list[np.ndarray]:
    """Row numbers of each group, drawn at random; no groups where there are too few rows."""
    import numpy as np

    if count < FEWEST:
        return []
    return np.array_split(random_stream(seed, "jackknife").permutation(count), GROUPS)


def half_width(replicates: Sequence[float]) -> float:
    """Half the width of the 95 % interval, from the values without each group.

    >>> round(half_width([0.9, 1.0, 1.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 3)
    0.303
    """
    count = len(replicates)
    middle = sum(replicates) / count
    return float(_T_95 * ((count - 1) / count * sum((value - middle) ** 2 for value in replicates)) ** 0.5)

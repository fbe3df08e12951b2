"""How much a number hangs on the sentences it was measured on: measured again without each tenth of them.

It works for any number that does not jump with a sentence more or less, and it says nothing of what else could have
come out differently, such as the training of the encoders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.seeds import random_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

GROUPS = 10
"""Groups of sentences that are left out one at a time."""
FEWEST = 4 * GROUPS
"""Fewer sentences have no interval."""
_T_95 = 2.262  # Student's t with as many degrees of freedom as groups less one


def groups_of(count: int, seed: int = 0) -> list[np.ndarray]:
    """The row numbers of each group, drawn at random; none where there are too few rows."""
    import numpy as np

    if count < FEWEST:
        return []
    return np.array_split(random_stream(seed, "jackknife").permutation(count), GROUPS)


def half_width(replicates: Sequence[float]) -> float:
    """Half of the 95 % interval of a number that is known without each group.

    >>> round(half_width([0.9, 1.0, 1.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 3)
    0.303
    """
    count = len(replicates)
    middle = sum(replicates) / count
    return float(_T_95 * ((count - 1) / count * sum((value - middle) ** 2 for value in replicates)) ** 0.5)

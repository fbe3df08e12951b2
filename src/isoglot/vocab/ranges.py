"""Sets of ids as ranges, which is how they are written to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np


def to_ranges(ids: np.ndarray) -> list[list[int]]:
    """Sorted ids as first and last of each run.

    >>> import numpy as np
    >>> to_ranges(np.array([0, 1, 2, 7, 9, 10]))
    [[0, 2], [7, 7], [9, 10]]
    """
    import numpy as np

    if not len(ids):
        return []
    breaks = np.flatnonzero(np.diff(ids) != 1)
    firsts = ids[np.concatenate([[0], breaks + 1])]
    lasts = ids[np.concatenate([breaks, [len(ids) - 1]])]
    return np.stack([firsts, lasts], axis=1).tolist()  # type: ignore[no-any-return]


def from_ranges(ranges: Iterable[Iterable[int]], size: int) -> np.ndarray:
    """The mask over ``size`` ids that the ranges stand for.

    >>> from_ranges([[0, 1], [3, 3]], 5).tolist()
    [True, True, False, True, False]
    """
    import numpy as np

    mask = np.zeros(size, dtype=bool)
    for first, last in ranges:
        mask[first : last + 1] = True
    return mask

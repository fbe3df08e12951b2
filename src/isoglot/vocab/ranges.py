"""Sets of ids as ranges, which is how they are written to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import CorruptFileError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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


def from_ranges(ranges: Sequence[Sequence[int]], size: int, file: str | Path) -> np.ndarray:
    """The mask over ``size`` ids that the ranges stand for; ``file`` is where they were read, for the message.

    >>> from_ranges([[0, 1], [3, 3]], 5, "vocabulary.json").tolist()
    [True, True, False, True, False]

    Raises:
        CorruptFileError: A range is not the first and the last of some of the ids.
    """
    import numpy as np

    mask = np.zeros(size, dtype=bool)
    for each in ranges:
        if len(each) != 2 or any(type(index) is not int for index in each) or not 0 <= each[0] <= each[1] < size:
            raise CorruptFileError(
                f"{shown(each)} is not a range of ids below {size:,}",
                remedy="the file was altered: make it again or fetch it again",
                file=file,
            )
        mask[each[0] : each[1] + 1] = True
    return mask

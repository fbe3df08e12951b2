"""Bootstrap resamples of test items: the same for the same items, so that numbers can be compared resample by resample.

Shapes: ``N`` items, ``F`` figures, ``R`` resamples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.study.numbers import RESAMPLES, Number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from isoglot.study.numbers import Coordinate


def items_hash(items: object) -> str:
    """Hash of test items, as numbers carry it."""
    import hashlib
    import json

    text = json.dumps(items, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def resampled_sums(parts_NF: np.ndarray, items: str) -> np.ndarray:
    """The sums of figures over the items of each resample (R × F)."""
    import numpy as np

    from isoglot.core.rng import random_stream
    from isoglot.retrieve.metrics import drawn_counts

    drawn_RN = drawn_counts(len(parts_NF), RESAMPLES, random_stream(0, "resamples", items))
    return np.asarray(drawn_RN @ parts_NF)


def ratio_number(
    measure: str, parts_N2: np.ndarray, at: Mapping[str, Coordinate], items: str, *, scale: float = 1.0
) -> Number:
    """A ratio of sums over items, with its resamples; 0 where there is nothing to divide by."""
    import numpy as np

    def ratio(sums_R2: np.ndarray) -> np.ndarray:
        found: np.ndarray = scale * sums_R2[:, 0] / np.maximum(sums_R2[:, 1], 1e-12)
        return found

    value = float(ratio(parts_N2.sum(axis=0, keepdims=True))[0])
    return Number(measure, value, at, tuple(ratio(resampled_sums(parts_N2, items)).tolist()), items)

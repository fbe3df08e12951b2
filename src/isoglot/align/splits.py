"""Training and test split, by seed.

Shape legend: ``N`` items, ``P`` pairs.
"""

from __future__ import annotations

import numpy as np

from isoglot.core.errors import InputError
from isoglot.core.rng import random_stream


def held_out(groups_N: np.ndarray, share: float, *, seed: int, eligible_N: np.ndarray | None = None) -> np.ndarray:
    """Mask of held-out items (N): whole groups drawn at random until the share is reached.

    >>> held_out(np.array([0, 0, 1, 1, 2, 2]), 0.3, seed=1).reshape(3, 2).all(axis=1).tolist().count(True)
    1

    Args:
        groups_N: Group of each item; groups are never divided.
        share: Share of the items to hold out.
        seed: Random seed.
        eligible_N: Items that may be held out. Default: all. A group with an ineligible item stays in training.

    Raises:
        InputError: Nothing can be held out, or nothing would be left.
    """
    names, group_N = np.unique(groups_N, return_inverse=True)
    sizes = np.bincount(group_N)
    free = np.ones(len(names), dtype=bool)
    if eligible_N is not None:
        free[group_N[~eligible_N]] = False
    if len(names) < 2 or not free.any():
        why = "all are known to training" if len(names) >= 2 else "at least two groups are needed"
        raise InputError(
            f"none of {len(groups_N)} pairs can be held out: {why}", "give more pairs, or a separate test", "too-few"
        )
    order = random_stream(seed, "alignment split").permutation(np.flatnonzero(free))
    before = np.cumsum(sizes[order]) - sizes[order]
    chosen = order[before < share * len(groups_N)]
    if len(chosen) == len(names):
        chosen = chosen[:-1]
    return np.isin(group_N, chosen)


def limited(pairs_P2: np.ndarray, limit: int, *, seed: int) -> np.ndarray:
    """At most ``limit`` pairs: sources drawn at random with all their partners, at least one source."""
    if len(pairs_P2) <= limit:
        return pairs_P2
    sources, source_P = np.unique(pairs_P2[:, 0], return_inverse=True)
    order = random_stream(seed, "alignment test").permutation(len(sources))
    total = np.cumsum(np.bincount(source_P)[order])
    chosen = order[: max(1, int(np.searchsorted(total, limit, side="right")))]
    return pairs_P2[np.isin(source_P, chosen)]

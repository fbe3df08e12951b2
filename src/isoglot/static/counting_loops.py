"""The loops of counting, for numba; the plain twin in NumPy stands in :mod:`isoglot.static.counting`.

Shape legend: ``N`` places of a chunk, ``S`` segments, ``V`` types, ``W`` window.
"""

from __future__ import annotations

import numpy as np

from isoglot.core.compiled import compiled


@compiled
def place_types(
    tokens: np.ndarray, starts: np.ndarray, begin: int, end: int, window: int, types: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The places of every type between two places, in order.

    Args:
        tokens: The types of all places, those around the chunk included.
        starts: Where segments begin, and the last one's end; the first may begin before the tokens (S + 1).
        begin: The first place of the chunk.
        end: The first place after it.
        window: How far neighbours may be.
        types: How many types there are.

    Returns:
        Where each type's places begin (V + 1), the places, and how many neighbours each has to its left and right (N).
    """
    begins = np.zeros(types + 1, np.int64)
    for place in range(begin, end):
        begins[tokens[place] + 1] += 1
    for word in range(types):
        begins[word + 1] += begins[word]
    filled = begins[:-1].copy()
    at = np.empty(end - begin, np.int32)
    left = np.empty(end - begin, np.uint8)
    right = np.empty(end - begin, np.uint8)
    for segment in range(len(starts) - 1):
        for place in range(max(begin, starts[segment]), min(end, starts[segment + 1])):
            word = tokens[place]
            k = filled[word]
            filled[word] += 1
            at[k] = place
            left[k] = min(window, place - starts[segment])
            right[k] = min(window, starts[segment + 1] - 1 - place)
    return begins, at, left, right


@compiled
def count_rows(
    tokens: np.ndarray,
    begins: np.ndarray,
    at: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    first: int,
    last: int,
    units_W: np.ndarray,
    types: int,
    room: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of some types: how many pairs each has, their columns in order, and their counts."""
    lengths = np.zeros(last - first, np.int64)
    columns = np.empty(room, np.int32)
    units = np.empty(room, np.int64)
    sums_V = np.zeros(types, np.int64)
    met = np.empty(types, np.int32)
    filled = 0
    for row in range(first, last):
        found = 0
        for k in range(begins[row], begins[row + 1]):
            place = at[k]
            for distance in range(1, left[k] + 1):
                other = tokens[place - distance]
                if sums_V[other] == 0:
                    met[found] = other
                    found += 1
                sums_V[other] += units_W[distance]
            for distance in range(1, right[k] + 1):
                other = tokens[place + distance]
                if sums_V[other] == 0:
                    met[found] = other
                    found += 1
                sums_V[other] += units_W[distance]
        if 16 * found > types:  # looking at all is faster than sorting
            for other in range(types):
                if sums_V[other] != 0:
                    columns[filled] = other
                    units[filled] = sums_V[other]
                    sums_V[other] = 0
                    filled += 1
        else:
            met[:found].sort()
            for k in range(found):
                other = met[k]
                columns[filled] = other
                units[filled] = sums_V[other]
                sums_V[other] = 0
                filled += 1
        lengths[row - first] = found
    return lengths, columns[:filled].copy(), units[:filled].copy()

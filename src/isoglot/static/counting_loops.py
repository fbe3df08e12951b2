"""Compiled loops (numba) of counting, merging and sorting co-occurrences.

Shape legend: ``N`` places of a chunk, ``S`` segments, ``V`` types, ``W`` window, ``K`` pairs, ``M`` runs, ``R`` rows.
"""

from __future__ import annotations

import numpy as np

from isoglot.core.optional import compiled


@compiled
def place_types(
    tokens: np.ndarray, starts: np.ndarray, begin: int, end: int, window: int, types: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Positions of every type between two positions, in order.

    Args:
        tokens: The types of all places, those around the chunk included.
        starts: Where segments begin, and the last one's end; the first may begin before the tokens (S + 1).
        begin: The first place of the chunk.
        end: The first place after it.
        window: How far neighbors may be.
        types: How many types there are.

    Returns:
        Where each type's places begin (V + 1), the places, and how many neighbors each has to its left and right (N).
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
    """Rows of some types: their numbers of pairs, sorted columns, and counts."""
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
        take_row(sums_V, met, found, columns[filled:], units[filled:])
        filled += found
        lengths[row - first] = found
    return lengths, columns[:filled].copy(), units[:filled].copy()


@compiled
def take_row(sums_V: np.ndarray, met: np.ndarray, found: int, columns: np.ndarray, units: np.ndarray) -> None:
    """Move the sums of the columns that occurred to the output, sorted, and reset them to 0."""
    if 16 * found > len(sums_V):  # looking at all is faster than sorting
        filled = 0
        for other in range(len(sums_V)):
            if sums_V[other] != 0:
                met[filled] = other
                filled += 1
    else:
        met[:found].sort()
    for k in range(found):
        columns[k] = met[k]
        units[k] = sums_V[met[k]]
        sums_V[met[k]] = 0


@compiled
def add_rows(
    starts_MR: np.ndarray, columns_K: np.ndarray, units_K: np.ndarray, types: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum the same rows of several runs: their numbers of pairs, sorted columns, and counts.

    Args:
        starts_MR: Where each run's rows begin among the pairs, and their end (M x R + 1).
        columns_K: The columns of the pairs, run after run.
        units_K: Their counts.
        types: How many types there are.
    """
    rows = starts_MR.shape[1] - 1
    lengths = np.zeros(rows, np.int64)
    columns = np.empty(len(columns_K), np.int32)
    units = np.empty(len(columns_K), np.int64)
    sums_V = np.zeros(types, np.int64)
    met = np.empty(types, np.int32)
    filled = 0
    for row in range(rows):
        found = 0
        for run in range(len(starts_MR)):
            for k in range(starts_MR[run, row], starts_MR[run, row + 1]):
                other = columns_K[k]
                if sums_V[other] == 0:
                    met[found] = other
                    found += 1
                sums_V[other] += units_K[k]
        take_row(sums_V, met, found, columns[filled:], units[filled:])
        filled += found
        lengths[row] = found
    return lengths, columns[:filled].copy(), units[:filled].copy()


@compiled
def deal_compiled(
    rows_K: np.ndarray, columns_K: np.ndarray, ranks_V: np.ndarray, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Order of pairs by block, row and rank of the column, by a radix sort in two passes.

    Args:
        rows_K: The rows of the pairs, in order.
        columns_K: Their columns.
        ranks_V: Where each column stands.
        groups: Blocks on a side; rows and columns are dealt to them by turns.

    Returns:
        How many pairs each block has, and the order.
    """
    pairs, types = len(rows_K), len(ranks_V)
    lengths = np.zeros(groups * groups, np.int64)
    if pairs == 0:
        return lengths, np.zeros(0, np.int32)
    groups_V = np.empty(types, np.int32)  # divisions take longer than all the rest
    for word in range(types):
        groups_V[word] = word % groups
    first = rows_K[0] // groups
    height = rows_K[-1] // groups - first + 1
    begins = np.zeros(types + 1, np.int32)
    for k in range(pairs):
        begins[ranks_V[columns_K[k]] + 1] += 1
    for rank in range(types):
        begins[rank + 1] += begins[rank]
    by_rank = np.empty((pairs, 2), np.int32)
    cells = np.zeros(groups * groups * height + 1, np.int32)  # a cell is what a row has in a block
    row, cell = -1, 0
    for k in range(pairs):
        if rows_K[k] != row:
            row = rows_K[k]
            cell = groups_V[row] * groups * height + row // groups - first
        rank = ranks_V[columns_K[k]]
        here = cell + groups_V[columns_K[k]] * height
        by_rank[begins[rank], 0] = k
        by_rank[begins[rank], 1] = here
        begins[rank] += 1
        cells[here + 1] += 1
    for here in range(len(cells) - 1):
        cells[here + 1] += cells[here]
    for block in range(groups * groups):
        lengths[block] = cells[(block + 1) * height] - cells[block * height]
    order = np.empty(pairs, np.int32)
    for k in range(pairs):
        here = by_rank[k, 1]
        order[cells[here]] = by_rank[k, 0]
        cells[here] += 1
    return lengths, order


def deal_plain(
    rows_K: np.ndarray, columns_K: np.ndarray, ranks_V: np.ndarray, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same in NumPy."""
    blocks = rows_K % groups * groups + columns_K % groups
    return np.bincount(blocks, minlength=groups * groups), np.lexsort((ranks_V[columns_K], rows_K, blocks))

"""Compiled loops of the exact search on the CPU: best entries of every line of a block, and single float64 products.

They give the same keys as the torch operations of :mod:`isoglot.retrieve.search`, which serve GPUs and machines without
numba. Entries are compared with the worst one their line keeps, 64 at a time while the block is in the cache; only a
group with a better entry is examined.

Shape legend: ``B`` × ``C`` a block, ``G`` a group, ``S`` kept entries, ``N`` rows of X, ``M`` rows of Y, ``D`` columns,
``P`` × ``W`` single entries.
"""

from __future__ import annotations

import numpy as np

from isoglot.core.optional import compiled, compiled_loosely

GROUP = 64
_LOWEST = -(2**63)
_LARGEST_INDEX = 2**32 - 1


@compiled
def take_rows(keys_BS: np.ndarray, block_BC: np.ndarray, first: int) -> None:
    """Merge a block into the best entries of its rows."""
    columns, last = block_BC.shape[1], keys_BS.shape[1] - 1
    for row in range(len(block_BC)):
        keys_S, values_C = keys_BS[row], block_BC[row]
        start = 0
        while start < columns and keys_S[last] == _LOWEST:
            _insert(keys_S, values_C[start], first + start)
            start += 1
        if start == columns:
            continue
        bar = _value(keys_S[last])
        for begin in range(start, columns, GROUP):
            group_G = values_C[begin : begin + GROUP]
            if len(group_G) < GROUP or _any_above(group_G, bar):
                for place in range(len(group_G)):
                    if group_G[place] > bar:
                        _insert(keys_S, group_G[place], first + begin + place)
                        bar = _value(keys_S[last])


@compiled
def take_columns(keys_CS: np.ndarray, block_BC: np.ndarray, first: int) -> None:
    """Merge a block into the best entries of its columns."""
    columns, last = block_BC.shape[1], keys_CS.shape[1] - 1
    bars_C = np.empty(columns, np.float32)
    row = 0
    while row < len(block_BC) and keys_CS[0, last] == _LOWEST:
        for column in range(columns):
            _insert(keys_CS[column], block_BC[row, column], first + row)
        row += 1
    for column in range(columns):
        bars_C[column] = _value(keys_CS[column, last])
    for below in range(row, len(block_BC)):
        values_C = block_BC[below]
        for begin in range(0, columns, GROUP):
            group_G, bars_G = values_C[begin : begin + GROUP], bars_C[begin : begin + GROUP]
            if len(group_G) < GROUP or _any_above_its_own(group_G, bars_G):
                for place in range(len(group_G)):
                    if group_G[place] > bars_G[place]:
                        _insert(keys_CS[begin + place], group_G[place], first + below)
                        bars_G[place] = _value(keys_CS[begin + place, last])


@compiled
def _any_above(values_G: np.ndarray, bar: np.float32) -> bool:
    """Whether a group has a value above the bar; its constant size lets the compiler vectorize."""
    found = np.int32(0)
    for place in range(GROUP):
        found |= np.int32(values_G[place] > bar)
    return bool(found)


@compiled
def _any_above_its_own(values_G: np.ndarray, bars_G: np.ndarray) -> bool:
    """The same with a bar for each value."""
    found = np.int32(0)
    for place in range(GROUP):
        found |= np.int32(values_G[place] > bars_G[place])
    return bool(found)


@compiled
def _insert(keys_S: np.ndarray, value: np.float32, index: int) -> None:
    """Insert an entry among the best, replacing the worst."""
    bits = np.int64(np.float32(value + np.float32(0.0)).view(np.int32))  # -0.0 is 0.0
    key = ((bits ^ ((bits >> 63) & 0x7FFFFFFF)) << 32) | (_LARGEST_INDEX - index)
    place = len(keys_S) - 1
    while place > 0 and keys_S[place - 1] < key:
        keys_S[place] = keys_S[place - 1]
        place -= 1
    keys_S[place] = key


@compiled
def _value(key: int) -> np.float32:
    """Value in a key."""
    ordered = key >> 32
    return np.int32(ordered ^ ((ordered >> 63) & 0x7FFFFFFF)).view(np.float32)


@compiled_loosely
def products(
    X_ND: np.ndarray, Y_MD: np.ndarray, rows_P: np.ndarray, columns_PW: np.ndarray, out_PW: np.ndarray
) -> None:
    """Write single entries of X Yᵀ, in float64."""
    for p in range(len(rows_P)):
        x_D = X_ND[rows_P[p]]
        for w in range(columns_PW.shape[1]):
            y_D = Y_MD[columns_PW[p, w]]
            total = 0.0
            for d in range(len(x_D)):
                total += np.float64(x_D[d]) * np.float64(y_D[d])
            out_PW[p, w] = total

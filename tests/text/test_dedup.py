from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.cleaning.clean import Seen, line_hash

chunks = st.lists(st.lists(st.integers(0, 40) | st.integers(2**64 - 9, 2**64 - 1), max_size=12), max_size=30)


@given(chunks, st.integers(1, 9), st.integers(1, 30))
def test_it_is_a_set(parts: list[list[int]], recent: int, spill: int):
    """Whatever lies in the Python set, in arrays and on disk."""
    seen, reference = Seen(recent=recent, spill=spill), set()
    for part in parts:
        expected = []
        for value in part:
            expected.append(value not in reference)
            reference.add(value)
        assert seen.add(part) == expected
        assert len(seen) == len(reference)


def test_eight_bytes_a_line():
    seen = Seen(recent=1000, spill=20_000)
    values = np.random.default_rng(0).integers(0, 2**63, 100_000).tolist()
    for start in range(0, len(values), 500):
        assert all(seen.add(values[start : start + 500]))
    arrays = [*seen._arrays, *seen._on_disk]
    assert sum(array.nbytes for array in arrays) == 8 * len(values)
    assert len(arrays) <= 12
    assert sum(array.nbytes for array in seen._arrays) < 8 * 20_000
    assert not any(seen.add(values[:500]))


def test_hashes_are_the_same_everywhere():
    assert line_hash("isoglot") == int.from_bytes(bytes.fromhex("4c0d568f15fe3dd5"), "little")
    assert line_hash("a") != line_hash("b")

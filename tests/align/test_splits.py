from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoglot.align.layer_maps import held_out, limited
from isoglot.retrieve.leaks import refuse_leak
from tests.errors import raises

pairs = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=2, max_size=60)


@given(pairs, st.floats(0.05, 0.95), st.integers(0, 5))
def test_no_group_is_on_both_sides(found, share, seed):
    groups = np.array([group for group, _ in found])
    if len(np.unique(groups)) < 2:
        with raises("input.too-few"):
            held_out(groups, share, seed=seed)
        return
    out = held_out(groups, share, seed=seed)
    assert 0 < out.sum() < len(groups)
    assert not set(groups[out]) & set(groups[~out])
    np.testing.assert_array_equal(out, held_out(groups, share, seed=seed))


@given(pairs, st.integers(1, 30))
def test_the_limit_keeps_whole_sources(found, limit):
    made = np.array(sorted(set(found)))
    kept = limited(made, limit, seed=0)
    assert len(kept) <= limit or len(np.unique(kept[:, 0])) == 1
    for source in np.unique(kept[:, 0]):
        assert (kept[:, 0] == source).sum() == (made[:, 0] == source).sum()


def test_a_leak_is_counted_with_examples():
    with raises("input.leak", "4 of 5", "'d', 'c', 'b'"):
        refuse_leak(["a", "b", "c", "d"], ["d", "c", "b", "a", "e", "e"], "sentences", allow=False)
    assert refuse_leak(["a"], ["a", "b"], "sentences", allow=True) == 1
    assert refuse_leak(["a"], ["b"], "sentences", allow=False) == 0

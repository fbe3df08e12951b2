"""A few shapes for all batches: none are better, and they hold their rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.transfer.tasks.task import TaskRow
from isoglot.transfer.tuning.batches import StoredRows
from isoglot.transfer.tuning.cuda_graphs import Shapes, widths


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(3, 60), min_size=1, max_size=30), most=st.integers(1, 4))
def test_no_few_widths_are_better(sizes, most):
    found = widths(sizes, most=most)
    assert len(found) <= most

    def columns(some: tuple[int, ...]) -> float:
        return sum(min((width for width in some if width >= size), default=np.inf) for size in sizes)

    options = sorted({-(-size // 8) * 8 for size in sizes})
    every = [columns(some) for count in range(1, most + 1) for some in combinations(options, count)]
    assert columns(tuple(found)) == min(every)


def test_a_shape_holds_its_rows(vocabulary):
    chance = np.random.default_rng(0)
    rows = []
    for size in chance.integers(2, 60, 50).tolist():
        places = np.arange(1, 1 + int(chance.integers(1, size)))
        rows.append(TaskRow(np.full(size, 9), places, np.zeros((len(places), 1), dtype=np.int64), 0))
    stored = StoredRows(rows, vocabulary, 60, torch.device("cpu"))
    shapes = Shapes(stored, rows=4, tokens=None)
    assert shapes.all[-1].tokens == 60  # not wider than an encoder takes
    for numbers in chance.integers(0, 50, (20, 4)).tolist():
        shape = shapes.of(numbers)
        batch = stored.cut(stored.sent(numbers, shape), shape)
        assert batch.batch.mask_BT.sum(dim=1).tolist() == [len(rows[number].ids_N) for number in numbers]
        assert batch.mask_BW.sum(dim=1).tolist() == [len(rows[number].places_W) for number in numbers]
    by_tokens = Shapes(stored, rows=4, tokens=120)
    assert all(shape.rows * shape.tokens <= 120 for shape in by_tokens.all)
    assert {shape.rows for shape in Shapes(stored, rows=512, tokens=None).all} == {50}  # no more than there are

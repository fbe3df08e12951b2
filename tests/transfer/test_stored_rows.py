"""Batches cut on the device are those that are put together row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.model.protocol import Batch
from isoglot.transfer.tasks.task import IGNORED, TaskRow
from isoglot.transfer.tuning.batches import Shape, StoredRows, TaskBatch, rounded
from isoglot.vocab import Vocabulary

CPU = torch.device("cpu")


def row(chance: np.random.Generator, tokens: int, places: int, *, learn: bool, parts: bool) -> TaskRow:
    return TaskRow(
        chance.integers(5, 50, tokens),
        np.sort(chance.integers(0, tokens, places)),
        chance.integers(0, 4, (places, 2)) if learn else None,
        0,
        parts_W=np.sort(chance.integers(0, 2, places)) if parts else None,
    )


def collated(rows: Sequence[TaskRow], numbers: Sequence[int], vocabulary: Vocabulary, length: int) -> TaskBatch:
    """The plain twin: some rows as a batch, row by row; at most ``length`` wide."""
    chosen = [rows[number] for number in numbers]
    width = min(rounded(max(len(row.ids_N) for row in chosen)), length)
    places = max(len(row.places_W) for row in chosen)
    places = places if places == 1 else rounded(places)
    ids_BT = np.full((len(chosen), width), vocabulary.special["[PAD]"], dtype=np.int64)
    tokens_BT = np.zeros((len(chosen), width), dtype=bool)
    starts_BT = np.zeros((len(chosen), width), dtype=bool)
    places_BW = np.zeros((len(chosen), places), dtype=np.int64)
    mask_BW = np.zeros((len(chosen), places), dtype=bool)
    parts_BW = None if chosen[0].parts_W is None else np.zeros((len(chosen), places), dtype=np.int32)
    learn = chosen[0].targets_WK
    targets_BWK = None if learn is None else np.full((len(chosen), places, learn.shape[1]), IGNORED, dtype=np.int64)
    for index, row in enumerate(chosen):
        ids_BT[index, : len(row.ids_N)] = row.ids_N
        tokens_BT[index, : len(row.ids_N)] = True
        starts_BT[index, row.places_W[row.places_W > 0]] = True
        places_BW[index, : len(row.places_W)] = row.places_W
        mask_BW[index, : len(row.places_W)] = True
        if targets_BWK is not None and row.targets_WK is not None:
            targets_BWK[index, : len(row.places_W)] = row.targets_WK
        if parts_BW is not None and row.parts_W is not None:
            parts_BW[index, : len(row.places_W)] = row.parts_W
    ids, tokens, starts = (torch.from_numpy(array) for array in (ids_BT, tokens_BT, starts_BT))
    return TaskBatch(
        Batch(ids, tokens, starts, bool(tokens_BT.all())),
        torch.from_numpy(places_BW),
        torch.from_numpy(mask_BW),
        None if targets_BWK is None else torch.from_numpy(targets_BWK),
        None if parts_BW is None else torch.from_numpy(parts_BW),
    )


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 12)), min_size=1, max_size=9),
    learn=st.booleans(),
    parts=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_same_as_row_by_row(vocabulary, sizes, learn, parts, seed):
    chance = np.random.default_rng(seed)
    rows = [row(chance, tokens, places, learn=learn, parts=parts) for tokens, places in sizes]
    stored = StoredRows(rows, vocabulary, 60, CPU)
    numbers = chance.permutation(len(rows))[: max(1, len(rows) // 2)].tolist()
    one, other = stored.batch(numbers), collated(rows, numbers, vocabulary, 60)
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("places_BW", "mask_BW", "targets_BWK", "parts_BW")]
    pairs += [(getattr(one.batch, name), getattr(other.batch, name)) for name in ("ids_BT", "mask_BT", "starts_BT")]
    for mine, theirs in pairs:
        assert (mine is None) == (theirs is None)
        if mine is not None:
            torch.testing.assert_close(mine, theirs)
    assert one.batch.full == other.batch.full


def test_a_batch_is_filled_up_with_what_teaches_nothing(vocabulary):
    chance = np.random.default_rng(1)
    rows = [row(chance, 4, 3, learn=True, parts=True) for _ in range(3)]
    stored = StoredRows(rows, vocabulary, 60, CPU)
    shape = Shape(4, 16, 8)
    found = stored.cut(stored.sent([2, 0], shape), shape)
    assert found.batch.ids_BT.shape == (4, 16)
    assert found.places_BW.shape == (4, 8)
    assert found.batch.mask_BT.sum(dim=1).tolist() == [4, 4, 2, 2]
    assert found.mask_BW.sum(dim=1).tolist() == [3, 3, 1, 1]
    assert found.targets_BWK is not None
    assert (found.targets_BWK[2:] == IGNORED).all()
    for place, number in enumerate([2, 0]):
        np.testing.assert_array_equal(found.targets_BWK[place, :3].numpy(), rows[number].targets_WK)
    assert found.firsts_B is not None
    assert found.firsts_B.tolist() == [6, 0, 9, 9]


@pytest.mark.parametrize("learn", [True, False])
def test_no_rows(vocabulary, learn):
    assert len(StoredRows([], vocabulary, 60, CPU)) == 0

"""The batches of an epoch."""

from __future__ import annotations

import numpy as np
import pytest

from isoglot.transfer.tasks.task import TaskRow
from isoglot.transfer.tuning.batches import epoch_batches


def rows(count: int) -> list[TaskRow]:
    return [TaskRow(np.arange(5 + number % 3), np.zeros(1, dtype=np.int64), None, number) for number in range(count)]


@pytest.mark.parametrize("amount", [None, 4])
@pytest.mark.parametrize("tokens", [None, 64])
def test_a_language_without_rows_has_no_batches(amount, tokens):
    """All its trees may be too long to learn from."""
    found = epoch_batches({"de": [], "en": rows(9)}, seed=0, epoch=1, size=2, tokens=tokens, amount=amount)
    assert {language for language, _ in found} == {"en"}
    assert sum(len(numbers) for _, numbers in found) == (amount or 9)
    assert epoch_batches({"de": []}, seed=0, epoch=0, size=2, tokens=tokens, amount=amount) == []


def test_an_epoch_goes_on_where_the_last_one_ended():
    given = {"en": rows(9)}
    epochs = [epoch_batches(given, seed=0, epoch=epoch, size=2, tokens=None, amount=3) for epoch in range(3)]
    assert sorted(number for epoch in epochs for _, numbers in epoch for number in numbers) == list(range(9))

"""One thread, all, or some: what is measured as quicker is used, and only for the block."""

import pytest
import torch

from isoglot.core import devices as threads
from isoglot.core.devices import quickest_threads


@pytest.mark.parametrize(
    ("most", "seconds", "count"),
    [(2, {1: 1, 2: 3}, 1), (2, {1: 3, 2: 1}, 2), (6, {1: 4, 2: 3, 4: 1, 6: 2}, 4), (6, {1: 4, 2: 3, 4: 2, 6: 2}, 6)],
)
def test_the_quickest(monkeypatch: pytest.MonkeyPatch, most: int, seconds: dict[int, float], count: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(most)
    try:
        monkeypatch.setattr(threads, "_seconds", lambda: seconds[torch.get_num_threads()])
        with quickest_threads() as found:
            assert (found, torch.get_num_threads()) == (count, count)
        assert torch.get_num_threads() == most
        with pytest.raises(RuntimeError, match="of the block"), quickest_threads():
            raise RuntimeError("of the block")
        assert torch.get_num_threads() == most
    finally:
        torch.set_num_threads(before)


def test_where_there_is_one_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        monkeypatch.setattr(threads, "_seconds", lambda: pytest.fail("measured"))
        with quickest_threads() as found:
            assert found == 1
    finally:
        torch.set_num_threads(before)

"""One thread or all: what is measured as quicker is used, and only for the block."""

import pytest
import torch

from isoglot.core import threads
from isoglot.core.threads import quickest_threads


@pytest.mark.parametrize(("alone", "together", "count"), [(1.0, 3.0, 1), (3.0, 1.0, 2)])
def test_the_quicker_of_one_and_all(monkeypatch: pytest.MonkeyPatch, alone: float, together: float, count: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        monkeypatch.setattr(threads, "_seconds", lambda: alone if torch.get_num_threads() == 1 else together)
        with quickest_threads() as found:
            assert (found, torch.get_num_threads()) == (count, count)
        assert torch.get_num_threads() == 2
        with pytest.raises(RuntimeError, match="of the block"), quickest_threads():
            raise RuntimeError("of the block")
        assert torch.get_num_threads() == 2
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

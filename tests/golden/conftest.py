"""The option and the fixture of golden numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.golden.runner import Runner


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="Rewrite the stored numbers of tests/golden.")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """The runner of all cases, on one thread: sums of floats depend on how many share the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Runner(tmp_path_factory.mktemp("golden"))
    torch.set_num_threads(before)

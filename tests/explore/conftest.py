from __future__ import annotations

import pytest

from isoglot.explore.views import ExploredModel
from isoglot.model import load_encoder


@pytest.fixture(scope="session")
def mini() -> ExploredModel:
    return ExploredModel("isoglot-mini", load_encoder("isoglot-mini", device="cpu"))

"""Grammars, each made once."""

from __future__ import annotations

import pytest

from isoglot.languages.grammars.chinese import Chinese


@pytest.fixture(scope="session")
def chinese() -> Chinese:
    return Chinese()

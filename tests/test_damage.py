"""No file of ours that was damaged changes a result in silence; ``benchmarks/damage.py`` does the same at length."""

from __future__ import annotations

import random
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

CHANGES = 6
KINDS = 19


@pytest.fixture(scope="module")
def damage() -> ModuleType:
    path = Path(__file__).parents[1] / "benchmarks" / "damage.py"
    spec = spec_from_file_location("isoglot_damage", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kinds(damage: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    found: list[Any] = damage.kinds(tmp_path_factory.mktemp("texts"))
    return found


@pytest.mark.parametrize("number", range(KINDS))
def test_damage_is_refused_or_without_effect(damage: ModuleType, kinds: list[Any], tmp_path: Path, number: int):
    assert len(kinds) == KINDS
    seen = damage.try_kind(kinds[number], tmp_path, CHANGES, random.Random(number))  # noqa: S311 - no secret
    assert set(seen) <= {"refused", "no effect"}, (kinds[number].name, seen)

"""``benchmarks/fuzz.py`` reports every failed case, and a few cases of it."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    path = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"
    spec = spec_from_file_location("isoglot_fuzz", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_it_goes_on_after_a_failure(fuzz, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    numbers = iter(range(10, 16))

    def fail_twice(*_: object) -> str:
        if next(numbers) in (11, 13):
            raise ZeroDivisionError
        return "read"

    monkeypatch.setattr(fuzz, "read_one", fail_twice)
    assert fuzz.fuzz("readers", 10, 6, 0) == 1
    shown = capsys.readouterr()
    assert shown.out.rstrip().endswith("2 failed: 11 13")
    assert shown.err.count("\nZeroDivisionError") == 2


def test_damaged_files_are_read_or_refused(fuzz, capsys: pytest.CaptureFixture[str]):
    assert fuzz.fuzz("readers", 0, 100, 7) == 0
    assert capsys.readouterr().out.rstrip().endswith("none failed")

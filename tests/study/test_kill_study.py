"""A study that is killed ends as one that nobody disturbed; ``make proof`` does the same at length, on every engine."""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds processes in /proc")
def test_three_kills_change_nothing(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "kill_study.py"
    spec = spec_from_file_location("isoglot_kill_study", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    killed = module.Killed(tmp_path, seed=os.getpid(), longest=5.0)
    killed.disturb("local", 3, {})
    killed.finish("local", {})
    assert len(killed.kills) == 3
    assert killed.differences() == []

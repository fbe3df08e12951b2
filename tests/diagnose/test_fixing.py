"""A model from its folder to a fixed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.compare.parallel_sentences import builtin_set
from isoglot.diagnose.repair.choice import FixConfig
from isoglot.diagnose.repair.fixing import fix
from isoglot.report.fix import fix_result


def test_the_fixed_model_has_the_vectors_that_were_measured(tmp_path: Path):
    config = FixConfig(method="leace", resamples=50, copies=20)
    found = fix(
        "isoglot-mini", [builtin_set(["en", "fr"], 80, seed=0)], config=config, out=tmp_path / "fixed", device="cpu"
    )
    assert found.written is not None
    assert found.written.name == "leace"
    assert found.difference == pytest.approx(0, abs=1e-5)
    result = fix_result(found)
    assert result.value["written"] == {"layer": 8, "name": "leace"}
    assert {"index.html"} <= set(result.files([]))

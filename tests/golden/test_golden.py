"""Golden numbers: what every verb printed, and which files it wrote, when the numbers were stored.

A refactoring changes none of them. Where a change is meant to change numbers, rewrite them, and look at the difference:

    pytest -n 0 --no-cov tests/golden --update-golden && git diff tests/golden/numbers

Cases are in ``cases.py``; ``numbers/NAME.json`` has the numbers of one. Times, hashes, versions and dates are not kept; ``@``
in a path is the folder that all cases write to.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.main import get_command

from isoglot.cli.main import app
from tests.golden.cases import CASES, LEFT_OUT
from tests.golden.numbers_kept import as_text, differences, sum_differences
from tests.golden.runner import Runner

NUMBERS = Path(__file__).parent / "numbers"
SUMS = 1e-5
"""How far the sum of a trained tensor may be off, as a share of its magnitudes."""


@pytest.mark.parametrize("name", CASES)
def test_golden(golden: Runner, request: pytest.FixtureRequest, name: str):
    if CASES[name].needs:
        pytest.importorskip(CASES[name].needs)
    found, path = golden.run(name), NUMBERS / f"{name}.json"
    if request.config.getoption("--update-golden", default=False):
        path.write_text(as_text(found), encoding="utf-8")
    stored = json.loads(path.read_text(encoding="utf-8"))
    tensors = sum_differences(stored.pop("tensors", {}), found.get("tensors", {}), SUMS)
    rest = {key: value for key, value in found.items() if key != "tensors"}
    lines = differences(stored, rest, CASES[name].tolerance, CASES[name].rough) + tensors
    assert not lines, "\n".join([f"{len(lines)} values of isoglot {CASES[name].command}", *lines[:30]])


def test_every_verb_has_a_case_or_a_reason():
    def verbs(command, path: tuple[str, ...] = ()) -> list[str]:
        below = getattr(command, "commands", None)
        if below is None:
            return [" ".join(path)]
        return [found for name, each in below.items() for found in verbs(each, (*path, name))]

    covered = {verb for verb in verbs(get_command(app)) for case in CASES.values() if case.is_of(verb)}
    assert set(verbs(get_command(app))) - covered == set(LEFT_OUT)


def test_stored_numbers_are_those_of_the_cases_and_small():
    paths = list(NUMBERS.iterdir())
    assert {path.stem for path in paths} == set(CASES)
    assert sum(path.stat().st_size for path in paths) < 300_000

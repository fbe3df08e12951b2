"""The package's own papers: what it says it needs is what it has."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import isoglot
from isoglot.core.optional import PARTS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[]", name)[0]).lower()


def test_parts_are_the_extras():
    extras = {name: tuple(map(normal, needs)) for name, needs in PROJECT["project"]["optional-dependencies"].items()}
    del extras["dev"], extras["docs"]
    assert extras == {part.extra: part.libraries for part in PARTS}


def test_the_house_has_the_rooms_in_their_order():
    layers = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    assert f"\n{' ▸ '.join(layers[::-1])}\n" in (ROOT / "ARCHITECTURE.md").read_text()
    assert {path.parent.name for path in (ROOT / "src/isoglot").glob("*/__init__.py")} == set(layers)


@pytest.mark.skipif(Path(sys.prefix) != ROOT / ".venv", reason="only `make` promises these versions")
def test_every_installed_version_is_pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {normal(line): line.partition("==")[2] for line in lines if "==" in line}
    free = {"isoglot", "pip", "setuptools"}
    brought_by_torch = re.compile("nvidia-|cuda-|triton")
    names = {n for n in needed("isoglot", {"dev"}) if n not in free and not brought_by_torch.match(n)}
    assert {"torch", "pytest", "rich", "pygments"} <= names
    assert {n: metadata.version(n).partition("+")[0] for n in names} == {n: pins.get(n) for n in names}


def needed(name: str, extras: set[str], found: set[str] | None = None) -> set[str]:
    """The names of all installed packages that a package needs, and those need, and so on."""
    found = set() if found is None else found
    for text in metadata.requires(name) or ():
        requirement = Requirement(text)
        applies = requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in extras | {""})
        if applies and (below := normal(requirement.name)) not in found:
            found.add(below)
            needed(below, requirement.extras, found)
    return found


def test_citation_has_the_version():
    assert f"version: {isoglot.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_make_help_lists_every_target():
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    assert set(re.findall(r"make (\w+)", listed)) == set(phony[1].split())


@pytest.mark.parametrize(("given", "cases"), [((), (20_000, 2_000)), (("FUZZ=full",), (100_000, 10_000))])
def test_make_proof_fuzzes_as_much_as_it_is_told(given: tuple[str, ...], cases: tuple[int, int]):
    # The stamp is named as up to date: nothing is installed, and nothing is run.
    command = ["make", "-n", "-o", ".venv/.dev", "proof", *given]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"fuzz\.py (\w+) --cases (\d+)", shown) == [("readers", str(cases[0])), ("cli", str(cases[1]))]
    (name,) = re.findall(r"rerun_study\.py ([\w.-]+)", shown)
    assert (ROOT / "results" / name / "study.json").exists()


@pytest.mark.parametrize(
    "path", sorted([*ROOT.glob("benchmarks/*.py"), *ROOT.glob("scripts/*.py")]), ids=lambda path: path.name
)
def test_a_program_reads_its_arguments_so_that_it_has_help(path: Path):
    text = path.read_text()
    assert ("ArgumentParser(" in text) == ("__main__" in text)

"""Run a published study of built-in languages again and compare it with the expected numbers in the package.

    python benchmarks/rerun_study.py thumbnail-1.5M

``make proof`` runs it. What differs beyond the intervals of both, which are over seeds, is listed, with exit code 1.
On another processor the last bits of training differ, and with them every number a little: intervals allow for that.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from isoglot.study.build import BuiltStudy, StudyOptions, build_study
from isoglot.study.data import StudyData
from isoglot.study.engines import RunOptions, run_study
from isoglot.study.study import Study
from isoglot.study.tables.results import difference_table, study_differences

RESULTS = Path(__file__).parents[1] / "results"


def planned_again(name: str) -> BuiltStudy:
    """The plan of a published study, made from its recipe and settings."""
    about = Study.open(RESULTS / name).about
    options = StudyOptions(scale=about["scale"], scale_settings=tuple(about["settings"]), seeds=about["seeds"])
    return build_study(about["recipe"], StudyData(), options)


def main() -> int:
    """Run, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="thumbnail-1.5M", help="a folder of results/")
    parser.add_argument("--workers", type=int, default=None, help="processes")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rerun-") as folder:
        study = Study.create(folder, planned_again(given.name))
        done = run_study(study, "local", RunOptions(device="cpu", workers=given.workers))
        for error in done.failed.values():
            print(f"FAILED {error}")
        found = study_differences(study, [], given.name)
        print(f"{given.name}: {len(study.numbers()):,} numbers of {len(study.steps)} steps in {done.seconds:.0f} s")
        print(difference_table(found).text())
    return int(bool(found or done.failed))


if __name__ == "__main__":
    sys.exit(main())

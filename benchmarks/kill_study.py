"""Kill a study with SIGKILL at random moments, again and again; its results must be those of an undisturbed run.

    python benchmarks/kill_study.py --kills 50
    python benchmarks/kill_study.py --engine slurm --kills 10

A study on built-in languages runs on every engine that is installed, one after another on the same store: ``local``,
``slurm`` (a SLURM of its own on this machine; needs Debian's slurm-wlm and munge) and ``ray`` (two nodes on this
machine). At random moments one of its processes, chosen at random, is killed: the command, a worker, a job, a task. A
study that is done before it was killed often enough is given another seed. At the end keys and payload hashes must be
those of a run that nobody disturbed, and no file or process may be left. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # for what tests share

from isoglot.core.optional import import_part  # noqa: E402
from isoglot.study.build import StudyOptions, build_study  # noqa: E402
from isoglot.study.data import StudyData  # noqa: E402
from isoglot.study.engines import RunOptions  # noqa: E402
from isoglot.study.engines.local import run_local  # noqa: E402
from isoglot.study.study import Study  # noqa: E402
from tests.study.one_node_slurm import is_installed, one_node_slurm  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SMALL = ("tokens=2000", "moments=1", "builtin_sentences=200", "settings.model.layers=2", "pairs=20")
RECIPE = """\
title = "a study to kill"
measures = ["retrieval"]

[arms.default]
"""
LONGEST = 12.0
"""Seconds: a process is killed within so many since the last."""


class Killed:
    """A study that is killed now and then.

    Args:
        folder: For the study and its twin.
        seed: Of the moments and the victims.
        longest: Seconds between two kills, at most.
    """

    def __init__(self, folder: Path, seed: int = 0, longest: float = LONGEST) -> None:
        self.folder, self.longest = folder, longest
        self.random = random.Random(seed)  # noqa: S311 - no secrets here
        self.recipe = folder / "recipe.toml"
        self.recipe.write_text(RECIPE)
        self.out = folder / "study"
        self.seeds = 1
        self.kills: list[str] = []

    def plan(self, out: Path) -> Study:
        """Write the plan."""
        options = StudyOptions(scale="nano", scale_settings=SMALL, seeds=self.seeds)
        return Study.create(out, build_study(str(self.recipe), StudyData(), options))

    def disturb(self, engine: str, kills: int, environment: dict[str, str]) -> None:
        """Run on an engine until so many processes have been killed."""
        killed = 0
        while killed < kills:
            if (self.out / "study.json").exists() and not self.plan(self.out).needed():
                self.seeds += 1
            with self._started(engine, environment) as driver:
                while killed < kills:
                    try:
                        driver.wait(self.random.uniform(0, self.longest))
                        break
                    except subprocess.TimeoutExpired:
                        killed += self._kill(driver.pid)

    def finish(self, engine: str, environment: dict[str, str], attempts: int = 4) -> None:
        """Run to the end; a step that was killed twice in one run counts as failed there, so run again."""
        for _ in range(attempts):
            with self._started(engine, environment) as driver:
                driver.wait()
            if not self.plan(self.out).needed():
                return
        raise SystemExit(f"{engine}: the study did not end in {attempts} runs: {self.plan(self.out).counts()}")

    @contextmanager
    def _started(self, engine: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "isoglot", "study", "run", str(self.recipe), "--scale", "nano"]
        command += [word for setting in SMALL for word in ("--set", setting)]
        command += ["--seeds", str(self.seeds), "--out", str(self.out), "--engine", engine, "--device", "cpu"]
        command += ["--wait"] if engine == "slurm" else []
        with (self.folder / "log.txt").open("ab") as log:
            driver = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **environment})
            try:
                yield driver
            finally:
                driver.kill()
                driver.wait()

    def _kill(self, driver: int) -> int:
        """Kill one of the study's processes; how many were."""
        found = self.processes()
        others = sorted(number for number in found if number != driver)
        # Mostly what the command started, which is there for less of the time; else it would seldom get that far.
        if self.random.random() < 0.7:
            if not others:
                return 0
            victim = self.random.choice(others)
        elif driver in found:
            victim = driver
        else:
            return 0
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return 0
        self.kills.append("command" if victim == driver else found[victim])
        return 1

    def processes(self) -> dict[int, str]:
        """Processes that have the study's folder in their command, and tasks that started them."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            words = _words(path)
            if str(self.out) not in words or int(path.name) == os.getpid():
                continue
            found[int(path.name)] = "worker" if "isoglot.study.engines.worker" in words else "job"
            parent = _parent(path)
            if parent and any(word.startswith("ray::") for word in _words(Path(f"/proc/{parent}"))):
                found[parent] = "task"
        return found

    def differences(self) -> list[str]:
        """What differs from a run that nobody disturbs, in words."""
        twin, mine = self.plan(self.folder / "undisturbed"), self.plan(self.out)
        result = run_local(twin, RunOptions(device="cpu"))
        found = [f"undisturbed: {error}" for error in result.failed.values()]
        if twin.store.keys() != mine.store.keys():
            found.append(f"keys: {set(twin.store.keys()) ^ set(mine.store.keys())}")
        for key, step in mine.steps.items():
            one, other = mine.store.record(key), twin.store.record(key)
            if one is None or other is None or one["payload_sha256"] != other["payload_sha256"]:
                found.append(f"{step.title}: other payload")
            mine.store.check(key)
        if list(mine.numbers()) != list(twin.numbers()):
            found.append("other numbers")
        mine.store.sweep()
        found += [f"left behind: {path.name}" for path in mine.store.steps.glob(".*")]
        end = time.monotonic() + 30
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.2)
        return found + [f"process {number} is left: {name}" for number, name in left.items()]


def _words(path: Path) -> list[str]:
    try:
        return path.joinpath("cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _parent(path: Path) -> int:
    try:
        return int(path.joinpath("stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


# --- clusters of one machine ---


def engines() -> list[str]:
    """Engines that this machine has."""
    found = ["local"]
    if is_installed():
        found.append("slurm")
    if find_spec("ray") is not None:
        found.append("ray")
    return found


@contextmanager
def cluster(engine: str, folder: Path) -> Iterator[dict[str, str]]:
    """Start the cluster of an engine; gives the environment in which it is found."""
    with ExitStack() as stack:
        match engine:
            case "slurm":
                yield stack.enter_context(one_node_slurm(folder / "slurm"))
            case "ray":
                make = import_part("ray.cluster_utils").Cluster
                nodes = make(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
                stack.callback(nodes.shutdown)
                nodes.add_node(num_cpus=1)
                yield {"RAY_ADDRESS": nodes.address}
            case _:
                yield {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, finish, compare."""
    parser = argparse.ArgumentParser(description="Kill a study at random moments; compare it with an undisturbed one.")
    parser.add_argument("--kills", type=int, required=True, help="in all; spread over the engines, at least 10 each")
    parser.add_argument("--engine", action="append", choices=("local", "slurm", "ray"), help="default: all there are")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    chosen = given.engine or engines()
    print(f"engines: {', '.join(chosen)}", flush=True)
    each = {engine: 10 if len(chosen) > 1 else given.kills for engine in chosen}
    each[chosen[0]] = max(each[chosen[0]], given.kills - 10 * (len(chosen) - 1))
    with tempfile.TemporaryDirectory(prefix="kill-") as place:
        killed = Killed(Path(place), given.seed)
        for engine, kills in each.items():
            with cluster(engine, Path(place)) as environment:
                start, before = time.monotonic(), len(killed.kills)
                killed.disturb(engine, kills, environment)
                killed.finish(engine, environment)
                who = ", ".join(f"{killed.kills[before:].count(x)} {x}s" for x in ("command", "worker", "job", "task"))
                print(f"{engine}: {kills} kills ({who}) in {time.monotonic() - start:.0f} s, {killed.seeds} seeds")
        found = killed.differences()
        done = len(killed.plan(killed.out).steps)
    for line in found:
        print(f"FAILED {line}")
    print(f"{len(killed.kills)} kills, {done} steps, {'as undisturbed' if not found else f'{len(found)} differences'}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

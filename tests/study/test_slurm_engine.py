"""The SLURM engine: what is submitted, and what a real SLURM makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from isoglot.study.engines import ClusterOptions, RunOptions, slurm
from isoglot.study.engines.slurm import job_script, queued_jobs, run_slurm, sbatch_options
from tests.errors import raises
from tests.study.fake_steps import Plan, fake_kinds, wait_until
from tests.study.one_node_slurm import is_installed, one_node_slurm

pytestmark = pytest.mark.usefixtures("fake_kinds")
__all__ = ["fake_kinds"]
SBATCH = """#!{python}
import json, pathlib, sys
log = pathlib.Path({log!r})
number = 100 + len(log.read_text().splitlines()) if log.exists() else 100
with log.open("a") as out:
    out.write(json.dumps(sys.argv[1:]) + "\\n")
print(number)
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(tmp_path)


@pytest.fixture
def submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that write down what they were called with; returns where sbatch does."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "sbatch.log"
    (folder / "sbatch").write_text(SBATCH.format(python=sys.executable, log=str(log)))
    (folder / "squeue").write_text(f"#!/bin/sh\ncat {tmp_path}/queue 2>/dev/null || true\n")
    for program in folder.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return log


def calls(log: Path) -> list[list[str]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def option(call: list[str], name: str) -> str | None:
    return next((word.partition("=")[2] for word in call if word.startswith(f"--{name}=")), None)


def test_steps_with_the_same_inputs_are_one_array_that_waits_for_just_these(plan: Plan, submitted: Path) -> None:
    plan.add("text a"), plan.add("text b")
    for side in "ab":
        plan.add(f"train {side}", f"text {side}")
        for number in range(3):
            plan.add(f"measure {side} {number}", f"train {side}")
    plan.add("compare", "train a", "train b")
    study = plan.study()
    result = run_slurm(study, RunOptions(device="cpu"))
    found = calls(submitted)
    assert [option(call, "array") for call in found] == ["0-1", "0-0", "0-0", "0-2", "0-2", "0-0"]
    assert [option(call, "dependency") for call in found] == [
        None,
        "afterok:100_0",
        "afterok:100_1",
        "afterok:101_0",
        "afterok:102_0",
        "afterok:101_0:102_0",
    ]
    assert set(result.jobs) == set(study.steps)
    assert result.jobs[plan.steps["measure b 2"].key] == "104_2"


def test_what_is_in_the_queue_is_not_submitted_again_and_can_be_waited_for(
    plan: Plan, submitted: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        plan.add(name)
        plan.add(f"after {name}", name)
    study = plan.study()
    run_slurm(study, RunOptions(device="cpu"))
    (tmp_path / "queue").write_text("100_0\n")  # the first step is left
    assert set(queued_jobs(study)) == {plan.steps["one"].key}
    assert {state.step.title: state.status for state in study.states(queued_jobs(study))}["one"] == "queued"
    before = len(calls(submitted))
    run_slurm(study, RunOptions(device="cpu"))
    again = calls(submitted)[before:]
    assert [option(call, "array") for call in again] == ["0-0"] * 3
    assert [option(call, "dependency") for call in again] == ["afterok:100_0", None, "afterok:104_0"]


def test_options_reach_sbatch_and_those_of_the_user_come_last(plan: Plan) -> None:
    cluster = ClusterOptions(partition="gpu", time="4:00:00", sbatch=("--account=x", "--mail-type=ALL --nice=5"))
    step = plan.add("one")
    found = sbatch_options(plan.study(), [step], [], RunOptions(gpus=4, cluster=cluster))
    assert {"--partition=gpu", "--time=4:00:00", "--requeue", "--gres=gpu:1"} <= set(found)
    assert found[-3:] == ["--account=x", "--mail-type=ALL", "--nice=5"]
    assert not [word for word in sbatch_options(plan.study(), [step], [], RunOptions(device="cpu")) if "gres" in word]


@pytest.mark.parametrize("text", ["account=x", "--account='x", ""])
def test_what_is_no_option_of_sbatch_is_refused(plan: Plan, text: str) -> None:
    options = RunOptions(cluster=ClusterOptions(sbatch=(text,)))
    with raises("config.malformed-option"):
        sbatch_options(plan.study(), [plan.add("one")], [], options)


def test_no_slurm_is_one_clear_error(plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan.add("one")
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises("config.engine"):
        run_slurm(plan.study())


@pytest.mark.parametrize(("code", "requeued"), [(0, False), (2, False), (75, True)])
def test_a_job_that_paused_goes_back_to_the_queue(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, requeued: bool
) -> None:
    keys = [plan.add(name).key for name in ("one", "two")]
    program = tmp_path / "python with a blank"
    program.write_text(f'#!/bin/bash\necho "$@" > {tmp_path}/called\nexit {code}\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    script = tmp_path / "job.sh"
    script.write_text(job_script(plan.study(), keys, "gpu", RunOptions(device="cpu")))
    (tmp_path / "scontrol").write_text(f'#!/bin/bash\necho "$@" > {tmp_path}/requeued\nexit 1\n')
    (tmp_path / "scontrol").chmod(0o755)
    facts = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_JOB_ID": "7", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert subprocess.run(["bash", str(script)], check=False, env=os.environ | facts).returncode == code
    assert f"study step {tmp_path}/study {keys[1]} --device cpu" in (tmp_path / "called").read_text()
    assert (tmp_path / "requeued").exists() is requeued
    if requeued:
        assert (tmp_path / "requeued").read_text() == "requeue 7_1\n"


# --- a real SLURM ---


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch):
    if not is_installed():
        pytest.skip("SLURM (Debian: slurm-wlm, munge) is not installed")
    if not os.environ.get("ISOGLOT_SLURM_TESTS"):
        pytest.skip("starts a SLURM of its own, whose timing varies: make proof, or ISOGLOT_SLURM_TESTS=1")
    monkeypatch.setattr(slurm, "_POLL", 0.3)
    with tempfile.TemporaryDirectory() as folder, one_node_slurm(Path(folder) / "slurm", cores=4) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield


WAIT = RunOptions(device="cpu", cluster=ClusterOptions(wait=True))


@pytest.mark.usefixtures("cluster")
def test_a_study_on_slurm(plan: Plan) -> None:
    plan.add("bad", do="fail")
    plan.add("after bad", "bad")
    plan.add("long", kind="fake-resumable", do="long once", seconds=60.0)
    plan.add("after long", "long")
    study = plan.study()
    jobs = run_slurm(study, RunOptions(device="cpu", cluster=ClusterOptions(sbatch=("--time=5",)))).jobs
    long, after = plan.steps["long"].key, plan.steps["after long"].key
    wait_until(lambda: "long" in plan.attempts(), 60)
    states = {state.step.key: state for state in study.states(queued_jobs(study))}
    assert states[long].status == "running"
    assert f"job {jobs[long]}" in states[long].where
    assert states[after].status == "queued"
    # As before a time limit: the shell of the job is told, training pauses, and the job is queued again.
    subprocess.run(["scancel", "--signal=TERM", "--batch", jobs[long]], check=True)
    wait_until(lambda: study.store.owner(long) is None, 60)
    assert study.store.is_begun(long)
    wait_until(lambda: _restarts(jobs[long]) == 1, 60)
    wait_until(lambda: plan.status(study)["bad"] == "failed", 60)
    assert plan.status(study) == {"bad": "failed", "after bad": "blocked", "long": "paused", "after long": "waiting"}
    subprocess.run(["scontrol", "update", f"JobId={jobs[long]}", "StartTime=now"], check=True)
    result = run_slurm(study, WAIT)  # which waits for what is there, and tries again what failed
    assert set(result.failed) == {plan.steps["bad"].key}
    assert set(result.done) == {long, after}
    assert plan.attempts().count("long") == 2
    assert plan.attempts().count("after long") == 1
    assert "after bad" not in plan.attempts()


@pytest.mark.usefixtures("cluster")
def test_a_preempted_job_pauses_and_is_queued_again(plan: Plan) -> None:
    step = plan.add("long", kind="fake-resumable", do="long once", seconds=60.0)
    study = plan.study()
    job = run_slurm(study, RunOptions(device="cpu", cluster=ClusterOptions(partition="low"))).jobs[step.key]
    wait_until(plan.attempts, 60)
    other = ["sbatch", "--partition=high", "--exclusive", "--output=/dev/null", "--wrap=sleep 1"]
    subprocess.run(other, check=True, capture_output=True)
    wait_until(lambda: _restarts(job) == 1, 60)
    assert (study.store.steps / f".{step.key}.work" / "scratch" / "spent").exists()  # it has paused, and was not killed
    assert not study.store.failures(step.key)
    assert queued_jobs(study) == {step.key: job}


def _restarts(job: str) -> int:
    shown = subprocess.run(["scontrol", "show", "job", job], check=False, capture_output=True, text=True).stdout
    return int(shown.partition("Restarts=")[2].split()[0]) if "JobState=PENDING" in shown else 0

"""The local engine: crashes, signals, deadlines, and several processes on one store."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from isoglot.core.errors import StorageError
from isoglot.core.progress import SILENT, LineProgress
from isoglot.study import step_owner, store
from isoglot.study.engines import ClusterOptions, RunOptions, run_study
from isoglot.study.engines.local import _places, run_local, run_step
from isoglot.study.engines.slurm import PAUSED
from isoglot.study.step_owner import StepTakenError, owned, owner_of
from tests.errors import raises
from tests.study.fake_steps import Plan, command, fake_kinds, wait_until

pytestmark = pytest.mark.usefixtures("fake_kinds")
__all__ = ["fake_kinds"]
CPU = RunOptions(device="cpu")
RUN = """
import sys
from isoglot.study.engines import RunOptions
from isoglot.study.engines.local import run_local
from isoglot.study.study import Study
result = run_local(Study.open(sys.argv[1]), RunOptions(device="cpu", workers=int(sys.argv[2])))
sys.exit(bool(result.failed))
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(tmp_path)


def test_a_crashed_worker_is_a_failed_attempt(plan: Plan) -> None:
    once = plan.add("once", do="SIGKILL once")
    plan.add("after", "once")
    study = plan.study()
    result = run_local(study, CPU)
    assert not result.failed
    assert plan.attempts() == ["once", "once", "after"]
    assert "SIGKILL" in study.store.failures(once.key)[0].error


@pytest.mark.parametrize("do", ["SIGSEGV", "fail"])
def test_a_failed_step_stops_what_needs_it_and_nothing_else(plan: Plan, do: str) -> None:
    plan.add("bad", do=do)
    plan.add("after", "bad")
    plan.add("other")
    plan.add("last", "other")
    study = plan.study()
    result = run_local(study, CPU)
    assert set(result.failed) == {plan.steps["bad"].key}
    assert plan.status(study) == {"bad": "failed", "after": "blocked", "other": "done", "last": "done"}
    # Bad input stays bad; a crash may have been the machine's.
    assert plan.attempts().count("bad") == (1 if do == "fail" else 2)


def test_a_long_step_is_told_of_in_a_pipe_before_it_ends(plan: Plan) -> None:
    plan.add("long", do="progress")
    stream = io.StringIO()
    run_local(plan.study(), CPU, progress=LineProgress(stream, every=0.0))
    lines = stream.getvalue().splitlines()
    assert any(line.startswith("study: 0/1 steps (0 %)") and "sleeping 40 %" in line for line in lines)


def test_at_the_deadline_a_step_pauses_and_goes_on_later(plan: Plan) -> None:
    plan.add("long", kind="fake-resumable", do="long once", seconds=60.0)
    plan.add("after", "long")
    study = plan.study()
    result = run_local(study, RunOptions(device="cpu", stop_after=0.5))
    assert result.stopped
    assert result.paused == [plan.steps["long"].key]
    assert plan.status(study) == {"long": "paused", "after": "waiting"}
    assert len(run_local(study, CPU).done) == 2
    assert plan.attempts() == ["long", "long", "after"]


def test_at_the_deadline_a_step_that_cannot_pause_is_ended(plan: Plan) -> None:
    plan.add("long", seconds=60)
    study = plan.study()
    start = time.monotonic()
    assert run_local(study, RunOptions(device="cpu", stop_after=0.5)).stopped
    assert time.monotonic() - start < 20
    assert plan.status(study)["long"] in ("paused", "waiting")  # or not yet begun, where the machine is slow


def test_workers_start_before_there_is_a_step_for_them(plan: Plan) -> None:
    plan.add("encoder", seconds=60)
    for name in ("one", "two"):
        plan.add(name, "encoder")
    study = plan.study()
    engine = subprocess.Popen([sys.executable, "-c", RUN, str(study.out), "9"])
    wait_until(lambda: [*(study.out / "log").glob("worker-2.log")])
    assert len([*(study.out / "log").iterdir()]) == 3  # no more than steps
    assert set(plan.attempts()) <= {"encoder"}
    engine.kill()
    engine.wait()


def test_one_encoder_is_trained_at_a_time_while_others_measure_the_last_one(plan: Plan) -> None:
    for arm in ("a", "b", "c"):
        plan.add(arm, tokens=1, seconds=0.6)
        for task in ("x", "y"):
            plan.add(f"{arm}-{task}", arm, seconds=0.6)
    result = run_local(plan.study(), RunOptions(device="cpu", workers=3, trainings=1))
    assert len(result.done) == 9
    began = plan.began()
    for here, after in (("a", "b"), ("b", "c")):
        assert began[after] - began[here] >= 0.6  # one after another
        assert began[f"{here}-x"] < began[after] + 0.5  # and measured beside the next


def test_a_worker_that_is_alone_measures_an_encoder_before_it_trains_the_next(plan: Plan) -> None:
    for arm in ("a", "b"):
        plan.add(arm, tokens=1)
        plan.add(f"{arm}-x", arm)
    run_local(plan.study(), RunOptions(device="cpu", trainings=1))
    assert plan.attempts() == ["a", "a-x", "b", "b-x"]


def test_without_a_limit_as_many_are_trained_as_there_are_workers(plan: Plan) -> None:
    for arm in ("a", "b"):
        plan.add(arm, tokens=1, seconds=1.5)
    assert len(run_local(plan.study(), RunOptions(device="cpu", workers=2)).done) == 2
    began = plan.began()
    assert abs(began["a"] - began["b"]) < 1.5


def test_workers_end_with_the_engine_however_that_ends(plan: Plan) -> None:
    plan.add("long", seconds=60)
    study = plan.study()
    engine = subprocess.Popen([sys.executable, "-c", RUN, str(study.out), "1"])
    wait_until(plan.processes)
    engine.kill()
    engine.wait()
    wait_until(lambda: not _is_alive(plan.processes()[0]))
    assert plan.status(study) == {"long": "paused"}


def test_a_signal_lets_steps_pause(plan: Plan) -> None:
    step = plan.add("long", kind="fake-resumable", do="long once", seconds=60.0)
    study = plan.study()
    words = command("study", "step", str(study.out), step.key, "--device", "cpu", "--quiet")
    job = subprocess.Popen(words)
    wait_until(plan.processes)
    time.sleep(0.3)
    for _ in range(3):  # as a cluster does: to the job, and to each of its processes
        job.send_signal(signal.SIGTERM)
        time.sleep(0.01)
    assert job.wait() == PAUSED
    assert float((study.store.steps / f".{step.key}.work" / "scratch" / "spent").read_text()) > 0
    assert not study.store.failures(step.key)
    assert subprocess.run(words, check=False).returncode == 0
    assert plan.status(study) == {"long": "done"}


def test_a_signal_ends_a_step_that_cannot_pause_and_the_status_says_why(plan: Plan) -> None:
    step = plan.add("long", seconds=60)
    study = plan.study()
    job = subprocess.Popen(command("study", "step", str(study.out), step.key, "--device", "cpu", "--quiet"))
    wait_until(plan.processes)
    job.send_signal(signal.SIGTERM)
    assert job.wait() == 128 + signal.SIGTERM
    assert "cannot be resumed" in next(state.error for state in study.states())
    assert not _is_alive(plan.processes()[0])


def test_two_engines_on_one_store_compute_no_step_twice(plan: Plan) -> None:
    for number in range(6):
        plan.add(f"first {number}", seconds=0.15)
        plan.add(f"second {number}", f"first {number}", seconds=0.1)
    study = plan.study()
    both = [subprocess.Popen([sys.executable, "-c", RUN, str(study.out), "2"]) for _ in range(2)]
    assert [engine.wait() for engine in both] == [0, 0]
    assert sorted(plan.attempts()) == sorted(plan.steps)
    assert set(plan.status(study).values()) == {"done"}
    assert not list(study.store.steps.glob(".*"))


def test_a_step_that_another_process_computes_is_waited_for(plan: Plan) -> None:
    step = plan.add("long", seconds=1.0)
    study = plan.study()
    other = subprocess.Popen([sys.executable, "-c", RUN, str(study.out), "1"])
    wait_until(plan.processes)
    assert next(state for state in study.states()).status == "running"
    assert run_step(study, step, CPU).done == [step.key]
    assert other.wait() == 0
    assert plan.attempts() == ["long"]


def test_a_step_is_not_computed_before_its_inputs(plan: Plan) -> None:
    plan.add("first")
    step = plan.add("second", "first")
    with raises("storage.not-found"):
        run_step(plan.study(), step, CPU)
    assert plan.attempts() == []


def test_heavy_files_go_when_the_last_reader_is_done(plan: Plan) -> None:
    first = plan.add("first")
    readers = [plan.add("one", "first"), plan.add("two", "first")]
    study = plan.study()
    keep = RunOptions(device="cpu", keep="results")
    for step, whole in zip((first, *readers), (True, True, False), strict=True):
        assert run_step(study, step, keep).done
        assert study.store.is_whole(first.key) is whole
    assert study.needed() == []


def test_what_killed_processes_left_is_swept(plan: Plan) -> None:
    step = plan.add("one")
    study = plan.study()
    run_local(study, CPU)
    work = study.store.steps / f".{step.key}.work"
    (work / "scratch").mkdir(parents=True)  # killed after the folder had its name
    (study.store.steps / f".{step.key}.lock").touch()
    run_local(study, CPU)
    assert not list(study.store.steps.glob(".*"))


def test_a_full_disk_is_a_failed_attempt(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    step = plan.add("one")
    study = plan.study()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(store, "put_folder", full)
        with pytest.raises(StorageError) as error:
            study.store.run(step, progress=SILENT)
    assert error.value.code == "storage.disk-full"
    assert "full" in study.store.failures(step.key)[-1].error
    assert not study.store.is_done(step.key)
    assert run_step(study, step, CPU).done


# --- owners on other machines ---


def test_an_owner_on_another_machine_counts_while_its_heart_beats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "abc"
    with monkeypatch.context() as there:
        there.setattr(step_owner, "this_machine", lambda: "there")
        block = owned(folder)
        block.__enter__()
        # The disk does not show locks to other nodes: what they see is the file.
        about = (folder.parent / ".abc.owner").read_bytes()
        block.__exit__(None, None, None)
    assert owner_of(folder) is None
    file = folder.parent / ".abc.owner"
    file.write_bytes(about)
    assert owner_of(folder)
    with pytest.raises(StepTakenError) as error, owned(folder):
        pass
    assert error.value.code == "storage.locked"
    old = time.time() - step_owner.STALE - 5
    os.utime(file, (old, old))
    assert owner_of(folder) is None
    with owned(folder):
        assert file.read_bytes() != about
    assert not file.exists()


def test_the_heart_beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_owner, "BEAT", 0.02)
    with owned(tmp_path / "abc"):
        file = tmp_path / ".abc.owner"
        os.utime(file, (0, 0))
        wait_until(lambda: file.stat().st_mtime > 0)


# --- options ---


@pytest.mark.parametrize(
    ("engine", "options", "expected"),
    [
        ("local", RunOptions(cluster=ClusterOptions(partition="gpu")), ("config.conflicting-options", "--partition")),
        ("slurm", RunOptions(workers=3), ("config.conflicting-options", "--workers")),
        ("slurm", RunOptions(trainings=1), ("config.conflicting-options", "--trainings")),
        ("ray", RunOptions(cluster=ClusterOptions(wait=True)), ("config.conflicting-options", "--wait")),
    ],
)
def test_options_of_other_engines_are_refused(
    plan: Plan, engine, options: RunOptions, expected: tuple[str, ...]
) -> None:
    plan.add("one")
    with raises(*expected):
        run_study(plan.study(), engine, options)
    assert plan.attempts() == []


def _is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize(("workers", "threads", "expected"), [(None, None, "4"), (7, None, "2"), (2, 3, "3")])
def test_workers_on_a_gpu_take_few_cores(
    workers: int | None, threads: int | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isoglot.core.devices.choose_device", lambda _: torch.device("cuda"))
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    *places, (device, environment) = _places(RunOptions(workers=workers), threads)
    assert [device for device, _ in places] == ["cuda"] * (workers or 1)
    assert {environment["OMP_NUM_THREADS"] for _, environment in places} == {expected}
    assert (device, environment["CUDA_VISIBLE_DEVICES"]) == ("cpu", "")

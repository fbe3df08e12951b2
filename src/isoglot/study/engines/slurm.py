"""The SLURM engine: arrays of jobs, each of which calls ``isoglot study step STUDY KEY``.

Steps that wait for the same steps, and need the same devices, are one array. An array depends on just the jobs of its
inputs (``afterok``), so a step that fails takes with it what needs it and nothing else. A job that is about to reach
its time limit, or is preempted, receives SIGTERM: training writes a checkpoint and its job goes back to the queue
(``scontrol requeue``). Jobs that a node lost go back by themselves (``--requeue``). The study's folder has to be on a
disk that all nodes share.

::

    slurm/jobs.json    the job of each step, as submitted last
    slurm/*.sh         what was submitted
    log/slurm-*.log    what each job printed
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.core.artifact import read_sealed, write_sealed
from isoglot.core.errors import ConfigError, IsoglotError, one_line
from isoglot.core.files import real_path, writable_folder, write_text
from isoglot.core.progress import SILENT, Progress, Say, say_nothing
from isoglot.core.run import sole_writer
from isoglot.study.engines import DEFAULTS, RunOptions, RunResult, no_slurm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isoglot.study.steps import Step
    from isoglot.study.study import Study

FOLDER, JOBS = "slurm", "jobs.json"
PAUSED = 75
"""Exit code of ``isoglot study step`` when the step has paused and can go on (EX_TEMPFAIL of sysexits.h)."""
_WARNING = 90  # seconds before its time limit that a job is told
_LARGEST_ARRAY = 1000  # SLURM's default limit is 1001
_POLL = 5.0
_SCRIPT = """\
#!/bin/bash
# Steps of an isoglot study, one for each task of the array.
keys=(
{keys}
)
cd {folder} || exit 1
child=
trap '[ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM
{command} "${{keys[$SLURM_ARRAY_TASK_ID]}}" {options} &
child=$!
wait "$child"
while kill -0 "$child" 2>/dev/null; do wait "$child"; done  # a signal ends wait, not the child
wait "$child"
code=$?
if [ "$code" = {paused} ]; then  # it has paused: the job resumes later
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" && sleep 600
fi
exit "$code"
"""


def run_slurm(
    study: Study, options: RunOptions = DEFAULTS, *, progress: Progress = SILENT, say: Say = say_nothing
) -> RunResult:
    """Submit jobs for the steps that have to run and have none in the queue; with ``wait``, until all have ended.

    Raises:
        ConfigError: There is no SLURM here, or it refuses a job.
        KeyboardInterrupt: Ctrl-C while it waits; the jobs stay in the queue.
        StorageError: The store cannot be written.
    """
    study.store.sweep()
    needed = study.needed()
    jobs = submit(study, needed, options, say)
    if not options.cluster.wait:
        return RunResult(jobs={step.key: jobs[step.key] for step in needed if step.key in jobs})
    with progress.task("study", total=len(needed), unit="steps") as task:
        done: set[str] = set()
        while True:
            queued = queued_jobs(study)
            for step in needed:
                if step.key not in done and study.store.is_done(step.key):
                    done.add(step.key)
                    task.advance()
            task.note(f"{len(queued)} jobs in the queue")
            if not queued:
                return _result(study, needed)
            time.sleep(_POLL)


def _result(study: Study, needed: Sequence[Step]) -> RunResult:
    """Results of steps that no longer have jobs."""
    keys = {step.key for step in needed}
    result = RunResult()
    for state in study.states():
        if state.step.key not in keys:
            continue
        match state.status:
            case "done" | "dropped":
                result.done.append(state.step.key)
            case "failed":
                result.failed[state.step.key] = state.error
            case "paused":
                where = study.out / "log"
                result.failed[state.step.key] = f"its job has ended early (time limit, cancellation); see {where}"
    return result


# --- submitting ---


def submit(study: Study, steps: Sequence[Step], options: RunOptions, say: Say = say_nothing) -> dict[str, str]:
    """Submit jobs for steps, given inputs first; returns the jobs of all steps that have one in the queue, by key.

    Raises:
        ConfigError: There is no SLURM here, or it refuses a job.
        StorageError: The study's folder cannot be written, or another process is submitting.
    """
    folder = writable_folder(study.out / FOLDER)
    writable_folder(study.out / "log")
    with sole_writer(folder / JOBS):
        jobs = queued_jobs(study, strict=True)
        for array in _arrays(study, [step for step in steps if step.key not in jobs]):
            waits = sorted({jobs[one.key] for one in array[0].steps.values() if one.key in jobs})
            for at in range(0, len(array), _LARGEST_ARRAY):
                part = array[at : at + _LARGEST_ARRAY]
                number = _sbatch(study, part, waits, options)
                jobs |= {step.key: f"{number}_{task}" for task, step in enumerate(part)}
                # After every one: if this process is killed, the next knows what is in the queue.
                write_sealed(folder / JOBS, {"jobs": jobs})
                say(f"job {number}: {len(part)} steps of kind {', '.join(sorted({step.kind for step in part}))}")
    return jobs


def _arrays(study: Study, steps: Sequence[Step]) -> Iterable[list[Step]]:
    """Steps that wait for the same steps and take the same devices, inputs first."""
    level: dict[str, int] = {}
    groups: dict[tuple[int, frozenset[str], str], list[Step]] = {}
    for step in steps:
        waits = frozenset(one.key for one in step.steps.values() if not study.store.is_whole(one.key))
        level[step.key] = 1 + max((level.get(key, 0) for key in waits), default=0)
        groups.setdefault((level[step.key], waits, _devices(step)), []).append(step)
    return [groups[group] for group in sorted(groups, key=lambda group: group[0])]


def _devices(step: Step) -> str:
    return "cpu" if step.on_cpu else "training" if step.kind == "pretrain" else "gpu"


def _sbatch(study: Study, array: Sequence[Step], waits: Sequence[str], options: RunOptions) -> str:
    """Submit an array; returns its number."""
    script = study.out / FOLDER / f"{array[0].key}.sh"
    write_text(script, job_script(study, [step.key for step in array], _devices(array[0]), options))
    command = ["sbatch", *sbatch_options(study, array, waits, options), str(script)]
    return _output(command).strip().partition(";")[0]


def sbatch_options(study: Study, array: Sequence[Step], waits: Sequence[str], options: RunOptions) -> list[str]:
    """Options of ``sbatch`` for an array; the user's come last and win."""
    cluster, devices = options.cluster, _devices(array[0])
    gpus = 0 if devices == "cpu" or options.device == "cpu" else options.gpus if devices == "training" else 1
    found = [
        "--parsable",
        f"--job-name=isoglot {study.about.get('recipe', 'study')} {array[0].kind}",
        f"--array=0-{len(array) - 1}",
        "--nodes=1",
        "--ntasks=1",
        f"--output={real_path(study.out)}/log/slurm-%A_%a.log",
        "--open-mode=append",
        "--requeue",
        f"--signal=B:TERM@{_WARNING}",
        "--kill-on-invalid-dep=yes",
    ]
    if waits:
        found.append(f"--dependency=afterok:{':'.join(waits)}")
    if gpus:
        found.append(f"--gres=gpu:{gpus}")
    if cluster.partition is not None:
        found.append(f"--partition={cluster.partition}")
    if cluster.time is not None:
        found.append(f"--time={cluster.time}")
    return [*found, *(word for text in cluster.sbatch for word in _words(text))]


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"--sbatch {text!r}: {error}", "close the quotation", "malformed-option") from error
    if not words or not words[0].startswith("-"):
        raise ConfigError(f"--sbatch {text!r} is not an option", 'write --sbatch "--account=NAME"', "malformed-option")
    return words


def job_script(study: Study, keys: Sequence[str], devices: str, options: RunOptions) -> str:
    """The script of a job."""
    step = {
        "--device": "cpu" if devices == "cpu" else options.device,
        "--gpus": str(options.gpus if devices == "training" else 1),
        "--keep": options.keep,
    }
    return _SCRIPT.format(
        keys="\n".join(keys),
        folder=shlex.quote(str(Path.cwd())),
        command=shlex.join([sys.executable, "-m", "isoglot", "study", "step", str(real_path(study.out))]),
        options=shlex.join(word for pair in step.items() for word in pair),
        paused=PAUSED,
    )


# --- the queue ---


def queued_jobs(study: Study, *, strict: bool = False) -> dict[str, str]:
    """Jobs of the study that are waiting or running, by the key of their step.

    Args:
        study: The study.
        strict: Whether it is an error that the queue cannot be asked.

    Raises:
        ConfigError: There is no SLURM here; if ``strict``.
    """
    path = study.out / FOLDER / JOBS
    if not path.exists() and not strict:
        return {}
    jobs: Mapping[str, str] = {}
    if path.exists():
        with suppress(IsoglotError):  # of a version before, or altered
            jobs = read_sealed(path, {"jobs": {...: str}}, remedy="remove the file")["jobs"]
    try:
        # Every task of an array in a line of its own, with its number in the array.
        listed = set(_output(["squeue", "--me", "--noheader", "--array", "--format=%i"]).split())
    except ConfigError:
        if strict:
            raise
        return {}
    return {key: job for key, job in jobs.items() if job in listed}


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)  # noqa: S603
    except FileNotFoundError as error:
        raise no_slurm(command[0]) from error
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"{command[0]} does not answer", "see if SLURM is up: sinfo", "engine") from error
    if done.returncode:
        problem = f"{command[0]} failed: {one_line(done.stderr) or f'status {done.returncode}'}"
        remedy = f"check the options of the cluster; the command was {json.dumps(shlex.join(command))}"
        raise ConfigError(problem, remedy, "engine")
    return done.stdout

"""Pretraining by several processes that train as one, each on a GPU of its own: ``torchrun`` inside a step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import IsoglotError
from isoglot.core.files import read_json, write_json, write_text
from isoglot.study.child_process import child_environment, end_with_parent

if TYPE_CHECKING:
    from isoglot.study.steps import Work

_REQUEST, _OUTCOME, _FIRST = "torchrun.json", "outcome.json", "first-process"
_NEVER = 1e9  # seconds: with an end, the processes agree on when to stop


def train_with_torchrun(work: Work) -> dict[str, Any]:
    """Pretrain as :func:`isoglot.study.kinds.pretrain.train_here` does, with ``work.processes`` processes.

    At an interrupt the first of them is told, and all stop after the same step, with a checkpoint.

    Raises:
        IsoglotError: The run failed; with the words of the process that failed.
    """
    outcome, first = work.scratch / _OUTCOME, work.scratch / _FIRST
    for path in (outcome, first):
        path.unlink(missing_ok=True)
    request = {
        "settings": dict(work.settings),
        "execution": dict(work.execution),
        "inputs": {name: str(path) for name, path in work.inputs.items()},
        "folder": str(work.folder),
        "scratch": str(work.scratch),
        "device": work.device,
        "processes": work.processes,
        "seconds": _NEVER if work.deadline is None else max(0.0, work.deadline - time.monotonic()),
    }
    write_json(work.scratch / _REQUEST, request)
    command = [sys.executable, "-m", __name__, str(work.scratch / _REQUEST)]
    process = subprocess.Popen(command, env=child_environment(), stdin=subprocess.DEVNULL)  # noqa: S603 - ourselves
    try:
        status = _wait(process, first)
    except BaseException:
        process.terminate()  # which ends the others
        process.wait()
        raise
    found = read_json(outcome) if outcome.exists() else {}
    if "error" in found:
        raise IsoglotError(found["error"], remedy="see the log of the worker")
    if status or not found:
        raise RuntimeError(f"torchrun ended with status {status}")
    return dict(found)


def _wait(process: subprocess.Popen[bytes], first: Path) -> int:
    """Wait for the processes; the first interrupt lets them stop, if they train by now."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        if not first.exists():
            raise
        with suppress(ProcessLookupError, ValueError):
            os.kill(int(first.read_text(encoding="ascii")), signal.SIGINT)
        if process.wait():
            raise
        return 0


def _launch(request: str) -> None:
    """Start the processes and wait for them."""
    from torch.distributed.run import main

    os.environ.update(child_environment())  # for the processes to know their parent
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    processes = read_json(request)["processes"]
    main(["--standalone", "--nproc-per-node", str(processes), "-m", __spec__.name, request])


def _train(request: str) -> None:
    """Train as one of the processes; the first writes what came out."""
    from isoglot.core.progress import SILENT
    from isoglot.study.kinds.pretrain import train_here
    from isoglot.study.steps import Work

    asked = read_json(request)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has the processes in its background ignore it
    if os.environ["RANK"] == "0":
        write_text(Path(asked["scratch"]) / _FIRST, str(os.getpid()))
    work = Work(
        settings=asked["settings"],
        execution=asked["execution"],
        inputs={name: Path(path) for name, path in asked["inputs"].items()},
        folder=Path(asked["folder"]),
        scratch=Path(asked["scratch"]),
        device=asked["device"],
        deadline=time.monotonic() + asked["seconds"],
        progress=SILENT,
        say=lambda text: print(text, file=sys.stderr),  # noqa: T201 - the log of the worker
        cache={},
    )
    try:
        outcome = train_here(work)
    except IsoglotError as error:
        write_json(work.scratch / _OUTCOME, {"error": str(error)})
        raise SystemExit(2) from error
    if os.environ["RANK"] == "0":
        write_json(work.scratch / _OUTCOME, outcome)


if __name__ == "__main__":
    end_with_parent()
    (_train if "TORCHELASTIC_RUN_ID" in os.environ else _launch)(sys.argv[1])

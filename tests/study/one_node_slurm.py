"""A SLURM of one's own on this machine: munged, slurmctld and slurmd on ports and folders of their own.

Needs the programs of Debian's ``slurm-wlm`` and ``munge``; nothing of the machine's configuration is used or changed.
"""

from __future__ import annotations

import getpass
import os
import platform
import secrets
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
CONFIG = """\
ClusterName=isoglot
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={control_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0
KillWait=5
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=low Nodes={host} Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=10
PartitionName=high Nodes={host} MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""


def is_installed() -> bool:
    """Whether the programs are on this machine."""
    return all(_program(name) for name in PROGRAMS)


def _program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


@contextmanager
def one_node_slurm(folder: Path, cores: int = 2) -> Iterator[dict[str, str]]:
    """Start SLURM; gives the environment in which its commands find it, and ends it with all jobs.

    Args:
        folder: For its files; the path must be short, for there is a socket in it.
        cores: How many the node is said to have.
    """
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    (folder / "munge.key").chmod(0o600)
    facts = {"host": platform.node().partition(".")[0], "user": getpass.getuser(), "folder": folder, "cores": cores}
    config = CONFIG.format(**facts, control_port=_free_port(), node_port=_free_port())
    (folder / "slurm.conf").write_text(config)
    environment = {"SLURM_CONF": str(folder / "slurm.conf")}
    with ExitStack() as stack:
        munge = [
            f"--{name}={folder}/munge.{end}"
            for name, end in {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log"}.items()
        ]
        seed = f"--seed-file={folder}/munge.seed"
        stack.enter_context(_running(["munged", "--foreground", "--force", *munge, seed], folder, environment))
        _wait((folder / "munge.socket").exists, "munged", folder)
        stack.enter_context(_running(["slurmctld", "-D", "-i"], folder, environment))
        stack.enter_context(_running(["slurmd", "-D"], folder, environment))
        _wait(lambda: "idle" in _asked(["sinfo", "-h", "-o", "%T"], environment), "the node", folder)
        try:
            yield environment
        finally:
            _asked(["scancel", "--signal=KILL", "--me"], environment)
            _asked(["scancel", "--me"], environment)
            _wait(lambda: not _asked(["squeue", "-h"], environment).strip(), "an empty queue", folder)


@contextmanager
def _running(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    program = _program(command[0])
    assert program is not None
    with (folder / f"{command[0]}.out").open("wb") as out:
        process = subprocess.Popen(
            [program, *command[1:]], env={**os.environ, **environment}, stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _asked(command: list[str], environment: dict[str, str]) -> str:
    return subprocess.run(
        command, check=False, env={**os.environ, **environment}, capture_output=True, text=True
    ).stdout


def _wait(condition, what: str, folder: Path, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            logs = "\n".join(f"{path}:\n{path.read_text()[-2000:]}" for path in folder.glob("*.log"))
            raise RuntimeError(f"SLURM did not come up: no {what}\n{logs}")
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])

"""Many processes that train as one: who is who, sums over all, and one message when one of them fails.

``torchrun`` starts the processes and says in the environment which is which; one process alone needs nothing. On CUDA
gradients travel by NCCL, on the CPU by gloo; the clock and the counts always by gloo, so that no GPU is waited for.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import distributed
from torch.distributed.rendezvous import rendezvous

from isoglot.core.devices import choose_device
from isoglot.core.errors import ConfigError, IsoglotError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch.distributed.distributed_c10d import Store

_FAILED = "isoglot/failed"
_GROUPS: list[object] = []
"""Groups are let go when the process ends, not before. Letting go waits, with Python's lock, for the threads of gloo;
one of them may just then wait for that lock, to let go of the last thing it sent."""


class ProcessError(IsoglotError):
    """Another process of the run has ended."""

    code = "process"


@dataclass(frozen=True, kw_only=True)
class World:
    """The processes of a run, seen from one of them."""

    rank: int = 0
    size: int = 1
    device: torch.device
    store: Store | None = None

    @property
    def first(self) -> bool:
        """Whether this process writes the files and talks to the user."""
        return self.rank == 0

    def share_of(self, rows: int) -> slice:
        """This process's part of so many rows, one after another.

        >>> World(rank=1, size=2, device=torch.device("cpu")).share_of(8)
        slice(4, 8, None)
        """
        return slice(rows * self.rank // self.size, rows * (self.rank + 1) // self.size)

    def sums(self, values: list[float]) -> list[float]:
        """Each value, summed over all processes."""
        if self.size == 1:
            return values
        total = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(total)
        return [float(value) for value in total.tolist()]

    def every(self, value: float) -> list[float]:
        """A value of every process, in order of rank."""
        return self.sums([value if rank == self.rank else 0.0 for rank in range(self.size)])

    def from_first(self, value: float) -> float:
        """The first process's value, for all: every process must see the same clock."""
        return self.sums([value if self.first else 0.0])[0]

    def mean(self, value: torch.Tensor) -> torch.Tensor:
        """The mean of a number over all processes, on its device; the host does not wait for it."""
        if self.size == 1:
            return value
        total = value.to(torch.float32, copy=True)
        distributed.all_reduce(total)
        return total / self.size

    def wait(self) -> None:
        """Go on when all are here."""
        self.sums([0.0])


@contextmanager
def join_world(device: str = "auto") -> Iterator[World]:
    """Take one's place among the processes that ``torchrun`` started; alone without it.

    An error in one process ends all: the first to fail raises its error, the others leave with exit code 2 in silence.

    Raises:
        ConfigError: The environment names more processes than there are devices, or is not torchrun's.
        ProcessError: Another process was killed.
    """
    size = _number("WORLD_SIZE", 1)
    if size == 1:
        yield World(device=choose_device(device))
        return
    rank, local = _number("RANK", 0), _number("LOCAL_RANK", 0)
    chosen = choose_device(device)
    if chosen.type == "cuda":
        if local >= torch.cuda.device_count():
            raise ConfigError(
                f"process {local} of this machine finds {torch.cuda.device_count()} CUDA devices",
                remedy="start as many processes on a machine as it has devices: torchrun --nproc-per-node=…",
                code="config.requirement",
            )
        chosen = torch.device("cuda", local)
        torch.cuda.set_device(chosen)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, torch.get_num_threads() // _number("LOCAL_WORLD_SIZE", size)))
    store, rank, size = next(iter(rendezvous("env://", rank, size)))
    distributed.init_process_group(
        "cpu:gloo,cuda:nccl" if chosen.type == "cuda" else "gloo", store=store, rank=rank, world_size=size
    )
    _GROUPS.append(distributed.group.WORLD)
    world = World(rank=rank, size=size, device=chosen, store=store)
    try:
        yield world
        world.wait()
    except Exception as error:
        raise _first_failure(world, error) from error
    finally:
        distributed.destroy_process_group()


def _first_failure(world: World, error: Exception) -> BaseException:
    """The error itself in the process that failed first; in the others, which lost their peer, a silent end."""
    assert world.store is not None  # noqa: S101 - there are several
    lost = not isinstance(error, IsoglotError) and isinstance(error, RuntimeError)
    try:
        won = world.store.compare_set(_FAILED, "", str(world.rank)).decode() == str(world.rank) if not lost else False
        known = not lost or world.store.check([_FAILED])
    except RuntimeError:  # the process that kept the store is gone: it failed, and said so
        return SystemExit(2)
    if won:
        return error
    if known:
        return SystemExit(2)
    # Nobody said anything: an error of torch in this process, or a peer that was killed.
    peer = any(word in str(error) for word in ("peer", "closed", "reset", "NCCL", "gloo", "timed out"))
    if not peer:
        return error
    return ProcessError(
        "another process of the run was killed", remedy="see what it printed, then start all again with --resume"
    )


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdecimal():
        raise ConfigError(
            f"{name}={text!r} in the environment is not a number",
            remedy="start with torchrun",
            code="config.malformed-option",
        )
    return int(text)

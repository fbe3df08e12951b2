"""Process group of a run: rank and world size, sums over ranks, and one message when a process fails.

``torchrun`` starts the processes and sets their environment; a single process needs nothing. Gradients are reduced by
NCCL on CUDA and by gloo on the CPU; clock and counts always by gloo, so that no GPU is waited for.
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
"""Keeps groups alive until the process ends: destroying one waits for gloo's threads while it holds the GIL, and one of
them may be waiting for the GIL to release what it sent last."""


class ProcessError(IsoglotError):
    """Error raised when another process of the run was killed."""

    code = "process"


@dataclass(frozen=True, kw_only=True)
class World:
    """The process group of a run, as one rank sees it."""

    rank: int = 0
    size: int = 1
    device: torch.device
    store: Store | None = None

    @property
    def first(self) -> bool:
        """Whether this is rank 0, which writes files and messages."""
        return self.rank == 0

    def share_of(self, rows: int) -> slice:
        """This rank's contiguous share of a number of rows.

        >>> World(rank=1, size=2, device=torch.device("cpu")).share_of(8)
        slice(4, 8, None)
        """
        return slice(rows * self.rank // self.size, rows * (self.rank + 1) // self.size)

    def sums(self, values: list[float]) -> list[float]:
        """Sum each value over all ranks."""
        if self.size == 1:
            return values
        total = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(total)
        return [float(value) for value in total.tolist()]

    def every(self, value: float) -> list[float]:
        """The value of every rank, in order."""
        return self.sums([value if rank == self.rank else 0.0 for rank in range(self.size)])

    def from_first(self, value: float) -> float:
        """The value of rank 0, on every rank."""
        return self.sums([value if self.first else 0.0])[0]

    def mean(self, value: torch.Tensor) -> torch.Tensor:
        """Mean of a number over all ranks, on its device, without waiting for it."""
        if self.size == 1:
            return value
        total = value.to(torch.float32, copy=True)
        distributed.all_reduce(total)
        return total / self.size

    def wait(self) -> None:
        """Wait for all ranks."""
        self.sums([0.0])


@contextmanager
def one_report() -> Iterator[None]:
    """Report errors of the block on the first rank of a machine only.

    Errors before the process group is set up occur on every rank.
    """
    try:
        yield
    except IsoglotError:
        if _number("LOCAL_RANK", 0):
            raise SystemExit(2) from None
        raise


@contextmanager
def join_world(device: str = "auto") -> Iterator[World]:
    """Join the process group that ``torchrun`` started, or run alone without it.

    An error on one rank ends all: the first to fail raises its error, the others exit with code 2 silently.

    Raises:
        ConfigError: There are more processes than devices, or the environment is not torchrun's.
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
            problem = f"local rank {local} on a machine with {torch.cuda.device_count()} CUDA devices"
            remedy = "start as many processes on a machine as it has devices: torchrun --nproc-per-node=…"
            raise ConfigError(problem, remedy, "requirement")
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
    """The error itself on the rank that failed first; a silent exit on the others, which lost their peer."""
    assert world.store is not None  # noqa: S101 - there are several
    lost = not isinstance(error, IsoglotError) and isinstance(error, RuntimeError)
    try:
        won = world.store.compare_set(_FAILED, "", str(world.rank)).decode() == str(world.rank) if not lost else False
        known = not lost or world.store.check([_FAILED])
    except RuntimeError:  # rank 0 keeps the store and is gone: it failed and reported it
        return SystemExit(2)
    if won:
        return error
    if known:
        return SystemExit(2)
    # No rank reported a failure: an error of torch on this rank, or a peer that was killed.
    peer = any(word in str(error) for word in ("peer", "closed", "reset", "NCCL", "gloo", "timed out"))
    if not peer:
        return error
    problem = "another process of the run was killed"
    return ProcessError(problem, remedy="see its output, then start all again with --resume")


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdecimal():
        problem = f"{name}={text!r} in the environment is not a number"
        raise ConfigError(problem, "start with torchrun", "malformed-option")
    return int(text)

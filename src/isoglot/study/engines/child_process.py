"""Processes that a study starts: they end with the one that started them, and inherit nothing that misleads them."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PARENT = "ISOGLOT_PARENT_PROCESS"
_TORCHRUN = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")


def child_environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process to start: ours without the traces of ``torchrun``, and who its parent is."""
    kept = {name: value for name, value in os.environ.items() if name not in _TORCHRUN}
    return {**kept, **(changes or {}), PARENT: str(os.getpid())}


def end_with_parent() -> None:
    """End when the process that started this one does, even if that is killed; Linux only."""
    with contextlib.suppress(OSError, AttributeError):
        import ctypes

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
        if str(os.getppid()) != os.environ.get(PARENT, str(os.getppid())):  # it has ended before
            os._exit(1)

"""Devices of this machine, and the choice of one."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from isoglot.core.errors import DeviceError, shown

if TYPE_CHECKING:
    import torch

ProductPrecision = Literal["float32", "bfloat16", "float16"]  # the number format of matrix products

_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container


@dataclass(frozen=True, kw_only=True)
class DeviceInfo:
    """Device of this machine: its name for ``--device``, its chip and its memory in bytes."""

    name: str
    chip: str
    memory: int


def choose_device(name: str = "auto") -> torch.device:
    """Choose a device by name; ``auto`` prefers CUDA, then MPS, then the CPU.

    Args:
        name: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.

    Raises:
        DeviceError: This machine has no such device.
    """
    import torch

    names = [device.name for device in list_devices()]
    if name == "auto":
        return torch.device(next((n for n in names if n != "cpu"), "cpu"))
    if name in names:
        return torch.device(name)
    if name == "cuda" and "cuda:0" in names:
        return torch.device("cuda:0")
    problem = f"no device {shown(name)} on this machine"
    raise DeviceError(problem, f"choose one of {', '.join(['auto', *names])}", "not-found")


def list_devices() -> list[DeviceInfo]:
    """All devices that torch can use: accelerators first, the CPU last."""
    import torch

    found = []
    for index in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(index)
        found.append(DeviceInfo(name=f"cuda:{index}", chip=facts.name, memory=facts.total_memory))
    if torch.backends.mps.is_available():
        found.append(DeviceInfo(name="mps", chip="Apple GPU", memory=machine_memory()))
    found.append(DeviceInfo(name="cpu", chip=f"{_cpu_model()}, {cpu_count()} cores", memory=machine_memory()))
    return found


def product_precision(device: torch.device) -> ProductPrecision:
    """The fastest number format of matrix products that the device supports natively.

    bfloat16 from Ampere on (compute capability 8.0), float16 on Volta and Turing (7.x), else float32. torch's own
    ``is_bf16_supported`` is also true where bfloat16 is emulated.
    """
    import torch

    if device.type != "cuda":
        return "float32"
    if torch.version.hip is not None:  # AMD numbers its capabilities differently
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"
    capability = torch.cuda.get_device_capability(device)
    return "bfloat16" if capability >= (8, 0) else "float16" if capability >= (7, 0) else "float32"


def cpu_count() -> int:
    """The number of cores this process may use; in a container fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_memory() -> int:
    """The memory this process may use, in bytes; in a container less than the machine has; 0 if unknown."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return 0
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = int(_LIMIT.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # no limit
        return machine
    return min(machine, limit)


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()

from __future__ import annotations

import types
from pathlib import Path

import pytest
import torch

from isoglot.core import devices
from isoglot.core.devices import choose_device, cpu_count, list_devices, machine_memory
from tests.errors import raises


def test_the_cpu_is_always_there():
    last = list_devices()[-1]
    assert last.name == "cpu"
    assert f"{cpu_count()} cores" in last.chip
    assert last.memory > 2**28
    assert choose_device("cpu") == torch.device("cpu")


def test_a_container_has_the_memory_it_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(devices, "_LIMIT", limit)
    whole = machine_memory()
    for text, found in (("max\n", whole), (f"{2**50}\n", whole), (f"{2**20}\n", 2**20)):
        limit.write_text(text)
        assert machine_memory() == found


@pytest.mark.parametrize("name", ["cuda:99", "tpu", "", "CPU"])
def test_a_device_that_is_not_there(name: str):
    with raises("device.not-found", repr(name)):
        choose_device(name)


def test_cuda_is_preferred_where_there_is_one(monkeypatch: pytest.MonkeyPatch):
    facts = types.SimpleNamespace(name="Big GPU", total_memory=2**37)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: facts)
    assert choose_device("auto") == torch.device("cuda:0")
    assert choose_device("cuda") == torch.device("cuda:0")
    assert choose_device("cuda:1") == torch.device("cuda:1")
    assert choose_device("cpu") == torch.device("cpu")
    assert [device.name for device in list_devices()][:2] == ["cuda:0", "cuda:1"]

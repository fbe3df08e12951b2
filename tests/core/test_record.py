from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

import pytest

import isoglot
from isoglot.core.errors import StorageError
from isoglot.core.files import read_json
from isoglot.core.peak import PeakConfig
from isoglot.core.record import record_run


def test_record_of_a_run_that_ends_well(tmp_path: Path):
    source = tmp_path / "en.txt"
    source.write_text("hello\n")
    out = tmp_path / "out"
    with record_run(out, command="isoglot x", seed=7, config=PeakConfig(seconds=1.5), device="cpu") as run:
        run.add_input(source)
        run.add_output(source)
        assert read_json(out / "run.json")["status"] == "running"
    record = read_json(out / "run.json")
    assert record["status"] == "finished"
    assert record["error"] is None
    assert (record["command"], record["seed"], record["device"]) == ("isoglot x", 7, "cpu")
    assert record["config"] == {"sizes": [1024, 2048], "dtypes": ["float32", "bfloat16"], "seconds": 1.5}
    assert record["versions"]["isoglot"] == isoglot.__version__
    assert record["versions"]["python"] == platform.python_version()
    assert "torch" in record["versions"]
    assert record["inputs"] == {str(source): {"sha256": hashlib.sha256(b"hello\n").hexdigest(), "bytes": 6}}
    assert record["outputs"] == record["inputs"]
    assert record["wall_seconds"] >= 0
    assert PeakConfig.model_validate_json(str(record["config"]).replace("'", '"')) == PeakConfig(seconds=1.5)


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("no\ngood"), "failed"), (KeyboardInterrupt(), "interrupted")]
)
def test_record_of_a_run_that_does_not(tmp_path: Path, error: BaseException, status: str):
    with pytest.raises(type(error)), record_run(tmp_path, command="isoglot x", seed=0):
        raise error
    record = read_json(tmp_path / "run.json")
    assert record["status"] == status
    assert record["error"] in {"no good", "KeyboardInterrupt"}


def test_a_pipe_is_left_to_the_run_and_out_of_the_record(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with record_run(tmp_path, command="isoglot test", seed=1) as run:
        run.add_input(tmp_path / "pipe")
    assert read_json(tmp_path / "run.json")["inputs"] == {}


def test_an_input_that_cannot_be_read_is_said_so(tmp_path: Path):
    with (
        pytest.raises(StorageError, match="cannot read: File name too long"),
        record_run(tmp_path, command="isoglot test", seed=1) as run,
    ):
        run.add_input("a" * 300)


def test_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError), record_run(tmp_path / "file", command="isoglot x", seed=0):
        pytest.fail("the work began")

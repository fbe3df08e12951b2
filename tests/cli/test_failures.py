"""Bad input and bad luck: one clear line, the right exit code, nothing half-written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isoglot.core import doctor as doctor_core
from isoglot.core.files import read_json, write_json
from isoglot.core.run import out_folder

COMMAND = [sys.executable, "-c", "from isoglot.__main__ import entry; entry()"]
SLOW = ["doctor", "--measure", "quick", "--set", "seconds=30", "--set", "sizes=[64]", "--device", "cpu"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["dctor"], ("usage", "'dctor'", "'doctor'")),
        (["doctor", "--oot", "x"], ("usage", "--oot", "--out", "--set")),
        (["doctor", "--seed", "-1"], ("usage", "'--seed'")),
        (["doctor", "--seed", "x"], ("usage", "'x'")),
        (["doctor", "--out"], ("usage", "'--out'")),
        (["doctor", "extra"], ("usage",)),
        (["doctor", "--device", "tpu"], ("device.not-found", "'tpu'")),
        (["doctor", "--measure", "quik"], ("config.unknown-recipe", "'quik'")),
        (["doctor", "--measure", "quick", "--set", "sise=[1]"], ("config.unknown-key", "--set", "sise=[1]", "'sise'")),
        (["doctor", "--measure", "quick", "--set", "seconds=-1"], ("config.invalid-value", "-1", "0")),
        (["doctor", "--measure", "quick", "--set", "sizes=[3]"], ("config.invalid-value", "3", "64")),
        (["doctor", "--set", "seconds=1"], ("config.conflicting-options", "--set", "seconds=1")),
        (["doctor", "--measure", "nowhere.toml"], ("storage.not-found", "nowhere.toml")),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_2(isoglot, arguments: list[str], expected: tuple[str, ...]):
    result = isoglot(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("isoglot: ")
    assert len(result.err.splitlines()) == 1
    result.failed(*expected)


@pytest.mark.parametrize("group", ["compare", "steer"])
def test_a_group_without_a_verb_shows_its_help_alone(isoglot, group: str):
    result = isoglot(group)
    assert (result.code, result.err) == (2, "")
    assert f"Usage: isoglot {group}" in result.out


def test_malformed_recipe(isoglot, tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text("seconds = 1\nsizes = [64\n")
    result = isoglot("doctor", "--measure", str(path), "--out", str(tmp_path / "out"))
    result.failed("config.malformed-toml", path, 2, 12)
    assert not (tmp_path / "out").exists()


def test_unknown_key_in_a_recipe(isoglot, tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text("seconds = 1\n\nsize = [64]\n")
    result = isoglot("doctor", "--measure", str(path))
    assert (result.code, result.err) == (2, f"isoglot: {path}:3: unknown key 'size'; did you mean 'sizes'?\n")


def test_unwritable_folder(isoglot, tmp_path: Path):
    (tmp_path / "file").touch()
    result = isoglot("demo", "--quiet", "--out", str(tmp_path / "file"))
    line = f"isoglot: {tmp_path}/file: cannot write to this folder: a file is in the way of a folder; name another folder\n"
    assert (result.code, result.out, result.err) == (2, "", line)


@pytest.mark.parametrize("option", ["--map", "--vectors", "--out"])
def test_symbolic_links_in_a_circle_are_one_line(isoglot, tmp_path: Path, option: str):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    given = {"--map": "map.safetensors", "--vectors": "x.safetensors", "--out": "y.safetensors"} | {option: "loop"}
    result = isoglot("align", "apply", *(part for name, path in given.items() for part in (name, str(tmp_path / path))))
    line = f"{tmp_path}/loop: the symbolic links form a cycle; remove the link, or name another path"
    assert (result.code, result.err) == (2, f"isoglot: {line}\n")


def test_full_disk_keeps_what_was_there(tmp_path: Path):
    out = tmp_path / "out"
    with out_folder(out, command="isoglot doctor", seed=0) as earlier:
        write_json(earlier.folder / "doctor.json", "old")
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "from isoglot.__main__ import entry; entry()"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, "doctor", "--out", str(out)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stderr.startswith(f"isoglot: {out}/run.json: cannot write: the disk is full; free some space")
    assert len(run.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert read_json(out / "doctor.json") == "old"
    assert read_json(out / "run.json")["status"] == "finished"


def test_interrupt_is_exit_130_without_a_traceback_and_leaves_nothing(tmp_path: Path):
    out = str(tmp_path / "out")
    with subprocess.Popen([*COMMAND, *SLOW, "--out", out], stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / ".out.new" / "run.json").exists() and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "isoglot: interrupted\n"
    assert not list(tmp_path.iterdir())


def test_termination_leaves_nothing(tmp_path: Path):
    out = str(tmp_path / "out")
    with subprocess.Popen([*COMMAND, *SLOW, "--out", out], stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / ".out.new" / "run.json").exists() and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.3)
        process.terminate()
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (143, "")
    assert not list(tmp_path.iterdir())


def test_closed_pipe_is_quiet():
    read, write = os.pipe()
    os.close(read)
    run = subprocess.run([*COMMAND, "doctor", "--json"], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (run.returncode, run.stderr) == (1, "")


@pytest.mark.parametrize("rank_of_torchrun", [False, True])
def test_a_rank_of_torchrun_ends_without_finalizing_the_interpreter(rank_of_torchrun: bool):
    program = "import atexit; atexit.register(print, 'finalized'); from isoglot.__main__ import entry; entry()"
    environment = os.environ | ({"TORCHELASTIC_RUN_ID": "7"} if rank_of_torchrun else {})
    run = subprocess.run(
        [sys.executable, "-c", program, "--version"], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("isoglot ")
    assert ("finalized" in run.stdout) is not rank_of_torchrun


def test_an_ascii_terminal_is_no_reason_to_fail():
    run = subprocess.run(
        [*COMMAND, "doctor"], capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert (run.returncode, run.stderr) == (0, b"")


def test_an_argument_that_is_no_text(isoglot):
    result = isoglot("doctor", "--measure", "quick", "--set", "seconds=\udcff")
    assert (result.code, result.out) == (2, "")
    result.failed("config.malformed-setting", "--set", "'seconds=\\udcff'")


def test_debug_shows_the_traceback(isoglot):
    result = isoglot("doctor", "--debug", "--device", "tpu")
    result.failed("device.not-found", "'tpu'")
    assert result.err.splitlines()[-1].startswith("isoglot: no device 'tpu'")


def test_a_defect_of_ours_is_said_to_be_one(isoglot, monkeypatch: pytest.MonkeyPatch):
    def broken(**options: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(doctor_core, "check_up", broken)
    result = isoglot("doctor")
    assert result.code == 1
    assert result.err == (
        "isoglot: a defect of isoglot, not of your input: RuntimeError: two lines; run again with --debug and report it\n"
    )


def test_an_unforeseen_system_error_is_put_in_words(isoglot, monkeypatch: pytest.MonkeyPatch):
    def broken(**options: object) -> None:
        Path("/no/such/file").read_text()

    monkeypatch.setattr(doctor_core, "check_up", broken)
    result = isoglot("doctor")
    result.failed("storage.not-found")


def test_json_is_all_there_is_on_standard_output(isoglot, tmp_path: Path):
    options = ["--measure", "quick", "--set", "seconds=0.01", "--set", "sizes=[64]", "--out", str(tmp_path)]
    result = isoglot("doctor", "--json", *options)
    assert result.code == 0
    check = json.loads(result.out)
    assert check == read_json(tmp_path / "doctor.json")
    assert [peak["dtype"] for peak in check["peak"]] == ["float32", "bfloat16"]
    assert read_json(tmp_path / "run.json")["config"]["sizes"] == [64]

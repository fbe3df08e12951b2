from __future__ import annotations

import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

import isoglot
from isoglot.core import folders
from isoglot.core.doctor import PeakConfig
from isoglot.core.errors import StorageError
from isoglot.core.files import read_json, write_text
from isoglot.core.run import out_folder, record_run, sole_writer
from tests.errors import raises


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
        raises("storage"),
        record_run(tmp_path, command="isoglot test", seed=1) as run,
    ):
        run.add_input("a" * 300)


def test_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError), record_run(tmp_path / "file", command="isoglot x", seed=0):
        pytest.fail("the work began")


# --- folders that are built aside ---


def build(out: Path, text: str, *names: str, **options: object) -> None:
    with out_folder(out, command="isoglot x", seed=0, **options) as run:  # type: ignore[arg-type]
        for name in names or ("a.txt", "b/c.txt"):
            (run.folder / name).parent.mkdir(exist_ok=True)
            write_text(run.folder / name, text)


def content(out: Path) -> dict[str, str]:
    files = (path for path in out.rglob("*") if path.is_file() and path.name != "run.json")
    return {path.relative_to(out).as_posix(): path.read_text() for path in files}


def test_a_folder_replaces_an_earlier_one_whole(tmp_path: Path):
    out = tmp_path / "out"
    build(out, "old", "a.txt", "stale.txt")
    out.chmod(0o700)
    build(out, "new")
    assert content(out) == {"a.txt": "new", "b/c.txt": "new"}
    assert set(read_json(out / "run.json")["outputs"]) == {"a.txt", "b/c.txt"}
    assert out.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("at", range(24))
def test_a_run_that_dies_at_any_file_operation_leaves_the_old_folder_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, atomic: bool
):
    """Every rename, replacement and deletion may be the last thing that a process does."""
    out = tmp_path / "out"
    build(out, "old")
    if not atomic:
        monkeypatch.setattr(folders, "_exchanged", lambda *_: False)
    done: list[str] = []

    def mortal(name: str, work):
        def step(*arguments, **options):
            if len(done) >= at:
                raise SystemExit
            done.append(name)
            return work(*arguments, **options)

        return step

    with monkeypatch.context() as patch, suppress(SystemExit):
        for module, name in ((os, "replace"), (Path, "rename"), (shutil, "rmtree"), (folders, "_exchanged")):
            patch.setattr(module, name, mortal(name, getattr(module, name)))
        build(out, "new")
    folders.restore_folder(out)  # as the next run does
    assert set(content(out).values()) in ({"old"}, {"new"})
    assert len(content(out)) == 2
    build(out, "again")
    assert set(content(out).values()) == {"again"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_killed_process_leaves_the_old_folder_and_the_next_run_clears_what_it_left(tmp_path: Path):
    out = tmp_path / "out"
    build(out, "old")
    program = (
        "import os, signal, sys\n"
        "from isoglot.core.run import out_folder\n"
        "with out_folder(sys.argv[1], command='isoglot x', seed=0) as run:\n"
        "    (run.folder / 'half.txt').write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(out)], check=False).returncode == -signal.SIGKILL
    assert set(content(out).values()) == {"old"}
    assert {path.name for path in tmp_path.iterdir()} == {"out", ".out.new", ".out.lock"}
    build(out, "new")
    assert set(content(out).values()) == {"new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_no_file_of_the_user_is_ever_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "out"
    out.mkdir()
    build(out, "first")  # an empty folder is free
    (out / "notes.txt").write_text("mine")
    with raises("config.would-overwrite", "notes.txt"):
        build(out, "new")
    (out / "notes.txt").unlink()
    (out / "a.txt").write_text("edited")
    with raises("config.would-overwrite", "a.txt"):
        build(out, "new")
    (out / "a.txt").write_text("first")
    with raises("config.would-overwrite", "a.txt"):
        build(out, "new", inputs=[out / "a.txt"])
    with raises("config.would-overwrite", "c.txt"):
        build(out, "new", writes=["a.txt"])
    monkeypatch.chdir(out)
    with raises("config.current-folder"):
        build(Path(), "new")
    assert content(out) == {"a.txt": "first", "b/c.txt": "first"}


def test_a_link_to_a_folder_stays_one(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    build(tmp_path / "out", "new")
    assert (tmp_path / "out").is_symlink()
    assert set(content(tmp_path / "disk").values()) == {"new"}
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with raises("storage.link-cycle"):
        build(tmp_path / "loop", "new")


def test_a_thread_that_holds_a_folder_may_enter_again_and_others_may_not(tmp_path: Path):
    refused: list[StorageError] = []

    def other() -> None:
        try:
            build(tmp_path / "out", "other")
        except StorageError as error:
            refused.append(error)

    with sole_writer(tmp_path / "out"):
        build(tmp_path / "out", "mine")
        thread = Thread(target=other)
        thread.start()
        thread.join()
    assert "another process is writing there" in str(refused[0])
    assert set(content(tmp_path / "out").values()) == {"mine"}

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from isoglot.core.run import sole_writer
from tests.errors import raises

if TYPE_CHECKING:
    from collections.abc import Iterator

HOLD = """
import sys
from isoglot.core.run import sole_writer
with sole_writer(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(out: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "run"
    with another_process(out) as first:
        with raises("storage.locked", file=out), sole_writer(out):
            pass
        with sole_writer(tmp_path / "other"):
            pass
        monkeypatch.setenv("RANK", "1")  # a second process of one torchrun
        with sole_writer(out):
            pass
        monkeypatch.undo()
        first.kill()
        first.wait()
        assert (tmp_path / ".run.lock").exists(), "what a killed process leaves"
        with sole_writer(out):
            pass
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_where_nothing_was_written(tmp_path: Path):
    with pytest.raises(ValueError, match="refused"), sole_writer(tmp_path / "new" / "run"):
        raise ValueError("refused")
    assert not list(tmp_path.iterdir())
    with sole_writer(tmp_path / "new" / "run"):
        (tmp_path / "new" / "run").mkdir()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["run"]


def test_a_lock_that_was_let_go_while_it_was_opened_is_not_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    taken: list[int] = []
    take = fcntl.flock

    def late(handle: int, how: int) -> None:
        if not taken:
            (tmp_path / ".run.lock").unlink()
        taken.append(handle)
        take(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with sole_writer(tmp_path / "run"):
        assert os.path.samestat(os.fstat(taken[-1]), (tmp_path / ".run.lock").stat())
        assert len(taken) == 2


def test_where_there_are_no_locks_the_work_is_done_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    with sole_writer(tmp_path / "file" / "run"):  # cannot be: the block says so
        pass
    with sole_writer("/"):
        pass

    def unsupported(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with sole_writer(tmp_path / "run"), sole_writer(tmp_path / "run"):
        pass

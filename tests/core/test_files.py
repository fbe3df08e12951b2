from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import InputError
from isoglot.core.files import (
    atomic_file,
    check_file,
    file_hash,
    read_bytes,
    read_json,
    read_text,
    real_path,
    storage_error,
    writable_folder,
    write_bytes,
    write_json,
    write_text,
)
from tests.errors import raises


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(ZeroDivisionError), atomic_file(path, text=True) as file:
        file.write(f"new, but {1 / 0}")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_new_files_have_ordinary_permissions(tmp_path: Path):
    mask = os.umask(0o022)
    try:
        write_bytes(tmp_path / "a", b"")
    finally:
        os.umask(mask)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644


def test_a_link_is_written_through(tmp_path: Path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_full_disk_is_said_and_the_old_file_kept(tmp_path: Path):
    """A real refusal of the kernel: a limit on file size stands in for a full disk."""
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    program = """
import resource, sys
from isoglot.core.files import write_bytes
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_bytes(sys.argv[1], b"x" * 5000)
except Exception as error:
    print(type(error).__name__, error)
"""
    run = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(f"StorageError {path}: cannot write: the disk is full; free some space")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_full_disk_found_only_at_fsync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    write_text(tmp_path / "a", "old")
    monkeypatch.setattr(os, "fsync", full)
    with raises("storage.disk-full"):
        write_text(tmp_path / "a", "new")
    monkeypatch.undo()
    assert read_text(tmp_path / "a") == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_killed_writer_never_leaves_half_a_file(tmp_path: Path):
    path = tmp_path / "a.bin"
    program = """
import sys
from isoglot.core.files import write_bytes
for i in range(10**9):
    write_bytes(sys.argv[1], bytes([i % 256]) * 300_000)
"""
    for delay in (0.01, 0.03, 0.07):
        with subprocess.Popen([sys.executable, "-c", program, str(path)]) as writer:
            while not path.exists() and writer.poll() is None:
                time.sleep(0.005)
            time.sleep(delay)
            writer.send_signal(signal.SIGKILL)
        data = path.read_bytes()
        assert data == data[:1] * 300_000
        path.unlink()


def test_what_a_killed_writer_left_is_removed_and_what_a_live_one_writes_is_not(tmp_path: Path):
    target = tmp_path / "a[b].txt"
    script = """
import sys
from isoglot.core.files import atomic_file
with atomic_file(sys.argv[1]) as file:
    print("open", flush=True)
    sys.stdin.read()
"""
    command = [sys.executable, "-c", script, str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        (left,) = tmp_path.iterdir()
        write_text(target, "while it is alive")
        assert left.exists()
        process.kill()
    others = [
        tmp_path / name for name in (f".c.{left.name[10:]}", ".a[b].txt.000000-1-12345678.tmp", f"{left.name}.gz")
    ]
    for path in others:
        path.touch()
    write_text(target, "after its end")
    assert sorted(tmp_path.iterdir()) == sorted([*others, target])


def test_an_error_about_another_file_is_not_blamed_on_this_one(tmp_path: Path):
    with pytest.raises(FileNotFoundError), atomic_file(tmp_path / "a"):
        Path(tmp_path / "missing").read_bytes()


@given(data=st.binary())
def test_hashed_read_gives_back_what_was_written(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    path = tmp_path_factory.mktemp("files") / "a"
    write_bytes(path, data)
    digest = hashlib.sha256(data).hexdigest()
    assert file_hash(path) == digest
    assert read_bytes(path, sha256=digest) == data
    check_file(path, sha256=digest)


@pytest.mark.parametrize("damaged", [b"hell", b"hellO", b"hello\n", b""])
def test_a_damaged_file_is_refused(tmp_path: Path, damaged: bytes):
    path = tmp_path / "a"
    path.write_bytes(damaged)
    digest = hashlib.sha256(b"hello").hexdigest()
    for read in (lambda: read_bytes(path, sha256=digest), lambda: check_file(path, sha256=digest)):
        with raises("corrupt-file.hash", len(damaged)):
            read()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(value=json_values)
def test_json_round_trip(tmp_path_factory: pytest.TempPathFactory, value: object):
    path = tmp_path_factory.mktemp("files") / "a.json"
    write_json(path, value)
    assert read_json(path) == value


def test_a_path_that_is_no_text_can_be_written_down(tmp_path: Path):
    write_json(tmp_path / "a", {"path": "bad\udcffdir"})
    assert read_json(tmp_path / "a") == {"path": "bad\udcffdir"}


def test_malformed_json_names_line_and_column(tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_text('{\n  "a": 1,\n  b\n}')
    with pytest.raises(InputError) as caught:
        read_json(path)
    assert (caught.value.line, caught.value.column) == (3, 3)


def test_text_that_is_not_utf8_names_the_line(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\ncaf\xe9\n")
    with raises("input.not-utf8", "a.txt", "e9", line=2):
        read_text(path)


def test_a_byte_order_mark_is_dropped(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfabc")
    assert read_text(tmp_path / "a") == "abc"


def test_writable_folder(tmp_path: Path):
    assert writable_folder(tmp_path / "x" / "y").is_dir()
    assert list((tmp_path / "x" / "y").iterdir()) == []
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with raises("storage.not-a-folder"):
            writable_folder(path)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EACCES, "x"), "permission denied; name a folder you may use"),
        (OSError(errno.EROFS, "x"), "permission denied"),
        (FileNotFoundError(errno.ENOENT, "x"), "no such file or folder; check the spelling"),
        (IsADirectoryError(errno.EISDIR, "x"), "this is a folder; name a file"),
        (OSError(errno.EDQUOT, "x"), "the disk is full"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error; check the path and the disk"),
    ],
)
def test_system_errors_in_words(error: OSError, words: str):
    assert words in str(storage_error(error, "p", doing="write"))


def test_a_pipe_is_read_once_and_not_hashed(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with raises("input.pipe", pipe):
        file_hash(pipe)
    with subprocess.Popen(["sh", "-c", 'echo text > "$1"', "sh", pipe]):
        assert read_bytes(pipe) == b"text\n"
    with raises("input.pipe", pipe):
        read_bytes(pipe)


def test_missing_file():
    with raises("storage.not-found"):
        read_bytes("nowhere")
    with raises("storage.not-found"):
        file_hash("nowhere")


@pytest.mark.parametrize("read", [read_bytes, file_hash])
def test_a_name_that_no_file_can_have(read):
    with raises("storage"):
        read("a" * 300)


# --- what is replaced, and what is not ---


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path):
    path = tmp_path / "secret.txt"
    path.write_text("old")
    path.chmod(0o600)
    write_text(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)


def test_a_pipe_stays_a_pipe_and_gets_what_is_written(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_text(tmp_path / "pipe", "through\n")
    reader.join()
    assert read == [b"through\n"]
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_device_stays_a_device(tmp_path: Path):
    (tmp_path / "null").symlink_to("/dev/null")
    write_text(tmp_path / "null", "nowhere")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("to_file", [True, False])
def test_standard_output_is_written_to_where_it_goes(tmp_path: Path, name: str, to_file: bool):
    program = f"from isoglot.core.files import write_text; print('before'); write_text({name!r}, 'text')"
    if to_file:
        with (tmp_path / "log").open("ab") as file:
            file.write(b"first\n")
            file.flush()
            subprocess.run([sys.executable, "-c", program], stdout=file, check=True)
        assert (tmp_path / "log").read_text() == "first\nbefore\ntext"
    else:
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        assert run.stdout == b"before\ntext"


def test_links_in_a_circle_are_said_so(tmp_path: Path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with raises("storage.link-cycle"):
        write_text(tmp_path / "loop", "x")
    with raises("storage.link-cycle"):
        real_path(tmp_path / "loop" / "inside")
    assert real_path(tmp_path / "missing" / "inside") == tmp_path.resolve() / "missing" / "inside"


def test_trying_whether_a_folder_can_be_written_to_leaves_no_name_behind(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: pytest.fail("there was a file to remove"))
    writable_folder(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["[" * 100_000, '{"size": ' + "9" * 5000 + "}", "{"])
def test_json_that_cannot_be_read_is_said_so(tmp_path: Path, text: str):
    (tmp_path / "x.json").write_text(text)
    with raises("input.malformed-json", "x.json"):
        read_json(tmp_path / "x.json")

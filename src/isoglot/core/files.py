"""File access: atomic writes, reads with hash checks, and errors with a remedy.

A write goes to a temporary file in the same folder, which is flushed to disk and then renamed. If it is interrupted
(kill, full disk, power cut), the old file is unchanged; the temporary file of a killed process is removed when the same
file is written again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from copy import copy
from functools import cache
from glob import escape
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from isoglot.core.errors import CorruptFileError, InputError, StorageError, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_PIPES: set[tuple[int, int]] = set()  # by device and inode


def storage_error(error: OSError, path: str | Path, *, doing: str) -> StorageError:
    """Convert an error of the system to a StorageError with path and remedy; a StorageError is returned as it is."""
    if isinstance(error, StorageError):
        return copy(error)
    code, problem, remedy = "storage", error.strerror or str(error), "check the path and the disk"
    if error.errno in _FULL:
        code, problem = "storage.disk-full", "the disk is full"
        remedy = "free some space or name another folder; existing files are unchanged"
    elif isinstance(error, PermissionError) or error.errno == errno.EROFS:
        code, problem = "storage.permission", "permission denied"
        remedy = "name a folder you may use, or change its permissions"
    elif isinstance(error, FileNotFoundError):
        code, problem, remedy = "storage.not-found", "no such file or folder", "check the spelling of the path"
    elif isinstance(error, IsADirectoryError):
        code, problem, remedy = "storage.is-folder", "this is a folder", "name a file"
    elif isinstance(error, NotADirectoryError | FileExistsError):
        code, problem, remedy = "storage.not-a-folder", "a file is in the way of a folder", "name another folder"
    return StorageError(f"cannot {doing}: {problem}", remedy, code=code, file=path)


@contextmanager
def atomic_file(path: str | Path, *, text: bool = False) -> Iterator[IO[Any]]:
    r"""Open a file for writing that replaces the target only if the block succeeds.

    Args:
        path: The target, in an existing folder. Symbolic links are followed, a replaced file keeps its permissions,
            and devices, pipes and ``/dev/stdout`` are written to directly.
        text: UTF-8 text with ``\\n`` line ends instead of bytes.

    Raises:
        StorageError: The folder is not writable, or the disk is full.
    """
    through = _written_through(path)
    if through is not None:
        with _stream(path, through, text=text) as file:
            yield file
        return
    target = real_path(path)
    _remove_left_behind(target)
    scratch = target.with_name(f".{target.name}.{this_machine()}-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        # os.open rather than tempfile: default permissions instead of 0600.
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with _opened(handle, text=text) as file:
                keep_mode(target, scratch)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(scratch, target)  # noqa: PTH105 - the pair fsync/replace reads as one
        except BaseException:
            with suppress(OSError):
                scratch.unlink()
            raise
        flush_to_disk(target.parent)
    except OSError as error:
        if error.filename not in (None, str(scratch)):
            raise  # an error about another file, raised in the block
        raise storage_error(error, path, doing="write") from error


def _opened(handle: int, *, text: bool) -> IO[Any]:
    return os.fdopen(handle, "w", encoding="utf-8", newline="\n") if text else os.fdopen(handle, "wb")


@contextmanager
def _stream(path: str | Path, through: Callable[[], int], *, text: bool) -> Iterator[IO[Any]]:
    """Write directly to what is not a regular file and cannot be replaced."""
    try:
        with _opened(through(), text=text) as file:
            yield file
    except BrokenPipeError:
        raise  # the reader has gone: the command line exits silently
    except OSError as error:
        if error.filename not in (None, str(path)):
            raise
        raise storage_error(error, path, doing="write") from error


def _written_through(path: str | Path) -> Callable[[], int] | None:
    """A function that opens a device, a pipe or ``/dev/stdout`` for writing; None for regular files."""
    names = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
    known = re.fullmatch(r"/dev/fd/(\d{1,5})|/proc/self/fd/(\d{1,5})", str(path))
    if str(path) in names or known is not None:
        number = names.get(str(path)) if known is None else int(known[1] or known[2])
        sys.stdout.flush()
        return lambda: os.dup(number)  # type: ignore[arg-type]
    if is_special(path):
        return lambda: os.open(path, os.O_WRONLY)
    return None


def is_special(path: str | Path) -> bool:
    """Whether the path is a device, a pipe or a socket."""
    with suppress(OSError, ValueError):
        mode = Path(path).stat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def real_path(path: str | Path) -> Path:
    """Resolve symbolic links.

    Raises:
        StorageError: They form a cycle.
    """
    found = Path(os.path.realpath(path))
    try:
        found.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            problem = "the symbolic links form a cycle"
            raise StorageError(problem, "remove the link, or name another path", "link-cycle", file=path) from error
    return found


def keep_mode(old: Path, new: Path) -> None:
    """Copy permissions and, where allowed, the owner from a file or folder to its replacement."""
    with suppress(OSError, AttributeError):  # nothing to copy from, or Windows
        facts = old.stat()
        if (facts.st_uid, facts.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(OSError):
                os.chown(new, facts.st_uid, facts.st_gid)
        new.chmod(stat.S_IMODE(facts.st_mode))


def move_into_place(scratch: Path, path: str | Path) -> None:
    """Rename a finished file to its target; copy it if the target is a device or a pipe.

    Raises:
        StorageError: It cannot be written.
    """
    if _written_through(path) is not None:
        with scratch.open("rb") as source, atomic_file(path) as file:
            shutil.copyfileobj(source, file)
        scratch.unlink()
        return
    target = real_path(path)
    try:
        keep_mode(target, scratch)
        scratch.replace(target)
    except OSError as error:
        raise storage_error(error, path, doing="write") from error
    flush_to_disk(target.parent)


@cache
def this_machine() -> str:
    """An identifier of this machine and its process namespace among those that share a disk."""
    facts = [platform.node()]
    with suppress(OSError):  # Linux; a container has its own process ids
        facts += [Path("/proc/sys/kernel/random/boot_id").read_text("ascii"), str(Path("/proc/self/ns/pid").readlink())]
    return hashlib.sha256(" ".join(facts).encode()).hexdigest()[:6]


def _remove_left_behind(target: Path) -> None:
    """Remove temporary files of processes that no longer exist; the file name has the process id."""
    for old in target.parent.glob(f".{escape(target.name)}.{this_machine()}-*-*.tmp") if os.name == "posix" else ():
        try:
            os.kill(int(old.name.split("-")[-2]), 0)  # signal 0 only tests whether the process exists
        except ProcessLookupError:
            with suppress(OSError):
                old.unlink()
        except (OSError, ValueError, OverflowError):
            pass  # another user's process, or not a temporary file of ours


def flush_to_disk(path: Path) -> None:
    """Flush a file or a folder to disk, where the platform supports it."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write bytes atomically."""
    with atomic_file(path) as file:
        file.write(data)


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> list[Path]:
    """Write files into a folder by their names, which may have a folder each, and return their paths.

    Raises:
        StorageError: A file cannot be written.
    """
    paths = [folder / name for name in files]
    for parent in dict.fromkeys(path.parent for path in paths):
        writable_folder(parent)
    for path, content in zip(paths, files.values(), strict=True):
        write_bytes(path, content if isinstance(content, bytes) else content.encode())
    return paths


def write_text(path: str | Path, text: str) -> None:
    """Write text atomically, as UTF-8."""
    with atomic_file(path, text=True) as file:
        file.write(text)


def write_json(path: str | Path, value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Write a value atomically, formatted by :func:`as_json`."""
    write_bytes(path, as_json(value))


def as_json(value: Any) -> bytes:  # noqa: ANN401 - whatever JSON can hold
    """Format a value as indented JSON."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "backslashreplace")  # a path may have bytes that are not UTF-8


def is_pipe(path: str | Path) -> bool:
    """Whether the path is a named pipe; False if that cannot be determined."""
    with suppress(OSError):
        return Path(path).is_fifo()
    return False


_READ: dict[str, None] = {}  # files that were read, in order of first use


def note_read(path: str | Path) -> None:
    """Note that a file is read, for the run record; needed for files that another library opens."""
    _READ.setdefault(str(path))


def files_read() -> list[Path]:
    """The files read since :func:`forget_reads`, in order of first use."""
    return [Path(name) for name in _READ]


def forget_reads() -> None:
    """Clear the list of files that were read."""
    _READ.clear()


def begin_to_read(path: str | Path) -> None:
    """Note that a file is read; call it before opening a file that the user named.

    Raises:
        InputError: It is a pipe, such as ``<(zcat a.gz)``, that was read before and would seem empty.
    """
    note_read(path)
    if is_pipe(path):
        facts = Path(path).stat()
        if (facts.st_dev, facts.st_ino) in _READ_PIPES:
            raise _read_twice(path)
        _READ_PIPES.add((facts.st_dev, facts.st_ino))


def _read_twice(path: str | Path) -> InputError:
    problem = "a pipe can be read only once, but this command reads it twice"
    return InputError(problem, "save it to a file", "pipe", file=path)


def read_bytes(path: str | Path, *, sha256: str | None = None) -> bytes:
    """Read a file and, if ``sha256`` is given, check its hash.

    Raises:
        CorruptFileError: The hash differs.
        StorageError: The file cannot be read.
    """
    begin_to_read(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise storage_error(error, path, doing="read") from error
    if sha256 is not None:
        check_content(path, found=hashlib.sha256(data).hexdigest(), expected=sha256, size=len(data))
    return data


def read_text(path: str | Path) -> str:
    """Read a file as UTF-8 text, without a byte order mark.

    Raises:
        InputError: It is not UTF-8; the message has the line.
        StorageError: The file cannot be read.
    """
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem, remedy = f"byte {data[error.start : error.start + 1].hex()} is not UTF-8", "save the file as UTF-8"
        raise InputError(problem, remedy, "not-utf8", file=path, line=data.count(b"\n", 0, error.start) + 1) from error


def read_json(path: str | Path) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Read a JSON file.

    Raises:
        InputError: Malformed JSON; the message has line and column.
        StorageError: The file cannot be read.
    """
    return parse_json(read_text(path), path)


def parse_json(text: str | bytes, path: str | Path) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Parse JSON; ``path`` is for the error message.

    Raises:
        InputError: Malformed JSON; the message has line and column.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InputError("nested too deeply", "flatten it", "malformed-json", file=path) from error
    except json.JSONDecodeError as error:
        problem, remedy = f"malformed JSON: {error.msg}", "correct it there"
        raise InputError(problem, remedy, "malformed-json", file=path, line=error.lineno, column=error.colno) from error
    except ValueError as error:  # not UTF-8, or a number with too many digits for Python
        problem = f"malformed JSON: {one_line(str(error))}"
        raise InputError(problem, "correct it there", "malformed-json", file=path) from error


def file_hash(path: str | Path) -> str:
    """The SHA-256 of a file, in hexadecimal.

    Raises:
        InputError: It is a pipe, which can be read only once.
        StorageError: It cannot be read.
    """
    if is_pipe(path):
        raise _read_twice(path)
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise storage_error(error, path, doing="read") from error


def check_file(path: str | Path, *, sha256: str) -> None:
    """Check a file against the hash of what was written.

    Raises:
        CorruptFileError: The hash differs.
        StorageError: The file cannot be read.
    """
    check_content(path, found=file_hash(path), expected=sha256, size=Path(path).stat().st_size)


def check_content(path: str | Path, *, found: str, expected: str, size: int) -> None:
    """Compare the hash of a file with that of what was written.

    Raises:
        CorruptFileError: The hash differs.
    """
    if found != expected:
        problem = f"{size:,} bytes with SHA-256 {found[:12]}… where {expected[:12]}… was written"
        remedy = "the file was truncated or altered: create it again or download it again"
        raise CorruptFileError(problem, remedy, "hash", file=path)


def inside(folder: str | Path, name: str) -> Path:
    """The path of a file named in an index, which must be inside the folder.

    >>> inside("vocab", "en/tokenizer.json").as_posix()
    'vocab/en/tokenizer.json'

    Raises:
        CorruptFileError: The name is absolute, or leads out of the folder.
    """
    parts = name.replace("\\", "/").split("/")
    if not name or ".." in parts or "" in parts or "\0" in name or Path(name).is_absolute():
        problem = f"the index names {shown(name)}, which is outside its folder"
        raise CorruptFileError(problem, "the folder was altered: create it again or download it again", file=folder)
    return Path(folder, *parts)


def writable_folder(path: str | Path) -> Path:
    """Create a folder if it is missing, and check that it is writable before any work is done.

    Raises:
        StorageError: It cannot be created or written to.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # has no name on Linux, so that a kill leaves nothing behind
            pass
    except OSError as error:
        raise storage_error(error, path, doing="write to this folder") from error
    return folder

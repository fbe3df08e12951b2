r"""Text files as numbered lines of UTF-8, compressed or not.

Reading is strict; errors have the line. Writing is atomic and rejects text that would not be read back the same. A line
ends with ``\n`` or ``\r\n`` only: U+2028 or a form feed is part of the line. Files named ``.bz2``, ``.gz``, ``.xz`` or
``.zst`` are compressed on writing and decompressed on reading.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import sys
import zlib
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from isoglot.core.errors import InputError, shown
from isoglot.core.files import atomic_file, begin_to_read, storage_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


Item = TypeVar("Item")
Record = TypeVar("Record")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BUFFER = 1 << 16
_ZSTD_PART = 512  # compressed bytes at a time: four bytes may expand to 128 KiB at once
LONGEST_LINE = 50_000_000
"""Default limit of the bytes of a line, so that a compressed file without line ends cannot fill the memory."""
_longest = LONGEST_LINE


def set_longest_line(size: int = LONGEST_LINE) -> None:
    """Set the maximum length of a line in bytes, for this process."""
    global _longest  # noqa: PLW0603 - a limit of the process, as sys.setrecursionlimit has one
    _longest = size


def longest_line() -> int:
    """The maximum length of a line in bytes."""
    return _longest


def too_long(path: str | Path, line: int, what: str = "line") -> InputError:
    """The error of a line, or another record, that is too long."""
    problem = f"this {what} has more than {_longest:,} bytes"
    remedy = "write one sentence or paragraph per line, or split it with isoglot text sentences --max-line MB"
    return InputError(problem, remedy, "line-length", file=path, line=line)


def bounded_lines(file: IO[bytes], path: str | Path) -> Iterator[bytes]:
    """Iterate over the lines of an open file, with their line ends.

    Raises:
        InputError: A line is longer than the limit; only that much of it is held in memory.
    """
    number = 0
    while raw := file.readline(_longest + 2):
        number += 1
        if len(raw) > _longest and len(raw.rstrip(b"\r\n")) > _longest:
            raise too_long(path, number)
        yield raw


def damaged() -> tuple[type[Exception], ...]:
    """Exceptions of damaged compressed files; that of zstandard only if it has been imported."""
    known = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
    zstandard = sys.modules.get("zstandard")
    return known if zstandard is None else (*known, zstandard.ZstdError)


def damaged_file(error: Exception, path: str | Path, line: int | None = None) -> InputError:
    """The error of a compressed file that is damaged."""
    problem = f"the compressed file is damaged: {error}"
    remedy = "download or create it again; a file named .bz2, .gz, .xz or .zst must be compressed"
    return InputError(problem, remedy, "damaged-compression", file=path, line=line)


def read_lines(path: str | Path, *, skip: Skip | None = None) -> Iterator[tuple[int, str]]:
    """Read the lines of a text file, with their numbers from 1 and without line ends.

    Args:
        path: The file.
        skip: Tolerance for lines that are not valid text. Default: raise at the first.

    Raises:
        InputError: A line is not UTF-8, has a NUL or a stray carriage return, the compressed file is damaged, or it is
            a pipe that was read before.
        StorageError: The file cannot be read.
    """
    for number, line in scan_lines(path):
        if not isinstance(line, str):
            if skip is None:
                raise line
            skip.take(line)
            continue
        yield number, line


def scan_lines(path: str | Path) -> Iterator[tuple[int, str | InputError]]:
    """Every line of a file or its error, for readers that must know which line was malformed."""
    number = 0
    try:
        with open_to_read(Path(path)) as file:
            for number, raw in enumerate(bounded_lines(file, path), start=1):
                try:
                    line: str | InputError = _decode(raw, path, number)
                except InputError as error:
                    line = error
                yield number, line
    except damaged() as error:
        raise damaged_file(error, path, number + 1) from error
    except OSError as error:
        raise storage_error(error, path, doing="read") from error


def text_hash(path: str | Path) -> str:
    """The SHA-256 of the decompressed text, in hexadecimal.

    Raises:
        InputError: The compressed file is damaged, or it is a pipe that was read before.
        StorageError: The file cannot be read.
    """
    try:
        with open_to_read(Path(path)) as file:
            return hashlib.file_digest(cast("Any", file), "sha256").hexdigest()
    except damaged() as error:
        raise damaged_file(error, path) from error
    except OSError as error:
        raise storage_error(error, path, doing="read") from error


def read_blocks(path: str | Path, *, skip: Skip | None = None) -> Iterator[list[tuple[int, str]]]:
    """Runs of non-blank lines with their numbers: records separated by blank lines.

    A line of white space counts as blank. A block with a malformed line is skipped as a whole.
    """
    block: list[tuple[int, str]] = []
    wrong: InputError | None = None
    for number, line in chain(scan_lines(path), [(0, "")]):
        if not isinstance(line, str):
            if skip is None:
                raise line
            wrong = wrong or line
        elif line and not line.isspace():
            block.append((number, line))
        else:
            if wrong is not None and skip is not None:
                skip.take(wrong)
            elif block:
                yield block
            block, wrong = [], None


@contextmanager
def line_writer(path: str | Path) -> Iterator[LineWriter]:
    """Open a text file for writing line by line; it replaces the target only if the block succeeds.

    Raises:
        StorageError: The folder is not writable, or the disk is full.
    """
    with atomic_file(path) as file, _compressor(Path(path), file) as stream:
        yield LineWriter(path, stream)


class LineWriter:
    """Writer of lines; rejects what would not be read back the same."""

    def __init__(self, path: str | Path, stream: IO[bytes]) -> None:
        self.path = path
        self.lines = 0
        self._stream = stream
        self._digest = hashlib.sha256()

    def write(self, line: str) -> None:
        """Write a line, given without its line end.

        Raises:
            InputError: It contains a line end, a NUL or a lone surrogate.
        """
        for sign in ("\n", "\r", "\0"):
            if sign in line:
                raise self.refusal(f"{shown(sign)} inside {shown(line)}", remedy="replace it with a blank")
        try:
            raw = line.encode()
        except UnicodeEncodeError as error:
            half = line[error.start]
            raise self.refusal(f"a lone surrogate, {shown(half)}, in {shown(line)}", remedy="remove it") from error
        if not self.lines and raw.startswith(_BYTE_ORDER_MARK):
            raw = _BYTE_ORDER_MARK + raw  # readers drop the first one: this keeps that of the text
        self._stream.write(raw + b"\n")
        self._digest.update(raw + b"\n")
        self.lines += 1

    def write_cells(self, *cells: str) -> None:
        """Write a line of tab-separated cells.

        Raises:
            InputError: A cell contains a tab, or a character that :meth:`write` rejects.
        """
        for cell in cells:
            if "\t" in cell:
                raise self.refusal(f"a tab inside {shown(cell)}", remedy="replace it with a blank")
        self.write("\t".join(cells))

    def sha256(self) -> str:
        """The SHA-256 of the uncompressed text so far, as :func:`text_hash` returns it."""
        return self._digest.hexdigest()

    def refusal(self, problem: str, *, remedy: str) -> InputError:
        """The error of a line that cannot be written."""
        return InputError(f"not written: {problem}", remedy, "not-writable", file=self.path, line=self.lines + 1)


def open_to_read(path: Path) -> IO[bytes]:
    """Open a file, decompressing it according to its name."""
    begin_to_read(path)
    file = path.open("rb")
    readers: dict[str, Callable[[IO[bytes]], Any]] = {
        ".bz2": _Bz2Reader,
        ".gz": lambda stored: gzip.GzipFile(fileobj=stored),
        ".xz": lzma.LZMAFile,
        ".zst": _ZstdReader,
    }
    reader = readers.get(path.suffix)
    return file if reader is None else cast("IO[bytes]", _Decompressed(reader(file), file))


def stored_position(file: IO[bytes]) -> int:
    """The position in the stored, possibly compressed, file; 0 for a pipe."""
    stored = file.stored if isinstance(file, _Decompressed) else file
    return stored.tell() if stored.seekable() else 0


class _Decompressed(io.BufferedReader):
    """Reader of a compressed file, which closes it too."""

    def __init__(self, decompressing: Any, stored: IO[bytes]) -> None:  # noqa: ANN401 - each library has its class
        super().__init__(decompressing, _BUFFER)
        self.stored = stored

    def close(self) -> None:
        super().close()
        self.stored.close()


class _Bz2Reader(io.RawIOBase):
    """Decompressor of bz2 streams; reports damage as EOFError rather than as an error of the disk."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = bz2.BZ2File(file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever bytes can be put into
        try:
            return self._file.readinto(buffer)
        except OSError as error:
            if error.errno is None:
                raise EOFError(str(error)) from error
            raise


class _ZstdReader(io.RawIOBase):
    """Decompressor of Zstandard frames; reports a truncated frame, which zstandard's own reader ignores."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._file = file
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame = self._decompressor.decompressobj()
        self._begun = False
        self._behind = b""  # bytes after the end of a frame
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever bytes can be put into
        while not self._ready:
            data = self._behind or self._file.read(_ZSTD_PART)
            self._behind = b""
            if not data:
                if self._begun and not self._frame.eof:
                    raise EOFError("it is truncated")
                return 0
            if self._frame.eof:
                self._frame = self._decompressor.decompressobj()
            self._begun = True
            self._ready = memoryview(self._frame.decompress(data))
            if self._frame.eof:
                self._behind = self._frame.unused_data
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def _compressor(path: Path, file: IO[bytes]) -> AbstractContextManager[Any]:
    """Compress into a file according to its name."""
    match path.suffix:
        case ".bz2":
            return bz2.BZ2File(file, "wb")
        case ".gz":  # no name and no time: the same text gives the same bytes
            return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
        case ".xz":
            return lzma.open(file, "wb")
        case ".zst":
            import zstandard

            return zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False)
        case _:
            return nullcontext(file)


def _decode(raw: bytes, path: str | Path, number: int) -> str:
    if number == 1:
        raw = raw.removeprefix(_BYTE_ORDER_MARK)
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        line = raw.decode()
    except UnicodeDecodeError as error:
        problem = f"byte {raw[error.start : error.start + 1].hex()} is not UTF-8"
        raise malformed(problem, "save the file as UTF-8", path, number, "input.not-utf8") from error
    if "\0" in line:
        raise malformed("a NUL character", "this is not a text file, or it is damaged", path, number)
    if "\r" in line:
        remedy = r"end lines with \n or \r\n, and put a blank for one inside a line"
        raise malformed("a carriage return inside a line", remedy, path, number)
    return line


# --- malformed records ---


class Skip:
    """Tolerance for malformed records: skips and counts them up to a limit, then raises.

    Args:
        allowed: The number of records to skip at most.
    """

    def __init__(self, allowed: int = 0) -> None:
        self.allowed = allowed
        self.count = 0
        """Records skipped so far."""
        self.first: InputError | None = None
        """Error of the first of them."""

    def take(self, error: InputError) -> None:
        """Count a malformed record, or raise its error if the limit is reached.

        Raises:
            InputError: The limit is reached.
        """
        if self.count >= self.allowed:
            if self.allowed:
                problem = f"{error.problem}, after {self.count} skipped"
                raise InputError(
                    problem, error.remedy, code=error.code, file=error.file, line=error.line, column=error.column
                ) from error
            raise error
        self.first = self.first or error
        self.count += 1


def malformed(
    problem: str, remedy: str, path: str | Path | None, line: int | None, code: str = "input.malformed-line"
) -> InputError:
    """The error of a line that does not have the format of its file."""
    return InputError(problem, remedy, code=code, file=path, line=line)


def parsed(items: Iterable[Item], parse: Callable[[Item], Record], skip: Skip | None) -> Iterator[Record]:
    """Parse every item; malformed ones are skipped as far as ``skip`` allows."""
    for item in items:
        try:
            record = parse(item)
        except InputError as error:
            if skip is None:
                raise
            skip.take(error)
            continue
        yield record

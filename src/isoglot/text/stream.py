"""Text of a language as a stream of lines: its files in order, with ``""`` between documents.

Lines are processed in chunks, by several processes if asked for: results come in order, with only a few chunks in
memory at a time. The chunks, and so the results, do not depend on the number of processes.

>>> list(map_chunks(len, chunks_of(["a", "b", "c"], lines=2)))
[2, 1]
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from multiprocessing import get_context, parent_process
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

from isoglot.core.errors import ConfigError, IsoglotError, check_range
from isoglot.core.progress import SILENT, Progress, Task
from isoglot.text.formats.lines import LineWriter, Skip, parsed, read_lines
from isoglot.text.formats.plain import check_text
from isoglot.text.provenance import Provenance, Step, UsedDictionary, derived, recorded_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


# --- chunks and processes ---


ItemT = TypeVar("ItemT")
ChunkT = TypeVar("ChunkT")
ResultT = TypeVar("ResultT")

_AHEAD = 2  # queued chunks per process


class WorkerError(IsoglotError):
    """Worker process that died."""

    code = "worker"


def chunks_of(
    texts: Iterable[ItemT],
    *,
    lines: int = 4096,
    characters: int = 1 << 18,
    length: Callable[[ItemT], int] = len,  # type: ignore[assignment]
) -> Iterator[list[ItemT]]:
    """Divide lines into chunks of about half a megabyte.

    Args:
        texts: The lines.
        lines: Maximum number of lines of a chunk.
        characters: A chunk with this many characters is complete.
        length: The number of characters of an item.
    """
    chunk: list[ItemT] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += length(text)
        if len(chunk) == lines or size >= characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def map_chunks(work: Callable[[ChunkT], ResultT], chunks: Iterable[ChunkT], *, workers: int = 1) -> Iterator[ResultT]:
    """``work(chunk)`` for every chunk, in order.

    Args:
        work: A function or object that can be pickled; it is sent to each process once.
        chunks: The chunks; at most two per process are read ahead.
        workers: Number of processes; 1 uses the current one.

    Raises:
        ConfigError: ``workers`` is below 1.
        WorkerError: A process was killed, or could not start.
    """
    check_range("workers", workers, 1)
    if workers == 1:
        yield from map(work, chunks)
        return
    # spawn: a fork would copy the threads of the progress bar
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (work,))
    waiting: deque[Future[Any]] = deque()
    try:
        for chunk in chunks:
            with _interrupts_held():
                waiting.append(pool.submit(_run, chunk))
            if len(waiting) > _AHEAD * workers:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _result(future: Future[Any]) -> Any:  # noqa: ANN401 - what the work returns
    try:
        return future.result()
    except BrokenProcessPool as error:
        problem = "a worker process ended before its work was done"
        raise WorkerError(problem, remedy="if it ran out of memory, use fewer --workers") from error


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C in processes started in this block, which inherit the signal mask: the parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in the worker ---

_work: Callable[[Any], Any] | None = None


def _start_worker(work: Callable[[Any], Any]) -> None:
    global _work  # noqa: PLW0603 - a worker has one work all its life
    _work = work
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """Exit when the parent was killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(chunk: object) -> object:
    return cast("Callable[[Any], Any]", _work)(chunk)


# --- files ---


def read_stream(paths: Iterable[str | Path], *, skip: Skip | None = None) -> Iterator[str]:
    """Read the lines of files; a blank line or the end of a file ends a document and is ``""``.

    Raises:
        InputError: A line is not UTF-8 text, or is a row of an inference table.
        StorageError: A file cannot be read.
    """
    inside = False
    for path in paths:
        for line in parsed(read_lines(path, skip=skip), partial(_checked, path), skip):
            if line and not line.isspace():
                yield line
                inside = True
            elif inside:
                yield ""
                inside = False
        if inside:
            yield ""
            inside = False


def _checked(path: str | Path, numbered: tuple[int, str]) -> str:
    number, line = numbered
    check_text(line, path, number)
    return line


@contextmanager
def stream_writer(path: str | Path, provenance: Provenance) -> Iterator[StreamWriter]:
    """Open a file for writing a stream; it appears, with its provenance, only if the block succeeds.

    Raises:
        StorageError: The folder is not writable, or the disk is full.
    """
    with recorded_writer(path, provenance) as writer:
        yield StreamWriter(writer)


class StreamWriter:
    """Writer of a stream: one blank line between non-empty documents."""

    def __init__(self, writer: LineWriter) -> None:
        self.writer = writer
        self.documents = 0
        self.lines = 0
        self._inside = False

    def write(self, line: str) -> None:
        """Write one line of the stream.

        Raises:
            InputError: It contains a line end, a NUL or a lone surrogate.
        """
        if not line or line.isspace():
            self._inside = False
            return
        if not self._inside:
            if self.documents:
                self.writer.write("")
            self.documents += 1
            self._inside = True
        self.writer.write(line)
        self.lines += 1

    def write_all(self, lines: Sequence[str]) -> None:
        """Write several lines."""
        for line in lines:
            self.write(line)


@contextmanager
def rewriting(
    paths: Sequence[str | Path],
    target: str | Path,
    step: Step,
    *,
    dictionaries: Iterable[UsedDictionary] = (),
    progress: Progress = SILENT,
) -> Iterator[tuple[StreamWriter, Task]]:
    """Open a file for text derived from others by a step, with its provenance and a progress task.

    Raises:
        CorruptFileError: A file has changed since its record was written.
        StorageError: A file cannot be read or written.
    """
    label = f"{step['step']} {step['language']}"
    with (
        stream_writer(target, derived(paths, step, dictionaries)) as writer,
        progress.task(label, total=None, unit="lines") as task,
    ):
        yield writer, task


@dataclass
class Report:
    """Counts of what was read and written."""

    def facts(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)

    def add(self, other: Self) -> None:
        """Add the counts of another report."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass
class RewriteReport(Report):
    """Counts of lines, words and documents."""

    lines: int = 0
    written: int = 0  # lines written
    words: int = 0  # blank-separated words written
    documents: int = 0
    skipped: int = 0  # malformed lines


class LineWork(Protocol):
    """Function from lines to lines that can be pickled."""

    @property
    def step(self) -> Step:
        """The step and its language, as provenance records them."""

    def __call__(self, lines: list[str], /) -> list[str]:
        """The new lines."""


def rewrite(
    paths: Sequence[str | Path],
    target: str | Path,
    work: LineWork,
    *,
    workers: int = 1,
    skip: Skip | None = None,
    progress: Progress = SILENT,
) -> RewriteReport:
    """Apply a function to every chunk of the files' stream and write the result.

    Args:
        paths: The files.
        target: The file to write.
        work: The function; it must keep the ends of documents, ``""``.
        workers: Number of processes.
        skip: Tolerance for malformed lines. Default: raise at the first.
        progress: Progress reporter.

    Raises:
        CorruptFileError: A file has changed since its record was written.
        InputError: A line is not UTF-8 text.
        StorageError: A file cannot be read or written.
    """
    report = RewriteReport()

    def counted() -> Iterator[str]:
        for line in read_stream(paths, skip=skip):
            report.lines += bool(line)
            yield line

    work([])  # missing libraries are reported before anything is written
    with rewriting(paths, target, work.step, progress=progress) as (writer, task):
        for lines in map_chunks(work, chunks_of(counted()), workers=workers):
            writer.write_all(lines)
            report.words += sum(line.count(" ") + 1 for line in lines if line)
            task.advance(len(lines))
    report.written, report.documents = writer.lines, writer.documents
    report.skipped = 0 if skip is None else skip.count
    return report


Named = dict[str, tuple[str, list["Path"]]]
"""Language and files of what is written, by the name of the new file."""


def named_targets(texts: Mapping[str, Sequence[Path]], *, by_file: bool = False, compress: str = "none") -> Named:
    """Name the files that the text of each language is rewritten to: ``en.txt``, or the names that files have already.

    >>> named_targets({"en": [], "de": []}, compress="zst")
    {'en.txt.zst': ('en', []), 'de.txt.zst': ('de', [])}

    Args:
        texts: Files of each language.
        by_file: One new file for each file, under its name. Default: one for each language.
        compress: ``none``, ``gz``, ``xz`` or ``zst``.

    Raises:
        ConfigError: Two would have the same name.
    """
    ending = ".txt" if compress == "none" else f".txt.{compress}"
    found: Named = {}
    for code, paths in texts.items():
        for name, used in [(path.name, [path]) for path in paths] if by_file else [(code + ending, list(paths))]:
            if name in found:
                remedy = "do them one at a time, into folders of their own"
                raise ConfigError(f"two files are named {name}", remedy, "duplicate")
            found[name] = code, used
    return found


def rewrite_all(
    named: Named,
    work: Callable[..., Report],
    folder: Path | None,
    *,
    skip_bad: int = 0,
    say: Callable[[str], None] = lambda _: None,
    progress: Progress = SILENT,
    **options: Any,  # noqa: ANN401 - those of the work
) -> dict[str, dict[str, Any]]:
    """Call ``work(language, paths, target, ...)`` for each new file, and return the reports by its name.

    Args:
        named: What :func:`named_targets` returns.
        work: Reads the files, and writes the target unless it is None.
        folder: Where new files go; None if nothing is written.
        skip_bad: Number of malformed lines that are skipped, for each new file.
        say: Called with a line about those that were.
        progress: Progress reporter.
        **options: Further options of the work.
    """
    reports = {}
    for name, (language, paths) in named.items():
        skip = Skip(skip_bad)
        target = None if folder is None else folder / name
        report = work(language, paths, target, skip=skip, progress=progress, **options)
        reports[name] = report.facts() | {"skipped": skip.count}
        if skip.first is not None:
            say(f"{language}: {skip.count} skipped, the first: {skip.first}")
    return reports

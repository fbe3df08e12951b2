"""Text of a language as a stream of lines: its files in order, with ``""`` between documents."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self

from isoglot.core.errors import ConfigError
from isoglot.core.progress import SILENT, Progress, Task
from isoglot.text.formats.lines import LineWriter, Skip, parsed, read_lines
from isoglot.text.formats.plain import check_text
from isoglot.text.process_pool import chunks_of, map_chunks
from isoglot.text.provenance import Provenance, Step, UsedDictionary, derived, recorded_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


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
    written: int = 0
    """Lines written."""
    words: int = 0
    """Blank-separated words written."""
    documents: int = 0
    skipped: int = 0
    """Malformed lines."""


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

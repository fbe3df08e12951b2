"""Progress reporters: a bar with rate and remaining time on a terminal, plain lines in a pipe, nothing when quiet.

Library functions take ``progress: Progress = SILENT``; the command line passes what :func:`choose_progress` returns.
Everything is written to standard error, so that results can be piped.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from isoglot.core.errors import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Task(Protocol):
    """Long-running task."""

    def advance(self, amount: int = 1) -> None:
        """Report that ``amount`` more units are done."""

    def note(self, text: str) -> None:
        """Show a short text beside the rate, such as the loss."""


class Progress(Protocol):
    """Progress reporter."""

    def task(self, label: str, *, total: int | None, unit: str) -> AbstractContextManager[Task]:
        """Start a task of ``total`` units (None: unknown) that lasts as long as the block."""


def choose_progress(*, quiet: bool = False, stream: TextIO | None = None) -> Progress:
    """Choose the reporter that suits a stream. Default: standard error."""
    stream = sys.stderr if stream is None else stream
    if quiet:
        return SILENT
    return BarProgress(stream) if stream.isatty() else LineProgress(stream)


class SilentProgress:
    """Reporter and task that show nothing."""

    @contextmanager
    def task(self, label: str, *, total: int | None, unit: str) -> Iterator[Task]:
        """Start a task that is not shown."""
        yield self

    def advance(self, amount: int = 1) -> None:
        """Report nothing."""

    def note(self, text: str) -> None:
        """Show nothing."""


SILENT = SilentProgress()


def say_nothing(text: str) -> None:
    """Ignore a message: the default of functions with messages for the user."""


Say = Callable[[str], None]  # receives messages for the user


class LineProgress:
    """Reporter of plain lines: at most one every ``every`` seconds, and one at the end with the total time.

    Args:
        stream: Where the lines go.
        every: Seconds between lines.
        clock: A function that returns the time in seconds.
    """

    def __init__(self, stream: TextIO, *, every: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream, self.every, self.clock = stream, every, clock

    @contextmanager
    def task(self, label: str, *, total: int | None, unit: str) -> Iterator[Task]:
        """Start a task shown as lines; a task that fails has no closing line."""
        task = _LineTask(self, label, total, unit)
        yield task
        task.finish()


class _CountingTask:
    """Task that counts what is done."""

    def __init__(self, unit: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.unit, self.clock = unit, clock
        self.done = 0
        self.words = ""
        self.start = clock()

    def note(self, text: str) -> None:
        self.words = visible(text)

    def _rate(self, seconds: float) -> str:
        return f"{rate(self.done, seconds)} {self.unit}/s" + (f", {self.words}" if self.words else "")

    def _count(self, seconds: float) -> str:
        return f"{counted(self.done, self.unit)}, {self._rate(seconds)}"


class _LineTask(_CountingTask):
    def __init__(self, progress: LineProgress, label: str, total: int | None, unit: str) -> None:
        super().__init__(unit, progress.clock)
        self.progress, self.label, self.total = progress, label, total
        self.last = self.start

    def advance(self, amount: int = 1) -> None:
        self.done += amount
        now = self.progress.clock()
        if now - self.last >= self.progress.every:
            self.last = now
            self._write(self._state(now - self.start))

    def finish(self) -> None:
        seconds = self.progress.clock() - self.start
        self._write(f"{counted(self.done, self.unit)} in {duration(seconds)}, {self._rate(seconds)}")

    def _state(self, seconds: float) -> str:
        if self.total is None:
            return self._count(seconds)
        left = f", {duration(seconds / self.done * (self.total - self.done))} left" if self.done else ""
        share = f"{100 * self.done / max(self.total, 1):.0f} %"
        return f"{self.done:,}/{self.total:,} {self.unit} ({share}), {self._rate(seconds)}{left}"

    def _write(self, state: str) -> None:
        self.progress.stream.write(visible(f"{self.label}: {state}\n"))
        self.progress.stream.flush()


class BarProgress:
    """Reporter of a Rich bar with count, rate, note and remaining time."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    @contextmanager
    def task(self, label: str, *, total: int | None, unit: str) -> Iterator[Task]:
        """Start a task shown as a bar."""
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[state]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with RichProgress(*columns, console=Console(file=self.stream), expand=True) as bars:
            task = _BarTask(bars, bars.add_task(visible(label), total=total, state=f"0 {unit}"), unit)
            yield task
            bars.update(task.task, total=task.done)  # a task that stopped early is finished too
            bars.refresh()


class _BarTask(_CountingTask):
    def __init__(self, bars: RichProgress, task: TaskID, unit: str) -> None:
        super().__init__(unit)
        self.bars, self.task = bars, task

    def advance(self, amount: int = 1) -> None:
        self.done += amount
        self.bars.update(self.task, advance=amount, state=self._count(self.clock() - self.start))

    def note(self, text: str) -> None:
        super().note(text)
        self.advance(0)


def listed(words: list[str]) -> str:
    """Join words with commas and "and".

    >>> listed(["German"]), listed(["German", "French"]), listed(["3", "4", "5"])
    ('German', 'German and French', '3, 4 and 5')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def counted(number: int, units: str) -> str:
    """Format a number with its unit, given in the plural.

    >>> counted(2000, "layers of pairs"), counted(1, "layers of pairs"), counted(1, "word types"), counted(1, "tries")
    ('2,000 layers of pairs', '1 layer of pairs', '1 word type', '1 try')
    """
    if number == 1:
        plural = next((word for word in units.split() if word.endswith("s")), units)
        one = f"{plural.removesuffix('ies')}y" if plural.endswith("ies") else plural.removesuffix("s")
        units = units.replace(plural, one, 1)
    return f"{number:,} {units}"


def rate(done: float, seconds: float) -> str:
    """Format a rate per second, with three significant digits.

    >>> rate(1_234_567, 1.0), rate(5, 10.0)
    ('1,230,000', '0.5')
    """
    value = done / seconds if seconds > 0 else 0.0
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:,g}"


def duration(seconds: float) -> str:
    """Format a duration.

    >>> duration(0.25), duration(7.4), duration(75), duration(7260)
    ('0.2 s', '7.4 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
